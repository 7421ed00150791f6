"""Errors of a service: requests that are wrong or too large, and how that is answered."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from linker.errors import LinkerError, shorten
from linker.files.tables import ColumnNeeded
from linker.projects.changes import Remarked
from linker.projects.marks import Outdated, Unfit
from linker.projects.store import Missing, OtherKind, Taken
from linker.service.settings import Limits


class Error(BaseModel):
    """Why a request was not answered."""

    error: str
    where: str | None = None


FHIR, FHIR_MEDIA = "/fhir", "application/fhir+json"
_ISSUES = {  # FHIR's types of what is wrong, by the status of HTTP
    **{400: "structure", 401: "login", 403: "forbidden", 404: "not-found", 408: "timeout"},
    **{413: "too-long", 429: "throttled", 500: "exception", 503: "transient"},
}
KINDS = ("a text", "an object")
"""The kinds of mentions in a request."""
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is not known; leave it out",
    "model_attributes_type": "is no object",
    "model_type": "is no object",
    "json_invalid": "is no JSON: {error}",
    "value_error": "is wrong; expected: {error}",
    "string_unicode": "has half of a character; expected: a text",
}
# what pydantic writes around what it expected
_PYDANTIC = re.compile(
    r"^(?:Input|String|List) should (?:be|have) |, (?:unable|got) .*| after validation, .*"
)
_OPTION = re.compile(",? (?:with|where the command has) --encoding")  # which only commands have
REFUSED = (Missing, Taken, Outdated, Unfit)
"""What is wrong with a request that writes; other errors are those of the file."""
_LONGEST_VALUE = 60  # characters of a wrong value that are repeated

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": HTTPStatus(status).phrase}
    for status in (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503)
}
"""The answers that are errors, as the OpenAPI description has them."""


class Failure(HTTPException):
    """An answer that is an error.

    Args:
        status: of HTTP.
        message: one sentence for the client.
        where: the field that it is about.
        headers: of the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        where: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.where = where


def check(what: str, number: int, limit: int, where: str) -> None:
    """Check a number against a limit.

    Args:
        what: that is counted ("characters in a mention").
        number: of them.
        limit: that are allowed.
        where: the field of the request.

    Raises:
        Failure: it is larger.
    """
    if number > limit:
        raise Failure(413, f"{number:,} {what}; the service takes at most {limit:,}", where)


def check_mention(text: str, limits: Limits, where: str) -> None:
    """Check that a mention has letters, and not too many.

    Raises:
        Failure: it is blank or too long.
    """
    check("characters in a mention", len(text), limits.mention, where)
    if not text.strip():
        raise Failure(422, "a mention is blank", where)


def answer(
    status: int,
    reason: str,
    where: str | None = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] = {},
) -> Response:
    """An answer that is an error; of what it repeats, half of a surrogate pair stays escaped."""
    body = json.dumps({"error": reason, "where": where, **more})
    return Response(body, status, headers, media_type="application/json")


def in_form(response: Response, path: str) -> Response:
    """An answer that is an error, in the form of its path: below FHIR an OperationOutcome."""
    if not path.startswith(f"{FHIR}/"):
        return response
    said = json.loads(bytes(response.body))
    kind = _ISSUES.get(response.status_code, "invalid")
    issue = {"severity": "error", "code": kind, "diagnostics": said["error"]}
    body = json.dumps({"resourceType": "OperationOutcome", "issue": [issue]})
    of_body = ("content-length", "content-type")
    headers = {name: text for name, text in response.headers.items() if name not in of_body}
    return Response(body, response.status_code, headers, media_type=FHIR_MEDIA)


def add_handlers(app: FastAPI) -> None:
    """Let every error become an object with one sentence."""
    for kind in (LinkerError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answered)


async def _answered(request: Request, error: Any) -> Response:
    """The answer to a request that raised an error."""
    return in_form(_answer_to(error), request.url.path)


def _answer_to(error: Any) -> Response:
    """The answer to an error."""
    if isinstance(error, ColumnNeeded):
        return answer(422, str(error), "column", more=error.to_dict())
    if isinstance(error, Remarked):
        return answer(409, str(error), "before", more={"now": error.value})
    if isinstance(error, OtherKind):
        return answer(409, str(error), "kind")
    if isinstance(error, LinkerError):
        kinds = ((Missing, 404), (Taken, 409), (Outdated, 409))
        status = next((s for kind, s in kinds if isinstance(error, kind)), 422)
        return answer(status, _OPTION.sub("", str(error)))
    if isinstance(error, RequestValidationError):
        mistake = error.errors()[0]
        # without the names by which pydantic tells kinds of mentions apart
        places = [str(place) for place in mistake["loc"][1:] if place not in KINDS]
        if mistake["type"] == "json_invalid" and isinstance(mistake["loc"][1], int):  # not a field
            reason = f"{mistake['ctx']['error']} (character {places[0]})"
            return answer(400, f"the body is no JSON: {reason}", "body")
        if mistake["type"] == "model_attributes_type" and not places:
            return answer(422, "the body is no object of JSON", "body")
        where = ".".join(places) or "body"
        return answer(422, problem(mistake, where), where)
    if error.status_code == 400 and isinstance(error.__cause__, ValueError | RecursionError):
        return answer(400, f"the body is no JSON: {error.__cause__}", "body")
    place = getattr(error, "where", None)
    return answer(error.status_code, str(error.detail), place, error.headers)


def problem(mistake: Mapping[str, Any], field: str) -> str:
    """What is wrong with a field: its value, and what was expected.

    Args:
        mistake: as pydantic describes it.
        field: its name for the client.
    """
    kind = mistake["type"]
    if kind in _SENTENCES:
        return f"{field} {_SENTENCES[kind].format(**mistake.get('ctx', {}))}"
    value = json.dumps(mistake["input"], ensure_ascii=False, default=str)
    expected = _PYDANTIC.sub("", mistake["msg"])
    return f"{field} is {shorten(value, _LONGEST_VALUE)}; expected: {expected}"

"""Errors of a service: requests that are wrong or too large, and how that is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from linker.desk.projects.changes import Remarked
from linker.desk.projects.marks import Outdated, Unfit
from linker.desk.projects.sources import TooMany
from linker.desk.projects.store import Missing, OtherKind, Taken
from linker.desk.service.settings import Limits
from linker.errors import LinkerError, shorten
from linker.io.rows import ColumnNeeded


class Error(BaseModel):
    """Why a request was not answered."""

    error: str
    where: str | None = None


FHIR, FHIR_MEDIA = "/fhir", "application/fhir+json"
_ISSUES = {401: "login", 403: "forbidden", 404: "not-found", 413: "too-long", 429: "throttled"}
REFUSED = (Missing, Taken, Outdated, Unfit)
"""What is wrong with a request that writes; other errors are those of the file."""
_STATUS: tuple[tuple[type[LinkerError], int, str | None], ...] = (
    (OtherKind, 409, "kind"),
    (Remarked, 409, "before"),
    (ColumnNeeded, 422, "column"),
    (Missing, 404, None),
    (Taken, 409, None),
    (Outdated, 409, None),
    (TooMany, 413, "rows"),
)
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
    """Check the number of what is counted ("characters in a mention") against a limit.

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


def respond(path: str, error: Any) -> Response:
    """Answer a request for a path with an error; below FHIR with an OperationOutcome."""
    status, reason, where, more = _describe(error)
    content: dict[str, Any] = {"error": reason, "where": where, **more}
    media = "application/json"
    if path.startswith(f"{FHIR}/"):
        kind = _ISSUES.get(status, "invalid" if status < 500 else "transient")
        issue = {"severity": "error", "code": kind, "diagnostics": reason}
        content, media = {"resourceType": "OperationOutcome", "issue": [issue]}, FHIR_MEDIA
    headers = getattr(error, "headers", None)
    # half of a surrogate pair, which a request may have, stays escaped
    return Response(json.dumps(content), status, headers, media_type=media)


def add_handlers(app: FastAPI) -> None:
    """Let every error become an object with one sentence."""

    async def handle(request: Request, error: Any) -> Response:
        return respond(request.url.path, error)

    for kind in (LinkerError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)


def problem(mistake: Mapping[str, Any], field: str) -> str:
    """What is wrong with a field, as pydantic describes it, and its value."""
    value, reason = mistake["input"], mistake["msg"].removeprefix("Value error, ")
    if isinstance(value, str | int | float | None):
        text = json.dumps(value, ensure_ascii=False)
        return f"{field}: {reason}, not {shorten(text, _LONGEST_VALUE)}"
    return f"{field}: {reason}"


def _describe(error: Any) -> tuple[int, str, str | None, Mapping[str, Any]]:
    """The status, the reason, the field, and what else a client needs."""
    if isinstance(error, RequestValidationError):
        mistake = error.errors()[0]
        field = ".".join(map(str, mistake["loc"][1:])) or "body"
        return 422, problem(mistake, field), field, {}
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail), getattr(error, "where", None), {}
    found = ((status, where) for kind, status, where in _STATUS if isinstance(error, kind))
    status, where = next(found, (422, None))
    more = {"now": error.value} if isinstance(error, Remarked) else {}
    more = error.to_dict() if isinstance(error, ColumnNeeded) else more
    return status, str(error), where, more

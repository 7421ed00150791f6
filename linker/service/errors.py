"""Errors of a service: requests that are wrong or too large, and how that is answered."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from linker.errors import LinkerError
from linker.service.settings import Limits


class Error(BaseModel):
    """Why a request was not answered."""

    error: str
    where: str | None = None


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": description}
    for status, description in (
        (400, "The body is no JSON, or the head of the request is malformed."),
        (401, "The API key is missing or wrong."),
        (403, "The Host or the Origin is not allowed."),
        (404, "There is no such concept or decision."),
        (408, "The body came too slowly."),
        (409, "The state of the service does not allow it."),
        (413, "The request is larger than a limit."),
        (415, "The body is not a file or JSON, as the request wants it."),
        (422, "The request is not as described."),
        (429, "The queue is full; Retry-After says when to try again."),
        (503, "The answer took too long, or there are too many requests."),
    )
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
) -> Response:
    """An answer that is an error; of what it repeats, half of a surrogate pair stays escaped."""
    body = json.dumps({"error": reason, "where": where})
    return Response(body, status, headers, media_type="application/json")


def add_handlers(app: FastAPI) -> None:
    """Let every error become an object with one sentence."""
    for kind in (LinkerError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answered)


async def _answered(_: Request, error: Any) -> Response:
    """The answer to a request that raised an error."""
    if isinstance(error, LinkerError):
        return answer(422, str(error))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            reason, (_, place) = first["ctx"]["error"], first["loc"]
            return answer(400, f"the body is no JSON: {reason} (character {place})", "body")
        if first["type"] == "model_attributes_type" and not first["loc"][1:]:
            return answer(422, "the body is no object of JSON", "body")
        return answer(422, first["msg"], _field(first, error.body))
    cause = error.__cause__
    if error.status_code == 400 and isinstance(cause, ValueError | RecursionError):
        return answer(400, f"the body is no JSON: {cause}", "body")
    where = getattr(error, "where", None)
    return answer(error.status_code, str(error.detail), where, error.headers)


def _field(mistake: Mapping[str, Any], body: Any) -> str:
    """The field of a mistake, as the client wrote it: without the names of pydantic's types."""
    source, *places = mistake["loc"]
    if source != "body":
        return ".".join(map(str, places))
    known, value = list[str](), body
    missing = [places.pop()] if places and mistake["type"] == "missing" else []
    for place in places:
        with contextlib.suppress(TypeError, LookupError):  # it is the name of a type
            value = value[place]
            known.append(str(place))
    return ".".join([*known, *map(str, missing)]) or "body"

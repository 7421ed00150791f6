"""The web application of a service: its routes, and how errors are answered."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send

from linker.errors import LinkerError
from linker.service.gate import PUBLIC, Gate, error_body
from linker.service.limits import Busy, Failure, TooMuch
from linker.service.reconciliation import routes as reconciliation
from linker.service.routes import concepts, decisions, linking, model, parsing
from linker.service.state import Service
from linker.version import VERSION

_ROUTERS: tuple[Callable[[Service], APIRouter], ...] = (
    linking.router,
    parsing.router,
    concepts.router,
    decisions.router,
    reconciliation.router,
    model.router,
)
_DESCRIPTION = (
    "Maps names of diseases and other concepts to the identifiers of a dictionary. "
    "An error is an object with `error`, one sentence, and `where`, the field that it is about."
)


def create(service: Service) -> FastAPI:
    """The application of a service, which is closed when the application ends."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = FastAPI(
        title="linker",
        version=VERSION,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
    )
    for router in _ROUTERS:
        app.include_router(router(service))
    _answer_errors(app)
    app.add_middleware(Gate, service=service)
    if service.settings.origins:  # added last, so that it answers preflights, which have no key
        app.add_middleware(
            _Cors,
            allow_origins=service.settings.origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
        )
    return app


class _Cors(CORSMiddleware):
    """CORS for the allowed origins; /reconcile, which is open to all, bypasses it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_public = scope["type"] == "http" and scope["path"].startswith(PUBLIC)
        await (self.app if is_public else super().__call__)(scope, receive, send)


def _answer_errors(app: FastAPI) -> None:
    """Let every error become an object with one sentence."""

    async def busy(_: Request, error: Any) -> Response:
        return _error(429, str(error), None, {"Retry-After": str(error.seconds)})

    async def failure(_: Request, error: Any) -> Response:
        return _error(error.status, error.message, error.where)

    async def too_much(_: Request, error: Any) -> Response:
        return _error(413, str(error), error.where)

    async def mistake(_: Request, error: Any) -> Response:
        return _error(422, str(error))

    async def invalid(_: Request, error: Any) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            reason, (_, place) = first["ctx"]["error"], first["loc"]
            return _error(400, f"the body is no JSON: {reason} (character {place})", "body")
        if first["type"] == "model_attributes_type" and not first["loc"][1:]:
            return _error(422, "the body is no object of JSON", "body")
        return _error(422, first["msg"], _field(first, error.body))

    async def of_http(_: Request, error: Any) -> Response:
        cause = error.__cause__
        if error.status_code == 400 and isinstance(cause, ValueError | RecursionError):
            return _error(400, f"the body is no JSON: {cause}", "body")
        return _error(error.status_code, str(error.detail), None, error.headers)

    handlers: dict[Any, Any] = {
        Busy: busy,
        Failure: failure,
        TooMuch: too_much,
        LinkerError: mistake,
        RequestValidationError: invalid,
        HTTPException: of_http,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _error(
    status: int,
    reason: str,
    where: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer that is an error; of what it repeats, half of a surrogate pair stays escaped."""
    body = json.dumps(error_body(reason, where))
    return Response(body, status, headers, media_type="application/json")


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

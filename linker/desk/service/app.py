"""The web application of a service: its routes, what it says of itself, and its page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import fastapi_offline
from fastapi import APIRouter, FastAPI, Response, Security
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from linker.desk.service import (
    callers,
    decisions,
    errors,
    fhir,
    learning,
    linking,
    projects,
    reconciliation,
    reviewing,
    updating,
)
from linker.desk.service.errors import Failure
from linker.desk.service.gate import PUBLIC, Gate
from linker.desk.service.state import Asked, Service
from linker.desk.service.workbench import Workbench
from linker.errors import LinkerError
from linker.version import VERSION

_PAGE = Path(__file__).parents[1] / "page"
_SWAGGER = Path(fastapi_offline.__file__).parent / "static"  # Swagger UI
_POLICY = (
    "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
_DESCRIPTION = (
    "Maps names of diseases and other concepts to the identifiers of a dictionary. "
    "An error is an object with `error`, one sentence, and `where`, the field that it is about."
)


routes = APIRouter(tags=["service"], responses=errors.ERRORS)
"""The routes that say how the service is, and its page."""


def create(service: Service, rooms: Iterable[ModuleType] = ()) -> FastAPI:
    """The application of a service, which is closed when the application ends.

    Args:
        service: what answers.
        rooms: modules with further routes, as those of this package have them.
    """
    workbench = Workbench(service, service.store) if service.store else None

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if workbench:
            workbench.start()
        yield
        if workbench:
            await workbench.close()
        await service.close()

    app = FastAPI(
        title="linker",
        version=VERSION,
        description=_DESCRIPTION,
        servers=[{"url": path}] if (path := service.settings.root_path) else None,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Security(HTTPBearer(auto_error=False))],  # that /docs asks for a key
    )
    app.state.service, app.state.workbench = service, workbench
    if workbench:
        for room in (projects, reviewing, learning, updating):
            app.include_router(room.routes)
    for room in (linking, decisions, fhir, reconciliation, *rooms):
        app.include_router(room.routes)
    app.include_router(routes)
    app.mount("/swagger", StaticFiles(directory=_SWAGGER), name="swagger")
    app.mount("/static", StaticFiles(directory=_PAGE), name="static")
    errors.add_handlers(app)
    app.add_middleware(Gate, service=service)
    # added last, so that it answers preflights, which have no key
    app.add_middleware(_Cors, origins=service.settings.origins)
    return app


class _Cors:
    """CORS for the pages of all sites below /reconcile, and elsewhere for those allowed."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        headers = ["Authorization", "Content-Type", "X-API-Key", "X-Requested-With"]
        methods = ["GET", "POST", "DELETE"]
        self._of_all, self._of_others = (
            CORSMiddleware(app, allow_origins=of, allow_methods=methods, allow_headers=headers)
            for of in (("*",), origins)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_public = scope["type"] == "http" and scope["path"].startswith(PUBLIC)
        await (self._of_all if is_public else self._of_others)(scope, receive, send)


@routes.get("/model")
async def model(service: Asked) -> dict[str, Any]:
    """What the service links with, what it takes of a request, and whose the key is."""
    current = service.linker
    return {
        "name": service.settings.name,
        "encoder": current.encoder,
        "dictionary": current.describe_dictionary(),
        "has_confidence": current.ranker is not None,
        "limits": asdict(service.limits),
        "decisions": service.store is not None,
        "before": service.settings.before is not None,
        "reviewer": callers.present().reviewer or None,
        "version": VERSION,
    }


@routes.get("/health")
async def health() -> dict[str, str]:
    """Answers as long as the process lives."""
    return {"status": "alive"}


@routes.get("/ready")
async def ready(service: Asked) -> dict[str, str]:
    """Whether the queue has room; 503 where it has not."""
    if not service.is_ready:
        raise Failure(503, "the queue is full", headers={"Retry-After": "1"})
    return {"status": "ready"}


@routes.get("/metrics", response_class=Response)
async def metrics(service: Asked) -> Response:
    """Figures for Prometheus."""
    return Response(generate_latest(service.figures), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@routes.post("/reload")
async def reload(service: Asked) -> dict[str, str]:
    """Load the model folder again; 409 where that fails, and the old model stays."""
    try:
        await asyncio.shield(service.reload())  # also where the client leaves
    except LinkerError as error:
        raise Failure(409, str(error)) from None
    return {"status": "reloaded"}


@routes.get("/docs", include_in_schema=False)
async def docs() -> HTMLResponse:
    """FastAPI's page of the routes, of which nothing comes from the net."""
    html = get_swagger_ui_html(
        openapi_url="openapi.json",
        title="linker",
        swagger_js_url="swagger/swagger-ui-bundle.js",
        swagger_css_url="swagger/swagger-ui.css",
        swagger_favicon_url="static/icon.svg",
    )
    # inline scripts are those of FastAPI's page, which shows nobody's text
    policy = _POLICY.replace("-src 'self';", "-src 'self' 'unsafe-inline';")
    return HTMLResponse(bytes(html.body), headers={"Content-Security-Policy": policy})


def _page(name: str) -> HTMLResponse:
    """A page, with the parts that it shares with others in their places."""
    text = (_PAGE / f"{name}.html").read_text("utf-8")
    for part in (_PAGE / "parts").glob("*.html"):
        text = text.replace(f"<!-- part: {part.stem} -->", part.read_text("utf-8").rstrip())
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})


for path, name in (("/", "index"), ("/review", "review")):
    routes.add_api_route(path, partial(_page, name), include_in_schema=False)

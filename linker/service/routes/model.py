"""GET /model, /health, /ready, /metrics, POST /reload and the page: the service itself."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.routing import Mount

import linker.service
from linker.errors import LinkerError
from linker.service import examples
from linker.service.limits import Failure
from linker.service.metrics import CONTENT_TYPE
from linker.service.state import Service
from linker.version import VERSION

PAGE = Path(linker.service.__file__).parent / "page"
POLICY = (
    "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


def router(service: Service) -> APIRouter:
    """The routes that say how the service is, and its page."""
    routes = APIRouter(tags=["service"], responses=examples.ERRORS)

    @routes.get("/model")
    async def model() -> dict[str, Any]:
        """What the service links with, and what it takes of a request."""
        current = service.linker
        return {
            "name": service.settings.name,
            "encoder": current.encoder,
            "dictionary": current.describe_dictionary(),
            "has_confidence": current.ranker is not None,
            "limits": asdict(service.limits),
            "decisions": service.store is not None,
            "version": VERSION,
        }

    @routes.get("/health")
    async def health() -> dict[str, str]:
        """Answers as long as the process lives."""
        return {"status": "alive"}

    @routes.get("/ready")
    async def ready() -> dict[str, str]:
        """Whether the queue has room; 503 where it has not."""
        if not service.is_ready:
            raise HTTPException(503, "the queue is full", {"Retry-After": "1"})
        return {"status": "ready"}

    @routes.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Figures for Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    @routes.post("/reload")
    async def reload() -> dict[str, str]:
        """Load the model folder again; 409 where that fails, and the old model stays."""
        try:
            await service.reload()
        except LinkerError as error:
            raise Failure(409, str(error)) from None
        return {"status": "reloaded"}

    @routes.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", headers={"Content-Security-Policy": POLICY})

    routes.routes.append(Mount("/static", StaticFiles(directory=PAGE), name="static"))
    return routes

"""GET /concepts/{id} and /search: what the dictionary has."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from linker.service import concepts, examples
from linker.service.limits import Failure
from linker.service.state import Service


def router(service: Service) -> APIRouter:
    """The routes of the dictionary."""
    routes = APIRouter(tags=["dictionary"], responses=examples.ERRORS)

    @routes.get("/concepts/{id:path}")
    async def concept(
        asked: Annotated[
            str, Path(alias="id", min_length=1, max_length=200, examples=["MESH:D001943"])
        ],
    ) -> dict[str, Any]:
        """A concept by its id, or an old or alternative one; an id alone is one of MeSH or OMIM."""
        described = await asyncio.to_thread(concepts.described, service.linker.dictionary, asked)
        if described is None:
            raise Failure(404, "no concept has this id", "id")
        return described

    @routes.get("/search")
    async def search(
        q: Annotated[str, Query(min_length=1, max_length=1_000, examples=["breast"])],
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        """Concepts by a name, a part of a name, or an id."""
        return {"concepts": await asyncio.to_thread(concepts.search, service.linker, q, limit)}

    return routes

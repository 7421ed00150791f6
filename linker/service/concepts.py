"""GET /concepts/{id} and /search: what the dictionary has, and names that hold a text."""

from __future__ import annotations

import asyncio
import itertools
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from linker.dictionary import lookup
from linker.linking.linker import Linker
from linker.service.errors import ERRORS, Failure
from linker.service.state import Service


def router(service: Service) -> APIRouter:
    """The routes of the dictionary."""
    routes = APIRouter(tags=["dictionary"], responses=ERRORS)

    @routes.get("/concepts/{id:path}")
    async def concept(
        asked: Annotated[
            str, Path(alias="id", min_length=1, max_length=200, examples=["MESH:D001943"])
        ],
    ) -> dict[str, Any]:
        """A concept by its id, or an old or alternative one; an id alone is one of MeSH or OMIM."""
        found = await asyncio.to_thread(lookup.described, service.linker.dictionary, asked)
        if found is None:
            raise Failure(404, "no concept has this id", "id")
        return found

    @routes.get("/search")
    async def search(
        q: Annotated[str, Query(min_length=1, max_length=1_000, examples=["breast"])],
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        """Concepts by a name, a part of a name, or an id."""
        return {"concepts": await asyncio.to_thread(searched, service.linker, q, limit)}

    return routes


def searched(linker: Linker, text: str, limit: int) -> list[dict[str, Any]]:
    """Concepts that have an id, or a name, or a part of a name, the best first."""
    dictionary = linker.dictionary
    hits = lookup.search(dictionary, linker.generator.table, linker.normalize, text)
    return [
        lookup.reference(dictionary, hit.row)
        | {"matched_name": hit.matched_name, "score": hit.score}
        for hit in itertools.islice(hits, limit)
    ]

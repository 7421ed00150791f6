"""GET /concepts/{id} and /search: what the dictionary has, by ids and by names."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from linker.dictionary import lookup
from linker.linking.linker import Linker
from linker.linking.requests import Linked, Request
from linker.readers.records import MENTION_LIMIT
from linker.service.errors import ERRORS, Failure
from linker.service.state import Service

_SIMILAR = 10  # concepts that a linker adds to those whose names fit


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
        q: Annotated[str, Query(min_length=1, max_length=MENTION_LIMIT, examples=["parkinsn"])],
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        """Concepts by an id, or by a name, of which words may be begun, misspelt, or left out."""
        model = service.model
        linked = await service.answer(model, [similar(q)])
        hits = await asyncio.to_thread(searched, model.linker, q, linked, limit)
        return {"concepts": [_written(model.linker, hit) for hit in hits]}

    return routes


def similar(text: str) -> Request:
    """What the linker is asked for a search; its candidates are those of `searched`."""
    return Request(text[:MENTION_LIMIT], _SIMILAR, 0.0)


def searched(
    linker: Linker, text: str, linked: Sequence[Linked], limit: int | None = None
) -> list[lookup.Hit]:
    """Find concepts by an id or a name, the best first; see `lookup.search`."""
    predictions = (prediction for _, of_item in linked for prediction in of_item)
    table, form = linker.generator.table, linker.normalize
    hits = lookup.search(linker.dictionary, table, form, text, predictions)
    return [*itertools.islice(hits, limit)]


def _written(linker: Linker, hit: lookup.Hit) -> dict[str, Any]:
    concept = lookup.reference(linker.dictionary, hit.row)
    return concept | {"matched_name": hit.matched_name, "score": hit.score}

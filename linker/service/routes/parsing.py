"""POST /parse: the mentions of a file, without linking them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from linker.service import examples, parsing
from linker.service.state import Service

_BODY = {
    "requestBody": {
        "required": True,
        "description": "The file: txt, tsv, csv, jsonl, PubTator or BioC.",
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary"},
                "example": "mention,ward\nbreast cancer,3\n",
            }
        },
    }
}


def router(service: Service) -> APIRouter:
    """The route of files."""
    routes = APIRouter(tags=["files"], responses=examples.ERRORS)

    @routes.post("/parse", openapi_extra=_BODY)
    async def parse(
        request: Request,
        name: Annotated[str, Query(max_length=1_000, examples=["list.csv"])] = "",
        column: Annotated[str | None, Query(max_length=1_000, examples=["mention"])] = None,
    ) -> dict[str, Any]:
        """The mentions or documents of a file, as /link takes them, or the columns of a table."""
        content = await request.body()
        return await asyncio.to_thread(parsing.parse, content, name, column, service.limits)

    return routes

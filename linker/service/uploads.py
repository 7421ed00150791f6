"""POST /parse and /table: the mentions of a file, and a table with answers beside its mentions."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from linker.errors import stop
from linker.jobs import linking, tables
from linker.linking.requests import Request as LinkRequest
from linker.service import parsing
from linker.service.errors import ERRORS, Failure
from linker.service.state import Service

_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_MEDIA = {"\t": "text/tab-separated-values"}
Name = Annotated[str, Query(max_length=1_000, examples=["list.csv"])]
Column = Annotated[str, Query(max_length=1_000, examples=["mention"])]
Encoding = Annotated[
    str | None, Query(max_length=100, description="Of a text; null: recognised, if only one fits.")
]


def _body(formats: str) -> dict[str, Any]:
    """The description of a body that is a file."""
    content = {"schema": {"type": "string", "format": "binary"}}
    example = {"example": "mention,ward\nbreast cancer,3\n"}
    return {
        "requestBody": {
            "required": True,
            "description": f"The file: {formats}.",
            "content": {"application/octet-stream": content | example},
        }
    }


async def _content(request: Request) -> bytes:
    """The file that is the body.

    Raises:
        Failure: the body is a form.
    """
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise Failure(415, "the body is a form; send the file itself as the body", "body")
    return await request.body()


def router(service: Service) -> APIRouter:
    """The routes of files."""
    routes = APIRouter(tags=["files"], responses=ERRORS)

    @routes.post("/parse", openapi_extra=_body("txt, tsv, csv, xlsx, jsonl, PubTator or BioC"))
    async def parse(
        request: Request, name: Name = "", column: Column | None = None, encoding: Encoding = None
    ) -> dict[str, Any]:
        """The mentions or documents of a file, as /link takes them, or the columns of a table."""
        content = await _content(request)
        return await asyncio.to_thread(
            parsing.parse, content, name, column, encoding, service.limits
        )

    @routes.post(
        "/table",
        openapi_extra=_body("csv, tsv or xlsx"),
        response_class=Response,
        responses={200: {"content": {"text/csv": {}, _MEDIA["\t"]: {}, _WORKBOOK: {}}}},
    )
    async def table(
        request: Request, column: Column, name: Name = "", encoding: Encoding = None
    ) -> Response:
        """The same table with the answers for the mentions of a column in further columns.

        It is what `linker link --column` writes: every row, cell and encoding stays as it is.
        """
        content = await _content(request)
        opened, place, rows = await asyncio.to_thread(
            parsing.open_table, content, name, column, encoding, service.limits
        )
        mentions = [tables.mention_of(opened.path, row, place, stop) for row in rows]
        model, has_decisions = service.model, service.store is not None
        linked = await service.answer(model, [LinkRequest(m) for m in mentions if m])
        sources = has_decisions or linking.lends(model.linker)
        names, added = tables.written(tables.paired(rows, mentions, linked), sources, has_decisions)
        written = await asyncio.to_thread(parsing.written, opened, names, added)
        if opened.is_binary:
            return Response(written, media_type=_WORKBOOK)
        media = _MEDIA.get(getattr(opened, "delimiter", ""), "text/csv")
        return Response(written, headers={"Content-Type": f"{media}; charset={opened.encoding}"})

    return routes

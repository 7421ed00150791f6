"""POST /parse and /table: the mentions of a file, and a table with answers beside its mentions."""

from __future__ import annotations

import io
import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from linker.desk.projects import sources
from linker.desk.service.errors import ERRORS, Failure, check
from linker.desk.service.settings import Limits
from linker.desk.service.state import Service
from linker.io import files
from linker.io import rows as tables
from linker.io.rows import ColumnNeeded, Table, TableRow
from linker.jobs import linking
from linker.jobs import tables as linked_tables
from linker.linking.requests import Request as LinkRequest
from linker.records import Mention

_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_MEDIA = {"\t": "text/tab-separated-values"}

Name = Annotated[str, Query(max_length=1_000, examples=["list.csv"])]
Column = Annotated[str, Query(max_length=1_000, examples=["mention"])]
Encoding = Annotated[
    str | None,
    Query(max_length=100, description="Of a text; null: UTF-8, or UTF-16 by its mark."),
]


FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file: txt, tsv, csv, xlsx, jsonl, PubTator or BioC.",
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary"},
                "example": "mention,ward\nbreast cancer,3\n",
            }
        },
    }
}
"""The description of a body that is a file."""


async def content_of(request: Request) -> bytes:
    """The file that is the body.

    Raises:
        Failure: the body is a form.
    """
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise Failure(415, "the body is a form; send the file itself as the body", "body")
    return await request.body()


def router(service: Service) -> APIRouter:
    """The routes of files."""
    routes, limits = APIRouter(tags=["files"], responses=ERRORS), service.limits

    @routes.post("/parse", openapi_extra=FILE_BODY)
    async def parse(
        request: Request, name: Name = "", column: Column | None = None, encoding: Encoding = None
    ) -> Response:
        """The mentions or documents of a file, as /link takes them, or the columns of a table."""
        content = await content_of(request)

        def parsed() -> str:
            return json.dumps(_parsed(content, name, column, encoding, limits))

        return Response(await service.run(parsed), media_type="application/json")

    @routes.post(
        "/table",
        openapi_extra=FILE_BODY,
        response_class=Response,
        responses={200: {"content": {"text/csv": {}, _MEDIA["\t"]: {}, _WORKBOOK: {}}}},
    )
    async def table(
        request: Request, column: Column, name: Name = "", encoding: Encoding = None
    ) -> Response:
        """The same table with the answers for the mentions of a column in further columns.

        It is what `linker link --column` writes: every row and cell stays as it is, and a text is
        UTF-8; of a workbook the values of one sheet.
        """
        content = await content_of(request)

        def read() -> tuple[Table, list[TableRow], list[Mention | None]]:
            table = sources.opened(content, name, column, encoding).table(column, limits.body)
            place, rows = tables.place_of(table, column), list(table.rows())
            filled = tables.filled(rows, place)
            check("mentions in the file", len(filled), limits.mentions, "body")
            return table, rows, [linked_tables.mention_of(row, place, []) for row in rows]

        table, rows, mentions = await service.run(read)
        model, has_decisions = service.model, service.store is not None
        linked = await service.answer(model, [LinkRequest(m) for m in mentions if m])

        def written() -> bytes:
            paired = linked_tables.paired(rows, mentions, linked)
            has_sources = has_decisions or linking.lends(model.linker)
            names, added = linked_tables.written(paired, has_sources, has_decisions)
            raw = io.BytesIO()
            is_text = not table.is_binary
            file: Any = io.TextIOWrapper(raw, files.UTF8, newline="\n") if is_text else raw
            table.write(file, tables.free_names(table.header, names), added)
            file.flush()
            return raw.getvalue()

        answer = await service.run(written)
        if table.is_binary:
            return Response(answer, media_type=_WORKBOOK)
        media = _MEDIA.get(getattr(table, "delimiter", ""), "text/csv")
        return Response(answer, headers={"Content-Type": f"{media}; charset={files.UTF8}"})

    return routes


def _parsed(
    content: bytes, name: str, column: str | None, encoding: str | None, limits: Limits
) -> dict[str, Any]:
    """The mentions or documents of a file, or the columns of a table that are to choose from.

    Args:
        content: of the file.
        name: of the file, whose ending tells tables.
        column: of a table, which holds the mentions.
        encoding: of a text; None: see `linker.io.files.as_utf8`.
        limits: of the service.

    Raises:
        LinkerError: the file is damaged, packed, of another format, or larger than the limits.
    """
    known = sources.opened(content, name, column, encoding)
    found: dict[str, Any] = {"format": known.kind}
    if known.encoding != files.UTF8:
        found["encoding"] = known.encoding
    try:
        read = sources.read(content, name, column, encoding, limits.body, is_list=True)
    except ColumnNeeded as needed:
        return found | needed.to_dict()
    count = len(read.rows) + len(read.documents)
    check("mentions or documents in the file", count, limits.mentions, "body")
    if read.documents:
        documents = [
            {
                "id": document.id,
                "passages": [{"text": p.text, "offset": p.offset} for p in document.passages],
                "mentions": [
                    {"text": m.text, "spans": m.spans, "type": m.type} for m in document.mentions
                ],
            }
            for document in read.documents
        ]
        return found | {"documents": documents}
    if read.kind != "table":
        typed = [{"text": row.text, "type": row.type} for row in read.rows]
        return found | {"mentions": [{k: v for k, v in of.items() if v} for of in typed]}
    found["mentions"] = [{"text": row.text, "row": row.place} for row in read.rows]
    rows = {"column": read.column, "rows": count + read.blank + len(read.long)}
    return found | rows | ({"too_long": len(read.long)} if read.long else {})

"""POST /parse and /table: the mentions of a file, and a table with answers beside its mentions."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from linker import files
from linker.errors import LinkerError, stop
from linker.files import OpenFile, encodings, tables
from linker.files.rows import TableRow
from linker.files.tables import Table
from linker.formats import FORMATS, MENTIONS
from linker.ids import NO_CONCEPT
from linker.jobs import linking
from linker.jobs import tables as linked_tables
from linker.linking.requests import Request as LinkRequest
from linker.readers import mentions as readers
from linker.service.errors import ERRORS, Failure, check
from linker.service.settings import Limits
from linker.service.state import Service
from linker.types import Document, Mention

_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_MEDIA = {"\t": "text/tab-separated-values"}
_GZIP = b"\x1f\x8b"
_FORMATS = tuple(name for name in MENTIONS if FORMATS[name].is_text)
_COLUMNS = ("mention", "disease")  # that hold mentions, if there are
_PERHAPS = ("text", "name", "label")  # which hold them where no other column has words
_LIKELY = re.compile("(?i)mention|diagnos|disease|disorder|condition|indication|phenotyp|krankheit")
_LETTER = re.compile(r"[^\W\d_]")
_ID = re.compile(r"\S*\d\S*")  # also a number or a date
_LOOKED_AT = 200  # cells of a column
_SAMPLES, _SAMPLE = 5, 60  # cells of a column that are shown, and characters of each
_UNPACKED = 8  # times the longest body that a workbook may unpack to

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
    routes, limits = APIRouter(tags=["files"], responses=ERRORS), service.limits

    @routes.post("/parse", openapi_extra=_body("txt, tsv, csv, xlsx, jsonl, PubTator or BioC"))
    async def parse(
        request: Request, name: Name = "", column: Column | None = None, encoding: Encoding = None
    ) -> dict[str, Any]:
        """The mentions or documents of a file, as /link takes them, or the columns of a table."""
        content = await _content(request)
        return await asyncio.to_thread(_parsed, content, name, column, encoding, limits)

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

        def read() -> tuple[Table, list[TableRow], list[Mention | None]]:
            file, known, _ = _opened(content, name, column, encoding)
            table = _table(file, column, known, limits)
            place, rows = tables.place_of(table, column), list(table.rows())
            check("mentions in the file", len(_filled(rows, place)), limits.mentions, "body")
            return table, rows, [linked_tables.mention_of(file, row, place, stop) for row in rows]

        table, rows, mentions = await asyncio.to_thread(read)
        model, has_decisions = service.model, service.store is not None
        linked = await service.answer(model, [LinkRequest(m) for m in mentions if m])

        def written() -> bytes:
            paired = linked_tables.paired(rows, mentions, linked)
            has_sources = has_decisions or linking.lends(model.linker)
            names, added = linked_tables.written(paired, has_sources, has_decisions)
            raw = io.BytesIO()
            form = None if table.is_binary else files.text_form(table.encoding)
            file = io.TextIOWrapper(raw, **form) if form else raw
            table.write(file, tables.free_names(table.header, names), added)
            file.flush()
            return raw.getvalue()

        answer = await asyncio.to_thread(written)
        if table.is_binary:
            return Response(answer, media_type=_WORKBOOK)
        media = _MEDIA.get(getattr(table, "delimiter", ""), "text/csv")
        return Response(answer, headers={"Content-Type": f"{media}; charset={table.encoding}"})

    return routes


def _parsed(
    content: bytes, name: str, column: str | None, encoding: str | None, limits: Limits
) -> dict[str, Any]:
    """The mentions or documents of a file, or the columns of a table that are to choose from.

    Args:
        content: of the file.
        name: of the file, whose ending tells tables.
        column: of a table, which holds the mentions.
        encoding: of a text; None to recognise it.
        limits: of the service.

    Raises:
        LinkerError: the file is damaged, packed, of another format, or larger than the limits.
    """
    file, encoding, kind = _opened(content, name, column, encoding)
    noted = {"format": kind} | ({} if encoding == encodings.UTF8 else {"encoding": encoding})
    if kind in ("csv", "tsv", "xlsx"):
        table = _table(file, column, encoding, limits)
        if kind != "tsv" or column is not None or not _has_ids(table):
            return noted | _of_table(table, column, limits)
    items = []
    for item in readers.read(file, kind):
        items.append(item)
        check("mentions or documents in the file", len(items), limits.mentions, "body")
    if isinstance(items[0], Mention):
        mentions = [m for m in items if isinstance(m, Mention) and m.text.strip()]
        return noted | {"mentions": [_mention(m) for m in mentions]}
    return noted | {"documents": [_json(d) for d in items if isinstance(d, Document)]}


def _opened(
    content: bytes, name: str, column: str | None, encoding: str | None
) -> tuple[files.Pathlike, str, str]:
    """The file, as UTF-8 where it is a text, its encoding and format.

    A text of which a column is named is a table.
    """
    file: files.Pathlike = OpenFile(io.BytesIO(content), name or "upload")
    if content.startswith(_GZIP):
        raise LinkerError(f"{file}: is compressed; unpack it first")
    if tables.is_workbook(file):
        return file, encodings.UTF8, "xlsx"
    file, encoding = encodings.as_utf8(file, encoding or encodings.detect(file))
    if name.lower().endswith(".csv"):
        return file, encoding, "csv"
    kind = readers.detect(file)
    if kind not in _FORMATS:
        raise LinkerError(
            f"{file}: is {kind}; expected one of {', '.join(_FORMATS)}, or csv or xlsx"
        )
    if column is not None and kind not in ("txt", "tsv"):
        raise LinkerError(f"{file}: is {kind}; a column can be named in tables only")
    return file, encoding, kind if column is None else "tsv"


def _table(file: files.Pathlike, column: str | None, encoding: str, limits: Limits) -> Table:
    wanted = _COLUMNS if column is None else [column]
    if tables.is_workbook(file):
        return tables.read(file, wanted, most=_UNPACKED * limits.body)
    return tables.TextTable(file, encoding, wanted)


def _has_ids(table: Table) -> bool:
    """Whether the first row is a mention with its ids, so that there is no header."""
    cells = [*table.header, ""]
    return len(cells) == 3 and (":" in cells[1] or cells[1].lower() in NO_CONCEPT)


def _of_table(table: Table, column: str | None, limits: Limits) -> dict[str, Any]:
    """The mentions of a column; all columns where none is known to hold mentions.

    Raises:
        LinkerError: the table has no such column.
    """
    rows = [row for row in table.rows() if any(map(str.strip, row.cells))]
    titles = [title.strip() for title in table.header]
    if column is None:
        cells = [_filled(rows, place) for place in range(len(titles))]
        likely = [place for place, texts in enumerate(cells) if _are_names(texts)]
        by_name = {titles[i].lower(): i for i in reversed(likely)}
        known = (*_COLUMNS, *(_PERHAPS if len(likely) == 1 else ()))
        place = next((by_name[name] for name in known if name in by_name), None)
        if place is None:
            columns = [
                {"name": title, "samples": [text[:_SAMPLE] for text, _ in texts[:_SAMPLES]]}
                for title, texts in zip(titles, cells, strict=True)
            ]
            hinted = [titles[i] for i in likely if _LIKELY.search(titles[i])]
            suggested = hinted or [titles[i] for i in likely if len(likely) == 1]
            return {"columns": columns, "suggested": next(iter(suggested), None), "rows": len(rows)}
    else:
        place = tables.place_of(table, column)
    mentions = [{"text": text, "row": number} for text, number in _filled(rows, place)]
    check("mentions in the file", len(mentions), limits.mentions, "body")
    return {"mentions": mentions, "column": titles[place], "rows": len(rows)}


def _filled(rows: Sequence[TableRow], place: int) -> list[tuple[str, int]]:
    """The cells of a column that are not blank, each with the number of its row."""
    cells = ((row.cells[place].strip(), row.number) for row in rows if place < len(row.cells))
    return [(text, number) for text, number in cells if text]


def _are_names(cells: Sequence[tuple[str, int]]) -> bool:
    """Whether most cells of a column are words, not ids, numbers or dates."""
    texts = [text for text, _ in cells[:_LOOKED_AT]]
    names = [text for text in texts if _LETTER.search(text) and not _ID.fullmatch(text)]
    return 2 * len(names) > len(texts)


def _mention(mention: Mention) -> dict[str, Any]:
    """A loose mention as /link takes it."""
    record = {"text": mention.text, "type": mention.type, "document_id": mention.document_id}
    return {name: value for name, value in record.items() if value}


def _json(document: Document) -> dict[str, Any]:
    """A document as /link takes it."""
    return {
        "id": document.id,
        "passages": [{"text": p.text, "offset": p.offset} for p in document.passages],
        "mentions": [
            {"text": m.text, "spans": [list(span) for span in m.spans], "type": m.type}
            for m in document.mentions
        ],
    }

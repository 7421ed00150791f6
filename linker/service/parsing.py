"""Files that are uploaded: the mentions or documents in them, in the form that /link takes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from linker.errors import LinkerError
from linker.files import OpenFile
from linker.ids import NO_CONCEPT
from linker.readers import mentions as readers
from linker.service.limits import Limits
from linker.service.schemas import check
from linker.types import Document, Mention

_GZIP = b"\x1f\x8b"
_FORMATS = ("txt", "tsv", "jsonl", "pubtator", "bioc")
_COLUMNS = ("mention", "text", "name", "disease", "label")  # that hold mentions, if there are


def parse(content: bytes, name: str, column: str | None, limits: Limits) -> dict[str, Any]:
    """The mentions or documents of a file, or the columns of a table that are to choose from.

    Args:
        content: of the file.
        name: of the file, whose ending tells tables.
        column: of a table, which holds the mentions.
        limits: of the service.

    Raises:
        LinkerError: the file is damaged, packed, of another format, or larger than the limits.
    """
    file = OpenFile(io.BytesIO(content), name or "upload")
    if content.startswith(_GZIP):
        raise LinkerError(f"{file}: is compressed; unpack it first")
    ending = name.lower().rpartition(".")[2]
    kind = readers.detect(file)
    if kind not in _FORMATS:
        raise LinkerError(f"{file}: is {kind}; expected one of {', '.join(_FORMATS)}, or csv")
    if column is not None or ending == "csv" or kind == "tsv":
        table = _table(str(file), content)
        if column is not None or ending == "csv" or not _has_ids(table):
            return _of_table(table, column, "csv" if ending == "csv" else "tsv", limits)
    items = []
    for item in readers.read(file, kind):
        items.append(item)
        check("mentions or documents in the file", len(items), limits.mentions, "body")
    if isinstance(items[0], Mention):
        mentions = [m for m in items if isinstance(m, Mention) and m.text.strip()]
        return {"format": kind, "mentions": [_mention(m) for m in mentions]}
    return {"format": kind, "documents": [_json(d) for d in items if isinstance(d, Document)]}


def _table(path: str, content: bytes) -> list[list[str]]:
    """The rows of a table; the delimiter is the one that the first line has most."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LinkerError(f"{path}: is not in UTF-8; save it as CSV UTF-8") from None
    first = text.partition("\n")[0]
    delimiter = max("\t;,", key=first.count)
    try:
        return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    except csv.Error as error:
        raise LinkerError(f"{path}: is no table ({error})") from None


def _has_ids(table: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a mention with its ids, so that there is no header."""
    cells = [*table[0], ""] if table else [""]
    return len(cells) == 3 and (":" in cells[1] or cells[1].lower() in NO_CONCEPT)


def _of_table(
    table: Sequence[Sequence[str]], column: str | None, kind: str, limits: Limits
) -> dict[str, Any]:
    """The mentions of a column; the names of the columns where none is known to hold mentions.

    Raises:
        LinkerError: the table is empty, or has no such column.
    """
    if not table:
        raise LinkerError("the table is empty")
    header = [cell.strip() for cell in table[0]]
    if column is None:
        lower = [cell.lower() for cell in header]
        column = next((header[lower.index(c)] for c in _COLUMNS if c in lower), None)
        if column is None:
            return {"format": kind, "columns": list(dict.fromkeys(header))}
    if (count := header.count(column)) != 1:
        raise LinkerError(f"the table has {count or 'no'} columns of this name; expected one")
    place = header.index(column)
    texts = [row[place].strip() for row in table[1:] if place < len(row)]
    mentions = [{"text": text} for text in texts if text]
    check("mentions in the file", len(mentions), limits.mentions, "body")
    return {"format": kind, "mentions": mentions}


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

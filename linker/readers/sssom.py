"""Mappings between vocabularies in SSSOM's TSV format: which id means the same as which other.

A comment of metadata may stand above the header. The columns `subject_id`, `predicate_id` and
`object_id` are needed, unless a type says that texts stand there, which have no id;
`subject_label`, `object_label`, `predicate_modifier`, `subject_type` and `object_type` are read
where they are there, in any order, and other columns are passed over.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import dropwhile
from urllib.parse import unquote

from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike, read_lines
from linker.files.rows import TableRow, read_rows, titles_of
from linker.ids import normalized
from linker.readers.records import by_column, comments, numbered, parse_each
from linker.types import IdMapping

logger = logging.getLogger(__name__)

_NEEDED = ("subject_id", "predicate_id", "object_id")
_METADATA = ("curie_map:", "mapping_set_id:")  # keys that every comment of metadata has
_VERSION = "mapping_set_version:"
_NOTHING = "sssom:notermfound"  # stands for an id where the other vocabulary has none
_LITERAL = "rdfs literal"  # the type of a subject or object that is a text without an id


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines are metadata of mappings, or name the columns of mappings."""
    header = next((line for line in head if not line.startswith("#")), "")
    return ("\t" in header and set(_NEEDED) <= set(titles_of(header))) or any(
        line.startswith("#") and line.lstrip("# ").startswith(_METADATA) for line in head
    )


def release(path: Pathlike) -> str:
    """The version of the mappings that the metadata states; empty where they state none."""
    stated = (line for line in comments(path) if line.startswith(_VERSION))
    return next(stated, "").removeprefix(_VERSION).strip().strip("\"'")


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[IdMapping]:
    """Yield the mappings of a file, in its order.

    Rows that say that two ids do not match, that there is no match, or what a text without an id
    matches, are passed over. So are rows without an id that do not call it a text, which a warning
    counts.

    Raises:
        InputError: there is no header with the columns that are needed, or what `on_error` raises.
    """
    lines = read_lines(path, keep_ends=True, on_error=on_error)
    table = dropwhile(lambda line: line[1].startswith("#") or not line[1].strip(), lines)
    rows = read_rows(path, table, "\t", on_error)
    header = next(rows, None)
    columns = [cell.strip() for cell in header.cells] if header else []
    # what a text without an id matches, says the type in its place
    replaced = {name for name in ("subject", "object") if f"{name}_type" in columns}
    absent = {*_NEEDED} - {*columns} - {f"{name}_id" for name in replaced}
    if absent or len(set(columns)) < len(columns):
        raise InputError(
            path,
            "no line names the columns of mappings",
            line=header.number if header else None,
            value=header.line if header else None,
            expected=f"{', '.join(_NEEDED)}, each once and with tabs between them",
            remedy="name a file of mappings in SSSOM's TSV format",
        )

    without: list[int] = []  # lines without an id

    def parse(number: int, row: TableRow) -> IdMapping | None:
        mapping = _mapping(number, row, columns)
        if mapping and not (mapping.subject_id and mapping.object_id):
            without.append(number)
            return None
        return mapping

    yield from parse_each(path, numbered(rows), parse, on_error)
    if without:
        lacking = f"{len(without):,} without an id, the first in line {without[0]}"
        logger.warning("%s: rows that are left out: %s", path, lacking)


def concept_id(cell: str) -> str:
    """The id in a cell, without the prefix that we give to ids that have none; empty for none."""
    identifier = cell.strip()
    is_nothing = identifier.lower() == _NOTHING
    return "" if is_nothing else unquote(identifier.removeprefix("local:"))


def _mapping(number: int, row: TableRow, columns: list[str]) -> IdMapping | None:
    """The mapping of a row; None where the row says that there is none."""
    cells = by_column(row, columns)
    types = cells["subject_type"].lower(), cells["object_type"].lower()
    if cells["predicate_modifier"].lower() == "not" or _LITERAL in types:
        return None
    if not cells["predicate_id"]:
        expected = "such as skos:exactMatch"
        raise RecordError("the column 'predicate_id' is empty", row.line, expected=expected)
    if _NOTHING in (cells["subject_id"].lower(), cells["object_id"].lower()):
        return None
    return IdMapping(
        _id(cells["subject_id"]),
        cells["subject_label"],
        cells["predicate_id"],
        _id(cells["object_id"]),
        cells["object_label"],
        number,
    )


def _id(cell: str) -> str:
    return "" if cell.endswith(":") else normalized(cell)

r"""Any tsv or csv with a header line: our own table format, and whatever else has the columns `id` and `name`.

Columns, in any order and case: id, name, and optionally synonyms, narrow, broad, related, abbreviations, training (names by kind),
parents, alt_ids, definition, types, status, replaced_by, xrefs. Lists have `|` between their items. A cell is quoted as in CSV,
and written on one line: a backslash stands before a bar or a backslash that is part of the text, and `\t`, `\n`, `\r` are a tab
and line ends. Any other backslash is one.
"""

from __future__ import annotations

import csv
import difflib
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO, get_args

from linker.errors import InputError, OnError, stop
from linker.files import Pathlike, read_lines
from linker.ids import curie, namespace
from linker.readers.records import fault, make_names, split_csv
from linker.types import Concept, NameKind, Status

logger = logging.getLogger(__name__)

KINDS: dict[str, NameKind] = {
    "synonyms": "exact",
    "narrow": "narrow",
    "broad": "broad",
    "related": "related",
    "abbreviations": "abbreviation",
    "training": "training",
}
COLUMNS = ("id", "name", *KINDS, "parents", "alt_ids", "definition", "types", "status", "replaced_by", "xrefs")

_ESCAPES = {"\\": "\\\\", "|": "\\|", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = {escape: sign for sign, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\[\\|tnr]")
_ITEM = re.compile(r"(?:[^\\|]|\\.?)+", re.DOTALL)  # up to a bar that has no backslash before it

Row = Mapping[str, str]  # cell by column; empty for a column that the table does not have


def recognises(path: Path, head: list[str]) -> bool:
    """Tell whether the first line names the columns id and name."""
    return bool(head) and {"id", "name"} <= set(_header(head[0])[0])


def release(path: Pathlike) -> str:
    """Nothing: the format has no place for a release."""
    return ""


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read a table of concepts; columns of other names are passed over.

    Raises:
        InputError: the header has no column `id` or `name`, or what `on_error` raises.
    """
    columns: list[str] = []
    delimiter = ""
    for number, line in read_lines(path):
        if not columns:
            columns, delimiter = _header(line)
            _check_header(path, number, line, columns)
        elif line.strip():
            try:
                yield _concept(path, number, _row(path, number, line, columns, delimiter))
            except InputError as error:
                on_error(error)


def write(concepts: Iterable[Concept], file: TextIO) -> None:
    """Write concepts as a tab-separated table. Names are grouped by kind; their language, source and case are left out."""
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for concept in concepts:
        names = {kind: [n.text for n in concept.names if n.kind == kind] for kind in KINDS.values()}
        cells = (concept.parents, concept.alt_ids, (concept.definition,), concept.types)
        more = ((concept.status,), concept.replaced_by, concept.xrefs)
        rest = ("|".join(map(_escape, items)) for items in (*names.values(), *cells, *more))
        writer.writerow((_escape(concept.id), _escape(concept.name), *rest))


def _header(line: str) -> tuple[list[str], str]:
    """The column names in lower case, and the delimiter between them."""
    delimiter = next((sign for sign in "\t;," if sign in line), ",")  # a semicolon: spreadsheets where the comma is a decimal sign
    return [cell.strip().strip('"').lower() for cell in line.split(delimiter)], delimiter


def _check_header(path: Pathlike, number: int, line: str, columns: Sequence[str]) -> None:
    for unknown in (column for column in columns if column not in COLUMNS):
        close = difflib.get_close_matches(unknown, COLUMNS, n=1)
        logger.warning("%s: the column %r is not read%s", path, unknown, f"; did you mean {close[0]!r}?" if close else "")
    for name in ("id", "name"):
        if columns.count(name) != 1:
            problem = f"the header has {columns.count(name) or 'no'} column{'s' * (columns.count(name) > 1)} {name!r}"
            expected = "a header line with the columns id and name, with tabs, commas or semicolons between them"
            raise InputError(path, problem, line=number, value=line, expected=expected)


def _row(path: Pathlike, number: int, line: str, columns: list[str], delimiter: str) -> Row:
    cells = split_csv(path, number, line, delimiter)
    if len(cells) != len(columns):
        expected = f"{len(columns)}, as in the header"
        remedy = "quote cells that hold a delimiter"
        raise InputError(path, f"{len(cells)} columns", line=number, value=line, expected=expected, remedy=remedy)
    return defaultdict(str, zip(columns, map(str.strip, cells), strict=True))


def _concept(path: Pathlike, number: int, row: Row) -> Concept:
    identifier, name = curie(_unescape(row["id"])), _unescape(row["name"])
    synonyms: dict[str, NameKind] = {}
    for column, kind in KINDS.items():
        for text in _list(row[column]):
            synonyms.setdefault(text, kind)
    if error := fault(path, number, identifier, (name, *synonyms)):
        raise error
    return Concept(
        identifier,
        name,
        make_names(identifier, name, synonyms),
        parents=tuple(map(curie, _list(row["parents"]))),
        alt_ids=tuple(map(curie, _list(row["alt_ids"]))),
        definition=_unescape(row["definition"]),
        types=tuple(_list(row["types"])),
        namespace=namespace(identifier),
        status=_status(path, number, row["status"].lower()),
        replaced_by=tuple(map(curie, _list(row["replaced_by"]))),
        xrefs=tuple(map(curie, _list(row["xrefs"]))),
        line=number,
    )


def _status(path: Pathlike, number: int, text: str) -> Status:
    known: tuple[Status, ...] = get_args(Status)
    for status in known:
        if text == status:
            return status
    if text:
        raise InputError(path, "the status is not known", line=number, value=text, expected=" or ".join(known))
    return "current"


def _list(cell: str) -> list[str]:
    return [_unescape(text) for item in _ITEM.findall(cell) if (text := item.strip())]


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda escape: _PLAIN[escape[0]], text) if "\\" in text else text

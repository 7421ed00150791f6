"""Which column of a table holds the mentions, and whether a text is a table of several columns."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Sequence
from typing import Any

from linker.errors import InputError, LinkerError, ignore
from linker.files import OpenFile, Pathlike
from linker.files.rows import TableRow
from linker.files.tables import Table, TextTable
from linker.ids import NO_CONCEPT

COLUMNS = ("mention", "disease")  # that hold mentions, if there are
FIRST = 20  # lines of a text by which it is known as a table
_PERHAPS = ("text", "name", "label")  # which hold them where no other column has words
_LIKELY = re.compile("(?i)mention|diagnos|disease|disorder|condition|indication|phenotyp|krankheit")
_LETTER = re.compile(r"[^\W\d_]")
_ID = re.compile(r"[^\s\d]*\d\S*")  # also a number or a date
_CONCEPT = re.compile(r"\S+:\s*\S+|([A-Z_]*|[a-z])\d\S*")  # its id; "term2" names a column
_CODES = re.compile(r"(?i)icd\d+[-_]?[a-z]*|V\d")  # names of columns, "V2" in R
_ABOVE = re.compile(r'# .*|[^\t,;"]*|"[^"]*"')  # a header: a comment, or a title in one cell
_LOOKED_AT = 200  # cells of a column
_SAMPLES, _SAMPLE = 5, 60  # cells of a column that are shown, and characters of each


class ColumnNeeded(LinkerError):
    """A table of which somebody has to say which column holds the mentions.

    Args:
        file: the table, for the message.
        columns: each with a few of its cells.
        suggested: the name of the column that is likely; None: none is.
        rows: how many rows the table has.
    """

    def __init__(
        self,
        file: Pathlike,
        columns: Sequence[dict[str, Any]],
        suggested: str | None,
        rows: int,
    ) -> None:
        name = "standard input" if str(file) == "-" else file
        there = ", ".join(
            f"{column['name']!r}{''.join(f' ({cell})' for cell in column['samples'][:1])}"
            for column in columns[:20]
        )
        super().__init__(
            f"{name}: is a table; name the column that holds the mentions; there are {there}"
        )
        self.columns, self.suggested, self.rows = columns, suggested, rows

    def to_dict(self) -> dict[str, Any]:
        """What is to be chosen from, as an object that `json` can write."""
        return {"columns": self.columns, "suggested": self.suggested, "rows": self.rows}


def has_ids(lines: Sequence[str]) -> bool:
    """Whether the first lines are mentions with their ids behind a tab, without a header."""
    rows = [[cell.strip(' "\r\n') for cell in line.split("\t")] for line in lines if line.strip()]
    if not rows or any(_says_mentions(cell) or _CODES.fullmatch(cell) for cell in rows[0]):
        return False
    are_ids = [len(row) > 1 and _are_ids(row[1]) for row in rows]
    return are_ids[0] and 2 * sum(are_ids) > len(are_ids)


def needed(table: Table, rows: Sequence[TableRow], suggested: str | None) -> ColumnNeeded:
    """What is to be chosen from; for `suggested` see `ColumnNeeded`."""
    columns = [
        {
            "name": title.strip(),
            "samples": [" ".join(text.split())[:_SAMPLE] for text, _ in cells[:_SAMPLES]],
        }
        for title, cells in ((t, filled(rows, place)) for place, t in enumerate(table.header))
    ]
    return ColumnNeeded(table.path, columns, suggested, len(rows))


def column_of(table: Table, rows: Sequence[TableRow]) -> int:
    """The place of the column that holds the mentions, by its name and its cells.

    Raises:
        ColumnNeeded: several may hold them, or none does.
    """
    titles = [title.strip() for title in table.header]
    if not any(titles):
        problem = "has no column with a name"
        raise InputError(table.path, problem, expected="a header, and rows below it")
    cells = [filled(rows, place) for place in range(len(titles))]
    likely = [place for place, texts in enumerate(cells) if _are_names(texts)]
    by_name = {titles[i].lower(): i for i in reversed(likely)}
    known = (*COLUMNS, *(_PERHAPS if len(likely) == 1 else ()))
    place = next((by_name[name] for name in known if name in by_name), None)
    if place is not None:
        return place
    hinted = [titles[i] for i in likely if _LIKELY.search(titles[i])]
    suggested = hinted or [titles[i] for i in likely if len(likely) == 1]
    raise needed(table, rows, next(iter(suggested), None))


def filled(rows: Sequence[TableRow], place: int) -> list[tuple[str, int]]:
    """The cells of a column that are not blank, each with the number of its row."""
    cells = ((row.cells[place].strip(), row.number) for row in rows if place < len(row.cells))
    return [(text, number) for text, number in cells if text]


def suggested(table: Table, rows: Sequence[TableRow]) -> ColumnNeeded:
    """What is to be chosen from, with the column that would be taken."""
    try:
        return needed(table, rows, table.header[column_of(table, rows)].strip())
    except ColumnNeeded as error:
        return error


def in_text(path: Pathlike, lines: Sequence[str]) -> ColumnNeeded | None:
    """What is to be chosen from, where a text is a table of several columns; None: it is a list.

    Half of the rows have several cells. Between tabs all have, or the header names a column of
    mentions; lines of a mention with its ids are none. Since names have commas ("Neoplasms,
    Breast", "46,XY DSD"), other headers name one and have no blank behind a separator; one of both
    is enough in a file with rows that is called a table.

    Args:
        path: the file, whose ending counts.
        lines: the first ones.
    """
    is_named = str(path).lower().removesuffix(".gz").endswith((".csv", ".tab", ".tsv"))
    if is_named:
        lines = list(itertools.dropwhile(_ABOVE.fullmatch, lines))
    text = "\n".join(lines).lstrip("\r\n")
    try:
        table = TextTable(OpenFile(io.BytesIO(text.encode()), str(path)), on_error=ignore)
        rows = [row for row in table.rows() if any(map(str.strip, row.cells))]
    except InputError:
        return None
    cells = [filled(rows, place) for place in range(len(table.header))]
    several = sum(len(row.cells) > 1 for row in rows)
    if sum(map(any, zip(table.header, cells, strict=True))) < 2 or 2 * several < len(rows):
        return None
    says = any(_says_mentions(title.strip()) for title in table.header)
    if table.delimiter == "\t":
        is_table = not has_ids(lines) and (says or several == len(rows) > 0)
    else:
        is_tight = not any(title.startswith(" ") for title in table.header)
        is_table = says + is_tight >= (1 if is_named and several else 2)
    return suggested(table, rows) if is_table else None


def _says_mentions(title: str) -> bool:
    """Whether a cell of the first row can be nothing but the name of a column of mentions."""
    known = (*COLUMNS, *_PERHAPS)
    return title.lower() in known or bool(_LIKELY.search(title) and len(title.split()) == 1)


def _are_ids(cell: str) -> bool:
    """Whether a cell holds ids of concepts, or says that there is none."""
    parts = [part.strip() for part in re.split("[|,;+]", cell)]
    return all(part.lower() in NO_CONCEPT or _CONCEPT.fullmatch(part) for part in parts)


def _are_names(cells: Sequence[tuple[str, int]]) -> bool:
    """Whether most cells of a column are words, not ids, numbers or dates."""
    texts = [text for text, _ in cells[:_LOOKED_AT]]
    names = [text for text in texts if _LETTER.search(text) and not _ID.fullmatch(text)]
    return 2 * len(names) > len(texts)

"""The one reader of the rows of text tables: it splits, quotes, and numbers lines.

Cells are quoted as Python's `csv` reads them, and may hold separators and line ends. Programs that
write tabs often write a quote as any other character, so that between tabs a quote is one where
nothing closes it, and where the cell would hold both a tab and a line end.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from linker.errors import InputError, OnError, stop
from linker.files import Pathlike

Line = tuple[int, str]
"""The number of a line, and its text with its end."""

_MOST_ABOVE = 20  # rows above a header
MOST_COMMENTS = 1_000  # lines above a header that are comments
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table."""

    number: int  # of its first line in the file, or of the row in its sheet, from 1
    cells: Sequence[str]
    raw: str = ""  # of a text: its lines as they stand in the file
    values: Sequence[Any] = ()  # of a sheet: its cells, not as texts

    @property
    def line(self) -> str:
        """The row as it stands in a text, without its line end."""
        return self.raw.rstrip("\r\n")


Added = Iterable[tuple[TableRow, Sequence[str]]]
"""The rows, in order, each with the cells that are added to it."""


def delimiter_of(header: str) -> str:
    """What stands between the cells of a header: tabs, or the more frequent of `,` and `;`."""
    bare = re.sub(r'"[^"]*("|\Z)', "", header)
    return "\t" if "\t" in bare else max(",;", key=bare.count)


def titles_of(header: str) -> list[str]:
    """The names of the columns in a header."""
    return [cell.strip().strip('"') for cell in header.split(delimiter_of(header))]


def read_rows(
    path: Pathlike, lines: Iterable[Line], delimiter: str, on_error: OnError = stop, width: int = 0
) -> Iterator[TableRow]:
    """Yield the rows of a table, with the header.

    Args:
        path: the file, for messages.
        lines: those of the file, with their ends.
        delimiter: what stands between cells.
        on_error: what to do with a row whose quotes are broken; returns to leave its first line
            out.
        width: the cells of a row, where quotes can be read in two ways; 0: as in the first row.
    """
    numbered, waiting, taken = iter(lines), deque[Line](), list[Line]()

    def texts() -> Iterator[str]:
        while line := waiting.popleft() if waiting else next(numbered, None):
            taken.append(line)
            yield line[1]

    for text in texts():
        cells, count = text.rstrip("\r\n").split(delimiter), 1  # count: of the lines of the row
        try:
            if '"' in text:
                quoted = _quoted(path, taken, texts(), delimiter, width)
                count = 1 if quoted is None else len(taken)
                cells = [_unquoted(cell) for cell in cells] if quoted is None else quoted
        except InputError as error:
            on_error(error)
        else:
            width = width or len(cells)
            yield TableRow(taken[0][0], cells, "".join(line for _, line in taken[:count]))
        waiting.extendleft(reversed(taken[count:]))
        taken.clear()


def _quoted(
    path: Pathlike, taken: Sequence[Line], more: Iterator[str], delimiter: str, width: int
) -> list[str] | None:
    """The cells of a row as `csv` reads them; None where its quotes are characters.

    Args:
        path: the file.
        taken: the line that the row begins with; the next ones are added as they are taken.
        more: the next lines.
        delimiter: what stands between cells.
        width: the cells of the header; 0 for the header itself.

    Raises:
        InputError: the quotes are broken.
    """
    number, text = taken[0]
    try:
        cells = next(csv.reader(chain([text], more), delimiter=delimiter, strict=True))
    except csv.Error as error:
        if delimiter == "\t":
            return None
        raise InputError(
            path,
            f"the quotes are broken ({error})",
            line=number,
            value=text.rstrip("\r\n"),
            expected='inside quotes every quote doubled ("")',
        ) from None
    if delimiter != "\t":
        return cells
    if len(taken) == 1:
        return None if text.count("\t") + 1 == width != len(cells) else cells
    is_of_several = any("\t" in cell and "\n" in cell for cell in cells)
    return None if is_of_several or 0 < width < len(cells) else cells


def _unquoted(cell: str) -> str:
    quoted = _QUOTED.fullmatch(cell)
    return quoted[1].replace('""', '"') if quoted else cell


def header_place(rows: Iterable[Sequence[str]], wanted: Sequence[str]) -> int | None:
    """The place of the first row with one of the columns that are wanted, among the first rows.

    Rows above it have fewer cells, as titles and notes have, or are comments, which begin with #.
    """
    names = {name.strip().lower() for name in wanted if not name.strip().isdigit()}
    widest = above = 0
    for place, cells in enumerate(rows):
        titles = [cell.strip().lower() for cell in cells]
        width = sum(map(bool, titles))
        if width > widest and not names.isdisjoint(titles):
            return place
        if not titles[:1] or not titles[0].startswith("#"):
            widest, above = max(width, widest), above + 1
        if above == _MOST_ABOVE or place == MOST_COMMENTS:
            return None
    return None

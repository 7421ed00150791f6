"""Rows of tables, and the reader of tab-separated ones.

Quoted cells may hold tabs and line ends: Excel, OpenRefine and pandas put such a cell into quotes,
and double the quotes inside. Other programs write a quote as any other character, so that a quote
that nothing closes is a character.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linker.errors import InputError
from linker.files import Pathlike

Line = tuple[int, str]
"""The number of a line, and its text with its end."""

_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"(?=\t|\Z)')  # a cell
_INSIDE = re.compile(r'[^"]*(?:""[^"]*)*')  # of such a cell, or of a line of one
_MOST = 1 << 20  # characters of a cell; a quote that is not closed within them is a character


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    number: int  # of its first line in the file, or of the row in its sheet, from 1
    cells: Sequence[str]
    raw: str = ""  # of a text: its lines as they stand in the file


class TabbedRows:
    """Reads the rows of a table; the first one says how many cells a row has, a blank one has none.

    Args:
        path: the file, for messages.
        lines: those of the file.
    """

    def __init__(self, path: Pathlike, lines: Iterable[Line]) -> None:
        self._path, self._lines = path, iter(lines)
        self._waiting: deque[Line] = deque()  # lines that were looked at, and are read again

    def __iter__(self) -> Iterator[Row]:
        width = 0
        while line := self._next():
            row = self._row(*line, width)
            width = width or len(row.cells)
            yield row if any(row.cells) else replace(row, cells=[])

    def _next(self) -> Line | None:
        return self._waiting.popleft() if self._waiting else next(self._lines, None)

    def _row(self, number: int, line: str, width: int) -> Row:
        """The row that begins with a line.

        Args:
            number: of the line.
            line: its text.
            width: the cells of the header; 0 for the header itself.

        Raises:
            InputError: a quote may be a character, or begin a cell of several lines.
        """
        alone = [_unquoted(cell) for cell in line.rstrip("\r\n").split("\t")]
        if '"' not in line:
            return Row(number, alone, line)
        cells, more, is_tabbed = self._quoted(line, width)
        if not more:
            is_better = len(alone) == width != len(cells)
            return Row(number, alone if is_better else cells, line)
        if is_tabbed and len(cells) == width:
            raise InputError(
                self._path,
                f"a quote opens that may be closed in line {more[-1][0]}, or be a character, "
                "and the row fits the header in both cases",
                line=number,
                value=line.rstrip("\r\n"),
                remedy='put the cell into quotes, with every quote inside doubled ("")',
            )
        if is_tabbed or 0 < width < len(cells):
            self._waiting.extendleft(reversed(more))
            return Row(number, alone, line)
        return Row(number, cells, line + "".join(text for _, text in more))

    def _quoted(self, line: str, width: int) -> tuple[list[str], list[Line], bool]:
        """Split a row whose quoted cells may hold tabs, and may go on in the next lines.

        Returns:
            The cells, the next lines that belong to them, and whether a cell of several lines holds
            a tab.
        """
        body, at = line.rstrip("\r\n"), 0
        cells, more, is_tabbed = list[str](), list[Line](), False
        while at <= len(body):
            match = _QUOTED.match(body, at)
            is_open = match is None and body.startswith('"', at) and len(cells) < (width or at + 1)
            if is_open and (next_lines := self._until_closed(line[at:])):
                more += next_lines
                line += "".join(text for _, text in next_lines)
                body = line.rstrip("\r\n")
                match = _QUOTED.match(body, at)
                is_tabbed = is_tabbed or (match is not None and "\t" in match[1])
            cells.append(match[1].replace('""', '"') if match else _plain(body, at))
            at = (match.end() if match else at + len(cells[-1])) + 1
        return cells, more, is_tabbed

    def _until_closed(self, text: str) -> list[Line]:
        """The next lines, up to the one in which a quote is closed; none where it is a character.

        A cell that is a quote alone, as people write below what they repeat, is not closed by
        another one.

        Args:
            text: from the quote to the end of its line.
        """
        lines, size = list[Line](), len(text)
        first, end = text, _inside(text, 1)
        while end == len(text) and size < _MOST and (line := self._next()):
            lines.append(line)
            text, size = line[1], size + len(line[1])
            end = _inside(text, 0)
        is_closed = end < len(text) and text[end + 1 :].rstrip("\r\n")[:1] in ("", "\t")
        if lines and is_closed and not _are_marks(first, text[:end]):
            return lines
        self._waiting.extendleft(reversed(lines))
        return []


def _are_marks(first: str, last: str) -> bool:
    """Whether two quotes are cells by themselves.

    Args:
        first: the line from the first quote on.
        last: the line of the last quote, up to it.
    """
    is_alone = first[1:2] in ("\t", "\r", "\n") and last[-1:] in ("", "\t")
    return is_alone and (first[1] == "\t" or last != "")


def _inside(text: str, start: int) -> int:
    """Where the inside of a quoted cell ends: at a single quote, or the end of the text."""
    match = _INSIDE.match(text, start)
    return match.end() if match else start


def _plain(body: str, start: int) -> str:
    """The cell that begins there, up to the next tab."""
    return body[start:].split("\t", 1)[0]


def _unquoted(cell: str) -> str:
    quoted = _QUOTED.fullmatch(cell)
    return quoted[1].replace('""', '"') if quoted else cell

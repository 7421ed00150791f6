"""Tables of users: columns are added, and the values of all other cells are unchanged.

A table is tab-separated, comma-separated (or with semicolons), or a workbook of xlsx.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from linker import files
from linker.errors import InputError, OnError, needing, stop
from linker.files import OpenFile, Pathlike, encodings
from linker.files.rows import (
    MOST_COMMENTS,
    Added,
    Line,
    TableRow,
    delimiter_of,
    header_place,
    read_rows,
    titles_of,
)

_ZIP = b"PK\x03\x04"  # how a workbook begins
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that spreadsheets may compute
_BREAKS = str.maketrans("\t\r\n\0", "    ")  # what is not written into a cell


class Table(Protocol):
    """A table whose rows are read once, and written with more cells while they are read."""

    path: Pathlike
    header: list[str]
    header_line: int  # its number in the file or sheet, from 1
    is_binary: bool  # whether it is written into a file of bytes
    encoding: str  # of a text
    sheets: Sequence[str]  # the names of all, that which is read first; none of a text

    def rows(self) -> Iterator[TableRow]:
        """Yield the rows below the header; cells are as many as in the header, or fewer."""

    def write(self, file: IO[Any], names: Sequence[str], added: Added) -> None:
        """Write the table with more columns.

        Args:
            file: where to write.
            names: the headers of the columns.
            added: each row of `rows`, with the cells of these columns.
        """


def is_workbook(path: Pathlike) -> bool:
    """Whether a file is a workbook of xlsx; standard input and pipes never are."""
    if not (isinstance(path, OpenFile) or Path(path).is_file()):
        return False
    with files.reading(path), files.open_stored(path) as file:
        return file.read(len(_ZIP)) == _ZIP


def read(
    path: Pathlike,
    wanted: Sequence[str] = (),
    *,
    encoding: str | None = None,
    most: int | None = None,
    on_error: OnError = stop,
) -> Table:
    """Open a table, and read its header.

    The header is the first line, or one of the next lines that has one of the columns `wanted`,
    below comments or a title.

    Args:
        path: the file; of a workbook the first sheet that has one of the columns `wanted`.
        wanted: names of columns, in any case.
        encoding: of a text; see `linker.files.encodings.as_utf8`.
        most: bytes that a workbook may unpack to; None: as many as any file.
        on_error: what to do with a bad row of a text; returns to leave it out.

    Raises:
        LinkerError: it cannot be read, or is none.
    """
    if is_workbook(path):
        with needing(f"{path}: a workbook", "sheets"):
            from linker.files.workbooks import Workbook
        return Workbook(path, wanted, most)
    return TextTable(*encodings.as_utf8(path, encoding), wanted, on_error)


def place_of(table: Table, name: str) -> int:
    """The place of a column, from 0, by its name or its number from 1.

    Where none has the name as it is written, case does not count.

    Raises:
        InputError: there is none, or more than one with this name.
    """
    titles, wanted = [title.strip() for title in table.header], name.strip()
    places = [i for i, title in enumerate(titles) if title == wanted]
    places = places or [i for i, title in enumerate(titles) if title.lower() == wanted.lower()]
    if len(places) == 1:
        return places[0]
    if places:
        numbers = ", ".join(str(place + 1) for place in places)
        raise InputError(
            table.path,
            f"{len(places)} columns are named {name!r}: {numbers}",
            line=table.header_line,
            remedy=f"name the column by its number, such as {places[0] + 1}",
        )
    if name.isascii() and name.isdigit() and 1 <= int(name) <= len(table.header):
        return int(name) - 1
    raise InputError(
        table.path,
        f"there is no column {name!r}",
        line=table.header_line,
        expected=f"one of {', '.join(map(repr, table.header[:20]))}",
    )


def first_of(table: Table, names: Sequence[str]) -> int:
    """The place of the first of some columns that a table has.

    Raises:
        InputError: it has none, or more than one with this name.
    """
    titles = {title.strip().lower(): title for title in table.header}
    there = [titles[name.lower()] for name in names if name.lower() in titles]
    if not there and len(names) > 1:
        raise InputError(
            table.path,
            "no column has a name that is known",
            line=table.header_line,
            value=", ".join(table.header),
            expected=f"one of {', '.join(names)}",
            remedy="name the columns with --column ID,LABEL",
        )
    return place_of(table, (there or names)[0])


def free_names(header: Sequence[str], names: Iterable[str]) -> list[str]:
    """Names for columns that are added: `linker_name` or `linker_name_2` where `name` is taken.

    Case does not count, so that nobody takes `note` beside `Note` for the same.
    """
    taken = {title.strip().lower() for title in header}
    result = []
    for name in names:
        numbered = (f"linker_{name}_{number}" for number in itertools.count(2))
        ways = itertools.chain((name, f"linker_{name}"), numbered)
        result.append(next(way for way in ways if way not in taken))
        taken.add(result[-1])
    return result


class TextTable:
    """A table in a text of UTF-8; see `linker.files.rows`.

    Args:
        path: the file, or "-" for standard input.
        encoding: in which it is written back.
        wanted: names of columns; see `read`.
        on_error: what to do with a bad row; returns to leave it out.
    """

    def __init__(
        self,
        path: Pathlike,
        encoding: str = encodings.UTF8,
        wanted: Sequence[str] = (),
        on_error: OnError = stop,
    ) -> None:
        self.path, self.encoding, self.is_binary = path, encoding, False
        self.sheets: Sequence[str] = ()
        self._on_error = on_error
        lines = files.read_lines(path, limit=None, keep_ends=True, on_error=on_error)
        head = list(itertools.islice(lines, MOST_COMMENTS))
        place = header_place(_titles(head), wanted) or 0
        self._above = "".join(text for _, text in head[:place])
        first = head[place][1] if head else ""
        if not first.strip():
            raise InputError(
                path, "the first line is empty", line=1, expected="the names of the columns"
            )
        if "\r" in first.rstrip("\r\n"):
            raise InputError(
                path,
                "the lines end in carriage returns alone, as on old Macs",
                line=1,
                remedy="save it again with the line ends of Windows or Unix",
            )
        name = Path(path).name.lower().removesuffix(".gz")
        self.delimiter = "\t" if name.endswith((".tsv", ".tab")) else delimiter_of(first)
        lines = itertools.chain(head[place:], lines)
        at_hand: OnError = stop  # the header is not skipped
        self._rows = read_rows(path, lines, self.delimiter, lambda error: at_hand(error))
        self._header = next(self._rows)
        at_hand = on_error
        self.header, self.header_line = list(self._header.cells), self._header.number

    def rows(self) -> Iterator[TableRow]:
        for row in self._rows:
            if len(row.cells) <= len(self.header):
                yield row
                continue
            self._on_error(
                InputError(
                    self.path,
                    f"the row has {len(row.cells)} cells",
                    line=row.number,
                    value=row.line,
                    expected=f"at most {len(self.header)}, as in the header",
                    remedy="name every column in the header, put the cell into quotes, "
                    "or delete what stands above the header",
                )
            )

    def write(self, file: IO[Any], names: Sequence[str], added: Added) -> None:
        """Write the rows as they stand in the file, with more cells at their ends.

        What is added begins with no sign of a formula: a quote is put before it.
        """
        file.write("\ufeff" * self._has_bom() + self._above)
        for row, cells in itertools.chain([(self._header, names)], added):
            file.write(self._extended(row, cells))

    def _has_bom(self) -> bool:
        if not (isinstance(self.path, OpenFile) or Path(self.path).is_file()):
            return False
        with files.open_binary(self.path) as file:
            return file.read(3) == codecs.BOM_UTF8

    def _extended(self, row: TableRow, cells: Sequence[str]) -> str:
        """The text of a row with more cells; a blank line stays blank."""
        if not any(row.cells) and (self.delimiter == "\t" or not row.line):
            return row.raw
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="")
        missing = [""] * (len(self.header) - len(row.cells))
        writer.writerow(["", *missing, *(inert(cell.translate(_BREAKS)) for cell in cells)])
        return row.line + text.getvalue() + row.raw[len(row.line) :]


def _titles(head: Iterable[Line]) -> Iterator[list[str]]:
    """Yield the cells of the first lines, up to one with a cell of several lines."""
    for _, line in head:
        yield titles_of(line)
        if line.count('"') % 2:
            return


def inert(text: str) -> str:
    """A text that spreadsheets do not compute: a quote stands before the sign of a formula."""
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text

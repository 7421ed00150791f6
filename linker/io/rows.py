"""Tables: the one reader of rows, tables of users, and which of their columns has the mentions.

A table is tab-separated, comma-separated (or with semicolons), or a workbook of xlsx. Columns are
added to it, and the values of all other cells are unchanged. Between commas cells are quoted as
Python's `csv` reads them, and may hold separators and line ends. Many programs that write tabs
write a quote as any other character: there a line is a row, and a cell is quoted as a whole or not.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol
from xml.parsers import expat

from linker.errors import (
    Cancelled,
    InputError,
    LinkerError,
    OnError,
    check_wanted,
    ignore,
    needing,
    stop,
)
from linker.ids import NO_CONCEPT
from linker.io import files
from linker.io.files import Line, OpenFile, Pathlike

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
_MOST_ABOVE = 20  # rows above a header
_MOST_COMMENTS = 1_000  # lines above a header that are comments
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_END = object()  # behind the last row of a sheet
_MOST_ROWS = 1_048_576  # of a sheet, as Excel has them
_MOST_COLUMNS = 16_384  # of a sheet, as Excel has them
_LONGEST_ROW = 4_000_000  # characters of a row
_LONGEST_CELL = 100_000  # characters of a cell of a workbook; Excel takes 32,767
_MOST_TIMES = 100  # that a part of a workbook may unpack to; those of programs do to 30 at most
_SMALL_PART = 1_000_000  # bytes of a part that may unpack to more times
_MOST_TEXTS = 1_000_000  # that the cells of a workbook share, which are in memory at once
_CHECKED = 1_000  # rows after which it is seen whether somebody still wants them
_PART = 1 << 18  # bytes of a workbook that are unpacked at a time
_ZIP = b"PK\x03\x04"  # how a workbook begins
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that spreadsheets may compute
_BREAKS = str.maketrans("\t\r\n\0", "    ")  # what is not written into a cell
_NUMBER = re.compile(r"[01]\.\d{4}")  # a confidence
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_IN_TITLES = re.compile(r"[\\*?:/\[\]]")  # of sheets, which have 31 characters at most


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
    path: Pathlike, lines: Iterable[Line], delimiter: str, on_error: OnError = stop
) -> Iterator[TableRow]:
    """Yield the rows of a table, with the header.

    Args:
        path: the file, for messages.
        lines: those of the file, with their ends.
        delimiter: what stands between cells.
        on_error: what to do with a row whose quotes are broken; returns to leave its first line
            out.
    """
    if delimiter == "\t":
        for number, text in lines:
            cells = text.rstrip("\r\n").split("\t")
            yield TableRow(number, [*map(_unquoted, cells)] if '"' in text else cells, text)
        return
    taken, left = list[Line](), iter(lines)
    length = 0  # of the lines that are taken

    def texts() -> Iterator[str]:
        nonlocal length
        for line in left:
            taken.append(line)
            length += len(line[1])
            _check_length(path, taken[0][0], length)
            yield line[1]

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            number, text = taken[0]
            problem, expected = f"the quotes are broken ({error})", "every quote in quotes doubled"
            on_error(InputError(path, problem, line=number, value=text, expected=expected))
            left = itertools.chain(taken[1:], left)
            reader = csv.reader(texts(), delimiter=delimiter, strict=True)
        else:
            if row is None:
                return
            yield TableRow(taken[0][0], row, "".join(text for _, text in taken))
        taken = []
        length = 0


def _check_length(path: Pathlike, number: int, length: int) -> None:
    """Check the characters of a row.

    Raises:
        InputError: they are too many.
    """
    if length > _LONGEST_ROW:
        problem = f"the row has {length:,} characters"
        expected = f"at most {_LONGEST_ROW:,}"
        raise InputError(path, problem, line=number, expected=expected, remedy="check its ends")


def _lines_of(path: Pathlike, on_error: OnError) -> Iterator[Line]:
    """Yield the lines of a table, with their ends; see `files.read_lines` and `_check_length`."""
    for number, text in files.read_lines(path, keep_ends=True, on_error=on_error):
        _check_length(path, number, len(text))
        yield number, text


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
        if above == _MOST_ABOVE or place == _MOST_COMMENTS:
            return None
    return None


class Table(Protocol):
    """A table whose rows are read once, and written with more cells while they are read."""

    path: Pathlike
    header: list[str]
    header_line: int  # its number in the file or sheet, from 1
    is_binary: bool  # whether it is written into a file of bytes
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
    if not files.can_reopen(path):
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
        encoding: of a text; see `linker.io.files.as_utf8`.
        most: bytes that a workbook may unpack to; None: as many as any file.
        on_error: what to do with a bad row of a text; returns to leave it out.

    Raises:
        LinkerError: it cannot be read, or is none.
    """
    if is_workbook(path):
        return Workbook(path, wanted, most)
    return TextTable(files.as_utf8(path, encoding)[0], wanted, on_error)


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
    if not places and name.isascii() and name.isdigit() and 1 <= int(name) <= len(titles):
        return int(name) - 1
    problem = f"{len(places)} columns are named" if places else "there is no column"
    raise InputError(
        table.path,
        f"{problem} {name!r}",
        line=table.header_line,
        expected=f"one of {', '.join(map(repr, table.header[:20]))}, or the number of one",
        remedy="name it with --column",
    )


def first_of(table: Table, names: Sequence[str]) -> int:
    """The place of the first of some columns that a table has.

    Raises:
        InputError: it has none, or more than one with this name.
    """
    titles = {title.strip().lower() for title in table.header}
    return place_of(table, next((name for name in names if name.lower() in titles), names[0]))


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


def inert(text: str) -> str:
    """A text that spreadsheets do not compute: a quote stands before the sign of a formula."""
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text


class TextTable:
    """A table in a text of UTF-8.

    Args:
        path: the file, or "-" for standard input.
        wanted: names of columns; see `read`.
        on_error: what to do with a bad row; returns to leave it out.
    """

    is_binary = False
    sheets: Sequence[str] = ()

    def __init__(
        self, path: Pathlike, wanted: Sequence[str] = (), on_error: OnError = stop
    ) -> None:
        self.path, self._on_error = path, on_error
        lines = _lines_of(path, on_error)
        head = list(itertools.islice(lines, _MOST_COMMENTS))
        place = header_place((titles_of(text) for _, text in head), wanted) or 0
        self._above = "".join(text for _, text in head[:place])
        first = head[place][1] if head else ""
        if not first.strip() or "\r" in first.rstrip("\r\n"):
            expected = "the names of the columns, and line ends as of Windows or Unix"
            raise InputError(path, "the first line is no header", line=1, expected=expected)
        name = Path(path).name.lower().removesuffix(".gz")
        self.delimiter = "\t" if name.endswith((".tsv", ".tab")) else delimiter_of(first)
        lines = itertools.chain(head[place:], lines)
        at_hand: OnError = stop  # the header is not skipped
        self._rows = read_rows(path, lines, self.delimiter, lambda error: at_hand(error))
        self._header = next(self._rows)
        at_hand = on_error
        self.header, self.header_line = list(self._header.cells), self._header.number
        if len(self.header) > _MOST_COLUMNS:
            problem = f"has {len(self.header):,} columns"
            expected = f"at most {_MOST_COLUMNS:,}"
            raise InputError(path, problem, line=self.header_line, expected=expected)

    def rows(self) -> Iterator[TableRow]:
        for row in self._rows:
            if len(row.cells) <= len(self.header):
                yield row
                continue
            problem = f"the row has {len(row.cells)} cells"
            expected = f"at most {len(self.header)}, as in the header"
            remedy = "name every column in the header, or put the cell into quotes"
            self._on_error(
                InputError(
                    self.path,
                    problem,
                    line=row.number,
                    value=row.line,
                    expected=expected,
                    remedy=remedy,
                )
            )

    def write(self, file: IO[Any], names: Sequence[str], added: Added) -> None:
        """Write the rows as they stand in the file, with more cells at their ends.

        What is added begins with no sign of a formula: a quote is put before it.
        """
        has_bom = files.can_reopen(self.path) and self._starts_with_bom()
        file.write("\ufeff" * has_bom + self._above)
        for row, cells in itertools.chain([(self._header, names)], added):
            file.write(self._extended(row, cells))

    def _starts_with_bom(self) -> bool:
        with files.open_binary(self.path) as file:
            return file.read(3) == b"\xef\xbb\xbf"

    def _extended(self, row: TableRow, cells: Sequence[str]) -> str:
        """The text of a row with more cells; a blank line stays blank."""
        if not any(row.cells) and (self.delimiter == "\t" or not row.line):
            return row.raw
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="")
        missing = [""] * (len(self.header) - len(row.cells))
        writer.writerow(["", *missing, *(inert(cell.translate(_BREAKS)) for cell in cells)])
        return row.line + text.getvalue() + row.raw[len(row.line) :]


class Workbook:
    """A sheet of a workbook: openpyxl reads it, and writes its values into a new workbook.

    Numbers stay numbers and dates stay dates. Formulas become the values that were computed last;
    other sheets, styles, charts and all else is left behind.

    Args:
        path: the file.
        wanted: the first sheet with one of these columns is read, or the first of all; see `read`.
        most: bytes that it may unpack to; None: as many as a file that is read whole.

    Raises:
        LinkerError: the file is damaged or too large, or it has a sheet that is no table.
    """

    is_binary = True

    def __init__(self, path: Pathlike, wanted: Sequence[str] = (), most: int | None = None) -> None:
        self.path = path
        with needing(f"{path}: a workbook", "sheets"):  # said before the file is looked at
            import openpyxl  # noqa: F401
        with self._reporting(), files.open_stored(path) as file, zipfile.ZipFile(file) as archive:
            _check_size(archive, files.WHOLE if most is None else most)
            _check_tags(archive, files.MOST_CELLS if most is None else _MOST_TEXTS)
        with self._opened() as book:
            titles = [sheet.title for sheet in book.worksheets]  # not those that are charts
        sheets = (map(_texts, self._values(number)) for number in range(len(titles)))
        places = enumerate(header_place(rows, wanted) for rows in sheets)
        self._sheet, place = next(((n, p) for n, p in places if p is not None), (0, 0))
        rows = self._values(self._sheet)
        *self._above, self._head = [*itertools.islice(rows, place + 1)] or [[]]
        self._columns = max(map(len, itertools.chain(self._above, [self._head], rows)))
        self.sheets: Sequence[str] = [titles.pop(self._sheet), *titles]
        self.header_line = place + 1
        self.header = [*_texts(self._head), *[""] * (self._columns - len(self._head))]

    def rows(self) -> Iterator[TableRow]:
        for number, values in enumerate(self._values(self._sheet), 1):
            if number > self.header_line:
                yield TableRow(number, _texts(values), values=values)

    def _values(self, number: int) -> Iterator[list[Any]]:
        """The values of each row of a sheet, without blank ones at its end; of formulas those that
        were computed last."""
        widest = 1
        with self._opened() as book:
            sheet = book.worksheets[number]
            sheet.reset_dimensions()
            rows = sheet.iter_rows(values_only=True)
            for count in itertools.count(1):
                with _quiet():
                    values = list(next(rows, [_END]))
                if values == [_END]:
                    return
                widest = max(widest, len(values))
                if count > _MOST_ROWS:
                    raise ValueError(f"a sheet has more than {_MOST_ROWS:,} rows")
                size = sum(len(value) for value in values if isinstance(value, str))
                if size > _LONGEST_ROW:  # of texts that cells share
                    raise ValueError(f"a row has more than {_LONGEST_ROW:,} characters")
                if count * widest > files.MOST_CELLS:
                    raise ValueError(f"a sheet has more than {files.MOST_CELLS:,} cells")
                if count % _CHECKED == 0:
                    check_wanted()
                while values and values[-1] in (None, ""):
                    values.pop()
                yield values

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """The workbook; what a damaged one leads to becomes a message."""
        import openpyxl

        with self._reporting(), files.open_stored(self.path) as file:
            with _quiet():
                book = openpyxl.load_workbook(
                    file, read_only=True, data_only=True, keep_links=False
                )
            with contextlib.closing(book):
                if not book.worksheets:
                    raise ValueError("it has no sheets")
                yield book

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Make a message of what a damaged workbook leads to."""
        try:
            yield
        except (LinkerError, Cancelled):
            raise
        except Exception as error:  # openpyxl raises what it meets
            problem = f"is no workbook that can be read ({error})"
            remedy = "save it again as xlsx, without a password, or its table as csv in UTF-8"
            raise InputError(self.path, problem, remedy=remedy) from None

    def write(self, file: IO[Any], names: Sequence[str], added: Added) -> None:
        """Write the sheet as a workbook, with more columns beside its last one.

        What is added are texts, whatever they begin with, and confidences, which are numbers.
        """
        import openpyxl

        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet(_NOT_IN_TITLES.sub(" ", self.sheets[0])[:31])
        rows = itertools.chain(
            ((values, ()) for values in self._above),
            [(self._head, names)],
            ((row.values, texts) for row, texts in added),
        )
        for values, texts in rows:
            missing = [None] * (self._columns - len(values))
            cells = [*values, *missing, *map(_value, texts)]
            sheet.append([_written(sheet, cell) for cell in cells])
        packed = io.BytesIO()  # openpyxl leaves a file open that cannot be written
        book.save(packed)
        file.write(packed.getbuffer())


def _check_size(archive: zipfile.ZipFile, most: int) -> None:
    """Check what a workbook unpacks to, without unpacking it.

    Raises:
        ValueError: it is too much, or so many times as much as no program writes.
    """
    size = sum(part.file_size for part in archive.infolist())
    if size > most:
        raise ValueError(f"it unpacks to {size:,} bytes; at most {most:,} are read")
    packed = sum(part.compress_size for part in archive.infolist())
    if size > _SMALL_PART and size > _MOST_TIMES * packed:
        raise ValueError(f"its {packed:,} bytes unpack to {size:,}, as no program packs them")
    for part in archive.infolist():
        if part.file_size > max(_SMALL_PART, _MOST_TIMES * part.compress_size):
            problem = f"its part {part.filename} has {part.file_size:,} bytes in "
            raise ValueError(f"{problem}{part.compress_size:,}, as no program packs them")


def _check_tags(archive: zipfile.ZipFile, most_texts: int) -> None:
    """Count the rows, cells, shared texts and characters of a workbook, in less time and memory
    than it takes to read them.

    Args:
        archive: the workbook.
        most_texts: that its cells may share.

    Raises:
        ValueError: they are too many.
    """
    for part in archive.infolist():
        counts = _Counts(most_texts)
        parser = expat.ParserCreate()
        parser.StartElementHandler = counts.begin
        parser.EndElementHandler = counts.end
        parser.CharacterDataHandler = counts.add_text
        with archive.open(part) as file, contextlib.suppress(expat.ExpatError):  # a picture, say
            while block := file.read(_PART):
                check_wanted()
                parser.Parse(block)


class _Counts:
    """What a part of a workbook has, while it is parsed.

    Args:
        most_texts: that its cells may share.
    """

    def __init__(self, most_texts: int) -> None:
        self._most_texts = most_texts
        self._rows = 0
        self._cells = 0
        self._texts = 0
        self._is_in_cell = False  # or in a text that cells share
        self._cell_size = 0  # characters so far
        self._row_size = 0

    def begin(self, tag: str, _: object) -> None:
        """Note that an element begins.

        Raises:
            ValueError: they are too many.
        """
        name = tag.rpartition(":")[2]
        if name == "row":
            self._rows += 1
            self._row_size = 0
            if self._rows > _MOST_ROWS:
                raise ValueError(f"a sheet has more than {_MOST_ROWS:,} rows")
        elif name == "c":
            self._cells += 1
            self._begin_cell()
            if self._cells > files.MOST_CELLS:
                raise ValueError(f"a sheet has more than {files.MOST_CELLS:,} cells")
            if self._cells > (self._rows + 1) * _MOST_COLUMNS:
                raise ValueError(f"a row has more than {_MOST_COLUMNS:,} cells")
        elif name == "si":
            self._texts += 1
            self._row_size = 0
            self._begin_cell()
            if self._texts > self._most_texts:
                raise ValueError(f"its cells have more than {self._most_texts:,} different texts")

    def _begin_cell(self) -> None:
        self._is_in_cell = True
        self._cell_size = 0

    def end(self, tag: str) -> None:
        """Note that an element ends."""
        if tag.rpartition(":")[2] in ("c", "si"):
            self._is_in_cell = False

    def add_text(self, text: str) -> None:
        """Note that a text goes on.

        Raises:
            ValueError: it is longer than that of a cell, or those of a row.
        """
        if not self._is_in_cell:
            return
        self._cell_size += len(text)
        self._row_size += len(text)
        if self._cell_size > _LONGEST_CELL:
            raise ValueError(f"a cell has more than {_LONGEST_CELL:,} characters")
        if self._row_size > _LONGEST_ROW:
            raise ValueError(f"a row has more than {_LONGEST_ROW:,} characters")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Ignore the warnings of openpyxl of all that it does not know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _value(text: str) -> str | float | None:
    """A text that is added: as a number where it is a confidence, and no cell where it is empty."""
    return float(text) if _NUMBER.fullmatch(text) else _FORBIDDEN.sub(" ", text) or None


def _written(sheet: Any, value: Any) -> Any:
    """A value as openpyxl takes it: a text is never taken for a formula."""
    from openpyxl.cell import WriteOnlyCell

    if isinstance(value, str) and value.startswith("="):
        cell = WriteOnlyCell(sheet, value)
        cell.data_type = "s"
        return cell
    return _day(value)


def _day(value: Any) -> Any:
    """A time at which a day begins as this day."""
    is_day = isinstance(value, datetime.datetime) and value.time() == datetime.time()
    return value.date() if is_day else value


def _texts(values: Iterable[Any]) -> list[str]:
    """The values of cells as texts."""
    days = map(_day, values)
    whole = (int(v) if isinstance(v, float) and v.is_integer() else v for v in days)
    return ["" if value is None else str(value) for value in whole]


class ColumnNeeded(LinkerError):
    """A table of which somebody has to say which column holds the mentions.

    Args:
        table: it.
        rows: of it.
        suggested: the name of the column that is likely; None: none is.
    """

    def __init__(self, table: Table, rows: Sequence[TableRow], suggested: str | None) -> None:
        self.columns = [
            {
                "name": title.strip(),
                "samples": [
                    " ".join(text.split())[:_SAMPLE] for text, _ in filled(rows, place)[:_SAMPLES]
                ],
            }
            for place, title in enumerate(table.header)
        ]
        self.suggested, self.rows = suggested, len(rows)
        name = "standard input" if str(table.path) == "-" else table.path
        there = ", ".join(
            f"{column['name']!r}{''.join(f' ({cell})' for cell in column['samples'][:1])}"
            for column in self.columns[:20]
        )
        self.problem = f"is a table; name the column that holds the mentions; there are {there}"
        super().__init__(f"{name}: {self.problem}")

    def to_dict(self) -> dict[str, Any]:
        """What is to be chosen from, as an object that `json` can write."""
        return {"columns": self.columns, "suggested": self.suggested, "rows": self.rows}


def filled(rows: Sequence[TableRow], place: int) -> list[tuple[str, int]]:
    """The cells of a column that are not blank, each with the number of its row."""
    cells = ((row.cells[place].strip(), row.number) for row in rows if place < len(row.cells))
    return [(text, number) for text, number in cells if text]


def column_of(table: Table, rows: Sequence[TableRow]) -> int:
    """The place of the column that holds the mentions, by its name and its cells.

    Raises:
        ColumnNeeded: several may hold them, or none does.
    """
    titles = [title.strip() for title in table.header]
    if not any(titles):
        problem = "has no column with a name"
        raise InputError(table.path, problem, expected="a header, and rows below it")
    likely = [place for place in range(len(titles)) if _are_names(filled(rows, place))]
    by_name = {titles[i].lower(): i for i in reversed(likely)}
    known = (*COLUMNS, *(_PERHAPS if len(likely) == 1 else ()))
    place = next((by_name[name] for name in known if name in by_name), None)
    if place is not None:
        return place
    hinted = [titles[i] for i in likely if _LIKELY.search(titles[i])]
    likeliest = hinted or [titles[i] for i in likely if len(likely) == 1]
    raise ColumnNeeded(table, rows, next(iter(likeliest), None))


def column_needed(table: Table, rows: Sequence[TableRow]) -> ColumnNeeded:
    """What is to be chosen from, with the column that would be taken."""
    try:
        return ColumnNeeded(table, rows, table.header[column_of(table, rows)].strip())
    except ColumnNeeded as error:
        return error


def has_ids(lines: Sequence[str]) -> bool:
    """Whether the first lines are mentions with their ids behind a tab, without a header."""
    rows = [[cell.strip(' "\r\n') for cell in line.split("\t")] for line in lines if line.strip()]
    if not rows or any(_names_mentions(cell) or _CODES.fullmatch(cell) for cell in rows[0]):
        return False
    are_ids = [len(row) > 1 and _are_ids(row[1]) for row in rows]
    return are_ids[0] and 2 * sum(are_ids) > len(are_ids)


def table_in(path: Pathlike, lines: Sequence[str]) -> ColumnNeeded | None:
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
    several = sum(len(row.cells) > 1 for row in rows)
    used = sum(bool(title or filled(rows, place)) for place, title in enumerate(table.header))
    if used < 2 or 2 * several < len(rows):
        return None
    says = any(_names_mentions(title.strip()) for title in table.header)
    if table.delimiter == "\t":
        is_table = not has_ids(lines) and (says or several == len(rows) > 0)
    else:
        is_tight = not any(title.startswith(" ") for title in table.header)
        is_table = says + is_tight >= (1 if is_named and several else 2)
    return column_needed(table, rows) if is_table else None


def _names_mentions(title: str) -> bool:
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

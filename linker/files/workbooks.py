"""Workbooks of xlsx: openpyxl reads a sheet, and writes its values into a new workbook.

Numbers stay numbers and dates stay dates. Formulas become the values that were computed last; other
sheets, styles, charts and all else is left behind.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import openpyxl
from openpyxl.cell import WriteOnlyCell

from linker import files
from linker.errors import InputError, LinkerError
from linker.files import Pathlike
from linker.files.rows import Added, TableRow, header_place

_MOST_CELLS = 10_000_000  # rows by columns
_NUMBER = re.compile(r"[01]\.\d{4}")  # a confidence
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_IN_TITLES = re.compile(r"[\\*?:/\[\]]")  # of sheets
_LONGEST_TITLE = 31


class Workbook:
    """A sheet of a workbook.

    Args:
        path: the file.
        wanted: the first sheet with one of these columns is read, or the first of all; see
            `linker.files.tables.read`.
        most: bytes that it may unpack to; None: as many as a file that is read whole.

    Raises:
        LinkerError: the file is damaged or too large, or it has a sheet that is no table.
    """

    def __init__(self, path: Pathlike, wanted: Sequence[str] = (), most: int | None = None) -> None:
        self.path, self.encoding, self.is_binary = path, "", True
        self._check_size(files.WHOLE if most is None else most)
        with self._opened() as book:
            titles = [sheet.title for sheet in book.worksheets]  # not those that are charts
            if not titles:
                raise ValueError("it has no sheets")
        sheets = (map(_texts, self._values(number)) for number in range(len(titles)))
        places = enumerate(header_place(rows, wanted) for rows in sheets)
        self._sheet, place = next(((n, p) for n, p in places if p is not None), (0, 0))
        self.sheets: Sequence[str] = [titles.pop(self._sheet), *titles]
        self.header_line = place + 1
        rows = self._values(self._sheet)
        *self._above, self._head = [*itertools.islice(rows, place + 1)] or [[]]
        self._columns = max(map(len, itertools.chain(self._above, [self._head], rows)))
        missing = self._columns - len(self._head)
        self.header = [*_texts(self._head), *[""] * missing]

    def _check_size(self, most: int) -> None:
        """Check, before openpyxl unpacks it, how large the workbook is then."""
        with (
            self._reading(),
            files.open_stored(self.path) as file,
            zipfile.ZipFile(file) as archive,
        ):
            size = sum(entry.file_size for entry in archive.infolist())
        if size > most:
            problem, expected = f"the workbook unpacks to {size:,} bytes", f"at most {most:,}"
            remedy = "take out sheets, or save the one with the names as csv"
            raise InputError(self.path, problem, expected=expected, remedy=remedy)

    def rows(self) -> Iterator[TableRow]:
        for number, values in enumerate(self._values(self._sheet), 1):
            if number > self.header_line:
                yield TableRow(number, _texts(values), values=values)

    def _values(self, number: int) -> Iterator[list[Any]]:
        """The values of each row of a sheet, without blank ones at its end; of formulas those that
        were computed last."""
        widest = 0
        with self._opened() as book:
            sheet = book.worksheets[number]
            sheet.reset_dimensions()
            rows = sheet.iter_rows(values_only=True)
            for row in itertools.count(1):
                with _quiet():
                    values = next(rows, None)
                if values is None:
                    return
                widest = max(widest, len(values))
                if row * widest > _MOST_CELLS:
                    size = f"a sheet has {row:,} rows or more, of {widest:,} columns"
                    remedy = "delete what is behind and below the table, or save it as csv"
                    expected = f"at most {_MOST_CELLS:,} cells with the blank ones"
                    raise InputError(self.path, size, expected=expected, remedy=remedy)
                values = list(values)
                while values and values[-1] in (None, ""):
                    values.pop()
                yield values

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        with self._reading(), files.open_stored(self.path) as file:
            with _quiet():
                book = openpyxl.load_workbook(
                    file, read_only=True, data_only=True, keep_links=False
                )
            with contextlib.closing(book):
                yield book

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what a damaged workbook leads to into a message."""
        try:
            yield
        except LinkerError:
            raise
        except Exception as error:  # openpyxl raises what it meets
            if isinstance(error, OSError) and error.errno is not None:  # by the system
                raise
            problem = f"is no workbook that can be read ({error})"
            remedy = "save it again as xlsx, without a password, or as csv in UTF-8"
            raise InputError(self.path, problem, remedy=remedy) from None

    def write(self, file: IO[Any], names: Sequence[str], added: Added) -> None:
        """Write the sheet as a workbook, with more columns beside its last one.

        What is added are texts, whatever they begin with, and confidences, which are numbers.
        """
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet(_NOT_IN_TITLES.sub(" ", self.sheets[0])[:_LONGEST_TITLE])
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

"""Workbooks of xlsx: a sheet is read by openpyxl, and cells are spliced into its XML.

All else of the file, such as formulas with their values, styles and charts, is copied byte by byte.
Nothing is computed, and no link is followed.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import itertools
import posixpath
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NoReturn, TypeVar
from xml.parsers import expat
from xml.sax.saxutils import escape

import openpyxl
from lxml import etree  # type: ignore[import-untyped]
from openpyxl.utils.cell import coordinate_to_tuple, get_column_letter

from linker import files
from linker.errors import InputError, LinkerError
from linker.files import OpenFile, Pathlike
from linker.files.rows import TableRow
from linker.files.tables import Added, header_place

_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14  # of a sheet
_FREE = 100  # of these columns, which answers may need
_MOST_CELLS = 10_000_000  # of a sheet, with the blank ones before the last of each row
_NUMBER = re.compile(r"[01]\.\d{4}")  # a confidence
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HELD = ("xl/styles.xml", "xl/workbook.xml", "[content_types].xml")  # as objects of openpyxl
_MOST_TAGS = 500_000  # of such a part
_MOST_OTHER_TAGS = 20_000_000  # of another one, such as that of the texts of all cells
_BLOCK = 1 << 20  # bytes that are copied together
_ROWS = 64  # that are read together

_Result = TypeVar("_Result")


class Workbook:
    """A sheet of a workbook.

    Args:
        path: the file.
        wanted: the first sheet with one of these columns is read, or the first of all; see
            `linker.files.tables.read`.
        most: bytes that it may unpack to; None: as many as any file.

    Raises:
        LinkerError: the file is damaged or too large, or it has a sheet that is no table.
    """

    def __init__(self, path: Pathlike, wanted: Sequence[str] = (), most: int | None = None) -> None:
        self.path, self.encoding, self.is_binary = path, "", True
        with self._reading(), zipfile.ZipFile(self._stored()) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            files.check_whole(path, size)
            if most is not None and size > most:
                problem, expected = f"the workbook unpacks to {size:,} bytes", f"at most {most:,}"
                remedy = "take out sheets, or save the one with the names as csv"
                raise InputError(path, problem, expected=expected, remedy=remedy)
            _check_names(archive)
            sheets = _sheets(archive)
            for name in {*archive.namelist()} - {*sheets.values()}:
                if name.endswith((".xml", ".rels")):
                    _checked(archive, name)
            shapes = {entry: _Shape(archive.read(entry)) for entry in sheets.values()}
            sizes = {entry: (shape.columns, shape.cells) for entry, shape in shapes.items()}
        self.sheet, place = self._chosen(list(sheets), wanted)
        self._entry, self.header_line = sheets[self.sheet], place + 1
        self._columns, cells = sizes[self._entry]
        if self._columns > _MOST_COLUMNS - _FREE or cells > _MOST_CELLS:
            raise InputError(
                path,
                f"the sheet {self.sheet!r} has {self._columns:,} columns, and {cells:,} cells with "
                "the blank ones between them",
                expected=f"at most {_MOST_COLUMNS - _FREE:,} columns, and {_MOST_CELLS:,} cells",
                remedy="delete the columns behind the table, or save it as csv",
            )
        self.sheets: Sequence[str] = [self.sheet, *(name for name in sheets if name != self.sheet)]
        first = next(itertools.islice(self._values(), place, None), [])
        self.header = [*first, *[""] * (self._columns - len(first))]

    def _stored(self) -> Any:
        """What stands for the file: its path, or its bytes."""
        return self.path.open() if isinstance(self.path, OpenFile) else self.path

    def _chosen(self, names: Sequence[str], wanted: Sequence[str]) -> tuple[str, int]:
        """The name of the sheet that is read, and the place of its header."""
        for self.sheet in names:
            place = header_place(self._values(), wanted)
            if place is not None:
                return self.sheet, place
        return names[0], 0

    def rows(self) -> Iterator[TableRow]:
        for number, cells in enumerate(self._values(), 1):
            if number > self.header_line:
                yield TableRow(number, cells)

    def _values(self) -> Iterator[list[str]]:
        """The cells of each row as texts, without blank ones at its end; of formulas the values
        that were computed last."""
        with self._reading(), contextlib.closing(_quietly(self._book)) as book:
            sheet = book[self.sheet]
            sheet.reset_dimensions()
            rows = sheet.iter_rows(values_only=True)
            while block := _quietly(lambda: list(itertools.islice(rows, _ROWS))):
                for cells in block:
                    texts = list(map(_text, cells))
                    while texts and not texts[-1]:
                        texts.pop()
                    yield texts

    def _book(self) -> Any:
        stored = self._stored()
        if stored is self.path and Path(stored).suffix.lower() != ".xlsx":
            stored = io.BytesIO(Path(stored).read_bytes())  # openpyxl refuses other names
        return openpyxl.load_workbook(stored, read_only=True, data_only=True, keep_links=False)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what a damaged workbook leads to into a message."""
        try:
            yield
        except LinkerError:
            raise
        except OSError as error:
            if error.errno is not None:  # by the system, also of the file that is written
                raise
            self._refuse(error)
        except (
            *(zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, NotImplementedError),
            *(KeyError, IndexError, AttributeError, TypeError, ValueError, RuntimeError),
            *(OverflowError, SyntaxError),
        ) as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> NoReturn:
        problem = f"is no workbook that can be read ({error})"
        remedy = "save it again as xlsx, without a password, or as csv in UTF-8"
        raise InputError(self.path, problem, remedy=remedy) from None

    def write(self, file: IO[Any], names: Sequence[str], added: Added) -> None:
        """Write the workbook with more columns beside the last one of the sheet.

        What is added are texts, whatever they begin with, and confidences, which are numbers.
        """
        first = self._columns
        cells = {self.header_line: names} | {
            row.number: texts for row, texts in added if any(texts)
        }
        with (
            self._reading(),
            zipfile.ZipFile(self._stored()) as archive,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as copy,
        ):
            for entry in archive.infolist():
                with archive.open(entry) as raw, copy.open(_copied(entry), "w") as out:
                    if entry.filename == self._entry:
                        out.write(_Shape(raw.read(), first, cells).spliced())
                        continue
                    while block := raw.read(_BLOCK):
                        out.write(block)


def _quietly(function: Callable[[], _Result]) -> _Result:
    """The result of openpyxl, which warns of all that it does not know; we copy these parts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def _copied(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """The entry of a copy."""
    copied = zipfile.ZipInfo(entry.filename, entry.date_time)
    copied.compress_type, copied.external_attr = zipfile.ZIP_DEFLATED, entry.external_attr
    copied.file_size = entry.file_size
    return copied


def _check_names(archive: zipfile.ZipFile) -> None:
    """Check that readers agree on what the parts of a workbook are.

    Raises:
        ValueError: two have the same name; case does not count.
    """
    counts = Counter(name.lower() for name in archive.namelist())
    for name, count in counts.items():
        if count > 1:
            raise ValueError(f"it has {count} parts of the name {name}")


def _checked(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of a workbook, of which openpyxl holds more than 400 bytes for each style.

    Raises:
        ValueError: it has too many elements (Excel takes 65,490 formats of cells), or declares a
            document type.
    """
    data, most = archive.read(name), _MOST_TAGS if name.lower() in _HELD else _MOST_OTHER_TAGS
    if (count := data.count(b"<")) > most:
        raise ValueError(f"its part {name} has {count:,} tags, of at most {most:,}")
    _parser().Parse(data, True)
    return data


class _Shape:
    """The rows, columns and cells of a sheet, and where new cells are put.

    Args:
        data: its XML.
        first: the columns before the new ones.
        cells: the texts of the new cells of each row.
    """

    def __init__(
        self, data: bytes, first: int = 0, cells: Mapping[int, Sequence[str]] = MappingProxyType({})
    ) -> None:
        self.row = self.columns = self.cells = self._column = 0
        self._is_inside = False  # the element of the cells; drawings have rows, too
        self._data, self._first, self._cells = data, first, cells
        self._new: list[tuple[int, bytes]] = []  # bytes that are put in, and where
        self._parser = _parser()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.Parse(data, True)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        kind, place = tag.rpartition(":")[2], attributes.get("r")
        if kind == "sheetData":
            self._is_inside = True
        elif kind == "mergeCell":
            last = attributes["ref"].rpartition(":")[2]
            self.columns = max(self.columns, coordinate_to_tuple(last)[1])
        elif not self._is_inside:
            return
        elif kind == "row":
            number = int(place or self.row + 1)
            if not self.row < number <= _MOST_ROWS:
                raise ValueError(f"row {number} behind row {self.row}")
            self.row, self._column = number, 0
        elif kind == "c":
            before = self._column
            row, self._column = (
                coordinate_to_tuple(place) if place else (self.row, self._column + 1)
            )
            if not 0 < self._column <= _MOST_COLUMNS or row != self.row:
                raise ValueError(f"the cell {place} in row {self.row}")
            self.columns = max(self.columns, self._column)
            self.cells += self._column - before

    def _end(self, tag: str) -> None:
        prefix, _, kind = tag.rpartition(":")
        at = self._parser.CurrentByteIndex
        if kind == "sheetData":
            self._is_inside = False
        if (
            not self._is_inside
            or kind != "row"
            or self.row not in self._cells
            or self._data[at : at + 2] != b"</"
        ):
            return
        of_row = enumerate(self._cells[self.row], self._first + 1)
        texts = [
            _cell(prefix, f"{get_column_letter(c)}{self.row}", text) for c, text in of_row if text
        ]
        self._new.append((at, "".join(texts).encode()))

    def spliced(self) -> bytes:
        """The XML with the new cells."""
        pieces, start = list[bytes](), 0
        for at, new in self._new:
            pieces += [self._data[start:at], new]
            start = at
        columns = self._first + max(map(len, self._cells.values()), default=0)
        extent = f"A1:{get_column_letter(columns)}{self.row}".encode()
        head = pieces[0] if pieces else b""
        pieces[:1] = [re.sub(rb'(dimension ref=")[^"]*', rb"\g<1>" + extent, head, count=1)]
        return b"".join([*pieces, self._data[start:]])


def _cell(prefix: str, place: str, text: str) -> str:
    """A cell as XML: a number, or a text that is never taken for a formula."""
    before = f"{prefix}:" if prefix else ""
    if _NUMBER.fullmatch(text):
        return f'<{before}c r="{place}"><{before}v>{text}</{before}v></{before}c>'
    text = escape(_FORBIDDEN.sub(" ", text))
    inner = f'<{before}is><{before}t xml:space="preserve">{text}</{before}t></{before}is>'
    return f'<{before}c r="{place}" t="inlineStr">{inner}</{before}c>'


def _parser() -> expat.XMLParserType:
    """A parser that takes UTF-8 and no declarations of entities."""
    parser = expat.ParserCreate("UTF-8")

    def refuse(*_: object) -> NoReturn:
        raise ValueError("it declares a document type")

    parser.StartDoctypeDeclHandler = refuse
    return parser


def _sheets(archive: zipfile.ZipFile) -> dict[str, str]:
    """The sheets of a workbook in its order: the name of each, and its entry in the archive."""
    safe = etree.XMLParser(resolve_entities=False, no_network=True)
    relations = etree.fromstring(_checked(archive, "xl/_rels/workbook.xml.rels"), safe)
    entries = {
        relation.get("Id"): posixpath.normpath(posixpath.join("/xl", relation.attrib["Target"]))
        for relation in relations
        if relation.get("Type", "").endswith("/worksheet")
    }
    sheets: dict[str, str] = {}
    for sheet in etree.fromstring(_checked(archive, "xl/workbook.xml"), safe).iter("{*}sheet"):
        key = next((value for name, value in sheet.items() if name.endswith("}id")), None)
        if key in entries:  # not a sheet that is a chart
            if (name := sheet.attrib["name"]) in sheets:
                raise ValueError(f"it has two sheets of the name {name!r}")
            sheets[name] = entries[key].lstrip("/")
    if not sheets:
        raise ValueError("it has no sheets")
    return sheets


def _text(value: object) -> str:
    """The value of a cell as a text."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)

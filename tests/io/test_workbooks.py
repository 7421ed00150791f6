"""Workbooks of xlsx that are written back with more columns."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.errors import LinkerError
from linker.io import rows as tables
from linker.io.files import OpenFile

openpyxl: Any = pytest.importorskip("openpyxl")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A workbook of two sheets; the second one has the mentions, a formula, a style and a merge."""
    book = openpyxl.Workbook()
    book.active.title = "Notes & more"
    book.active["A1"] = "nothing"
    sheet = book.create_sheet("Data")
    sheet.append(["code", "disease", "when"])
    sheet.append([12, "gout", datetime.date(2026, 11, 23)])
    sheet.append(["=1+1", None, 0.5])
    sheet.append([3.0, "measles"])
    sheet["B2"].font = openpyxl.styles.Font(bold=True)
    sheet["C3"].number_format = "0.00%"
    sheet.merge_cells("B4:C4")
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def extended(path: Path, *cells: str) -> bytes:
    table, file = tables.read(path, ["disease"]), io.BytesIO()
    names = [f"new{i}" for i in range(len(cells))]
    table.write(file, names, ((row, cells if row.number != 3 else [""]) for row in table.rows()))
    return file.getvalue()


def test_values_keep_their_types_and_the_rest_stays_behind(path: Path) -> None:
    before = path.read_bytes()
    book = openpyxl.load_workbook(io.BytesIO(extended(path, "=cmd <&", "0.9312")))
    assert (book.sheetnames, path.read_bytes() == before) == (["Data"], True)
    sheet = book["Data"]
    assert [[cell.value for cell in row] for row in sheet] == [
        ["code", "disease", "when", "new0", "new1"],
        [12, "gout", datetime.datetime(2026, 11, 23), "=cmd <&", 0.9312],
        [None, None, 0.5, None, None],
        [3, "measles", None, "=cmd <&", 0.9312],
    ]
    assert {cell.data_type for cell in sheet["D"] if cell.value} == {"s"}
    assert (sheet["C2"].is_date, sheet["C2"].number_format) == (True, "yyyy-mm-dd")
    assert (sheet["B2"].font.bold, sheet["C3"].number_format) == (False, "General")


def rewritten(path: Path, entry: str, change: Callable[[bytes], bytes]) -> Path:
    """The workbook with another content of an entry, or one entry more."""
    other = path.with_name("other.xlsx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == entry else old.read(name))
        if entry not in old.namelist():
            new.writestr(entry, change(b""))
    return other


SHEET = "xl/worksheets/sheet2.xml"


@pytest.mark.parametrize("part", ["xl/workbook.xml", SHEET])
@pytest.mark.parametrize("entity", ['SYSTEM "file:///etc/hostname"', '"&b;&b;"> <!ENTITY b "&a;"'])
def test_entities_are_not_resolved(path: Path, part: str, entity: str) -> None:
    xml = f"<!DOCTYPE x [<!ENTITY a {entity}>]><x>&a;</x>".encode()
    with pytest.raises(LinkerError):
        extended(rewritten(path, part, lambda _: xml), "x")


def test_a_workbook_that_unpacks_to_too_much(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linker.io.files.WHOLE", 8_000_000)
    end = b"</worksheet>"
    bad = rewritten(path, SHEET, lambda data: data.replace(end, end + b" " * 9_000_000, 1))
    assert bad.stat().st_size < 100_000
    with pytest.raises(LinkerError):
        tables.read(bad, ["disease"])


def test_an_open_workbook(path: Path) -> None:
    upload = OpenFile(io.BytesIO(path.read_bytes()), "upload.xlsx")
    table, file = tables.read(upload, ["disease"]), io.BytesIO()
    table.write(file, ["new"], ((row, ["x"]) for row in table.rows()))
    assert openpyxl.load_workbook(file)["Data"]["D2"].value == "x"
    with pytest.raises(LinkerError):
        tables.read(OpenFile(io.BytesIO(path.read_bytes()[:500])))
    with pytest.raises(LinkerError):
        tables.read(upload, most=1_000)


def test_rows_that_are_not_there_are_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linker.io.rows._MOST_ROWS", 10_000)
    far = rewritten(path, SHEET, lambda data: data.replace(b'row r="4"', b'row r="999999999999"'))
    with pytest.raises(LinkerError):
        tables.read(far, ["disease"])


_SHEET_START = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
)
_TEXTS_START = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'


@pytest.mark.parametrize(
    ("part", "start", "repeated", "varied"),
    [
        (SHEET, _SHEET_START, b"<row/>", False),
        (SHEET, _SHEET_START + b"<row>", b"<c/>", False),
        (SHEET, _SHEET_START, b"          ", False),
        ("xl/sharedStrings.xml", _TEXTS_START, b"<si><t/></si>", False),
        (SHEET, _SHEET_START, b'<row r="%d"/>', True),
        (SHEET, _SHEET_START + b"<row>", b'<c r="A%d"/>', True),
        ("xl/sharedStrings.xml", _TEXTS_START, b"<x:si\n><t>%d</t></x:si>", True),
    ],
    ids=["rows", "cells", "blanks", "texts", "varied rows", "varied cells", "varied texts"],
)
def test_a_workbook_of_too_much_is_refused_before_it_is_parsed(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    start: bytes,
    repeated: bytes,
    varied: bool,
) -> None:
    """What is always the same is known by its size, and what varies is counted."""
    if varied:
        monkeypatch.setattr("linker.io.rows._MOST_ROWS", 1_000)
        monkeypatch.setattr("linker.io.rows._MOST_TEXTS", 1_000)
        content = b"".join(repeated % number for number in range(40_000))
    else:
        content = repeated * (2_000_000 // len(repeated))
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(LinkerError):
        tables.read(rewritten(path, part, lambda _: start + content), ["disease"], most=10**8)


NOISE = "".join(f"{number:x}" for number in range(40_000)).encode()  # it packs as texts do


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (SHEET, _SHEET_START + b'<row><c t="inlineStr"><is><t>' + NOISE),
        (SHEET, _SHEET_START + b"<row><c><v>" + NOISE),
        (SHEET, _SHEET_START + b"<row><c t='inlineStr'><is><t>a<!-- <c> --><![CDATA[</c>" + NOISE),
        (SHEET, _SHEET_START + b"<row>" + b"<c><v>12345</v></c>" * 40 + b"</row>"),
        ("xl/sharedStrings.xml", _TEXTS_START + b"<si><r><t>" + NOISE[:90_000] * 2),
    ],
    ids=["inline", "value", "hidden", "row", "shared"],
)
def test_a_long_cell_or_row_is_refused_before_it_is_in_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch, part: str, content: bytes
) -> None:
    monkeypatch.setattr("linker.io.rows._LONGEST_ROW", 120 if b"12345" in content else 4_000_000)
    monkeypatch.setattr("openpyxl.load_workbook", None)  # what reads it is not called
    with pytest.raises(LinkerError, match="characters"):
        tables.read(rewritten(path, part, lambda _: content), ["disease"])


def test_a_row_of_texts_that_cells_share_is_refused_where_it_is_long(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linker.io.rows._LONGEST_ROW", 100)
    assert tables.read(path, ["disease"]).header[1] == "disease"
    book = openpyxl.load_workbook(path)
    book["Data"].append(["gout " * 10] * 3)
    book.save(path)
    with pytest.raises(LinkerError, match="characters"):
        tables.read(path, ["disease"])


def test_what_is_no_cell_may_be_long(path: Path) -> None:
    """Such as the formulas that format cells, behind the last one, and notes of programs."""
    end = b"</sheetData>"
    further = b"<conditionalFormatting><cfRule><formula>" + NOISE + b"</formula></cfRule>"
    long = rewritten(
        path, SHEET, lambda d: d.replace(end, end + further + b"</conditionalFormatting>")
    )
    long = rewritten(long.rename(path), "docProps/notes.xml", lambda _: b"<x>" + NOISE + b"</x>")
    table = tables.read(long, ["disease"])
    assert [row.cells[1] for row in table.rows()] == ["gout", "", "measles"]

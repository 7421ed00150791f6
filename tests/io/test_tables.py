"""Tables whose rows are written back with more columns."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import InputError
from linker.io import rows as tables


def extended(path: Path, *cells: str) -> str:
    """The table with one more column, `new`, that has a cell for each row."""
    table, file = tables.read(path), io.StringIO()
    names = [f"new{i}" for i in range(len(cells))]
    table.write(file, names, ((row, cells) for row in table.rows()))
    return file.getvalue()


def cells(path: Path) -> list[list[str]]:
    return [list(row.cells) for row in tables.read(path).rows()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def test_what_is_there_stays_as_it_is(path: Path) -> None:
    path.write_bytes('\ufeffa;"b ""x""; y";c\r\n1;"two\r\nlines";=1+1\r\n;;\r\n\r\n2'.encode())
    assert extended(path, "x;y", "=cmd") == (
        '\ufeffa;"b ""x""; y";c;new0;new1\r\n1;"two\r\nlines";=1+1;"x;y";\'=cmd\r\n'
        ';;;"x;y";\'=cmd\r\n\r\n2;;;"x;y";\'=cmd'
    )


@pytest.mark.parametrize(
    "lines",
    [
        ['5"', "a"],
        ['"never closed', "a"],
        ["a", '"never closed'],
        ['"open', "a", "b", '"x"'],
        ["a", '"open', '5"', "b"],
        ['"quoted" word', "a"],
        ['"', "same", '"', "same"],
        ["a", '"', "b", '"'],
        ['"a', 'b"'],
        ['""a', '"'],
        ['"gout', "x", '5"', "y"],  # which would fit the header as one row, too
    ],
)
def test_quotes_that_are_characters(path: Path, lines: list[str]) -> None:
    rows = [lines[place : place + 2] for place in range(0, len(lines), 2)]
    rows += [["Gout", "x"], ["", ""], ["a", "b"]]
    path.write_text("a\tb\n" + "".join("\t".join(row) + "\n" for row in rows), "utf-8")
    rows[:] = [[cell.replace('"x"', "x") for cell in row] for row in rows]
    assert cells(path) == rows
    assert extended(path, "n").splitlines()[1] == "\t".join(rows[0]) + "\tn"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        "ä,b\n".encode() + b"1,Sj\xf6gren\n",
        b"a,b\n1,2\n1,2,3\n",
        b'a,b\n1,2\n1,"x\n',
        b'a,b\n1,"x"y\n',
    ],
)
def test_bad_tables(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(InputError):
        extended(path, "")


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
def test_a_table_in_another_encoding_is_written_for_spreadsheets(path: Path, encoding: str) -> None:
    path.write_bytes("nr;Käse\r\n1;Röteln\r\n".encode(encoding))
    table, file = tables.read(path, encoding=encoding), io.StringIO()
    table.write(file, ["new"], ((row, ["β"]) for row in table.rows()))
    assert file.getvalue() == "\ufeffnr;Käse;new\r\n1;Röteln;β\r\n"


@pytest.mark.parametrize(
    ("above", "delimiter"),
    [("Patients, ward 3;\n\n", ";"), ("Patients\n", ","), ('#a: "b, c"\n#x\ty\n', "\t"), ("", ",")],
)
def test_a_header_below_a_title_or_comments(path: Path, above: str, delimiter: str) -> None:
    """What stands above the header stays."""
    rows = ["nr,disease,ward", "1,disease,5", "2,gout,7"]
    header, *body = [row.replace(",", delimiter) + "\n" for row in rows]
    path.write_text(above + header + "".join(body))
    table, file = tables.read(path, ["Disease"]), io.StringIO()
    assert table.header == ["nr", "disease", "ward"]
    table.write(file, ["new"], ((row, [str(row.number)]) for row in table.rows()))
    first = 2 + above.count("\n")
    numbered = [f"{row[:-1]}{delimiter}{first + i}\n" for i, row in enumerate(body)]
    assert file.getvalue() == above + f"{header[:-1]}{delimiter}new\n" + "".join(numbered)


def test_columns_by_name_and_number(path: Path) -> None:
    path.write_text("a,b,a, c \n")
    table = tables.read(path)
    assert [tables.place_of(table, name) for name in ("b", "c", "3")] == [1, 3, 2]
    with pytest.raises(InputError):
        tables.place_of(table, "a")
    for name in ("x", "0", "5"):
        with pytest.raises(InputError):
            tables.place_of(table, name)
    assert tables.first_of(table, ["x", "B"]) == 1
    assert tables.place_of(table, "C") == 3
    path.write_text("a,A,b,B\n")
    table = tables.read(path)
    assert [tables.place_of(table, name) for name in ("a", "A", "B")] == [0, 1, 3]
    with pytest.raises(InputError):
        tables.first_of(table, ["x", "y"])


def test_names_that_are_taken() -> None:
    assert tables.free_names(["name", "linker_name"], ["id", "name"]) == ["id", "linker_name_2"]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))
SHORT = st.text('a"\t\n', max_size=6)
ROW = st.lists(CELLS | SHORT, min_size=3, max_size=3)


@given(st.lists(ROW, max_size=5), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), CELLS)
def test_all_other_cells_are_equal(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    delimiter: str,
    end: str,
    cell: str,
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.csv"
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerows([["a", "b", "c"], *rows])
    path.write_bytes(file.getvalue().encode())
    if delimiter == "\t" and any("\t" in text or "\n" in text for row in rows for text in row):
        return  # a line is a row there, and a tab ends a cell
    text = io.StringIO(extended(path, cell), newline="")
    read = list(csv.reader(text, delimiter=delimiter, strict=True))
    assert [row[:3] for row in read] == [["a", "b", "c"], *rows]
    written = tables.inert(cell.replace("\t", " ").replace("\n", " "))
    blank = [""] * 3 if delimiter == "\t" else None
    assert all(row[3:] == ([] if row[:3] == blank else [written]) for row in read[1:])

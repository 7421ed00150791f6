"""Tables whose rows are written back with more columns."""

from __future__ import annotations

import csv
import gc
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import files
from linker.errors import InputError, ignore
from linker.files import tables


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


def test_quoted_cells_between_tabs_hold_tabs_and_line_ends(path: Path) -> None:
    text = 'a\t"b\nc"\td\n1\t"two\r\n""lines"""\tx\n"a\tb"\t2\t"\n"\n"p\nq"\t"r\n\ns"\t3'
    path.write_bytes(text.encode())
    table = tables.read(path)
    assert table.header == ["a", "b\nc", "d"]
    assert [(row.number, list(row.cells)) for row in table.rows()] == [
        (3, ["1", 'two\r\n"lines"', "x"]),
        (5, ["a\tb", "2", "\n"]),
        (7, ["p\nq", "r\n\ns", "3"]),
    ]
    assert extended(path, "n") == (
        'a\t"b\nc"\td\tnew0\n1\t"two\r\n""lines"""\tx\tn\n"a\tb"\t2\t"\n"\tn\n'
        '"p\nq"\t"r\n\ns"\t3\tn'
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


def test_a_header_is_never_skipped(path: Path) -> None:
    for text in ('a,"b\nx,y\n', 'a,"b"c\nx,y\nz,w\n'):
        path.write_text(text)
        with pytest.raises(InputError) as raised:
            tables.read(path, on_error=ignore)
        assert raised.value.line == 1


def test_a_quote_that_is_closed_too_late_is_a_character(path: Path) -> None:
    path.write_text('a\tb\n1\t"x\n' + ("y" * 99_999 + "\n") * 11 + 'z"\n')
    assert cells(path)[0] == ["1", '"x']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1: the first line is empty"),
        ("ä,b\n".encode() + b"1,Sj\xf6gren\n", "line 2: byte 0xf6 is not UTF-8"),
        (b"a,b\n1,2\n1,2,3\n", "line 3: the row has 3 cells"),
        (b'a,b\n1,2\n1,"x\n', "line 3: the quotes are broken"),
        (b'a,b\n1,"x"y\n', "line 2: the quotes are broken"),
    ],
)
def test_bad_tables(path: Path, text: bytes, message: str) -> None:
    path.write_bytes(text)
    with pytest.raises(InputError, match=message):
        extended(path, "")


@pytest.mark.parametrize(
    ("encoding", "bom"), [("windows-1252", ""), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff")]
)
def test_a_table_keeps_its_encoding(path: Path, encoding: str, bom: str) -> None:
    path.write_bytes(f"{bom}nr;Käse\r\n1;Röteln\r\n".encode(encoding))
    table, out = tables.read(path), path.with_name("out.csv")
    assert (table.header, table.encoding) == (["nr", "Käse"], encoding)
    with files.write_aside(out, table.encoding) as file:
        table.write(file, ["new"], ((row, ["β-ü"]) for row in table.rows()))
    beta = "β" if bom else "\\N{GREEK SMALL LETTER BETA}"
    assert out.read_bytes() == f"{bom}nr;Käse;new\r\n1;Röteln;{beta}-ü\r\n".encode(encoding)


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


def test_a_cell_of_the_name_is_no_header(path: Path) -> None:
    path.write_text("a,b\n1,disease\n")
    assert tables.read(path, ["disease"]).header == ["a", "b"]
    path.write_text('"a\nx,disease,y",b\n1,2\n')
    assert tables.read(path, ["disease"]).header == ["a\nx,disease,y", "b"]


def test_columns_by_name_and_number(path: Path) -> None:
    path.write_text("a,b,a, c \n")
    table = tables.read(path)
    assert [tables.place_of(table, name) for name in ("b", "c", "3")] == [1, 3, 2]
    with pytest.raises(InputError, match="2 columns are named 'a': 1, 3; name the column by its"):
        tables.place_of(table, "a")
    for name in ("x", "0", "5"):
        with pytest.raises(InputError, match="there is no column"):
            tables.place_of(table, name)
    assert tables.first_of(table, ["x", "B"]) == 1
    assert tables.place_of(table, "C") == 3
    path.write_text("a,A,b,B\n")
    table = tables.read(path)
    assert [tables.place_of(table, name) for name in ("a", "A", "B")] == [0, 1, 3]
    with pytest.raises(InputError, match="--column ID,LABEL"):
        tables.first_of(table, ["x", "y"])


def test_the_last_way_to_name_a_column(path: Path) -> None:
    """A number is no name of a header; commas are text in a .tsv."""
    path.write_text(",disease,n\n0,breast cancer,2\n")
    assert tables.read(path, ["2"]).header == ["", "disease", "n"]
    path = path.with_name("t.TSV")
    path.write_text("diseases, of adults\ngout, acute\n")
    assert tables.read(path).header == ["diseases, of adults"]
    assert extended(path, "=n").splitlines()[1] == "gout, acute\t'=n"


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
    if delimiter == "\t" and any("\t" in text and "\n" in text for row in rows for text in row):
        return  # such a cell may be refused, see below
    text = io.StringIO(extended(path, cell), newline="")
    read = list(csv.reader(text, delimiter=delimiter, strict=True))
    assert [row[:3] for row in read] == [["a", "b", "c"], *rows]
    written = tables.inert(cell.replace("\t", " ").replace("\n", " "))
    blank = [""] * 3 if delimiter == "\t" else None
    assert all(row[3:] == ([] if row[:3] == blank else [written]) for row in read[1:])


@given(
    st.lists(st.text('a"\t\n', min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=9)
)
def test_no_line_between_tabs_is_lost_or_changed(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    """Whatever the quotes are: lines that other programs wrote, some of them broken."""
    path = tmp_path_factory.mktemp("t") / "t.tsv"
    text = "a\tb\tc\n" + "\n".join(lines) + "\n"
    path.write_text(text)
    try:
        table = tables.read(path)
        rows = list(table.rows())
    except InputError:
        return
    assert text == "a\tb\tc\n" + "".join(row.raw for row in rows)
    assert all(len(row.cells) <= 3 for row in rows)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are not listed")
def test_a_file_is_closed_as_soon_as_a_bad_row_stops_its_reader(tmp_path: Path) -> None:
    """Not at some later collection of garbage, which would warn of it in another's test."""
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\n1\t2\t3\n" + "1\t2\n" * 30)
    gc.disable()
    try:
        with pytest.raises(InputError, match="the row has 3 cells"):
            list(tables.read(path).rows())
        opened = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    finally:
        gc.enable()
    assert path.resolve() not in opened


def test_lines_that_end_in_carriage_returns_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes(b"n\tdisease\r1\tgout\r")
    with pytest.raises(InputError, match="end in carriage returns alone"):
        tables.read(path)

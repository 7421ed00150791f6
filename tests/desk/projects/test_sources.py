"""Files of projects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linker.desk.projects import sources
from linker.desk.projects.sources import TooMany
from linker.errors import InputError, LinkerError
from linker.io.rows import ColumnNeeded

PROSE = json.loads((Path(__file__).parents[2] / "data" / "prose.json").read_text("utf-8"))


def test_empty_cells_and_formulas_that_were_never_computed_are_told(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra sheets is not installed")
    book = openpyxl.Workbook()
    for row in (["patient", "mention"], [1, "gout"], [2, None], [None, None], [3, '="a" & "b"']):
        book.active.append(row)
    book.save(tmp_path / "wards.xlsx")
    read = sources.read((tmp_path / "wards.xlsx").read_bytes(), "wards.xlsx", None, None, 10**6)
    assert (read.blank, len(read.notes)) == (2, 1)
    assert sources.read(b"mention\ngout\n", "a.csv", None, None, 100).notes == []
    assert sources.read(b"mention,a\ngout,\n,2\n", "a.csv", None, None, 100).blank == 1


def test_a_cell_that_is_too_long_is_told() -> None:
    text = "mention,a\ngout,\n" + "x" * 1_001 + ",2\n,3\n" + "y" * 1_000 + ",4\n"
    read = sources.read(text.encode(), "a.csv", None, None, 10**6)
    assert [row.place for row in read.rows] == [2, 5]
    assert (read.blank, read.long, len(read.notes)) == (1, (3,), 2)


def test_a_table_is_known_without_its_ending() -> None:
    text = b"id,diagnosis\n1,gout\n"
    with pytest.raises(ColumnNeeded) as needed:
        sources.read(text, "a.txt", None, None, 100)
    assert needed.value.suggested == "diagnosis"
    assert [row.text for row in sources.read(text, "a.txt", "diagnosis", None, 100).rows] == [
        "gout"
    ]
    inverted = sources.read(b"Neoplasms, Breast\nCarcinoma, Lung\n", "a.txt", None, None, 100)
    assert (inverted.kind, inverted.count) == ("list", 2)
    ids = sources.read(b"gout\tD006073\nasthma\t-1\n", "a.tsv", None, None, 100)
    assert (ids.kind, [row.text for row in ids.rows]) == ("list", ["gout", "asthma"])


@pytest.mark.parametrize("text", PROSE["lists"].values(), ids=PROSE["lists"])
def test_a_list_is_a_list_whatever_some_of_its_lines_are(text: str) -> None:
    read = sources.read(text.encode(), "a.txt", None, None, 10**6)
    assert (read.kind, [row.text for row in read.rows]) == ("list", text.splitlines())


@pytest.mark.parametrize("text", PROSE["texts"].values(), ids=PROSE["texts"])
def test_most_of_a_text_is_prose(text: str) -> None:
    read = sources.read(text.encode(), "a.txt", None, None, 10**6)
    assert (read.kind, [document.text for document in read.documents]) == ("documents", [text])


def test_a_file_is_read_as_somebody_says() -> None:
    def read(text: str, file: str, read_as: Any) -> sources.Content:
        column = "mention" if read_as == "table" else None
        return sources.read(text.encode(), file, column, None, 10**6, read_as=read_as)

    text = "mention\nHe was seen with gout and with asthma.\n"
    assert [row.place for row in read(text, "a.txt", "list").rows] == [1, 2]
    assert [row.place for row in read(text, "a.txt", "table").rows] == [2]
    assert [d.text for d in read(text, "a.csv", "documents").documents] == [text]
    assert [row.text for row in read("a,b\nc,d\n", "a.csv", "list").rows] == ["a,b", "c,d"]
    with_ids = "gout\tD006073\nasthma\t-1\n"
    assert [row.text for row in read(with_ids, "a.tsv", "list").rows] == ["gout", "asthma"]
    pubtator = "7|t|Gout\n7|a|\n7\t0\t4\tGout\tDisease\n\n"
    assert read(pubtator, "a.txt", "documents").is_marked
    with pytest.raises(LinkerError):
        read(pubtator, "a.txt", "list")


def test_each_line_of_a_list_is_a_row_in_its_place_or_counted() -> None:
    lines = ["gout", "", "asthma", "x" * 1_001, "gout", "  ", "y" * 1_000, *["lupus"] * 500]
    for end in ("\n", "\r\n"):
        content = b"\xef\xbb\xbf" + end.join(lines).encode()
        read = sources.read(content, "a.txt", None, None, 10**6)
        there = {row.place: row.text for row in read.rows}
        assert there == {
            n: line for n, line in enumerate(lines, 1) if 0 < len(line.strip()) <= 1_000
        }
        assert (read.count, read.blank, read.long, len(read.notes)) == (len(lines) - 3, 2, (4,), 2)
    with pytest.raises(InputError) as error:
        sources.read(b"gout\nasthma\rlupus\n", "a.txt", None, None, 100)
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.txt", "\n".join(["gout"] * 11)),
        ("a.csv", "mention\n" + "gout\n" * 11),
        ("a.tsv", "gout\tD006073\n" * 11),
        ("a.jsonl", '{"mention": "gout"}\n' * 11),
        ("a.jsonl", '{"id": "1", "text": "Gout."}\n' * 11),
        ("a.txt", "7|t|Gout\n7|a|\n" + "7\t0\t4\tGout\tDisease\n" * 10 + "\n"),
    ],
    ids=["list", "table", "mentions with ids", "mentions", "documents", "marked mentions"],
)
def test_rows_beyond_a_limit_are_refused(file: str, content: str) -> None:
    def read(most: int) -> int:
        return sources.read(content.encode(), file, None, None, 10**6, most_rows=most).count

    assert read(11) in (11, 1)
    with pytest.raises(TooMany):
        read(10)


def test_what_one_row_or_document_holds_is_limited() -> None:
    for text, file in (
        ("," * 4_000_000 + "\n1\n", "a.csv"),
        ("\t" * 20_000 + "\nx\n", "a.tsv"),
        ("mention\n" + '"a\nb",' * 580_000 + "\n", "a.csv"),
        ("He has gout. " * 310_000, "a.txt"),
        ('{"id": "1", "text": "' + "x" * 8_000_000 + '"}\n', "a.jsonl"),
    ):
        with pytest.raises(InputError):
            sources.read(text.encode(), file, None, None, 10**8)

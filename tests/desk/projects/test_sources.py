"""Files of projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.desk.projects import sources
from linker.io.rows import ColumnNeeded


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

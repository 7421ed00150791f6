"""Figures, search and differences of dictionaries small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

from linker import Dictionary
from linker.dictionary.inspection import Change, diff, stats

HEADER = "id\tname\tsynonyms\tparents\talt_ids\tstatus\treplaced_by\n"
OLD = """A:1\tfever\tpyrexia\t\t\t\t
A:2\tflu\tInfluenza|grippe\tA:1\tA:20|A:99\t\t
A:3\tswine flu\tgrippe\tA:2|A:1\tA:99\t\t
B:1\tcold\t\tB:2\t\t\t
B:2\tcommon cold\tCOLD\tB:1\t\t\t
A:4\told fever\t\t\t\tobsolete\tA:1|A:2
A:5\tolder fever\t\t\t\tmerged\tA:4
A:6\tdamp\t\t\t\tobsolete\t
"""


def read(tmp_path: Path, text: str, name: str = "x.tsv") -> Dictionary:
    (tmp_path / name).write_text(HEADER + text)
    return Dictionary.read(tmp_path / name)


def test_stats(tmp_path: Path) -> None:
    figures = stats(read(tmp_path, OLD))
    sources = figures.pop("sources")
    assert [(s["file"], s["format"], s["namespace"], s["concepts"]) for s in sources] == [
        ("x.tsv", "table", "A", 5)
    ]
    assert figures == {
        "concepts": 5,
        "namespaces": {"A": 3, "B": 2},
        "names": 10,
        "distinct_names": 8,  # cold/COLD and grippe are one each
        "ambiguous_names": 2,
        "alternative_ids": 2,
        "obsolete_ids": 2,
        "merged_ids": 1,
        "parent_edges": 5,
        "roots": ["A:1"],
        "depth": 1,
        "cycles": [["B:1", "B:2"]],
    }


def test_diff(tmp_path: Path) -> None:
    old = read(
        tmp_path,
        "A:1\tfever\tpyrexia\t\t\t\t\nA:2\tflu\t\tA:1\tA:20\t\t\n"
        "A:3\tswine flu\t\tA:2\t\t\t\nA:4\tague\t\tA:1\t\t\t\n",
    )
    new = read(
        tmp_path,
        "A:1\tfever\theat\t\t\t\t\nA:2\tinfluenza\tflu\t\tA:21|A:3\t\t\nA:5\tplague\t\tA:1\t\t\t\n",
        "y.tsv",
    )
    assert list(diff(old, new)) == [
        Change("concept moved", "A:3", "swine flu", ("A:2",)),
        Change("concept removed", "A:4", "ague", ()),
        Change("concept added", "A:5", "plague", ()),
        Change("names removed", "A:1", "fever", ("pyrexia",)),
        Change("names added", "A:1", "fever", ("heat",)),
        Change("preferred name changed", "A:2", "influenza", ("flu",)),
        Change("names added", "A:2", "influenza", ("influenza",)),
        Change("parents removed", "A:2", "influenza", ("A:1",)),
        Change("alternative ids removed", "A:2", "influenza", ("A:20",)),
        Change("alternative ids added", "A:2", "influenza", ("A:21", "A:3")),
    ]
    assert Change("parents added", "A:2", "flu", ("A:1",)) in list(diff(new, old))
    assert not list(diff(old, old))

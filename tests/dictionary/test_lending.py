"""Parents that one dictionary lends to the concepts of another."""

from __future__ import annotations

from pathlib import Path

from linker import Dictionary


def write(path: Path, text: str) -> Path:
    lines = [line + "\t" * (4 - line.count("\t")) for line in text.splitlines()]
    path.write_text("\n".join(["id\tname\tsynonyms\tparents\talt_ids", *lines]) + "\n")
    return path


def read(tmp_path: Path, text: str) -> Dictionary:
    return Dictionary.read(write(tmp_path / "small.tsv", text))


def parents(dictionary: Dictionary) -> dict[str, list[str]]:
    return {i: list(dictionary.concept(row).parents) for row, i in enumerate(dictionary.ids)}


def test_parents_are_lent_by_id_and_by_alternative_id(tmp_path: Path) -> None:
    borrower = read(tmp_path, "A:1\tfever\nA:2\tflu\nA:30\tswine flu\nA:5\tbird flu\t\t\tA:6\n")
    lender = write(
        tmp_path / "lender.tsv",
        "A:1\tfever\nA:2\tflu\t\tA:1\nA:3\tswine\t\tA:2\tA:30\nA:6\tbird\t\tA:3\n",
    )
    lent = borrower.with_parents(Dictionary.read(lender))
    assert parents(lent) == {"A:1": [], "A:2": ["A:1"], "A:30": ["A:2"], "A:5": ["A:30"]}
    assert parents(borrower) == {"A:1": [], "A:2": [], "A:30": [], "A:5": []}  # untouched
    assert [s.file for s in lent.sources] == ["small.tsv", "lender.tsv"]
    read_so = Dictionary.read(tmp_path / "small.tsv", hierarchy=lender)
    assert parents(read_so) == parents(lent)


def test_lending_climbs_over_parents_that_are_unknown(tmp_path: Path) -> None:
    borrower = read(tmp_path, "A:1\ttop\nA:2\tside\nA:9\tleaf\n")
    cycle = "U:1\tu\t\tA:1|U:2\nU:2\tv\t\tA:2|U:1\n"
    lender = f"A:1\ttop\nA:2\tside\n{cycle}A:9\tleaf\t\tU:1\n"
    assert parents(borrower.with_parents(read(tmp_path, lender))) == {
        "A:1": [],
        "A:2": [],
        "A:9": ["A:1", "A:2"],
    }


def test_lending_climbs_only_as_far_as_it_must(tmp_path: Path) -> None:
    borrower = read(tmp_path, "A:1\ttop\nA:2\tmiddle\nA:3\tleaf\n")
    lender = read(tmp_path, "A:1\ttop\nA:2\tmiddle\t\tA:1\nA:3\tleaf\t\tA:2\n")
    assert parents(borrower.with_parents(lender))["A:3"] == ["A:2"]


def test_lending_climbs_over_the_concept_itself_under_another_id(tmp_path: Path) -> None:
    borrower = read(tmp_path, "A:1\ttop\nA:2\tmerged\t\t\tA:3\n")
    lender = read(tmp_path, "A:1\ttop\nA:2\tspecial\t\tA:3\nA:3\tgeneral\t\tA:1\n")
    assert parents(borrower.with_parents(lender)) == {"A:1": [], "A:2": ["A:1"]}


def test_lending_leaves_concepts_that_the_lender_does_not_know(tmp_path: Path) -> None:
    borrower = read(tmp_path, "A:1\ta\nA:2\tb\t\tB:1\nB:1\tc\nB:2\td\t\tB:1\n")
    lender = read(tmp_path, "A:1\ta\nA:2\tb\t\tA:1\n")
    assert parents(borrower.with_parents(lender)) == {
        "A:1": [],
        "A:2": ["A:1"],
        "B:1": [],
        "B:2": ["B:1"],
    }

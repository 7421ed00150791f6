"""Concepts by ids and by parts of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary.lookup import search
from linker.text.normalize import normalize

HEADER = "id\tname\tsynonyms\tparents\talt_ids\tstatus\treplaced_by\n"
NAMES = """A:1\tfever\tpyrexia\t\t\t\t
A:2\tflu\tInfluenza|grippe\tA:1\tA:20|A:99\t\t
A:3\tswine flu\tgrippe\tA:2|A:1\tA:99\t\t
B:1\tcold\t\tB:2\t\t\t
B:2\tcommon cold\tCOLD\tB:1\t\t\t
A:4\told fever\t\t\t\tobsolete\tA:1|A:2
A:5\tolder fever\t\t\t\tmerged\tA:4
A:6\tdamp\t\t\t\tobsolete\t
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A:2", [("A:2", "A:2", 1.0)]),
        ("A:99", [("A:2", "A:99", 1.0), ("A:3", "A:99", 1.0)]),  # an alternative id of two
        ("A:5", [("A:1", "A:5", 1.0), ("A:2", "A:5", 1.0)]),  # a merged id, by the obsolete one
        ("A:6", []),
        ("FLU", [("A:2", "flu", 1.0), ("A:3", "swine flu", 0.3333)]),  # 3 of 9 characters
        ("grippe", [("A:2", "grippe", 1.0), ("A:3", "grippe", 1.0)]),
        ("common", [("B:2", "common cold", 0.5455)]),  # 6 of 11
        ("old", [("B:1", "cold", 0.75), ("B:2", "COLD", 0.75)]),  # not the obsolete names
        ("typhus", []),
        ("!?", []),
    ],
)
def test_search(tmp_path: Path, text: str, expected: list[tuple[str, str, float]]) -> None:
    (tmp_path / "x.tsv").write_text(HEADER + NAMES)
    dictionary = Dictionary.read(tmp_path / "x.tsv")
    hits = search(dictionary, dictionary.table(normalize), normalize, text)
    assert [(dictionary.ids[hit.row], *hit[1:]) for hit in hits] == expected

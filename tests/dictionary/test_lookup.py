"""Concepts by ids and by parts of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.dictionary.lookup import search
from linker.text.normalize import normalize

from .test_inspection import OLD, read


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
    dictionary = read(tmp_path, OLD)
    hits = search(dictionary, dictionary.table(normalize), normalize, text)
    assert [(dictionary.ids[hit.row], *hit[1:]) for hit in hits] == expected

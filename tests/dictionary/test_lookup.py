"""Concepts by ids, and by names as people type them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary.lookup import search
from linker.records import Candidate, Mention, Part, Prediction
from linker.text.normalize import normalize

from .test_inspection import OLD, read


def found(
    dictionary: Dictionary, text: str, linked: Iterable[Prediction] = ()
) -> list[tuple[str, str, float]]:
    """The ids of the concepts, with the names that were found and how well they fit."""
    hits = search(dictionary, dictionary.table(normalize), normalize, text, linked)
    return [(dictionary.ids[hit.row], *hit[1:]) for hit in hits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A:2", [("A:2", "A:2", 1.0)]),
        ("A:99", [("A:2", "A:99", 1.0), ("A:3", "A:99", 1.0)]),  # an alternative id of two
        ("A:5", [("A:1", "A:5", 1.0), ("A:2", "A:5", 1.0)]),  # a merged id, by the obsolete one
        ("A:6", []),
        # of eight names two have "flu" and one has "swine": 0.3 + 0.7 ln 5 / (ln 5 + ln 9)
        ("FLU", [("A:2", "flu", 1.0), ("A:3", "swine flu", 0.596)]),
        ("grippe", [("A:2", "grippe", 1.0), ("A:3", "grippe", 1.0)]),
        # a third of "grippe" is missing: f = 1 - 0.2 / 3, and f (0.3 + 0.7 f)
        ("grip", [("A:2", "grippe", 0.8898), ("A:3", "grippe", 0.8898)]),
        # one error of five letters: f = 1 - 2 / 5
        ("fevre", [("A:1", "fever", 0.432)]),
        ("fver", [("A:1", "fever", 0.325)]),  # of four: f = 1 - 2 / 4
        ("gripxpe", [("A:2", "grippe", 0.5714), ("A:3", "grippe", 0.5714)]),  # f = 1 - 2 / 7
        ("pyreixax", [("A:1", "pyrexia", 0.325)]),  # two errors of eight letters
        ("pyreixaxx", []),  # three
        ("fev", [("A:1", "fever", 0.8685)]),  # f = 1 - 0.2 · 2 / 5
        ("fvr", []),  # three letters have no error
        # "common" by 0.6, and it weighs ln 9 beside ln 5: f = 0.7691
        ("cold comon", [("B:2", "common cold", 0.6448), ("B:1", "cold", 0.4228)]),
        # inside a word: f = 0.5; not the obsolete names
        ("old", [("B:1", "cold", 0.325), ("B:2", "COLD", 0.325)]),
        ("typhus", []),
        ("!?", []),
    ],
)
def test_search(tmp_path: Path, text: str, expected: list[tuple[str, str, float]]) -> None:
    assert found(read(tmp_path, OLD), text) == expected


def test_concepts_with_more_below_them_come_first(tmp_path: Path) -> None:
    text = "P:1\tpain here\t\t\t\t\t\nP:2\tpain there\t\t\t\t\t\nP:3\tache\t\tP:2\t\t\t\n"
    assert [id for id, *_ in found(read(tmp_path, text), "pain")] == ["P:2", "P:1"]


def test_what_a_linker_says_counts_too(tmp_path: Path) -> None:
    dictionary = read(tmp_path, OLD)

    def linked(id: str, confidence: float | None) -> list[Prediction]:
        candidates = (Candidate(id, "", "coryza", 1.0, confidence=confidence),)
        return [Prediction(Mention("coryza"), (Part("coryza", candidates=candidates),))]

    assert found(dictionary, "coryza", linked("B:1", 0.9)) == [("B:1", "coryza", 0.9)]
    assert found(dictionary, "coryza", linked("B:1", 0.01)) == []
    assert found(dictionary, "coryza", linked("B:1", None)) == []
    assert [id for id, *_ in found(dictionary, "grippe", linked("A:3", 0.5))] == ["A:3", "A:2"]
    assert found(dictionary, "flu", linked("A:3", 0.3))[0] == ("A:2", "flu", 1.0)

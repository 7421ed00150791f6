"""What a training is made of: the names with and without the mentions, and fingerprints of both."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from collections.abc import Sequence

import pytest

from linker import Dictionary
from linker.errors import LinkerError
from linker.records import GoldGroup, Mention
from linker.training.data import Annotated, TrainingQuery, queries

from .small import MENTIONS, data_of


def test_fingerprints_change_with_what_they_are_of(dictionary: Dictionary) -> None:
    one, other = (
        data_of(dictionary, mentions).fingerprint() for mentions in (MENTIONS, MENTIONS[1:])
    )
    assert one == data_of(dictionary).fingerprint()
    assert {name for name in one if one[name] != other[name]} == {"mentions", "indexed"}


GIVEN = [
    ("flu", {"Z:1"}),
    ("fever", {"D:5"}),
    ("--", {"D:5"}),
    ("fever", {"D:5"}),
    ("nothing", set()),
    ("lymphoma", {"O:2"}),
    ("fever", {"D:4"}),
    ("fever", {"D:5"}),
    ("lost", {"D:9"}),  # obsolete and replaced by nothing
    ("flu", {"Z:1", "Z:0"}),
    ("flu", {"Z:1"}),
    ("half", {"Z:1", "D:1"}),
]


def annotated(pairs: Sequence[tuple[str, set[str]]]) -> list[Annotated]:
    """Mentions of one concept."""
    return [
        Annotated(Mention(text, gold=(GoldGroup(tuple(ids)),)), text, tuple(ids))
        for text, ids in pairs
    ]


def normalize(text: str) -> str:
    return text.strip("-")


def query(text: str, *right: str) -> TrainingQuery:
    return TrainingQuery(text, frozenset(right))


def test_mentions_become_distinct_queries(aged: Dictionary) -> None:
    assert queries(annotated(GIVEN), aged, normalize) == [
        query("fever", "D:5"),
        query("lymphoma", "O:2", "D:2"),
        query("fever", "D:4"),
        query("half", "Z:1", "D:1"),
    ]


def test_mentions_that_all_give_no_query_are_an_error(aged: Dictionary) -> None:
    lost = [GIVEN[number] for number in (0, 2, 4, 8, 9, 10)]
    with pytest.raises(LinkerError):
        queries(annotated(lost), aged, normalize)

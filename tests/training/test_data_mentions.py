"""Which queries annotated mentions give, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from linker import Dictionary
from linker.errors import LinkerError
from linker.records import GoldGroup, Mention
from linker.training.data import Annotated, TrainingQuery, queries

MENTIONS = [
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
    assert queries(annotated(MENTIONS), aged, normalize) == [
        query("fever", "D:5"),
        query("lymphoma", "O:2", "D:2"),
        query("fever", "D:4"),
        query("half", "Z:1", "D:1"),
    ]


def test_mentions_that_all_give_no_query_are_an_error(aged: Dictionary) -> None:
    lost = [MENTIONS[number] for number in (0, 2, 4, 8, 9, 10)]
    with pytest.raises(LinkerError):
        queries(annotated(lost), aged, normalize)

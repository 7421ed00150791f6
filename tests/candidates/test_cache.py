"""What is remembered of rankings, and that it changes none of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from linker.candidates.cache import CachedRanker, SizedCache

from linker.candidates.base import Generator, Ranked, Unit
from linker.types import Lookup


class Counting:
    """Gives k answers, each with the length of the name for its score, and counts what is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], int, Unit]] = []

    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        self.asked.append(([one.normalized for one in lookups], k, unit))
        rows = np.arange(k, dtype=np.int32)
        every = [Ranked(rows, rows, rows, np.full(k, len(one.normalized))) for one in lookups]
        return [ranked[: k if ranked.scores[0] else 0] for ranked in every]


def remembering(generator: Counting, size: int = 100) -> CachedRanker:
    return CachedRanker(cast(Generator, generator), size)


def ask(ranker: CachedRanker, *names: str, k: int = 2, unit: Unit = "concepts") -> list[Any]:
    lookups = [Lookup.of(name) for name in names]
    return [ranked.scores.tolist() for ranked in ranker.rank(lookups, k, unit)]


def test_what_was_asked_is_not_asked_again() -> None:
    first = Counting()
    cached = remembering(first)
    assert ask(cached, "a", "bb", "a") == [[1, 1], [2, 2], [1, 1]]
    assert ask(cached, "bb", "ccc") == [[2, 2], [3, 3]]
    assert ask(cached, "ccc", "a") == [[3, 3], [1, 1]]
    assert first.asked == [(["a", "bb"], 2, "concepts"), (["ccc"], 2, "concepts")]


def test_another_number_or_unit_is_another_question() -> None:
    first = Counting()
    cached = remembering(first)
    ask(cached, "a")
    ask(cached, "a", k=3)
    ask(cached, "a", unit="names")
    assert first.asked == [(["a"], 2, "concepts"), (["a"], 3, "concepts"), (["a"], 2, "names")]


def test_an_empty_ranking_is_remembered_too() -> None:
    first = Counting()
    cached = remembering(first)
    assert ask(cached, "") == ask(cached, "") == [[]]
    assert len(first.asked) == 1


def test_what_was_not_asked_for_longest_is_forgotten() -> None:
    """A ranking of two answers counts three, so that two rankings fit into eight."""
    first = Counting()
    cached = remembering(first, 8)
    for name in ("a", "bb", "a", "ccc", "a", "bb"):
        ask(cached, name)
    assert [asked for asked, _, _ in first.asked] == [["a"], ["bb"], ["ccc"], ["bb"]]


def test_what_is_too_large_is_answered_and_not_remembered() -> None:
    first = Counting()
    cached = remembering(first, 8)
    for _ in range(2):
        assert ask(cached, "a", k=9) == [[1] * 9]
    assert len(first.asked) == 2


def test_what_is_remembered_holds_no_larger_array() -> None:
    class Views(Counting):
        def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
            return [ranked[:1] for ranked in super().rank(lookups, 1000, unit)]

    cached = remembering(Views())
    ask(cached, "a")
    (ranked,) = cached.rank([Lookup.of("a")], 2, "concepts")
    assert ranked.scores.base is None
    assert ranked.names.base is None


def test_values_are_kept_up_to_a_total_size() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key * 2

    cache = SizedCache[str, str](10, len)
    assert [cache.get(key, make) for key in ("a", "bb", "a", "cc", "a")] == [
        *("aa", "bbbb", "aa", "cccc", "aa")
    ]
    assert made == ["a", "bb", "cc"]  # of sizes 2, 4 and 4
    cache.get("d", make)
    assert [cache.get(key, make) for key in ("a", "d", "cc")] == ["aa", "dd", "cccc"]
    assert made == ["a", "bb", "cc", "d"]
    cache.get("bb", make)
    assert made[-1] == "bb"  # it was asked for the longest ago
    twin = copy.copy(cache)
    assert (twin.get("a", make), made[-1]) == ("aa", "a")

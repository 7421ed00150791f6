"""Document-level consistency: hand-made numbers, and a slow, obvious way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.candidates import agreement
from linker.candidates.agreement import Group, Ranking, agreed
from linker.candidates.base import Generator, Ranked, Ranker, Unit
from linker.dictionary import Dictionary, NameTable
from linker.persistence import Strings
from linker.types import Lookup

RANKINGS: dict[str, Ranking] = {
    "ataxia": [(["A"], 1.0), (["B", "C"], 0.9)],
    "louis bar": [(["C"], 0.8), (["D"], 0.8), (["A"], 0.1)],
    "at": [(["B"], 0.5), (["D"], 0.495)],
    "": [],
}


def test_by_hand() -> None:
    found = {
        name: (places.tolist(), scores.tolist())
        for name, (places, scores) in agreed(RANKINGS, (), 0.03, 2).items()
    }
    assert found["ataxia"] == (
        [0, 1],
        [1.0, pytest.approx(0.9 + 0.03 * 0.8)],
    )  # C is first elsewhere with 0.8, B with 0.5
    assert found["louis bar"] == (
        [0, 1],
        [0.8, 0.8],
    )  # C and D are first answers of their own alone, which do not count
    assert found["at"] == ([1, 0], [pytest.approx(0.495 + 0.03 * 0.8), 0.5])
    assert found[""] == ([], [])


def test_without_weight_and_alone_nothing_changes() -> None:
    assert [places.tolist() for places, _ in agreed(RANKINGS, (), 0, 9).values()] == [
        [0, 1],
        [0, 1, 2],
        [0, 1],
        [],
    ]
    assert agreed({"at": RANKINGS["at"]}, (), 0.5, 9)["at"][1].tolist() == [0.5, 0.495]


def test_a_settled_name_votes_and_gains_nothing() -> None:
    found = agreed(RANKINGS, {"ataxia"}, 0.5, 3)
    assert found["ataxia"][1].tolist() == [1.0, 0.9]
    assert found["louis bar"][1].tolist() == [
        0.8,
        0.8,
        pytest.approx(0.1 + 0.5 * 1.0),
    ]  # A is ataxia's


def test_a_score_below_0_is_no_support() -> None:
    assert agreed({"x": [("A", -1.0)], "y": [("A", -2.0)]}, (), 0.5, 1)["x"][1].tolist() == [-1.0]


def slow(rankings: dict[str, Ranking], settled: set[str], weight: float, name: str) -> list[float]:
    scores = []
    for concepts, score in rankings[name]:
        support = 0.0
        for other, ranking in rankings.items():
            for theirs, best in ranking:
                if (
                    name not in settled
                    and other != name
                    and best == ranking[0][1]
                    and set(theirs) & set(concepts)
                ):
                    support = max(support, best)
        scores.append(score + weight * support)
    return scores


candidate = st.tuples(
    st.sets(st.sampled_from("ABCDE"), min_size=1), st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0])
)
ranking = st.lists(candidate, max_size=5).map(lambda some: sorted(some, key=lambda one: -one[1]))


names = st.sampled_from("uvwxyz")


@given(
    st.dictionaries(names, ranking),
    st.sets(names),
    st.sampled_from([0.0, 0.03, 0.5]),
    st.integers(1, 6),
)
def test_as_the_slow_way(
    rankings: dict[str, Ranking], settled: set[str], weight: float, k: int
) -> None:
    for name, (places, scores) in agreed(rankings, settled, weight, k).items():
        wanted = slow(rankings, settled, weight, name)
        assert scores.tolist() == [wanted[place] for place in places]
        assert (
            places.tolist()
            == sorted(range(len(wanted)), key=lambda place: (-wanted[place], place))[:k]
        )


class Pages(Ranker):
    """Ranks concepts by given scores, and keeps what it was asked."""

    def __init__(self, scores: dict[str, dict[int, float]]) -> None:
        self.scores, self.asked = scores, []  # type: ignore[var-annotated]
        none = np.zeros(0, np.int32)
        self._names = NameTable(Strings.of(scores), np.zeros(len(scores) + 1, int), none, none)

    @property
    def table(self) -> NameTable:
        return self._names

    @property
    def generator(self) -> Generator:
        raise NotImplementedError

    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        self.asked.append(([one.normalized for one in lookups], k))
        ranked = []
        for lookup in lookups:
            best = sorted(self.scores[lookup.normalized].items(), key=lambda pair: -pair[1])[:k]
            rows = np.array([row for row, _ in best], np.int32)
            other = np.full(len(best), 99 % len(self.scores), np.int32)  # no name is its own answer
            scores = np.array([score for _, score in best], np.float32)
            ranked.append(Ranked(other, rows, rows, scores))
        return ranked

    def behind(self, generator: Generator, dictionary: Dictionary) -> Ranker:
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def test_each_group_agrees_with_itself_and_has_its_own_k() -> None:
    scores = {"x": {}, "a": {1: 0.9, 2: 0.89}, "b": {2: 0.8, 3: 0.7}}
    ranker, a, b = Pages(scores), Lookup.of("a"), Lookup.of("b")
    groups = [Group([a, b], 1), Group([a], 2), Group([a], 1), Group([], 3), Group([b, a], 25)]
    first, alone, one, nothing, deep = agreement.rank(ranker, groups, "concepts", 0.1)
    assert [r.concepts.tolist() for r in first] == [[2], [2]]
    assert first[0].scores.tolist() == [pytest.approx(0.89 + 0.1 * 0.8)]
    assert [r.concepts.tolist() for r in (*alone, *one)] == [[1, 2], [1]]
    assert nothing == []
    assert [r.concepts.tolist() for r in deep] == [[2, 3], [2, 1]]
    assert ranker.asked == [(["a", "b"], 20), (["a"], 2), (["a"], 1), ([], 3), (["b", "a"], 25)]


def test_without_weight_a_document_is_ranked_like_its_names_alone() -> None:
    ranker = Pages({"x": {}, "a": {1: 0.9, 2: 0.89}, "b": {2: 0.8}})
    (ranked,) = agreement.rank(ranker, [Group([Lookup.of("a"), Lookup.of("b")], 2)], "concepts", 0)
    assert [r.concepts.tolist() for r in ranked] == [[1, 2], [2]]
    assert ranker.asked == [(["a", "b"], 2)]

"""Document-level consistency: hand-made numbers, and a slow, obvious way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.candidates.agreement import Ranking, agreed

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

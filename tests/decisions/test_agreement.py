"""Agreement of reviewers, by hand and beside scikit-learn's kappa."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from linker.decisions.agreement import Agreement, Pair, agreement
from linker.types import Decision


def said(**concepts: str) -> list[Decision]:
    """What reviewers said of a mention: a concept, - for none, or one that !is rejected."""
    return [
        Decision("m", concept.strip("!-"), not concept.startswith("!"), reviewer=who)
        for who, concept in concepts.items()
    ]


def test_agreement_by_hand() -> None:
    places = [
        said(ann="A", bob="A"),
        said(ann="A", bob="B", eve="B"),
        said(ann="B|C", bob="C|B"),
        said(ann="-", bob="-"),
        said(ann="!A", bob="!A"),
        said(ann="B"),
    ]
    places[1].append(Decision("m", "A", reviewer="ida", settles=("ann", "bob", "eve")))
    # ann: A twice of 5, bob: A and B; the others once each: 2 * 1 + 3 of 25 by chance
    ann_bob = Pair(("ann", "bob"), 5, 4, (4 / 5 - 5 / 25) / (1 - 5 / 25))
    ann_eve, bob_eve = Pair(("ann", "eve"), 1, 0, 0.0), Pair(("bob", "eve"), 1, 1, None)
    result = agreement(places)
    assert result == Agreement([ann_bob, ann_eve, bob_eve])
    assert (result.both, result.agreed) == (7, 5)
    assert result.kappa == pytest.approx((0.75 * 5 + 0 * 1) / 6)


def test_nobody_decided_on_what_another_did() -> None:
    assert agreement([said(ann="A"), said(bob="A")]).kappa is None
    assert agreement([]) == Agreement([])


CONCEPTS = st.sampled_from(["A", "B", "-", "!A"])


@given(st.lists(st.tuples(CONCEPTS, CONCEPTS), min_size=2))
def test_kappa_is_that_of_scikit_learn(pairs: Sequence[tuple[str, str]]) -> None:
    (pair,) = agreement(said(ann=one, bob=other) for one, other in pairs).pairs
    one, other = zip(*pairs, strict=True)
    if pair.kappa is None:
        assert len({*one, *other}) == 1
    else:
        assert pair.kappa == pytest.approx(cohen_kappa_score(one, other))


def test_who_writes_a_name_otherwise_is_the_same_person() -> None:
    places = [said(Ann="A", bob="A"), said(ann="A", bob="B")]
    (pair,) = agreement(places).pairs
    assert (pair.reviewers, pair.both, pair.agreed) == (("Ann", "bob"), 2, 1)

"""What a decision says, and which decisions are in force."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary
from linker.linking.decisions import (
    concepts_of,
    conflicts,
    disagree,
    fate,
    followed,
    in_force,
    parts_of,
    standing,
)
from linker.records import Decision

ANN = "ann"


@pytest.mark.parametrize(
    ("decisions", "left"),
    [  # (concept, accepted) of one reviewer in order, and the places of those in force
        ([("A", True), ("B", True)], [1]),
        ([("A", True), ("A", True)], [1]),
        ([("A", True), ("A", False)], [1]),
        ([("A", False), ("A", True)], [1]),
        ([("A", False), ("B", True)], [0, 1]),
        ([("A", True), ("B", False)], [0, 1]),
        ([("A", False), ("B", False), ("", True)], [0, 1, 2]),
        ([("A|B", True), ("B", False)], [1]),
        ([("A|B", True), ("B|A", True)], [1]),
        ([("A", True), ("A|-1", True)], [1]),
    ],
)
def test_later_decisions_of_a_reviewer(
    decisions: Sequence[tuple[str, bool]], left: Sequence[int]
) -> None:
    names = itertools.cycle([ANN, "Ann", "ann\u200b"])  # one person
    records = [
        Decision("m", concept, accepted, "", name)
        for (concept, accepted), name in zip(decisions, names, strict=False)
    ]
    assert in_force(records) == {("m", ""): [records[place] for place in left]}


def said(who: str, concept: str, accepted: bool = True, settles: str = "") -> Decision:
    return Decision("m", concept, accepted, reviewer=who, settles=tuple(settles.split()))


@pytest.mark.parametrize(
    ("decisions", "kept", "counting"),
    [  # in order, and the places of those in force, and of those that count
        ([("ann", "B"), ("bob", "C")], [0, 1], [0, 1]),
        ([("ann", "B"), ("bob", "C"), ("eve", "A", True, "ann Bob")], [0, 1, 2], [2]),
        ([("ann", "B"), ("bob", "C"), ("eve", "B", True, "bob")], [0, 1, 2], [0, 2]),
        ([("ann", "B"), ("bob", "C"), ("ann", "C", True, "bob")], [0, 1, 2], [2]),  # of a party
        ([("ann", "B"), ("eve", "A", True, "ann"), ("bob", "C")], [0, 1, 2], [1, 2]),  # later
        ([("ann", "B"), ("eve", "A", True, "ann"), ("ann", "C")], [1, 2], [1, 2]),
        ([("ann", "B"), ("eve", "A", True, "ann"), ("eve", "C")], [0, 2], [0, 2]),
        ([("ann", "B"), ("eve", "A", True, "ann"), ("eve", "C", False)], [0, 1, 2], [1, 2]),
        ([("ann", "B"), ("eve", "A", True, "ann"), ("ida", "C", True, "eve")], [0, 1, 2], [2]),
    ],
)
def test_a_decision_settles_what_those_that_it_names_said_before(
    decisions: Sequence[tuple[Any, ...]], kept: Sequence[int], counting: Sequence[int]
) -> None:
    records = [said(*decision) for decision in decisions]
    (of_place,) = in_force(records).values()
    assert of_place == [records[place] for place in kept]
    assert standing(of_place) == [records[place] for place in counting]


BULK = Decision("m", "A:1", reviewer="ann", bulk=True)


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        (Decision("m", "A:1", reviewer="bob"), False),
        (Decision("m", "A:2", reviewer="bob"), False),
        (Decision("m", "", reviewer="bob"), False),
        (Decision("m", "A:1", False, reviewer="bob"), False),
        (Decision("m", "A:2", False, reviewer="bob"), True),  # it was not the answer of the bulk
        (Decision("m", "A:2", reviewer="bob", bulk=True), True),  # nobody looked at either
    ],
)
def test_what_was_accepted_in_bulk_counts_where_nobody_looked(said: Decision, counts: bool) -> None:
    for decisions in ([BULK, said], [said, BULK]):  # also where it was stored later
        assert in_force(decisions) == {("m", ""): decisions}
        assert (BULK in standing(decisions)) == counts
        assert disagree(decisions) == (said.bulk)


def test_scopes_and_forms_are_apart() -> None:
    decisions = [Decision("M", "A"), Decision("m", "B"), Decision("m", "C", scope="1")]
    assert in_force(decisions) == {("m", ""): decisions[1:2], ("m", "1"): decisions[2:]}


DECISIONS = st.builds(
    Decision,
    st.sampled_from(["m", "n"]),
    st.sampled_from(["", "A", "B", "A|B"]),
    st.just(True),
    st.sampled_from(["", "doc"]),
    st.sampled_from(["ann", "bob"]),
)


REJECTIONS = st.builds(
    Decision,
    st.just("m"),
    st.sampled_from(["A", "B", "C"]),
    st.just(False),
    st.just(""),
    st.sampled_from(["ann", "bob"]),
)


def contradict(one: Decision, other: Decision) -> bool:
    if one.accepted and other.accepted:
        return sorted(parts_of(one)) != sorted(parts_of(other))
    accepted, rejected = (one, other) if one.accepted else (other, one)
    return accepted.accepted and rejected.concept_id in concepts_of(accepted)


@given(st.lists(DECISIONS.filter(lambda d: (d.mention, d.scope) == ("m", "")) | REJECTIONS))
def test_rejections_and_acceptances_pair_by_pair(decisions: list[Decision]) -> None:
    kept: list[Decision] = []
    for d in decisions:
        same = [e for e in kept if e.reviewer == d.reviewer]
        replaced = [
            e
            for e in same
            if contradict(d, e)
            or (d.accepted == e.accepted and sorted(parts_of(d)) == sorted(parts_of(e)))
        ]
        kept = [*(e for e in kept if not any(e is gone for gone in replaced)), d]
    places = in_force(decisions)
    assert places.get(("m", ""), []) == kept
    disputed = any(contradict(one, other) for one in kept for other in kept)
    assert disagree(kept) == disputed
    assert conflicts(places) == ([kept] if disputed else [])


TERMS = [
    "X:1; name: one; alt_id: X:11; alt_id: X:12",
    'X:2; name: two; synonym: "deux" EXACT []; alt_id: X:12',
    "X:3; name: old three; is_obsolete: true; replaced_by: X:2",
    "X:4; name: old four; is_obsolete: true",
]


@pytest.fixture
def dictionary(tmp_path: Path, ontology: Callable[..., str]) -> Dictionary:
    (tmp_path / "d.obo").write_text(ontology(*TERMS), "utf-8")
    return Dictionary.read(tmp_path / "d.obo")


@pytest.mark.parametrize(
    ("concept", "state", "now"),
    [
        ("X:1", "current", ("X:1",)),
        ("X:11", "merged", ("X:1",)),
        ("X:3", "merged", ("X:2",)),
        ("X:4", "obsolete", ()),
        ("X:1|X:4", "obsolete", ("X:1",)),
        ("X:9", "unknown", ()),
        ("X:12", "ambiguous", ("X:1", "X:2")),
        ("", "current", ()),
        ("X:11|-1", "merged", ("X:1",)),
    ],
)
def test_what_becomes_of_decisions_in_another_release(
    dictionary: Dictionary,
    concept: str,
    state: str,
    now: tuple[str, ...],
) -> None:
    decision = Decision("m", concept)
    assert fate(decision, dictionary) == (state, now)
    kept = followed(decision, dictionary)
    assert (kept is not None) == (state in ("current", "merged"))
    assert kept is None or concepts_of(kept) == now


def test_ids_of_another_release_are_followed_before_anything_is_replaced(
    dictionary: Dictionary,
) -> None:
    old, gone = Decision("m", "X:11"), Decision("n", "X:9")
    rejected = Decision("m", "X:1", accepted=False)
    places = in_force([old, Decision("n", "X:1"), gone, rejected], dictionary)
    assert places == {("m", ""): [rejected]}  # and what X:9 replaced does not come back
    by_others = [replace(d, reviewer=who) for d, who in ((old, "ann"), (rejected, "bob"))]
    assert len(conflicts(in_force(by_others, dictionary))) == 1
    assert conflicts(in_force(by_others)) == []

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
from linker.desk.decisions.store import identified
from linker.dictionary.building import Builder
from linker.errors import stop
from linker.linking.decisions import (
    as_said,
    concepts_of,
    conflicts,
    disagree,
    fate,
    followed,
    in_force,
    opened,
    parts_of,
    ruled,
    standing,
)
from linker.records import Concept, Decision, Name

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


@pytest.mark.parametrize(
    ("said", "left"),
    [  # what one reviewer accepted in order, "not" before what was rejected; and what is in force
        ("A|? ?|B", "A|? ?|B"),
        ("A|? C|?", "C|?"),
        ("A|B C|?", "?|B C|?"),
        ("A|B ?|-1", "A|? ?|-1"),
        ("A|? A|B", "A|B"),
        ("A|B not:B", "A|? not:B"),
        ("A|? not:B", "A|? not:B"),
        ("A|A not:A", "not:A"),
        ("not:B ?|B", "?|B"),
        ("A|? C", "C"),
        ("C A|?", "A|?"),
        ("A|? A|?|?", "A|?|?"),  # divided into more parts
        ("A ?", "A"),
        ("? ?|?", ""),
    ],
)
def test_parts_are_decided_alone(said: str, left: str) -> None:
    decisions = [
        Decision("m", text.removeprefix("not:"), not text.startswith("not:"))
        for text in said.split()
    ]
    kept = in_force(decisions).get(("m", ""), [])
    assert [("" if d.accepted else "not:") + d.concept_id for d in kept] == left.split()


def test_a_part_of_what_was_accepted_in_bulk_was_seen_by_nobody() -> None:
    bulk = Decision("m", "A|B", reviewer="ann", bulk=True)
    for who in ("ann", "bob"):
        seen = Decision("m", "A|?", reviewer=who)
        (of_place,) = in_force([bulk, seen]).values()
        assert standing(of_place) == [seen]


@pytest.mark.parametrize(
    ("decisions", "are_disputed"),
    [  # of different reviewers
        (["A|?", "?|B"], False),
        (["A|?", "A|B"], False),
        (["A|?", "C|?"], True),
        (["A|?", "C|B"], True),
        (["A|?", "-1|?"], True),
        (["A|?", "A"], True),  # divided into other parts
        (["A|?", "?|B|?"], True),
        (["A|?", "?|B", "B|A"], False),  # in whatever order, where all are decided
        (["-1|?", ""], False),
        (["A|?", ""], True),
    ],
)
def test_disagreement_on_parts(decisions: list[str], are_disputed: bool) -> None:
    for order in itertools.permutations(decisions):
        records = [
            Decision("m", concept, reviewer=str(number)) for number, concept in enumerate(order)
        ]
        assert disagree(records) == are_disputed
        assert bool(conflicts(in_force(records))) == are_disputed


@pytest.mark.parametrize(
    ("before", "settling", "left"),
    [  # a decision of ann, and one of bob; by eve; and what counts
        (["A|B", "C|B"], ("A|?", True), ["?|B", "?|B", "A|?"]),
        (["A|B", "C|?"], ("A|?", True), ["?|B", "A|?"]),
        (["A|B", "C|D"], ("A|?", True), ["?|B", "?|D", "A|?"]),  # the other is disputed still
        (["A|B", "X"], ("A|?", True), ["?|B", "A|?"]),
        (["A|B", "C|B"], ("X", True), ["X"]),
        (["A|B", "C|B"], ("A", False), ["?|B", "?|B", "A"]),
        (["A", "C"], ("A", False), ["A"]),
    ],
)
def test_a_part_is_settled_alone(
    before: list[str], settling: tuple[str, bool], left: list[str]
) -> None:
    records = [said(who, ids) for who, ids in zip(("ann", "bob"), before, strict=True)]
    assert disagree(records)
    (of_place,) = in_force([*records, said("eve", *settling, "ann bob")]).values()
    assert [d.concept_id for d in standing(of_place)] == left


DECISIONS = st.builds(
    Decision,
    st.sampled_from(["m", "n"]),
    st.sampled_from(["", "A", "B", "A|B", "A|?", "?|B", "B|?"]),
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


def left_of(earlier: Decision, claims: dict[int, str], later: Decision) -> dict[int, str]:
    """What the earlier decision of a reviewer still says of parts, by their places."""
    parts = dict(enumerate(parts_of(later)))
    if later.accepted and earlier.accepted:
        if len(parts) != len(parts_of(earlier)):
            return {}
        return {place: claim for place, claim in claims.items() if parts[place] is None}
    if later.accepted or earlier.accepted or later.concept_id == earlier.concept_id:
        return {place: claim for place, claim in claims.items() if claim not in concepts_of(later)}
    return claims


def contradict(one: Decision, other: Decision) -> bool:
    if one.accepted and other.accepted:
        parts, others = parts_of(one), parts_of(other)
        if None not in (*parts, *others):
            return sorted(map(str, parts)) != sorted(map(str, others))
        if len(parts) != len(others):
            return any((*parts, *others)) or "" not in (one.concept_id, other.concept_id)
        return any(
            a != b for a, b in zip(parts, others, strict=True) if a is not None and b is not None
        )
    accepted, rejected = (one, other) if one.accepted else (other, one)
    return accepted.accepted and rejected.concept_id in concepts_of(accepted)


@given(st.lists(DECISIONS.filter(lambda d: (d.mention, d.scope) == ("m", "")) | REJECTIONS))
def test_rejections_and_acceptances_pair_by_pair(decisions: list[Decision]) -> None:
    kept: list[tuple[Decision, dict[int, str]]] = []
    for d in decisions:
        kept = [(e, left_of(e, c, d) if e.reviewer == d.reviewer else c) for e, c in kept]
        kept = [(e, c) for e, c in kept if c]
        kept.append((d, {n: part for n, part in enumerate(parts_of(d)) if part is not None}))
    in_place = in_force(decisions).get(("m", ""), [])
    assert [(d.reviewer, d.accepted, len(parts_of(d))) for d in in_place] == [
        (d.reviewer, d.accepted, len(parts_of(d))) for d, _ in kept
    ]
    assert [
        {n: part for n, part in enumerate(parts_of(d)) if part is not None} for d in in_place
    ] == [claims for _, claims in kept]
    disputed = any(contradict(one, other) for one in in_place for other in in_place)
    if all(None not in parts_of(d) for d in in_place):
        assert disagree(in_place) == disputed
    assert disputed >= disagree(in_place)  # several parts may agree together, and not one by one
    assert conflicts({("m", ""): in_place}) == ([in_place] if disagree(in_place) else [])


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
        ("?|X:11", "merged", ("X:1",)),
        ("X:1|?", "current", ("X:1",)),
        ("?|X:4", "obsolete", ()),
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
    assert kept is None or [*map(bool, parts_of(kept))] == [*map(bool, parts_of(decision))]


def test_ids_of_another_release_are_followed_after_what_they_replace_is_known(
    dictionary: Dictionary,
) -> None:
    old, gone = Decision("m", "X:11"), Decision("n", "X:9")
    rejected = Decision("m", "X:1", accepted=False)
    places = in_force([old, Decision("n", "X:1"), gone, rejected], dictionary)
    assert [*places] == [("m", "")]  # and what X:9 replaced does not come back
    assert standing(places["m", ""]) == [rejected]
    by_others = [replace(d, reviewer=who) for d, who in ((old, "ann"), (rejected, "bob"))]
    assert len(conflicts(in_force(by_others, dictionary))) == 1
    assert conflicts(in_force(by_others)) == []


# two concepts that a release made one: X:11 was one of its own, and is X:1 now


def ids_now(
    dictionary: Dictionary, *decisions: Decision
) -> tuple[tuple[str | None, ...], set[str]]:
    """What is accepted and rejected by those that count, or () and nothing where they disagree."""
    numbered = [replace(d, id=number) for number, d in enumerate(decisions, 1)]
    places = in_force(numbered, dictionary)
    ruling = ruled(places.get(place, ()) for place in (("m", "7"), ("m", "")))
    return ruling.parts, {*ruling.rejected}


def rejected(who: str, concept: str, scope: str = "") -> Decision:
    return Decision("m", concept, False, scope, who)


def accepted(who: str, concept: str, scope: str = "", **more: Any) -> Decision:
    return Decision("m", concept, True, scope, who, **more)


@pytest.mark.parametrize(
    ("decisions", "parts", "denied"),
    [
        ([accepted("ann", "X:1"), rejected("ann", "X:11")], ("X:1",), set()),
        ([accepted("bob", "X:1"), rejected("ann", "X:11")], ("X:1",), set()),
        ([accepted("bob", "X:1"), accepted("ann", "X:1"), rejected("ann", "X:11")],
         ("X:1",), set()),
        ([accepted("bob", "X:1"), rejected("ann", "X:11", "7")], ("X:1",), set()),
        ([accepted("bob", "X:1", "7"), rejected("ann", "X:11")], ("X:1",), set()),
        ([accepted("ann", "X:1", predicate="broad"), rejected("ann", "X:11")], ("X:1",), set()),
        ([rejected("ann", "X:11")], (), {"X:1"}),  # it follows its id
        ([rejected("ann", "X:11"), accepted("ann", "X:2")], ("X:2",), {"X:1"}),
        ([accepted("ann", "X:1"), accepted("ann", "X:2"), rejected("bob", "X:11")],
         ("X:2",), {"X:1"}),  # who accepted X:1 says something else by now
        ([accepted("ann", "X:1", bulk=True), rejected("ann", "X:11")], (), {"X:1"}),
        ([accepted("ann", "X:11"), rejected("bob", "X:11")], (), set()),  # they disagree
        ([accepted("ann", "X:1"), rejected("bob", "X:1")], (), set()),
        ([accepted("ann", "X:1"), rejected("ann", "X:1"), rejected("ann", "X:11")],
         (), {"X:1"}),  # also the concept itself
        ([accepted("bob", "X:1"), rejected("ann", "X:1"), rejected("ann", "X:11")], (), set()),
        ([accepted("ann", "X:11"), rejected("ann", "X:1")], (), {"X:1"}),  # what it is now
        ([accepted("ann", "X:1|X:2"), rejected("ann", "X:11")], ("X:1", "X:2"), set()),
        ([accepted("ann", "X:1|?"), rejected("ann", "X:11")], ("X:1", None), set()),
        ([accepted("ann", "X:1|?"), accepted("ann", "?|X:2"), rejected("ann", "X:11")],
         ("X:1", "X:2"), set()),
        ([accepted("ann", "X:11|X:2"), rejected("ann", "X:11")], (None, "X:2"), {"X:1"}),
    ],
)  # fmt: skip
def test_a_rejection_is_not_turned_around_where_its_concept_became_one_with_an_accepted_one(
    dictionary: Dictionary,
    decisions: list[Decision],
    parts: tuple[str | None, ...],
    denied: set[str],
) -> None:
    assert ids_now(dictionary, *decisions) == (parts, denied)


@pytest.mark.parametrize(
    ("decisions", "parts", "denied"),
    [  # X:11 is accepted, and the concept itself, which it is now, is rejected
        ([accepted("ann", "X:11"), rejected("ann", "X:1")], (), {"X:1"}),
        ([accepted("ann", "X:11", predicate="broad"), rejected("Ann", "X:1")], (), {"X:1"}),
        ([accepted("ann", "X:11|X:2"), rejected("ann", "X:1")], (None, "X:2"), {"X:1"}),
        ([accepted("ann", "X:11|?"), rejected("ann", "X:1")], (), {"X:1"}),
        ([accepted("ann", "X:11"), rejected("bob", "X:1")], (), set()),  # they disagree
        ([accepted("ann", "X:11"), rejected("ann", "X:1"), accepted("bob", "X:2")],
         ("X:2",), {"X:1"}),
    ],
)  # fmt: skip
def test_an_acceptance_does_not_win_where_its_concept_became_one_with_a_rejected_one(
    dictionary: Dictionary,
    decisions: list[Decision],
    parts: tuple[str | None, ...],
    denied: set[str],
) -> None:
    for order in itertools.permutations(decisions):
        assert ids_now(dictionary, *order) == (parts, denied)


@pytest.mark.parametrize("concept", ["X:11", "X:11|?"])
def test_what_is_said_later_decides_between_concepts_that_became_one(
    dictionary: Dictionary, concept: str
) -> None:
    before = [accepted("ann", concept), rejected("ann", "X:1")]
    by_today = accepted("ann", concept.replace("X:11", "X:1"))
    assert ids_now(dictionary, *before, by_today) == (parts_of(by_today), set())
    settling = replace(by_today, reviewer="bob", settles=("ann",))
    assert ids_now(dictionary, *before, settling) == (parts_of(settling), set())


def test_what_follows_its_id_tells_what_was_said(dictionary: Dictionary) -> None:
    for ids, now in (("X:11", "X:1"), ("X:11|?|-1", "X:1|?|-1"), ("X:2+X:11|X:3", "X:2+X:1|X:2")):
        kept = followed(Decision("m", ids), dictionary)
        assert kept is not None
        assert (kept.concept_id, kept.said) == (now, ids)
        assert followed(kept, dictionary) == kept
        assert as_said(kept) == Decision("m", ids)
    kept = followed(Decision("m", "X:11|X:11"), dictionary)
    assert kept is not None
    left = opened(kept, {0})
    assert left is not None
    assert as_said(left) == Decision("m", "?|X:11")
    assert followed(Decision("m", "X:2"), dictionary) == Decision("m", "X:2")


def spelled(prefix: str) -> Dictionary:
    """A dictionary of two concepts, of which the second one was two, with a prefix for its ids."""
    first = Concept(f"{prefix}:1", "one", names=(Name("one", f"{prefix}:1", "preferred"),))
    second = Concept(
        f"{prefix}:2",
        "two",
        names=(Name("two", f"{prefix}:2", "preferred"),),
        alt_ids=(f"{prefix}:22",),
    )
    builder = Builder(frozenset(), frozenset(), stop)
    builder.add([first, second], "made", "table", "")
    return Dictionary(*builder.build())


@pytest.mark.parametrize("prefix", ["mondo", "MONDO"])
@pytest.mark.parametrize("written", ["mondo:1", "?|mondo:1", "mondo:1|mondo:2"])
def test_prefixes_that_are_spelled_otherwise_are_of_the_same_concepts(
    prefix: str, written: str
) -> None:
    decision = Decision("m", written)
    now = written.replace("mondo", prefix)
    assert followed(decision, spelled(prefix)) == Decision("m", now)


@pytest.mark.parametrize("prefix", ["mondo", "MONDO"])
def test_of_ids_that_were_merged_the_others_are_said_as_the_dictionary_spells_them(
    prefix: str,
) -> None:
    kept = followed(Decision("m", "mondo:1|mondo:22"), spelled(prefix))
    assert kept is not None
    assert kept.concept_id == f"{prefix}:1|{prefix}:2"
    assert kept.said == f"{prefix}:1|{prefix}:22"


def test_the_ids_of_a_decision_are_kept_as_they_were_stored() -> None:
    stored = identified(Decision("m", "mondo:1|?"), spelled("mondo"))
    assert stored.concept_id == "mondo:1|?"
    assert parts_of(stored) == ("mondo:1", None)

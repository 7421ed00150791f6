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
from linker.decisions.records import (
    check,
    checked,
    concepts_of,
    conflicts,
    current,
    disagree,
    identified,
    in_force,
    parts_of,
    replaced,
    standing,
)
from linker.decisions.store import DecisionStore
from linker.errors import LinkerError
from linker.types import Decision


@pytest.mark.parametrize(
    ("text", "concept_id", "parts"),
    [
        ("MeSH:D001260", "MESH:D001260", ("MESH:D001260",)),
        ("", "", ("",)),
        ("-1", "", ("",)),
        ("-1|-1", "", ("", "")),
        ("MeSH:D001260|-1", "MESH:D001260|-1", ("MESH:D001260", "")),
        ("-1 | MIM:100100", "-1|OMIM:100100", ("", "OMIM:100100")),
        ("D1+D2|D3", "D1+D2|D3", ("D1", "D2", "D3")),
        ("A17.0+|G01*", "A17.0+|G01*", ("A17.0+", "G01*")),
        (r"C81\,3", r"C81\,3", ("C81,3",)),
        ("127009", "127009", ("127009",)),
    ],
)
def test_parts(text: str, concept_id: str, parts: tuple[str, ...]) -> None:
    assert parts_of(Decision("m", text)) == parts
    assert checked(Decision(" m ", text)) == Decision("m", concept_id)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Decision(" ", "D1"), "has 0 characters; expected 1 to 1,000"),
        (Decision("x" * 1001, "D1"), "has 1,001 characters"),
        *((Decision("m", i), "expected an id, or -1 for no") for i in ("|||", ";", " , ")),
        (Decision("m", "", accepted=False), "rejection of no concept"),
        (Decision("m", "D1|D2", accepted=False), r"rejection of D1\|D2"),
        (Decision("m", "D1|-1", accepted=False), "expected one concept"),
        (Decision("m\ud800", "D1"), "holds what is no text"),
        (Decision("m", "D1", reviewer="\0"), "holds what is no text"),
    ],
)
def test_bad_decisions(decision: Decision, message: str) -> None:
    with pytest.raises(LinkerError, match=message):
        checked(decision)


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
    assert conflicts(decisions) == ([kept] if disputed else [])


@given(st.lists(DECISIONS | REJECTIONS), st.integers(0, 9))
def test_what_is_added_replaces_as_in_the_whole_log(decisions: list[Decision], cut: int) -> None:
    log = [replace(d, id=number) for number, d in enumerate(decisions)]

    def kept(log: Sequence[Decision]) -> list[Decision]:
        return [d for d in log if any(d is one for of in in_force(log).values() for one in of)]

    before, added, after = kept(log[:cut]), log[cut:], kept(log)
    still_said = [replace(d, id=None) for d in after]
    assert replaced(before, added) == [
        d for d in (*before, *added) if d not in after and replace(d, id=None) not in still_said
    ]


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
    ("mention", "concept", "accepted", "state", "now"),
    [
        ("m", "X:1", True, "current", ("X:1",)),
        ("m", "X:11", True, "merged", ("X:1",)),
        ("m", "X:3", True, "merged", ("X:2",)),
        ("m", "X:4", True, "obsolete", ()),
        ("m", "X:1|X:4", True, "obsolete", ("X:1",)),
        ("m", "X:9", True, "unknown", ()),
        ("m", "X:12", True, "ambiguous", ("X:1", "X:2")),
        ("Deux", "X:1", True, "ambiguous", ("X:2",)),
        ("deux", "X:2", True, "current", ("X:2",)),
        ("deux", "X:2", False, "current", ("X:2",)),
        ("deux", "", True, "ambiguous", ("X:2",)),
        ("m", "", True, "current", ()),
        ("deux", "X:1|-1", True, "current", ("X:1",)),
    ],
)
def test_what_becomes_of_decisions_in_another_release(
    dictionary: Dictionary,
    mention: str,
    concept: str,
    accepted: bool,
    state: str,
    now: tuple[str, ...],
) -> None:
    decision = Decision(mention, concept, accepted)
    assert list(check([decision], dictionary)) == [(decision, state, now)]


ODD = ("A17.0", "A17.0+", "C81", "C81,3", "A|1", "MESH:D001260", "127009")


@pytest.fixture
def odd(tmp_path: Path) -> Dictionary:
    """Ids that hold the signs that join ids, and parts of them that are ids, too."""
    (tmp_path / "odd.tsv").write_text("id\tname\n" + "".join(f"{i}\tof {i}\n" for i in ODD))
    return Dictionary.read(tmp_path / "odd.tsv")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A17.0+", ("A17.0+",)),
        ("C81,3", ("C81,3",)),
        ("A|1", ("A|1",)),
        ("A17.0+|C81,3|-1", ("A17.0+", "C81,3", "")),
        ("C81,A17.0", ("C81", "A17.0")),
        ("D001260", ("MESH:D001260",)),
        ("127009", ("127009",)),
    ],
)
def test_ids_are_looked_up_whole_and_stay_so_in_the_store(
    odd: Dictionary, tmp_path: Path, text: str, parts: tuple[str, ...]
) -> None:
    with DecisionStore(tmp_path / "d.sqlite") as store:
        store.add([identified(Decision("m", text), odd)])
        (stored,) = store.list()
    assert parts_of(stored) == parts
    ((same,), unknown) = current([stored], odd)
    assert (parts_of(same), unknown) == (parts, [])


@pytest.mark.parametrize("text", ["A17.1+", "C81,4", "OMIM:127009"])
def test_an_id_is_not_stored_as_a_part_of_it(odd: Dictionary, text: str) -> None:
    with pytest.raises(LinkerError, match="the dictionary has no concept"):
        identified(Decision("m", text), odd)


def test_rejections_of_ids_that_join_are_compared(odd: Dictionary) -> None:
    taken = identified(Decision("m", "C81,3"), odd)
    rejected = identified(Decision("m", "C81,3", accepted=False), odd)
    assert [*in_force([taken, rejected]).values()] == [[rejected]]
    assert [*in_force([rejected, taken]).values()] == [[taken]]
    of_another = identified(Decision("m", "C81,3", accepted=False, reviewer="b"), odd)
    assert len(conflicts([taken, of_another])) == 1

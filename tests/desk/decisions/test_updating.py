"""What a new release does to decisions: each kind, and what is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from linker import Decision, Dictionary
from linker.desk.decisions.store import DecisionStore, releases
from linker.desk.decisions.updating import Change, Names, accepted, changes, chosen, take
from linker.linking.decisions import in_force, ruled, standing

HEADER = "id\tname\tsynonyms\talt_ids"
OLD = (
    "D:1\tGout\t\t",
    "D:9\tOld\ttoe ache\t",
    "D:2\tFoot Pain\told foot\t",
    "D:5\tThree\ttwice\t",
    "D:77\tGone\t\t",
)
RELEASE = (
    "D:1\tGout\tpodagra|toe ache\tD:9",  # D:9 was merged into it
    "D:2\tFoot Pain\tsore foot|old foot\t",
    "D:3\tTea Allergy\t\t",
    "D:4\tTwo\tboth\t",
    "D:5\tThree\tboth|twice\t",
    "D:6\tFour\tFAP|wet joint|twice\t",
)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Dictionary]:
    def make(*rows: str) -> Dictionary:
        path = tmp_path_factory.mktemp("update") / "d.tsv"
        path.write_text("\n".join((HEADER, *rows)) + "\n")
        return Dictionary.read(path)

    return make


@pytest.fixture(scope="module")
def release(read: Callable[..., Dictionary]) -> Dictionary:
    return read(*RELEASE)


@pytest.fixture(scope="module")
def found(read: Callable[..., Dictionary], release: Dictionary) -> Callable[..., list[Change]]:
    before = read(*OLD)

    def find(*decisions: Decision) -> list[Change]:
        return changes(decisions, Names(release), Names(before))

    return find


def decision(mention: str, concept: str, number: int, **more: object) -> Decision:
    return replace(Decision(mention, concept, reviewer="Bob", id=number), **more)  # type: ignore[arg-type]


EVERY = [
    decision("gout", "D:1", 1),  # current
    decision("toe trouble", "D:9", 2),
    decision("sore foot", "D:1", 3),
    decision("tea allergy", "D:1", 4, predicate="broad"),
    decision("both", "D:1", 5),
    decision("unheard", "D:77", 6),
    decision("old foot", "D:1", 7),  # a name already, when a person decided otherwise
    decision("nothing", "", 8),
    decision("podagra", "", 9),  # had no concept
    decision("toe ache", "D:2", 10),  # a name of D:9 already, which is D:1 now
]


def test_decisions_of_a_dictionary_that_shares_no_id(found: Callable[..., list[Change]]) -> None:
    others = found(decision("gout", "HP:1", 1), decision("seizure", "HP:2", 2))
    assert [(c.kind, c.now) for c in others] == [("unknown", ())] * 2


def test_kinds(found: Callable[..., list[Change]]) -> None:
    assert [(c.decision.id, c.kind, c.now) for c in found(*EVERY)] == [
        (2, "merged", ("D:1",)),
        (3, "moved", ("D:2",)),
        (4, "exact now", ("D:3",)),
        (5, "ambiguous", ("D:4", "D:5")),
        (6, "unknown", ()),
        (9, "moved", ("D:1",)),
    ]


def test_what_was_decided_knowingly_is_no_change(
    found: Callable[..., list[Change]], release: Dictionary
) -> None:
    assert found(decision("sore foot", "D:1", 1, release=releases(release))) == []
    rejected = decision("sore foot", "D:2", 1, accepted=False)
    assert found(rejected, decision("sore foot", "D:1", 2)) == []
    assert found(rejected) == []


def test_what_is_accepted_takes_the_place_of_all_that_change_alike(
    found: Callable[..., list[Change]], release: Dictionary
) -> None:
    every = [decision("sore foot", "D:1", 1), decision("Sore Foot", "D:1", 2, reviewer="Cy")]
    first, second = found(*every)
    assert first.reviewers == second.reviewers == ("Bob", "Cy")
    for reviewer, settles in (("Ann", ("Bob", "Cy")), ("bob", ("Cy",))):
        new = replace(accepted(first, release, reviewer, bulk=True), id=3)
        assert (new.concept_id, new.reviewer, new.settles, new.bulk) == (
            "D:2",
            reviewer,
            settles,
            True,
        )
        (of_place,) = in_force([*every, new]).values()
        assert standing(of_place) == [new]
        assert found(*every, new) == []


def test_rows_and_kinds_are_chosen(found: Callable[..., list[Change]]) -> None:
    every = found(*EVERY)

    def wanted(*words: str, among: list[Change] = every) -> list[tuple[int | None, bool]]:
        return [(change.decision.id, bulk) for change, bulk in chosen(among, words)]

    assert wanted("exact now", "3") == [(4, True), (3, False)]
    assert wanted("3", "3") == [(3, False)]
    assert wanted("moved", "3") == [(3, False), (9, True)]  # it was looked at
    assert wanted() == []
    for word in ("1", "2", "5", "6", "merged", "all"):  # without one answer, or nothing to decide
        with pytest.raises(ValueError, match=word):
            wanted(word)
    with_others = found(
        decision("sore foot", "D:1", 1, scope="7"),  # of one document
        decision("podagra", "D:2", 2),
        decision("podagra", "D:3", 3, reviewer="Cy"),  # they disagree; each is moved
        decision("tea allergy", "D:1", 4),
        decision("tea allergy", "D:3", 5, reviewer="Cy"),  # who has decided so
        decision("Sore foot", "D:1", 6),
        decision("sore foot", "D:1", 7, reviewer="Cy"),
    )
    assert wanted("moved", among=with_others) == [(2, True), (6, True)]
    assert wanted("1", "4", among=with_others) == [(1, False), (4, False)]


def test_short_forms_and_names_of_several_concepts_are_accepted_one_by_one(
    found: Callable[..., list[Change]],
) -> None:
    every = found(
        decision("FAP", "D:1", 1),
        decision("fap", "D:1", 2, scope="7"),
        decision("Wet joint", "D:1", 3),  # is no short form
        decision("twice", "D:1", 4),  # D:5 had the name before, D:6 has it, too
        decision("tea allergy", "D:1", 5),
        decision("tea allergy", "D:2", 6, reviewer="Cy"),
        decision("tea allergy", "D:3", 7, reviewer="Di"),
    )
    assert [(c.decision.id, c.kind, bool(c.one_by_one)) for c in every] == [
        (1, "moved", True),
        (2, "moved", True),
        (3, "moved", False),
        (4, "moved", True),
        (5, "moved", True),
        (6, "moved", True),
    ]
    assert len({change.one_by_one for change in every}) == 5
    in_bulk = chosen(every, ["moved"])
    assert [(change.decision.id, bulk) for change, bulk in in_bulk] == [(3, True)]
    by_number = chosen(every, ["moved", "1", "4"])
    assert [(change.decision.id, bulk) for change, bulk in by_number] == [
        (3, True),
        (1, False),
        (4, False),
    ]
    (lower,) = found(decision("fap", "D:1", 8))  # the dictionary writes it FAP
    assert lower.one_by_one == every[0].one_by_one


def test_what_is_accepted_twice_is_stored_once(
    found: Callable[..., list[Change]], release: Dictionary, tmp_path: Path
) -> None:
    (change,) = found(decision("sore foot", "D:1", 1))
    new = [accepted(change, release, "Ann", bulk=True)]
    with DecisionStore(tmp_path / "d.sqlite") as store:
        assert [d.concept_id for d in take(store, new)] == ["D:2"]
        assert take(store, new) == []
        assert len(store.history()) == 1


def rejected(mention: str, concept: str, number: int, **more: object) -> Decision:
    return decision(mention, concept, number, accepted=False, **more)


@pytest.mark.parametrize(
    ("decisions", "kinds"),
    [  # D:9 was a concept, and is D:1 now
        ([rejected("m", "D:9", 1)], {1: "open"}),
        ([rejected("m", "D:9", 1, scope="7")], {1: "open"}),
        ([rejected("m", "D:9", 1), decision("m", "D:1", 2)], {1: "merged"}),  # counts no more
        ([rejected("m", "D:9", 1, scope="7"), decision("m", "D:1", 2)], {1: "merged"}),
        ([rejected("m", "D:9", 1), decision("m", "D:2", 2)], {1: "merged"}),  # is answered
        ([rejected("m", "D:9", 1), decision("m", "D:1", 2, bulk=True)], {1: "open"}),
        ([decision("m", "D:9", 1), rejected("m", "D:1", 2)], {1: "open"}),
        ([rejected("m", "D:1", 1), decision("m", "D:9", 2)], {2: "open"}),
        ([decision("m", "D:9", 1), rejected("m", "D:1", 2, reviewer="Cy")], {1: "open"}),
        ([decision("m", "D:9", 1), rejected("m", "D:9", 2, reviewer="Cy")],
         {1: "merged", 2: "merged"}),  # they disagreed before
        ([rejected("m", "D:8", 1)], {1: "merged"}),  # D:8 has another id now, and is no other concept
    ],
)  # fmt: skip
def test_where_a_rejected_concept_became_one_with_another_somebody_has_to_decide(
    read: Callable[..., Dictionary], decisions: list[Decision], kinds: dict[int, str]
) -> None:
    before = read(*OLD, "D:8\tSore Back\t\t")
    release = read(*RELEASE, "D:88\tSore Back\t\tD:8")
    names, old_names = Names(release), Names(before)
    found = changes(decisions, names, old_names)
    assert {change.decision.id: change.kind for change in found} == kinds
    for change in found:
        if change.kind == "merged":
            continue
        assert change.one_by_one
        with pytest.raises(ValueError, match="open"):
            chosen(found, ["open"])
        ((one, bulk),) = chosen(found, [str(change.decision.id)])
        new = replace(accepted(one, release, "Ann", bulk=bulk), id=9)
        assert (new.concept_id, new.accepted, new.bulk) == ("D:1", True, False)
        (of_place,) = in_force([*decisions, new], release).values()
        assert ruled([of_place]).parts == ("D:1",)
        assert {c.kind for c in changes([*decisions, new], names, old_names)} <= {"merged"}


def test_of_a_composite_all_parts_are_taken_over(
    found: Callable[..., list[Change]], release: Dictionary
) -> None:
    decisions = [
        decision("a and b", "D:9|-1|D:2", 1, predicate="broad"),
        rejected("a and b", "D:1", 2),
    ]
    (change,) = found(*decisions)
    assert change.kind == "open"
    new = accepted(change, release, "Ann", bulk=False)
    assert (new.concept_id, new.predicate, new.settles) == ("D:1|-1|D:2", "broad", ("Bob",))

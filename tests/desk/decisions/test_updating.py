"""What a new release does to decisions: each kind, and what is accepted."""

from __future__ import annotations

import pytest

from linker import Decision, Dictionary
from linker.desk.decisions.updating import Change, accepted, changes, chosen

HEADER = "id\tname\tsynonyms\talt_ids"
RELEASE = (
    "D:1\tGout\tpodagra\tD:9",  # D:9 was merged into it
    "D:2\tFoot Pain\tsore foot\t",
    "D:3\tTea Allergy\t\t",
    "D:4\tTwo\tboth\t",
    "D:5\tThree\tboth\t",
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("update") / "d.tsv"
    path.write_text("\n".join((HEADER, *RELEASE)) + "\n")
    return Dictionary.read(path)


def decision(mention: str, concept: str, number: int, **more: object) -> Decision:
    return Decision(mention, concept, reviewer="Bob", id=number, **more)  # type: ignore[arg-type]


EVERY = [
    decision("gout", "D:1", 1),  # current
    decision("toe trouble", "D:9", 2),
    decision("sore foot", "D:1", 3),
    decision("tea allergy", "D:1", 4, predicate="broad"),
    decision("both", "D:1", 5),
    decision("unheard", "D:77", 6),
    decision("sore foot", "D:1", 7, accepted=False),  # a rejection stays
    decision("nothing", "", 8),  # no concept
]


def test_kinds(release: Dictionary) -> None:
    assert [(c.decision.id, c.kind, c.now) for c in changes(EVERY, release)] == [
        (2, "merged", ("D:1",)),
        (3, "moved", ("D:2",)),
        (4, "exact now", ("D:3",)),
        (5, "ambiguous", ("D:4", "D:5")),
        (6, "unknown", ()),
    ]


def test_what_is_accepted_takes_the_place_of_the_old_decision(release: Dictionary) -> None:
    found = [*changes(EVERY, release)]
    new = [accepted(change, release, "Ann", bulk=False) for change in found]
    assert [d and (d.mention, d.concept_id, d.predicate) for d in new] == [
        ("toe trouble", "D:1", ""),
        ("sore foot", "D:2", ""),
        ("tea allergy", "D:3", ""),
        None,
        None,
    ]
    assert new[0]
    assert (new[0].reviewer, new[0].settles, new[0].bulk, new[0].id) == (
        "Ann",
        ("Bob",),
        False,
        None,
    )
    own = accepted(found[1], release, "Bob", bulk=True)
    assert own
    assert (own.settles, own.bulk) == ((), True)


def test_rows_and_kinds_are_chosen(release: Dictionary) -> None:
    found = [*changes(EVERY, release)]

    def wanted(*words: str) -> list[tuple[int | None, bool]]:
        return [(change.decision.id, bulk) for change, bulk in chosen(found, words)]

    assert wanted("moved", "2") == [(3, True), (2, False)]
    assert wanted("3", "3") == [(3, False)]
    assert wanted("moved", "3") == [(3, False)]  # it was looked at
    assert wanted() == []
    for word in ("1", "5", "6", "ambiguous", "all"):  # current, or without one answer
        with pytest.raises(ValueError, match=word):
            wanted(word)


def test_a_change_of_a_mention_without_a_concept(release: Dictionary) -> None:
    """What had none when a person looked may have one now."""
    (change,) = changes([decision("podagra", "", 1)], release)
    assert change == Change(decision("podagra", "", 1), "moved", ("D:1",))

"""Learning of decisions: what is learnt, what is held out, and the figures, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary, Linker
from linker.errors import LinkerError
from linker.evaluation.protocols import Outcome
from linker.projects.learning import (
    FEWEST,
    PARTS,
    Comparison,
    Figures,
    Learner,
    Lesson,
    learn,
    lessons_of,
)
from linker.types import Activity, Decision, GoldGroup, Mention

ATAXIA, MALADY = "MESH:D001260", "Louis Bar malady"


@pytest.fixture(scope="module")
def linker(sample: Path) -> Linker:
    return Linker.train(Dictionary.read(sample), encoder="tfidf")


def lesson(text: str, identifier: str, number: int = 1) -> Lesson:
    return Lesson(Mention(text, gold=(GoldGroup((identifier,)),)), number)


def known(linker: Linker, count: int) -> list[Lesson]:
    """Preferred names, which the model knows, decided as they are."""
    dictionary = linker.dictionary
    names = map(dictionary.preferred_name, range(count))
    return [lesson(name, dictionary.ids[n], n + 1) for n, name in enumerate(names)]


def outcome(rank: int, confidence: float) -> Outcome:
    return Outcome(Mention("m"), rank, (), first_is_right=rank == 1, confidence=confidence)


def test_accepted_decisions_that_hold_everywhere_are_learnt(linker: Linker) -> None:
    said = [
        Decision("one", ATAXIA, id=1),
        Decision("two", ATAXIA, accepted=False, id=2),
        Decision("three", ATAXIA, scope="7", id=3),
        Decision("four", ATAXIA, reviewer="Ann", id=4),
        Decision("four", "MESH:D001943", reviewer="Bob", id=5),
        Decision("five", "OMIM:208900", id=6),  # an old id
        Decision("six", "", id=7),
        Decision("seven", "MESH:D0", id=8),  # of no concept
    ]
    learnt = [(of.mention.text, of.mention.gold, of.number) for of in lessons_of(said, linker)]
    ataxia = (GoldGroup((ATAXIA,)),)
    assert learnt == [("one", ataxia, 1), ("five", ataxia, 6), ("six", (), 7)]


def test_a_form_is_always_held_out_in_the_same_part() -> None:
    parts = [lesson(f"disease {n}", ATAXIA).part for n in range(1000)]
    assert {parts.count(part) > 150 for part in range(PARTS)} == {True}
    assert lesson("Disease-1", ATAXIA).part == lesson("disease 1", ATAXIA).part == parts[1]


def test_figures_by_hand() -> None:
    old = Figures.of([outcome(1, 0.9), outcome(0, 0.9), outcome(2, 0.5), outcome(1, 0.5)])
    assert (old.mentions, old.right, old.confidence) == (4, 2, pytest.approx(0.7))
    assert old.calibration_error == pytest.approx((0.4 + 0.0) / 2)  # 0.9 for 1 of 2; 0.5 for 1 of 2
    record = Comparison(old, old, better=5, worse=0).to_dict()
    assert record["old"]["accuracy"] == 0.5
    assert record["p"] == 0.0625  # 2 x (1/2)^5
    assert Comparison(old, old, 0, 0).p == 1.0


def test_a_name_is_learnt_and_its_like_profits(linker: Linker) -> None:
    taught = [lesson(MALADY, ATAXIA)]
    new, compared = learn(linker, taught, 0, lambda _: None)
    assert compared is None
    assert new.ranker is linker.ranker  # one decision is too few to fit it to
    assert {c.concept_id for c in new.link("Louis-Bar's malady").parts[0].candidates} >= {ATAXIA}
    best = new.link(MALADY).parts[0].best
    assert best
    assert best.concept_id == ATAXIA
    assert MALADY not in linker.dictionary.names


def test_no_model_has_learnt_what_it_is_measured_on(
    linker: Linker, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught, seen = known(linker, 60), []
    learnt = Learner.learnt

    def noted(learner: Learner, is_taken: list[bool]) -> Linker:
        seen.append({of.number for of, taken in zip(taught, is_taken, strict=True) if taken})
        return learnt(learner, is_taken)

    monkeypatch.setattr(Learner, "learnt", noted)
    told: list[Activity] = []
    new, compared = learn(linker, taught, 20, told.append)
    assert compared
    assert compared.new.mentions == 60
    for part in range(PARTS):
        before, rest = seen[2 * part : 2 * part + 2]
        held_out = {of.number for of in taught if of.part == part}
        assert rest == {of.number for of in taught} - held_out
        assert before == {number for number in rest if number <= 20}
    assert seen[-1] == {of.number for of in taught}
    assert [round(of.share or 0, 2) for of in told] == [0.0, 0.14, 0.29, 0.43, 0.57, 0.71, 0.86]
    assert new.ranker
    assert new.ranker.described.startswith("fitted to 60 decisions, and before that as it is ship")


def test_a_model_without_a_ranker_learns_names(linker: Linker) -> None:
    taught = [*known(linker, FEWEST * 2), lesson(MALADY, ATAXIA, 61)]
    new, compared = learn(linker.with_ranker(None), taught, 0, lambda _: None)
    assert new.ranker is None
    assert compared
    assert compared.to_dict()["new"]["confidence"] is None
    assert MALADY in new.dictionary.names


def test_nothing_to_learn(linker: Linker) -> None:
    with pytest.raises(LinkerError, match="nothing to learn"):
        learn(linker, [], 0, lambda _: None)

"""Confidences of readings, of later candidates, and the threshold, on answers made up by hand."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from linker.confidence import calibration, features
from linker.confidence.calibration import (
    CAUTIOUS,
    LEARNT,
    Calibration,
    Chosen,
    Example,
    Later,
    ReadingScores,
    SplitOdds,
    TooFewExamples,
    fit,
    log_odds,
)
from linker.types import ReadingKind

SIZE = len(features.NAMES)


def reading(*scores: float, kind: ReadingKind = "whole") -> ReadingScores:
    """A reading of parts of which only the score is known."""
    values = []
    for score in scores:
        row = [0.0] * SIZE
        row[features.NAMES.index("score")] = score
        values.append(row)
    return ReadingScores(values, kind)


def example(
    score: float, right: bool, *, rank: int = 0, nil: bool = False, weight: float = 1.0
) -> Example:
    later = [score, score - 0.1, score - 0.2]
    return Example([reading(score)], [right], later, rank or int(right), not nil, weight)


def examples(nils: int = 0) -> list[Example]:
    """200 mentions: above a score of 0.5 nine in ten are right, below it one in ten."""
    random = np.random.default_rng(1)
    result = []
    for _ in range(200):
        score = float(random.random())
        result.append(example(score, bool(random.random() < (0.9 if score > 0.5 else 0.1))))
    return result + [example(0.1, False, nil=True) for _ in range(nils)]


def probabilities(model: Calibration, *readings: ReadingScores) -> list[list[float]]:
    return model.probabilities([readings])


@pytest.fixture(scope="module")
def fitted() -> Calibration:
    return fit(examples())


def test_a_confidence_is_near_the_share_of_right_answers(fitted: Calibration) -> None:
    (high,), (low,) = probabilities(fitted, reading(0.9), reading(0.1))
    assert high == pytest.approx(0.9, abs=0.08)
    assert low == pytest.approx(0.1, abs=0.08)


def test_a_reading_without_an_answer_has_no_probabilities(fitted: Calibration) -> None:
    assert probabilities(fitted, reading(), reading(0.9))[0] == []
    assert fitted.probabilities([]) == []


def test_a_reading_in_parts_is_as_probable_as_all_of_them(fitted: Calibration) -> None:
    (parts,) = probabilities(fitted, reading(0.9, 0.1, kind="split"))
    (high,), (low,) = probabilities(fitted, reading(0.9), reading(0.1))
    assert parts == pytest.approx([high, low])


def test_what_is_known_of_splits_changes_their_parts_alike(fitted: Calibration) -> None:
    split, whole = reading(0.9, 0.9, kind="split"), reading(0.1)
    (whole_probability,) = probabilities(fitted, whole)[0]
    product = math.prod(probabilities(fitted, split)[0])
    odds = SplitOdds(product=0.5, rival=-0.25, usual=1.0, bias=-0.1)
    parts = probabilities(dataclasses.replace(fitted, split=odds), split, whole)[0]
    expected = 0.5 * log_odds(product) - 0.25 * log_odds(whole_probability) + 1.0 - 0.1
    assert math.prod(parts) == pytest.approx(1 / (1 + math.exp(-expected)))
    assert parts[0] == pytest.approx(parts[1])


@pytest.mark.parametrize(
    ("usual", "rival", "expected"),
    [(0.5, 0.6, 0), (0.5, 0.63, 1), (0.5, 0.5, 0), (0.9, 0.93, 0), (0.9, 0.95, 1)],
)
def test_a_rival_has_to_be_ahead_by_its_handicap(
    fitted: Calibration, usual: float, rival: float, expected: int
) -> None:
    """Log odds 0 and 0.41 or 0.53; 2.20 and 2.59 or 2.94: a split is 0.5 behind."""
    fitted = dataclasses.replace(fitted, handicaps=LEARNT)
    readings = [reading(1.0), reading(1.0, 1.0, kind="split")]
    parts = [[usual], [rival**0.5] * 2]
    assert fitted.chosen(readings, parts) == expected


def test_kinds_of_readings_have_handicaps_of_their_own(fitted: Calibration) -> None:
    parts = [[0.5], [0.8]]  # log odds 0 and 1.39
    learnt = dataclasses.replace(fitted, handicaps=LEARNT)
    kinds: Sequence[ReadingKind] = ("whole", "expanded", "split", "shortened")
    for model, expected in ((learnt, [1, 1, 1, 0]), (fitted, [0, 0, 1, 0])):
        rivals = [[reading(1.0), reading(1.0, kind=kind)] for kind in kinds]
        assert [model.chosen(readings, parts) for readings in rivals] == expected
    assert fitted.handicaps == CAUTIOUS


def test_a_rival_wins_where_the_usual_reading_has_no_answer(fitted: Calibration) -> None:
    assert fitted.chosen([reading(), reading(1.0)], [[], [0.01]]) == 1


def test_shares_of_later_candidates() -> None:
    shares = Later(second=0.4, temperature=0.5).shares([0.9, 0.9, 0.4])
    third = 0.4 * math.exp(-1)
    assert shares == pytest.approx([0.4, 0.6 * 0.4, 0.6 * 0.6 * third])
    assert Later().shares([]) == []


def test_later_candidates_are_as_probable_as_they_were(fitted: Calibration) -> None:
    often = [example(0.1, False, rank=2) for _ in range(50)]
    never = [example(0.1, False) for _ in range(50)]
    right = [example(0.9, True) for _ in range(50)]
    assert fit(often + right).later.second == 0.5
    assert fit(never + right).later.second == 0.05


# ------------------------------------------------------------------------------------------------------------ the threshold


def threshold(*answers: tuple[float, bool, bool]) -> tuple[float, dict[str, float]]:
    """Of (confidence, right, nil)."""
    chosen = [Chosen(p, p, right) for p, right, _ in answers]
    asked = [example(0.5, right, nil=nil) for _, right, nil in answers]
    return calibration._fit_threshold(chosen, asked)


def test_the_threshold_has_most_right() -> None:
    nils = [(0.1 + i / 1000, False, True) for i in range(20)]
    right = [(0.5 + i / 1000, True, False) for i in range(80)]
    best, figures = threshold(*nils, *right)
    assert 0.119 < best <= 0.5
    assert figures == {
        "accuracy_without_threshold": 0.8,
        "accuracy_with_threshold": 1.0,
        "lost": 0.0,
        "gained": 0.2,
    }


def test_a_threshold_that_loses_more_than_it_gains_is_not_taken() -> None:
    nils = [(0.6, False, True)] * 5
    right = [(0.5, True, False)] * 50
    best, figures = threshold(*nils, *right)
    assert best == 0
    assert figures["accuracy_with_threshold"] == figures["accuracy_without_threshold"]


def test_nor_is_one_that_wins_by_chance() -> None:
    """One mention more of 51 is no more than the standard error of one."""
    assert threshold((0.1, False, True), *[(0.5, True, False)] * 50)[0] == 0


def test_a_threshold_is_found_where_mentions_have_no_concept(fitted: Calibration) -> None:
    assert fitted.threshold == 0
    assert fitted.provenance == {}
    with_nils = fit(examples(nils=60))
    assert 0 < with_nils.threshold < 0.5
    facts = with_nils.provenance
    gain = facts["gained"] - facts["lost"]
    assert facts["accuracy_with_threshold"] == pytest.approx(
        facts["accuracy_without_threshold"] + gain, abs=2e-5
    )
    names = fit(examples(nils=60), of_texts=False)
    assert (names.threshold, names.handicaps) == (0, CAUTIOUS)


def test_other_readings_win_more_easily_where_composites_were_annotated() -> None:
    assert fit(examples()).handicaps == CAUTIOUS
    composites = [
        Example(
            [reading(0.9, 0.9, kind="split"), reading(0.1)],
            [is_right, not is_right],
            [0.9],
            int(is_right),
            True,
        )
        for is_right in [True] * 12 + [False] * 12
    ]
    learnt = fit(examples() + composites)
    assert learnt.handicaps == LEARNT
    assert learnt.split != SplitOdds()


def test_wrong_answers_may_all_stand_in_one_document() -> None:
    mentions = [example(0.9, True)] * 147 + [example(0.1, False, nil=True)] * 12
    learnt = fit(mentions)  # a fold of neighbours holds all that are wrong
    assert learnt.threshold == 0
    assert probabilities(learnt, reading(0.9)) == [[pytest.approx(147 / 159)]]


# ---------------------------------------------------------------------------------------------------------------- too little


@pytest.mark.parametrize(
    "few",
    [
        [],
        [example(0.5, True)],
        [example(0.5, True)] * 60,
        [example(0.5, False)] * 60,
        [example(0.5, True)] * 30 + [example(0.1, False)] * 10,
        [example(0.5, True)] * 60 + [example(0.1, False)] * 4,
    ],
)
def test_too_few_examples_are_refused(few: list[Example]) -> None:
    with pytest.raises(
        TooFewExamples, match="needed: 50 mentions, 5 right and as many wrong answers"
    ):
        fit(few)


# ---------------------------------------------------------------------------------------------------------------------- JSON


def test_json_gives_the_same_back(fitted: Calibration) -> None:
    again = Calibration.from_json(json.loads(json.dumps(fitted.to_json())))
    assert again.to_json() == fitted.to_json()
    assert probabilities(again, reading(0.3)) == probabilities(fitted, reading(0.3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("single"), "no calibration"),
        (lambda r: r.update(threshold=1.5), "out of its range"),
        (lambda r: r.update(threshold=float("nan")), "out of its range"),
        (lambda r: r["later"].update(temperature=0), "out of their range"),
        (lambda r: r["later"].update(second=1), "out of their range"),
        (lambda r: r["later"].update(other=1), "no calibration"),
        (lambda r: r["split"].update(bias=float("inf")), "out of its range"),
        (lambda r: r["split"].update(bias=None), "no calibration"),
        (lambda r: r["handicaps"].pop("split"), "the handicaps are of"),
        (lambda r: r["handicaps"].update(other=1), "the handicaps are of"),
        (lambda r: r.update(provenance=3), "no calibration"),
    ],
)
def test_what_is_no_calibration_is_refused(fitted: Calibration, change: Any, message: str) -> None:
    record = json.loads(json.dumps(fitted.to_json()))
    change(record)
    with pytest.raises(ValueError, match=message):
        Calibration.from_json(record)

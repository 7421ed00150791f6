"""Figures of confidences on a handful of mentions, worked out by hand."""

from __future__ import annotations

import pytest

from linker import Candidate, Mention
from linker.evaluation import confidences
from linker.evaluation.protocols import Outcome, outcome_of
from linker.ids import parse_gold
from linker.types import Part, Prediction


def outcome(
    confidence: float | None, gold: str = "D:1", answer: str = "D:1", rejected: bool = False
) -> Outcome:
    candidate = Candidate(answer, "x", "x", 1.0, confidence=confidence)
    part = (
        Part("x", nil=True, rejected=candidate) if rejected else Part("x", candidates=(candidate,))
    )
    mention = Mention("x", gold=parse_gold(gold))
    return outcome_of(Prediction(mention, (part,)), mention, "strict", lambda i: frozenset((i,)))


FIVE = [
    outcome(0.9),
    outcome(0.8, answer="D:2"),
    outcome(0.3, rejected=True),  # would have been right
    outcome(0.1, gold="-1", rejected=True),
    outcome(0.2, gold="-1"),
]


def test_calibration_counts_rejected_answers_as_if_returned() -> None:
    record = confidences.calibration([*FIVE, outcome(None)])
    assert record is not None
    right = [1, 0, 1, 0, 0]
    given = [0.9, 0.8, 0.3, 0.1, 0.2]
    pairs = list(zip(given, right, strict=True))
    assert (record["n"], record["without_confidence"]) == (5, 1)
    assert record["brier"] == pytest.approx(sum((c - r) ** 2 for c, r in pairs) / 5)
    assert record["ece"] == pytest.approx(sum(abs(c - r) for c, r in pairs) / 5)  # a bin for each
    assert record["auroc"] == pytest.approx((3 + 2) / 6, abs=1e-5)
    assert [each["confidence"] for each in record["bins"]] == [0.1, 0.2, 0.3, 0.8, 0.9]
    assert [each["acc"] for each in record["bins"]] == [0, 0, 1, 0, 1]


def test_accuracy_by_coverage() -> None:
    record = confidences.risk_coverage(FIVE)
    assert record is not None
    # the most confident first: right, wrong, right, wrong, wrong
    accuracy = [1, 1 / 2, 2 / 3, 2 / 4, 2 / 5]
    assert record["area"] == pytest.approx(1 - sum(accuracy) / 5, abs=1e-5)
    steps = record["coverage"]
    assert list(steps) == [str(percent) for percent in range(100, 0, -10)]
    assert steps["100"] == {"n": 5, "acc": 0.4, "confidence": 0.1}
    assert steps["50"] == {"n": 3, "acc": 0.66667, "confidence": 0.3}
    assert steps["40"] == {"n": 2, "acc": 0.5, "confidence": 0.8}
    assert steps["10"] == {"n": 1, "acc": 1, "confidence": 0.9}


def test_no_answers() -> None:
    assert confidences.no_answer(FIVE) == {
        "without_concept": 2,
        "without_answer": 2,
        "both": 1,
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "auroc": 1.0,  # the two mentions without a concept have the lowest confidences
    }


def test_figures_that_are_not_defined_are_none() -> None:
    assert confidences.calibration([outcome(None)]) is None
    assert confidences.risk_coverage([outcome(None)]) is None
    figures = confidences.no_answer([outcome(0.9)])
    assert [figures[key] for key in ("precision", "recall", "f1", "auroc")] == [None] * 4
    one = confidences.calibration([outcome(0.9)])
    assert one is not None
    assert (one["n"], one["auroc"], one["ece"]) == (1, None, 0.1)
    assert confidences.summary([outcome(0.9)])["risk_coverage"]["area"] == 0

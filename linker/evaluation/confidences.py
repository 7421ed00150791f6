"""What confidences are worth: calibration, coverage, and answers that were withheld.

The figures are about the first candidate of each part, whether it was returned or rejected, so that
they do not depend on the threshold. A mention whose answer has no confidence is left out of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linker import metrics
from linker.evaluation.protocols import Outcome

COVERAGES = (100, 90, 80, 70, 60, 50, 40, 30, 20, 10)
"""Percent of the mentions that are answered, the most confident ones."""


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of `calibration`, `risk_coverage` and `no_answer`, each under its name."""
    return {
        "calibration": calibration(outcomes),
        "risk_coverage": risk_coverage(outcomes),
        "no_answer": no_answer(outcomes),
    }


def calibration(outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """How well confidences agree with the share of right answers.

    Returns:
        The expected calibration error over 15 bins, the Brier score, the AUROC of right against
        wrong answers (None where all are right or all are wrong), the bins with answers, and how
        many mentions were left out; None where no answer has a confidence.
    """
    confidences, right = _confidences(outcomes)
    if not len(confidences):
        return None
    bins = metrics.calibration_bins(confidences, right)
    return {
        "n": len(confidences),
        "without_confidence": len(outcomes) - len(confidences),
        "ece": rounded(metrics.calibration_error(confidences, right)),
        "brier": rounded(float(metrics.squared_errors(confidences, right).mean())),
        "auroc": rounded(metrics.auroc(confidences, right)),
        "bins": [
            {"n": int(count), "confidence": rounded(confidence), "acc": rounded(accuracy)}
            for count, confidence, accuracy in bins
            if count
        ],
    }


def risk_coverage(outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """The accuracy of the most confident answers, for shares of the mentions.

    Returns:
        For each of `COVERAGES` the accuracy, the number of mentions and the minimum of their
        confidences; and the area under the curve of the risk, 1 - accuracy. None where no answer
        has a confidence.
    """
    confidences, right = _confidences(outcomes)
    if not len(confidences):
        return None
    accuracy = metrics.selective_accuracy(confidences, right)
    descending = np.sort(confidences)[::-1]
    counts = {percent: -(-len(accuracy) * percent // 100) for percent in COVERAGES}
    return {
        "area": rounded(float((1 - accuracy).mean())),
        "coverage": {
            str(percent): {
                "n": count,
                "acc": rounded(accuracy[count - 1]),
                "confidence": rounded(descending[count - 1]),
            }
            for percent, count in counts.items()
        },
    }


def no_answer(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How well mentions without a concept are recognised.

    A mention has no answer where nothing is returned for any of its parts.

    Returns:
        The numbers of mentions without a concept, without an answer, and without both; precision
        and recall (None without such mentions) and F1 of the missing answers; the AUROC of
        1 - confidence against mentions without a concept.
    """
    without_concept = np.array([not outcome.gold for outcome in outcomes], bool)
    without_answer = np.array([not any(outcome.parts) for outcome in outcomes], bool)
    both = int((without_concept & without_answer).sum())
    expected, given = int(without_concept.sum()), int(without_answer.sum())
    known = [outcome for outcome in outcomes if outcome.confidence is not None]
    doubts = [1 - (outcome.confidence or 0) for outcome in known]
    return {
        "without_concept": expected,
        "without_answer": given,
        "both": both,
        "precision": rounded(both / given) if given else None,
        "recall": rounded(both / expected) if expected else None,
        "f1": rounded(2 * both / (given + expected)) if given + expected else None,
        "auroc": rounded(metrics.auroc(doubts, [not outcome.gold for outcome in known])),
    }


def rounded(value: float) -> float | None:
    """A figure with 5 decimals; None for NaN."""
    return None if value != value else round(float(value), 5)


def _confidences(outcomes: Sequence[Outcome]) -> tuple[metrics.Values, metrics.Values]:
    """The confidences of the answers that have one, and whether they are right."""
    known = [outcome for outcome in outcomes if outcome.confidence is not None]
    confidences = [outcome.confidence for outcome in known]
    right = [outcome.first_is_right for outcome in known]
    return np.array(confidences, np.float64), np.array(right, np.float64)

"""Counts of what became of mentions, and how many answers are expected to be right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from linker import Candidate, Mention, Part, Prediction
from linker.io.outputs import Outcome, outcome
from linker.linking import tally
from linker.linking.calibration import Calibration
from linker.linking.tally import Tally
from linker.records import Broader

HALVED = Calibration(worth=((0.0, 0.0), (1.0, 0.5)))  # confidences are worth half of what they say
EQUAL = Calibration(worth=((0.0, 0.0), (1.0, 1.0)))


def linked(confidence: float | None, count: int, answers: int = 0) -> Counter[Outcome]:
    return Counter({Outcome("linked", "present", confidence, answers, confidence): count})


def test_the_expected_share_and_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    others = Counter({Outcome("unsure"): 41, Outcome("empty"): 900})
    both = Tally(linked(0.8, 60) + linked(0.4, 40) + linked(None, 9) + others, {*range(75)})
    expected = both.expected(HALVED)
    assert expected is not None
    assert expected.answers == 100
    assert expected.share == pytest.approx(0.6 * 0.4 + 0.4 * 0.2)
    # each distinct mention stands twice, so that 100 answers are worth 50
    variance = 0.32 * 0.68 / 50 + 0.035**2
    assert expected.high - expected.share == pytest.approx(1.96 * variance**0.5)
    assert expected.share - expected.low == pytest.approx(1.96 * variance**0.5)
    sure = both.expected(HALVED, 0.5)
    assert sure is not None
    assert (sure.answers, sure.share) == (60, pytest.approx(0.4))
    assert both.expected(HALVED, 0.9) is None
    assert Tally(linked(0.9, 19), {*range(19)}).expected(EQUAL) is None  # too few
    assert Tally().expected(EQUAL) is None
    certain = Tally(linked(1.0, 20), {*range(20)}).expected(EQUAL)
    assert certain is not None
    assert (certain.share, certain.high) == (1.0, 1.0)
    assert certain.low == pytest.approx(1 - 1.96 * 0.035)


def test_lines() -> None:
    counted = Tally(linked(0.98, 30, 1) + linked(0.6, 10, 3), {*range(40)})
    counted.add(
        Tally(Counter({Outcome("no concept", "absent", None, 1): 2, Outcome("empty"): 1}), {1, 50})
    )
    lines = counted.lines("row", HALVED, 0.9)
    assert lines[0] == "43 rows: 40 linked, 0 unsure, 2 no concept, 1 empty; of these 2 denied"
    assert "44% right" in lines[1]  # (30 * 0.49 + 10 * 0.3) / 40
    assert "30 are left, some 49% right" in lines[1]
    assert lines[2].startswith("sets for 0.9: 1.48 answers on average, 76% have one")
    assert counted.lines("row", None, None) == lines[:1]
    few = Tally(linked(0.98, 3), {1})
    assert few.lines("mention", HALVED, None) == [
        "3 mentions: 3 linked, 0 unsure, 0 no concept, 0 empty"
    ]


def test_outcomes() -> None:
    sure, guess = (
        Candidate("A", "a", "a", 1.0, confidence=0.87654),
        Candidate("B", "b", "b", 1.0, confidence=0.2),
    )

    def of(*parts: Part, state: str = "model") -> Outcome:
        return outcome(Prediction(Mention("x"), parts, state=state))  # type: ignore[arg-type]

    assert of(Part("x", candidates=(sure,), answers=("A", None))) == (
        "linked",
        "present",
        0.877,
        2,
        0.877,
        False,
    )
    assert of(Part("x", candidates=(sure,)), Part("y", candidates=(guess,))) == (
        *("unsure", "present", pytest.approx(0.175), 0, 0.2, False),
    )
    unfound = Part("x", nil=True, rejected=guess)
    assert of(unfound) == ("no concept", "present", None, 0, None, False)
    broader = Broader("C", "c", 0.8)
    assert of(replace(unfound, broader=broader)) == ("no concept", "present", None, 0, None, True)
    unsure = Part("x", candidates=(guess,), broader=broader)
    assert of(unsure) == ("unsure", "present", 0.2, 0, 0.2, True)
    assert of(Part("x", candidates=(guess,)), state="accepted") == (
        "linked",
        "present",
        None,
        0,
        None,
        False,
    )
    assert outcome(None) == ("empty", "present", None, 0, None, False)
    assert tally.OUTCOMES == ("linked", "unsure", "no concept", "empty")

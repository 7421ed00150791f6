"""Counts of what became of mentions, and how many answers are expected to be right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from linker import Candidate, Mention, Part, Prediction
from linker.io.outputs import Outcome, outcome
from linker.linking import tally
from linker.linking.calibration import Calibration, Group
from linker.linking.tally import Tally
from linker.records import Broader

HALVED = Calibration(worth=((0.0, 0.0), (1.0, 0.5)))  # confidences are worth half of what they say
EQUAL = Calibration(worth=((0.0, 0.0), (1.0, 1.0)))


def linked(confidence: float | None, count: int, answers: int = 0) -> Counter[Outcome]:
    return Counter({Outcome("linked", "present", confidence, answers, confidence): count})


def test_the_expected_share_and_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    others = Counter({Outcome("unsure"): 41, Outcome("empty"): 900})
    both = Tally(
        linked(0.8, 60) + linked(0.4, 40) + linked(None, 9) + others, dict.fromkeys(range(75), 0)
    )
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
    assert Tally(linked(0.9, 19), dict.fromkeys(range(19), 0)).expected(EQUAL) is None  # too few
    assert Tally().expected(EQUAL) is None
    one_value = Tally(linked(0.9, 60), {7: 0})  # all are right or wrong together
    assert one_value.expected(EQUAL) is None
    assert one_value.lines("row", EQUAL, None) == [
        "60 rows: 60 linked, 0 unsure, 0 no concept, 0 empty"
    ]
    assert Tally(linked(0.9, 60), dict.fromkeys(range(60), 0)).expected(Calibration()) is None
    certain = Tally(linked(1.0, 20), dict.fromkeys(range(20), 0)).expected(EQUAL)
    assert certain is not None
    assert (certain.share, certain.high) == (1.0, 1.0)
    assert certain.low == pytest.approx(1 - 1.96 * 0.035)


def test_lines() -> None:
    counted = Tally(linked(0.98, 30, 1) + linked(0.6, 10, 3), dict.fromkeys(range(40), 0))
    counted.add(
        Tally(
            Counter({Outcome("no concept", "absent", None, 1): 2, Outcome("empty"): 1}),
            {1: 0, 50: 0},
        )
    )
    lines = counted.lines("row", HALVED, 0.9)
    assert lines[0] == "43 rows: 40 linked, 0 unsure, 2 no concept, 1 empty; of these 2 denied"
    assert "44% right" in lines[1]  # (30 * 0.49 + 10 * 0.3) / 40
    assert "30 are left, some 49% right" in lines[1]
    assert lines[2].startswith("sets for 0.9: 1.48 answers on average, 76% have one")
    assert counted.lines("row", Calibration(), None) == lines[:1]
    few = Tally(linked(0.98, 3), {1: 0})
    assert few.lines("mention", HALVED, None) == [
        "3 mentions: 3 linked, 0 unsure, 0 no concept, 0 empty"
    ]


def test_a_coverage_that_sets_cannot_reach_by_naming_concepts() -> None:
    known = Calibration({"name": Group((0.5,), 1.0), "other": Group((0.2,), 0.6)})
    counted = Tally(linked(0.98, 40, 1))

    def see(text: str, similarity: float, times: int) -> None:
        candidate = Candidate("A:1", "a", "a", 1.0, similarity, None, "", 0.9)
        part = Part(text, candidates=(candidate,), answers=("A:1",))
        counted.see(Prediction(Mention(text), (part,)), times)

    see("fever", 1.0, 30)
    see("fevers of spring", 0.7, 10)
    counted.add(Tally())
    assert counted.groups == {"name": 30, "other": 10}
    reached = counted.lines("row", known, 0.85)
    assert len(reached) == 2
    lines = counted.lines("row", known, 0.95)
    assert lines[:1] == reached[:1]
    assert "90%" in lines[2]  # (30 * 1.0 + 10 * 0.6) / 40
    assert "0.95" in lines[2]
    see("MPS", 0.2, 1)
    assert counted.groups["short form"] == 1
    decided = Prediction(Mention("fever"), (Part("fever", answers=("A:1",)),), state="accepted")
    counted.see(decided)
    assert counted.groups.total() == 41


def texts(*counts: int) -> Tally:
    """Texts that are a name, resemble one, and resemble none."""
    levels = [level for level, count in enumerate(counts) for _ in range(count)]
    return Tally(distinct=dict(enumerate(levels)))


def test_drift() -> None:
    usual = Calibration(texts=(200, 160, 40))  # one half are no name, a tenth resemble none
    drift = texts(40, 30, 30).drift(usual)
    assert drift is not None
    assert (drift.share, drift.usual) == (0.3, 0.1)
    # variances: 0.3 * 0.7 / 100 + 0.1 * 0.9 / 400 = 0.002325
    assert drift.excess == pytest.approx(0.2 - 1.96 * 0.002325**0.5 - 0.05)
    drift = texts(10, 85, 5).drift(usual)
    assert drift is not None
    assert (drift.share, drift.usual) == (0.9, 0.5)
    # 0.9 * 0.1 / 100 + 0.5 * 0.5 / 400 = 0.001525
    assert drift.excess == pytest.approx(0.4 - 1.96 * 0.001525**0.5 - 0.15)
    alike = texts(100).drift(usual)
    assert alike is not None
    assert alike.excess < 0
    assert texts(0, 0, 19).drift(usual) is None
    assert texts(0, 0, 20).drift(Calibration()) is None  # an earlier release calibrated


def test_a_line_tells_of_drift() -> None:
    usual = Calibration(texts=(200, 160, 40))
    assert (
        "(30% of the distinct ones resemble no name, 10% there)"
        in texts(40, 30, 30).lines("row", usual, None)[-1]
    )
    assert (
        "(90% of the distinct ones are no name, 50% there)"
        in texts(10, 85, 5).lines("row", usual, None)[-1]
    )
    assert len(texts(50, 35, 15).lines("row", usual, None)) == 1
    assert len(texts(0, 0, 100).lines("row", Calibration(), None)) == 1


def test_texts_that_were_seen_in_several_parts() -> None:
    def seen(*predictions: tuple[str, float]) -> Tally:
        found = Tally()
        for text, similarity in predictions:
            candidate = Candidate("A", "a", "a", 1.0, similarity)
            found.see(Prediction(Mention(text), (Part(text, candidates=(candidate,)),)))
        return found

    parts = seen(("a", 0.4), ("b", 0.9)), seen(("b", 0.9), ("c", 1.0), ("a", 0.6), ("c", 1.0))
    for first, second in (parts, parts[::-1]):
        both = Tally()
        both.add(first)
        both.add(second)
        assert both == seen(("c", 1.0), ("b", 0.9), ("a", 0.4))
        assert sorted(both.distinct.values()) == [0, 1, 2]


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


def test_cells_with_a_broken_encoding_are_counted() -> None:
    pytest.importorskip("ftfy")
    broken = Prediction(Mention("SjÃ¶gren"), (Part("Sjögren"),))
    seen = Tally()
    seen.see(broken, times=2)
    seen.see(replace(broken, mention=Mention("Sjögren")))
    seen.see(replace(broken, mention=Mention("SjÃ¶gren", spans=((0, 8),))))  # its text stays
    both = Tally()
    both.add(seen)
    both.add(seen)
    assert (seen.mended, both.mended) == (2, 4)
    assert "2 cells had a broken encoding, mended" in seen.lines("row", EQUAL, None)


def test_first_candidates_that_were_withheld_are_counted() -> None:
    candidate = Candidate("D:1", "Gout", "gout", 1.0, confidence=0.4)
    withheld = Prediction(Mention("ax"), (Part("ax", nil=True, rejected=candidate),))
    answered = Prediction(Mention("gout"), (Part("gout", candidates=(candidate,)),))
    decided = replace(withheld, state="rejected")
    seen = Tally()
    for prediction, times in ((withheld, 30), (answered, 5), (decided, 7)):
        seen.see(prediction, times)
    other = Tally()
    other.see(withheld, 10)
    seen.add(other)
    assert seen.withheld == {40: 40}
    (line,) = (line for line in seen.lines("row", HALVED, None) if "withheld" in line)
    assert ": 40;" in line
    assert "some 20% are right" in line  # confidences are worth half

"""Figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linker import Candidate, Dictionary, Linker, Mention
from linker.evaluation import protocols, report
from linker.evaluation.protocols import Outcome, outcome_of
from linker.ids import parse_gold
from linker.records import Part, Prediction
from linker.training.pipeline import train


def of(*ranks: int) -> list[Outcome]:
    return [Outcome(Mention("m", gold=parse_gold("D:1")), rank, (None,)) for rank in ranks]


def test_figures_of_four_mentions() -> None:
    record = report.summary(of(1, 2, 0, 1), (1, 2, 5))
    assert record["n"] == 4
    assert record["acc"] == {"1": 2 / 4, "2": 3 / 4, "5": 3 / 4}
    assert record["mrr"] == (1 / 1 + 1 / 2 + 0 + 1 / 1) / 4
    assert not {"groups", "errors"} & set(record)
    for k in ("1", "2", "5"):
        low, high = record["acc_interval"][k]
        assert 0 <= low <= record["acc"][k] <= high <= 1
    assert record["mrr_interval"][0] < record["mrr"] < record["mrr_interval"][1]
    assert report.summary(of(1, 2, 0, 1), (1, 2, 5)) == record  # the same each time
    thirds = report.figures(of(1, 1, 0), (1,))
    assert (thirds["acc"]["1"], thirds["mrr"]) == (0.66667, 0.66667)
    none = report.figures([], (1,))
    assert (none["n"], none["acc"], none["mrr"]) == (0, {"1": None}, None)
    assert none["acc_interval"] == {"1": [None, None]}


def test_names_and_concepts_are_told_apart() -> None:
    both = [replace(o, rank_of_concepts=k) for o, k in zip(of(1, 3), (1, 2), strict=True)]
    record = report.summary(both, (1, 2))
    assert record["acc"] == {"1": 1 / 2, "2": 1 / 2}
    assert record["of_concepts"]["acc"] == {"1": 1 / 2, "2": 2 / 2}
    assert "of_concepts" not in report.summary(of(1, 3), (1, 2))
    rows = {line.split("  ")[0]: line.split()[-3:] for line in report.table(record).splitlines()}
    assert rows["of concepts"] == ["0.5000", "1.0000", "0.7500"]
    assert "Acc@2, of concepts" in report.render({"protocol": "biosyn"} | record)


def test_a_linker_adds_groups_and_errors(tiny: Linker) -> None:
    given = [("abcd", "D:1"), ("abxy", "D:1"), ("male breast cancer", "D:3"), ("…", "D:1")]
    given += [("breast cancer", "D:4"), ("www", "-1")]
    mentions = [Mention(text, gold=parse_gold(gold)) for text, gold in given]
    record = report.summary(list(protocols.strict(tiny, mentions, 20)), (1,), tiny)
    assert record["acc"] == {"1": 0.16667}
    assert list(record["errors"].items()) == [
        ("hyponym", 2),
        ("no_candidate", 1),
        ("unrelated", 1),
        ("concept_not_expected", 1),
    ]
    unseen = {"n": 6, "acc": {"1": 0.16667}, "mrr": record["mrr"]}
    assert record["groups"]["unseen_mention"] == unseen
    assert record["groups"]["seen_mention"] == {"n": 0, "acc": {"1": None}, "mrr": None}


HEART, VALVE = Candidate("D:1", "heart", "heart", 0.5), Candidate("D:2", "valve", "valve", 0.5)


def outcome(gold: str, *answers: Candidate | None, rank: int = 0, text: str = "m") -> Outcome:
    return Outcome(Mention(text, gold=parse_gold(gold)), rank, answers)


def test_composites_and_single_mentions_that_were_split() -> None:
    cases = [
        outcome("D:1|D:2", HEART, VALVE, rank=1),
        outcome("D:1|D:2", HEART, HEART),
        outcome("D:1|D:2", HEART),
        outcome("D:1|D:2", HEART, VALVE, HEART),
        outcome("D:1", HEART, rank=1),
        outcome("D:1", HEART, VALVE),
        outcome("D:1+D:2", HEART, VALVE, rank=1),  # may be split, or not
        outcome("-1", HEART, VALVE),
    ]
    split = {"composites": 4, "split_right": 2, "singles": 4, "singles_split": 2}
    assert report.composites(cases) == split


def test_the_seen_apart_from_the_unseen(hearts: Dictionary) -> None:
    texts = (("Bad heart", "OLD:1"), ("bad valve", "D:2"))
    given = [Mention(text, gold=parse_gold(gold)) for text, gold in texts]
    model = train(hearts, encoder="tfidf", mentions=given, corrections={"haert": "heart"})
    cases = [
        outcome("D:1", text="bad, haert", rank=1),  # seen as normalised and corrected
        outcome("D:1", text="ill heart"),
        outcome("D:3", text="bad valve"),
        outcome("D:1|D:2", text="bad heart and valve"),  # all its concepts are seen
        outcome("D:1|D:3", text="bad heart and rhythm"),  # not all
        outcome("-1", text="good heart"),
    ]
    groups = report.groups(model, cases)
    assert {name: [cases.index(case) for case in members] for name, members in groups.items()} == {
        "seen_mention": [0, 2],
        "unseen_mention": [1, 3, 4, 5],
        "seen_concept": [0, 1, 3],
        "unseen_concept": [2, 4, 5],
    }


def linked(
    confidence: float | None, gold: str = "D:1", answer: str = "D:1", rejected: bool = False
) -> Outcome:
    candidate = Candidate(answer, "x", "x", 1.0, confidence=confidence)
    nil = Part("x", nil=True, rejected=candidate)
    part = nil if rejected else Part("x", candidates=(candidate,))
    mention = Mention("x", gold=parse_gold(gold))
    return outcome_of(Prediction(mention, (part,)), mention, "strict", lambda i: frozenset((i,)))


FIVE = [
    linked(0.9),
    linked(0.8, answer="D:2"),
    linked(0.3, rejected=True),  # would have been right
    linked(0.1, gold="-1", rejected=True),
    linked(0.2, gold="-1"),
]


def test_calibration_counts_rejected_answers_as_if_returned() -> None:
    record = report.of_confidences([*FIVE, linked(None)])["calibration"]
    pairs = [(0.9, 1), (0.8, 0), (0.3, 1), (0.1, 0), (0.2, 0)]
    assert (record["n"], record["without_confidence"]) == (5, 1)
    assert record["brier"] == pytest.approx(sum((c - r) ** 2 for c, r in pairs) / 5)
    assert record["ece"] == pytest.approx(sum(abs(c - r) for c, r in pairs) / 5)  # a bin for each
    assert record["auroc"] == pytest.approx((3 + 2) / 6, abs=1e-5)
    assert [each["confidence"] for each in record["bins"]] == [0.1, 0.2, 0.3, 0.8, 0.9]
    assert [each["acc"] for each in record["bins"]] == [0, 0, 1, 0, 1]


def test_accuracy_by_coverage() -> None:
    record = report.of_confidences(FIVE)["risk_coverage"]
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
    counts = {"without_concept": 2, "without_answer": 2, "both": 1}
    halves = {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    # the two mentions without a concept have the lowest confidences
    assert report.no_answer(FIVE) == counts | halves | {"auroc": 1.0}

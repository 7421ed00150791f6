"""Sets of answers: how they are calibrated, what is in them, what decisions make of them."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import (
    Candidate,
    Decision,
    Dictionary,
    Linker,
    LinkerError,
    Mention,
    Part,
    Prediction,
    Predictions,
)
from linker.evaluation import sets as measured
from linker.linking import calibration
from linker.linking.calibration import GROUPS, Calibration, Group, answers_of
from linker.linking.decided import Decided
from linker.linking.lists import COLUMNS, PLACE, Judged, MatchLists
from linker.linking.ranker import Ranker
from linker.linking.ranking import Order
from linker.records import GoldGroup
from linker.training.pipeline import train


def group(*probabilities: float) -> Group:
    return Group(probabilities, 1.0)


TENTHS = [place / 10 for place in range(1, 10)]


@pytest.mark.parametrize(
    ("coverage", "least"),
    [
        (0.8, 0.2),  # 2 of 10 may be below
        (0.9, 0.1),
        (0.75, 0.2),  # 2.5 of 10
        (0.95, 0.0),  # half of one: nine mentions are too few
        (1e-12, 0.9),
    ],
)
def test_the_least_probability_of_nine_mentions(coverage: float, least: float) -> None:
    assert group(*TENTHS).least(coverage) == least


@given(
    st.lists(st.integers(0, 50).map(lambda n: n / 50), min_size=2, max_size=40),
    st.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
def test_each_of_some_mentions_is_covered_as_often_as_promised(
    values: list[float], coverage: float
) -> None:
    """Where the others calibrate it; this is the proof of the promise."""
    covered = 0
    for place, value in enumerate(values):
        others = np.array(values[:place] + values[place + 1 :])
        covered += value >= Group.of(others, np.ones(len(others), bool)).least(coverage)
    assert covered >= coverage * len(values) - 1e-9


def test_quantiles_of_many_mentions_are_no_higher_than_all_of_them() -> None:
    values = np.random.default_rng(0).random(4321).round(5)
    every, kept = np.sort(values), Group.of(values, values > 0.25)
    assert len(kept.probabilities) == 1000
    assert kept.found == pytest.approx(np.mean(values > 0.25), abs=1e-4)
    for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
        exact = every[int((1 - coverage) * 4322) - 1]
        assert exact - 0.003 < kept.least(coverage) <= exact


def test_a_group_of_few_mentions_has_those_of_the_other_calibration_beside_its_own() -> None:
    many, few, shipped = group(*[0.5] * 100), Group((0.2, 0.4), 0.5), ((0.0, 0.0), (1.0, 0.5))
    hundredths = tuple(place / 196 for place in range(196))
    both = Calibration({"name": many, "other": few}, ((0.0, 1.0), (1.0, 1.0))).before(
        Calibration({"name": few, "other": Group(hundredths, 1.0), "short form": few}, shipped)
    )
    assert both.groups.keys() == {"name", "other", "short form"}
    assert (both.groups["name"], both.groups["short form"]) == (many, few)
    filled = both.groups["other"]  # each second of the 196 beside its own
    assert filled.probabilities == tuple(sorted((0.2, 0.4, *hundredths[::2])))
    assert filled.found == pytest.approx(0.99)
    assert both.worth == shipped  # 102 mentions are too few for a curve
    assert Calibration().least(2, 0.5) == 0.0  # all answers


def test_what_is_in_a_set() -> None:
    def answers(*confidence: float, least: float) -> tuple[str | None, ...]:
        return calibration.answers_of(
            ["A", "B", "C"][: len(confidence)], np.array(confidence), least
        )

    assert answers(0.5, 0.25, 0.125, least=0.25) == ("A", "B")
    assert answers(0.5, 0.25, 0.125, least=0.125) == ("A", "B", "C", None)  # 0.125 is left
    assert answers(0.3, 0.1, least=0.3) == (None, "A")
    assert answers(0.3, 0.1, least=0.9) == (None,)  # one at least
    assert answers(0.7, 0.1, least=0.9) == ("A",)
    assert answers(least=0.5) == (None,)  # no candidate


# ---------------------------------------------------------------------------- of match lists


def lists_of(*mentions: list[list[tuple[float, float]]]) -> MatchLists:
    """Mentions of one reading each: for each text its candidates, same letters and short form."""
    texts = [text for mention in mentions for text in mention]
    values = np.zeros((sum(map(len, texts)), len(COLUMNS)), np.float32)
    rows = [row for text in texts for row in text]
    if rows:
        values[:, [PLACE["same_letters"], PLACE["short_form"]]] = rows
    sizes = [[1] * len(mentions), [len(m) for m in mentions], [len(text) for text in texts]]
    ends = [np.array([0, *itertools.accumulate(of)], np.int64) for of in sizes]
    return MatchLists(*ends, values, np.zeros(len(mentions), np.float32))


def test_groups() -> None:
    lists = lists_of(
        [[(0, 0), (1, 0)]],  # the second candidate is the name
        [[(1, 1)]],
        [[(0, 0)]],
        [[(1, 0)], [(0, 0)]],  # only the first of two parts is a name
        [[(1, 0)], [(1, 0)]],
        [[]],  # no candidate
    )
    names = [calibration.GROUPS[number] for number in calibration.groups(lists)]
    assert names == ["name", "short form", "other", "other", "name", "other"]


def test_the_probability_of_what_is_right() -> None:
    lists = lists_of([[(0, 0)] * 2], [[(0, 0)] * 2], [[(0, 0)], [(0, 0)] * 2], [[]])
    # the last is the nearest above what is meant, and not it
    relevance = np.array([0, 2, 0, 0, 2, 2, 1], np.int8)
    judged = Judged(lists, np.arange(7), relevance, np.ones(4, bool), np.ones(4, np.float32))
    confidence = np.array([0.7, 0.2, 0.5, 0.3, 0.9, 0.6, 0.1])
    order = Order(np.arange(7), confidence, np.ones(4), np.arange(4))
    found = calibration.probabilities(judged, order)
    assert found[0].tolist() == pytest.approx([0.2, 0.2, 0.6, 1.0])  # none: 1 - 0.5 - 0.3
    assert found[1].tolist() == [True, False, True, False]


def test_how_many_texts_are_names_and_resemble_one() -> None:
    texts = [[[(0, 0)] * 2], [[(0, 0)], [(0, 0)]], [[]], [[(0, 0)] * 2], [[(0, 0)]], [[(0, 0)]]]
    lists = lists_of(*texts)
    # the fourth is the first again; the last is a name
    lists.values[:, PLACE["sparse"]] = [0.4, 0.5, 0.9, 0.3, 0.4, 0.5, 0.6, 1]
    order = Order(np.array([1, 0, 2, 3, 5, 4, 6, 7]), *np.full((2, 8), 0.25), np.arange(6))
    relevance = np.full(8, 2, np.int8)
    right = Judged(lists, np.arange(8), relevance, np.ones(6, bool), np.ones(6, np.float32))
    of_all = Calibration.of([(right, order)])
    # none: a part of the second, and the third, which has no candidate
    assert of_all.texts == (1, 2, 2)
    assert Calibration().before(of_all).texts == (1, 2, 2)  # too few say nothing of texts
    enough = Calibration({"name": group(*[0.5] * 300)}, of_all.worth, (5, 0, 9))
    assert enough.before(of_all).texts == (5, 0, 9)


def test_whether_predictions_resemble_a_name() -> None:
    def of(*similarity: tuple[float | None, float], **about: Any) -> int:
        parts = (
            Part("x", candidates=(Candidate("A", "a", "a", score, sparse),))
            for sparse, score in similarity
        )
        return calibration.unlikeness(Prediction(Mention("x"), tuple(parts), **about))

    assert [of((1.0, 0.1)), of((0.5, 0.1)), of((0.4, 1.0))] == [0, 1, 2]
    assert [of((1.0, 1.0), (0.9, 0.9)), of((0.9, 0.9), (0.4, 0.9))] == [1, 2]
    assert [of((None, 1.0)), of((None, 0.5)), of((None, 0.4))] == [0, 1, 2]  # characters alone
    assert of((0.4, 0.9), state="accepted") == 0
    rejected = Part("x", nil=True, rejected=Candidate("A", "a", "a", 0.9, 0.6))
    assert calibration.unlikeness(Prediction(Mention("x"), (rejected,))) == 1
    assert calibration.unlikeness(Prediction(Mention("x"), (Part("x", nil=True),))) == 2
    assert calibration.unlikeness(Prediction(Mention("--"), (Part("--", nil=True),))) == 0


# ---------------------------------------------------------------------------- files


def test_a_calibration_is_saved_with_the_ranker(tmp_path: Path) -> None:
    groups = {"name": Group((0.25, 0.5), 0.5), "other": group(*TENTHS)}
    calibration = Calibration(groups, texts=(4, 1, 2))
    ranker = dataclasses.replace(Ranker.shipped(), calibration=calibration)
    ranker.save(tmp_path)
    assert Ranker.load(tmp_path).calibration == calibration
    shipped = Ranker.shipped().calibration
    assert shipped.groups.keys() == {*GROUPS}
    assert min(shipped.texts) > 0


@pytest.mark.parametrize(
    "record",
    [
        {"name": {"probabilities": [0.5, 0.25], "found": 1.0}},  # not in order
        {"name": {"probabilities": [0.5, 1.5], "found": 1.0}},
        {"name": {"probabilities": ["a"], "found": 1.0}},
        {"name": {"probabilities": [0.5]}},
        {"others": {"probabilities": [0.5], "found": 1.0}},
        [],
    ],
)
def test_what_is_no_calibration(record: object) -> None:
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        Calibration.from_dict({"groups": record, "worth": []})


@pytest.mark.parametrize("texts", [[1, 2], [1, 2, -3], [1, 2.0, 3], ["1"] * 3, "123", True, None])
def test_what_are_no_counts_of_texts(texts: object) -> None:
    with pytest.raises(ValueError):
        Calibration.from_dict(Calibration().to_dict() | {"texts": texts})


def test_a_calibration_of_before_counts_no_texts() -> None:
    record = Calibration(texts=(4, 1, 2)).to_dict()
    del record["texts"]
    assert Calibration.from_dict(record) == Calibration()


# ---------------------------------------------------------------------------- answers


@pytest.fixture(scope="module")
def linker(sample: Path) -> Linker:
    return train(Dictionary.read(sample))


def gold(*ids: str) -> tuple[GoldGroup, ...]:
    return tuple(GoldGroup((i,)) for i in ids)


def test_the_sets_of_a_linker(linker: Linker) -> None:
    texts = ["breast cancer", "hepatitis B/C", "xyzzy", "cancer of the thing", "-"]
    sure = linker.link(texts, k=10, coverage=0.8)
    surer = linker.link(texts, k=10, coverage=0.97)
    for prediction, larger in zip(sure, surer, strict=True):
        for part, of_larger in zip(prediction.parts, larger.parts, strict=True):
            assert part.answers
            assert {*part.answers} <= {*of_larger.answers}
            assert {*part.answers} <= {*(c.concept_id for c in part.candidates), None}
            first = part.best or part.rejected
            assert part.answers[0] in (None, first and first.concept_id)
    assert sure[0].parts[0].answers == ("MESH:D001943",)
    assert [part.answers for part in sure[1].parts] == [("MESH:D006509",), ("MESH:D006526",)]
    assert sure[4].parts[0].answers == (None,)
    assert linker.link("breast cancer").parts[0].answers == ()
    frame = Predictions(sure[1:2])
    assert frame.to_dict()[0]["parts"][0]["set"] == ["MESH:D006509"]
    assert "set" not in linker.link("breast cancer").to_dict()["parts"][0]


def test_the_set_of_a_short_form_that_nothing_explains_has_none(linker: Linker) -> None:
    for text, limit in (("AT", 0.4), ("DM", 0.75)):  # the second is on our list
        part = linker.link(text, coverage=0.8).parts[0]
        assert part.best
        assert part.best.confidence == limit
        assert {part.best.concept_id, None} <= {*part.answers}


def answer_of_part(part: Part) -> str | None:
    """The answer of a part."""
    return part.best.concept_id if part.best else None


@pytest.mark.parametrize("coverage", [0.3, 0.5, 0.9, 0.97])
def test_a_set_holds_the_answer_that_is_given_or_none(linker: Linker, coverage: float) -> None:
    texts = [
        "AT",
        "FAP",
        "breast cancer",
        "cancers",
        "hepatitis B/C",
        "hand of xyzzy",
        "syndrome X",
    ]
    parts = [part for p in linker.link(texts, coverage=coverage) for part in p.parts]
    assert {part.nil for part in parts} == {True, False}
    for part in parts:
        assert answer_of_part(part) in part.answers
    # an answer that is asked for though "none" is more probable is in the set, too
    (forced,) = linker.link("hand of xyzzy", coverage=coverage, threshold=0.0).parts
    assert forced.best
    assert {answer_of_part(forced), None} <= {*forced.answers}


def test_answers_that_are_given_are_in_the_set_at_their_place() -> None:
    confidence = np.array([0.4, 0.1])
    assert answers_of(["A", "B"], confidence, 0.45) == (None,)
    assert answers_of(["A", "B"], confidence, 0.45, {"A"}) == (None, "A")
    assert answers_of(["A", "B"], np.array([0.9, 0.06]), 0.5, {None}) == ("A", None)


def test_the_concepts_that_a_search_finds_bound_what_sets_can_name() -> None:
    known = Calibration({"name": Group((0.5,), 1.0), "other": Group((0.2,), 0.6)})
    assert known.reachable({"name": 30, "other": 10, "short form": 7}) == pytest.approx(0.9)
    assert known.reachable({"other": 3}) == 0.6
    assert known.reachable({"short form": 7, "name": 0}) is None


def test_sets_are_the_same_whatever_is_returned(linker: Linker) -> None:
    for limits in ({"k": 1}, {"threshold": 0.99}, {"threshold": 0.0}, {"min_score": 2.0}):
        part = linker.link("breast cancers", coverage=0.9, **limits).parts[0]
        assert part.answers == linker.link("breast cancers", coverage=0.9, k=10).parts[0].answers


def test_what_is_covered(linker: Linker) -> None:
    mentions = [
        Mention("breast cancer", gold=gold("MESH:D001943")),
        Mention("hepatitis B/C", gold=gold("MESH:D006509", "MESH:D006526")),
        Mention("hepatitis B/C", gold=gold("MESH:D006509", "MESH:D001943")),  # the second is wrong
        Mention("-", gold=()),
        Mention("breast cancer", gold=()),  # "none of these" is not in its set
        Mention("breast cancer"),  # nobody annotated it
    ]
    linked = linker.link(mentions, k=10, coverage=0.8)
    resolve = linker.dictionary.resolve
    assert [measured.is_covered(one, resolve) for one in linked[:5]] == [
        True,
        True,
        False,
        True,
        False,
    ]
    figures = measured.figures(linked, resolve)
    assert figures == measured.SetFigures(5, 0.6, 2 / 3, 1.0, 1.0, pytest.approx(1 / 7))


def test_what_is_named() -> None:
    answer = Candidate("A:1", "a", "a", 1.0)
    wanted = (GoldGroup(("A:1",)),)
    sets: list[tuple[str | None, ...]] = [("A:1",), (None,), ("A:1", None), (None,)]
    golds = [wanted, wanted, wanted, ()]
    linked = [
        Prediction(Mention("a", gold=of_one), (Part("a", candidates=(), answers=answers),))
        for of_one, answers in zip(golds, sets, strict=True)
    ]
    linked[0] = Prediction(linked[0].mention, (Part("a", candidates=(answer,), answers=("A:1",)),))
    figures = measured.figures(linked, lambda identifier: frozenset((identifier,)))
    # where the search missed the concept, "none" holds what is right, and names nothing
    assert (figures.covered, figures.named) == (1.0, pytest.approx(2 / 3))


def test_the_set_of_what_answers_behind_a_rejected_concept_holds_it(linker: Linker) -> None:
    for threshold in (0.0, None):
        rejected = Decision("breast cancer", "MESH:D001943", accepted=False, id=1)
        limits = {"coverage": 0.9, "k": 5, "decisions": Decided([rejected], linker)}
        (part,) = linker.link("breast cancer", threshold=threshold, **limits).parts
        assert answer_of_part(part) in part.answers
        assert "MESH:D001943" not in part.answers


def test_what_people_decided_is_the_set(linker: Linker) -> None:
    def linked(*decisions: Decision) -> tuple[str | None, ...]:
        decided = Decided([dataclasses.replace(d, id=1) for d in decisions], linker)
        return linker.link("breast cancer", coverage=0.9, decisions=decided).parts[0].answers

    assert linked(Decision("breast cancer", "MESH:D006509")) == ("MESH:D006509",)
    assert linked(Decision("breast cancer", "")) == (None,)
    assert linked(Decision("breast cancer", "MESH:D001943", accepted=False)) == (None,)
    of_crowd = Decision("breast cancer", "MESH:D006509", bulk=True)  # nobody looked
    assert linked(of_crowd) == ("MESH:D006509", "MESH:D001943")
    both = Decided([Decision("breast cancer", "MESH:D006509|MESH:D001943", id=1)], linker)
    parts = linker.link("breast cancer", coverage=0.9, decisions=both).parts
    assert {part.answers for part in parts} == {("MESH:D006509",), ("MESH:D001943",)}
    assert linker.link("breast cancer", decisions=both).parts[0].answers == ()


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 2, float("nan")])
def test_what_is_no_coverage(linker: Linker, coverage: float) -> None:
    with pytest.raises(LinkerError):
        linker.link("a", coverage=coverage)


def test_without_a_calibration_there_are_no_sets(linker: Linker) -> None:
    assert linker.ranker
    earlier = dataclasses.replace(linker.ranker, calibration=Calibration())
    for ranker in (None, earlier):
        with pytest.raises(LinkerError):
            linker.with_ranker(ranker).link("a", coverage=0.9)

"""The list-wise ranker: one softmax over readings and slots, fitting, files."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.linking import ranker as rankers
from linker.linking.lists import (
    COLUMNS,
    INPUTS,
    PLACE,
    Judged,
    MatchLists,
    Probabilities,
    softmax,
)
from linker.linking.ranker import Loss, Ranker

WIDTH = len(COLUMNS)
Layout = list[list[list[int]]]  # how many candidates each text of each reading of mentions has


def ends(sizes: list[int]) -> np.ndarray:
    return np.array([0, *itertools.accumulate(sizes)], np.int64)


def laid_out(layout: Layout, values: np.ndarray | None = None) -> MatchLists:
    """The lists of mentions, given how many candidates each text has."""
    readings = [reading for mention in layout for reading in mention]
    sizes = [size for reading in readings for size in reading]
    values = np.zeros((sum(sizes), WIDTH), np.float32) if values is None else values
    return MatchLists(
        ends([len(mention) for mention in layout]),
        ends([len(reading) for reading in readings]),
        ends(sizes),
        values,
        np.zeros(len(layout), np.float32),
    )


def judged(mentions: int = 300, seed: int = 0) -> Judged:
    """One to three readings of mentions, the second one split in two.

    Texts have up to four candidates; those whose words agree are right. Where no reading is right,
    half of the mentions have a concept, which their last column tells, and a third have candidates
    above it, which their preferred names tell.
    """
    random = np.random.default_rng(seed)
    layout = [
        [random.integers(0, 5, 2 if place == 1 else 1).tolist() for place in range(count)]
        for count in random.integers(1, 4, mentions)
    ]
    lists = laid_out(layout)
    lists.values[:] = random.normal(size=lists.values.shape)
    relevance = np.zeros(len(lists.values), np.int8)
    known, start = np.zeros(mentions, bool), 0
    for place, mention in enumerate(layout):
        is_right = random.random() < 0.7 and any(map(all, mention))
        has_broader = random.random() < 0.33
        known[place] = random.random() < 0.5
        for reading in mention:
            for size in reading:
                if size and is_right:
                    relevance[start + random.integers(size)] = 2
                elif size and has_broader and len(reading) == 1:
                    relevance[start + random.integers(size)] = 1
                lists.values[start : start + size, -1] = 1 if known[place] else -1
                start += size
            known[place] |= is_right and all(reading)
    lists.values[:, PLACE["of_mention"]] = np.where(relevance == 2, 1, -1)
    lists.values[:, PLACE["of_preferred"]] = np.where(relevance == 1, 1, -1)
    lists.nil_evidence[:] = random.random(mentions)
    concepts = np.arange(len(relevance))
    return Judged(lists, concepts, relevance, known, np.ones(mentions, np.float32))


def slow_softmax(
    scores: list[list[float]], slots: list[list[float]], layout: Layout
) -> Probabilities:
    """The same as `softmax`, mention by mention, from the formula."""
    rows, readings, broader, none, missed = [], [], [], [], []
    left = iter(scores)
    for mention, of_slots in zip(layout, slots, strict=True):
        logits = []
        above = []
        for reading in mention:
            of_parts = []
            for size in reading:
                pairs = [next(left) for _ in range(size)]
                odds = [math.exp(exact) for exact, _ in pairs]
                above += [math.exp(of) if len(reading) == 1 else 0.0 for _, of in pairs]
                rows += [one / sum(odds) for one in odds]
                of_parts.append(math.log(sum(odds)) if odds else -math.inf)
            logits.append(sum(of_parts) / len(of_parts))
        whole = sum(map(math.exp, [*logits, *of_slots])) + sum(above)
        broader += [odds / whole for odds in above]
        readings += [math.exp(logit) / whole for logit in logits]
        none.append(math.exp(of_slots[0]) / whole)
        missed.append(math.exp(of_slots[1]) / whole)
    return Probabilities(*map(np.array, (rows, readings, broader, none, missed)))


# ---------------------------------------------------------------------------- probabilities


def test_a_split_reading_has_the_mean_of_its_parts() -> None:
    """Parts of 4 and 9 together count sqrt(4 * 9) = 6; a part without a candidate ends it."""
    lists = laid_out([[[1], [1, 2], [1, 0]]])
    scores = np.log([[2.0, 4.0, 8.0, 1.0, 5.0], [2.0, 9.0, 9.0, 9.0, 9.0]]).T
    found = softmax(scores, np.log([[1.0, 1.0]]), lists)
    assert found.readings == pytest.approx([2 / 12, 6 / 12, 0])
    assert found.rows == pytest.approx([1, 1, 8 / 9, 1 / 9, 1])
    assert found.broader == pytest.approx([2 / 12, 0, 0, 0, 0])  # of readings with one part
    assert (found.none[0], found.missed[0]) == pytest.approx((1 / 12, 1 / 12))


layouts = st.lists(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


@given(layouts, st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_softmax_the_slow_way(layout: Layout, seed: int) -> None:
    lists, random = laid_out(layout), np.random.default_rng(seed)
    scores = random.normal(scale=3, size=(len(lists.values), 2))
    slots = random.normal(scale=3, size=(len(layout), 2))
    found, expected = softmax(scores, slots, lists), None
    expected = slow_softmax(scores.tolist(), slots.tolist(), layout)
    for name in ("rows", "readings", "broader", "none", "missed"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-12), name
    mention = np.repeat(np.arange(len(layout)), np.diff(lists.readings))
    whole = np.bincount(mention, found.readings, len(layout)) + found.none + found.missed
    starts = lists.starts.tolist()
    whole += [found.broader[start:end].sum() for start, end in itertools.pairwise(starts)]
    assert whole == pytest.approx(np.ones(len(layout)))


def test_scores_by_hand() -> None:
    """One hidden unit each: it reads the first column less its mean, and the largest of it."""
    count = len(INPUTS)
    weights = {
        "w": np.zeros((count, 1)),
        "b": np.array([1.0]),
        "v": np.array([[10.0, -1.0]]),
        "c": np.array([0.0, 8.0]),
        "w_none": np.zeros((2 * count + 1, 1)),
        "b_none": np.array([0.0]),
        "v_none": np.array([[2.0, -2.0]]),
        "c_none": np.array([0.5, 0.25]),
    }
    weights["w"][0] = 1
    weights["w_none"][0], weights["w_none"][count], weights["w_none"][-1] = 1, 100, 1000
    centre, scale = np.zeros(count, np.float32), np.ones(count, np.float32)
    centre[0], scale[0] = 3, 2
    ranker = Ranker(centre, scale, {k: v.astype(np.float32) for k, v in weights.items()})
    lists = laid_out([[[2], [1]], [[0]]])
    lists.values[:, 0] = [4, 7, 1000]  # 0.5, 2 and far off: 3
    lists.nil_evidence[:] = [0, 0.125]
    scores, slots = ranker.scores(lists)
    assert scores.tolist() == [[15, 6.5], [30, 5], [40, 4]]
    assert slots.tolist() == [[2 * 53 + 0.5, -2 * 53 + 0.25], [2 * 125 + 0.5, -2 * 125 + 0.25]]
    assert ranker.scores_of(lists.inputs).tolist() == [15, 30, 40]


# -------------------------------------------------------------------------------- fitting


def loss_of(found: Probabilities, some: Judged) -> float:
    """The weighted mean of -log of what is right, from its definition."""
    lists, total = some.lists, 0.0
    weight = some.weight.astype(np.float64)  # in float32 the difference of two losses is noise
    for mention in range(len(weight)):
        wanted = 0.0
        for reading in range(*lists.readings[mention : mention + 2]):
            share = found.readings[reading]
            for lookup in range(*lists.lookups[reading : reading + 2]):
                start, end = lists.rows[lookup : lookup + 2]
                share *= found.rows[start:end][some.relevance[start:end] == 2].sum()
            wanted += share
        start, end = lists.starts[mention : mention + 2]
        wanted += found.broader[start:end][some.relevance[start:end] == 1].sum()
        if not wanted:
            wanted = (found.missed if some.is_known[mention] else found.none)[mention]
        total -= weight[mention] * math.log(wanted)
    return float(total / weight.sum())


def cross_entropy(found: Probabilities, some: Judged) -> float:
    """The weighted mean of the cross entropy with the softmax of relevances, from its definition."""
    lists, total = some.lists, 0.0
    weight = some.weight.astype(np.float64)
    for mention in range(len(weight)):
        shares = []
        relevances = []
        for reading in range(*lists.readings[mention : mention + 2]):
            of_parts = range(*lists.lookups[reading : reading + 2])
            for lookup in of_parts:
                for row in range(*lists.rows[lookup : lookup + 2]):
                    shares.append(found.readings[reading] * found.rows[row] / len(of_parts))
                    relevances.append(int(some.relevance[row]))
        is_none = not any(relevances) and not some.is_known[mention]
        is_missed = not any(relevances) and some.is_known[mention]
        shares += [found.none[mention], found.missed[mention]]
        relevances += [2 * is_none, 2 * is_missed]
        wanted = np.exp(relevances) / np.exp(relevances).sum()
        total -= weight[mention] * float(wanted @ np.log(shares))
    return total / float(weight.sum())


def exactly(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A function of arrays in double precision, which rounds what it returns, without rounding."""

    def made(inputs: np.ndarray, lists: MatchLists) -> np.ndarray:
        starts = lists.starts
        summary = function(inputs, lists).astype(np.float64)
        for mention, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
            if end > start:
                rows = inputs[start:end]
                summary[mention, :-1] = np.concatenate([rows.max(axis=0), rows[0]])
        return summary

    return made


def _texts_of(lists: MatchLists) -> list[tuple[int, int]]:
    """Where the texts of each mention begin and end."""
    return list(itertools.pairwise(lists.lookups[lists.readings].tolist()))


def _some_of_each_kind(some: Judged) -> list[int]:
    """Five mentions of each of right, broader, none and missed."""
    of_kind: dict[str, list[int]] = {"right": [], "broader": [], "none": [], "missed": []}
    for mention in range(len(some.weight)):
        rows = slice(*some.lists.starts[mention : mention + 2])
        best = int(some.relevance[rows].max(initial=0))
        slot = "missed" if some.is_known[mention] else "none"
        of_kind[{2: "right", 1: "broader", 0: slot}[best]].append(mention)
    assert min(map(len, of_kind.values())) >= 5
    return [mention for mentions in of_kind.values() for mention in mentions[:5]]


@pytest.mark.parametrize("kind", ["marginal", "listwise"])
def test_gradients_are_those_of_the_loss(kind: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gradient against the difference of two losses, in float64, without dropout."""
    monkeypatch.setattr(rankers, "_kept", lambda shape, *_: np.ones(shape))
    some = judged(200, seed=11)
    if kind == "listwise":  # whose loss is infinite where a part has no candidate
        starts = some.lists.rows
        filled = [all(np.diff(starts[a : b + 1])) for a, b in _texts_of(some.lists)]
        some = some.only(np.flatnonzero(filled))
    some = some.only(np.array(_some_of_each_kind(some)))
    random = np.random.default_rng(5)
    some.weight[:] = random.uniform(0.5, 2, 20)
    start = rankers.unfitted()
    weights = {k: random.normal(size=v.shape) / 5 for k, v in start.weights.items()}
    inputs = np.asarray(start.scaled(some.lists.inputs), np.float64)
    monkeypatch.setattr(rankers, "_summary", exactly(rankers._summary))
    summary = rankers._summary(inputs, some.lists)
    if kind == "listwise":
        weights["c"][1] = -1e4
    gradients = rankers._gradients(weights, inputs, some, random, kind)

    def loss() -> float:
        hidden = np.maximum(inputs @ weights["w"] + weights["b"], 0)
        of_none = np.maximum(summary @ weights["w_none"] + weights["b_none"], 0)
        slots = of_none @ weights["v_none"] + weights["c_none"]
        found = softmax(hidden @ weights["v"] + weights["c"], slots, some.lists)
        return loss_of(found, some) if kind == "marginal" else cross_entropy(found, some)

    assert (np.diff(some.lists.lookups) == 2).any()
    for name, gradient in gradients.items():
        for place in random.integers(0, weights[name].size, 6):
            before, step = weights[name].flat[place], 1e-5
            weights[name].flat[place] = before + step
            above = loss()
            weights[name].flat[place] = before - step
            below = loss()
            weights[name].flat[place] = before
            expected = (above - below) / (2 * step)
            assert gradient.flat[place] == pytest.approx(expected, abs=1e-5), name


def test_it_learns_what_is_right_and_that_nothing_is() -> None:
    ranker, held = rankers.fit(judged(2000), 0), judged(300, seed=9)
    found = ranker.probabilities(held.lists)
    chance = rankers.unfitted().probabilities(held.lists)
    assert loss_of(found, held) < 0.7 * loss_of(chance, held)
    assert np.mean(found.rows[held.right]) > 1.3 * np.mean(chance.rows[held.right])
    assert np.mean(found.broader[held.broader]) > 0.2 > 5 * np.mean(found.broader[~held.broader])
    starts = itertools.pairwise(held.lists.starts.tolist())
    right = [held.relevance[a:b].any() for a, b in starts]
    empty = (np.diff(held.lists.starts) > 0) & ~np.array(right)
    missed, none = empty & held.is_known, empty & ~held.is_known
    assert np.mean(found.missed[missed]) > 1.2 * np.mean(found.missed[none])
    assert np.mean(found.none[none]) > 1.2 * np.mean(found.none[missed])


def test_fitting_again_stays_near_the_start() -> None:
    start = rankers.fit(judged(300), 0)
    before = {name: values.copy() for name, values in start.weights.items()}
    again = rankers.fit(judged(50, seed=4), 0, start)
    assert 0 < np.abs(again.weights["w"] - start.weights["w"]).max() < 0.1
    assert np.array_equal(again.centre, start.centre)
    assert np.array_equal(again.scale, start.scale)
    assert all(np.array_equal(before[name], start.weights[name]) for name in before)


@pytest.mark.parametrize("kind", ["binary", "listwise"])
def test_the_other_losses_know_nothing_of_broader_concepts(kind: Loss) -> None:
    found = rankers.fit(judged(300), 0, loss=kind).probabilities(judged(50, seed=4).lists)
    assert not found.broader.any()


# ---------------------------------------------------------------------------------- lists


def test_relative_columns_are_read_less_the_largest_of_the_text() -> None:
    lists = laid_out([[[2], [1]], [[0]]])
    lists.values[:, PLACE["score"]] = [0.25, 0.75, 0.5]
    lists.values[:, PLACE["length"]] = [1, 2, 3]
    inputs = lists.inputs
    assert inputs.shape == (3, len(INPUTS))
    assert inputs[:, : len(COLUMNS)].tolist() == lists.values.tolist()
    assert inputs[:, INPUTS.index("score behind")].tolist() == [-0.5, 0, 0]
    assert "length behind" not in INPUTS
    assert lists.of_text(0).inputs.tolist() == inputs[:2].tolist()


# ---------------------------------------------------------------------------------- files


def test_the_shipped_ranker_prefers_the_better_match() -> None:
    lists = laid_out([[[2]]])
    for name in ("score", "sparse", "of_mention", "of_name", "same_words", "same_order"):
        lists.values[0, PLACE[name]] = 1
    lists.values[1, PLACE["place"]] = math.log(2)
    assert Ranker.shipped().probabilities(lists).rows[0] > 0.9


@pytest.mark.parametrize("name", ["centre", "scale", "v"])
@pytest.mark.parametrize("damage", ["longer", "texts", "not finite"])
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, name: str, damage: str) -> None:
    Ranker.shipped().save(tmp_path)
    values = np.load(tmp_path / f"{name}.npy")
    damaged = {
        "longer": np.append(values, values[-1]),
        "texts": np.array([""] * len(values)),
        "not finite": values * np.nan,
    }
    np.save(tmp_path / f"{name}.npy", damaged[damage])
    with pytest.raises(ValueError, match="the weights of the ranker"):
        Ranker.load(tmp_path)


def test_a_provenance_that_is_no_object_is_refused(tmp_path: Path) -> None:
    Ranker.shipped().save(tmp_path)
    record = json.loads((tmp_path / "ranker.json").read_text())
    (tmp_path / "ranker.json").write_text(json.dumps(record | {"provenance": None}))
    with pytest.raises(ValueError, match="provenance"):
        Ranker.load(tmp_path)

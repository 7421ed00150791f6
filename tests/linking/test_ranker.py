"""The list-wise ranker: one softmax over readings and slots, fitting, files."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.linking import ranker as rankers
from linker.linking.matches import COLUMNS, PLACE
from linker.linking.ranker import Judged, MatchLists, Probabilities, Ranker, softmax

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
        np.concatenate([values, values * 0], axis=1),
        np.zeros(len(layout), np.float32),
    )


def judged(mentions: int = 300, seed: int = 0) -> Judged:
    """One to three readings of mentions, the second one split in two.

    Texts have up to four candidates; those whose words agree are right. Where no reading is right,
    half of the mentions have a concept, which their last column tells.
    """
    random = np.random.default_rng(seed)
    layout = [
        [random.integers(0, 5, 2 if place == 1 else 1).tolist() for place in range(count)]
        for count in random.integers(1, 4, mentions)
    ]
    lists = laid_out(layout)
    lists.values[:] = random.normal(size=lists.values.shape)
    right = np.zeros(len(lists.values), bool)
    known, start = np.zeros(mentions, bool), 0
    for place, mention in enumerate(layout):
        is_right = random.random() < 0.7
        known[place] = random.random() < 0.5
        for reading in mention:
            for size in reading:
                if size and is_right:
                    right[start + random.integers(size)] = True
                lists.values[start : start + size, -1] = 1 if known[place] else -1
                start += size
            known[place] |= is_right and all(reading)
    lists.values[:, PLACE["of_mention"]] = np.where(right, 1, -1)
    lists.nil_evidence[:] = random.random(mentions)
    return Judged(lists, np.arange(len(right)), right, known, np.ones(mentions, np.float32))


def slow_softmax(scores: list[float], slots: list[list[float]], layout: Layout) -> Probabilities:
    """The same as `softmax`, mention by mention, from the formula."""
    rows, readings, none, missed = [], [], [], []
    left = iter(scores)
    for mention, of_slots in zip(layout, slots, strict=True):
        logits = []
        for reading in mention:
            of_parts = []
            for size in reading:
                odds = [math.exp(next(left)) for _ in range(size)]
                rows += [one / sum(odds) for one in odds]
                of_parts.append(math.log(sum(odds)) if odds else -math.inf)
            logits.append(sum(of_parts) / len(of_parts))
        whole = sum(map(math.exp, [*logits, *of_slots]))
        readings += [math.exp(logit) / whole for logit in logits]
        none.append(math.exp(of_slots[0]) / whole)
        missed.append(math.exp(of_slots[1]) / whole)
    return Probabilities(*map(np.array, (rows, readings, none, missed)))


# ---------------------------------------------------------------------------- probabilities


def test_a_split_reading_has_the_mean_of_its_parts() -> None:
    """Parts of 4 and 9 together count sqrt(4 * 9) = 6; a part without a candidate ends it."""
    lists = laid_out([[[1], [1, 2], [1, 0]]])
    found = softmax(np.log([2.0, 4.0, 8.0, 1.0, 5.0]), np.log([[1.0, 1.0]]), lists)
    assert found.readings == pytest.approx([2 / 10, 6 / 10, 0])
    assert found.rows == pytest.approx([1, 1, 8 / 9, 1 / 9, 1])
    assert (found.none[0], found.missed[0]) == pytest.approx((1 / 10, 1 / 10))


layouts = st.lists(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


@given(layouts, st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_softmax_the_slow_way(layout: Layout, seed: int) -> None:
    lists, random = laid_out(layout), np.random.default_rng(seed)
    scores = random.normal(scale=3, size=len(lists.values))
    slots = random.normal(scale=3, size=(len(layout), 2))
    found, expected = softmax(scores, slots, lists), None
    expected = slow_softmax(scores.tolist(), slots.tolist(), layout)
    for name in ("rows", "readings", "none", "missed"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-12), name
    mention = np.repeat(np.arange(len(layout)), np.diff(lists.readings))
    whole = np.bincount(mention, found.readings, len(layout)) + found.none + found.missed
    assert whole == pytest.approx(np.ones(len(layout)))


def test_scores_by_hand() -> None:
    """One hidden unit each: it reads the first column less its mean, and the largest of it."""
    count = 2 * WIDTH
    weights = {
        "w": np.zeros((count, 1)),
        "b": np.array([1.0]),
        "v": np.array([10.0]),
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
    assert scores.tolist() == [15, 30, 40]
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
                share *= found.rows[start:end][some.right[start:end]].sum()
            wanted += share
        if not wanted:
            wanted = (found.missed if some.is_known[mention] else found.none)[mention]
        total -= weight[mention] * math.log(wanted)
    return float(total / weight.sum())


def test_gradients_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gradient against the difference of two losses, in float64, without dropout."""
    monkeypatch.setattr(rankers, "_kept", lambda shape, *_: np.ones(shape))
    some = judged(12, seed=11)
    random = np.random.default_rng(5)
    some.weight[:] = random.uniform(0.5, 2, 12)
    start = rankers.unfitted()
    weights = {k: random.normal(size=v.shape) / 5 for k, v in start.weights.items()}
    inputs = np.asarray(start.scaled(some.lists.inputs), np.float64)
    summary = np.asarray(rankers._summary(inputs, some.lists), np.float64)
    gradients = rankers._gradients(weights, inputs, summary, some, random)
    kinds = {"right": 0, "none": 0, "missed": 0}

    def loss() -> float:
        hidden = np.maximum(inputs @ weights["w"] + weights["b"], 0)
        of_none = np.maximum(summary @ weights["w_none"] + weights["b_none"], 0)
        slots = of_none @ weights["v_none"] + weights["c_none"]
        return loss_of(softmax(hidden @ weights["v"], slots, some.lists), some)

    for mention in range(12):  # each kind of mention is there, and so are split readings
        rows = slice(*some.lists.starts[mention : mention + 2])
        kinds["missed" if some.is_known[mention] else "none"] += not some.right[rows].any()
        kinds["right"] += some.right[rows].any()
    assert all(kinds.values())
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
    right = [held.right[a:b].any() for a, b in itertools.pairwise(held.lists.starts.tolist())]
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


# ---------------------------------------------------------------------------------- lists


# ---------------------------------------------------------------------------------- files


def test_the_shipped_ranker_prefers_the_better_match() -> None:
    lists = laid_out([[[2]]])
    for name in ("score", "sparse", "of_mention", "of_name", "same_words", "same_order"):
        lists.values[0, PLACE[name]] = 1
        lists.behind[1, PLACE[name]] = -1
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

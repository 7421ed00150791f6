"""The list-wise ranker: softmax with a slot "none", fitting, files."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from linker.errors import LinkerError
from linker.ranker import ranker as rankers
from linker.ranker.matches import COLUMNS, PLACE
from linker.ranker.ranker import Judged, Lists, Ranker, softmax

WIDTH = len(COLUMNS)


def judged(mentions: int = 300, seed: int = 0) -> Judged:
    """Lists of 0 to 6 candidates; the one whose words agree is right, without one none is."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 7, mentions)
    values = random.normal(size=(int(sizes.sum()), WIDTH)).astype(np.float32)
    right = np.zeros(len(values), bool)
    indptr = np.append(0, np.cumsum(sizes))
    for start, end in itertools.pairwise(indptr.tolist()):
        values[start:end, PLACE["of_mention"]] = -1
        if end > start and random.random() < 0.7:
            chosen = random.integers(start, end)
            right[chosen], values[chosen, PLACE["of_mention"]] = True, 1
    has_concept = np.array([right[a:b].any() for a, b in itertools.pairwise(indptr.tolist())])
    lists = Lists(indptr, values, values * 0, np.zeros(mentions, np.float32))
    return Judged(lists, right, np.ones(mentions, np.float32), has_concept)


def test_softmax_by_hand() -> None:
    indptr = np.array([0, 2, 2, 3])
    nothing = np.zeros((3, 0), np.float32)
    lists = Lists(indptr, nothing, nothing, np.zeros(3, np.float32))
    rows, none = softmax(np.log([2.0, 1.0, 3.0]), np.log([1.0, 5.0, 1.0]), lists)
    assert rows == pytest.approx([2 / 4, 1 / 4, 3 / 4])
    assert none == pytest.approx([1 / 4, 1.0, 1 / 4])


def test_without_knowledge_all_are_as_probable() -> None:
    lists = judged(1, seed=3).lists
    count = int(lists.indptr[-1])
    rows, none = Ranker.of_scores().probabilities(lists)
    assert rows == pytest.approx(np.full(count, 1 / (count + 1)))
    assert none == pytest.approx([1 / (count + 1)])


def test_probabilities_do_not_depend_on_the_batch() -> None:
    some = judged(40)
    ranker = rankers.fit(some, 0)
    whole, none = ranker.probabilities(some.lists)
    for number in range(40):
        kept = np.arange(40) == number
        alone, of_none = ranker.probabilities(some.only(kept).lists)
        start, end = some.lists.indptr[number : number + 2]
        assert alone == pytest.approx(whole[start:end], abs=1e-6)
        assert of_none == pytest.approx(none[[number]], abs=1e-6)


def test_gradients_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gradient against the difference of two losses, in float64, without dropout."""
    monkeypatch.setattr(rankers, "_kept", lambda shape, *_: np.ones(shape))
    some = judged(12, seed=1)
    random = np.random.default_rng(5)
    start = Ranker.of_scores()
    weights = {k: random.normal(size=v.shape) / 5 for k, v in start.weights.items()}
    inputs = np.asarray(start.inputs(some.lists), np.float64)
    summary = np.asarray(rankers._summary(inputs, some.lists), np.float64)
    arguments = inputs, summary, some.lists.indptr, some.right, some.weight, random
    gradients = rankers._gradients(weights, *arguments)

    def loss() -> float:
        hidden = np.maximum(inputs @ weights["w"] + weights["b"], 0)
        of_none = np.maximum(summary @ weights["w_none"] + weights["b_none"], 0)
        scores, none = hidden @ weights["v"], of_none @ weights["v_none"] + weights["c_none"]
        total = 0.0
        for number, (a, b) in enumerate(itertools.pairwise(some.lists.indptr.tolist())):
            odds = [*np.exp(scores[a:b]), math.exp(none[number])]
            wanted = sum(odds[i - a] for i in range(a, b) if some.right[i])
            total -= math.log((wanted or odds[-1]) / sum(odds))
        return total / 12

    for name, gradient in gradients.items():
        for place in random.integers(0, weights[name].size, 4):
            before, step = weights[name].flat[place], 1e-5
            weights[name].flat[place] = before + step
            above = loss()
            weights[name].flat[place] = before - step
            below = loss()
            weights[name].flat[place] = before
            expected = (above - below) / (2 * step)
            assert gradient.flat[place] == pytest.approx(expected, abs=1e-5), name


def test_it_learns_what_is_right_and_that_nothing_is() -> None:
    ranker, held = rankers.fit(judged(1500), 0), judged(200, seed=9)
    rows, none = ranker.probabilities(held.lists)
    chance = Ranker.of_scores().probabilities(held.lists)
    assert np.mean(rows[held.right]) > 1.5 * np.mean(chance[0][held.right])
    assert np.mean(none[~held.has_concept]) > 0.75 > np.mean(chance[1][~held.has_concept])


def test_the_same_seed_gives_the_same_weights() -> None:
    first, again, other = (rankers.fit(judged(60), seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first.weights[k], again.weights[k]) for k in first.weights)
    assert not np.array_equal(first.weights["w"], other.weights["w"])


def test_fitting_again_stays_near_where_lists_say_nothing() -> None:
    start = rankers.fit(judged(300), 0)
    again = rankers.fit(judged(50, seed=4), 0, start)
    moved = np.abs(again.weights["w"] - start.weights["w"]).max()
    assert 0 < moved < 0.1


def test_only_and_joined() -> None:
    whole = judged(20)
    kept = np.arange(20) < 7
    joined = Judged.joined([whole.only(kept), whole.only(~kept)])
    assert np.array_equal(joined.lists.values, whole.lists.values)
    assert np.array_equal(joined.lists.indptr, whole.lists.indptr)
    assert np.array_equal(joined.right, whole.right)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dataclasses.replace(rankers.fit(judged(60), 0), threshold=0.25).save(tmp_path / "ranker")
    return tmp_path / "ranker"


def test_saved_weights_come_back(folder: Path) -> None:
    lists, again = judged(5).lists, Ranker.load(folder)
    assert again.threshold == 0.25
    expected = rankers.fit(judged(60), 0).probabilities(lists)[0]
    assert np.array_equal(again.probabilities(lists)[0], expected)


def test_weights_of_other_columns_are_refused(folder: Path) -> None:
    record = json.loads((folder / "ranker.json").read_text("utf-8"))
    (folder / "ranker.json").write_text(json.dumps(record | {"columns": ["score"]}), "utf-8")
    with pytest.raises(LinkerError, match="other columns than this release; train again"):
        Ranker.load(folder)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("w", np.zeros((3, 3), np.float32)),
        ("scale", np.zeros(2 * WIDTH, np.float32)),
        ("v", None),
        ("c_none", np.array([np.nan], np.float32)),
    ],
)
def test_damaged_weights_are_refused(folder: Path, name: str, array: object) -> None:
    if array is None:
        (folder / f"{name}.npy").unlink()
    else:
        np.save(folder / f"{name}.npy", array)
    with pytest.raises(LinkerError, match=r"weights of the ranker are damaged.*train again"):
        Ranker.load(folder)

"""Boosted trees: the same probabilities as scikit-learn's, kept as JSON, rising where told to."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
import pytest

from linker.confidence.trees import Trees, sigmoid

NAMES = ("a", "b", "c")


def data(size: int = 600) -> tuple[Any, Any]:
    """Answers that are right the more often the larger `a` is, whatever `b` and `c` are."""
    random = np.random.default_rng(0)
    values = random.normal(size=(size, 3))
    return values, random.random(size) < 1 / (1 + np.exp(-3 * values[:, 0]))


@pytest.fixture(scope="module")
def trees() -> Trees:
    values, right = data()
    return Trees.fit(NAMES, values, right, rising=["a"])


def slow(trees: Trees, values: Any) -> float:
    """The probability of one answer, tree by tree and node by node."""
    total = trees.bias
    for tree in range(len(trees.value)):
        node = 0
        while trees.left[tree, node] != node:
            is_left = values[trees.feature[tree, node]] <= trees.threshold[tree, node]
            node = (trees.left if is_left else trees.right)[tree, node]
        total += trees.value[tree, node]
    return 1 / (1 + math.exp(-total))


def test_each_answer_goes_down_each_tree(trees: Trees) -> None:
    values = data()[0][:50]
    assert trees.probabilities(values) == pytest.approx([slow(trees, row) for row in values])


def test_what_speaks_for_an_answer_never_speaks_against_it(trees: Trees) -> None:
    line = np.zeros((100, 3))
    line[:, 0] = np.linspace(-3, 3, 100)
    rising = trees.probabilities(line)
    assert (np.diff(rising) >= 0).all()
    assert rising[0] < 0.1
    assert rising[-1] > 0.9


def test_probabilities_are_close_to_the_shares_that_are_right(trees: Trees) -> None:
    values, right = data(20_000)
    probabilities = trees.probabilities(values)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (probabilities >= low) & (probabilities < low + 0.2)
        assert right[inside].mean() == pytest.approx(probabilities[inside].mean(), abs=0.08)


def test_the_same_data_give_the_same_trees(trees: Trees) -> None:
    values, right = data()
    assert Trees.fit(NAMES, values, right, rising=["a"]).to_json() == trees.to_json()


def test_weights_count(trees: Trees) -> None:
    values, right = data()
    doubled = Trees.fit(NAMES, values, right, np.where(right, 4.0, 1.0), ["a"])
    assert (doubled.probabilities(values) > trees.probabilities(values)).mean() > 0.95


def test_json_gives_the_same_back(trees: Trees) -> None:
    again = Trees.from_json(json.loads(json.dumps(trees.to_json())), NAMES)
    values = data()[0]
    assert (again.probabilities(values) == trees.probabilities(values)).all()


@pytest.mark.parametrize(
    ("right", "probability"),
    [
        ([True] * 5, 6 / 7),
        ([False] * 5, 1 / 7),
        ([True] * 45 + [False] * 15, 0.75),  # too few for two leaves of 40 answers
    ],
)
def test_few_answers_are_all_as_probable_as_their_share(
    right: list[bool], probability: float
) -> None:
    values = np.random.default_rng(0).normal(size=(len(right), 3))
    same = Trees.fit(NAMES, values, np.array(right))
    again = Trees.from_json(json.loads(json.dumps(same.to_json())), NAMES)
    for one in (same, again):
        assert one.probabilities(values) == pytest.approx(probability)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("left"), "no trees"),
        (lambda r: r["features"].append("d"), "their features are"),
        (lambda r: r["left"][0].__setitem__(0, 99), "leads nowhere"),
        (lambda r: r["feature"][0].__setitem__(0, -1), "leads nowhere"),
        (lambda r: r["value"][0].__setitem__(0, float("nan")), "not finite"),
        (lambda r: r.update(bias=float("inf")), "not finite"),
        (lambda r: r["left"].pop(), "do not fit"),
        (lambda r: r.update(depth=-1), "do not fit"),
        (lambda r: r.update(depth=10**9), "do not fit"),
        (lambda r: r.update(value=[]), "do not fit"),
        (lambda r: r.update(bias="x" * 5), "x"),
        (lambda r: r["left"].__setitem__(0, [0]), "inhomogeneous"),
    ],
)
def test_what_is_no_tree_is_refused(trees: Trees, change: Any, message: str) -> None:
    record = json.loads(json.dumps(trees.to_json()))
    change(record)
    with pytest.raises(ValueError, match=message):
        Trees.from_json(record, NAMES)


def test_no_log_odds_are_too_large() -> None:
    assert sigmoid(np.array([-1e9, 0.0, 1e9])).tolist() == pytest.approx([0, 0.5, 1])


def test_files_with_any_name_may_be_mapped(
    trees: Trees, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = os.fsencode(tmp_path_factory.mktemp("names")) + b"/\xff"
    os.mkdir(folder)
    path = os.fsdecode(folder + b"/a.npy")
    np.save(path, np.zeros(10))
    mapped = np.load(path, mmap_mode="r")
    values, right = data()
    again = Trees.fit(NAMES, values, right, rising=["a"])
    assert mapped.sum() == 0
    assert (again.probabilities(values) == trees.probabilities(values)).all()

"""Logistic regression with hinges, by hand and kept as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from linker.linking.logistic import Logistic, _folds, _weights


def test_a_probability_by_hand() -> None:
    """-1 + 2 · 0.5 + 3 · max(0, 0.5 - 0.25) - 4 · 2 = -7.25."""
    model = Logistic(("a", "b"), ((0.25,), ()), np.array([2.0, 3.0, -4.0]), -1.0)
    probabilities = model.probabilities(np.array([[0.5, 2.0], [0.0, 0.0]]))
    assert probabilities == pytest.approx([1 / (1 + math.exp(7.25)), 1 / (1 + math.e)])


@pytest.fixture(scope="module")
def fitted() -> tuple[Logistic, Any, Any]:
    """Answers that are right where `a` is far from 0, on either side; `b` says nothing."""
    random = np.random.default_rng(0)
    values = random.normal(size=(3000, 2))
    right = random.random(3000) < 1 / (1 + np.exp(2 - 3 * np.abs(values[:, 0])))
    return Logistic.fit(("a", "b"), values, right), values, right


def test_a_curve_that_bends_is_learnt(fitted: tuple[Logistic, Any, Any]) -> None:
    model, _, _ = fitted
    left, middle, right = model.probabilities(np.array([[-1.5, 0.0], [0.0, 0.0], [1.5, 0.0]]))
    assert middle < 0.3
    assert left == pytest.approx(1 / (1 + math.exp(-2.5)), abs=0.1)
    assert right == pytest.approx(left, abs=0.1)


@pytest.mark.parametrize("penalty", [0.003, 1.0])
def test_the_weights_are_those_of_scikit_learn(penalty: float) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(1)
    values = random.normal(size=(400, 3))
    right = random.random(400) < 1 / (1 + np.exp(1 - values @ [2.0, -1.0, 0.0]))
    theirs = linear.LogisticRegression(C=penalty, max_iter=1000, tol=1e-8).fit(values, right)
    expected = [*theirs.coef_[0], *theirs.intercept_]
    assert _weights(values, right, penalty) == pytest.approx(expected, abs=1e-3)


def test_folds_hold_a_share_of_either_kind() -> None:
    right = np.arange(23) % 3 == 0
    folds = _folds(right, 0)
    for kind in (right, ~right):
        counts = np.bincount(folds[kind], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert set(_folds(np.array([True, True, False, False, False]), 0)) == {0, 1}


def test_features_with_few_values_have_lines() -> None:
    values = np.array([[0.0, 1.0], [1.0, 1.0]] * 20)
    model = Logistic.fit(("bit", "constant"), values, values[:, 0] > 0.5)
    assert model.knots == ((), ())
    assert model.weights[1] == 0


def test_json_gives_the_same_back(fitted: tuple[Logistic, Any, Any]) -> None:
    model, values, _ = fitted
    again = Logistic.from_json(json.loads(json.dumps(model.to_json())), ("a", "b"))
    assert (again.probabilities(values) == model.probabilities(values)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("weights"), "no logistic model"),
        (lambda r: r.update(features=["a"]), "its features are"),
        (lambda r: r["weights"].pop(), "weights; expected"),
        (lambda r: r["weights"].__setitem__(0, float("nan")), "not finite"),
        (lambda r: r["knots"].pop(), "weights; expected"),
        (lambda r: r.update(bias=None), "no logistic model"),
    ],
)
def test_no_model_is_refused(fitted: tuple[Logistic, Any, Any], change: Any, message: str) -> None:
    record = json.loads(json.dumps(fitted[0].to_json()))
    change(record)
    with pytest.raises(ValueError, match=message):
        Logistic.from_json(record, ("a", "b"))

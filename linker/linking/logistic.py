"""A small model of probability: logistic regression on features and on their hinges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of a feature's values, where its curve may bend
_DISTINCT = 10  # values from which on a feature has a curve; with fewer it has a line
_PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # inverse strengths of the L2 penalty to try
_FOLDS = 5  # by which the penalty is chosen


@dataclass(frozen=True, slots=True)
class Logistic:
    """P = 1 / (1 + exp(-(bias + Σ w · x))), where x are features and their hinges max(0, f - knot).

    Attributes:
        features: the names of the features.
        knots: for each feature where its curve bends.
        weights: (features and hinges,), feature after feature: of itself, then of its hinges.
        bias: the log odds where all features are 0.
    """

    features: tuple[str, ...]
    knots: tuple[tuple[float, ...], ...]
    weights: Floats
    bias: float

    @classmethod
    def fit(
        cls, features: Sequence[str], values: Floats, right: NDArray[np.bool_], seed: int = 0
    ) -> Logistic:
        """Fit to answers of which it is known whether they are right.

        Args:
            features: their names.
            values: (answers, features), finite.
            right: (answers,), of which two at least are right, and two wrong.
            seed: of the folds by which the penalty is chosen.
        """
        knots = tuple(map(_knots, values.T))
        columns = _columns(values, knots)
        mean, scale = columns.mean(axis=0), columns.std(axis=0)
        scale[scale == 0] = np.inf  # what never changes says nothing
        scaled, fold = (columns - mean) / scale, _folds(right, seed)

        def held_out(penalty: float) -> float:
            """The mean loss of each fold under weights that were fitted to the others."""
            losses = []
            for number in np.unique(fold):
                known, held = fold != number, fold == number
                weights = _weights(scaled[known], right[known], penalty)
                losses.append(_loss(weights, scaled[held], right[held])[0] / held.sum())
            return float(np.mean(losses))

        weights = _weights(scaled, right, min(_PENALTIES, key=held_out))
        fitted = weights[:-1] / scale
        return cls(tuple(features), knots, fitted, float(weights[-1] - fitted @ mean))

    def probabilities(self, values: Floats) -> Floats:
        """The probability that each answer is right, (answers,), given (answers, features)."""
        probabilities: Floats = expit(_columns(values, self.knots) @ self.weights + self.bias)
        return probabilities

    def to_json(self) -> dict[str, Any]:
        """What `json` can write."""
        return {
            "features": list(self.features),
            "knots": [list(of_one) for of_one in self.knots],
            "weights": self.weights.tolist(),
            "bias": self.bias,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any], features: Sequence[str]) -> Logistic:
        """Read what `to_json` made.

        Args:
            record: the object.
            features: the names that are expected.

        Raises:
            ValueError: the object is not of this form, or has other features.
        """
        try:
            knots = tuple(tuple(map(float, of_one)) for of_one in record["knots"])
            weights, bias = np.array(record["weights"], np.float64), float(record["bias"])
            names = tuple(record["features"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"it is no logistic model ({error})") from None
        if names != tuple(features):
            raise ValueError(f"its features are {names}; expected: {tuple(features)}")
        size = len(names) + sum(map(len, knots))
        if len(knots) != len(names) or weights.shape != (size,):
            raise ValueError(f"it has {weights.shape} weights; expected: {size}")
        numbers = np.concatenate([weights, [bias], *(np.array(of_one) for of_one in knots)])
        if not np.isfinite(numbers).all():
            raise ValueError("a number is not finite")
        return cls(names, knots, weights, bias)


def _weights(values: Floats, right: NDArray[np.bool_], penalty: float) -> Floats:
    """The weights, and last the bias, of the least loss · `penalty` + |weights|² / 2."""
    from scipy.optimize import minimize  # which a model that is only used need not load

    def objective(weights: Floats) -> tuple[float, Floats]:
        loss, slope = _loss(weights, values, right)
        inner = np.append(weights[:-1], 0)  # the bias has no penalty
        return penalty * loss + inner @ inner / 2, penalty * slope + inner

    start = np.zeros(values.shape[1] + 1)
    found: Floats = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return found


def _loss(weights: Floats, values: Floats, right: NDArray[np.bool_]) -> tuple[float, Floats]:
    """The sum of -log P of what is known, and its gradient."""
    odds = values @ weights[:-1] + weights[-1]
    miss = expit(odds) - right
    loss = np.logaddexp(0, np.where(right, -odds, odds)).sum()
    return float(loss), np.append(miss @ values, miss.sum())


def _folds(right: NDArray[np.bool_], seed: int) -> NDArray[np.int64]:
    """The fold of each answer; each has its share of the right ones and of the wrong ones."""
    random, fold = np.random.default_rng(seed), np.zeros(len(right), np.int64)
    count = min(_FOLDS, int(right.sum()), int((~right).sum()))
    for group in (right, ~right):
        fold[random.permutation(np.flatnonzero(group))] = np.arange(group.sum()) % count
    return fold


def _knots(values: Floats) -> tuple[float, ...]:
    """Where the curve of a feature may bend, given its values, (answers,)."""
    distinct = np.unique(values)
    if len(distinct) < _DISTINCT:
        return ()
    inner = (q for q in np.quantile(values, _QUANTILES) if distinct[0] < q < distinct[-1])
    return tuple(sorted(set(map(float, inner))))


def _columns(values: Floats, knots: Sequence[Sequence[float]]) -> Floats:
    """Each feature followed by its hinges, (answers, features and hinges)."""
    columns = []
    for feature, of_one in zip(values.T, knots, strict=True):
        columns.append(feature)
        columns += [np.maximum(0.0, feature - knot) for knot in of_one]
    return np.stack(columns, axis=1)

"""A small model of probability: boosted decision trees that rise with what speaks for an answer.

They are fitted with scikit-learn, kept as JSON, and used with numpy alone.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

_TREES, _DEPTH = 100, 3
_RATE = 0.05  # of learning
_LEAF = 40  # answers in a leaf, at least
_SHARE = 0.5  # of the features, sampled anew for each node
_BINS = 63  # of a feature's values, between which a tree may divide
_PENALTY = 5.0  # on the square of what a leaf gives
_CELLS = 1_000_000  # answers x trees in memory at once, 8 MB an array
_LARGEST = 30.0  # of a log odds: exp stays finite, and the probability below 1
_EQUAL = 1e-6  # to which our probabilities and those of scikit-learn must agree


@dataclass(frozen=True, slots=True)
class Trees:
    """P = 1 / (1 + exp(-(bias + sum of what each tree gives))).

    An answer goes from the root, node 0, to a leaf: to `left` where its feature is at most the
    node's threshold, else to `right`. A leaf leads to itself.

    Attributes:
        features: the names of the features.
        feature: (trees, nodes) the place of the feature that a node looks at.
        threshold: (trees, nodes).
        left: (trees, nodes) a node of the same tree.
        right: (trees, nodes).
        value: (trees, nodes) what a leaf gives to the log odds.
        bias: the log odds without any tree.
        depth: steps from a root to its furthest leaf.
    """

    features: tuple[str, ...]
    feature: Integers
    threshold: Floats
    left: Integers
    right: Integers
    value: Floats
    bias: float
    depth: int

    @classmethod
    def fit(
        cls,
        features: Sequence[str],
        values: Floats,
        right: Bools,
        weights: Floats | None = None,
        rising: Collection[str] = (),
    ) -> Trees:
        """Fit to answers of which it is known whether they are right.

        Where all of them are right, or all wrong, no feature tells more than their number.

        Args:
            features: their names.
            values: (answers, features), finite.
            right: (answers,).
            weights: (answers,) how much each answer counts; None: 1.
            rising: features with which the probability never falls.

        Raises:
            RuntimeError: scikit-learn's trees are not kept as they are read here.
        """
        if right.all() or not right.any():
            return cls._same_for_all(features, int(right.sum()), int((~right).sum()))
        model = _unfitted([int(name in rising) for name in features])
        with _one_thread():
            model.fit(values, right, sample_weight=weights)
            expected = model.predict_proba(values)[:, 1]
        # scikit-learn offers no public way to its histogram trees
        trees = [of_one[0].nodes for of_one in model._predictors]
        size = max(map(len, trees))
        result = cls(
            tuple(features),
            _stacked(trees, "feature_idx", size),
            _stacked(trees, "num_threshold", size),
            _stacked(trees, "left", size),
            _stacked(trees, "right", size),
            _stacked(trees, "value", size),
            float(model._baseline_prediction[0, 0]),
            max(int(nodes["depth"].max()) for nodes in trees),
        )
        if np.abs(result.probabilities(values) - expected).max() > _EQUAL:
            raise RuntimeError("the trees of this release of scikit-learn are kept otherwise")
        return result

    @classmethod
    def _same_for_all(cls, features: Sequence[str], right: int, wrong: int) -> Trees:
        """The probability (right + 1) / (right + wrong + 2) for every answer: one leaf."""
        node, number = np.zeros((1, 1), np.int64), np.zeros((1, 1))
        bias = math.log((right + 1) / (wrong + 1))
        return cls(tuple(features), node, number, node, node, number, bias, depth=0)

    def log_odds(self, values: Floats) -> Floats:
        """The log odds of answers, (answers,), given (answers, features)."""
        odds = np.empty(len(values))
        step = max(1, _CELLS // max(1, len(self.value)))
        tree = np.arange(len(self.value))
        for start in range(0, len(values), step):
            block = values[start : start + step]
            answer = np.arange(len(block))[:, None]
            node = np.zeros((len(block), len(tree)), np.int64)
            for _ in range(self.depth):
                is_left = block[answer, self.feature[tree, node]] <= self.threshold[tree, node]
                node = np.where(is_left, self.left[tree, node], self.right[tree, node])
            odds[start : start + step] = self.value[tree, node].sum(axis=1)
        return odds + self.bias

    def probabilities(self, values: Floats) -> Floats:
        """The probability that each answer is right, (answers,), given (answers, features)."""
        return sigmoid(self.log_odds(values))

    def to_json(self) -> dict[str, Any]:
        """What `json` can write."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {"features": list(self.features), "bias": self.bias, "depth": self.depth} | arrays

    @classmethod
    def from_json(cls, record: Mapping[str, Any], features: Sequence[str]) -> Trees:
        """Read what `to_json` made.

        Args:
            record: the object.
            features: the names that are expected.

        Raises:
            ValueError: the object is not of this form, or has other features.
        """
        try:
            arrays: dict[str, NDArray[Any]] = {
                name: np.array(record[name], kind) for name, kind in _ARRAYS.items()
            }
            names, bias = tuple(record["features"]), float(record["bias"])
            depth = int(record["depth"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"these are no trees ({error})") from None
        if names != tuple(features):
            raise ValueError(f"their features are {names}; expected: {tuple(features)}")
        shapes = {array.shape for array in arrays.values()}
        shape = shapes.pop()
        if shapes or len(shape) != 2 or 0 in shape or not 0 <= depth <= shape[1]:
            raise ValueError(f"their arrays of shape {shape} do not fit together")
        ranges = {"feature": len(names), "left": shape[1], "right": shape[1]}
        if any((arrays[n] < 0).any() or (arrays[n] >= end).any() for n, end in ranges.items()):
            raise ValueError("a node leads nowhere")
        if not np.isfinite([*arrays["threshold"].flat, *arrays["value"].flat, bias]).all():
            raise ValueError("a number is not finite")
        feature, threshold, left, right, value = arrays.values()
        return cls(names, feature, threshold, left, right, value, bias, depth)


_ARRAYS: Mapping[str, Any] = {
    "feature": np.int64,
    "threshold": np.float64,
    "left": np.int64,
    "right": np.int64,
    "value": np.float64,
}


def _one_thread() -> contextlib.AbstractContextManager[Any]:
    """Limit scikit-learn to one thread: with more it is no faster on some thousand answers.

    The limit cannot be set where a file with a name that is no UTF-8 is mapped into memory, since
    threadpoolctl reads the names of all of them.
    """
    from threadpoolctl import threadpool_limits

    try:
        limits: contextlib.AbstractContextManager[Any] = threadpool_limits(1)
    except UnicodeDecodeError:
        return contextlib.nullcontext()
    return limits


def _unfitted(rising: Sequence[int]) -> Any:
    """The model of scikit-learn, given 1 for each feature with which it rises, else 0."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_depth=_DEPTH,
        learning_rate=_RATE,
        min_samples_leaf=_LEAF,
        l2_regularization=_PENALTY,
        monotonic_cst=rising,
        early_stopping=False,
        max_bins=_BINS,
        max_features=_SHARE,
        random_state=0,
    )


def sigmoid(log_odds: Floats | float) -> Floats:
    """Log odds as probabilities."""
    odds: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -_LARGEST, _LARGEST)))
    return odds


def _stacked(trees: Sequence[Any], name: str, size: int) -> NDArray[Any]:
    """A column of the nodes of all trees, (trees, nodes); a leaf leads to itself."""
    kind = np.float64 if name in ("num_threshold", "value") else np.int64
    column = np.zeros((len(trees), size), kind)
    for row, nodes in zip(column, trees, strict=True):
        row[: len(nodes)] = nodes[name]
        is_leaf = np.flatnonzero(nodes["is_leaf"])
        if name in ("left", "right"):
            row[is_leaf] = is_leaf
        elif name != "value":
            row[is_leaf] = 0
    return column

"""The list-wise ranker: it orders the candidates of a mention, and knows how probable each one is.

The candidates of all readings of a mention stand in one list, with one more slot: none of them. A
network of one hidden layer scores each described candidate, another one the slot, and the softmax
of the list is the probability of each (BCNH, Yan et al. 2021, eq. 4-6, over described matches in
place of one similarity; the loss is the marginal likelihood of BioSyn, Sung et al. 2020, eq. 6).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker import persistence
from linker.candidates.concepts import ranges
from linker.errors import LinkerError
from linker.ranker.matches import COLUMNS, PLACE, largest

Floats = NDArray[np.float32]

_CLIP = 5.0  # standard deviations from the mean that a number is moved to, if it is further away
_LEAST_SCALE = 0.1  # a column that hardly ever changed in fitting says little elsewhere
_HIDDEN, _HIDDEN_NONE = 64, 16
_NETWORKS = 3  # whose scores are averaged
_EPOCHS, _BATCH = 15, 256  # passes over the lists; lists of a step
_RATE, _DECAY = 3e-3, 1e-2
_RATE_AGAIN = 1e-3  # where weights are fitted again
_DROP_IN, _DROP = 0.1, 0.15  # of the numbers of a match, of hidden units
_WARM = 0.2  # share of the steps in which the rate rises
_MANY = 1e9  # subtracted from the score of what is not there


@dataclass(frozen=True, slots=True)
class Lists:
    """The described candidates of some mentions.

    Attributes:
        indptr: (mentions + 1,) where the rows of each begin.
        values: (rows, columns) of `matches.COLUMNS`.
        behind: (rows, columns) the same, less the largest of the candidates of the same text.
        without: (mentions,) log(1 + how often the mention was annotated as having no concept).
    """

    indptr: NDArray[np.int64]
    values: Floats
    behind: Floats
    without: Floats

    @property
    def owner(self) -> NDArray[np.int64]:
        """The mention of each row, (rows,)."""
        return np.repeat(np.arange(len(self.without)), np.diff(self.indptr))


@dataclass(frozen=True, slots=True)
class Judged:
    """Lists of which it is known what is right."""

    lists: Lists
    right: NDArray[np.bool_]  # (rows,); where no row of a mention is right, none of them is
    weight: Floats  # (mentions,) how much each mention counts
    has_concept: NDArray[np.bool_]  # (mentions,) whether it was annotated with one

    def only(self, kept: NDArray[np.bool_]) -> Judged:
        """Some of the mentions, given whether each is kept."""
        lists, mentions = self.lists, np.flatnonzero(kept)
        counts = np.diff(lists.indptr)[mentions]
        rows = ranges(lists.indptr[mentions], counts)
        indptr = np.append(0, np.cumsum(counts))
        some = Lists(indptr, lists.values[rows], lists.behind[rows], lists.without[mentions])
        return Judged(some, self.right[rows], self.weight[mentions], self.has_concept[mentions])

    @classmethod
    def joined(cls, parts: list[Judged]) -> Judged:
        """Several of them, one behind another."""
        lists = [part.lists for part in parts]
        counts = np.concatenate([np.diff(of_one.indptr) for of_one in lists])
        columns = (
            np.concatenate([getattr(of_one, name) for of_one in lists])
            for name in ("values", "behind", "without")
        )
        return cls(
            Lists(np.append(0, np.cumsum(counts)), *columns),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.weight for part in parts]),
            np.concatenate([part.has_concept for part in parts]),
        )


Weights = Mapping[str, Floats]
"""The weights of both networks: of a candidate `w` (inputs, hidden), `b`, `v` (hidden,); of the
slot "none" `w_none`, `b_none`, `v_none`, and the bias `c_none` (1,)."""


@dataclass(frozen=True)
class Ranker:
    """Gives the probabilities of the candidates of mentions.

    Attributes:
        centre: (inputs,) of values and of what they are behind: the mean that is subtracted.
        scale: (inputs,) and what they are divided by then.
        weights: of the networks.
        threshold: the probability that an answer needs by default; 0: everything is answered.
        provenance: what it was fitted to.
    """

    centre: Floats
    scale: Floats
    weights: Weights
    threshold: float = 0.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_scores(cls) -> Ranker:
        """A ranker that knows nothing: all candidates are as probable, in the order of scores."""
        count = 2 * len(COLUMNS)
        weights = _random_weights(count, np.random.default_rng(0))
        nothing = {name: np.zeros_like(values) for name, values in weights.items()}
        return cls(np.zeros(count, np.float32), np.ones(count, np.float32), nothing)

    def inputs(self, lists: Lists) -> Floats:
        """What the network of candidates reads, (rows, 2 columns)."""
        inputs = np.concatenate([lists.values, lists.behind], axis=1)
        inputs -= self.centre
        inputs /= self.scale
        return np.clip(inputs, -_CLIP, _CLIP, out=inputs)

    def scores(self, lists: Lists) -> tuple[Floats, Floats]:
        """The scores of the candidates, (rows,), and of the slots "none", (mentions,)."""
        inputs = self.inputs(lists)
        w = self.weights
        hidden = np.maximum(inputs @ w["w"] + w["b"], 0)
        summary = np.maximum(_summary(inputs, lists) @ w["w_none"] + w["b_none"], 0)
        return hidden @ w["v"], summary @ w["v_none"] + w["c_none"]

    def probabilities(self, lists: Lists) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probability of each candidate, (rows,), and that none is right, (mentions,)."""
        scores, none = self.scores(lists)
        return softmax(scores, none, lists)

    @property
    def described(self) -> str:
        """What it was fitted to, and what its threshold costs and gains there, in words."""
        facts = self.provenance
        fitted_to = f"fitted to {facts.get('mentions', 0):,} {facts.get('fitted_to', 'mentions')}"
        if not self.threshold:
            return f"{fitted_to}; everything is answered by default"
        return (
            f"{fitted_to}; threshold {self.threshold:.3f} by default, by which "
            f"{facts['lost']:.2%} of them lose a right answer and {facts['gained']:.2%} that have "
            f"no concept get none (strict accuracy {facts['accuracy_without_threshold']:.4f}, with "
            f"it {facts['accuracy_with_threshold']:.4f})"
        )

    def save(self, folder: Path) -> None:
        """Write the weights into a folder of a model that is being saved."""
        arrays = {name: np.asarray(values, np.float32) for name, values in self.weights.items()}
        persistence.save_arrays(folder, arrays | {"centre": self.centre, "scale": self.scale})
        record = {
            "columns": list(COLUMNS),
            "threshold": self.threshold,
            "provenance": dict(self.provenance),
        }
        persistence.save_json(folder / "ranker.json", record)

    @classmethod
    def load(cls, folder: Path) -> Ranker:
        """Read what `save` wrote.

        Raises:
            LinkerError: a file is missing, or the weights are damaged or of other columns.
        """
        record, arrays = (
            persistence.load_json(folder / "ranker.json"),
            dict(persistence.load_arrays(folder)),
        )
        if record.get("columns") != list(COLUMNS):
            raise LinkerError(
                f"{folder}: the ranker describes candidates by other columns than this release; "
                "train again"
            )
        try:
            centre, scale = arrays.pop("centre"), arrays.pop("scale")
            threshold = float(record["threshold"])
            _check(arrays, centre, scale, threshold)
        except (KeyError, TypeError, ValueError) as error:
            raise LinkerError(
                f"{folder}: the weights of the ranker are damaged ({error}); train again"
            ) from None
        return cls(centre, scale, arrays, threshold, record["provenance"])


def softmax(
    scores: NDArray[Any], none: NDArray[Any], lists: Lists
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The softmax of each list with its slot "none"; see `Ranker.probabilities`."""
    owner, count = lists.owner, len(none)
    highest = np.maximum(largest(scores[:, None], lists.indptr)[:, 0], none)
    of_rows = np.exp(scores - highest[owner], dtype=np.float64)
    of_none = np.exp(none - highest, dtype=np.float64)
    total = np.bincount(owner, of_rows, count) + of_none
    return of_rows / total[owner], of_none / total


def fit(judged: Judged, seed: int, start: Ranker | None = None) -> Ranker:
    """Fit a ranker by AdamW to the marginal likelihood: -log Σ softmax over what is right.

    Args:
        judged: lists, one at least.
        seed: of the first weights, the order of lists and what is dropped.
        start: where to start; its weights are kept as far as few lists speak against them. None:
            several networks are fitted from nothing, and averaged.
    """
    if start is not None:
        return _fit(judged, start, np.random.default_rng(seed), start.weights, _RATE_AGAIN)
    both = np.concatenate([judged.lists.values, judged.lists.behind], axis=1)
    centre, scale = both.mean(axis=0), np.maximum(both.std(axis=0), _LEAST_SCALE)
    rankers = []
    for number in range(_NETWORKS):
        random = np.random.default_rng([seed, number])
        first = Ranker(centre, scale, _random_weights(len(centre), random))
        nothing = {name: np.zeros_like(values) for name, values in first.weights.items()}
        rankers.append(_fit(judged, first, random, nothing, _RATE))
    return dataclasses.replace(rankers[0], weights=_averaged([r.weights for r in rankers]))


def _fit(
    judged: Judged, start: Ranker, random: np.random.Generator, towards: Weights, rate: float
) -> Ranker:
    """Fit weights further; each step pulls them back a little `towards` others."""
    weights = {name: values.copy() for name, values in start.weights.items()}
    mean = {name: np.zeros_like(values) for name, values in weights.items()}
    square = {name: np.zeros_like(values) for name, values in weights.items()}
    inputs, indptr = start.inputs(judged.lists), judged.lists.indptr
    summary = _summary(inputs, judged.lists)
    count = len(judged.weight)
    steps, step = _EPOCHS * -(-count // _BATCH), 0
    for _ in range(_EPOCHS):
        order = random.permutation(count)
        for batch in (order[i : i + _BATCH] for i in range(0, count, _BATCH)):
            step += 1
            sizes = indptr[batch + 1] - indptr[batch]
            rows = ranges(indptr[batch], sizes)
            gradients = _gradients(
                weights,
                inputs[rows],
                summary[batch],
                np.append(0, np.cumsum(sizes)),
                judged.right[rows],
                judged.weight[batch],
                random,
            )
            share = step / (steps + 1)
            now = rate * min(share / _WARM, (1 - share) / (1 - _WARM))
            for name, gradient in gradients.items():
                mean[name] += 0.1 * (gradient - mean[name])
                square[name] += 0.001 * (gradient**2 - square[name])
                change = mean[name] / (1 - 0.9**step)
                change /= np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
                weights[name] -= now * (change + _DECAY * (weights[name] - towards[name]))
    return dataclasses.replace(start, weights=weights)


def _gradients(
    weights: Weights,
    inputs: Floats,
    summary: Floats,
    indptr: NDArray[np.int64],
    right: NDArray[np.bool_],
    weight: Floats,
    random: np.random.Generator,
) -> dict[str, Floats]:
    """The gradients of the mean loss of some lists, with dropout."""
    w = weights
    inputs = inputs * _kept(inputs.shape, _DROP_IN, random)
    before = inputs @ w["w"] + w["b"]
    alive = (before > 0) * _kept(before.shape, _DROP, random)
    hidden = before * alive
    before_none = summary @ w["w_none"] + w["b_none"]
    alive_none = (before_none > 0) * _kept(before_none.shape, _DROP, random)
    hidden_none = before_none * alive_none
    lists = Lists(indptr, inputs, inputs, weight)
    scores, none = hidden @ w["v"], hidden_none @ w["v_none"] + w["c_none"]
    of_rows, of_none = softmax(scores, none, lists)
    owner = lists.owner
    wanted = np.bincount(owner, of_rows * right, len(none))
    is_none = np.bincount(owner, right, len(none)) == 0
    target = of_rows * right / np.maximum(wanted, 1e-30)[owner]
    each = weight / weight.sum()
    d_scores = ((of_rows - target) * each[owner]).astype(np.float32)
    d_none = ((of_none - is_none) * each).astype(np.float32)
    d_hidden = d_scores[:, None] * w["v"] * alive
    d_hidden_none = d_none[:, None] * w["v_none"] * alive_none
    return {
        "w": inputs.T @ d_hidden,
        "b": d_hidden.sum(axis=0),
        "v": hidden.T @ d_scores,
        "w_none": summary.T @ d_hidden_none,
        "b_none": d_hidden_none.sum(axis=0),
        "v_none": hidden_none.T @ d_none,
        "c_none": d_none.sum(keepdims=True),
    }


def _kept(shape: tuple[int, ...], share: float, random: np.random.Generator) -> Floats:
    """1 / (1 - share) for what dropout keeps, 0 for the rest."""
    return np.where(random.random(shape, np.float32) >= share, np.float32(1 / (1 - share)), 0)


def _summary(inputs: Floats, lists: Lists) -> Floats:
    """What the slot "none" reads of a list, (mentions, 2 inputs + 1).

    That is the largest of each number, those of the first candidate of the most usual reading (the
    first row), and how often the mention was annotated without a concept.
    """
    count = inputs.shape[1]
    summary = np.zeros((len(lists.without), 2 * count + 1), np.float32)
    summary[:, :count] = largest(inputs, lists.indptr)
    is_filled = np.diff(lists.indptr) > 0
    summary[is_filled, count : 2 * count] = inputs[lists.indptr[:-1][is_filled]]
    summary[:, -1] = lists.without
    return summary


def _random_weights(inputs: int, random: np.random.Generator) -> Weights:
    """Small weights, by which the scores of all are near 0."""
    shapes = {
        "w": (inputs, _HIDDEN),
        "b": (_HIDDEN,),
        "v": (_HIDDEN,),
        "w_none": (2 * inputs + 1, _HIDDEN_NONE),
        "b_none": (_HIDDEN_NONE,),
        "v_none": (_HIDDEN_NONE,),
        "c_none": (1,),
    }
    return {
        name: random.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[0]))
        for name, shape in shapes.items()
    }


def _averaged(several: list[Weights]) -> Weights:
    """One network whose scores are the mean of those of several."""
    weights = {
        name: np.concatenate([of_one[name] for of_one in several], axis=-1)
        for name in ("w", "b", "w_none", "b_none")
    }
    count = np.float32(len(several))
    weights |= {
        name: np.concatenate([of_one[name] for of_one in several]) / count
        for name in ("v", "v_none")
    }
    return weights | {"c_none": np.mean([of_one["c_none"] for of_one in several], axis=0)}


def _check(weights: Mapping[str, Any], centre: Any, scale: Any, threshold: float) -> None:
    """Raise ValueError where numbers are no weights of networks for the columns."""
    inputs, hidden = 2 * len(PLACE), len(weights["v"])
    hidden_none = len(weights["v_none"])
    shapes = {
        "w": (inputs, hidden),
        "b": (hidden,),
        "v": (hidden,),
        "w_none": (2 * inputs + 1, hidden_none),
        "b_none": (hidden_none,),
        "v_none": (hidden_none,),
        "c_none": (1,),
    }
    arrays = {"centre": centre, "scale": scale, **weights}
    shapes |= {"centre": (inputs,), "scale": (inputs,)}
    if {name: array.shape for name, array in arrays.items()} != shapes:
        raise ValueError("the arrays do not have the shapes that are expected")
    if not all(np.isfinite(array).all() for array in arrays.values()) or not (scale > 0).all():
        raise ValueError("a number is not finite")
    if not 0 <= threshold <= 1:
        raise ValueError(f"the threshold is {threshold}")

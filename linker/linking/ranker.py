"""The list-wise ranker: it orders the candidates of a mention, and knows how probable each one is.

A network of one hidden layer gives each described candidate two scores: that the mention means it,
and that the mention means something below it which is not listed. Another network scores two slots:
the dictionary has no concept for the mention, or has one that is not listed. One softmax makes
probabilities of all (`lists.softmax`; BCNH, Yan et al. 2021, eq. 4-6, over described matches in
place of one similarity; the loss is the marginal likelihood of BioSyn, Sung et al. 2020, eq. 6).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linker.errors import LinkerError, of_package
from linker.io import persistence
from linker.linking.calibration import Calibration
from linker.linking.lists import (
    INPUTS,
    Floats,
    Judged,
    MatchLists,
    Probabilities,
    largest,
    owners,
    softmax,
)

SHIPPED = Path(__file__).with_name("weights")

Loss = Literal["marginal", "listwise", "binary"]
"""What a fit makes small.

- marginal: -log of the probability of what is right.
- listwise: the cross entropy between the softmax of relevances and that of exact scores (BCNH, eq.
  4-6); nothing is known of broader concepts.
- binary: as marginal, where a broader concept is as wrong as any other.
"""

_CLIP = 3.0  # standard deviations from the mean that a number is moved to, if it is further away
_LEAST_SCALE = 0.3  # a column that hardly ever changed in fitting says little elsewhere
_HIDDEN = 192
_HIDDEN_NONE = 16
_NETWORKS = 1  # whose scores are averaged
_EPOCHS = 14  # passes over the lists
_EPOCHS_AGAIN = 16  # where weights are fitted again, to fewer lists
_BATCH = 256  # lists of a step
_RATE = 3e-3
_RATE_AGAIN = 1e-3  # where weights are fitted again
_DECAY = 1e-2
_DROP_IN = 0.1  # of the numbers of a match
_DROP = 0.15  # of hidden units
_WARM = 0.2  # share of the steps in which the rate rises
_AVERAGED = 0.25  # share of the steps, the last ones, whose weights are averaged
_NEVER = -1e4  # the score of an outcome that a ranker without it never gives

_NO_CALIBRATION: dict[str, Any] = {"groups": {}, "worth": []}  # of earlier releases

Weights = Mapping[str, Floats]
"""The weights of both networks: of a candidate `w` (inputs, hidden), `b` (hidden,), `v` (hidden, 2)
and `c` (2,), for the exact and the broader score; of the slots "none" and "missed" `w_none`,
`b_none`, `v_none` (hidden, 2) and `c_none` (2,)."""


class OlderRankerError(LinkerError):
    """A model whose ranker describes candidates by the columns of another release.

    Attributes:
        is_shipped: whether its weights are those that came with that release.
    """

    def __init__(self, folder: Path, is_shipped: bool) -> None:
        self.is_shipped = is_shipped
        advice = "it learnt mentions: train again"
        if is_shipped:
            advice = f"linker index --model {folder.parent} gives the model that of this release"
        super().__init__(f"{folder}: the ranker is of another release of linker; {advice}")


@dataclass(frozen=True)
class Ranker:
    """Gives the probabilities of the candidates of mentions.

    Attributes:
        centre: (inputs,) the mean of each input that is subtracted.
        scale: (inputs,) and what it is divided by then.
        weights: of the networks.
        provenance: what it was fitted to.
        calibration: by which sets of answers are made; empty where nothing calibrates them.
    """

    centre: Floats
    scale: Floats
    weights: Weights
    provenance: Mapping[str, Any] = field(default_factory=dict)
    calibration: Calibration = field(default_factory=Calibration)

    def scaled(self, inputs: Floats) -> Floats:
        """What the network of candidates reads, given `MatchLists.inputs`."""
        scaled: Floats = inputs - self.centre
        scaled /= self.scale
        return np.clip(scaled, -_CLIP, _CLIP, out=scaled)

    def scores(self, lists: MatchLists) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The exact and broader scores of candidates, (rows, 2), and of both slots, (mentions, 2).

        They are of double precision: what a batch holds beside a mention changes nothing.
        """
        inputs = self.scaled(lists.inputs)
        weights = self._exact
        hidden = np.maximum(inputs.astype(np.float64) @ weights["w"] + weights["b"], 0)
        summary = _summary(inputs, lists).astype(np.float64)
        hidden_none = np.maximum(summary @ weights["w_none"] + weights["b_none"], 0)
        scores = hidden @ weights["v"] + weights["c"]
        return scores, hidden_none @ weights["v_none"] + weights["c_none"]

    @cached_property
    def _exact(self) -> Mapping[str, NDArray[np.float64]]:
        """The weights in double precision."""
        return {name: values.astype(np.float64) for name, values in self.weights.items()}

    def scores_of(self, inputs: Floats) -> Floats:
        """The exact scores of candidates, (rows,), given inputs as in `MatchLists`."""
        hidden = np.maximum(self.scaled(inputs) @ self.weights["w"] + self.weights["b"], 0)
        scores: Floats = hidden @ self.weights["v"][:, 0] + self.weights["c"][0]
        return scores

    def probabilities(self, lists: MatchLists) -> Probabilities:
        """The probabilities of all outcomes."""
        return softmax(*self.scores(lists), lists)

    @property
    def described(self) -> str:
        """What it was fitted to, in words."""
        start = "as it is shipped, fitted to " if self.provenance.get("shipped") else "fitted to "
        return start + str(self.provenance.get("fitted_to", "nothing"))

    @classmethod
    def shipped(cls) -> Ranker:
        """The ranker that comes with linker, for dictionaries that nobody annotated.

        Raises:
            LinkerError: it is missing or damaged.
        """
        try:
            return cls.load(SHIPPED)
        except LinkerError as error:
            raise of_package("the ranker", error) from None

    def save(self, folder: Path) -> None:
        """Write the weights into a folder of a model that is being saved."""
        arrays = {name: np.asarray(values, np.float32) for name, values in self.weights.items()}
        persistence.save_arrays(folder, arrays | {"centre": self.centre, "scale": self.scale})
        record = {
            "columns": list(INPUTS),
            "provenance": dict(self.provenance),
            "calibration": self.calibration.to_dict(),
        }
        persistence.save_json(folder / "ranker.json", record)

    @classmethod
    def load(cls, folder: Path) -> Ranker:
        """Read what `save` wrote.

        Raises:
            OlderRankerError: the weights are of other columns.
            LinkerError: a file is missing.
            ValueError, LookupError: the weights are none; `persistence.load` says so.
        """
        record = persistence.load_json(folder / "ranker.json")
        provenance = record["provenance"]
        if not isinstance(provenance, dict):
            raise ValueError(f"the provenance of the ranker is {provenance!r}")
        if record.get("columns") != list(INPUTS):
            raise OlderRankerError(folder, bool(provenance.get("shipped")))
        arrays = dict(persistence.load_arrays(folder))
        _check(arrays)
        centre = arrays.pop("centre")
        scale = arrays.pop("scale")
        calibration = Calibration.from_dict(record.get("calibration", _NO_CALIBRATION))
        return cls(centre, scale, arrays, provenance, calibration)


def _check(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays that are no weights of a ranker.

    Raises:
        ValueError: they are of other shapes or types, or not finite.
    """
    count = len(INPUTS)
    wanted = _shapes(count, len(arrays["b"]), len(arrays["b_none"]))
    wanted |= {"centre": (count,), "scale": (count,)}
    has_shapes = {name: values.shape for name, values in arrays.items()} == wanted
    if not has_shapes or not all(values.dtype.kind == "f" for values in arrays.values()):
        raise ValueError("the weights of the ranker are of other shapes, or no numbers")
    is_finite = all(np.isfinite(values).all() for values in arrays.values())
    if not is_finite or not (arrays["scale"] > 0).all():
        raise ValueError("the weights of the ranker are not finite")


def unfitted() -> Ranker:
    """A ranker that knows nothing: all candidates are as probable, in the order of scores."""
    count = len(INPUTS)
    weights = _random_weights(count, np.random.default_rng(0))
    nothing = {name: np.zeros_like(values) for name, values in weights.items()}
    nothing["c"][1] = _NEVER
    return Ranker(np.zeros(count, np.float32), np.ones(count, np.float32), nothing)


def fit(judged: Judged, seed: int, start: Ranker | None = None, loss: Loss = "marginal") -> Ranker:
    """Fit a ranker by AdamW.

    Args:
        judged: lists, one at least.
        seed: of the first weights, the order of lists and what is dropped.
        start: where to start; its weights are kept as far as few lists speak against them. None:
            networks are fitted from nothing, and averaged.
        loss: what is made small; those but the first are for comparison.
    """
    if start is not None:
        random = np.random.default_rng(seed)
        return _fit(judged, start, random, start.weights, _RATE_AGAIN, _EPOCHS_AGAIN, loss)
    inputs = judged.lists.inputs
    centre = inputs.mean(axis=0)
    scale = np.maximum(inputs.std(axis=0), _LEAST_SCALE)
    several = []
    for number in range(_NETWORKS):
        random = np.random.default_rng([seed, number])
        weights = _random_weights(len(centre), random)
        nothing = {name: np.zeros_like(values) for name, values in weights.items()}
        if loss != "marginal":
            weights["c"][1] = _NEVER
            nothing["c"][1] = _NEVER
        first = Ranker(centre, scale, weights)
        several.append(_fit(judged, first, random, nothing, _RATE, _EPOCHS, loss).weights)
    return Ranker(centre, scale, _averaged(several))


def _fit(
    judged: Judged,
    start: Ranker,
    random: np.random.Generator,
    towards: Weights,
    rate: float,
    epochs: int,
    loss: Loss,
) -> Ranker:
    """Fit weights further; each step pulls them back a little `towards` others."""
    weights = {name: values.copy() for name, values in start.weights.items()}
    mean = {name: np.zeros_like(values) for name, values in weights.items()}
    square = {name: np.zeros_like(values) for name, values in weights.items()}
    total = {name: np.zeros_like(values) for name, values in weights.items()}
    count = len(judged.weight)
    steps = epochs * -(-count // _BATCH)
    averaged = max(1, round(_AVERAGED * steps))
    step = 0
    for _ in range(epochs):
        order = random.permutation(count)
        for first in range(0, count, _BATCH):
            step += 1
            some = judged.only(order[first : first + _BATCH])
            inputs = start.scaled(some.lists.inputs)
            gradients = _gradients(weights, inputs, some, random, loss)
            share = step / (steps + 1)
            now = rate * min(share / _WARM, (1 - share) / (1 - _WARM))
            for name, gradient in gradients.items():
                mean[name] += 0.1 * (gradient - mean[name])
                square[name] += 0.001 * (gradient**2 - square[name])
                change = mean[name] / (1 - 0.9**step)
                change /= np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
                weights[name] -= now * (change + _DECAY * (weights[name] - towards[name]))
            if step > steps - averaged:
                for name, values in weights.items():
                    total[name] += values / np.float32(averaged)
    return dataclasses.replace(start, weights=total)


def _gradients(
    weights: Weights, inputs: Floats, judged: Judged, random: np.random.Generator, loss: Loss
) -> dict[str, Floats]:
    """The gradients of the mean loss of some lists, with dropout."""
    summary = _summary(inputs, judged.lists)
    inputs = inputs * _kept(inputs.shape, _DROP_IN, random)
    before = inputs @ weights["w"] + weights["b"]
    alive = (before > 0) * _kept(before.shape, _DROP, random)
    hidden = before * alive
    before_none = summary @ weights["w_none"] + weights["b_none"]
    alive_none = (before_none > 0) * _kept(before_none.shape, _DROP, random)
    hidden_none = before_none * alive_none
    scores = hidden @ weights["v"] + weights["c"]
    slots = hidden_none @ weights["v_none"] + weights["c_none"]
    probability = softmax(scores, slots, judged.lists)
    if loss == "listwise":
        d_scores, d_slots = _listwise_gradients(probability, judged)
    else:
        d_scores, d_slots = _marginal_gradients(probability, judged)
    d_hidden = d_scores @ weights["v"].T * alive
    d_hidden_none = d_slots @ weights["v_none"].T * alive_none
    return {
        "w": inputs.T @ d_hidden,
        "b": d_hidden.sum(axis=0),
        "v": hidden.T @ d_scores,
        "c": d_scores.sum(axis=0),
        "w_none": summary.T @ d_hidden_none,
        "b_none": d_hidden_none.sum(axis=0),
        "v_none": hidden_none.T @ d_slots,
        "c_none": d_slots.sum(axis=0),
    }


def _marginal_gradients(probability: Probabilities, judged: Judged) -> tuple[Floats, Floats]:
    """The gradients of the mean of -log of what is right, for scores and slots.

    With p the probability of an outcome and q its share of what is right, the gradient for its
    logit is p - q. A reading of m parts is such an outcome; with π the probability of a candidate
    among those of its text, and t its share of what is right there, the gradient for its exact
    score is (p - q) π / m + q (π - t).
    """
    lists = judged.lists
    lookup = owners(lists.rows)
    row_reading = owners(lists.lookups)[lookup]
    mention = owners(lists.readings)
    row_mention = mention[row_reading]
    right = probability.rows * judged.right
    of_lookup = np.bincount(lookup, right, len(lists.rows) - 1)
    parts = np.diff(lists.lookups)
    with np.errstate(divide="ignore"):
        all_right = np.exp(np.bincount(owners(lists.lookups), np.log(of_lookup), len(parts)))
    exact = probability.readings * all_right
    broader = probability.broader * judged.broader
    total = np.bincount(mention, exact, len(probability.none))
    total += np.bincount(row_mention, broader, len(probability.none))
    is_listed = total > 0
    whole = np.where(is_listed, total, 1)
    q = exact / whole[mention]
    t = right / np.where(of_lookup > 0, of_lookup, 1)[lookup]
    of_reading = (probability.readings - q) / np.maximum(1, parts)
    d_exact = of_reading[row_reading] * probability.rows + q[row_reading] * (probability.rows - t)
    d_broader = probability.broader - broader / whole[row_mention]
    d_none = probability.none - (~is_listed & ~judged.is_known)
    d_missed = probability.missed - (~is_listed & judged.is_known)
    return _weighted(judged, row_mention, (d_exact, d_broader), (d_none, d_missed))


def _listwise_gradients(probability: Probabilities, judged: Judged) -> tuple[Floats, Floats]:
    """The gradients of the mean cross entropy with the softmax of relevances.

    The list of a mention holds all its rows and both slots, one of which has the relevance 2 where
    no row has a relevance. The probability of a row is that of its reading times its own, divided
    by the number of parts m. With T what it should be, the gradient for its exact score is
    (p - ΣT of the reading) π / m + ΣT of the text π - T.
    """
    lists = judged.lists
    lookup = owners(lists.rows)
    reading = owners(lists.lookups)
    row_reading = reading[lookup]
    mention = owners(lists.readings)
    row_mention = mention[row_reading]
    count = len(probability.none)
    has_any = np.bincount(row_mention, judged.relevance, count) > 0
    raised = np.exp(judged.relevance.astype(np.float64))
    none = np.exp(2.0 * (~has_any & ~judged.is_known))
    missed = np.exp(2.0 * (~has_any & judged.is_known))
    whole = np.bincount(row_mention, raised, count) + none + missed
    wanted = raised / whole[row_mention]
    of_lookup = np.bincount(lookup, wanted, len(lists.rows) - 1)
    parts = np.diff(lists.lookups)
    of_reading = np.bincount(reading, of_lookup, len(parts))
    behind = (probability.readings - of_reading) / np.maximum(1, parts)
    d_exact = (behind[row_reading] + of_lookup[lookup]) * probability.rows - wanted
    d_none = probability.none - none / whole
    d_missed = probability.missed - missed / whole
    return _weighted(judged, row_mention, (d_exact, np.zeros(len(d_exact))), (d_none, d_missed))


def _weighted(
    judged: Judged,
    row_mention: NDArray[np.int64],
    of_rows: tuple[NDArray[np.float64], NDArray[np.float64]],
    of_mentions: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[Floats, Floats]:
    """Gradients for scores, (rows, 2), and slots, (mentions, 2), by the weight of each mention."""
    each = judged.weight / judged.weight.sum()
    d_scores = np.stack(of_rows, axis=1) * each[row_mention][:, None]
    d_slots = np.stack(of_mentions, axis=1) * each[:, None]
    return d_scores.astype(np.float32), d_slots.astype(np.float32)


def _kept(shape: tuple[int, ...], share: float, random: np.random.Generator) -> Floats:
    """1 / (1 - share) for what dropout keeps, 0 for the rest."""
    return np.where(random.random(shape, np.float32) >= share, np.float32(1 / (1 - share)), 0)


def _summary(inputs: Floats, lists: MatchLists) -> Floats:
    """What the slots read of a list, (mentions, 2 inputs + 1).

    That is the largest of each number, those of the first candidate of the most usual reading (the
    first row), and how often the mention was annotated without a concept.
    """
    count = inputs.shape[1]
    starts = lists.starts
    summary = np.zeros((len(lists.nil_evidence), 2 * count + 1), np.float32)
    summary[:, :count] = largest(inputs, starts)
    is_filled = np.diff(starts) > 0
    summary[is_filled, count : 2 * count] = inputs[starts[:-1][is_filled]]
    summary[:, -1] = lists.nil_evidence
    return summary


def _shapes(inputs: int, hidden: int, hidden_none: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of both networks."""
    return {
        "w": (inputs, hidden),
        "b": (hidden,),
        "v": (hidden, 2),
        "c": (2,),
        "w_none": (2 * inputs + 1, hidden_none),
        "b_none": (hidden_none,),
        "v_none": (hidden_none, 2),
        "c_none": (2,),
    }


def _random_weights(inputs: int, random: np.random.Generator) -> dict[str, Floats]:
    """Small weights, by which the scores of all are near 0."""
    return {
        name: random.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[0]))
        for name, shape in _shapes(inputs, _HIDDEN, _HIDDEN_NONE).items()
    }


def _averaged(several: list[Weights]) -> Weights:
    """One network whose scores are the mean of those of several."""
    count = np.float32(len(several))
    joined = {
        name: np.concatenate([weights[name] for weights in several], axis=-1)
        for name in ("w", "b", "w_none", "b_none")
    }
    shared = {
        name: np.concatenate([weights[name] for weights in several]) / count
        for name in ("v", "v_none")
    }
    biases = {
        name: np.mean([weights[name] for weights in several], axis=0) for name in ("c", "c_none")
    }
    return joined | shared | biases

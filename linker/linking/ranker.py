"""The list-wise ranker: it orders the candidates of a mention, and knows how probable each one is.

The candidates of all readings of a mention stand in one list, with one more slot: none of them. A
network of one hidden layer scores each described candidate, another one the slot, and the softmax
of the list is the probability of each (BCNH, Yan et al. 2021, eq. 4-6, over described matches in
place of one similarity; the loss is the marginal likelihood of BioSyn, Sung et al. 2020, eq. 6).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.errors import LinkerError, of_package
from linker.io import persistence
from linker.linking.calibration import Calibration
from linker.linking.matches import COLUMNS, largest
from linker.search.concepts import ends, ranges
from linker.search.index import Integers

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

SHIPPED = Path(__file__).with_name("weights")

_CLIP = 3.0  # standard deviations from the mean that a number is moved to, if it is further away
_LEAST_SCALE = 0.3  # a column that hardly ever changed in fitting says little elsewhere
_HIDDEN, _HIDDEN_NONE = 64, 16
_NETWORKS = 3  # whose scores are averaged
_EPOCHS = 16  # passes over the lists
_BATCH = 256  # lists of a step
_RATE, _DECAY = 3e-3, 1e-2
_RATE_AGAIN = 1e-3  # where weights are fitted again
_DROP_IN, _DROP = 0.1, 0.15  # of the numbers of a match, of hidden units
_WARM = 0.2  # share of the steps in which the rate rises


_NO_CALIBRATION: dict[str, Any] = {"groups": {}, "worth": []}  # of earlier releases


@dataclass(frozen=True, slots=True)
class MatchLists:
    """The described candidates of some mentions.

    A mention has readings, a reading is looked up as one text or as several parts, and each of
    these has candidates: the rows.

    Attributes:
        readings: (mentions + 1,) where the readings of each mention begin.
        lookups: (readings + 1,) where the texts that each reading looks up begin.
        rows: (lookups + 1,) where the candidates of each text begin.
        inputs: (rows, 2 columns) of `matches.COLUMNS`; then the same, less the largest of the
            candidates of the same text.
        nil_evidence: (mentions,) log(1 + how often the mention was annotated as having no concept).
    """

    readings: Rows
    lookups: Rows
    rows: Rows
    inputs: Floats
    nil_evidence: Floats

    @property
    def values(self) -> Floats:
        """The first half of the inputs: what is known of each candidate, to read and to fill."""
        return self.inputs[:, : self.inputs.shape[1] // 2]

    @property
    def behind(self) -> Floats:
        """The other half of the inputs: the same, less the largest of the text."""
        return self.inputs[:, self.inputs.shape[1] // 2 :]

    @property
    def starts(self) -> Rows:
        """(mentions + 1,) where the rows of each mention begin."""
        return self.rows[self.lookups[self.readings]]

    def only(self, mentions: Rows) -> tuple[MatchLists, Rows]:
        """Some of the mentions, given their numbers, and the numbers of their rows."""
        readings = ranges(self.readings[mentions], np.diff(self.readings)[mentions])
        lookups = ranges(self.lookups[readings], np.diff(self.lookups)[readings])
        rows = ranges(self.rows[lookups], np.diff(self.rows)[lookups])
        some = MatchLists(
            ends(np.diff(self.readings)[mentions]),
            ends(np.diff(self.lookups)[readings]),
            ends(np.diff(self.rows)[lookups]),
            self.inputs[rows],
            self.nil_evidence[mentions],
        )
        return some, rows


@dataclass(frozen=True, slots=True)
class Judged:
    """Match lists, and which of their candidates are right."""

    lists: MatchLists
    concepts: Integers  # (rows,) of each candidate, in the dictionary that it was found in
    right: NDArray[np.bool_]  # (rows,) whether each candidate is right for its text
    is_known: NDArray[np.bool_]  # (mentions,) whether the dictionary has a concept that is right
    weight: Floats  # (mentions,) how much each mention counts

    def only(self, mentions: Rows) -> Judged:
        """Some of the mentions, given their numbers."""
        lists, rows = self.lists.only(mentions)
        known, weight = self.is_known[mentions], self.weight[mentions]
        return Judged(lists, self.concepts[rows], self.right[rows], known, weight)

    def weighted(self, weight: float) -> Judged:
        """The same lists, of which each mention counts as much."""
        return dataclasses.replace(self, weight=np.full_like(self.weight, weight))

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """Several of them, one behind another."""

        lists = [part.lists for part in parts]

        def counted(name: str) -> Rows:
            return ends(np.concatenate([np.diff(getattr(of_one, name)) for of_one in lists]))

        return cls(
            MatchLists(
                counted("readings"),
                counted("lookups"),
                counted("rows"),
                np.concatenate([of_one.inputs for of_one in lists]),
                np.concatenate([of_one.nil_evidence for of_one in lists]),
            ),
            np.concatenate([part.concepts for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.is_known for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Probabilities:
    """How probable the readings and the candidates of some mentions are.

    The logit of a reading is the mean of those of its parts, each the log of the sum of the
    exponentials of the scores of its candidates; a mention's readings and its slots "none" and
    "missed" compete in one softmax. Where all readings have one part, that is the softmax over all
    candidates and the two slots.
    """

    rows: NDArray[np.float64]  # (rows,) of each candidate among those of its text
    readings: NDArray[np.float64]  # (readings,)
    none: NDArray[np.float64]  # (mentions,) that the dictionary has no concept for it
    missed: NDArray[np.float64]  # (mentions,) that it has one, which is not among the candidates


Weights = Mapping[str, Floats]
"""The weights of both networks: of a candidate `w` (inputs, hidden), `b`, `v` (hidden,); of the
slots "none" and "missed" `w_none`, `b_none`, `v_none` (hidden, 2), and their biases `c_none`."""


@dataclass(frozen=True)
class Ranker:
    """Gives the probabilities of the candidates of mentions.

    Attributes:
        centre: (inputs,) of values and of what they are behind: the mean that is subtracted.
        scale: (inputs,) and what they are divided by then.
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
        """The scores of candidates, (rows,), and of "none" and "missed", (mentions, 2)."""
        inputs, w = self.scaled(lists.inputs), self._exact
        hidden = np.maximum(inputs.astype(np.float64) @ w["w"] + w["b"], 0)
        summary = _summary(inputs, lists).astype(np.float64)
        summary = np.maximum(summary @ w["w_none"] + w["b_none"], 0)
        return hidden @ w["v"], summary @ w["v_none"] + w["c_none"]

    @cached_property
    def _exact(self) -> Mapping[str, NDArray[np.float64]]:
        """The weights in double precision: what a batch holds beside a mention changes nothing."""
        return {name: values.astype(np.float64) for name, values in self.weights.items()}

    def scores_of(self, inputs: Floats) -> Floats:
        """The scores of candidates, given inputs as in `MatchLists`."""
        scores: Floats = np.maximum(self.scaled(inputs) @ self.weights["w"] + self.weights["b"], 0)
        return scores @ self.weights["v"]

    def probabilities(self, lists: MatchLists) -> Probabilities:
        """The probabilities of the candidates and readings, and that none is right."""
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
            "columns": list(COLUMNS),
            "provenance": dict(self.provenance),
            "calibration": self.calibration.to_dict(),
        }
        persistence.save_json(folder / "ranker.json", record)

    @classmethod
    def load(cls, folder: Path) -> Ranker:
        """Read what `save` wrote.

        Raises:
            LinkerError: a file is missing, or the weights are of other columns.
            ValueError, LookupError: the weights are none; `persistence.load` says so.
        """
        record = persistence.load_json(folder / "ranker.json")
        if record.get("columns") != list(COLUMNS):
            raise LinkerError(
                f"{folder}: the ranker describes candidates by other columns than this "
                "release; train again"
            )
        arrays = dict(persistence.load_arrays(folder))
        calibration = Calibration.from_dict(record.get("calibration", _NO_CALIBRATION))
        centre, scale = arrays.pop("centre"), arrays.pop("scale")
        ranker = cls(centre, scale, arrays, record["provenance"], calibration)
        size = 2 * len(COLUMNS)
        shapes = _shapes(size, len(arrays["v"]), len(arrays["v_none"]))
        given = arrays | {"centre": ranker.centre, "scale": ranker.scale}
        has_shapes = {n: a.shape for n, a in given.items()} == shapes | dict.fromkeys(
            ("centre", "scale"), (size,)
        )
        if not has_shapes or not all(a.dtype.kind == "f" for a in given.values()):
            raise ValueError("the weights of the ranker are of other shapes, or no numbers")
        if not all(np.isfinite(a).all() for a in given.values()) or not (ranker.scale > 0).all():
            raise ValueError("the weights of the ranker are not finite")
        if not isinstance(ranker.provenance, dict):
            raise ValueError(f"the provenance of the ranker is {ranker.provenance!r}")
        return ranker


def softmax(scores: NDArray[Any], slots: NDArray[Any], lists: MatchLists) -> Probabilities:
    """Make probabilities of the scores of candidates, (rows,), and of both slots, (mentions, 2)."""
    lookup, reading, mention = (owners(of) for of in (lists.rows, lists.lookups, lists.readings))
    highest = _highest(scores, lists.rows)
    raised = np.exp(scores - highest[lookup], dtype=np.float64)
    total = np.bincount(lookup, raised, len(highest))
    with np.errstate(divide="ignore"):  # a text without a candidate has the logit -inf
        logit = np.log(total) + highest
    parts = np.diff(lists.lookups)
    of_reading = np.bincount(reading, logit, len(parts)) / np.maximum(1, parts)
    most = np.maximum(_highest(of_reading, lists.readings), slots.max(axis=1))
    of_reading, of_slots = np.exp(of_reading - most[mention]), np.exp(slots - most[:, None])
    whole = np.bincount(mention, of_reading, len(most)) + of_slots.sum(axis=1)
    none, missed = (of_slots / whole[:, None]).T
    return Probabilities(raised / total[lookup], of_reading / whole[mention], none, missed)


def owners(indptr: Rows) -> Rows:
    """The number of the list that each item is of."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _highest(values: NDArray[Any], indptr: Rows) -> NDArray[np.float64]:
    """The largest value of each list, (lists,); 0 for one that has none but -inf."""
    result = np.zeros(len(indptr) - 1)
    is_filled = np.diff(indptr) > 0
    if is_filled.any():
        result[is_filled] = np.maximum.reduceat(values, indptr[:-1][is_filled])
    return np.where(np.isfinite(result), result, 0.0)


def unfitted() -> Ranker:
    """A ranker that knows nothing: all candidates are as probable, in the order of scores."""
    count = 2 * len(COLUMNS)
    weights = _random_weights(count, np.random.default_rng(0))
    nothing = {name: np.zeros_like(values) for name, values in weights.items()}
    return Ranker(np.zeros(count, np.float32), np.ones(count, np.float32), nothing)


def fit(judged: Judged, seed: int, start: Ranker | None = None) -> Ranker:
    """Fit a ranker by AdamW to the marginal likelihood: -log Σ softmax over what is right.

    Args:
        judged: lists, one at least.
        seed: of the first weights, the order of lists and what is dropped.
        start: where to start; its weights are kept as far as few lists speak against them. None:
            several networks are fitted from nothing, and averaged.
    """
    if start is not None:
        random = np.random.default_rng(seed)
        return _fit(judged, start, random, start.weights, _RATE_AGAIN)
    inputs = judged.lists.inputs
    centre, scale = inputs.mean(axis=0), np.maximum(inputs.std(axis=0), _LEAST_SCALE)
    rankers = []
    for number in range(_NETWORKS):
        random = np.random.default_rng([seed, number])
        first = Ranker(centre, scale, _random_weights(len(centre), random))
        nothing = {name: np.zeros_like(values) for name, values in first.weights.items()}
        rankers.append(_fit(judged, first, random, nothing, _RATE))
    return dataclasses.replace(rankers[0], weights=_averaged([r.weights for r in rankers]))


def _fit(
    judged: Judged,
    start: Ranker,
    random: np.random.Generator,
    towards: Weights,
    rate: float,
) -> Ranker:
    """Fit weights further; each step pulls them back a little `towards` others."""
    weights = {name: values.copy() for name, values in start.weights.items()}
    mean = {name: np.zeros_like(values) for name, values in weights.items()}
    square = {name: np.zeros_like(values) for name, values in weights.items()}
    count = len(judged.weight)
    steps, step = _EPOCHS * -(-count // _BATCH), 0
    for _ in range(_EPOCHS):
        order = random.permutation(count)
        for batch in (order[i : i + _BATCH] for i in range(0, count, _BATCH)):
            step += 1
            some = judged.only(batch)
            inputs = start.scaled(some.lists.inputs)
            gradients = _gradients(weights, inputs, _summary(inputs, some.lists), some, random)
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
    weights: Weights, inputs: Floats, summary: Floats, judged: Judged, random: np.random.Generator
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
    scores, slots = hidden @ w["v"], hidden_none @ w["v_none"] + w["c_none"]
    d_scores, d_slots = _gradients_of_scores(softmax(scores, slots, judged.lists), judged)
    d_hidden = d_scores[:, None] * w["v"] * alive
    d_hidden_none = d_slots @ w["v_none"].T * alive_none
    return {
        "w": inputs.T @ d_hidden,
        "b": d_hidden.sum(axis=0),
        "v": hidden.T @ d_scores,
        "w_none": summary.T @ d_hidden_none,
        "b_none": d_hidden_none.sum(axis=0),
        "v_none": hidden_none.T @ d_slots,
        "c_none": d_slots.sum(axis=0),
    }


def _gradients_of_scores(probability: Probabilities, judged: Judged) -> tuple[Floats, Floats]:
    """The gradients of the mean loss for the scores of candidates and of both slots.

    With p the probability of a reading, q its share of what is right, π that of a candidate among
    those of its text and t its share of what is right there, the gradient for the score of a
    candidate of a reading of m parts is (p - q) π / m + q (π - t).
    """
    lists, right = judged.lists, judged.right
    lookup, reading, mention = (owners(of) for of in (lists.rows, lists.lookups, lists.readings))
    of_lookup = np.bincount(lookup, probability.rows * right, len(lists.rows) - 1)
    parts = np.diff(lists.lookups)
    with np.errstate(divide="ignore"):
        all_right = np.exp(np.bincount(reading, np.log(of_lookup), len(parts)))
    wanted = probability.readings * all_right
    total = np.bincount(mention, wanted, len(probability.none))
    is_found = total > 0
    q = wanted / np.where(is_found, total, 1)[mention]
    t = probability.rows * right / np.where(of_lookup > 0, of_lookup, 1)[lookup]
    each = judged.weight / judged.weight.sum()
    of_reading = (probability.readings - q) / np.maximum(1, parts)
    row = reading[lookup]
    d_scores = of_reading[row] * probability.rows + q[row] * (probability.rows - t)
    d_slots = np.stack([probability.none, probability.missed], axis=1)
    d_slots -= np.stack([~is_found & ~judged.is_known, ~is_found & judged.is_known], axis=1)
    return (
        (d_scores * each[mention[row]]).astype(np.float32),
        (d_slots * each[:, None]).astype(np.float32),
    )


def _kept(shape: tuple[int, ...], share: float, random: np.random.Generator) -> Floats:
    """1 / (1 - share) for what dropout keeps, 0 for the rest."""
    return np.where(random.random(shape, np.float32) >= share, np.float32(1 / (1 - share)), 0)


def _summary(inputs: Floats, lists: MatchLists) -> Floats:
    """What the slot "none" reads of a list, (mentions, 2 inputs + 1).

    That is the largest of each number, those of the first candidate of the most usual reading (the
    first row), and how often the mention was annotated without a concept.
    """
    count, starts = inputs.shape[1], lists.starts
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
        "v": (hidden,),
        "w_none": (2 * inputs + 1, hidden_none),
        "b_none": (hidden_none,),
        "v_none": (hidden_none, 2),
        "c_none": (2,),
    }


def _random_weights(inputs: int, random: np.random.Generator) -> Weights:
    """Small weights, by which the scores of all are near 0."""
    return {
        name: random.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[0]))
        for name, shape in _shapes(inputs, _HIDDEN, _HIDDEN_NONE).items()
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

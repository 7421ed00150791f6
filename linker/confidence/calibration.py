"""From what a linker knows of its answers to the probability that they are right.

Fitted to mentions of which it is known what is right, and kept as JSON.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linker.confidence import features
from linker.confidence.trees import Trees, sigmoid
from linker.types import ReadingKind

FIGURES = ("accuracy_without_threshold", "accuracy_with_threshold", "lost", "gained")
"""What is known of a threshold, in shares of the mentions that the calibration was fitted to."""
FEWEST = 50  # annotated mentions to fit to; of fewer nothing can be said
FEWEST_OF_EACH = 5  # right answers among them, and wrong ones
_RIVAL = 0.5  # weight of a reading that is not the most usual one
_BLOCKS = 5  # of examples, by which the threshold is found
_FEWEST_SPLITS = 10  # readings in parts that are right, and as many wrong, to fit their model to
_SMALLEST = 1e-9  # of a probability whose log odds are taken
_TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SECONDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)

Handicaps = Mapping[ReadingKind, float]
"""By how much log odds a reading has to be ahead of the most usual one, by its kind."""

LEARNT: Handicaps = {"whole": 0.5, "expanded": 0.5, "split": 0.5, "shortened": 2.0}
"""Where annotated mentions say how probable other readings are, composites among them.

Chosen on the training and development mentions of NCBI Disease and BC5CDR, as is `CAUTIOUS`.
"""
CAUTIOUS: Handicaps = {"whole": 3.0, "expanded": 3.0, "split": 1.0, "shortened": 3.0}
"""Where there are too few, or names of a dictionary, which have no short forms."""


class TooFewExamples(ValueError):
    """There are too few examples to fit a calibration to; says which, and how many are needed."""


@dataclass(frozen=True, slots=True)
class ReadingScores:
    """One way to read a mention, as the calibration sees it."""

    values: Sequence[Sequence[float]]  # the features of each part's answer; none: no answer
    kind: ReadingKind

    @property
    def is_split(self) -> bool:
        """Whether the mention is read as several parts."""
        return self.kind == "split"


@dataclass(frozen=True, slots=True)
class Example:
    """An annotated mention: how each reading of it was answered, and what of it is right."""

    readings: Sequence[ReadingScores]  # those with an answer to each part
    right: Sequence[bool]  # of each reading: whether all its first concepts are right
    scores: Sequence[float]  # of the candidates of the first reading's first part
    rank: int  # of the right concept among these; 0: none
    has_concept: bool  # whether it is annotated with one
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Later:
    """How probable the second and further candidates are, where the first one is wrong.

    One after another is right with the probability second · exp((its score - that of the second
    candidate) / temperature), where none before it is.
    """

    second: float = 0.2
    temperature: float = 0.1

    def shares(self, scores: Sequence[float]) -> list[float]:
        """The probability of each candidate, best first; the sum is less than 1."""
        shares, none_before = [], 1.0
        for score in scores:
            right = self.second * math.exp((score - scores[0]) / self.temperature)
            shares.append(none_before * right)
            none_before *= 1 - right
        return shares


@dataclass(frozen=True, slots=True)
class SplitOdds:
    """The log odds of a reading in parts: a sum of three numbers, each with its weight."""

    product: float = 1.0  # of the log odds of the product of the parts' probabilities
    rival: float = 0.0  # of those of the best reading that is not split
    usual: float = 0.0  # of 1 where this is the most usual way to read the mention, else 0
    bias: float = 0.0

    def scaled(self, values: Sequence[float], parts: Sequence[float]) -> list[float]:
        """The probabilities of the parts, changed so that their product is that of the reading.

        Args:
            values: the three numbers.
            parts: the probabilities of the parts.
        """
        odds = np.dot([self.product, self.rival, self.usual], values) + self.bias
        product = max(math.prod(parts), _SMALLEST)
        factor = float(sigmoid(odds)) / product
        return [min(1.0, part * factor ** (1 / len(parts))) for part in parts]


@dataclass(frozen=True)
class Calibration:
    """The probabilities of answers, and the one below which there is no answer by default.

    Args:
        single: gives the probability that the first concept of a lookup is right.
        split: makes that of a reading in parts of theirs.
        handicaps: of readings that are not the most usual ones.
        later: of candidates behind the first.
        threshold: the default; 0: everything is answered.
        provenance: what it was fitted to, and what the threshold costs and gains there.
    """

    single: Trees
    split: SplitOdds = SplitOdds()
    handicaps: Handicaps = field(default_factory=lambda: CAUTIOUS)
    later: Later = Later()
    threshold: float = 0.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def probabilities(self, mentions: Sequence[Sequence[ReadingScores]]) -> list[list[float]]:
        """The probability that each reading of each mention is right.

        Args:
            mentions: the readings of each.

        Returns:
            For each reading of each mention the probabilities of its parts, whose product is that
            of the reading.
        """
        readings = [reading for of_one in mentions for reading in of_one]
        if not readings:
            return []
        values = [of_part for reading in readings for of_part in reading.values]
        of_parts = iter(self.single.probabilities(features.stacked(values)).tolist())
        parts = ([next(of_parts) for _ in reading.values] for reading in readings)
        return list(
            itertools.chain.from_iterable(
                self._with_splits(of_one, list(itertools.islice(parts, len(of_one))))
                for of_one in mentions
            )
        )

    def _with_splits(
        self, readings: Sequence[ReadingScores], parts: list[list[float]]
    ) -> list[list[float]]:
        """The probabilities of the parts of a mention's readings, those of splits by `split`."""
        return [
            self.split.scaled(_split_values(readings, parts, place), own)
            if reading.is_split and len(own)
            else own
            for place, (reading, own) in enumerate(zip(readings, parts, strict=True))
        ]

    def chosen(self, readings: Sequence[ReadingScores], parts: Sequence[Sequence[float]]) -> int:
        """The place of the reading that wins: the most probable one, but for the handicaps.

        Args:
            readings: of one mention, the most usual first.
            parts: the probabilities of the parts of each, from `probabilities`.
        """
        odds = [log_odds(math.prod(own)) if own else -math.inf for own in parts]
        for place, reading in enumerate(readings[1:], 1):
            odds[place] -= self.handicaps[reading.kind]
        return odds.index(max(odds))

    def to_json(self) -> dict[str, Any]:
        """What `json` can write."""
        return {
            "single": self.single.to_json(),
            "split": dataclasses.asdict(self.split),
            "handicaps": dict(self.handicaps),
            "later": dataclasses.asdict(self.later),
            "threshold": self.threshold,
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Calibration:
        """Read what `to_json` made.

        Raises:
            ValueError: the object is not of this form.
        """
        try:
            split, handicaps, later = (
                {key: float(value) for key, value in record[name].items()}
                for name in ("split", "handicaps", "later")
            )
            threshold, provenance = float(record["threshold"]), dict(record["provenance"])
            numbers = [*split.values(), *handicaps.values(), *later.values()]
            if not np.isfinite(numbers).all() or not 0 <= threshold <= 1:
                raise ValueError("a number is out of its range")
            if handicaps.keys() != LEARNT.keys():
                raise ValueError(f"the handicaps are of {list(handicaps)}")
            if not later["temperature"] > 0 or not 0 <= later["second"] < 1:
                raise ValueError("the numbers of later candidates are out of their range")
            single = Trees.from_json(record["single"], features.NAMES)
            by_kind: Handicaps = {kind: handicaps[kind] for kind in LEARNT}
            return cls(single, SplitOdds(**split), by_kind, Later(**later), threshold, provenance)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"it is no calibration ({error})") from None


def log_odds(probability: float) -> float:
    """The log odds of a probability, which is moved away from 0 and 1."""
    bounded = min(max(probability, _SMALLEST), 1 - _SMALLEST)
    return math.log(bounded / (1 - bounded))


def fit(examples: Sequence[Example], *, of_texts: bool = True) -> Calibration:
    """Fit a calibration, with the threshold that maximises strict accuracy on the examples.

    Args:
        examples: annotated mentions, or names of a dictionary.
        of_texts: whether they are mentions of texts. Names say neither how texts are read nor how
            many mentions have no concept, so that the usual reading is preferred, and there is no
            threshold.

    Raises:
        TooFewExamples: there are too few, or too few that are right, or wrong.
    """
    right = sum(bool(example.right and example.right[0]) for example in examples)
    wrong = len(examples) - right
    if len(examples) < FEWEST or min(right, wrong) < FEWEST_OF_EACH:
        raise TooFewExamples(
            f"{len(examples):,} mentions with {right:,} right and {wrong:,} wrong answers; "
            f"needed: {FEWEST} mentions, {FEWEST_OF_EACH} right and as many wrong answers"
        )
    calibration = dataclasses.replace(_fitted(examples, of_texts), later=_fit_later(examples))
    if not of_texts or all(example.has_concept for example in examples):
        return calibration
    threshold, accuracies = _fit_threshold(_cross_fitted(examples), examples)
    return dataclasses.replace(calibration, threshold=threshold, provenance=accuracies)


def _fitted(examples: Sequence[Example], of_texts: bool) -> Calibration:
    """A calibration for first candidates, without a threshold."""
    rows = [
        (reading, right, example.weight * (1.0 if place == 0 else _RIVAL))
        for example in examples
        for place, (reading, right) in enumerate(zip(example.readings, example.right, strict=True))
        if not reading.is_split
    ]
    weights = np.array([weight for _, _, weight in rows])
    single = Trees.fit(
        features.NAMES,
        features.stacked([reading.values[0] for reading, _, _ in rows]),
        np.array([right for _, right, _ in rows], bool),
        weights / weights.mean(),
        features.RISING,
    )
    calibration = Calibration(single)
    split = _fit_split(calibration, examples) if of_texts else None
    if split is None:
        return calibration
    return dataclasses.replace(calibration, split=split, handicaps=LEARNT)


def _cross_fitted(examples: Sequence[Example]) -> list[Chosen]:
    """The chosen reading of each example, by a calibration that was fitted to the others.

    Neighbours stay together, as they may be mentions of one document.
    """
    block = np.arange(len(examples)) * _BLOCKS // len(examples)
    result = []
    for number in range(_BLOCKS):
        rest = [
            example for example, of_one in zip(examples, block, strict=True) if of_one != number
        ]
        held = [
            example for example, of_one in zip(examples, block, strict=True) if of_one == number
        ]
        result += _chosen(_fitted(rest, True), held)
    return result


def _fit_split(calibration: Calibration, examples: Sequence[Example]) -> SplitOdds | None:
    """Fit the log odds of readings in parts; None where there are too few of them."""
    from sklearn.linear_model import LogisticRegression

    values, right = [], []
    for example in examples:
        if any(reading.is_split for reading in example.readings):
            parts = calibration.probabilities([example.readings])
            for place, reading in enumerate(example.readings):
                if reading.is_split:
                    values.append(_split_values(example.readings, parts, place))
                    right.append(example.right[place])
    if min(sum(right), len(right) - sum(right)) < _FEWEST_SPLITS:
        return None
    mean, scale = np.mean(values, axis=0), np.std(values, axis=0) + _SMALLEST
    model = LogisticRegression().fit((values - mean) / scale, right)
    weights = model.coef_[0] / scale
    product, rival, usual = weights.tolist()
    return SplitOdds(product, rival, usual, float(model.intercept_[0] - weights @ mean))


def _split_values(
    readings: Sequence[ReadingScores], parts: Sequence[Sequence[float]], place: int
) -> list[float]:
    """The numbers that `SplitOdds` weighs, given the probabilities of all parts of all readings."""
    rivals = [
        float(own[0])
        for reading, own in zip(readings, parts, strict=True)
        if reading.kind in ("whole", "expanded") and len(own)
    ]
    product, rival = math.prod(parts[place]), max(rivals, default=0.0)
    return [log_odds(product), log_odds(rival), float(place == 0)]


def _fit_later(examples: Sequence[Example]) -> Later:
    """The numbers of `Later` that make the right candidates most probable where the first is wrong.

    Found on a grid: there are two numbers, and few such mentions.
    """
    wrong = [
        (example.scores[1:], example.rank - 2)
        for example in examples
        if example.rank != 1 and len(example.scores) > 1 and not example.readings[0].is_split
    ]
    if len(wrong) < FEWEST_OF_EACH:
        return Later()

    def likelihood(later: Later) -> float:
        total = 0.0
        for scores, place in wrong:
            shares = later.shares(scores)
            is_there = 0 <= place < len(shares)
            total += math.log(shares[place] if is_there else 1 - sum(shares))
        return total

    return max(
        (Later(second, temperature) for second in _SECONDS for temperature in _TEMPERATURES),
        key=likelihood,
    )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The chosen reading of an example; all 0 where no reading has an answer."""

    lowest: float = 0.0  # the least probability of its parts
    highest: float = 0.0  # the largest
    right: bool = False


def _chosen(calibration: Calibration, examples: Sequence[Example]) -> list[Chosen]:
    """The chosen reading of each example."""
    parts = iter(calibration.probabilities([example.readings for example in examples]))
    result = []
    for example in examples:
        own = list(itertools.islice(parts, len(example.readings)))
        if not own:
            result.append(Chosen())
            continue
        place = calibration.chosen(example.readings, own)
        result.append(Chosen(min(own[place]), max(own[place]), example.right[place]))
    return result


def _fit_threshold(
    answers: Sequence[Chosen], examples: Sequence[Example]
) -> tuple[float, dict[str, float]]:
    """The threshold that maximises strict accuracy, and what it costs and gains.

    A mention counts as right where its chosen reading is right and all parts reach the threshold,
    or where it has no concept and no part reaches it. The threshold has to win by more than a
    standard error, the root of the summed squares of the weights of what it changes; else it is 0.

    Args:
        answers: the chosen reading of each example, not fitted to it.
        examples: the examples.

    Returns:
        The threshold; and, in shares of all examples, the accuracy without and with it, the right
        answers that it loses, and the mentions without a concept that it gains.
    """
    lowest = np.array([answer.lowest for answer in answers])
    highest = np.array([answer.highest for answer in answers])
    nil = np.array([not example.has_concept for example in examples], bool)
    weights = np.array([example.weight for example in examples])
    weights /= weights.sum()
    right = weights * [answer.right for answer in answers]
    best, gain = 0.0, 0.0
    for threshold in np.unique(np.nextafter(highest[nil], 1.0)).tolist():
        lost, gained = lowest < threshold, nil & (highest < threshold)
        difference = float(weights[gained].sum() - right[lost].sum())
        error = float(np.sqrt((weights[gained] ** 2).sum() + (right[lost] ** 2).sum()))
        if difference > max(error, gain):
            best, gain = min(threshold, 1.0), difference
    accuracy = float(right.sum() + weights[nil & (highest == 0)].sum())
    lost = float(right[lowest < best].sum())
    figures = zip(FIGURES, (accuracy, accuracy + gain, lost, lost + gain), strict=True)
    return best, {name: round(value, 5) for name, value in figures}

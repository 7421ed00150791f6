"""What became of many mentions, and how many of the answers are right, without a gold standard."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from linker.io.outputs import ASSERTED, OUTCOMES, Outcome
from linker.linking.calibration import Calibration, group_of, unlikeness
from linker.records import Prediction
from linker.text.encodings import mended

_DRIFT = 0.035
"""The standard deviation of the error of `Expected.share` that more mentions do not make smaller:
texts differ from those that calibrated; `benchmarks/accuracy/promises.py` measures it."""
_FEWEST = 20  # distinct mentions; of fewer nothing can be said
_SURE = 0.9  # a threshold that is shown, beside the one that was asked for
_DRIFTS = {1: ("are no name", 0.15), 2: ("resemble no name", 0.05)}
"""By `unlikeness`: what texts are, and by how much more of them than of those that calibrated have
to be it, beyond chance, to be told; corpora of a kind differ by less, as
`benchmarks/accuracy/drift.py` measures."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How many of some answers are right."""

    answers: int
    share: float  # that is right
    low: float  # the interval of 95%
    high: float

    def __str__(self) -> str:
        return f"some {self.share:.0%} right ({self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True, slots=True)
class Drift:
    """How unlike texts are to those that calibrated."""

    excess: float  # of the share, beyond chance and what corpora of a kind differ
    share: float  # of distinct texts
    usual: float  # of those that calibrated
    what: str  # they are

    def __str__(self) -> str:
        return (
            f"texts are unlike those that calibrated ({self.share:.0%} of the distinct ones "
            f"{self.what}, {self.usual:.0%} there): shares and sets may be further off"
        )


@dataclass(slots=True)
class Tally:
    """What became of mentions.

    Attributes:
        outcomes: how many mentions have each outcome.
        distinct: the checksums of their texts, which are right or wrong together, each with its
            `unlikeness`, the largest where mentions of a text differ.
        groups: how many mentions with a set are of each group that calibrates.
        mended: how many cells had a broken encoding.
        withheld: how many mentions without a concept have a first candidate of each confidence, in
            hundredths.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    distinct: dict[int, int] = field(default_factory=dict)
    groups: Counter[str] = field(default_factory=Counter)
    mended: int = 0
    withheld: Counter[int] = field(default_factory=Counter)

    def see(self, prediction: Prediction, times: int = 1) -> None:
        """Note the text of a mention, which occurs so many times."""
        mention = prediction.mention
        text = mention.text.encode("utf-8", "surrogatepass")
        checksum = zlib.crc32(text)  # takes little memory, and is the same in all processes
        if not mention.spans and mended(mention.text) != mention.text:
            self.mended += times
        self._note(checksum, unlikeness(prediction))
        if prediction.state == "model" and any(part.answers for part in prediction.parts):
            self.groups[group_of(prediction)] += times
        confidence = _of_withheld(prediction)
        if confidence is not None:
            self.withheld[round(100 * confidence)] += times

    def add(self, other: Tally) -> None:
        """Add those of other mentions."""
        self.outcomes.update(other.outcomes)
        self.groups.update(other.groups)
        self.withheld.update(other.withheld)
        self.mended += other.mended
        for checksum, unlike in other.distinct.items():
            self._note(checksum, unlike)

    def _note(self, checksum: int, unlike: int) -> None:
        self.distinct[checksum] = max(unlike, self.distinct.get(checksum, 0))

    def expected(self, calibration: Calibration, least: float = 0.0) -> Expected | None:
        """How many of the linked ones are right that are as sure as `least`.

        What people decided does not count. None where mentions are too few, or nothing calibrates.
        """
        if not calibration.worth:
            return None
        kept = Counter[float]()
        for outcome, count in self.outcomes.items():
            if outcome.kind == "linked" and outcome.confidence is not None:
                kept[outcome.confidence] += count * ((outcome.weakest or 0.0) >= least)
        total, alike = kept.total(), self._asked / max(1, len(self.distinct))
        if not total or total < _FEWEST * alike:
            return None
        values, counts = np.array([*kept]), np.array([*kept.values()])
        share = float(calibration.expected(values) @ counts / total)
        half = 1.96 * float(np.sqrt(share * (1 - share) * alike / total + _DRIFT**2))
        return Expected(total, share, max(0.0, share - half), min(1.0, share + half))

    def drift(self, calibration: Calibration) -> Drift | None:
        """What tells best that texts are unlike those that calibrated; None of too few."""
        count, known = len(self.distinct), sum(calibration.texts)
        if count < _FEWEST or not known:
            return None
        drifts, unlike = [], Counter(self.distinct.values())
        for level, (what, least) in _DRIFTS.items():
            share = sum(n for of, n in unlike.items() if of >= level) / count
            usual = sum(calibration.texts[level:]) / known
            variance = share * (1 - share) / count + usual * (1 - usual) / known
            excess = share - usual - 1.96 * variance**0.5 - least
            drifts.append(Drift(excess, share, usual, what))
        return max(drifts, key=lambda drift: drift.excess)

    def _described_withheld(self, calibration: Calibration) -> str:
        """How many mentions have a first candidate that is no answer, and how many are right."""
        count = self.withheld.total()
        line = f"without a concept, but with a first candidate that was withheld: {count:,}"
        if not calibration.worth or count < _FEWEST:
            return line
        confidences = np.array([*self.withheld]) / 100
        counts = np.array([*self.withheld.values()])
        share = float(calibration.expected(confidences) @ counts / count)
        return f"{line}; of such some {share:.0%} are right (--threshold 0 gives all)"

    @property
    def _asked(self) -> int:
        """How many mentions are not empty."""
        return sum(n for outcome, n in self.outcomes.items() if outcome.kind != "empty")

    def lines(self, what: str, calibration: Calibration, coverage: float | None) -> list[str]:
        """The counts in words.

        Args:
            what: is counted, in the singular.
            calibration: of the model.
            coverage: of sets; None: there are none.
        """
        total = self.outcomes.total()

        def count(name: str) -> int:
            return sum(n for outcome, n in self.outcomes.items() if name in outcome[:2])

        counts = ", ".join(f"{count(name):,} {name}" for name in OUTCOMES)
        asserted = ", ".join(f"{count(n):,} {word}" for n, word in ASSERTED.items() if count(n))
        lines = [f"{total:,} {what}{'s' * (total != 1)}: {counts}"]
        lines[0] += asserted and f"; of these {asserted}"
        if broader := sum(n for outcome, n in self.outcomes.items() if outcome.has_broader):
            lines.append(f"without a sure concept, but with a broader one: {broader:,}")
        if self.mended:
            are = "cells" if self.mended > 1 else "cell"
            lines.append(f"{self.mended:,} {are} had a broken encoding, mended")
        if every := self.expected(calibration):
            line = f"of the linked ones {every}"
            sure = self.expected(calibration, _SURE)
            if sure and sure.answers < every.answers:
                line += f"; with --threshold {_SURE} {sure.answers:,} are left, {sure}"
            lines.append(line)
        if self.withheld:
            lines.append(self._described_withheld(calibration))
        if (drift := self.drift(calibration)) and drift.excess > 0:
            lines.append(f"WARNING: {drift}")
        sizes = Counter[int]()
        for outcome, n in self.outcomes.items():
            sizes[outcome.answers] += n * (outcome.answers > 0)
        if coverage and (with_sets := sizes.total()):
            mean = sum(size * n for size, n in sizes.items()) / with_sets
            one = sizes[1] / with_sets
            lines.append(f"sets for {coverage}: {mean:.2f} answers on average, {one:.0%} have one")
            reachable = calibration.reachable(self.groups)
            if reachable is not None and reachable < coverage:
                lines.append(
                    f"the search finds the concept of some {reachable:.0%} of such mentions: no "
                    f"more sets can name it, and {coverage:g} is reached by those that hold none"
                )
        return lines


def _of_withheld(prediction: Prediction) -> float | None:
    """The confidence of a first candidate that is no answer, the smallest of several parts.

    None where nothing was withheld, or people decided.
    """
    if prediction.state != "model":
        return None
    withheld = [part.rejected for part in prediction.parts if part.nil and part.rejected]
    confidences = [one.confidence for one in withheld if one.confidence is not None]
    return min(confidences, default=None)

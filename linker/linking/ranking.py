"""Ranking: the candidates of a batch in order, and the reading of each mention that wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.candidates.concepts import Candidates, Ranked
from linker.linking.lists import Batch
from linker.ranker.ranker import Probabilities, Rows


@dataclass(frozen=True)
class Ranking:
    """The candidates of a batch in order, and how probable they are.

    Attributes:
        batch: the lists.
        order: (rows,) the rows of each text, the most probable first.
        confidence: (rows,) of each candidate: for a reading with one part, what all such readings
            of the mention give its concept together; for one with several, a share such that the
            product over its parts is the probability of the reading with these candidates.
        readings: (readings,) the probability that the first candidates of all parts are right.
        best: (mentions,) the reading that wins.
        probabilities: what the ranker gave; None without a ranker, where confidences mean nothing.
        deeper: more candidates of some normalised texts, in the order of their scores.
    """

    batch: Batch
    order: Rows
    confidence: NDArray[np.float64]
    readings: NDArray[np.float64]
    best: Rows
    probabilities: Probabilities | None
    deeper: Mapping[str, Ranked] = field(default_factory=dict)  # of texts whose candidates are more

    def rows(self, lookup: int) -> Rows:
        """The rows of the candidates of a text, the most probable first."""
        start, end = self.batch.lists.rows[lookup : lookup + 2]
        return self.order[start:end]

    @cached_property
    def columns(self) -> list[Cells]:
        """What candidates are made of, in order: rows of concept and name, scores, confidence."""
        found, order = self.batch.found, self.order
        confidence = self.confidence if self.probabilities else None
        return cells(found.concepts, found.entries, found, confidence, order)


Cells = tuple[int, int, float, float | None, float | None, float | None]


def cells(
    concepts: NDArray[Any],
    entries: NDArray[Any],
    scores: Candidates | Ranked,
    confidence: NDArray[Any] | None,
    order: Rows,
) -> list[Cells]:
    """Candidates in an order, with numbers of six decimals: float32 holds no more."""
    numbers = (
        [None] * len(order) if of is None else np.round(of[order].astype(np.float64), 6).tolist()
        for of in (scores.scores, scores.sparse, scores.dense, confidence)
    )
    return list(zip(concepts[order].tolist(), entries[order].tolist(), *numbers, strict=True))


def by_probability(batch: Batch, probabilities: Probabilities) -> Ranking:
    """Put the candidates in order, and choose the reading of each mention."""
    lists = batch.lists
    sizes, parts = np.diff(lists.rows), np.diff(lists.lookups)
    lookup = np.repeat(np.arange(len(sizes)), sizes)
    reading = np.repeat(np.arange(len(parts)), parts)[lookup]
    mention = np.repeat(np.arange(len(lists.without)), np.diff(lists.readings))
    single = np.flatnonzero(parts[reading] == 1)
    joint = probabilities.readings[reading] ** (1 / np.maximum(1, parts[reading]))
    joint *= probabilities.rows
    confidence = joint.copy()
    size = np.int64(batch.found.concepts.max(initial=0)) + 1
    keys = mention[reading[single]] * size + batch.found.concepts[single]
    _, place = np.unique(keys, return_inverse=True)
    confidence[single] = np.bincount(place, joint[single])[place] if len(place) else 0
    order = np.lexsort((np.arange(len(lookup)), -confidence, lookup))
    is_filled = sizes > 0
    first = order[lists.rows[:-1][is_filled]]
    of_lookup, own = np.zeros(len(sizes)), np.zeros(len(sizes))
    of_lookup[is_filled] = confidence[first]
    own[is_filled] = joint[first]
    of_reading, own = (np.multiply.reduceat(v, lists.lookups[:-1]) for v in (of_lookup, own))
    choice = np.lexsort((np.arange(len(parts)), -own, -of_reading, mention))
    return Ranking(batch, order, confidence, of_reading, choice[lists.readings[:-1]], probabilities)


def by_score(batch: Batch) -> Ranking:
    """Leave the candidates in the order of their scores; the most usual readings win."""
    nothing, lists = np.zeros(len(batch.found)), batch.lists
    readings = np.zeros(len(lists.lookups) - 1)
    return Ranking(batch, np.arange(len(nothing)), nothing, readings, lists.readings[:-1], None)

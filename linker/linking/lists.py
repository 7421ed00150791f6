"""The lists that the ranker reads, what of them is right, and how probable it finds it.

A mention has readings, a reading is looked up as one text or as several parts, and each of these
has candidates: the rows. The outcomes of a mention exclude each other: it means the concept of a
row, or, where its reading has one part, something below that concept which is not listed; or the
dictionary has no concept for it ("none"), or has one that is not listed ("missed").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.matching import HYPERNYM, SYNONYM
from linker.search.concepts import ends, ranges
from linker.search.index import Integers

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


def _columns() -> list[list[str]]:
    """The names of the columns, what each says, and how it is read."""
    text = (resources.files("linker.linking") / "columns.tsv").read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


COLUMNS: Mapping[str, str] = {name: says for name, says, _ in _columns()}
"""What is known of a match: the names of the columns, and what each says, for people."""
PLACE = {name: place for place, name in enumerate(COLUMNS)}
RELATIVE = [name for name, _, kind in _columns() if kind == "relative"]
"""The columns that are read twice: as they are, and less the largest of the text."""


def behind(name: str) -> str:
    """The input that a relative column is, less the largest of the text."""
    return f"{name} behind"


INPUTS = (*COLUMNS, *map(behind, RELATIVE))
"""What the ranker reads of a row."""

_RELATIVE_PLACES = [PLACE[name] for name in RELATIVE]


@dataclass(frozen=True, slots=True)
class MatchLists:
    """The described candidates of some mentions.

    Attributes:
        readings: (mentions + 1,) where the readings of each mention begin.
        lookups: (readings + 1,) where the texts that each reading looks up begin.
        rows: (lookups + 1,) where the candidates of each text begin.
        values: (rows, `COLUMNS`) what is known of each candidate.
        nil_evidence: (mentions,) log(1 + how often the mention was annotated as having no concept).
    """

    readings: Rows
    lookups: Rows
    rows: Rows
    values: Floats
    nil_evidence: Floats

    @property
    def starts(self) -> Rows:
        """(mentions + 1,) where the rows of each mention begin."""
        return self.rows[self.lookups[self.readings]]

    @property
    def inputs(self) -> Floats:
        """(rows, `INPUTS`) what the ranker reads of each candidate."""
        relative = self.values[:, _RELATIVE_PLACES]
        behind = relative - largest(relative, self.rows)[owners(self.rows)]
        return np.concatenate([self.values, behind], axis=1)

    @property
    def is_single(self) -> NDArray[np.bool_]:
        """(rows,) whether the reading of each row has one part."""
        lookup = owners(self.rows)
        reading = owners(self.lookups)[lookup]
        is_single: NDArray[np.bool_] = np.diff(self.lookups)[reading] == 1
        return is_single

    def of_text(self, lookup: int) -> MatchLists:
        """The rows of one text, as those of a mention."""
        start, end = self.rows[lookup : lookup + 2].tolist()
        one = np.array([0, 1])
        rows = np.array([0, end - start])
        return MatchLists(one, one, rows, self.values[start:end], np.zeros(1, np.float32))

    def only(self, mentions: Rows) -> tuple[MatchLists, Rows]:
        """Some of the mentions, given their numbers, and the numbers of their rows."""
        readings = ranges(self.readings[mentions], np.diff(self.readings)[mentions])
        lookups = ranges(self.lookups[readings], np.diff(self.lookups)[readings])
        rows = ranges(self.rows[lookups], np.diff(self.rows)[lookups])
        some = MatchLists(
            ends(np.diff(self.readings)[mentions]),
            ends(np.diff(self.lookups)[readings]),
            ends(np.diff(self.rows)[lookups]),
            self.values[rows],
            self.nil_evidence[mentions],
        )
        return some, rows

    @classmethod
    def joined(cls, parts: Sequence[MatchLists]) -> MatchLists:
        """Several of them, one behind another."""
        return cls(
            _joined_ends([part.readings for part in parts]),
            _joined_ends([part.lookups for part in parts]),
            _joined_ends([part.rows for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.nil_evidence for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """Match lists, and what of them is right.

    Attributes:
        lists: the lists.
        concepts: (rows,) of each candidate, in the dictionary that it was found in.
        relevance: int8 (rows,) as `matching.relevances` has it: 2 for what the text means, 1 for
            the nearest concept above that where no reading has it, else 0.
        is_known: (mentions,) whether the dictionary has a concept that is right.
        weight: (mentions,) how much each mention counts.
    """

    lists: MatchLists
    concepts: Integers
    relevance: NDArray[np.int8]
    is_known: NDArray[np.bool_]
    weight: Floats

    @property
    def right(self) -> NDArray[np.bool_]:
        """(rows,) whether each candidate is what its text means."""
        return np.equal(self.relevance, SYNONYM)

    @property
    def broader(self) -> NDArray[np.bool_]:
        """(rows,) whether each candidate is the nearest above what its text means."""
        return np.equal(self.relevance, HYPERNYM)

    def only(self, mentions: Rows) -> Judged:
        """Some of the mentions, given their numbers."""
        lists, rows = self.lists.only(mentions)
        return Judged(
            lists,
            self.concepts[rows],
            self.relevance[rows],
            self.is_known[mentions],
            self.weight[mentions],
        )

    def weighted(self, weight: float) -> Judged:
        """The same lists, of which each mention counts as much."""
        return dataclasses.replace(self, weight=np.full_like(self.weight, weight))

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """Several of them, one behind another."""
        return cls(
            MatchLists.joined([part.lists for part in parts]),
            np.concatenate([part.concepts for part in parts]),
            np.concatenate([part.relevance for part in parts]),
            np.concatenate([part.is_known for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Probabilities:
    """How probable the outcomes of some mentions are.

    Those of the readings, "broader", "none" and "missed" are 1 together, for each mention.

    Attributes:
        rows: (rows,) that each candidate is what its text means, if its reading is right.
        readings: (readings,) that each reading is right, and its parts are listed.
        broader: (rows,) that the mention means something below the candidate which is not listed;
            0 for readings of several parts.
        none: (mentions,) that the dictionary has no concept for it, nor one above it is listed.
        missed: (mentions,) that it has one, of which none is listed, nor one above it.
    """

    rows: NDArray[np.float64]
    readings: NDArray[np.float64]
    broader: NDArray[np.float64]
    none: NDArray[np.float64]
    missed: NDArray[np.float64]


def softmax(scores: NDArray[Any], slots: NDArray[Any], lists: MatchLists) -> Probabilities:
    """Make probabilities of scores.

    The logit of a reading is the mean of those of its parts, each the log of the sum of the
    exponentials of the exact scores of its candidates. The readings, the broader scores of the
    candidates of readings with one part, and both slots compete in one softmax.

    Args:
        scores: (rows, 2) that each candidate is meant exactly, and that something below it is.
        slots: (mentions, 2) of "none" and "missed".
        lists: the lists.
    """
    lookup = owners(lists.rows)
    reading = owners(lists.lookups)
    mention = owners(lists.readings)
    exact = scores[:, 0]
    highest = _highest(exact, lists.rows)
    raised = np.exp(exact - highest[lookup], dtype=np.float64)
    total = np.bincount(lookup, raised, len(highest))
    with np.errstate(divide="ignore"):  # a text without a candidate has the logit -inf
        logit = np.log(total) + highest
    parts = np.diff(lists.lookups)
    of_reading = np.bincount(reading, logit, len(parts)) / np.maximum(1, parts)
    broader = np.where(lists.is_single, scores[:, 1], -np.inf)
    most = np.maximum(_highest(of_reading, lists.readings), slots.max(axis=1))
    most = np.maximum(most, _highest(broader, lists.starts))
    of_reading = np.exp(of_reading - most[mention])
    row_mention = mention[reading[lookup]]
    of_broader = np.exp(broader - most[row_mention], dtype=np.float64)
    of_slots = np.exp(slots - most[:, None])
    whole = np.bincount(mention, of_reading, len(most)) + of_slots.sum(axis=1)
    whole += np.bincount(row_mention, of_broader, len(most))
    return Probabilities(
        rows=raised / total[lookup],
        readings=of_reading / whole[mention],
        broader=of_broader / whole[row_mention],
        none=of_slots[:, 0] / whole,
        missed=of_slots[:, 1] / whole,
    )


def owners(indptr: Rows) -> Rows:
    """The number of the list that each item is of."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def largest(values: NDArray[Any], indptr: Rows) -> Floats:
    """The largest value of each column in each list, (lists, columns); 0 for an empty list."""
    result = np.zeros((len(indptr) - 1, values.shape[1]), np.float32)
    is_filled = np.diff(indptr) > 0
    if is_filled.any():
        result[is_filled] = np.maximum.reduceat(values, indptr[:-1][is_filled], axis=0)
    return result


def _highest(values: NDArray[Any], indptr: Rows) -> NDArray[np.float64]:
    """The largest value of each list, (lists,); 0 for one that has none but -inf."""
    result = np.zeros(len(indptr) - 1)
    is_filled = np.diff(indptr) > 0
    if is_filled.any():
        result[is_filled] = np.maximum.reduceat(values, indptr[:-1][is_filled])
    return np.where(np.isfinite(result), result, 0.0)


def _joined_ends(several: Sequence[Rows]) -> Rows:
    """Where ranges begin, one behind another, given where those of several parts begin."""
    return ends(np.concatenate([np.diff(of_part) for of_part in several]))

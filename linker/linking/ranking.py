"""From the readings of mentions to their candidates in order, for a whole batch at once.

The candidates of all readings are found and described (`batch_of`), then put in order, and the
reading of each mention that wins is chosen (`by_probability`, `by_score`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linker.linking.calibration import groups
from linker.linking.lists import COLUMNS, PLACE, Floats, MatchLists, Probabilities, Rows, owners
from linker.linking.matches import TEXT_COLUMNS, Matches
from linker.linking.requests import Answer
from linker.search.concepts import (
    Candidates,
    Generator,
    ends,
    looked_up,
    ranges,
)
from linker.search.index import Integers
from linker.text.demands import Demand
from linker.text.readings import Wording

DEPTH = 10  # candidates of each text that the ranker sees
NONE = 4.0
"""How many times as probable as the best answer "no concept" must be to be the answer, where no
threshold is asked for. Of rules with one limit it costs the fewest right answers for what it tells
of other domains (docs/decisions.md)."""
_DIVIDED = 0.9  # of "none" and "missed" that the concepts of a name of several have


@dataclass(frozen=True, slots=True)
class DescribedBatch:
    """The lists of some mentions, and the candidates that their rows are."""

    lists: MatchLists
    found: Candidates  # a row for each row of the lists


Allowed = Callable[[Sequence[Demand | None], Candidates], NDArray[np.bool_]]
"""Tells which candidates of some texts fulfil what each of these demands."""


def batch_of(
    answers: Sequence[Answer],
    generator: Generator,
    matches: Matches | None,
    allowed: Allowed,
) -> DescribedBatch:
    """Find the candidates of all readings of some mentions, and describe them.

    Args:
        answers: the mentions, with their readings.
        generator: finds candidates.
        matches: describes them; None: nothing does, without a ranker.
        allowed: leaves out those that cannot be meant.
    """
    ways = [way for answer in answers for way in answer.readings]
    parts = [part for way in ways for part in way.parts]
    # of each distinct text, in normal form and as written, and what it demands
    number: dict[tuple[str, str, Demand | None], int] = {}
    keys = (
        (
            part.form,
            matches.written(part.form) if matches and part.is_rewritten else part.looked_up,
            part.demand,
        )
        for part in parts
    )
    text = np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
    texts = [(form, written) for form, written, _ in number]
    place = {form: place for place, form in enumerate(dict.fromkeys(form for form, _ in texts))}
    candidates = generator.candidates(list(place), DEPTH)
    if len(place) < len(texts):  # some are written in several ways
        candidates = candidates.take(np.array([place[form] for form, _ in texts], np.int64))
    demands = [demand for *_, demand in number]
    if any(demands):
        candidates = candidates.kept(allowed(demands, candidates))
    steps = np.zeros(len(candidates), np.int64)
    if matches:
        candidates, steps = matches.ancestors.appended(candidates, generator)
        if any(demands):
            is_allowed = allowed(demands, candidates)
            candidates = candidates.kept(is_allowed)
            steps = steps[is_allowed]
    found = replace(candidates, encoded=None).take(text)
    lists = MatchLists(
        ends(np.array([len(answer.readings) for answer in answers], np.int64)),
        ends(np.array([len(way.texts) for way in ways], np.int64)),
        found.indptr,
        np.zeros((len(found), len(COLUMNS) if matches else 0), np.float32),
        np.array([answer.nil_evidence for answer in answers], np.float32),
    )
    if matches:
        rows = ranges(candidates.indptr[text], np.diff(found.indptr))
        of_texts, weight = matches.describe(texts, candidates, steps)
        lists.values[:, :TEXT_COLUMNS] = of_texts[rows]
        _describe_readings(lists, ways, weight[text])
        documents = np.array([answer.number for answer in answers], np.int64)
        if (documents >= 0).any():
            _describe_documents(lists, found, text, documents)
    return DescribedBatch(lists, found)


def _describe_readings(
    lists: MatchLists, ways: Sequence[Wording], weight: NDArray[np.float64]
) -> None:
    """Fill the columns that tell how a mention is read.

    Args:
        lists: to fill.
        ways: the readings.
        weight: (lookups,) of the words of each text that is looked up.
    """
    weights = np.add.reduceat(weight, lists.lookups[:-1])
    fullest = np.maximum.reduceat(weights, lists.readings[:-1])
    kinds, is_list = np.array([way.kind for way in ways]), np.array([way.is_list for way in ways])
    columns = {
        "usual": np.isin(np.arange(len(ways)), lists.readings[:-1]),
        "expanded": kinds == "expanded",
        "shortened": kinds == "shortened",
        "split": (kinds == "split") & ~is_list,
        "extra_out": np.array([way.parts[0].aside == "extra" for way in ways]),
        "tail_out": np.array([way.parts[0].aside == "tail" for way in ways]),
        "errors": np.array([sum(part.errors for part in way.parts) for way in ways]),
        "parts": np.where(is_list, 1, np.diff(lists.lookups)),
        "dropped": np.repeat(fullest, np.diff(lists.readings)) - weights,
    }
    reading = owners(lists.lookups)[owners(lists.rows)]
    for name, of_readings in columns.items():
        lists.values[:, PLACE[name]] = of_readings[reading]


def _describe_documents(lists: MatchLists, found: Candidates, text: Rows, document: Rows) -> None:
    """Count, for each candidate, other mentions of its document for which it comes first.

    Mentions that are spelt alike count once, and do not count for each other.

    Args:
        lists: to fill.
        found: the candidates that their rows are.
        text: (lookups,) the number of each text that is looked up.
        document: (mentions,) the number of the document of each; -1: it has none.
    """
    readings, lookups, rows = lists.readings, lists.lookups, lists.rows
    of_lookup = document[owners(readings)][owners(lookups)]
    usual = ranges(lookups[readings[:-1]], np.diff(lookups)[readings[:-1]])
    usual = usual[(of_lookup[usual] >= 0) & (np.diff(rows)[usual] > 0)]
    size, wide = np.int64(found.concepts.max(initial=0)) + 1, np.int64(text.max(initial=0)) + 1
    first = of_lookup[usual] * size + found.concepts[rows[usual]]
    spelt = np.unique(first * wide + text[usual])
    concepts, counts = np.unique(spelt // wide, return_counts=True)
    row_lookup = owners(rows)
    is_in = of_lookup[row_lookup] >= 0
    wanted = of_lookup[row_lookup[is_in]] * size + found.concepts[is_in]
    times = looked_up(concepts, counts, wanted)
    times -= looked_up(
        spelt, np.ones(len(spelt), np.int64), wanted * wide + text[row_lookup[is_in]]
    )
    lists.values[is_in, PLACE["agreement"]] = np.log1p(times)


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
        broader: of texts without a sure candidate, by their numbers, the row of the broader concept
            and how probable it is.
        in_full: of each document, by its number, the concepts that a mention names without a short
            form.
    """

    batch: DescribedBatch
    order: Rows
    confidence: NDArray[np.float64]
    readings: NDArray[np.float64]
    best: Rows
    probabilities: Probabilities | None
    deeper: Mapping[str, Candidates] = field(default_factory=dict)
    broader: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    in_full: Mapping[int, set[int]] = field(default_factory=dict)

    @cached_property
    def groups(self) -> Rows:
        """The group of each mention, (mentions,), by which sets of answers are calibrated."""
        return groups(self.batch.lists)

    def readings_of(self, answer: Answer) -> range:
        """The numbers of the readings of a mention."""
        return range(*self.batch.lists.readings[answer.place : answer.place + 2].tolist())

    def lookup(self, reading: int) -> int:
        """The number of the first text that a reading looks up."""
        return int(self.batch.lists.lookups[reading])

    def rows(self, lookup: int) -> Rows:
        """The rows of the candidates of a text, the most probable first."""
        start, end = self.batch.lists.rows[lookup : lookup + 2]
        return self.order[start:end]

    def inputs(self, lookup: int) -> Floats:
        """What the ranker reads of the candidates of a text, the most probable first."""
        lists = self.batch.lists
        inputs: Floats = lists.of_text(lookup).inputs[self.rows(lookup) - lists.rows[lookup]]
        return inputs

    def first(self, lookup: int) -> int | None:
        """The row of the first concept of a text; None where it has no candidate."""
        rows = self.rows(lookup)
        return int(self.batch.found.concepts[rows[0]]) if len(rows) else None

    def candidates(self, lookup: int, form: str) -> Candidates:
        """The candidates of a text; those that the ranker did not see come last."""
        ranked = self.batch.found.only(self.rows(lookup))
        return ranked.followed_by(self.deeper[form]) if form in self.deeper else ranked

    def cells_of(self, lookup: int, form: str, k: int) -> list[Cells]:
        """What the k best candidates of a text are made of."""
        start, end = self.batch.lists.rows[lookup : lookup + 2].tolist()
        cells = self._cells[start : min(end, start + k)]
        if len(cells) < k and form in self.deeper:
            best = self.candidates(lookup, form)
            unseen = np.zeros(len(best)) if self.probabilities else None
            cells = cells + _cells(best, unseen, np.arange(len(cells), min(k, len(best))))
        return cells

    @cached_property
    def _cells(self) -> list[Cells]:
        return _cells(self.batch.found, self.confidence if self.probabilities else None, self.order)

    def names_no_concept(self, answer: Answer) -> bool:
        """Whether nothing was entered, or, where no threshold is asked for, "none" is likely."""
        if answer.is_empty or answer.request.threshold is not None or not self.probabilities:
            return answer.is_empty
        best = self.readings[self.best[answer.place]]
        return bool(self.probabilities.none[answer.place] > NONE * best)

    def less(self, outside: NDArray[np.float64]) -> Ranking:
        """The same candidates, given how probable it is that others are meant, (mentions,)."""
        if (probabilities := self.probabilities) is None:
            return self
        lists, left = self.batch.lists, 1 - outside
        of_reading = left[owners(lists.readings)]
        parts, reading = np.maximum(1, np.diff(lists.lookups)), owners(lists.lookups)
        of_lookup = of_reading[reading] ** (1 / parts[reading])
        row_reading = reading[owners(lists.rows)]
        return replace(
            self,
            confidence=self.confidence * of_lookup[owners(lists.rows)],
            readings=self.readings * of_reading,
            probabilities=replace(
                probabilities,
                readings=probabilities.readings * of_reading,
                broader=probabilities.broader * of_reading[row_reading],
                none=probabilities.none * left + outside,
                missed=probabilities.missed * left,
            ),
        )


Cells = tuple[int, int, float, float | None, float | None, float | None]
"""What a candidate is made of: rows of concept and name, scores, confidence."""


def _cells(found: Candidates, confidence: NDArray[Any] | None, order: Rows) -> list[Cells]:
    """Candidates in an order, with numbers of six decimals: float32 holds no more."""
    numbers = (
        [None] * len(order) if of is None else np.round(of[order].astype(np.float64), 6).tolist()
        for of in (found.scores, found.sparse, found.dense, confidence)
    )
    concepts, entries = found.concepts[order].tolist(), found.entries[order].tolist()
    return list(zip(concepts, entries, *numbers, strict=True))


class Order(NamedTuple):
    """What `Ranking` says of them."""

    order: Rows
    confidence: NDArray[np.float64]
    readings: NDArray[np.float64]
    best: Rows


def of_tied_names(
    batch: DescribedBatch, probabilities: Probabilities, names: Mapping[int, int], floor: float
) -> Probabilities:
    """Divide most of "none" and "missed" among the concepts that a text is a name of, equally.

    The dictionary has the text as a name of several concepts: it lacks nothing, and nothing tells
    which of them is meant: of two, neither is more probable than not. Where one of them is an
    answer already, nothing changes.

    Args:
        batch: the candidates.
        probabilities: as the ranker gives them.
        names: of the mentions whose most usual reading is such a name, by their numbers, the row of
            the name.
        floor: the probability that an answer has at least.
    """
    lists = batch.lists
    rows = probabilities.rows.copy()
    readings = probabilities.readings.copy()
    none = probabilities.none.copy()
    missed = probabilities.missed.copy()
    for mention, name in names.items():
        reading = lists.readings[mention]
        lookup = lists.lookups[reading]
        of_text = slice(*lists.rows[lookup : lookup + 2].tolist())
        is_named = batch.found.names[of_text] == name
        best = (rows[of_text] * readings[reading]).max()
        if none[mention] <= NONE * best and best >= floor:
            continue
        divided = _DIVIDED * (none[mention] + missed[mention])
        shares = rows[of_text] * readings[reading] + divided * is_named / is_named.sum()
        readings[reading] += divided
        rows[of_text] = shares / readings[reading]
        none[mention] *= 1 - _DIVIDED
        missed[mention] *= 1 - _DIVIDED
    return replace(probabilities, rows=rows, readings=readings, none=none, missed=missed)


def by_probability(batch: DescribedBatch, probabilities: Probabilities) -> Ranking:
    """Put the candidates in order, and choose the reading of each mention."""
    return Ranking(batch, *ordered(batch.lists, batch.found.concepts, probabilities), probabilities)


def ordered(lists: MatchLists, concepts: Integers, probabilities: Probabilities) -> Order:
    """The order of the candidates of lists, whose concepts are given, (rows,)."""
    sizes, parts = np.diff(lists.rows), np.diff(lists.lookups)
    lookup, mention = owners(lists.rows), owners(lists.readings)
    reading = owners(lists.lookups)[lookup]
    single = np.flatnonzero(parts[reading] == 1)
    joint = probabilities.readings[reading] ** (1 / np.maximum(1, parts[reading]))
    joint *= probabilities.rows
    confidence = joint.copy()
    size = np.int64(concepts.max(initial=0)) + 1
    keys = mention[reading[single]] * size + concepts[single]
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
    return Order(order, confidence, of_reading, choice[lists.readings[:-1]])


def by_score(batch: DescribedBatch) -> Ranking:
    """Leave the candidates in the order of their scores; the most usual readings win."""
    nothing, lists = np.zeros(len(batch.found)), batch.lists
    readings = np.zeros(len(lists.lookups) - 1)
    return Ranking(batch, np.arange(len(nothing)), nothing, readings, lists.readings[:-1], None)

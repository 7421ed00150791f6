"""Requests to a linker, and the predictions that are made of their rankings."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, TypeVar

from linker.candidates.base import Ranked
from linker.confidence.calibration import Calibration, ReadingScores
from linker.confidence.features import DEPTH, Features
from linker.dictionary import Dictionary
from linker.dictionary.short_forms import doubt
from linker.errors import LinkerError
from linker.explanation import Doubt
from linker.text.mentions import Item
from linker.types import (
    Candidate,
    Document,
    Lookup,
    Part,
    Prediction,
    Reading,
    ReadingKind,
    Selection,
)

LIMITS: Mapping[Doubt, float] = {
    "other case": 0.4,
    "short form": 0.4,
    "annotated short form": 0.75,
    "unexplained short form": 0.75,
}
"""The most that a confidence can be where a short form stands without a text that explains it.

From 0.8 on answers are taken without a look, so that all are below. Short forms of a list that
nobody annotated are below one half; of those that were annotated, or stand in a document, 9 of 10
and more are right (benchmarks/accuracy/short_forms.py). The limits are applied to what the
calibration gives, which is fitted without them.
"""
_Item = TypeVar("_Item", bound=Sized)

_REMEMBERED = 10_000  # pairs of a concept and a name, whose texts are cached


@dataclass(frozen=True, slots=True)
class Request:
    """An item to link, with its own number of candidates and its own limits.

    Raises:
        LinkerError: k is below 1, or a limit is no number, or out of its range.
    """

    item: Item
    k: int = 5  # concepts for each part of a mention
    # the confidence that a part needs to be answered; None: the model's default; 0: none
    threshold: float | None = None
    min_score: float | None = None  # candidates with a lower score are left out
    within: Selection | None = None  # the part of the dictionary to answer with; None: the whole

    def __post_init__(self) -> None:
        if self.k < 1:
            raise LinkerError(f"k is {self.k}; expected: 1 or more")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise LinkerError(
                f"the threshold is {self.threshold}; expected: a confidence from 0 to 1 "
                "(a raw score is given by min_score)"
            )
        if self.min_score != self.min_score:
            raise LinkerError("min_score is not a number; give one, or leave it out")


@dataclass(frozen=True, slots=True)
class ReadingLookups:
    """One way to read a mention, with what is looked up for it."""

    kind: ReadingKind
    lookups: Sequence[Lookup]  # one, or one for each part


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request whose mentions have become lookups."""

    request: Request
    document: Document | None  # None for a loose mention
    mentions: Sequence[Sequence[ReadingLookups]]  # the readings of each, the most usual first
    is_compared: bool  # whether answers are compared with others, which confidence depends on

    def __len__(self) -> int:
        return len(self.mentions)

    @property
    def k(self) -> int:
        """How many concepts are ranked for each lookup."""
        return max(self.request.k, DEPTH) if self.is_compared else self.request.k

    @property
    def lookups(self) -> list[Lookup]:
        """All lookups, those of one mention after those of another."""
        return [
            lookup
            for readings in self.mentions
            for reading in readings
            for lookup in reading.lookups
        ]


@dataclass(frozen=True, slots=True)
class RankedReading:
    """One way to read a mention, with the rankings of what was looked up."""

    kind: ReadingKind
    lookups: Sequence[Lookup]
    rankings: Sequence[Ranked]
    scores: ReadingScores
    doubts: Sequence[Doubt | None]  # of each lookup: why its confidence has a limit, if it has one

    def limited(self, parts: Sequence[float]) -> list[float]:
        """The probabilities of its parts, none above its limit; none where it has no answer."""
        if not parts:
            return []
        limits = (1.0 if doubt is None else LIMITS[doubt] for doubt in self.doubts)
        return [min(pair) for pair in zip(parts, limits, strict=True)]


def batches(items: Iterable[_Item], mentions: int) -> Iterator[list[_Item]]:
    """Batches of items, each of at least so many mentions together; the last may be smaller.

    Args:
        items: their length is the number of their mentions.
        mentions: of a batch.
    """
    batch, size = [], 0
    for item in items:
        batch.append(item)
        size += max(1, len(item))  # documents without mentions take memory too
        if size >= mentions:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Answers:
    """Turns rankings into predictions.

    Args:
        dictionary: the dictionary whose rows are ranked.
        features: of answers.
        calibration: gives their probabilities; None: predictions have no confidence.
    """

    def __init__(
        self, dictionary: Dictionary, features: Features, calibration: Calibration | None
    ) -> None:
        self._dictionary, self._features, self.calibration = dictionary, features, calibration
        self._texts = lru_cache(_REMEMBERED)(partial(_texts, dictionary))

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return Answers, (self._dictionary, self._features, self.calibration)

    def read(
        self, prepared: PreparedRequest, rankings: Iterator[Ranked]
    ) -> list[list[RankedReading]]:
        """Put the rankings of a request to the readings of its mentions.

        Args:
            prepared: the request.
            rankings: of `PreparedRequest.lookups`, in order; only these are consumed.
        """
        of_mentions = [
            [list(islice(rankings, len(reading.lookups))) for reading in readings]
            for readings in prepared.mentions
        ]
        usual = [of_readings[0] for of_readings in of_mentions]
        agreement = _Agreement(prepared, usual, self._dictionary)
        result = []
        for readings, of_readings in zip(prepared.mentions, of_mentions, strict=True):
            result.append(
                [
                    RankedReading(
                        reading.kind,
                        reading.lookups,
                        ranked,
                        self._scores(reading, ranked, reading is readings[0], agreement)
                        if prepared.is_compared
                        else ReadingScores([], reading.kind),
                        [
                            self._doubt(lookup, of_lookup, agreement)
                            for lookup, of_lookup in zip(reading.lookups, ranked, strict=True)
                        ],
                    )
                    for reading, ranked in zip(readings, of_readings, strict=True)
                ]
            )
        return result

    def _doubt(self, lookup: Lookup, ranked: Ranked, others: _Agreement) -> Doubt | None:
        """Why nobody can be sure of the first concept of a lookup; None where nothing is open.

        A short form is explained where the document defines it, or another mention names the
        concept in full.
        """
        if lookup.expanded is not None or not len(ranked):
            return None
        concept = int(ranked.concepts[0])
        reason = doubt(self._dictionary, lookup.text, concept)
        if reason is None or reason == "other case" or others.is_loose:
            return reason
        return None if concept in others.in_full else "unexplained short form"

    def _scores(
        self, reading: ReadingLookups, rankings: Sequence[Ranked], usual: bool, others: _Agreement
    ) -> ReadingScores:
        """What the calibration sees of a reading; nothing where a part has no candidate."""
        pairs = list(zip(reading.lookups, rankings, strict=True))
        if not all(len(ranked) for _, ranked in pairs):
            return ReadingScores([], reading.kind)
        values = [
            self._features.of_answer(
                lookup, ranked, reading.kind, usual, others.agrees(lookup, ranked)
            )
            for lookup, ranked in pairs
        ]
        return ReadingScores(values, reading.kind)

    def predictions(
        self, batch: Sequence[PreparedRequest], read: Sequence[Sequence[Sequence[RankedReading]]]
    ) -> Iterator[list[Prediction]]:
        """The predictions of the mentions of each request.

        Args:
            batch: the requests.
            read: the ranked readings of each mention of each request.
        """
        if self.calibration is None:
            for prepared, mentions in zip(batch, read, strict=True):
                yield [self._prediction(prepared, r, 0, [None] * len(r)) for r in mentions]
            return
        readings = [[r.scores for r in mention] for mentions in read for mention in mentions]
        probabilities = iter(self.calibration.probabilities(readings))
        for prepared, mentions in zip(batch, read, strict=True):
            predictions = []
            for mention in mentions:
                parts = list(islice(probabilities, len(mention)))
                best = self.calibration.chosen([reading.scores for reading in mention], parts)
                limited = [r.limited(own) for r, own in zip(mention, parts, strict=True)]
                predictions.append(self._prediction(prepared, mention, best, limited))
            yield predictions

    def _prediction(
        self,
        prepared: PreparedRequest,
        readings: Sequence[RankedReading],
        best: int,
        parts: Sequence[Sequence[float] | None],
    ) -> Prediction:
        """The prediction of a mention.

        Args:
            prepared: the request.
            readings: of the mention.
            best: the place of the one that is taken.
            parts: the probabilities of the parts of each reading; None without a calibration.
        """
        of_reading = [
            None if own is None else round(math.prod(own), 6) if own else 0.0 for own in parts
        ]
        first = readings[best]
        rivals: tuple[Reading, ...] = ()
        if len(readings) > 1:
            place = max(
                (place for place in range(len(readings)) if place != best),
                key=lambda place: of_reading[place] or 0.0,
            )
            second = readings[place]
            answers = self._parts(prepared.request, second, parts[place], 1)
            rivals = (Reading(second.kind, answers, of_reading[place]),)
        return Prediction(
            first.lookups[0].mention,
            self._parts(prepared.request, first, parts[best], prepared.request.k),
            first.kind,
            rivals,
        )

    def _parts(
        self,
        request: Request,
        reading: RankedReading,
        probabilities: Sequence[float] | None,
        k: int,
    ) -> tuple[Part, ...]:
        whole = len(reading.lookups) == 1
        of_parts: list[float | None] = [None] * len(reading.lookups)
        if probabilities:
            of_parts = list(probabilities)
        parts = []
        for lookup, ranked, first in zip(reading.lookups, reading.rankings, of_parts, strict=True):
            spans = lookup.mention.spans if whole else ()
            candidates = self._candidates(ranked[:k], first)
            kept, rejected = self._answered(request, candidates)
            parts.append(
                Part(lookup.text, lookup.expanded, spans, kept, nil=not kept, rejected=rejected)
            )
        return tuple(parts)

    def _answered(
        self, request: Request, candidates: Sequence[Candidate]
    ) -> tuple[tuple[Candidate, ...], Candidate | None]:
        """The candidates that are returned, and the best one where none is."""
        kept = tuple(
            candidate
            for candidate in candidates
            if request.min_score is None or candidate.score >= request.min_score
        )
        if not kept:
            return (), candidates[0] if candidates else None
        threshold = request.threshold
        if threshold is None:
            threshold = self.calibration.threshold if self.calibration else 0.0
        confidence = kept[0].confidence
        if confidence is None or confidence >= threshold:
            return kept, None
        return (), kept[0]

    def _candidates(self, ranked: Ranked, first: float | None) -> list[Candidate]:
        """The candidates of a part, given the probability of the first one."""
        parts = (ranked.scores, ranked.sparse, ranked.dense)
        scores = [  # float32 holds no more than six digits
            [None] * len(ranked) if part is None else [round(v, 6) for v in part.tolist()]
            for part in parts
        ]
        rows = zip(
            ranked.concepts.tolist(),
            ranked.entries.tolist(),
            *scores,
            self._confidences(ranked, first),
            strict=True,
        )
        candidates = []
        for concept, entry, score, sparse, dense, confidence in rows:
            identifier, name, matched, source = self._texts(concept, entry)
            candidates.append(
                Candidate(identifier, name, matched, score, sparse, dense, source, confidence)
            )
        return candidates

    def _confidences(self, ranked: Ranked, first: float | None) -> list[float | None]:
        """The probability of each candidate, given that of the first one."""
        if first is None or self.calibration is None or not len(ranked):
            return [None] * len(ranked)
        shares = self.calibration.later.shares(ranked.scores[1:].tolist())
        return [round(first, 6), *[round(min(first, (1 - first) * s), 6) for s in shares]]


class _Agreement:
    """Which concepts come first for the mentions of a document.

    Args:
        prepared: a request.
        rankings: of the lookups of the usual reading of each of its mentions.
        dictionary: whose concepts are ranked.
    """

    def __init__(
        self,
        prepared: PreparedRequest,
        rankings: Iterable[Sequence[Ranked]],
        dictionary: Dictionary,
    ) -> None:
        self._forms: Mapping[int, set[str]] = {}
        self.is_loose = prepared.document is None
        self.in_full: set[int] = set()  # concepts that mentions name without a short form
        if self.is_loose:
            return
        self._forms = defaultdict(set)
        lookups = chain.from_iterable(readings[0].lookups for readings in prepared.mentions)
        for lookup, ranked in zip(lookups, chain.from_iterable(rankings), strict=True):
            if len(ranked):
                concept = int(ranked.concepts[0])
                self._forms[concept].add(lookup.normalized)
                if doubt(dictionary, lookup.expanded or lookup.text, concept) is None:
                    self.in_full.add(concept)

    def agrees(self, lookup: Lookup, ranked: Ranked) -> bool:
        """Whether another form than this one has the same first concept in the document."""
        forms = self._forms.get(int(ranked.concepts[0]), ())
        return len(forms) > (lookup.normalized in forms)


def _texts(dictionary: Dictionary, concept: int, entry: int) -> tuple[str, str, str, str]:
    """The id of a concept, its preferred name, a name as it is written, and the file that lent it.

    The file is empty for a name of the dictionary's own.
    """
    return (
        dictionary.ids[concept],
        dictionary.preferred_name(concept),
        dictionary.names[entry],
        dictionary.lender(entry),
    )

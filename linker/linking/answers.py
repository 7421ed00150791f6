"""From the readings of mentions to predictions: candidates, the ranker, what is returned."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.candidates.base import Generator, Ranked
from linker.candidates.concepts import Candidates
from linker.dictionary import Dictionary
from linker.dictionary.finding import doubt
from linker.explanation import Doubt
from linker.linking.lists import DEPTH, Batch, Read, described, found
from linker.linking.requests import Request
from linker.ranker.matches import Matches
from linker.ranker.ranker import Probabilities, Ranker, Rows
from linker.text.readings import Wording
from linker.types import Candidate, Lookup, Mention, Part, Prediction, Reading

LIMITS: Mapping[Doubt, float] = {
    "other case": 0.4,
    "short form": 0.4,
    "annotated short form": 0.75,
    "unexplained short form": 0.75,
}
"""The most that a confidence can be where a short form stands without a text that explains it.

From 0.8 on answers are taken without a look, so that all are below. Short forms of a list that
nobody annotated are below one half; of those that were annotated, or stand in a document, 9 of 10
and more are right (benchmarks/accuracy/short_forms.py). The ranker is fitted without the limits.
"""
_REMEMBERED = 10_000  # pairs of a concept and a name, whose texts are cached


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of one mention while it is linked."""

    request: Request
    mention: Mention
    read: Read


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
    def columns(self) -> list[_Row]:
        """What candidates are made of, in order: rows of concept and name, scores, confidence."""
        found, order = self.batch.found, self.order
        confidence = self.confidence if self.probabilities else None
        return _rows(found.concepts, found.entries, found, confidence, order)


_Row = tuple[int, int, float, float | None, float | None, float | None]


def _rows(
    concepts: NDArray[Any],
    entries: NDArray[Any],
    scores: Candidates | Ranked,
    confidence: NDArray[Any] | None,
    order: Rows,
) -> list[_Row]:
    """Candidates in an order, with numbers of six decimals: float32 holds no more."""
    numbers = (
        [None] * len(order) if of is None else np.round(of[order].astype(np.float64), 6).tolist()
        for of in (scores.scores, scores.sparse, scores.dense, confidence)
    )
    return list(zip(concepts[order].tolist(), entries[order].tolist(), *numbers, strict=True))


def ranked(batch: Batch, probabilities: Probabilities) -> Ranking:
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


class Answers:
    """Turns what is read of mentions into predictions.

    Args:
        dictionary: the concepts.
        generator: finds candidates among their names.
        matches: describes them; None without a ranker.
        ranker: says how probable they are; None: they stay in the order of their scores, the most
            usual reading is taken, and predictions have no confidence.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        generator: Generator,
        matches: Matches | None,
        ranker: Ranker | None,
    ) -> None:
        self._dictionary, self._generator = dictionary, generator
        self._matches, self.ranker = matches, ranker
        self._texts = lru_cache(_REMEMBERED)(partial(_texts, dictionary))

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return Answers, (self._dictionary, self._generator, self._matches, self.ranker)

    def batch(self, mentions: Sequence[Read]) -> Batch:
        """The candidates of some mentions, described where there is a ranker."""
        if self._matches is None:
            return found(mentions, self._generator)
        return described(mentions, self._generator, self._matches)

    def ranking(self, mentions: Sequence[Read]) -> Ranking:
        """The candidates of some mentions, in order."""
        batch = self.batch(mentions)
        if self.ranker is not None:
            return ranked(batch, self.ranker.probabilities(batch.lists))
        lists = batch.lists
        nothing = np.zeros(len(batch.found))
        return Ranking(
            batch,
            np.arange(len(batch.found)),
            nothing,
            np.zeros(len(lists.lookups) - 1),
            lists.readings[:-1],
            None,
        )

    def ranked(self, answers: Sequence[Answer]) -> Ranking:
        """As `ranking`, with the further candidates that requests want of the winning readings."""
        ranking = self.ranking([answer.read for answer in answers])
        starts = ranking.batch.lists.readings.tolist()
        wanted: dict[int, dict[str, None]] = defaultdict(dict)  # by how many candidates
        for answer, best, start in zip(answers, ranking.best.tolist(), starts, strict=False):
            if answer.request.k > DEPTH:
                forms = answer.read.readings[best - start].forms
                wanted[answer.request.k] |= dict.fromkeys(forms)
        deeper: dict[str, Ranked] = {}
        for k, forms in sorted(wanted.items()):
            lookups = [Lookup.of(form) for form in forms]
            deeper |= zip(forms, self._generator.rank(lookups, k, "concepts"), strict=True)
        return replace(ranking, deeper=deeper)

    def predictions(self, answers: Sequence[Answer]) -> Iterator[Prediction]:
        """The prediction of each mention."""
        if not answers:
            return
        ranking = self.ranked(answers)
        explained = self.explained(answers, ranking)
        for place, answer in enumerate(answers):
            yield self._prediction(answer, place, ranking, explained.get(answer.read.document))

    def with_names(self, mentions: Sequence[Read], names: Sequence[Ranked]) -> list[Ranked]:
        """Names in the order of the probabilities of their concepts.

        First come the best names of each concept, one of each, then the others as they stand.

        Args:
            mentions: each in one reading of one part.
            names: the names of each, in the order of their scores.
        """
        ranking, table, result = self.ranking(mentions), self._generator.table, []
        for lookup, of_one in enumerate(names):
            rows = ranking.rows(lookup)
            concepts = ranking.batch.found.concepts[rows].tolist()
            probability = dict(zip(concepts, ranking.confidence[rows].tolist(), strict=True))
            seen: set[int] = set()
            places = []
            for place, name in enumerate(of_one.names.tolist()):
                own = table.concepts_of(name).tolist()
                concept = max(own, key=lambda row: probability.get(row, 0.0))
                is_other = concept in seen
                places.append((is_other, is_other or -probability.get(concept, 0.0), place))
                seen.add(concept)
            result.append(of_one[np.array([place for *_, place in sorted(places)], np.int64)])
        return result

    def _prediction(
        self, answer: Answer, place: int, ranking: Ranking, explained: frozenset[int] | None
    ) -> Prediction:
        """The prediction of the mention at a place of the batch.

        Args:
            answer: the mention.
            place: of it.
            ranking: of the batch.
            explained: the concepts that its document names in full; None: it has no document.
        """
        start, end = ranking.batch.lists.readings[place : place + 2].tolist()
        best = int(ranking.best[place])
        first = answer.read.readings[best - start]
        is_none = self.is_none(ranking, place) and answer.request.threshold is None
        parts = self.parts(answer, ranking, best, first, explained, is_none)
        rivals: tuple[Reading, ...] = ()
        if end - start > 1:
            others = (row for row in range(start, end) if row != best)
            second = max(others, key=lambda row: ranking.readings[row])
            way = answer.read.readings[second - start]
            of_second = self.parts(answer, ranking, second, way, explained, False, 1)
            confidences = [part.confidence for part in of_second]
            known = [confidence for confidence in confidences if confidence is not None]
            full = len(known) == len(confidences)
            rivals = (Reading(way.kind, of_second, round(math.prod(known), 6) if full else 0.0),)
        return Prediction(answer.mention, parts, first.kind, rivals)

    def is_none(self, ranking: Ranking, place: int) -> bool:
        """Whether that a mention has no concept is more probable than all else."""
        if ranking.probabilities is None:
            return False
        none, missed = ranking.probabilities.none[place], ranking.probabilities.missed[place]
        return bool(none > max(missed, ranking.readings[ranking.best[place]]))

    def parts(
        self,
        answer: Answer,
        ranking: Ranking,
        reading: int,
        way: Wording,
        explained: frozenset[int] | None,
        is_none: bool,
        k: int = 0,
    ) -> tuple[Part, ...]:
        """The parts of a mention in one of its readings, with k candidates each.

        Args:
            answer: the mention.
            ranking: of the batch.
            reading: the number of the reading.
            way: the reading.
            explained: as in `_prediction`.
            is_none: whether nothing is answered.
            k: of candidates; 0: as many as the request wants.
        """
        lookup = int(ranking.batch.lists.lookups[reading])
        is_expanded = way.kind == "expanded"
        parts = []
        for place, (form, text) in enumerate(zip(way.forms, way.texts, strict=True)):
            shown, expanded = (answer.mention.text, text) if is_expanded else (text, None)
            rows = ranking.rows(lookup + place)
            why = self.doubt(shown, expanded, ranking, rows, explained)
            limit = 1.0 if why is None else LIMITS[why]
            candidates = self._candidates(
                ranking, lookup + place, form, k or answer.request.k, limit
            )
            kept, rejected = _answered(answer.request, candidates, is_none)
            spans = answer.mention.spans if len(way.texts) == 1 else ()
            parts.append(Part(shown, expanded, spans, kept, nil=not kept, rejected=rejected))
        return tuple(parts)

    def doubt(
        self,
        text: str,
        expanded: str | None,
        ranking: Ranking,
        rows: Rows,
        explained: frozenset[int] | None,
    ) -> Doubt | None:
        """Why nobody can be sure of the first concept of a text; None where nothing is open.

        A short form is explained where the document defines it, or another mention names the
        concept in full.
        """
        if expanded is not None or not len(rows):
            return None
        concept = int(ranking.batch.found.concepts[rows[0]])
        reason = doubt(self._dictionary, text, concept)
        if reason is None or reason == "other case" or explained is None:
            return reason
        return None if concept in explained else "unexplained short form"

    def explained(
        self, answers: Sequence[Answer], ranking: Ranking
    ) -> Mapping[int, frozenset[int]]:
        """For each document of a batch the concepts that a mention names without a short form."""
        concepts: dict[int, set[int]] = defaultdict(set)
        lists = ranking.batch.lists
        for answer, reading in zip(answers, lists.readings.tolist(), strict=False):
            if answer.read.document < 0:
                continue
            of_document = concepts[answer.read.document]
            for place, text in enumerate(answer.read.readings[0].texts):
                rows = ranking.rows(int(lists.lookups[reading]) + place)
                if len(rows):
                    concept = int(ranking.batch.found.concepts[rows[0]])
                    if concept not in of_document and not doubt(self._dictionary, text, concept):
                        of_document.add(concept)
        return {document: frozenset(of_one) for document, of_one in concepts.items()}

    def candidates_of(self, ranking: Ranking, rows: Rows, form: str) -> Ranked:
        """The candidates of a text; those that the ranker did not see come last."""
        found = ranking.batch.found
        columns = found.names, found.concepts, found.entries, found.scores, found.sparse
        ranked = Ranked(*(None if c is None else c[rows] for c in (*columns, found.dense)))  # type: ignore[arg-type]
        return ranked.followed_by(ranking.deeper[form]) if form in ranking.deeper else ranked

    def _candidates(
        self, ranking: Ranking, lookup: int, form: str, k: int, limit: float
    ) -> list[Candidate]:
        """The k best candidates of a text; no confidence is above the limit."""
        start = int(ranking.batch.lists.rows[lookup])
        rows = ranking.columns[
            start : start + min(k, int(ranking.batch.lists.rows[lookup + 1]) - start)
        ]
        if len(rows) < k and form in ranking.deeper:
            best = self.candidates_of(ranking, ranking.rows(lookup), form)
            behind = np.arange(len(rows), min(k, len(best)))
            unseen = np.zeros(len(best)) if ranking.probabilities else None
            rows = rows + _rows(best.concepts, best.entries, best, unseen, behind)
        candidates = []
        for concept, entry, score, sparse, dense, confidence in rows:
            identifier, name, matched, lender = self._texts(concept, entry)
            if confidence is not None and confidence > limit:
                confidence = limit
            candidates.append(
                Candidate(identifier, name, matched, score, sparse, dense, lender, confidence)
            )
        return candidates


def _answered(
    request: Request, candidates: Sequence[Candidate], is_none: bool
) -> tuple[tuple[Candidate, ...], Candidate | None]:
    """The candidates that are returned, and the best one where none is."""
    kept = tuple(
        candidate
        for candidate in candidates
        if request.min_score is None or candidate.score >= request.min_score
    )
    if not kept:
        return (), candidates[0] if candidates else None
    confidence, least = kept[0].confidence, request.threshold or 0.0
    if is_none or (confidence is not None and confidence < least):
        return (), kept[0]
    return kept, None


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

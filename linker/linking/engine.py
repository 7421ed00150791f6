"""Engine: links the mentions that one part of the dictionary may answer.

readings (the ways to read a mention) → candidates (concepts whose names are alike) → matches (each
candidate described in columns) → ranker (their order, and how probable each one and "none" are)
→ prediction → decisions of people.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from linker import cancelling
from linker.candidates.base import Generator
from linker.candidates.concepts import Candidates
from linker.candidates.respelling import Respelling
from linker.dictionary import Dictionary
from linker.dictionary.finding import Doubt, doubt
from linker.linking.folder import Seen
from linker.linking.ranking import DEPTH, Ranking, batch_of, by_probability, by_score, cells
from linker.linking.requests import Answer, Request, Restrictions
from linker.options import LinkerOptions
from linker.ranker.matches import Matches
from linker.ranker.ranker import Ranker, Rows
from linker.ranker.words import Words
from linker.text.assertion import stronger
from linker.text.cells import CellPart
from linker.text.mentions import Definitions
from linker.text.readings import NameForms, PartWording, Reader, Wording
from linker.text.short_forms import ShortForms
from linker.types import Candidate, Mention, Part, Prediction, Reading

LIMITS: Mapping[Doubt, float] = {
    "other case": 0.4,
    "short form": 0.4,
    "annotated short form": 0.75,
    "unexplained short form": 0.75,
    "listed short form": 0.75,
}
"""The most that a confidence can be where a short form stands without a text that explains it.

From 0.8 on answers are taken without a look, so that all are below. Short forms of a list that
nobody annotated are below one half; of those that were annotated, or stand in a document, 9 of 10
and more are right (benchmarks/accuracy/short_forms.py). The ranker is fitted without the limits.
"""
FLOOR = 0.05
"""The confidence below which an answer is none, where no other threshold is asked for."""
NONE = 0.5
"""How probable "no concept" must be to be the answer, where no threshold is asked for."""
_REMEMBERED = 10_000  # pairs of a concept and a name, whose texts are cached


class Engine:
    """A dictionary, or a part of it, with all that its mentions are linked by.

    Args:
        dictionary: the concepts.
        generator: finds the names that are like a mention.
        options: how mentions are read, among others.
        normalize: gives the form of a text that is looked up.
        seen: what was trained on.
        short_forms: of mentions without a document that explains them.
        ranker: None: candidates are ordered by score.
        words: of the names; None where there is no ranker.
        restrictions: that make the part.
        whole: that this is a part of; None: this is no part.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        generator: Generator,
        options: LinkerOptions,
        *,
        normalize: Callable[[str], str],
        seen: Seen,
        short_forms: ShortForms,
        ranker: Ranker | None = None,
        words: Words | None = None,
        restrictions: Restrictions = (),
        whole: Engine | None = None,
    ) -> None:
        self.dictionary, self.generator, self.ranker = dictionary, generator, ranker
        self.options, self.normalize, self.seen = options, normalize, seen
        self.restrictions, self.whole, table = restrictions, whole, generator.table
        self.matches = None
        if ranker and words is not None:  # without a ranker nothing looks at the words
            weight = getattr(generator, "sparse_weight", 1.0)
            self.matches = Matches(dictionary, table, words, weight)
        self._texts = lru_cache(_REMEMBERED)(partial(_texts, dictionary))
        respelling, known = Respelling(table), (words or ()).__contains__
        names = NameForms(
            table, normalize, lambda form: respelling.respelt(form, known, table.__contains__)
        )
        # without a ranker no confidence weighs other ways to read
        self._reader = Reader(names, options.text, short_forms, ranker is not None)

    @cached_property
    def linkable(self) -> NDArray[np.int32]:
        """The rows of the concepts that can be answered with."""
        return np.unique(self.generator.table.concepts)

    def link(self, answers: Sequence[Answer]) -> None:
        """Predict the concepts of each mention; decisions of people win."""
        divided = self.divide(answers)
        names = [name for of_one in divided for name in of_one]
        ranking = self.ranking(names)
        in_full = self.in_full(names, ranking)
        predictions = (
            self._prediction(name, place, ranking, in_full.get(name.number))
            for place, name in enumerate(names)
        )
        for answer, of_one in zip(answers, divided, strict=True):
            request = answer.request
            prediction = _together(answer.mention, [*islice(predictions, len(of_one))])
            if answer.span:
                prediction = answer.span.scaled(prediction)
            if request.decisions:
                prediction = request.decisions.apply(
                    prediction,
                    answer.ruling,
                    self.linkable,
                    k=request.k,
                    threshold=request.found.threshold if request.found else request.threshold,
                )
            if request.also:
                prediction = self._with_also(prediction, request.also)
            answer.prediction = prediction

    def _with_also(self, prediction: Prediction, vocabularies: Sequence[str]) -> Prediction:
        """The prediction whose candidates have the ids of other vocabularies."""

        def referred(candidate: Candidate) -> Candidate:
            row = self.dictionary.rows(candidate.concept_id)[0]
            return replace(candidate, also=self.dictionary.also(row, vocabularies))

        parts = (
            replace(
                part,
                candidates=tuple(map(referred, part.candidates)),
                rejected=part.rejected and referred(part.rejected),
            )
            for part in prediction.parts
        )
        return replace(prediction, parts=tuple(parts))

    def ranking(self, answers: Sequence[Answer]) -> Ranking:
        """Read some mentions of a batch, and rank their candidates."""
        self.read(answers)
        ranking = self._ranked(answers)
        if self.ranker:
            outside = np.array([float(answer.is_empty) for answer in answers])
            if self.whole:
                outside = np.maximum(outside, self._outside(self.whole, answers))
            ranking = ranking.less(outside)
        return self._deepened(answers, ranking)

    def _outside(self, whole: Engine, answers: Sequence[Answer]) -> NDArray[np.float64]:
        """How probable it is that a concept outside of the part is meant, (mentions,).

        Of each text those count that the whole dictionary finds more probable than all of the part.
        One that the part has, too, does not: by the name that is matched, or by a cross-reference.
        """
        outside, table = np.zeros(len(answers)), self.generator.table
        asked = [  # what is a name of the part is in the part
            place
            for place, answer in enumerate(answers)
            if not all(form in table for form in answer.readings[0].forms)
        ]
        if not asked:
            return outside
        again = [replace(answers[place], name=None) for place in asked]
        whole.read(again)
        ranking = whole._ranked(again)
        lists, found, order = ranking.batch.lists, ranking.batch.found, ranking.order
        concepts, names = self._inside
        is_inside = (concepts[found.concepts] | names[found.names])[order]
        inside = np.append(0, np.cumsum(is_inside))  # of the candidates up to each one
        sizes = np.diff(lists.rows)
        is_before = inside[1:] == np.repeat(inside[lists.rows[:-1]], sizes)
        of_text = np.repeat(np.arange(len(sizes)), sizes)[is_before]
        better = np.bincount(of_text, ranking.confidence[order][is_before], len(sizes))
        left = np.multiply.reduceat(np.maximum(0, 1 - better), lists.lookups[:-1])
        outside[asked] = 1 - left[ranking.best]
        return outside

    @cached_property
    def _inside(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which concepts, and which names of the whole dictionary, this part has.

        A concept counts, too, that refers to one of the part, or is referred to: it is the same in
        another vocabulary.
        """
        whole = self.whole or self
        table, own = whole.generator.table, np.zeros(len(self.dictionary), bool)
        own[self.linkable] = True
        concepts, names = own.copy(), np.zeros(len(table), bool)
        first, second = self.dictionary.references_within.T
        concepts[first[own[second]]] = True
        concepts[second[own[first]]] = True
        names[table.naming(own)] = True
        return concepts, names

    def is_name(self, text: str) -> bool:
        """Whether a text, however it is written, is a name of the dictionary."""
        return self._reader.names.is_name(text)

    def divide(self, answers: Sequence[Answer]) -> list[list[Answer]]:
        """The names of each mention as mentions of their own; those of most have one."""
        known: dict[tuple[int, str], list[CellPart]] = {}  # documents repeat their mentions
        divided = []
        for answer in answers:
            key = answer.number, answer.text
            if (names := known.get(key)) is None:
                names = known[key] = self._reader.divide(answer.text, _definitions(answer))
            if len(names) < 2:
                answer.name = names[0] if names else None
                divided.append([answer])
            else:
                divided.append(
                    [replace(answer, mention=Mention(n.text), name=n, span=None) for n in names]
                )
        return divided

    def read(self, answers: Sequence[Answer]) -> None:
        """Find the ways to read each mention."""
        known: dict[tuple[int, str, CellPart | None], list[Wording]] = {}
        for answer in answers:
            cancelling.check()
            key = answer.number, answer.text, answer.name
            if (readings := known.get(key)) is None:
                given = _definitions(answer)
                names = [answer.name] if answer.name else self._reader.divide(answer.text, given)
                readings = known[key] = self._reader.of_names(names, given)
            answer.is_empty = not readings
            answer.readings = readings or [self._as_written(answer.text)]
            form = answer.readings[0].forms[0]
            answer.without = math.log1p(self.seen.without_concept.get(form, 0))

    def _as_written(self, text: str) -> Wording:
        """A text looked up as it is."""
        return Wording("whole", (PartWording(text, None, self.normalize(text)),))

    def _ranked(self, answers: Sequence[Answer]) -> Ranking:
        """Put the candidates of mentions that were read in order."""
        batch = batch_of(answers, self.generator, self.matches)
        if self.ranker is None:
            return by_score(batch)
        return by_probability(batch, self.ranker.probabilities(batch.lists))

    def _deepened(self, answers: Sequence[Answer], ranking: Ranking) -> Ranking:
        """Add further candidates of the readings that won, where more are wanted."""
        starts = ranking.batch.lists.readings.tolist()
        wanted: dict[int, dict[str, None]] = defaultdict(dict)  # by how many candidates
        for answer, best, start in zip(answers, ranking.best.tolist(), starts, strict=False):
            if answer.k > DEPTH:
                wanted[answer.k] |= dict.fromkeys(answer.readings[best - start].forms)
        deeper: dict[str, Candidates] = {}
        for k, forms in sorted(wanted.items()):
            deeper |= zip(forms, self.generator.rank(list(forms), k, "concepts"), strict=True)
        return replace(ranking, deeper=deeper)

    def names(self, texts: Sequence[str], names: int) -> list[Candidates]:
        """The best names of each text, by the order of their concepts.

        First comes the best name of each concept, as the ranker orders these, then the others in
        the order of their scores.

        Args:
            texts: each is read as it is written.
            names: that are ordered for each.
        """
        forms = [self.normalize(text) for text in texts]
        found = self.generator.rank(forms, names, "names")
        if self.ranker is None:
            return found
        answers = [
            Answer(Request(text), Mention(text), readings=[self._as_written(text)])
            for text in texts
        ]
        ranking, table, result = self._ranked(answers), self.generator.table, []
        for lookup, of_one in enumerate(found):
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
            result.append(of_one.only(np.array([place for *_, place in sorted(places)], np.int64)))
        return result

    def _prediction(
        self, answer: Answer, place: int, ranking: Ranking, in_full: frozenset[int] | None
    ) -> Prediction:
        """The prediction of the model for the mention at a place of the batch.

        Args:
            answer: the mention.
            place: of it.
            ranking: of the batch.
            in_full: the concepts that its document names in full; None: it has no document.
        """
        start, end = ranking.batch.lists.readings[place : place + 2].tolist()
        best = int(ranking.best[place])
        kind = answer.readings[best - start].kind
        is_none = names_no_concept(answer, ranking, place)
        parts = self._parts(answer, ranking, best - start, best, in_full, answer.k)
        parts = tuple(_answered(answer.request, part, is_none) for part in parts)
        if end - start == 1:
            return Prediction(answer.mention, parts, kind)
        others = (row for row in range(start, end) if row != best)
        second = max(others, key=lambda row: ranking.readings[row])
        of_second = self._parts(answer, ranking, second - start, second, in_full, 1)
        of_second = tuple(_answered(answer.request, part, False) for part in of_second)
        known = [part.confidence for part in of_second if part.confidence is not None]
        confidence = round(math.prod(known), 6) if len(known) == len(of_second) else 0.0
        rival = Reading(answer.readings[second - start].kind, of_second, confidence)
        return Prediction(answer.mention, parts, kind, (rival,))

    def _parts(
        self,
        answer: Answer,
        ranking: Ranking,
        number: int,
        reading: int,
        in_full: frozenset[int] | None,
        k: int,
    ) -> tuple[Part, ...]:
        """The parts of a mention in one of its readings, with all candidates.

        Args:
            answer: the mention.
            ranking: of the batch.
            number: of the reading among those of the mention.
            reading: its number among those of the batch.
            in_full: as in `_prediction`.
            k: candidates of each part.
        """
        way, parts = answer.readings[number], []
        lookup = int(ranking.batch.lists.lookups[reading])
        spans = answer.mention.spans if len(way.parts) == 1 else ()
        for i, part in enumerate(way.parts, lookup):
            why = self.doubt(part, ranking, ranking.rows(i), in_full)
            candidates = self._candidates(ranking, i, part.form, k, LIMITS[why] if why else 1.0)
            said = stronger(part.assertion, answer.assertion)
            parts.append(Part(part.text, part.expanded, spans, tuple(candidates), assertion=said))
        return tuple(parts)

    def doubt(
        self,
        part: PartWording,
        ranking: Ranking,
        rows: Rows,
        in_full: frozenset[int] | None,
    ) -> Doubt | None:
        """Why nobody can be sure of the first concept of a text; None where nothing is open.

        A short form is explained where the document defines it, or another mention names the
        concept in full.
        """
        if part.is_listed:
            return "listed short form"
        if part.expanded is not None or not len(rows):
            return None
        concept = int(ranking.batch.found.concepts[rows[0]])
        reason = doubt(self.dictionary, part.text, concept)
        if reason is None or reason == "other case":
            return reason
        if in_full is not None:
            return None if concept in in_full else "unexplained short form"
        table = self.generator.table
        long = self.normalize(self._reader.short_forms.expand(part.text))
        is_listed = long in table and concept in table.concepts_of(table.row(long))
        return "listed short form" if is_listed and long != part.form else reason

    def in_full(self, answers: Sequence[Answer], ranking: Ranking) -> Mapping[int, frozenset[int]]:
        """For each document of a batch the concepts that a mention names without a short form."""
        concepts: dict[int, set[int]] = defaultdict(set)
        lists = ranking.batch.lists
        for answer, reading in zip(answers, lists.readings.tolist(), strict=False):
            if answer.number < 0:
                continue
            of_document = concepts[answer.number]
            for place, text in enumerate(answer.readings[0].texts):
                rows = ranking.rows(int(lists.lookups[reading]) + place)
                if len(rows):
                    concept = int(ranking.batch.found.concepts[rows[0]])
                    if concept not in of_document and not doubt(self.dictionary, text, concept):
                        of_document.add(concept)
        return {document: frozenset(of_one) for document, of_one in concepts.items()}

    def candidates_of(self, ranking: Ranking, rows: Rows, form: str) -> Candidates:
        """The candidates of a text; those that the ranker did not see come last."""
        ranked = ranking.batch.found.only(rows)
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
            rows = rows + cells(best, unseen, behind)
        candidates = []
        for concept, entry, score, sparse, dense, confidence in rows:
            identifier, name, matched, lender = self._texts(concept, entry)
            if confidence is not None and confidence > limit:
                confidence = limit
            candidates.append(
                Candidate(identifier, name, matched, score, sparse, dense, lender, confidence)
            )
        return candidates


def names_no_concept(answer: Answer, ranking: Ranking, place: int) -> bool:
    """Whether nothing was entered, or, where no threshold is asked for, "no concept" is likely."""
    if answer.is_empty or answer.request.threshold is not None or ranking.probabilities is None:
        return answer.is_empty
    return bool(ranking.probabilities.none[place] > NONE)


def _definitions(answer: Answer) -> Definitions | None:
    """The short forms of the document of a mention; None: it has no document."""
    return answer.definitions if answer.document else None


def _together(mention: Mention, names: Sequence[Prediction]) -> Prediction:
    """The prediction of a mention, given those of its names."""
    if len(names) == 1:
        return names[0]
    return Prediction(mention, tuple(part for name in names for part in name.parts), "split")


def _answered(request: Request, part: Part, is_none: bool) -> Part:
    """A part with its candidates; one that is `nil` keeps them, and the best one is `rejected`."""
    kept = tuple(
        candidate
        for candidate in part.candidates
        if request.min_score is None or candidate.score >= request.min_score
    )
    best, least = (*kept, *part.candidates, None)[0], request.threshold
    if least is None:
        least = FLOOR
    is_unsure = bool(kept) and kept[0].confidence is not None and kept[0].confidence < least
    if kept and not is_none and not is_unsure:
        return part if len(kept) == len(part.candidates) else replace(part, candidates=kept)
    return replace(part, candidates=kept, nil=True, rejected=best)


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

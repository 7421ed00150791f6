"""Engine: links the mentions that one part of the dictionary may answer.

readings (the ways to read a mention) → candidates (concepts whose names are alike) → matches (each
candidate described in columns) → ranker (their order, and how probable each one and "none" are)
→ prediction → decisions of people.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.lookup import Doubt, doubt
from linker.errors import check_wanted
from linker.io.outputs import UNSURE
from linker.linking.ancestors import Ancestors
from linker.linking.broader import narrowest
from linker.linking.calibration import answers_of
from linker.linking.lengthening import Lengthening
from linker.linking.lists import PLACE
from linker.linking.matches import Matches
from linker.linking.ranking import (
    DEPTH,
    DescribedBatch,
    Ranking,
    batch_of,
    by_probability,
    by_score,
    of_tied_names,
)
from linker.linking.requests import Answer, Request, with_candidates
from linker.records import Broader, Candidate, Mention, Part, Prediction, Reading
from linker.search.concepts import Candidates
from linker.search.respelling import Respelling
from linker.text.assertion import stronger
from linker.text.british import Spellings
from linker.text.cells import CellPart
from linker.text.demands import Demand
from linker.text.everyday import SOURCE, shipped
from linker.text.mentions import Definitions
from linker.text.modifiers import Modifiers
from linker.text.readings import NameForms, PartWording, Reader, Wording
from linker.text.things import adds_direction, says_more, thing
from linker.text.word_forms import are_other_words, has_other_word, shares_words

if TYPE_CHECKING:
    from linker.linking.linker import Linker

LIMITS: dict[Doubt, float] = {
    "other case": 0.4,
    "short form": 0.4,
    "annotated short form": 0.75,
    "unexplained short form": 0.75,
    "listed short form": 0.75,
    "several meanings": 0.75,
    "other word": 0.4,
    "other thing": 0.4,
}
"""The most that a confidence can be where a short form stands without a text that explains it.

From 0.8 on answers are taken without a look, so that all are below. Short forms of a list that
nobody annotated are below one half; of those that were annotated, or stand in a document, 9 of 10
and more are right. Words that only look like those of a name are below one half, too. The ranker is
fitted without the limits.
"""
LIKELY = 0.5
"""The confidence that what is denied needs where it is no name: "no medication" denies nothing."""
FLOOR = 0.05
"""The confidence below which an answer is none, where no other threshold is asked for."""
_REMEMBERED = 10_000  # pairs of a concept and a name, whose texts are cached


class NameOrders(NamedTuple):
    """The names of a text in two orders, with the same name first."""

    by_score: Candidates  # behind the first in the order of scores, as papers count names
    by_concept: Candidates  # the best name of each concept, as the ranker orders these; the others


class Engine:
    """A dictionary, or a part of it, with all that its mentions are linked by.

    Args:
        linker: whose mentions are linked; the engine does not hold it.
    """

    def __init__(self, linker: Linker) -> None:
        self.dictionary, self.generator = linker.dictionary, linker.generator
        self.ranker, self.restrictions = linker.ranker, linker.restrictions
        self.options, self.normalize, self.seen = (
            linker.options,
            linker.normalize,
            linker.seen,
        )
        self.whole = linker.whole.engine if linker.whole else None  # that this is a part of
        table, words = self.generator.table, linker.words if self.ranker else None
        self.matches = None
        if words is not None:  # without a ranker nothing looks at the words
            weight = getattr(self.generator, "sparse_weight", 1.0)
            second = getattr(self.generator, "second", None)
            self.matches = Matches(self.dictionary, table, words, weight, second)
        dictionary = self.dictionary

        @lru_cache(_REMEMBERED)
        def texts(concept: int, entry: int) -> tuple[str, str, str, str]:
            """Id and preferred name of a concept, a name of it, and the file that lent this."""
            name = dictionary.names[entry]
            preferred = dictionary.preferred_name(concept)
            return dictionary.ids[concept], preferred, name, dictionary.lender(entry)

        self._texts = texts
        respelling, known = Respelling(table), (words or ()).__contains__
        names = NameForms(
            table,
            self.normalize,
            lambda form: respelling.respelt(form, known, table.__contains__),
            Spellings(table.texts, table.__contains__).of,
            Modifiers(self.normalize, self._names_beside),
            Lengthening(dictionary, words).lengthened if words else lambda *_: [],
        )
        columns = dictionary.columns.names
        rows = [] if columns.annotated is None else np.flatnonzero(columns.annotated).tolist()
        everyday = linker.everyday
        lent = {name.name for name in everyday.short_forms}
        refused = [n.name for n in shipped() if n.is_short_form and n.name not in lent]
        annotated = [columns.texts[row] for row in rows]
        short_forms = linker.short_forms.without([*annotated, *refused])
        # without a ranker no confidence weighs other ways to read
        rivals = self.ranker is not None
        self._reader = Reader(names, self.options.text, short_forms, rivals, everyday)

    @cached_property
    def linkable(self) -> NDArray[np.int32]:
        """The rows of the concepts that can be answered with."""
        return np.unique(self.generator.table.concepts)

    @cached_property
    def ancestors(self) -> Ancestors:
        """What stands above the concepts."""
        if self.matches:
            return self.matches.ancestors
        return Ancestors(self.dictionary, self.generator.table)

    def _names_beside(self, modifiers: frozenset[str]) -> list[str]:
        """The names of the concepts whose preferred names are modifiers, in normal form."""
        table = self.generator.table
        dictionary = self.dictionary
        names: list[str] = []
        for row in table.rows(sorted(modifiers)).tolist():
            for concept in table.concepts_of(row).tolist() if row >= 0 else ():
                if self.normalize(dictionary.preferred_name(concept)) in modifiers:
                    rows = dictionary.name_rows(concept).tolist()
                    names += [self.normalize(dictionary.names[row]) for row in rows]
        return names

    def link(self, answers: Sequence[Answer]) -> Ranking:
        """Predict the concepts of each mention; decisions of people win.

        Returns:
            The ranking of the names in the mentions, see `Answer.names`.
        """
        self._divide(answers)
        names = [name for answer in answers for name in answer.names]
        self.read(names)
        ranking = self._ranked(names)
        if self.ranker:
            ranking = ranking.less(self._outside(names))
            ranking = replace(ranking, broader=self._broader(names, ranking))
        ranking = replace(
            ranking, deeper=self._deeper(names, ranking), in_full=self._in_full(names, ranking)
        )
        for answer in answers:
            predictions = {name.place: self._prediction(name, ranking) for name in answer.names}
            named = [name for name in answer.names if _is_named(name, predictions[name.place])]
            answer.names = named or answer.names[:1]
            kept = [predictions[name.place] for name in answer.names]
            answer.prediction = self._decided(answer, kept)
        return ranking

    def _divide(self, answers: Sequence[Answer]) -> None:
        """Find the names in each mention; most have one."""
        # documents repeat their mentions
        known: dict[tuple[int, str, tuple[str, ...]], list[CellPart]] = {}
        for answer in answers:
            key = answer.number, answer.text, answer.labels
            if (names := known.get(key)) is None:
                names = known[key] = self._names_in(answer)
            answer.names = [answer]
            if len(names) > 1:
                answer.names = [
                    replace(answer, mention=Mention(n.text), name=n, names=(), span=None)
                    for n in names
                ]
            else:
                answer.name = names[0] if names else None

    def _names_in(self, answer: Answer) -> list[CellPart]:
        """The names in a mention; none where nothing was entered."""
        return self._reader.divide(answer.text, _definitions(answer), answer.labels)

    def read(self, answers: Sequence[Answer]) -> None:
        """Find the ways to read each mention."""
        known: dict[tuple[int, str, CellPart | None, tuple[str, ...]], list[Wording]] = {}
        for place, answer in enumerate(answers):
            check_wanted()
            key = answer.number, answer.text, answer.name, answer.labels
            if (readings := known.get(key)) is None:
                names = [answer.name] if answer.name else self._names_in(answer)
                readings = known[key] = self._reader.of_names(names, _definitions(answer))
            answer.place, answer.is_empty = place, not readings
            answer.readings = readings or [self._as_written(answer.text)]
            form = answer.readings[0].forms[0]
            answer.nil_evidence = math.log1p(self.seen.without_concept.get(form, 0))

    def _as_written(self, text: str) -> Wording:
        """A text looked up as it is."""
        return Wording("whole", (PartWording(text, None, self.normalize(text)),))

    def _ranked(self, answers: Sequence[Answer]) -> Ranking:
        """Put the candidates of mentions that were read in order."""
        batch = batch_of(answers, self.generator, self.matches, self.allowed)
        if self.ranker is None:
            return by_score(batch)
        probabilities = self.ranker.probabilities(batch.lists)
        if tied := self._tied(answers, batch):
            probabilities = of_tied_names(batch, probabilities, tied, FLOOR)
        return by_probability(batch, probabilities)

    def _tied(self, answers: Sequence[Answer], batch: DescribedBatch) -> dict[int, int]:
        """The mentions that are a name of several concepts, with the row of the name.

        Those that were annotated as having no concept are none.
        """
        table = self.generator.table
        lists = batch.lists
        is_shared = lists.values[:, PLACE["meanings"]] > 0
        has_shared = np.unique(
            np.searchsorted(lists.starts, np.flatnonzero(is_shared), "right") - 1
        )
        tied: dict[int, int] = {}
        for mention in has_shared.tolist():
            answer = answers[mention]
            first = answer.readings[0]
            if len(first.parts) > 1 or answer.is_empty or answer.nil_evidence:
                continue
            row = table.row(first.parts[0].form)
            found = batch.found.names[slice(*lists.starts[mention : mention + 2].tolist())]
            if row >= 0 and len(table.concepts_of(row)) > 1 and (found == row).any():
                tied[mention] = row
        return tied

    def allowed(self, demands: Sequence[Demand | None], found: Candidates) -> NDArray[np.bool_]:
        """Which candidates of some texts fulfil what each of these demands, (candidates,)."""
        dictionary = self.dictionary
        normalize = self.normalize
        wanted = np.ones(len(found), bool)
        for text, demand in enumerate(demands):
            if demand is None:
                continue
            for row in range(*found.indptr[text : text + 2].tolist()):
                concept = int(found.concepts[row])
                wanted[row] = demand.allows(
                    normalize(dictionary.preferred_name(concept)),
                    normalize(dictionary.names[int(found.entries[row])]),
                    partial(self._normal_names, concept),
                )
        return wanted

    def _normal_names(self, concept: int) -> Iterator[str]:
        """The names of a concept in normal form."""
        for row in self.dictionary.name_rows(concept).tolist():
            yield self.normalize(self.dictionary.names[row])

    def _outside(self, answers: Sequence[Answer]) -> NDArray[np.float64]:
        """How probable it is that nothing, or a concept outside of the part, is meant, (mentions,).

        Of each text those count that the whole dictionary finds more probable than all of the part.
        One that the part has, too, does not: by the name that is matched, or by a cross-reference.
        """
        outside = np.array([float(answer.is_empty) for answer in answers])
        table, whole = self.generator.table, self.whole
        asked = [  # what is a name of the part is in the part
            place
            for place, answer in enumerate(answers)
            if whole and not all(form in table for form in answer.readings[0].forms)
        ]
        if not asked or whole is None:
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
        outside[asked] = np.maximum(outside[asked], 1 - left[ranking.best])
        return outside

    @cached_property
    def _inside(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which concepts, and which names of the whole dictionary, this part has.

        A concept counts, too, that refers to one of the part, or is referred to: it is the same in
        another vocabulary.
        """
        table = (self.whole or self).generator.table
        own, names = np.zeros(len(self.dictionary), bool), np.zeros(len(table), bool)
        own[self.linkable] = True
        concepts = own.copy()
        first, second = self.dictionary.references_within.T
        concepts[first[own[second]]] = True
        concepts[second[own[first]]] = True
        names[table.naming(own)] = True
        return concepts, names

    def _deeper(self, answers: Sequence[Answer], ranking: Ranking) -> dict[str, Candidates]:
        """Further candidates of the readings that won, where more are wanted."""
        wanted: dict[int, dict[str, None]] = defaultdict(dict)  # by how many candidates
        for answer in answers:
            if answer.k > DEPTH:
                won = int(ranking.best[answer.place]) - ranking.readings_of(answer).start
                wanted[answer.k] |= dict.fromkeys(answer.readings[won].forms)
        deeper: dict[str, Candidates] = {}
        for k, forms in sorted(wanted.items()):
            deeper |= zip(forms, self.generator.rank(list(forms), k, "concepts"), strict=True)
        return deeper

    def _in_full(self, answers: Sequence[Answer], ranking: Ranking) -> dict[int, set[int]]:
        """For each document of a batch the concepts that a mention names without a short form."""
        concepts: dict[int, set[int]] = defaultdict(set)
        for answer in answers:
            if answer.number < 0:
                continue
            named = concepts[answer.number]
            lookup = ranking.lookup(ranking.readings_of(answer).start)
            for place, text in enumerate(answer.readings[0].texts, lookup):
                concept = ranking.first(place)
                if concept is None or concept in named:
                    continue
                if not doubt(self.dictionary, text, concept):
                    named.add(concept)
        return concepts

    def _broader(self, answers: Sequence[Answer], ranking: Ranking) -> dict[int, tuple[int, float]]:
        """The broader concepts of texts without a sure candidate, as `narrowest` has them.

        Mentions that are read in several parts have none.

        Args:
            answers: the mentions of the batch.
            ranking: of these.
        """
        if not self.dictionary.hierarchy.edges:
            return {}
        lookups: dict[int, int] = {}
        for answer in answers:
            reading = int(ranking.best[answer.place])
            lookup = ranking.lookup(reading)
            rows = ranking.rows(lookup)
            way = answer.readings[reading - ranking.readings_of(answer).start]
            if answer.is_empty or answer.request.exact_only or len(way.parts) > 1 or not len(rows):
                continue
            if ranking.confidence[rows[0]] < max(UNSURE, _least(answer.request)):
                lookups[answer.place] = lookup
        found = narrowest(ranking, self.ancestors, [*lookups])
        return {lookups[mention]: concept for mention, concept in found.items()}

    def _prediction(self, answer: Answer, ranking: Ranking) -> Prediction:
        """The prediction of the model for a mention of the batch."""
        readings, best = ranking.readings_of(answer), int(ranking.best[answer.place])
        kind = answer.readings[best - readings.start].kind
        is_none = ranking.names_no_concept(answer)
        parts = self._parts(answer, ranking, best, answer.k, is_none)
        if len(readings) == 1:
            return Prediction(answer.mention, parts, kind)
        second = max((row for row in readings if row != best), key=ranking.readings.__getitem__)
        of_second = self._parts(answer, ranking, second, 1, False)
        known = [part.confidence for part in of_second if part.confidence is not None]
        confidence = round(math.prod(known), 6) if len(known) == len(of_second) else 0.0
        rival = Reading(answer.readings[second - readings.start].kind, of_second, confidence)
        return Prediction(answer.mention, parts, kind, (rival,))

    def _parts(
        self, answer: Answer, ranking: Ranking, reading: int, k: int, is_none: bool
    ) -> tuple[Part, ...]:
        """The parts of a mention in one of its readings, given its number in the batch."""
        way, parts = answer.readings[reading - ranking.readings_of(answer).start], []
        spans = answer.mention.spans if len(way.parts) == 1 else ()
        for lookup, part in enumerate(way.parts, ranking.lookup(reading)):
            why = self.doubt(part, ranking, lookup, answer)
            limit, candidates = LIMITS[why] if why else 1.0, []
            for concept, entry, score, sparse, dense, sure in ranking.cells_of(
                lookup, part.form, k
            ):
                shown = self.matched(part, concept, entry) if part.meaning else None
                identifier, name, matched, lender = shown or self._texts(concept, entry)
                if sure is not None and sure > limit:
                    sure = limit
                candidates.append(
                    Candidate(identifier, name, matched, score, sparse, dense, lender, sure)
                )
            if part.meaning and not part.meaning.is_sure:
                candidates = self._with_other_meanings(candidates, answer, ranking, part, k)
            said = stronger(part.assertion, answer.assertion)
            of_part = Part(part.text, part.expanded, spans, tuple(candidates), assertion=said)
            of_part = _answered(answer.request, of_part, is_none)
            if answer.request.coverage is not None:
                answers = self._answers(answer, ranking, lookup, limit, of_part)
                of_part = replace(of_part, answers=answers)
            if not why and said != "absent" and lookup in ranking.broader:
                concept, share = ranking.broader[lookup]
                name = self.dictionary.preferred_name(concept)
                broader = Broader(self.dictionary.ids[concept], name, round(share, 6))
                of_part = replace(of_part, broader=broader)
            parts.append(of_part)
        return tuple(parts)

    def matched(self, part: PartWording, concept: int, entry: int) -> tuple[str, str, str, str]:
        """What a candidate shows: its id and preferred name, the name that matched, who lent it.

        Args:
            part: the text that was looked up.
            concept: the row of the candidate.
            entry: the row of the name of the dictionary.
        """
        identifier, name, matched, lender = self._texts(concept, entry)
        if part.meaning and self.normalize(matched) == part.form:
            return identifier, name, part.meaning.name.name, SOURCE
        return identifier, name, matched, lender

    def _with_other_meanings(
        self,
        candidates: Sequence[Candidate],
        answer: Answer,
        ranking: Ranking,
        part: PartWording,
        k: int,
    ) -> list[Candidate]:
        """The candidates of a text that people use for several concepts, with the other concepts.

        Args:
            candidates: of the meaning that won.
            answer: the mention.
            ranking: of the batch.
            part: the text in that meaning.
            k: candidates that are wanted.
        """
        by_concept = {candidate.concept_id: candidate for candidate in candidates}
        for number, way in zip(ranking.readings_of(answer), answer.readings, strict=True):
            other = way.parts[0]
            if len(way.parts) > 1 or other.text != part.text or other.meaning is None:
                continue
            for concept, entry, score, sparse, dense, sure in ranking.cells_of(
                ranking.lookup(number), other.form, 1
            ):
                shown = self.matched(other, concept, entry)
                limited = None if sure is None else min(sure, LIMITS["several meanings"])
                candidate = Candidate(*shown[:3], score, sparse, dense, shown[3], limited)
                by_concept.setdefault(candidate.concept_id, candidate)
        in_order = sorted(by_concept.values(), key=lambda c: -(c.confidence or 0.0))
        return in_order[:k]

    def _answers(
        self, answer: Answer, ranking: Ranking, lookup: int, limit: float, part: Part
    ) -> tuple[str | None, ...]:
        """The answers for a text, one of which is right as often as is asked for; or ().

        The answer that is given is one of them. Where none is, "none" is one, unless a threshold
        that was asked for withholds the answer.

        Args:
            answer: the mention.
            ranking: of the batch.
            lookup: the number of the text.
            limit: the most that a confidence can be.
            part: of this text, with the answer that is given.
        """
        coverage = answer.request.coverage
        if coverage is None or self.ranker is None:
            return ()
        least = self.ranker.calibration.least(int(ranking.groups[answer.place]), coverage)
        rows = ranking.rows(lookup)
        ids = [self.dictionary.ids[row] for row in ranking.batch.found.concepts[rows].tolist()]
        is_asked = answer.request.threshold is not None or answer.request.min_score is not None
        given = set[str | None]()
        if part.best:
            given.add(part.best.concept_id)
        elif not is_asked:
            given.add(None)
        answers = answers_of(ids, np.minimum(ranking.confidence[rows], limit), least, given)
        is_open = limit < 1 and None not in answers  # nothing explains the short form
        return (*answers, None) if is_open else answers

    def doubt(
        self, part: PartWording, ranking: Ranking, lookup: int, answer: Answer
    ) -> Doubt | None:
        """Why nobody can be sure of the first concept of a text; None where nothing is open.

        A short form is explained where the document defines it, or another mention names the
        concept in full.
        """
        if part.is_listed:
            return "listed short form"
        if part.meaning and not part.meaning.is_sure:
            is_short = part.meaning.name.kind == "short"
            return "listed short form" if is_short else "several meanings"
        if part.is_one_of_several:
            return "several meanings"
        concept = ranking.first(lookup)
        if concept is None:
            return None
        if self.ranker and self._is_other_thing(answer, ranking, lookup):
            return "other thing"
        if part.expanded is not None:
            return None
        if self.ranker and self._are_other_words(part, ranking, lookup):
            return "other word"
        reason = doubt(self.dictionary, part.text, concept)
        if reason is None or reason == "other case":
            return reason
        if answer.number in ranking.in_full:
            is_in_full = concept in ranking.in_full[answer.number]
            return None if is_in_full else "unexplained short form"
        table = self.generator.table
        long = self.normalize(self._reader.short_forms.expand(part.text))
        is_listed = long in table and concept in table.concepts_of(table.row(long))
        return "listed short form" if is_listed and long != part.form else reason

    def _is_other_thing(self, answer: Answer, ranking: Ranking, lookup: int) -> bool:
        """Whether a mention names an organism or a measurement, and not its first candidate.

        A name of the dictionary that is one counts; one that another vocabulary lent does not.
        """
        text = answer.name.text if answer.name else answer.text
        kind = thing(text)
        if kind is None:
            return False
        entry = self._first_entry(ranking, lookup)
        if self.dictionary.lender(entry):
            return True
        return kind != thing(self.dictionary.names[entry]) and not self.is_name(text)

    def _are_other_words(self, part: PartWording, ranking: Ranking, lookup: int) -> bool:
        """Whether the first candidate of a text has other words, which are alike by their letters.

        It may share words with the name that it was found by, or with another one of the concept
        that does not add that what the text names is high, low or abnormal.
        """
        row = int(ranking.rows(lookup)[0])
        values = ranking.batch.lists.values[row]
        if values[PLACE["same_words"]] or self._reader.names.has_form(part.form):
            return False
        words = part.form.split()
        name = self.generator.table.texts[int(ranking.batch.found.names[row])].split()
        if values[PLACE["of_mention"]] > 0:
            return adds_direction(words, name) or has_other_word(words, name)
        if not are_other_words(words, name):
            return False
        if values[PLACE["of_concept"]] == 0:
            return True
        concept = int(ranking.batch.found.concepts[row])
        others = [name.split() for name in self._normal_names(concept)]
        return not any(shares_words(words, other) for other in others if not says_more(other))

    def _first_entry(self, ranking: Ranking, lookup: int) -> int:
        """The row of the name by which the first candidate of a text was found."""
        return int(ranking.batch.found.entries[ranking.rows(lookup)[0]])

    def _decided(self, answer: Answer, names: Sequence[Prediction]) -> Prediction:
        """The prediction of a mention, given those of its names, as people decided it."""
        prediction = names[0]
        if prediction.mention is not answer.mention:
            prediction = replace(prediction, mention=answer.mention)
        request = answer.request
        if len(names) > 1:
            parts = tuple(part for name in names for part in name.parts)
            prediction = Prediction(answer.mention, parts, "split")
        if answer.span:
            prediction = answer.span.scaled(prediction)
        if request.decisions and answer.ruling:
            prediction = request.decisions.apply(
                prediction,
                answer.ruling,
                self.linkable,
                k=request.k,
                threshold=request.found.threshold if request.found else request.threshold,
            )
        if not request.also:
            return prediction

        def with_also(candidate: Candidate) -> Candidate:
            row = self.dictionary.rows(candidate.concept_id)[0]
            return replace(candidate, also=self.dictionary.also(row, request.also))

        return replace(prediction, parts=with_candidates(prediction.parts, with_also))

    def is_name(self, text: str) -> bool:
        """Whether a text, however it is written, is a name of the dictionary."""
        return self._reader.names.is_name(text)

    def is_empty(self, text: str) -> bool:
        """Whether a cell says that nothing was entered, or is marks alone."""
        return not self._reader.divide(text)

    def names(self, texts: Sequence[str], names: int) -> list[NameOrders]:
        """The best names of each text in two orders, of which the ranker decides the first name.

        Args:
            texts: each is read as it is written.
            names: that are ordered for each.
        """
        forms = [self.normalize(text) for text in texts]
        found = self.generator.rank(forms, names, "names")
        if self.ranker is None:
            return [NameOrders(of_one, of_one) for of_one in found]
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
            by_concept = np.array([place for *_, place in sorted(places)], np.int64)
            first = by_concept[:1]
            by_score = np.concatenate([first, np.setdiff1d(by_concept, first)])
            result.append(NameOrders(of_one.only(by_score), of_one.only(by_concept)))
        return result


def _is_named(name: Answer, prediction: Prediction) -> bool:
    """Whether a name in a mention counts: a doubtful one does if its concept is probable."""
    if name.name is None or not name.name.is_doubtful:
        return True
    return not any(part.nil for part in prediction.parts) and (prediction.confidence or 0) >= LIKELY


def _definitions(answer: Answer) -> Definitions | None:
    """The short forms of the document of a mention; None: it has no document."""
    return answer.definitions if answer.document else None


def _least(request: Request) -> float:
    """The confidence that an answer needs."""
    return FLOOR if request.threshold is None else request.threshold


def _answered(request: Request, part: Part, is_none: bool) -> Part:
    """A part with its candidates; one that is `nil` keeps them, and the best one is `rejected`."""
    kept = part.candidates
    if request.min_score is not None:
        kept = tuple(c for c in kept if c.score >= request.min_score)
    sure = kept[0].confidence if kept else None
    is_unsure = sure is not None and sure < _least(request)
    if kept and not is_none and not is_unsure:
        return part if kept is part.candidates else replace(part, candidates=kept)
    best = (*kept, *part.candidates, None)[0]
    return replace(part, candidates=kept, nil=True, rejected=best)

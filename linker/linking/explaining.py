"""Why a mention is answered as it is, and why a concept that is asked for is not first.

One walk: the readings of a mention, the texts that each looks up, and their candidates.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from linker.candidates.concepts import Candidates
from linker.candidates.hybrid import HybridGenerator
from linker.dictionary import Dictionary, selection
from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.dictionary.dictionary import Rule
from linker.errors import LinkerError, shorten
from linker.linking.engine import FLOOR, LIMITS, Engine, names_no_concept
from linker.linking.explanation import (
    AskedConcepts,
    ColumnEffect,
    ExpandedForm,
    ExplainedCandidate,
    ExplainedConcept,
    ExplainedPart,
    ExplainedReading,
    Explanation,
    LookedUp,
    MatchedName,
    NamedConcept,
    ScoreParts,
)
from linker.linking.ranking import Ranking
from linker.linking.requests import Answer
from linker.ranker.matches import COLUMNS
from linker.text import abbreviations, languages
from linker.text.readings import PartWording, Wording
from linker.text.spelling import normal_form
from linker.types import SELECTION, Document, Mention, Selection, Span

_EFFECTS = 6  # columns that put the first candidate before another one
_LEAST_EFFECT = 0.005  # log odds that two decimals show
_STATUS = {ALTERNATIVE: "alternative", OBSOLETE: "obsolete", MERGED: "merged"}
_EXCLUDED = {
    "under": "it is not under {}",
    "not_under": "it is under {}",
    "types": "it does not have the type {}",
    "namespaces": "its id does not have the prefix {}",
}


def marked(mention: str | Mention, document: Document | None) -> tuple[Mention, Mention | Document]:
    """A mention as its document has it, and the document that has it; without one, itself.

    Without a span it is the first mention of the document that reads so; else its span is where
    it first occurs in the text, if it does.

    Raises:
        LinkerError: the mention is blank.
    """
    mention = Mention(mention) if isinstance(mention, str) else mention
    if not mention.text.strip():
        raise LinkerError("the mention is blank; give the text that is to be explained")
    if document is None:
        return mention, mention
    if not mention.spans:
        same = (other for other in document.mentions if other.text == mention.text)
        if (other := next(same, None)) is not None:
            return other, document
        start = document.text.find(mention.text)
        spans = ((start, start + len(mention.text)),) if start >= 0 else ()
        mention = dataclasses.replace(mention, spans=spans, document_id=document.id)
    if mention in document.mentions:
        return mention, document
    return mention, dataclasses.replace(document, mentions=(*document.mentions, mention))


def explanation(
    engine: Engine, answers: Sequence[Answer], place: int, concept: str | None
) -> Explanation:
    """Explain an answer, and why a concept is not first.

    Args:
        engine: answers the mentions.
        answers: to the mentions that are answered together.
        place: among them of the one to explain.
        concept: the id of the concept; None: there is none in question.

    Raises:
        LinkerError: the dictionary does not have this concept.
    """
    divided = engine.divide(answers)
    names = [name for of_one in divided for name in of_one]
    ranking = engine.ranking(names)
    in_full = engine.in_full(names, ranking)
    first = sum(map(len, divided[:place]))
    own = range(first, first + len(divided[place]))
    explained = [_Name(engine, ranking, names[i], i, in_full) for i in own]
    answer, document, ranker = answers[place], answers[place].document, engine.ranker
    ways, readings, best = explained[0].ways, explained[0].readings, explained[0].best
    confidences = explained[0].confidences
    if len(own) > 1:  # the reading of each name that won
        parts = tuple(part for name in explained for part in name.ways[name.best].parts)
        ways, best = [Wording("split", parts)], 0
        readings = [[text for name in explained for text in name.readings[name.best]]]
        confidences = [math.prod(name.confidences[name.best] for name in explained)]
    spans: Mapping[abbreviations.Pair, Span] = {}
    text = engine.options.text
    if document and text.abbreviations:
        spans = abbreviations.spans(
            document, permuted=not text.biosyn, languages=languages.named(text.language)
        )
    return Explanation(
        answer.mention.text,
        document.id if document else None,
        tuple(
            ExplainedReading(
                way.kind,
                tuple(explainer.looked_up for explainer in of_way),
                tuple(_expansions(answer, way, spans)),
                i == best,
                tuple(explainer.first for explainer in of_way),
                round(confidences[i], 6) if ranker else None,
            )
            for i, (way, of_way) in enumerate(zip(ways, readings, strict=True))
        ),
        tuple(part for name in explained for part in name.parts()),
        f"from the ranker {ranker.described}" if ranker else "none, since the linker has no ranker",
        None if concept is None else _asked(engine, concept, readings, best),
    )


class _Name:
    """A name of a mention, with its readings.

    Args:
        engine: answered it.
        ranking: of the batch.
        answer: the name.
        place: of it in the batch.
        in_full: the concepts that each document names in full.
    """

    def __init__(
        self,
        engine: Engine,
        ranking: Ranking,
        answer: Answer,
        place: int,
        in_full: Mapping[int, frozenset[int]],
    ) -> None:
        lists = ranking.batch.lists
        start, end = lists.readings[place : place + 2].tolist()
        self._k, self._is_none = answer.k, names_no_concept(answer, ranking, place)
        self._slots: dict[str, float] = {}
        if slots := ranking.probabilities:
            none, missed = float(slots.none[place]), float(slots.missed[place])
            self._slots = {"none": round(none, 6), "missed": round(missed, 6)}
        self.ways = answer.readings
        self.best = int(ranking.best[place]) - start
        self.confidences: list[float] = ranking.readings[start:end].tolist()
        self.readings = [
            [
                _Explainer(engine, ranking, number, part, in_full.get(answer.number))
                for number, part in enumerate(way.parts, int(lists.lookups[start + i]))
            ]
            for i, way in enumerate(self.ways)
        ]

    def parts(self) -> Iterator[ExplainedPart]:
        """The answers for its texts."""
        for explainer in self.readings[self.best]:
            part = explainer.part(self._k, self._is_none)
            yield dataclasses.replace(part, **self._slots)


def _expansions(
    answer: Answer, way: Wording, spans: Mapping[abbreviations.Pair, Span]
) -> Iterator[ExpandedForm]:
    """The definitions that a reading rests on, given where the document has them."""
    mention, definitions = answer.mention.text, answer.definitions.first
    if way.kind == "expanded":
        expanded = way.texts[0]
    else:  # a mention is split or shortened with its first definitions
        expanded = mention if way.kind == "whole" else abbreviations.expand(mention, definitions)
    if expanded != mention:
        for pair in abbreviations.used(mention, expanded, definitions, spans).items():
            yield ExpandedForm(*pair, spans.get(pair))


class _Explainer:
    """Explains the candidates of a text that was looked up.

    Args:
        engine: found and ranked them.
        ranking: of the batch.
        number: of the text in it.
        part: the text, with its normal form.
        in_full: the concepts that the document names in full; None: there is no document.
    """

    def __init__(
        self,
        engine: Engine,
        ranking: Ranking,
        number: int,
        part: PartWording,
        in_full: frozenset[int] | None,
    ) -> None:
        self._engine, self._dictionary = engine, engine.dictionary
        self.text, self.form = part.looked_up, part.form
        rows, lists = ranking.rows(number), ranking.batch.lists
        self.ranked = engine.candidates_of(ranking, rows, self.form)
        # of the candidates that the ranker saw
        self._inputs, self._confidences = lists.inputs[rows], list[float]()
        self._doubt = None
        if engine.ranker:
            self._confidences = ranking.confidence[rows].tolist()
            self._doubt = engine.doubt(part, ranking, rows, in_full)

    @property
    def looked_up(self) -> LookedUp:
        """The text, and its normal form without the spelling list where this changes it."""
        options = self._engine.options
        plain = normal_form(self.text, options.normalize, {}, options.text.language)
        return LookedUp(self.text, self.form, None if plain == self.form else plain)

    @property
    def first(self) -> NamedConcept | None:
        """The first concept; None where there is no candidate."""
        return _named(self._dictionary, int(self.ranked.concepts[0])) if len(self.ranked) else None

    def part(self, k: int, is_none: bool) -> ExplainedPart:
        """The answer for the text, with k candidates."""
        first = self._confidence(0) if len(self.ranked) else None
        return ExplainedPart(
            self.looked_up,
            tuple(self.candidate(self.ranked, i) for i in range(min(k, len(self.ranked)))),
            is_none or (first is not None and first < FLOOR),
            self._doubt,
            LIMITS[self._doubt] if self._doubt else None,
        )

    def candidate(self, ranked: Candidates, place: int) -> ExplainedCandidate:
        """Explain one candidate, given its place in a ranking, from 0.

        Args:
            ranked: the candidates of the text, or all concepts, of which these are first.
            place: of the candidate.
        """
        dictionary, row = self._dictionary, int(ranked.names[place])
        concept, entry = int(ranked.concepts[place]), int(ranked.entries[place])
        name, annotated = dictionary.name(entry), dictionary.columns.names.annotated
        match: dict[str, float] = {}
        if place < len(self._confidences):
            values = self._inputs[place, : len(COLUMNS)].tolist()
            match = {c: round(v, 6) for c, v in zip(COLUMNS, values, strict=True) if v}
        return ExplainedCandidate(
            place + 1,
            dictionary.ids[concept],
            dictionary.preferred_name(concept),
            MatchedName(
                name.text,
                name.kind,
                name.source,
                bool(dictionary.lender(entry)),
                self._engine.generator.table.texts[row] == self.form,
                0 if annotated is None else int(annotated[entry]),
            ),
            self._score(ranked, place),
            self._confidence(place),
            self._decided_by(ranked, place) if place else None,
            match,
            tuple(self._behind(place)),
        )

    def _confidence(self, place: int) -> float | None:
        """How probable it is that a candidate is right: 0 for one that the ranker did not see."""
        if self._engine.ranker is None:
            return None
        value = self._confidences[place] if place < len(self._confidences) else 0.0
        return min(LIMITS[self._doubt] if self._doubt else 1.0, round(value, 6))

    def _decided_by(self, ranked: Candidates, place: int) -> Rule:
        """What puts the first candidate before another one."""
        seen = self._confidences
        if place < len(seen) and seen[0] != seen[place]:
            return "probability"
        if ranked.scores[0] != ranked.scores[place]:
            return "score"
        return self._dictionary.tie_rule(int(ranked.entries[0]), int(ranked.entries[place]))

    def _behind(self, place: int) -> Sequence[ColumnEffect]:
        """What puts the first candidate before another one that the ranker saw.

        For each column the log odds that the first would lose with the value of the other, the
        largest first; columns that speak for the other one are left out.
        """
        ranker, count = self._engine.ranker, len(COLUMNS)
        if ranker is None or not 0 < place < len(self._confidences):
            return ()
        first, other = self._inputs[0], self._inputs[place]
        differs = first != other
        changed = np.flatnonzero(differs[:count] | differs[count:])
        inputs = np.tile(first, (len(changed) + 1, 1))
        for row, column in enumerate(changed.tolist(), 1):
            inputs[row, [column, column + count]] = other[[column, column + count]]
        scores, names = ranker.scores_of(inputs), list(COLUMNS)
        effects = (
            ColumnEffect(
                names[column],
                COLUMNS[names[column]],
                round(float(first[column]), 6),
                round(float(other[column]), 6),
                round(float(scores[0] - score), 6),
            )
            for column, score in zip(changed.tolist(), scores[1:], strict=True)
        )
        shown = [effect for effect in effects if effect.log_odds >= _LEAST_EFFECT]
        return sorted(shown, key=lambda effect: -effect.log_odds)[:_EFFECTS]

    def _score(self, ranked: Candidates, place: int) -> ScoreParts:
        """The terms of a score."""
        generator, dense, weight, bonus = self._engine.generator, None, 1.0, 0.0
        if isinstance(generator, HybridGenerator) and ranked.dense is not None:
            dense, weight = round(float(ranked.dense[place]), 6), generator.sparse_weight
            bonus = round(float(generator.bias[int(ranked.names[place])]), 6)
        sparse = ranked.scores if ranked.sparse is None else ranked.sparse
        score, sparse_score = (round(float(of[place]), 6) for of in (ranked.scores, sparse))
        return ScoreParts(score, sparse_score, dense, weight, bonus)


def _named(dictionary: Dictionary, row: int) -> NamedConcept:
    return NamedConcept(dictionary.ids[row], dictionary.preferred_name(row))


def _asked(
    engine: Engine, text: str, readings: Sequence[Sequence[_Explainer]], best: int
) -> AskedConcepts:
    """Say where a concept stands, and what it lacks to be first.

    Args:
        engine: answers the mention.
        text: the id of the concept.
        readings: of the mention.
        best: the place of the one that won.

    Raises:
        LinkerError: the dictionary does not have the id.
    """
    dictionary = engine.dictionary
    if (identifier := dictionary.identify(text)) is None:
        raise LinkerError(
            f"{shorten(text)} is not in the dictionary of the model; "
            "ask for the id of a concept (linker dictionary search finds it by name)"
        )
    rows, status = dictionary.rows(identifier), "current"
    if all(dictionary.ids[row] != identifier for row in rows):
        place = list(dictionary.old_ids).index(identifier)
        status = _STATUS[int(dictionary.columns.old_status[place])]
    forms = [explainer.form for explainer in readings[best]]
    whole = engine.generator.rank(forms, len(dictionary), "concepts")
    rankings = [e.ranked.followed_by(r) for e, r in zip(readings[best], whole, strict=True)]
    concepts = (_concept(engine, row, readings, best, rankings) for row in rows)
    return AskedConcepts(identifier, status, tuple(concepts))


def _concept(
    engine: Engine,
    row: int,
    readings: Sequence[Sequence[_Explainer]],
    best: int,
    rankings: Sequence[Candidates],
) -> ExplainedConcept:
    """Compare a concept with the first one, for the part of the mention where it stands highest.

    Args:
        engine: answers the mention.
        row: of the concept.
        readings: of the mention.
        best: the place of the one that won.
        rankings: of all concepts for each text of this one.
    """
    named = _named(engine.dictionary, row)
    explained = ExplainedConcept(named.concept_id, named.name, tuple(_excluded(engine, row)))
    if explained.excluded:
        return explained
    first_as = tuple(
        text.text
        for place, texts in enumerate(readings)
        for text in texts
        if place != best and text.first == named
    )
    places = [np.flatnonzero(ranked.concepts == row) for ranked in rankings]
    standing = [(int(rows[0]), part) for part, rows in enumerate(places) if len(rows)]
    if not standing:
        return dataclasses.replace(explained, first_as=first_as)
    place, part = min(standing)
    return dataclasses.replace(
        explained,
        first_as=first_as,
        part=part,
        candidate=readings[best][part].candidate(rankings[part], place),
    )


def _excluded(engine: Engine, row: int) -> Iterator[str]:
    """Why a concept cannot be answered: selections that it does not fit, or no name, in words."""
    every, is_allowed = np.ones(len(engine.dictionary), bool), True
    for within in engine.restrictions:
        for name in SELECTION:
            if texts := getattr(within, name):
                alone = Selection(**{name: texts})
                if not selection.selected(engine.dictionary, [alone], every)[row]:
                    is_allowed = False
                    yield _EXCLUDED[name].format(" or ".join(texts))
    if is_allowed and row not in engine.linkable:
        yield "nothing is left of its names in normal form"

"""Why a mention was answered as it was: its readings, its candidates, its confidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linker.candidates.base import Generator
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.explanation import (
    ExpandedForm,
    ExplainedPart,
    ExplainedReading,
    Explanation,
    LookedUp,
)
from linker.linking import questions
from linker.linking.answers import LIMITS, Answer, Answers, Ranking
from linker.linking.requests import Request
from linker.linking.scope import RestrictedItem, Restrictions, restrictions_of
from linker.linking.scores import RankedLookup, ScoredReading, place_of
from linker.text import abbreviations, expansions
from linker.text.mentions import TextOptions, definitions_of
from linker.text.normalize import NormalizeOptions, normalize
from linker.text.readings import Wording
from linker.types import Document, Lookup, Mention, Selection, Span


@dataclass(frozen=True, slots=True)
class Task:
    """A mention to explain, with the others that are answered together with it.

    Args:
        item: those mentions of the document that have the same restrictions, or a loose one.
        place: of the one to explain.
        restrictions: on the concepts that may be answered.
    """

    item: RestrictedItem
    place: int
    restrictions: Restrictions

    @classmethod
    def of(
        cls,
        mention: str | Mention,
        document: Document | None,
        within: Selection | None,
        options: TextOptions,
        k: int,
    ) -> Task:
        """Find a mention in its document; see `Linker.explain`.

        Raises:
            LinkerError: the mention is blank.
        """
        mention = _marked(Mention(mention) if isinstance(mention, str) else mention, document)
        (restrictions,) = restrictions_of(document, [mention], within)
        others = document.mentions if document else ()
        of_others = restrictions_of(document, others, within)
        mentions = [m for m, r in zip(others, of_others, strict=True) if r == restrictions]
        if mention not in mentions:
            mentions.append(mention)
        definitions = definitions_of(document, options)
        item = RestrictedItem(Request("", threshold=0.0, k=k), document, mentions, definitions)
        return cls(item, mentions.index(mention), restrictions)


def _marked(mention: Mention, document: Document | None) -> Mention:
    """The mention as the document has it.

    Without a span it is the first mention of the document that reads so; else its span is where
    it first occurs in the text, if it does.
    """
    if not mention.text.strip():
        raise LinkerError("the mention is blank; give the text that is to be explained")
    if document is None or mention.spans:
        return mention
    for other in document.mentions:
        if other.text == mention.text:
            return other
    start = document.text.find(mention.text)
    spans = ((start, start + len(mention.text)),) if start >= 0 else ()
    return dataclasses.replace(mention, spans=spans, document_id=document.id)


@dataclass(frozen=True, slots=True)
class Model:
    """The parts of a linker that an explanation looks into.

    Args:
        dictionary: the concepts.
        generator: ranks them.
        text: how mentions are read.
        normalize: the normal form of names, before a spelling list corrects them.
        answers: ranks candidates, and says how sure an answer is.
        restrictions: on the concepts that may be answered.
    """

    dictionary: Dictionary
    generator: Generator
    text: TextOptions
    normalize: NormalizeOptions
    answers: Answers
    restrictions: Restrictions


def explanation(
    model: Model, task: Task, answers: Sequence[Answer], concept: str | None
) -> Explanation:
    """Explain an answer, and why a concept is not first.

    Args:
        model: the parts of the linker.
        task: what is explained.
        answers: to all mentions of the task.
        concept: the id of the concept; None: there is none in question.

    Raises:
        LinkerError: the dictionary does not have this concept.
    """
    ranking = model.answers.ranked(answers)
    answer, ranker = answers[task.place], model.answers.ranker
    start, end = ranking.batch.lists.readings[task.place : task.place + 2].tolist()
    explained = model.answers.explained(answers, ranking).get(answer.read.document)
    readings = [
        _scored(model, answer, ranking, reading, way, explained)
        for reading, way in zip(range(start, end), answer.read.readings, strict=True)
    ]
    best = int(ranking.best[task.place]) - start
    is_none = model.answers.is_none(ranking, task.place)
    parts = tuple(
        ExplainedPart(
            _looked_up(model, of_one.lookup),
            reasons.candidates([candidate.confidence for candidate in part.candidates]),
            is_none,
            of_one.doubt,
            None if of_one.doubt is None else LIMITS[of_one.doubt],
        )
        for of_one, part, reasons in zip(
            readings[best].lookups,
            model.answers.parts(
                answer, ranking, start + best, answer.read.readings[best], explained, False
            ),
            readings[best].reasons(),
            strict=True,
        )
    )
    document, question = task.item.document, None
    if concept is not None:
        question = questions.answered(concept, model.restrictions, readings, best, parts)
    probabilities = ranking.probabilities
    return Explanation(
        answer.mention.text,
        document.id if document else None,
        tuple(
            _reading(model, task, answer, scored, place == best)
            for place, scored in enumerate(readings)
        ),
        parts,
        round(float(probabilities.none[task.place]), 6) if probabilities else None,
        round(float(probabilities.missed[task.place]), 6) if probabilities else None,
        f"from the ranker {ranker.described}" if ranker else "none, since the linker has no ranker",
        question,
    )


def _scored(
    model: Model,
    answer: Answer,
    ranking: Ranking,
    reading: int,
    way: Wording,
    explained: frozenset[int] | None,
) -> ScoredReading:
    """A reading of a mention, with the candidates of what is looked up for it."""
    lists, has_ranker = ranking.batch.lists, ranking.probabilities is not None
    first = int(lists.lookups[reading])
    lookups = []
    for place, lookup in enumerate(way.lookups(answer.mention)):
        rows = ranking.rows(first + place)
        ranked = model.answers.candidates_of(ranking, rows, lookup.normalized)
        lookups.append(
            RankedLookup(
                lookup,
                ranked,
                lists.values[rows] if has_ranker else None,
                lists.behind[rows] if has_ranker else None,
                ranking.confidence[rows].tolist() if has_ranker else None,
                model.answers.doubt(lookup.text, lookup.expanded, ranking, rows, explained)
                if has_ranker
                else None,
            )
        )
    confidence = round(float(ranking.readings[reading]), 6) if has_ranker else None
    return ScoredReading(
        model.dictionary, model.generator, model.answers.ranker, way.kind, lookups, confidence
    )


def _reading(
    model: Model, task: Task, answer: Answer, scored: ScoredReading, won: bool
) -> ExplainedReading:
    """One way to read the mention."""
    document, lookups = task.item.document, [of_one.lookup for of_one in scored.lookups]
    spans = expansions.spans(document, permuted=model.text.permuted) if document else {}
    return ExplainedReading(
        scored.kind,
        tuple(_looked_up(model, lookup) for lookup in lookups),
        _expansions(model, task, answer.mention.text, scored, spans),
        won,
        tuple(
            place_of(model.dictionary, int(of_one.ranked.concepts[0]))
            if len(of_one.ranked)
            else None
            for of_one in scored.lookups
        ),
        scored.confidence,
    )


def _looked_up(model: Model, lookup: Lookup) -> LookedUp:
    text = lookup.expanded or lookup.text
    form = normalize(text, model.normalize)
    return LookedUp(text, lookup.normalized, None if form == lookup.normalized else form)


def _expansions(
    model: Model,
    task: Task,
    mention: str,
    scored: ScoredReading,
    spans: Mapping[expansions.Pair, Span],
) -> tuple[ExpandedForm, ...]:
    """The definitions that a reading rests on.

    Args:
        model: the parts of the linker.
        task: with the short forms of the document.
        mention: its text.
        scored: one of its readings.
        spans: where the document defines short forms.
    """
    definitions = task.item.definitions.first
    if task.item.document is None or not model.text.abbreviations:
        return ()
    expanded = scored.lookups[0].lookup.expanded
    if scored.kind in ("split", "shortened"):  # these read the mention with its first definitions
        expanded = abbreviations.expand(mention, definitions)
    if expanded is None or expanded == mention:
        return ()
    forms = expansions.used(mention, expanded, definitions, spans)
    return tuple(
        ExpandedForm(short, long, spans.get((short, long))) for short, long in forms.items()
    )

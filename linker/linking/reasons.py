"""Why a mention was answered as it was: its readings, its candidates, its confidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from linker.errors import LinkerError
from linker.explanation import (
    ExpandedForm,
    ExplainedPart,
    ExplainedReading,
    Explanation,
    LookedUp,
)
from linker.linking import questions
from linker.linking.ranking import Ranking
from linker.linking.requests import Answer
from linker.linking.scope import LIMITS, Scope
from linker.linking.scores import RankedLookup, ScoredReading, place_of
from linker.text import abbreviations
from linker.text.normalize import normalize
from linker.text.readings import Wording
from linker.types import Document, Lookup, Mention, Span


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
    scope: Scope, answers: Sequence[Answer], place: int, concept: str | None
) -> Explanation:
    """Explain an answer, and why a concept is not first.

    Args:
        scope: answers the mentions.
        answers: to the mentions that are answered together.
        place: among them of the one to explain.
        concept: the id of the concept; None: there is none in question.

    Raises:
        LinkerError: the dictionary does not have this concept.
    """
    ranking = scope.ranking(answers)
    answer, ranker = answers[place], scope.ranker
    start, end = ranking.batch.lists.readings[place : place + 2].tolist()
    explained = scope.explained(answers, ranking).get(answer.number)
    readings = [
        _scored(scope, answer, ranking, reading, way, explained)
        for reading, way in zip(range(start, end), answer.readings, strict=True)
    ]
    best = int(ranking.best[place]) - start
    is_none = scope.is_none(ranking, place)
    parts = tuple(
        ExplainedPart(
            _looked_up(scope, of_one.lookup),
            reasons.candidates([candidate.confidence for candidate in part.candidates]),
            is_none,
            of_one.doubt,
            None if of_one.doubt is None else LIMITS[of_one.doubt],
        )
        for of_one, part, reasons in zip(
            readings[best].lookups,
            scope.parts(answer, ranking, start + best, answer.readings[best], explained, False),
            readings[best].reasons(),
            strict=True,
        )
    )
    document, question = answer.document, None
    if concept is not None:
        question = questions.answered(concept, scope.restrictions, readings, best, parts)
    probabilities = ranking.probabilities
    return Explanation(
        answer.mention.text,
        document.id if document else None,
        tuple(
            _reading(scope, answer, scored, number == best)
            for number, scored in enumerate(readings)
        ),
        parts,
        round(float(probabilities.none[place]), 6) if probabilities else None,
        round(float(probabilities.missed[place]), 6) if probabilities else None,
        f"from the ranker {ranker.described}" if ranker else "none, since the linker has no ranker",
        question,
    )


def _scored(
    scope: Scope,
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
        ranked = scope.candidates_of(ranking, rows, lookup.normalized)
        lookups.append(
            RankedLookup(
                lookup,
                ranked,
                lists.values[rows] if has_ranker else None,
                lists.behind[rows] if has_ranker else None,
                ranking.confidence[rows].tolist() if has_ranker else None,
                scope.doubt(lookup.text, lookup.expanded, ranking, rows, explained)
                if has_ranker
                else None,
            )
        )
    confidence = round(float(ranking.readings[reading]), 6) if has_ranker else None
    return ScoredReading(
        scope.dictionary, scope.generator, scope.ranker, way.kind, lookups, confidence
    )


def _reading(scope: Scope, answer: Answer, scored: ScoredReading, won: bool) -> ExplainedReading:
    """One way to read the mention."""
    document, lookups = answer.document, [of_one.lookup for of_one in scored.lookups]
    spans = abbreviations.spans(document, permuted=scope.options.text.permuted) if document else {}
    return ExplainedReading(
        scored.kind,
        tuple(_looked_up(scope, lookup) for lookup in lookups),
        _expansions(scope, answer, scored, spans),
        won,
        tuple(
            place_of(scope.dictionary, int(of_one.ranked.concepts[0]))
            if len(of_one.ranked)
            else None
            for of_one in scored.lookups
        ),
        scored.confidence,
    )


def _looked_up(scope: Scope, lookup: Lookup) -> LookedUp:
    text = lookup.expanded or lookup.text
    form = normalize(text, scope.options.normalize)
    return LookedUp(text, lookup.normalized, None if form == lookup.normalized else form)


def _expansions(
    scope: Scope,
    answer: Answer,
    scored: ScoredReading,
    spans: Mapping[abbreviations.Pair, Span],
) -> tuple[ExpandedForm, ...]:
    """The definitions that a reading rests on.

    Args:
        scope: answers the mention.
        answer: with the short forms of the document.
        scored: one of its readings.
        spans: where the document defines short forms.
    """
    mention, definitions = answer.mention.text, answer.definitions.first
    if answer.document is None or not scope.options.text.abbreviations:
        return ()
    expanded = scored.lookups[0].lookup.expanded
    if scored.kind in ("split", "shortened"):  # these read the mention with its first definitions
        expanded = abbreviations.expand(mention, definitions)
    if expanded is None or expanded == mention:
        return ()
    forms = abbreviations.used(mention, expanded, definitions, spans)
    return tuple(
        ExpandedForm(short, long, spans.get((short, long))) for short, long in forms.items()
    )

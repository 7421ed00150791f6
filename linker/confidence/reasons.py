"""Why a mention was answered as it was: its readings, its candidates, its confidence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linker.candidates.base import Generator
from linker.confidence import questions
from linker.confidence.answers import LIMITS, RankedReading
from linker.confidence.calibration import Calibration, log_odds
from linker.confidence.effects import effects
from linker.confidence.model_card import described
from linker.confidence.restrictions import Restrictions, restrictions_of
from linker.confidence.scores import ScoredReading, place_of
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.explanation import (
    ExpandedForm,
    ExplainedPart,
    ExplainedReading,
    Explanation,
    LookedUp,
)
from linker.text import abbreviations, expansions
from linker.text.mentions import Definitions, Group, TextOptions, definitions_of
from linker.text.normalize import NormalizeOptions, normalize
from linker.types import Document, Lookup, Mention, Prediction, Selection, Span

_EFFECTS = 6  # features of an answer


@dataclass(frozen=True, slots=True)
class Task:
    """A mention to explain, with the others that are answered together with it.

    Args:
        document: of the mentions; None for a loose one.
        mentions: those of the document that have the same restrictions.
        place: of the one to explain.
        definitions: the short forms of the document.
        restrictions: on the concepts that may be answered.
    """

    document: Document | None
    mentions: Sequence[Mention]
    place: int
    definitions: Definitions
    restrictions: Restrictions

    @classmethod
    def of(
        cls,
        mention: str | Mention,
        document: Document | None,
        within: Selection | None,
        options: TextOptions,
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
        return cls(document, mentions, mentions.index(mention), definitions, restrictions)

    @property
    def group(self) -> Group:
        """What `Linker.link` would link."""
        return self.document, self.mentions, self.definitions


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
        calibration: gives the confidence; None: there is none.
        restrictions: on the concepts that may be answered.
    """

    dictionary: Dictionary
    generator: Generator
    text: TextOptions
    normalize: NormalizeOptions
    calibration: Calibration | None
    restrictions: Restrictions


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a mention.

    Args:
        task: the mention.
        readings: the ranked readings of the mention.
        prediction: its answer, without a threshold.
    """

    task: Task
    readings: Sequence[RankedReading]
    prediction: Prediction


def explanation(model: Model, answer: Answer, concept: str | None) -> Explanation:
    """Explain an answer, and why a concept is not first.

    Args:
        model: the parts of the linker.
        answer: what is explained.
        concept: the id of the concept; None: there is none in question.

    Raises:
        LinkerError: the dictionary does not have this concept.
    """
    probabilities, best = _weighed(model.calibration, answer.readings)
    readings = [
        ScoredReading(model.dictionary, model.generator, reading) for reading in answer.readings
    ]
    parts = _parts(model, answer, readings[best])
    document, question = answer.task.document, None
    if concept is not None:
        question = questions.answered(concept, model.restrictions, readings, best, parts)
    return Explanation(
        answer.prediction.mention.text,
        document.id if document else None,
        _readings(model, answer, probabilities, best),
        parts,
        model.calibration.threshold if model.calibration else None,
        described(model.calibration),
        question,
    )


def _weighed(
    calibration: Calibration | None, readings: Sequence[RankedReading]
) -> tuple[list[list[float]], int]:
    """The probabilities of the parts of each reading, and the place of the one that wins.

    Without a calibration there are no probabilities, and the first reading wins.
    """
    if calibration is None:
        return [], 0
    scores = [reading.scores for reading in readings]
    probabilities = calibration.probabilities([scores])
    return probabilities, calibration.chosen(scores, probabilities)


def _readings(
    model: Model, answer: Answer, probabilities: Sequence[Sequence[float]], best: int
) -> tuple[ExplainedReading, ...]:
    """The ways to read the mention."""
    document, result = answer.task.document, []
    spans = expansions.spans(document, permuted=model.text.permuted) if document else {}
    for place, reading in enumerate(answer.readings):
        confidence = odds = None
        handicap = model.calibration.handicaps[reading.kind] if model.calibration and place else 0.0
        if probabilities:
            of_parts = probabilities[place]
            product = math.prod(of_parts)
            confidence = round(product, 6) if len(of_parts) else 0.0
            odds = round(log_odds(product) - handicap, 6) if len(of_parts) else None
        result.append(
            ExplainedReading(
                reading.kind,
                tuple(_looked_up(model, lookup) for lookup in reading.lookups),
                _expansions(model, answer, reading, spans),
                place == best,
                tuple(
                    place_of(model.dictionary, int(ranked.concepts[0])) if len(ranked) else None
                    for ranked in reading.rankings
                ),
                confidence,
                handicap,
                odds,
            )
        )
    return tuple(result)


def _looked_up(model: Model, lookup: Lookup) -> LookedUp:
    text = lookup.expanded or lookup.text
    form = normalize(text, model.normalize)
    return LookedUp(text, lookup.normalized, None if form == lookup.normalized else form)


def _expansions(
    model: Model, answer: Answer, reading: RankedReading, spans: Mapping[expansions.Pair, Span]
) -> tuple[ExpandedForm, ...]:
    """The definitions that a reading rests on.

    Args:
        model: the parts of the linker.
        answer: the mention.
        reading: one of its readings.
        spans: where the document defines short forms.
    """
    document, mention = answer.task.document, answer.prediction.mention.text
    if document is None or not model.text.abbreviations:
        return ()
    expanded = reading.lookups[0].expanded
    if reading.kind in ("split", "shortened"):  # these read the mention with its first definitions
        expanded = abbreviations.expand(mention, answer.task.definitions.first)
    if expanded is None or expanded == mention:
        return ()
    forms = expansions.used(mention, expanded, answer.task.definitions.first, spans)
    return tuple(
        ExpandedForm(short, long, spans.get((short, long))) for short, long in forms.items()
    )


def _parts(model: Model, answer: Answer, scored: ScoredReading) -> tuple[ExplainedPart, ...]:
    """The parts of the reading that won, with their candidates."""
    reading, calibration = scored.reading, model.calibration
    result = []
    for place, (part, reasons) in enumerate(
        zip(answer.prediction.parts, scored.reasons(), strict=True)
    ):
        confidences = [candidate.confidence for candidate in part.candidates]
        alone, of_features = None, []
        if calibration and len(reading.scores.values):
            values = np.asarray(reading.scores.values, np.float64)
            alone = round(float(calibration.single.probabilities(values)[place]), 6)
            of_features = effects(calibration.single, values[place], _EFFECTS)
        confidence, doubt = part.confidence, reading.doubts[place] if calibration else None
        result.append(
            ExplainedPart(
                _looked_up(model, reading.lookups[place]),
                reasons.candidates(reading.rankings[place], confidences),
                calibration is not None
                and confidence is not None
                and confidence < calibration.threshold,
                alone,
                tuple(of_features),
                doubt,
                None if doubt is None else LIMITS[doubt],
            )
        )
    return tuple(result)

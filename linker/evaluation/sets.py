"""How often sets of answers hold the right one, and how large they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linker import matching
from linker.matching import Resolve
from linker.records import Prediction


@dataclass(frozen=True, slots=True)
class SetFigures:
    """What the sets of some annotated mentions are like."""

    n: int  # mentions
    covered: float  # share whose parts all hold the right answer, which may be "none of these"
    named: float  # of those with a concept, the share for which the sets of all parts name it
    size: float  # answers of a part on average
    one: float  # share of the parts with one answer
    with_none: float  # share of the parts for which "none of these" is an answer


def is_covered(prediction: Prediction, resolve: Resolve) -> bool:
    """Whether the set of each part of an annotated mention holds what is right.

    "None of these" is right where no candidate is.

    Args:
        prediction: with all the candidates that the ranker saw.
        resolve: the current ids that an annotated id stands for.
    """
    ranked = [[candidate.concept_id for candidate in part.candidates] for part in prediction.parts]
    right = matching.right_ids(ranked, prediction.mention.gold or (), resolve)
    return all(
        not wanted.isdisjoint(part.answers)
        or (None in part.answers and wanted.isdisjoint(candidates))
        for part, candidates, wanted in zip(prediction.parts, ranked, right, strict=True)
    )


def is_named(prediction: Prediction, resolve: Resolve) -> bool:
    """Whether the set of each part of an annotated mention has a concept that is right.

    The arguments are those of `is_covered`.
    """
    ranked = [[candidate.concept_id for candidate in part.candidates] for part in prediction.parts]
    right = matching.right_ids(ranked, prediction.mention.gold or (), resolve)
    return all(
        not wanted.isdisjoint(part.answers)
        for part, wanted in zip(prediction.parts, right, strict=True)
    )


def figures(predictions: Iterable[Prediction], resolve: Resolve) -> SetFigures:
    """The figures of the mentions that are annotated, one at least."""
    kept = [p for p in predictions if p.mention.gold is not None]
    with_concept = [prediction for prediction in kept if prediction.mention.gold]
    sets = [part.answers for prediction in kept for part in prediction.parts]
    named = sum(is_named(prediction, resolve) for prediction in with_concept)
    return SetFigures(
        len(kept),
        sum(is_covered(prediction, resolve) for prediction in kept) / len(kept),
        named / max(1, len(with_concept)),
        sum(map(len, sets)) / len(sets),
        sum(len(answers) == 1 for answers in sets) / len(sets),
        sum(None in answers for answers in sets) / len(sets),
    )

"""Why a concept that is asked for is not the first candidate of a mention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from linker.dictionary import Dictionary, selection
from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.errors import LinkerError, shorten
from linker.explanation import ExplainedConcept, ExplainedPart, Question, Share
from linker.linking.requests import Restrictions
from linker.linking.scores import Reasons, ScoredReading
from linker.types import SELECTION, Selection

_SHARES = 8  # n-grams or words that are missing
_MINIMUM = 1e-6  # difference that is shown
_STATUS = {ALTERNATIVE: "alternative", OBSOLETE: "obsolete", MERGED: "merged"}
_EXCLUDED = {
    "under": "it is not under {}",
    "not_under": "it is under {}",
    "types": "it does not have the type {}",
    "namespaces": "its id does not have the prefix {}",
}


def answered(
    text: str,
    restrictions: Restrictions,
    readings: Sequence[ScoredReading],
    best: int,
    parts: Sequence[ExplainedPart],
) -> Question:
    """Say where a concept stands, and what it lacks to be first.

    Args:
        text: the id of the concept.
        restrictions: on the answers.
        readings: of the mention.
        best: the place of the one that won.
        parts: of this one, explained.

    Raises:
        LinkerError: the dictionary does not have the id.
    """
    dictionary, linkable = readings[best].dictionary, readings[best].generator.table.concepts
    if (identifier := dictionary.identify(text)) is None:
        raise LinkerError(
            f"{shorten(text)} is not in the dictionary of the model; "
            "ask for the id of a concept (linker dictionary search finds it by name)"
        )
    comparison, concepts = _Comparison(readings, best, parts), []
    for row in dictionary.rows(identifier):
        excluded = tuple(_excluded(dictionary, row, restrictions))
        if not excluded and row not in linkable:
            excluded = ("nothing is left of its names in normal form",)
        name = dictionary.preferred_name(row)
        concepts.append(
            ExplainedConcept(dictionary.ids[row], name, excluded)
            if excluded
            else comparison.concept(row)
        )
    return Question(identifier, _status(dictionary, identifier), tuple(concepts))


def _status(dictionary: Dictionary, identifier: str) -> str:
    """Whether an id is current, or what else it is."""
    rows = dictionary.rows(identifier)
    if identifier in (dictionary.ids[row] for row in rows):
        return "current"
    place = list(dictionary.old_ids).index(identifier)
    return _STATUS[int(dictionary.columns.old_status[place])]


def _excluded(dictionary: Dictionary, row: int, restrictions: Restrictions) -> Iterator[str]:
    """The lists of the selections that a concept does not fit, in words."""
    every = np.ones(len(dictionary), bool)
    for within in restrictions:
        for name in SELECTION:
            if texts := getattr(within, name):
                alone = Selection(**{name: texts})
                if not selection.selected(dictionary, [alone], every)[row]:
                    yield _EXCLUDED[name].format(" or ".join(texts))


class _Comparison:
    """Compares concepts with the first candidates of a mention.

    Args:
        readings: of the mention.
        best: the place of the one that won.
        parts: of this one, explained.
    """

    def __init__(
        self, readings: Sequence[ScoredReading], best: int, parts: Sequence[ExplainedPart]
    ) -> None:
        self._readings, self._best, self._parts = readings, best, parts
        whole = readings[best].whole_rankings()
        self._rankings = [
            of_one.ranked.followed_by(ranked)
            for of_one, ranked in zip(readings[best].lookups, whole, strict=True)
        ]
        self._reasons = readings[best].reasons()

    def concept(self, row: int) -> ExplainedConcept:
        """Compare a concept, for the part of the mention where it stands highest."""
        dictionary = self._readings[self._best].dictionary
        identifier, name = dictionary.ids[row], dictionary.preferred_name(row)
        places = [np.flatnonzero(ranked.concepts == row) for ranked in self._rankings]
        standing = [(int(rows[0]), part) for part, rows in enumerate(places) if len(rows)]
        first_as = tuple(self._first_as(row))
        if not standing:
            return ExplainedConcept(identifier, name, (), first_as)
        place, part = min(standing)
        ranked, reasons = self._rankings[part], self._reasons[part]
        confidence = reasons.confidence(place, self._parts[part].limit)
        return ExplainedConcept(
            identifier,
            name,
            (),
            first_as,
            part,
            reasons.candidate(ranked, place, confidence),
            *_missing(reasons, int(ranked.names[0]), int(ranked.names[place])),
        )

    def _first_as(self, row: int) -> Iterator[str]:
        """The texts of the other readings for which a concept is first."""
        for place, scored in enumerate(self._readings):
            for of_one in scored.lookups:
                ranked = of_one.ranked
                if place != self._best and len(ranked) and int(ranked.concepts[0]) == row:
                    yield of_one.lookup.expanded or of_one.lookup.text


def _missing(reasons: Reasons, first: int, other: int) -> Iterator[tuple[Share, ...]]:
    """The n-grams, and the words, that give one name more than another one.

    Last come the n-grams of the other name that the mention lacks.

    Args:
        reasons: of the lookup.
        first: the row of the one name.
        other: that of the other.
    """
    contributions = reasons.contributions
    yield _more(contributions.ngrams(first), contributions.ngrams(other))
    yield _more(contributions.words(first), contributions.words(other))
    yield tuple(contributions.unmatched(other)[:_SHARES])


def _more(of_first: Sequence[Share], of_other: Sequence[Share]) -> tuple[Share, ...]:
    """The pieces that give the first name more, with the difference, the largest first."""
    differences: dict[str, float] = defaultdict(float)  # a word may stand twice in a mention
    for share in of_first:
        differences[share.text] += share.value
    for share in of_other:
        differences[share.text] -= share.value
    more = [Share(text, round(value, 6)) for text, value in differences.items() if value > _MINIMUM]
    return tuple(sorted(more, key=lambda share: -share.value)[:_SHARES])

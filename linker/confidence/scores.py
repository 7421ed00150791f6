"""Why the candidates of a lookup have their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linker.candidates.base import Generator, Ranked
from linker.candidates.contributions import Contributions
from linker.candidates.hybrid import HybridGenerator
from linker.confidence.answers import RankedReading
from linker.dictionary import Dictionary
from linker.explanation import ExplainedCandidate, MatchedName, Place, Rule, ScoreParts
from linker.types import Lookup

_NGRAMS = 10  # of a candidate
_PATHS = 4


@dataclass(frozen=True, slots=True)
class ScoredReading:
    """A ranked reading of a mention, with what its scores depend on.

    Args:
        dictionary: the concepts that were ranked.
        generator: gave the scores.
        reading: the reading.
    """

    dictionary: Dictionary
    generator: Generator
    reading: RankedReading

    def whole_rankings(self) -> list[Ranked]:
        """The ranking of all concepts that can be answered with, for each lookup."""
        return self.generator.rank(self.reading.lookups, len(self.dictionary), "concepts")

    def reasons(self) -> list[Reasons]:
        """What explains the candidates of each lookup."""
        return [Reasons(self.dictionary, self.generator, lookup) for lookup in self.reading.lookups]


class Reasons:
    """Explains the candidates of one lookup.

    Args:
        dictionary: the concepts that were ranked.
        generator: gave the scores.
        lookup: what was looked up.
    """

    def __init__(self, dictionary: Dictionary, generator: Generator, lookup: Lookup) -> None:
        self._dictionary, self._generator, self._lookup = dictionary, generator, lookup
        self.contributions = Contributions(generator, lookup.normalized)

    def candidates(
        self, ranked: Ranked, confidences: Sequence[float | None]
    ) -> tuple[ExplainedCandidate, ...]:
        """Explain the first candidates of a ranking, as many as there are confidences."""
        return tuple(
            self.candidate(ranked, place, confidence)
            for place, confidence in enumerate(confidences)
        )

    def candidate(
        self, ranked: Ranked, place: int, confidence: float | None = None
    ) -> ExplainedCandidate:
        """Explain one candidate, given its place in the ranking, from 0."""
        dictionary, row = self._dictionary, int(ranked.names[place])
        concept = int(ranked.concepts[place])
        parents = dictionary.hierarchy.parents([concept])[0].tolist()
        ways = (dictionary.hierarchy.way_up(parent) for parent in parents[:_PATHS])
        return ExplainedCandidate(
            place + 1,
            dictionary.ids[concept],
            dictionary.preferred_name(concept),
            self._matched(row, int(ranked.entries[place])),
            self._parts(ranked, place),
            confidence,
            tuple(self.contributions.ngrams(row)[:_NGRAMS]),
            tuple(self.contributions.words(row)),
            tuple(tuple(place_of(dictionary, row) for row in reversed(way)) for way in ways),
            len(parents),
            len(dictionary.hierarchy.children([concept])[0]),
            self._decided_by(ranked, place) if place else None,
        )

    def _decided_by(self, ranked: Ranked, place: int) -> Rule:
        """What puts the first candidate before another one."""
        if ranked.scores[0] != ranked.scores[place]:
            return "score"
        return self._dictionary.tie_rule(int(ranked.entries[0]), int(ranked.entries[place]))

    def _matched(self, row: int, entry: int) -> MatchedName:
        name, annotated = self._dictionary.name(entry), self._dictionary.columns.names.annotated
        return MatchedName(
            name.text,
            name.kind,
            name.source,
            bool(self._dictionary.lender(entry)),
            self._generator.table.texts[row] == self._lookup.normalized,
            0 if annotated is None else int(annotated[entry]),
        )

    def _parts(self, ranked: Ranked, place: int) -> ScoreParts:
        """The terms of a score."""
        generator = self._generator
        if ranked.sparse is None:
            raise ValueError("the ranking has no parts")
        sparse = float(ranked.sparse[place])
        dense, weight, bonus = None, 1.0, 0.0
        if isinstance(generator, HybridGenerator) and ranked.dense is not None:
            dense, weight = float(ranked.dense[place]), generator.sparse_weight
            bonus = float(generator.bias[int(ranked.names[place])])
        return ScoreParts(
            round(float(ranked.scores[place]), 6),
            round(sparse, 6),
            None if dense is None else round(dense, 6),
            weight,
            round(bonus, 6),
        )


def place_of(dictionary: Dictionary, row: int) -> Place:
    """A concept with its preferred name."""
    return Place(dictionary.ids[row], dictionary.preferred_name(row))

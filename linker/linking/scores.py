"""Why the candidates of a lookup stand where they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linker.candidates.base import Generator, Ranked
from linker.candidates.hybrid import Contributions, HybridGenerator
from linker.dictionary import Dictionary
from linker.explanation import (
    ColumnEffect,
    Doubt,
    ExplainedCandidate,
    MatchedName,
    Place,
    Rule,
    ScoreParts,
)
from linker.ranker.matches import COLUMNS
from linker.ranker.ranker import Floats, Ranker
from linker.types import Lookup, ReadingKind

_NGRAMS = 10  # of a candidate
_PATHS = 4
_EFFECTS = 6  # columns that put the first candidate before another one
_LEAST_EFFECT = 0.005  # log odds that two decimals show


@dataclass(frozen=True, slots=True)
class RankedLookup:
    """What was looked up for a reading of a mention, and its candidates in order."""

    lookup: Lookup
    ranked: Ranked
    values: Floats | None  # (candidates, columns) that describe them; None without a ranker
    behind: Floats | None  # the same, less the largest of each column
    confidences: Sequence[float] | None  # of the candidates; None without a ranker
    doubt: Doubt | None  # why the confidence has a limit, if it has one


@dataclass(frozen=True, slots=True)
class ScoredReading:
    """One way to read a mention, with what its scores depend on.

    Args:
        dictionary: the concepts that were ranked.
        generator: gave the scores.
        ranker: put the candidates in order; None: their scores did.
        kind: how the mention is read.
        lookups: one, or one for each part.
        confidence: the probability that all first candidates are right; None without a ranker.
    """

    dictionary: Dictionary
    generator: Generator
    ranker: Ranker | None
    kind: ReadingKind
    lookups: Sequence[RankedLookup]
    confidence: float | None

    def whole_rankings(self) -> list[Ranked]:
        """The ranking of all concepts that can be answered with, by score, for each lookup."""
        lookups = [of_one.lookup for of_one in self.lookups]
        return self.generator.rank(lookups, len(self.dictionary), "concepts")

    def reasons(self) -> list[Reasons]:
        """What explains the candidates of each lookup."""
        return [
            Reasons(self.dictionary, self.generator, self.ranker, of_one) for of_one in self.lookups
        ]


class Reasons:
    """Explains the candidates of one lookup.

    Args:
        dictionary: the concepts that were ranked.
        generator: gave the scores.
        ranker: put the candidates in order; None: their scores did.
        looked_up: what was looked up, with its candidates.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        generator: Generator,
        ranker: Ranker | None,
        looked_up: RankedLookup,
    ) -> None:
        self._dictionary, self._generator, self._lookup = dictionary, generator, looked_up.lookup
        self._ranker, self.seen = ranker, looked_up
        self.contributions = Contributions(generator, looked_up.lookup.normalized)

    def candidates(self, confidences: Sequence[float | None]) -> tuple[ExplainedCandidate, ...]:
        """Explain the first candidates, as many as there are confidences."""
        return tuple(
            self.candidate(self.seen.ranked, place, confidence)
            for place, confidence in enumerate(confidences)
        )

    def candidate(
        self, ranked: Ranked, place: int, confidence: float | None = None
    ) -> ExplainedCandidate:
        """Explain one candidate, given its place in a ranking, from 0.

        Args:
            ranked: the candidates that the ranker saw, or all concepts, of which these are first.
            place: of the candidate.
            confidence: of the candidate.
        """
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
            self._match(place),
            self._behind(place),
        )

    def _decided_by(self, ranked: Ranked, place: int) -> Rule:
        """What puts the first candidate before another one."""
        seen = self.seen.confidences or ()
        if place < len(seen) and seen[0] != seen[place]:
            return "probability"
        if ranked.scores[0] != ranked.scores[place]:
            return "score"
        return self._dictionary.tie_rule(int(ranked.entries[0]), int(ranked.entries[place]))

    def confidence(self, place: int, limit: float | None) -> float | None:
        """How probable it is that a candidate is right; None without a ranker.

        Args:
            place: of the candidate; one that the ranker did not see has 0.
            limit: the most that it can be; None: it has no limit.
        """
        seen = self.seen.confidences
        if seen is None:
            return None
        value = seen[place] if place < len(seen) else 0.0
        return round(value if limit is None else min(limit, value), 6)

    def _match(self, place: int) -> dict[str, float]:
        """The columns of a candidate that the ranker saw."""
        if self.seen.values is None or place >= len(self.seen.values):
            return {}
        values = self.seen.values[place].tolist()
        return {name: round(value, 6) for name, value in zip(COLUMNS, values, strict=True) if value}

    def _behind(self, place: int) -> tuple[ColumnEffect, ...]:
        """What puts the first candidate before another one that the ranker saw.

        For each column the log odds that the first would lose with the value of the other, the
        largest first; columns that speak for the other one are left out.
        """
        values, behind = self.seen.values, self.seen.behind
        if self._ranker is None or values is None or behind is None or not 0 < place < len(values):
            return ()
        changed = np.flatnonzero((values[0] != values[place]) | (behind[0] != behind[place]))
        first, other = (np.concatenate([values[row], behind[row]]) for row in (0, place))
        inputs = np.tile(first, (len(changed) + 1, 1))
        for row, column in enumerate(changed.tolist(), 1):
            for half in (column, column + len(COLUMNS)):
                inputs[row, half] = other[half]
        scores = self._ranker.scores_of(inputs)
        names = list(COLUMNS)
        effects = [
            ColumnEffect(
                names[column],
                COLUMNS[names[column]],
                round(float(values[0, column]), 6),
                round(float(values[place, column]), 6),
                round(float(scores[0] - score), 6),
            )
            for column, score in zip(changed.tolist(), scores[1:], strict=True)
        ]
        effects = [effect for effect in effects if effect.log_odds >= _LEAST_EFFECT]
        return tuple(sorted(effects, key=lambda effect: -effect.log_odds)[:_EFFECTS])

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

"""Why the candidates of a lookup have their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from linker.candidates import agreement
from linker.candidates.agreement import Group
from linker.candidates.base import Ranked, Ranker
from linker.candidates.contributions import Contributions
from linker.candidates.hybrid import HybridGenerator
from linker.confidence.answers import PreparedRequest, RankedReading
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
        ranker: gave the scores, but for the agreement.
        document_weight: of the agreement with other mentions of the document.
        prepared: the request that the reading is part of.
        reading: the reading.
        usual: whether it is the most usual one of its mention.
    """

    dictionary: Dictionary
    ranker: Ranker
    document_weight: float
    prepared: PreparedRequest
    reading: RankedReading
    usual: bool

    @property
    def _usual_lookups(self) -> list[Lookup]:
        return [lookup for readings in self.prepared.mentions for lookup in readings[0].lookups]

    @property
    def agrees(self) -> bool:
        """Whether other mentions of the document have a say in its scores."""
        depends = self.usual and self.prepared.document is not None and self.document_weight
        return bool(depends) and len(set(self._usual_lookups)) > 1

    def whole_rankings(self) -> list[Ranked]:
        """The ranking of all concepts that can be answered with, for each lookup."""
        count, lookups = len(self.dictionary), self.reading.lookups
        if not self.agrees:
            return self.ranker.rank(lookups, count, "concepts")
        group = Group(self._usual_lookups, count)
        (rankings,) = agreement.rank(self.ranker, [group], "concepts", self.document_weight)
        by_lookup = dict(zip(group.lookups, rankings, strict=True))
        return [by_lookup[lookup] for lookup in lookups]

    def reasons(self) -> list[Reasons]:
        """What explains the candidates of each lookup."""
        return [
            Reasons(self.dictionary, self.ranker, lookup, self.agrees)
            for lookup in self.reading.lookups
        ]


class Reasons:
    """Explains the candidates of one lookup.

    Args:
        dictionary: the concepts that were ranked.
        ranker: gave the scores, but for the agreement.
        lookup: what was looked up.
        agrees: whether other mentions of the document have a say in the scores.
    """

    def __init__(
        self, dictionary: Dictionary, ranker: Ranker, lookup: Lookup, agrees: bool
    ) -> None:
        self._dictionary, self._ranker, self._generator = dictionary, ranker, ranker.generator
        self._lookup, self._agrees = lookup, agrees
        self.contributions = Contributions(ranker.generator, lookup.normalized)

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
        first, other = int(ranked.concepts[0]), int(ranked.concepts[place])
        if any(scores[first] != scores[other] for scores in self._earlier_scores):
            return "earlier score"
        return self._dictionary.tie_rule(int(ranked.entries[0]), int(ranked.entries[place]))

    def _matched(self, row: int, entry: int) -> MatchedName:
        name, annotated = self._dictionary.name(entry), self._dictionary.columns.names.annotated
        return MatchedName(
            name.text,
            name.kind,
            name.source,
            bool(self._dictionary.lender(entry)),
            self._ranker.table.texts[row] == self._lookup.normalized,
            0 if annotated is None else int(annotated[entry]),
        )

    def _parts(self, ranked: Ranked, place: int) -> ScoreParts:
        """The terms of a score; what a later stage gave is what the earlier ones leave."""
        score, generator = float(ranked.scores[place]), self._generator
        if ranked.sparse is None:
            raise ValueError("the ranking has no parts")
        sparse = float(ranked.sparse[place])
        dense, weight, bonus = None, 1.0, 0.0
        if isinstance(generator, HybridGenerator) and ranked.dense is not None:
            dense, weight = float(ranked.dense[place]), generator.sparse_weight
            bonus = float(generator.bias[int(ranked.names[place])])
        first = (dense or 0.0) + weight * sparse + bonus
        alone = score
        if self._agrees:
            alone = self._earlier_scores[0][int(ranked.concepts[place])]
        second = 0.0 if self._ranker is generator else alone - first
        numbers = (round(number, 6) for number in (bonus, second, score - alone))
        return ScoreParts(
            round(score, 6),
            round(sparse, 6),
            None if dense is None else round(dense, 6),
            weight,
            *numbers,
        )

    @cached_property
    def _earlier_scores(self) -> list[dict[int, float]]:
        """The scores of all concepts before other mentions, then before a second stage, if any."""
        rankers: list[Ranker] = [self._ranker] if self._agrees else []
        if self._ranker is not self._generator:
            rankers.append(self._generator)
        count, result = len(self._dictionary), []
        for ranker in rankers:
            (ranked,) = ranker.rank([self._lookup], count, "concepts")
            result.append(dict(zip(ranked.concepts.tolist(), ranked.scores.tolist(), strict=True)))
        return result


def place_of(dictionary: Dictionary, row: int) -> Place:
    """A concept with its preferred name."""
    return Place(dictionary.ids[row], dictionary.preferred_name(row))

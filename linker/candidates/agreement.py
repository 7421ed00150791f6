"""Document-level consistency: a candidate gains if other mentions of its document mean it too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linker.candidates.base import Ranked, Ranker, Unit
from linker.types import Lookup

_DEPTH: Mapping[Unit, int] = {
    "concepts": 20,
    "names": 60,
}  # the fewest answers that agreement reorders

_Name = TypeVar("_Name", bound=Hashable)
Ranking = Sequence[tuple[Iterable[Hashable], float]]
"""The candidates of a name, best first: their concepts and their score."""


@dataclass(frozen=True, slots=True)
class Group:
    """Lookups that are answered together: those of a document, or one by itself."""

    lookups: Sequence[Lookup]
    k: int  # answers for each lookup


def rank(
    ranker: Ranker, groups: Sequence[Group], unit: Unit, weight: float
) -> Iterator[list[Ranked]]:
    """Rank the k best names or concepts of each lookup; lookups of a group influence each other.

    Args:
        ranker: ranks each lookup by itself.
        groups: the lookups, all ranked in one batch.
        unit: whether names or concepts are ranked.
        weight: of the agreement, see `agreed`; 0 switches it off.

    Returns:
        For each group the rankings of its lookups.
    """
    lookups: dict[int, dict[Lookup, None]] = defaultdict(dict)  # by how many answers are fetched
    for group in groups:
        lookups[_depth(group, unit, weight)] |= dict.fromkeys(group.lookups)
    ranked = {
        depth: dict(zip(batch, ranker.rank(list(batch), depth, unit), strict=True))
        for depth, batch in lookups.items()
    }
    for group in groups:
        alone = ranked[_depth(group, unit, weight)]
        rankings = {lookup: alone[lookup] for lookup in group.lookups}
        if weight and len(group.lookups) > 1:
            rankings = _agreeing(ranker, rankings, unit, weight, group.k)
        yield [rankings[lookup][: group.k] for lookup in group.lookups]


def _depth(group: Group, unit: Unit, weight: float) -> int:
    """The number of answers to fetch: more than `k` where agreement reorders them."""
    return max(group.k, _DEPTH[unit]) if weight and len(group.lookups) > 1 else group.k


def _agreeing(
    ranker: Ranker, rankings: Mapping[Lookup, Ranked], unit: Unit, weight: float, k: int
) -> dict[Lookup, Ranked]:
    """The rankings of a document's lookups, ranked anew so that they agree."""
    answers = {
        lookup: [
            (concepts, round(score, 6))  # float32 has no more digits
            for concepts, score in zip(
                ranker.meanings(ranked, unit), ranked.scores.tolist(), strict=True
            )
        ]
        for lookup, ranked in rankings.items()
    }
    texts = ranker.table.texts
    exact = {
        lookup
        for lookup, ranked in rankings.items()
        if len(ranked) and texts[int(ranked.names[0])] == lookup.normalized
    }
    order = agreed(answers, exact, weight, k)
    return {lookup: ranked.reordered(*order[lookup]) for lookup, ranked in rankings.items()}


def agreed(
    rankings: Mapping[_Name, Ranking], exact: Collection[_Name], weight: float, k: int
) -> dict[_Name, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Rank the candidates of a document's names anew, so that the names agree.

    A candidate gains `weight` times the highest score, if above 0, with which one of its concepts
    is the first answer to another name. Candidates that score like the first are first answers,
    too; equal scores stay in their order.

    Args:
        rankings: of each distinct name of the document.
        exact: the names that the dictionary has as they are; they gain nothing.
        weight: how much of another name's score a candidate gains.
        k: how many candidates are kept of each name.

    Returns:
        For each name the places of its k best candidates, and their scores.
    """
    # concept -> the names that it is the first answer to, each with its score
    votes: dict[Hashable, dict[_Name, float]] = defaultdict(dict)
    for name, ranking in rankings.items():
        for concepts, score in ranking:
            if score < ranking[0][1]:
                break
            for concept in concepts:
                votes[concept][name] = score
    best = {}
    for name, ranking in rankings.items():
        others = [
            [score for i in concepts for other, score in votes.get(i, {}).items() if other != name]
            for concepts, _ in ranking
        ]
        gained = np.array([0.0 if name in exact else max(0.0, *scores, 0.0) for scores in others])
        alone = np.array([score for _, score in ranking])
        scores = np.round(alone + weight * gained, 6)  # of equal sums float64 may differ
        order = np.argsort(-scores, kind="stable")[:k]
        best[name] = order, scores[order]
    return best

"""Document-level consistency: what the other mentions of a document are linked to speaks for a candidate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Name = TypeVar("_Name", bound=Hashable)
Ranking = Sequence[tuple[Iterable[Hashable], float]]
"""The candidates of a name, best first: their concepts and their score."""


def agreed(
    rankings: Mapping[_Name, Ranking], settled: Collection[_Name], weight: float, k: int
) -> dict[_Name, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Rank the candidates of a document's names anew, so that the names agree.

    A candidate gains `weight` times the highest score, if above 0, with which one of its concepts is the first answer to another name.
    Candidates that score like the first are first answers, too; equal scores stay in their order.

    Args:
        rankings: of each distinct name of the document.
        settled: the names that gain nothing, since the dictionary has them as they are.

    Returns:
        For each name the places of its k best candidates, and their scores.
    """
    votes: dict[Hashable, dict[_Name, float]] = defaultdict(
        dict
    )  # of a concept: the names that it is the first answer to, its score
    for name, ranking in rankings.items():
        for concepts, score in ranking:
            if score < ranking[0][1]:
                break
            for concept in concepts:
                votes[concept][name] = score
    found = {}
    for name, ranking in rankings.items():
        others = [
            [score for i in concepts for other, score in votes.get(i, {}).items() if other != name]
            for concepts, _ in ranking
        ]
        gained = np.array([0.0 if name in settled else max(0.0, *some, 0.0) for some in others])
        scores = np.array([score for _, score in ranking]) + weight * gained
        order = np.argsort(-scores, kind="stable")[:k]
        found[name] = order, scores[order]
    return found

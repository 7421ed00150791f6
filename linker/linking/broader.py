"""The broader concept of a mention without a sure one: the narrowest that it probably is under.

The probability that a mention means a concept, or one below it, is the sum of those of all outcomes
of the ranker that say so: of each listed concept at or below it, that the mention means it, and
that it means something below it which is not listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.linking.ancestors import Ancestors
from linker.linking.lists import Rows, owners
from linker.linking.ranking import Ranking
from linker.search.concepts import distinct

SURE = 0.75
"""How probable it must be that the mention means the concept or one below it."""


def narrowest(
    ranking: Ranking, ancestors: Ancestors, wanted: Sequence[int]
) -> dict[int, tuple[int, float]]:
    """The narrowest listed concept that mentions probably mean, or mean something below.

    Of equally narrow ones it is the more probable one. A concept is none where the mention rather
    means the concept itself; it may be the answer, if nobody can be sure of that.

    Args:
        ranking: by a ranker; the readings of one part are looked at.
        ancestors: tells what stands above the concepts.
        wanted: the numbers of the mentions that are asked for.

    Returns:
        The row of the concept and the probability, by the number of the mention.
    """
    probabilities = ranking.probabilities
    if probabilities is None:
        return {}
    lists = ranking.batch.lists
    asked = np.zeros(len(lists.nil_evidence), bool)
    asked[list(wanted)] = True
    row_reading = owners(lists.lookups)[owners(lists.rows)]
    row_mention = owners(lists.readings)[row_reading]
    rows = np.flatnonzero(lists.is_single & asked[row_mention])
    reading = row_reading[rows]
    mention = row_mention[rows]
    size = np.int64(len(ancestors.sizes))
    keys = mention * size + ranking.batch.found.concepts[rows]
    pairs = distinct(keys)
    pair = np.searchsorted(pairs, keys)
    of_rows = probabilities.readings[reading] * probabilities.rows[rows]
    exact = np.bincount(pair, of_rows, len(pairs))
    broader = np.bincount(pair, probabilities.broader[rows], len(pairs))
    mentions, concepts = np.divmod(pairs, size)
    under = _summed_above(ancestors, mentions, concepts, exact + broader)
    is_broader = (under >= SURE) & (exact <= under / 2) & ancestors.is_narrow[concepts]
    chosen = np.flatnonzero(is_broader)
    order = np.lexsort((concepts[chosen], -under[chosen], ancestors.sizes[concepts[chosen]]))
    best: dict[int, tuple[int, float]] = {}
    for place in chosen[order].tolist():
        best.setdefault(int(mentions[place]), (int(concepts[place]), float(under[place])))
    return best


def _summed_above(
    ancestors: Ancestors, mentions: Rows, concepts: Rows, shares: NDArray[Any]
) -> NDArray[Any]:
    """The sum of the shares of all that a concept is, or stands above, for each listed concept.

    Args:
        ancestors: tells what stands above the concepts.
        mentions: of each listed concept, rising.
        concepts: their rows, rising for each mention.
        shares: of each.
    """
    size = np.int64(len(ancestors.sizes))
    listed = mentions * size + concepts
    place, above = ancestors.at_or_above(concepts)
    wanted = mentions[place] * size + above
    at = np.minimum(np.searchsorted(listed, wanted), max(0, len(listed) - 1))
    is_listed = listed[at] == wanted if len(listed) else np.zeros(0, bool)
    return np.bincount(at[is_listed], shares[place[is_listed]], len(listed))

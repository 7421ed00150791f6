"""The broader concept of a mention without an exact one: the narrowest that it probably is under.

What two and more candidates of a mention are, or stand below, is described in a few numbers, of
which a logistic regression makes the probability that the mention means this concept or one below
it. It is fitted to mentions whose concepts were taken out of the dictionary
(benchmarks/accuracy/broader.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.hierarchy import Hierarchy
from linker.io import persistence
from linker.linking.matches import PLACE
from linker.linking.ranker import SHIPPED, Rows
from linker.linking.ranking import Ranking
from linker.search.concepts import distinct, ends, ranges

COLUMNS = (
    "likeness",  # the share of candidates at or below the concept in a softmax of all scores
    "confidence",  # theirs together
    "confidence_share",  # as a share of that of all candidates
    "count",  # how many they are, as a share of all
    "size",  # log(1 + the concepts at or below it)
    "score",  # the largest one, as a share of that of a name that is the mention
    "head_share",  # of the mention, as in `matches.COLUMNS`
    "head_ending",
)
SURE = 0.75
"""How probable it must be that the mention means the concept or one below it."""
_SHARPNESS = 6.0  # of the softmax of scores, which are shares
_WIDEST = 0.2  # share of the concepts, of which one that stands above more says nothing
_FEWEST = 2  # candidates at or below a concept
_CLIP = 3.0  # standard deviations from the mean that a number is moved to, if it is further away

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Above:
    """What stands at or above candidates: pairs of a text and a concept.

    Attributes:
        lookups: (pairs,) the number of each text in its batch, rising.
        concepts: (pairs,) rows of the dictionary.
        values: (pairs, `COLUMNS`).
    """

    lookups: Rows
    concepts: Rows
    values: Floats


class Ancestors:
    """Which concepts stand above others, and how many below them can be answered with.

    Args:
        hierarchy: of the dictionary.
        linkable: rows of the concepts that can be answered with.
    """

    def __init__(self, hierarchy: Hierarchy, linkable: NDArray[Any]) -> None:
        under = hierarchy.under(range(hierarchy.size))
        self._starts, self._above = under.indptr.astype(np.int64), under.indices
        is_in = np.zeros(hierarchy.size, np.int32)
        is_in[linkable] = 1
        self._sizes = is_in @ under
        self._is_fit = (is_in > 0) & (self._sizes <= _WIDEST * len(linkable))

    def describe(self, ranking: Ranking, lookups: Rows) -> Above:
        """Describe what stands at or above the candidates of some texts of a ranking.

        Args:
            ranking: by a ranker.
            lookups: the numbers of the texts, rising.
        """
        lists, size = ranking.batch.lists, np.int64(len(self._sizes))
        counts = np.diff(lists.rows)[lookups]
        lookups, counts = lookups[counts > 0], counts[counts > 0]
        rows = ranking.order[ranges(lists.rows[lookups], counts)]
        text, starts = np.repeat(np.arange(len(lookups)), counts), ends(counts)[:-1]
        values, confidence = lists.values[rows].astype(np.float64), ranking.confidence[rows]
        score = values[:, PLACE["score"]]
        best = np.maximum.reduceat(score, starts) if len(starts) else score
        likeness = np.exp(_SHARPNESS * (score - best[text]))
        likeness /= np.bincount(text, likeness)[text]
        concepts = ranking.batch.found.concepts[rows]
        steps = np.diff(self._starts)[concepts]
        row = np.repeat(np.arange(len(rows)), steps)
        above = self._above[ranges(self._starts[concepts], steps)].astype(np.int64)
        row, above = row[self._is_fit[above]], above[self._is_fit[above]]
        keys = text[row] * size + above
        pairs = distinct(keys)
        pair = np.searchsorted(pairs, keys)
        count = np.bincount(pair, minlength=len(pairs))
        together, alike = (
            np.bincount(pair, of_rows[row], len(pairs)) for of_rows in (confidence, likeness)
        )
        kept = count >= _FEWEST
        of_text, concept = np.divmod(pairs[kept], size)
        total = np.bincount(text, confidence)[of_text]
        columns = (
            alike[kept],
            together[kept],
            np.divide(together[kept], total, out=np.zeros(len(total)), where=total > 0),
            count[kept] / counts[of_text],
            np.log1p(self._sizes[concept]),
            best[of_text],
            *(values[starts[of_text], PLACE[name]] for name in COLUMNS[-2:]),
        )
        return Above(lookups[of_text], concept, np.stack(columns, axis=1))


@dataclass(frozen=True, slots=True)
class Weights:
    """Those of the logistic regression.

    Attributes:
        centre, scale: (columns,) what is subtracted from values, and what they are divided by then.
        weights: (columns,)
        bias: a number.
    """

    centre: Floats
    scale: Floats
    weights: Floats
    bias: float

    @classmethod
    @cache
    def shipped(cls) -> Weights:
        """Those that come with linker."""
        record = persistence.load_json(SHIPPED / "broader.json")
        centre, scale, weights = np.array([record["columns"][name] for name in COLUMNS]).T
        return cls(centre, scale, weights, record["bias"])

    def scaled(self, values: Floats) -> Floats:
        """What is weighed, given values."""
        return np.clip((values - self.centre) / self.scale, -_CLIP, _CLIP)

    def probability(self, above: Above) -> Floats:
        """The probability that each concept is meant, or one below it is, (pairs,)."""
        return 1 / (1 + np.exp(-self.scaled(above.values) @ self.weights - self.bias))

    def narrowest(
        self, above: Above, lookups: Rows, inside: Floats, exact: Rows
    ) -> dict[int, tuple[int, float]]:
        """The narrowest concept of each text that is probable enough, with its probability.

        Of equally narrow ones it is the more probable one.

        Args:
            above: what stands above their candidates.
            lookups: the numbers of the texts, rising.
            inside: (texts,) how probable it is that each means a concept of the part in use.
            exact: (texts,) the concept that is no broader one; -1: there is none.
        """
        text, size = np.searchsorted(lookups, above.lookups), COLUMNS.index("size")
        probability = self.probability(above) * inside[text]
        sure = np.flatnonzero((probability >= SURE) & (above.concepts != exact[text]))
        keys = above.concepts[sure], -probability[sure], above.values[sure, size]
        order = sure[np.lexsort(keys)][::-1]
        chosen = zip(above.lookups[order], above.concepts[order], probability[order], strict=True)
        return {int(lookup): (int(concept), float(share)) for lookup, concept, share in chosen}

"""The base class of candidate generators, which also decides ties."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linker import cancelling
from linker.candidates.concepts import Candidates, by_concept, by_name
from linker.candidates.index import Floats, Hits, Integers, is_finite
from linker.dictionary import NameTable
from linker.errors import LinkerError

_OVERFETCH = 5  # names fetched for each concept to rank
_GROWTH = 4  # times as many hits in the next round, where a list may change
_CELLS = 500_000  # hits in memory at once, 4 MB

Unit = Literal["names", "concepts"]
"""The unit of a ranking: distinct names, or concepts, each scored by its best name."""


class Generator(ABC):
    """Ranks the names or the concepts of a dictionary for texts, and decides ties.

    Of names with equal scores the dictionary's own come before lent ones, then they are ordered by
    the id of the first concept, then by row; concepts are ordered by the rank of the matched name,
    then by id.

    Args:
        table: the normalised names of the dictionary.
        id_rank: (concepts,) the place of each concept in the order of ids.
        entry_rank: (names of the dictionary,) how names rank where scores are equal.
    """

    def __init__(self, table: NameTable, id_rank: Integers, entry_rank: Integers) -> None:
        self.table, self._id_rank, self._entry_rank = table, id_rank, entry_rank
        self._is_named = np.diff(table.indptr) > 0  # the empty name stands for no concept

    @abstractmethod
    def score(self, queries: Sequence[str], k: int) -> Hits:
        """Find the k best names of each query, in any order; fewer where there are no more."""

    @abstractmethod
    def among(self, concepts: NDArray[np.bool_]) -> Generator:
        """The generator that ranks some concepts only, with the scores of this one.

        Args:
            concepts: which ones, (concepts of the dictionary,).
        """

    @abstractmethod
    def without(self, pairs: NDArray[np.bool_]) -> Generator:
        """The generator that does not know some concepts of some names.

        Args:
            pairs: which of `NameTable.concepts` are left out.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the encoders and vectors that it ranks with into a folder that is being saved."""

    def rank(self, texts: Sequence[str], k: int, unit: Unit) -> list[Candidates]:
        """Rank the k best names or concepts of each normalised text; fewer if there are no more."""
        queries = list(dict.fromkeys(texts))
        is_names = unit == "names"
        found = self._complete(queries, k + 1) if is_names else self.candidates(queries, k)
        bounds = itertools.pairwise(found.indptr.tolist())
        rankings = (found.only(slice(a, min(a + k, b))) for a, b in bounds)
        of_query = dict(zip(queries, rankings, strict=True))
        return [of_query[text] for text in texts]

    def candidates(self, queries: Sequence[str], k: int) -> Candidates:
        """Find the k best concepts of each query; fewer where there are no more.

        Args:
            queries: texts in normal form, distinct: one that occurs twice is searched for twice.
            k: concepts of each query.
        """
        k = min(k, len(self._id_rank))  # a larger one is more than arrays can count to
        return self._complete(queries, _OVERFETCH * k, k)

    def _complete(self, queries: Sequence[str], fetch: int, concepts: int = 0) -> Candidates:
        """The best concepts of each query, or the names that were found for it, in order.

        More names are fetched where those that were fetched do not decide the best.

        Args:
            queries: in normal form.
            fetch: the number of names to begin with.
            concepts: how many are ranked; 0: names are, of which all but the last are certain.
        """
        ranks = self.table, self._id_rank, self._entry_rank
        numbers, closed = np.arange(len(queries)), []
        parts: list[Candidates] = []
        while len(numbers) or not parts:
            fetch = min(fetch, len(self.table))
            step, still_open = max(1, _CELLS // max(1, fetch)), [numbers[:0]]
            for batch in (numbers[i : i + step] for i in range(0, max(1, len(numbers)), step)):
                cancelling.check()
                hits = self.score([queries[i] for i in batch], fetch)
                if not is_finite(hits.scores):
                    raise LinkerError(
                        "the encoder gives scores that are not finite; its weights are damaged "
                        "or too large, train again"
                    )
                part = by_concept(hits, concepts, *ranks) if concepts else by_name(hits, *ranks)
                is_open = self._is_open(hits, part, fetch, concepts or fetch - 1)
                still_open.append(batch[is_open])
                closed.append(batch[~is_open])
                parts.append(part.take(np.flatnonzero(~is_open)) if is_open.any() else part)
            numbers = np.concatenate(still_open)
            fetch *= _GROWTH
        return Candidates.joined(parts, np.concatenate(closed))

    def _is_open(self, hits: Hits, part: Candidates, fetch: int, wanted: int) -> NDArray[np.bool_]:
        """Whether a query must fetch more names before its best are certain, (queries,).

        Args:
            hits: at most `fetch` for each query.
            part: the names or the concepts of the hits. Those with the score of the last hit are
                uncertain: a name with this score may not have been fetched.
            fetch: the number of hits that were asked for.
            wanted: as many names or concepts are to be certain.
        """
        counts = np.diff(hits.indptr)
        if fetch == len(self.table):
            return np.zeros(len(counts), bool)
        last: Floats = np.full(len(counts), np.inf, np.float32)
        np.minimum.at(last, hits.queries, hits.scores)
        certain = part.queries[part.scores > last[part.queries]]
        is_open: NDArray[np.bool_] = np.bincount(certain, minlength=len(counts)) < wanted
        is_open &= counts == fetch
        return is_open

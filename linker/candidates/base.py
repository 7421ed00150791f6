"""The frame of all candidate generators: from scored names to ranked names and concepts, with ties decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linker.candidates.index import Floats, Hits, Integers
from linker.dictionary import NameTable

_OVERFETCH = 10  # names fetched for each concept asked for (MEDIC has 7 a concept); widened where they give too few
_WIDEN = 4
_CELLS = 500_000  # hits that are held at once, 4 MB


@dataclass(frozen=True, slots=True)
class Ranked:
    """One query's ranking, best first, all (found,): concept rows, the rows of `Dictionary.names` that matched best, their scores.

    `sparse` and `dense` are the parts of the scores, as in `Hits`.
    """

    concepts: Integers
    entries: Integers
    scores: Floats
    sparse: Floats | None = None
    dense: Floats | None = None

    def __getitem__(self, part: slice) -> Ranked:
        sparse, dense = _at(self.sparse, part), _at(self.dense, part)
        return Ranked(self.concepts[part], self.entries[part], self.scores[part], sparse, dense)


class Generator(ABC):
    """Ranks the names or the concepts of a dictionary for normalised names.

    Args:
        table: the normalised names of the dictionary.
        id_rank: (concepts,) the place of each concept in the order of ids.
        entry_rank: (names of the dictionary,) how names rank where scores are equal; then by id.
    """

    def __init__(self, table: NameTable, id_rank: Integers, entry_rank: Integers) -> None:
        self.table, self._id_rank, self._entry_rank = table, id_rank, entry_rank
        self._name_rank = np.zeros(len(table), np.int32)  # of a name's first concept
        named = np.diff(table.indptr) > 0
        self._name_rank[named] = np.minimum.reduceat(
            id_rank[table.concepts], table.indptr[:-1][named]
        )

    @abstractmethod
    def score(self, queries: Sequence[str], k: int) -> Hits:
        """Find the k best names of each query, in any order; fewer where there are no more."""

    @abstractmethod
    def among(self, concepts: NDArray[np.bool_]) -> Generator:
        """The generator that ranks some concepts only, given which ones (concepts of the dictionary,), with the scores of this one."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what it ranks with into a folder that is being saved."""

    def names(self, queries: Sequence[str], k: int) -> list[tuple[Integers, Floats]]:
        """Rank the k best names of each query: rows of the name table and scores; equal scores by id of the first concept, then row."""
        result: dict[int, tuple[Integers, Floats]] = {}
        for todo, hits in self._widening(queries, k + 1):
            for i, a, b in _ranges(todo, hits):
                rows, scores = hits.rows[a:b], hits.scores[a:b]
                order = np.lexsort((rows, self._name_rank[rows], -scores))[:k]
                result[i] = rows[order], scores[order]
        return [result[i] for i in range(len(queries))]

    def concepts(self, queries: Sequence[str], k: int) -> list[Ranked]:
        """Rank the k best concepts of each query, each by its best name; equal scores by rank of the name, then by id."""
        k = min(k, len(self._id_rank))  # a larger one is more than arrays can count to
        result: dict[int, Ranked] = {}
        for todo, hits in self._widening(queries, _OVERFETCH * k, concepts=k):
            indptr, ranked = self._group(hits)
            for j, i in enumerate(todo):
                result[i] = ranked[indptr[j] : min(indptr[j] + k, indptr[j + 1])]
        return [result[i] for i in range(len(queries))]

    def _widening(
        self, queries: Sequence[str], fetch: int, concepts: int = 0
    ) -> Iterator[tuple[list[int], Hits]]:
        """Yield query numbers with their hits, again with more hits for those whose list was cut where it could still change.

        A list may be cut between equal scores, or, where `concepts` are counted, before it names so many. A query is yielded again
        then, and the later hits hold the earlier ones.
        """
        todo = list(range(len(queries)))
        while todo:
            fetch = min(fetch, len(self.table))
            still_open = []
            step = max(1, _CELLS // fetch)
            for batch in (todo[i : i + step] for i in range(0, len(todo), step)):
                hits = self.score([queries[i] for i in batch], fetch)
                yield batch, hits
                if fetch < len(self.table):
                    still_open += [
                        i
                        for i, a, b in _ranges(batch, hits)
                        if b - a == fetch and self._is_open(hits, slice(a, b), concepts)
                    ]
            todo = still_open
            fetch *= _WIDEN

    def _is_open(self, hits: Hits, found: slice, concepts: int) -> bool:
        """Whether names beyond a full list could change its first `concepts` concepts (0: its names but the last)."""
        scores = hits.scores[found]
        surely = hits.rows[found][scores > scores.min()]
        if not concepts:
            return len(surely) < len(scores) - 1
        above = [
            self.table.concepts[self.table.indptr[r] : self.table.indptr[r + 1]] for r in surely
        ]
        return not above or len(np.unique(np.concatenate(above))) < concepts

    def _group(self, hits: Hits) -> tuple[NDArray[np.int64], Ranked]:
        """Turn hits on names into concepts, each once with its best name, ordered within each query."""
        starts = self.table.indptr[hits.rows]
        counts = self.table.indptr[hits.rows + 1] - starts
        hit = np.repeat(np.arange(len(hits.rows)), counts)
        pick = (starts - np.cumsum(counts) + counts)[hit] + np.arange(len(hit))
        concepts, entries, scores = (
            self.table.concepts[pick],
            self.table.entries[pick],
            hits.scores[hit],
        )
        query = np.repeat(np.arange(len(hits.indptr) - 1), np.diff(hits.indptr))[hit]
        ranks = self._entry_rank[entries]
        order = np.lexsort((entries, ranks, -scores, concepts, query))
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(query[order]) != 0) | (np.diff(concepts[order]) != 0)
        first = order[new]
        first = first[
            np.lexsort((self._id_rank[concepts[first]], ranks[first], -scores[first], query[first]))
        ]
        indptr = np.searchsorted(query[first], np.arange(len(hits.indptr)))
        sparse, dense = _at(hits.sparse, hit[first]), _at(hits.dense, hit[first])
        return indptr, Ranked(concepts[first], entries[first], scores[first], sparse, dense)


def _at(scores: Floats | None, places: slice | NDArray[np.int64]) -> Floats | None:
    return None if scores is None else scores[places]


def _ranges(todo: Sequence[int], hits: Hits) -> Iterator[tuple[int, int, int]]:
    """Each query number with the range of its hits."""
    bounds = hits.indptr.tolist()
    return zip(todo, bounds[:-1], bounds[1:], strict=True)

"""What ranks names and concepts, and the frame of all candidate generators, which decides ties."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linker.candidates.index import Floats, Hits, Integers
from linker.dictionary import Dictionary, NameTable
from linker.types import Lookup

_OVERFETCH = 10  # names fetched for each concept asked for (MEDIC has 7 a concept)
_WIDEN = 4
_CELLS = 500_000  # hits that are held at once, 4 MB

Unit = Literal["names", "concepts"]
"""What is ranked and counted: distinct names, or concepts, each by its best name."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The ranking of one lookup, best first; all arrays have one number for each answer.

    `names` are rows of the name table, `concepts` rows of the dictionary, `entries` rows of
    `Dictionary.names`. Where names are ranked, `concepts` holds the first concept of each by id,
    and `entries` one way to write it. `sparse` and `dense` are the parts of the scores, as in
    `Hits`.
    """

    names: Integers
    concepts: Integers
    entries: Integers
    scores: Floats
    sparse: Floats | None = None
    dense: Floats | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, places: slice | NDArray[np.int64]) -> Ranked:
        parts = self.sparse, self.dense
        return Ranked(
            self.names[places],
            self.concepts[places],
            self.entries[places],
            self.scores[places],
            *(None if part is None else part[places] for part in parts),
        )

    def reordered(self, order: NDArray[np.int64], scores: NDArray[Any]) -> Ranked:
        """Some answers in another order, with other scores."""
        return dataclasses.replace(self[order], scores=np.asarray(scores, np.float32))


class Ranker(ABC):
    """Ranks the names or the concepts of a dictionary for lookups.

    Attributes:
        words: how many words on either side of a mention it reads; None where it reads none.
    """

    words: int | None = None

    @property
    @abstractmethod
    def generator(self) -> Generator:
        """The first stage: itself, where there is no other."""

    @abstractmethod
    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        """Rank the k best names or concepts of each lookup; fewer where there are no more."""

    @abstractmethod
    def behind(self, generator: Generator, dictionary: Dictionary) -> Ranker:
        """This ranker with another first stage, over the names of this dictionary."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what it ranks with into a folder that is being saved."""

    @property
    def table(self) -> NameTable:
        """The normalised names of the dictionary."""
        return self.generator.table

    def meanings(self, ranked: Ranked, unit: Unit) -> list[list[int]]:
        """The rows of the concepts that each answer stands for: one, or all those of a name."""
        if unit == "concepts":
            return [[concept] for concept in ranked.concepts.tolist()]
        return [self.table.concepts_of(row).tolist() for row in ranked.names.tolist()]


class Generator(Ranker):
    """Ranks by the scores of names, and decides ties.

    Equal scores of names are ordered by the id of the first concept, then by row; those of concepts
    by the rank of the matched name, then by id.

    Args:
        table: the normalised names of the dictionary.
        id_rank: (concepts,) the place of each concept in the order of ids.
        entry_rank: (names of the dictionary,) how names rank where scores are equal.
    """

    def __init__(self, table: NameTable, id_rank: Integers, entry_rank: Integers) -> None:
        self._table, self._id_rank, self._entry_rank = table, id_rank, entry_rank
        self._name_rank = np.zeros(len(table), np.int32)  # of a name's first concept
        named = np.diff(table.indptr) > 0
        self._name_rank[named] = np.minimum.reduceat(
            id_rank[table.concepts], table.indptr[:-1][named]
        )

    @property
    def table(self) -> NameTable:
        return self._table

    @property
    def generator(self) -> Generator:
        return self

    def behind(self, generator: Generator, dictionary: Dictionary) -> Ranker:
        return generator

    @abstractmethod
    def score(self, queries: Sequence[str], k: int) -> Hits:
        """Find the k best names of each query, in any order; fewer where there are no more."""

    @abstractmethod
    def among(self, concepts: NDArray[np.bool_]) -> Generator:
        """The generator that ranks some concepts only, with the scores of this one.

        Args:
            concepts: which ones, (concepts of the dictionary,).
        """

    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        queries = list(dict.fromkeys(lookup.normalized for lookup in lookups))
        ranked: dict[str, Ranked] = {}
        if unit == "names":
            group, fetch, concepts = self._by_name, k + 1, 0
        else:
            k = min(k, len(self._id_rank))  # a larger one is more than arrays can count to
            group, fetch, concepts = self._by_concept, _OVERFETCH * k, k
        for todo, hits in self._widening(queries, fetch, concepts):
            indptr, best = group(hits)
            for i, a, b in zip(todo, indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
                ranked[queries[i]] = best[a : min(a + k, b)]
        return [ranked[lookup.normalized] for lookup in lookups]

    def _widening(
        self, queries: Sequence[str], fetch: int, concepts: int = 0
    ) -> Iterator[tuple[list[int], Hits]]:
        """Yield query numbers with their hits, again with more hits where a cut list may change.

        A list may be cut between equal scores, or, where `concepts` are counted, before it names so
        many. A query is yielded again then, and the later hits hold the earlier ones.
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

    def _is_open(self, hits: Hits, full: slice, concepts: int) -> bool:
        """Whether names beyond a full list could change its first concepts.

        Args:
            hits: of all queries.
            full: the range of the list.
            concepts: how many are wanted; 0: all names but the last.
        """
        scores = hits.scores[full]
        surely = hits.rows[full][scores > scores.min()]
        if not concepts:
            return len(surely) < len(scores) - 1
        above = [self.table.concepts_of(row) for row in surely]
        return not above or len(np.unique(np.concatenate(above))) < concepts

    def _by_name(self, hits: Hits) -> tuple[NDArray[np.int64], Ranked]:
        """Order hits within each query; where each query's begin, and all of them."""
        order = np.lexsort((hits.rows, self._name_rank[hits.rows], -hits.scores, hits.queries))
        rows = hits.rows[order]
        return hits.indptr, Ranked(
            rows,
            self._by_id[self._name_rank[rows]],
            self.table.entries[self.table.indptr[rows]],
            hits.scores[order],
            *(None if part is None else part[order] for part in (hits.sparse, hits.dense)),
        )

    @cached_property
    def _by_id(self) -> Integers:
        """The rows of the concepts in the order of ids."""
        return np.argsort(self._id_rank).astype(np.int32)

    def _by_concept(self, hits: Hits) -> tuple[NDArray[np.int64], Ranked]:
        """As `_by_name`, with each concept once, by its best name."""
        starts = self.table.indptr[hits.rows]
        counts = self.table.indptr[hits.rows + 1] - starts
        hit = np.repeat(np.arange(len(hits.rows)), counts)
        pick = (starts - np.cumsum(counts) + counts)[hit] + np.arange(len(hit))
        concepts, entries = self.table.concepts[pick], self.table.entries[pick]
        scores, query = hits.scores[hit], hits.queries[hit]
        ranks = self._entry_rank[entries]
        order = np.lexsort((entries, ranks, -scores, concepts, query))
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(query[order]) != 0) | (np.diff(concepts[order]) != 0)
        first = order[new]
        first = first[
            np.lexsort((self._id_rank[concepts[first]], ranks[first], -scores[first], query[first]))
        ]
        return np.searchsorted(query[first], np.arange(len(hits.indptr))), Ranked(
            hits.rows[hit[first]],
            concepts[first],
            entries[first],
            scores[first],
            *(None if part is None else part[hit[first]] for part in (hits.sparse, hits.dense)),
        )


def _ranges(todo: Sequence[int], hits: Hits) -> Iterator[tuple[int, int, int]]:
    """Each query number with the range of its hits."""
    bounds = hits.indptr.tolist()
    return zip(todo, bounds[:-1], bounds[1:], strict=True)

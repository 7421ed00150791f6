"""The base class of candidate generators, which also decides ties."""

from __future__ import annotations

import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linker import cancelling
from linker.candidates.concepts import Candidates, by_concept, concepts_of, distinct
from linker.candidates.index import Floats, Hits, Integers, is_finite
from linker.dictionary import NameTable
from linker.dictionary.dictionary import LENT_RANK
from linker.errors import LinkerError
from linker.types import Lookup

_OVERFETCH = 5  # names fetched for each concept to rank
_GROWTH = 4  # times as many hits in the next round, where a list may change
_CELLS = 500_000  # hits in memory at once, 4 MB

Unit = Literal["names", "concepts"]
"""The unit of a ranking: distinct names, or concepts, each scored by its best name."""


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

    def followed_by(self, other: Ranked) -> Ranked:
        """This ranking, and behind it the concepts of another one that it lacks."""
        behind = other[np.flatnonzero(~np.isin(other.concepts, self.concepts))]
        columns = (
            (getattr(self, field.name), getattr(behind, field.name))
            for field in dataclasses.fields(Ranked)
        )
        return Ranked(*(None if own is None else np.concatenate([own, o]) for own, o in columns))  # type: ignore[arg-type]


class Generator(ABC):
    """Ranks the names or the concepts of a dictionary for lookups, and decides ties.

    Of names with equal scores the dictionary's own come before lent ones, then they are ordered by
    the id of the first concept, then by row; concepts are ordered by the rank of the matched name,
    then by id.

    Args:
        table: the normalised names of the dictionary.
        id_rank: (concepts,) the place of each concept in the order of ids.
        entry_rank: (names of the dictionary,) how names rank where scores are equal.
    """

    def __init__(self, table: NameTable, id_rank: Integers, entry_rank: Integers) -> None:
        self._table, self._id_rank, self._entry_rank = table, id_rank, entry_rank
        self._name_rank = np.zeros(len(table), np.int32)  # of a name's first concept
        self._lent_name = np.zeros(len(table), bool)  # whether all entries of a name are lent
        self._is_named = named = np.diff(table.indptr) > 0  # the empty name stands for no concept
        starts = table.indptr[:-1][named]
        self._name_rank[named] = np.minimum.reduceat(id_rank[table.concepts], starts)
        best_entry = np.minimum.reduceat(entry_rank[table.entries], starts)
        self._lent_name[named] = best_entry >= LENT_RANK

    @property
    def table(self) -> NameTable:
        """The normalised names of the dictionary."""
        return self._table

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

    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        """Rank the k best names or concepts of each lookup; fewer where there are no more."""
        queries = list(dict.fromkeys(lookup.normalized for lookup in lookups))
        if unit == "concepts":
            found = self.candidates(queries, k)
            columns = found.names, found.concepts, found.entries, found.scores
            ranked = Ranked(*columns, found.sparse, found.dense)
            ends = found.indptr.tolist()
            answers = [ranked[a:b] for a, b in itertools.pairwise(ends)]
        else:
            answers = self._best_names(queries, k)
        of_query = dict(zip(queries, answers, strict=True))
        return [of_query[lookup.normalized] for lookup in lookups]

    def candidates(self, queries: Sequence[str], k: int) -> Candidates:
        """Find the k best concepts of each query; fewer where there are no more.

        Args:
            queries: texts in normal form, distinct: one that occurs twice is searched for twice.
            k: concepts of each query.
        """
        k = min(k, len(self._id_rank))  # a larger one is more than arrays can count to
        numbers: list[int] = []
        parts = []
        for some, hits in self._complete_hits(queries, _OVERFETCH * k, k):
            numbers += some
            parts.append(by_concept(hits, k, self.table, self._id_rank, self._entry_rank))
        return Candidates.joined(parts, numbers)

    def _best_names(self, queries: Sequence[str], k: int) -> list[Ranked]:
        """The k best names of each query."""
        ranked: dict[int, Ranked] = {}
        for numbers, hits in self._complete_hits(queries, k + 1):
            indptr, best = self._by_name(hits)
            for i, a, b in zip(numbers, indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
                ranked[i] = best[a : min(a + k, b)]
        return [ranked[i] for i in range(len(queries))]

    def _complete_hits(
        self, queries: Sequence[str], fetch: int, concepts: int = 0
    ) -> Iterator[tuple[list[int], Hits]]:
        """Yield the numbers of some queries with their hits, until there are those of all.

        Hits are incomplete, and more are fetched, where the list ends between equal scores, or has
        names of fewer than `concepts` concepts.
        """
        numbers = np.arange(len(queries))
        while True:
            fetch = min(fetch, len(self.table))
            still_open, step = [numbers[:0]], max(1, _CELLS // max(1, fetch))
            for batch in (numbers[i : i + step] for i in range(0, max(1, len(numbers)), step)):
                cancelling.check()
                hits = self.score([queries[i] for i in batch], fetch)
                if not is_finite(hits.scores):
                    raise LinkerError(
                        "the encoder gives scores that are not finite; its weights are damaged "
                        "or too large, train again"
                    )
                is_open = self._is_open(hits, fetch, concepts)
                still_open.append(batch[is_open])
                yield batch[~is_open].tolist(), hits.of(~is_open).only(self._is_named)
            numbers = np.concatenate(still_open)
            if not len(numbers):
                return
            fetch *= _GROWTH

    def _is_open(self, hits: Hits, fetch: int, concepts: int) -> NDArray[np.bool_]:
        """Whether names beyond the hits of each query could change its first concepts, (queries,).

        Args:
            hits: at most `fetch` for each query.
            fetch: the number of hits that were asked for.
            concepts: the number of concepts to rank; 0: all names but the last must be certain.
        """
        counts, query = np.diff(hits.indptr), hits.queries
        if fetch == len(self.table):
            return np.zeros(len(counts), bool)
        last = np.full(len(counts), np.inf, np.float32)
        np.minimum.at(last, query, hits.scores)
        is_certain = hits.scores > last[query]
        query, certain = query[is_certain], hits.rows[is_certain]
        if concepts:
            name, pick = concepts_of(self.table, certain)
            size = len(self._id_rank)
            query = distinct(query[name] * size + self.table.concepts[pick]) // size
        enough = concepts or fetch - 1
        is_open: NDArray[np.bool_] = np.bincount(query, minlength=len(counts)) < enough
        is_open &= counts == fetch
        return is_open

    def _by_name(self, hits: Hits) -> tuple[NDArray[np.int64], Ranked]:
        """Order the hits of each query: where those of each query begin, and all hits in order."""
        rows = hits.rows
        order = np.lexsort(
            (rows, self._name_rank[rows], self._lent_name[rows], -hits.scores, hits.queries)
        )
        rows = rows[order]
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

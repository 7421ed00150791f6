"""Training lists: candidates of each query, sparse and dense ones, with their relevance; and hypernym names for the norm loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from linker.candidates.index import Floats, Integers
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.dictionary.hierarchy import Hierarchy
from linker.matching import SYNONYM, relevance
from linker.ranker.options import TrainingOptions
from linker.types import Lookup


@dataclass(frozen=True, slots=True)
class Query:
    """A normalised name, and the ids of the concepts that are right for it (see `matching.accepted`)."""

    text: str
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lists:
    """The candidates of n queries, K places each; a shorter list ends in masked places."""

    rows: Integers  # (n, K) rows of the name table; -1 where masked
    sparse: Floats  # (n, K) sparse scores; 0 where masked
    relevance: NDArray[np.int8]  # (n, K) 2 synonym, 1 hypernym, 0 neither or masked
    mask: NDArray[np.bool_]  # (n, K) True where there is a candidate

    def __getitem__(self, rows: NDArray[np.int64]) -> Lists:
        """Select some lists, in the order of their rows."""
        return Lists(self.rows[rows], self.sparse[rows], self.relevance[rows], self.mask[rows])

    @property
    def has_relevant(self) -> NDArray[np.bool_]:
        """Which lists hold a synonym or a hypernym, (n,)."""
        return np.asarray((self.relevance > 0).any(axis=1))

    @property
    def with_gold(self) -> NDArray[np.bool_]:
        """Which lists hold a synonym, (n,)."""
        return np.asarray((self.relevance == SYNONYM).any(axis=1))

    @property
    def gold_share(self) -> float:
        """The share of lists that hold a synonym; 0 where there are no lists."""
        return float(self.with_gold.mean()) if len(self.rows) else 0.0


@dataclass(frozen=True, slots=True)
class Above:
    """The hypernyms of a query: their ids, and the rows of those of their names that are not right themselves."""

    ids: frozenset[str]
    names: Integers


class ListMaker:
    """Makes the candidate lists of every epoch for the same queries. The sparse ranking is computed once, here.

    Args:
        queries: what is trained on.
        dictionary: the ids and the hierarchy.
        sparse: ranks and scores the normalised names of the training dictionary, without the mentions.
        options: `top_k`, `dense_ratio`, `height` and `max_hypernyms` are used.
        exclude_own: keep the name that equals a query out of its list, for queries that are names of the dictionary.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        dictionary: Dictionary,
        sparse: SparseGenerator,
        options: TrainingOptions,
        *,
        exclude_own: bool = False,
    ) -> None:
        self.queries, self._options, self._generator, table = (
            tuple(queries),
            options,
            sparse,
            sparse.table,
        )
        self.dense_wanted = (
            options.top_k + exclude_own
        )  # dense names of a query that are always enough to fill its list
        self._texts = [query.text for query in queries]
        self._own = _rows_of(self._texts, table) if exclude_own else [-1] * len(queries)
        self._ids = ids_of(table, dictionary)
        self._above = hypernyms_of(queries, table, dictionary, options.height)
        wanted = options.top_k - int(
            options.top_k * options.dense_ratio
        )  # rounded as in the published code
        ranked = sparse.rank(list(map(Lookup.of, self._texts)), wanted + exclude_own, "names")
        found = zip(self._own, (one.names.tolist() for one in ranked), strict=True)
        self._sparse = [[row for row in rows if row != own][:wanted] for own, rows in found]

    def make(self, dense_rows: Integers) -> Lists:
        """Fill the lists: the best sparse names first, then the best dense ones that are not there yet (Sung et al. 2020).

        Args:
            dense_rows: (queries, m) rows of the name table, best first, -1 where there are no more; m is `dense_wanted` or more,
                or the number of names where there are fewer.

        Raises:
            ValueError: the shape is another.
        """
        size = len(self.queries), self._options.top_k
        if len(dense_rows) != size[0] or dense_rows.shape[1] < min(
            self.dense_wanted, len(self._generator.table)
        ):
            raise ValueError(
                f"dense rows are {dense_rows.shape}; expected: {size[0]} by {self.dense_wanted} or more"
            )
        rows, grades = np.full(size, -1, np.int32), np.zeros(size, np.int8)
        for i, dense in enumerate(dense_rows.tolist()):
            chosen = dict.fromkeys((*self._sparse[i], *dense))
            chosen.pop(self._own[i], None)
            chosen.pop(-1, None)
            kept = list(chosen)[: size[1]]
            rows[i, : len(kept)] = kept
            right, above = self.queries[i].right, self._above[i].ids
            grades[i, : len(kept)] = [relevance(self._ids(row), right, above) for row in kept]
        return Lists(rows, self._generator.similarity(self._texts, rows), grades, rows >= 0)

    def hypernym_names(self, random: np.random.Generator) -> Integers:
        """Sample names of each query's hypernyms, without replacement.

        Returns:
            (queries, max_hypernyms) rows of the name table; -1 where there are no more.
        """
        rows = np.full((len(self.queries), self._options.max_hypernyms), -1, np.int32)
        for i, above in enumerate(self._above):
            names = random.permutation(above.names)[: rows.shape[1]]
            rows[i, : len(names)] = names
        return rows


def _rows_of(texts: Iterable[str], table: NameTable) -> list[int]:
    """The row of each text in the table; -1 where it is no name."""
    wanted = dict.fromkeys(texts, -1)
    wanted.update((text, row) for row, text in enumerate(table.texts) if text in wanted)
    return [wanted[text] for text in texts]


def ids_of(table: NameTable, dictionary: Dictionary) -> Callable[[int], tuple[str, ...]]:
    """The ids of the concepts of a name row; remembered, since lists share their names."""

    @cache
    def ids(row: int) -> tuple[str, ...]:
        return tuple(
            dictionary.ids[concept]
            for concept in table.concepts[table.indptr[row] : table.indptr[row + 1]].tolist()
        )

    return ids


def name_of_each(table: NameTable) -> NDArray[np.int64]:
    """The name row of each entry of `table.concepts`."""
    return np.repeat(np.arange(len(table)), np.diff(table.indptr))


def hypernyms_of(
    queries: Sequence[Query], table: NameTable, dictionary: Dictionary, height: int
) -> list[Above]:
    """The hypernyms of each query, up to `height` steps above it; queries with the same right ids share them."""
    ids = ids_of(table, dictionary)
    order = np.argsort(table.concepts, kind="stable")
    names = name_of_each(table)[order].astype(np.int32)
    starts = np.searchsorted(table.concepts[order], np.arange(len(dictionary) + 1)).tolist()

    @cache
    def above(right: frozenset[str]) -> Above:
        concepts = {row for identifier in right for row in dictionary.rows(identifier)}
        higher = _ancestors(dictionary.hierarchy, concepts, height) - dictionary.hierarchy.top
        rows = sorted(
            {
                row
                for concept in higher
                for row in names[starts[concept] : starts[concept + 1]].tolist()
            }
        )
        wrong = [row for row in rows if relevance(ids(row), right) != SYNONYM]
        return Above(
            frozenset(dictionary.ids[concept] for concept in higher), np.array(wrong, np.int32)
        )

    return [above(query.right) for query in queries]


def _ancestors(hierarchy: Hierarchy, concepts: set[int], height: int) -> set[int]:
    """The concepts up to `height` steps above some concepts, without these."""
    found, layer = set(concepts), concepts
    for _ in range(height):
        layer = {
            parent for parents in hierarchy.parents(sorted(layer)) for parent in parents.tolist()
        } - found
        found |= layer
    return found - concepts

"""Lists of names that the list-wise phase trains an encoder on, and names for the norm loss.

The list of a query holds its best names by characters (sparse) and by the encoder (dense), each
with its relevance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from linker.candidates.index import Floats, Integers
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.dictionary.hierarchy import Hierarchy
from linker.matching import SYNONYM, relevance
from linker.options import TrainingRecipe


@dataclass(frozen=True, slots=True)
class TrainingQuery:
    """A name to be linked, and what it should be linked to."""

    text: str  # normalized
    right: frozenset[str]  # ids of the right concepts (see `matching.accepted`)


@dataclass(frozen=True, slots=True)
class CandidateLists:
    """The candidates of n queries, at most K each; shorter lists end in masked places."""

    rows: Integers  # (n, K) rows of the name table; -1 where masked
    sparse: Floats  # (n, K) sparse scores; 0 where masked
    relevance: NDArray[np.int8]  # (n, K) 2 synonym, 1 hypernym, 0 neither, or masked
    mask: NDArray[np.bool_]  # (n, K) True where there is a candidate

    def __getitem__(self, rows: NDArray[np.int64]) -> CandidateLists:
        """Select lists, in the order of `rows`."""
        return CandidateLists(
            self.rows[rows], self.sparse[rows], self.relevance[rows], self.mask[rows]
        )

    @property
    def has_relevant(self) -> NDArray[np.bool_]:
        """Whether each list holds a synonym or a hypernym, (n,)."""
        return np.asarray((self.relevance > 0).any(axis=1))

    @property
    def with_gold(self) -> NDArray[np.bool_]:
        """Whether each list holds a synonym, (n,)."""
        return np.asarray((self.relevance == SYNONYM).any(axis=1))

    @property
    def gold_share(self) -> float:
        """The share of lists that hold a synonym; 0 where there are no lists."""
        return float(self.with_gold.mean()) if len(self.rows) else 0.0


Hypernyms = tuple[frozenset[str], Integers]
"""The ids of the concepts above the right ones of a query, and rows of their names.

Names of a right concept are not among these.
"""


class ListMaker:
    """Makes the candidate lists of the same queries for every epoch.

    The sparse candidates are ranked once, when it is created; the dense ones are given to `make`.

    Args:
        queries: what is trained on.
        dictionary: gives ids and the hierarchy.
        sparse: ranks and scores the names of the dictionary, without those of mentions.
        options: of them `top_k`, `dense_ratio`, `height` and `max_hypernyms` are used.
        exclude_own: whether to leave the name that equals a query out of its list, where queries
            are names of the dictionary.

    Attributes:
        dense_wanted: how many dense names of each query are always enough to fill its list.
    """

    def __init__(
        self,
        queries: Sequence[TrainingQuery],
        dictionary: Dictionary,
        sparse: SparseGenerator,
        options: TrainingRecipe,
        *,
        exclude_own: bool = False,
    ) -> None:
        self.queries, self._options, self._sparse = tuple(queries), options, sparse
        table = sparse.table
        self.dense_wanted = options.top_k + exclude_own
        self._texts = [query.text for query in queries]
        row_of = dict.fromkeys(self._texts, -1)  # of the texts that are names
        if exclude_own:
            row_of |= {text: row for row, text in enumerate(table.texts) if text in row_of}
        self._excluded = [row_of[text] for text in self._texts]
        self._ids = ids_of(table, dictionary)
        self._hypernyms = hypernyms_of(queries, table, dictionary, options.height)
        # rounded as in the published code
        sparse_count = options.top_k - int(options.top_k * options.dense_ratio)
        rankings = sparse.rank(self._texts, sparse_count + exclude_own, "names")
        self._sparse_rows = [
            [row for row in ranked.names.tolist() if row != excluded][:sparse_count]
            for excluded, ranked in zip(self._excluded, rankings, strict=True)
        ]

    def make(self, dense_rows: Integers) -> CandidateLists:
        """Fill the lists: the best sparse names, then the best dense ones that are not among them.

        As in BioSyn (Sung et al. 2020).

        Args:
            dense_rows: (queries, m) rows of the name table, best first; -1 where there are no
                more. m is `dense_wanted` or more, or the number of all names if that is smaller.
        """
        count, width = len(self.queries), self._options.top_k
        rows, grades = np.full((count, width), -1, np.int32), np.zeros((count, width), np.int8)
        for i, dense in enumerate(dense_rows.tolist()):
            names = dict.fromkeys((*self._sparse_rows[i], *dense))
            names.pop(self._excluded[i], None)
            names.pop(-1, None)
            candidates = list(names)[:width]
            rows[i, : len(candidates)] = candidates
            right, (above, _) = self.queries[i].right, self._hypernyms[i]
            grades[i, : len(candidates)] = [
                relevance(self._ids(row), right, above) for row in candidates
            ]
        return CandidateLists(rows, self._sparse.similarity(self._texts, rows), grades, rows >= 0)

    def hypernym_names(self, random: np.random.Generator) -> Integers:
        """Sample names of each query's hypernyms, without replacement.

        Args:
            random: the source of all samples.

        Returns:
            (queries, max_hypernyms) rows of the name table; -1 where there are no more.
        """
        rows = np.full((len(self.queries), self._options.max_hypernyms), -1, np.int32)
        for i, (_, names_above) in enumerate(self._hypernyms):
            names = random.permutation(names_above)[: rows.shape[1]]
            rows[i, : len(names)] = names
        return rows


def ids_of(table: NameTable, dictionary: Dictionary) -> Callable[[int], tuple[str, ...]]:
    """Return a function from the row of a name to the ids of its concepts; it caches them."""

    @cache
    def ids(row: int) -> tuple[str, ...]:
        return tuple(
            dictionary.ids[concept]
            for concept in table.concepts[table.indptr[row] : table.indptr[row + 1]].tolist()
        )

    return ids


def name_of_each(table: NameTable) -> NDArray[np.int64]:
    """The row of the name that each entry of `table.concepts` belongs to."""
    return np.repeat(np.arange(len(table)), np.diff(table.indptr))


def hypernyms_of(
    queries: Sequence[TrainingQuery], table: NameTable, dictionary: Dictionary, height: int
) -> list[Hypernyms]:
    """Find the hypernyms of each query. Queries with the same right ids share an object.

    Args:
        queries: what is trained on.
        table: the normalized names of the dictionary.
        dictionary: gives ids and the hierarchy.
        height: how many steps above a right concept a hypernym is at most.
    """
    ids = ids_of(table, dictionary)
    order = np.argsort(table.concepts, kind="stable")
    names = name_of_each(table)[order].astype(np.int32)
    starts = np.searchsorted(table.concepts[order], np.arange(len(dictionary) + 1)).tolist()

    @cache
    def hypernyms(right: frozenset[str]) -> Hypernyms:
        concepts = {row for identifier in right for row in dictionary.rows(identifier)}
        above = _ancestors(dictionary.hierarchy, concepts, height) - dictionary.hierarchy.top
        spans = [names[starts[concept] : starts[concept + 1]].tolist() for concept in above]
        rows = sorted({row for span in spans for row in span})
        wrong = [row for row in rows if relevance(ids(row), right) != SYNONYM]
        above_ids = frozenset(dictionary.ids[concept] for concept in above)
        return above_ids, np.array(wrong, np.int32)

    return [hypernyms(query.right) for query in queries]


def _ancestors(hierarchy: Hierarchy, concepts: set[int], height: int) -> set[int]:
    """Find the concepts up to `height` steps above `concepts`, without these."""
    reached, layer = set(concepts), concepts
    for _ in range(height):
        parents = [row for rows in hierarchy.parents(sorted(layer)) for row in rows.tolist()]
        layer = set(parents) - reached
        reached |= layer
    return reached - concepts

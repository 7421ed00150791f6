"""Candidates by the dot product of sparse vectors.

Each query is multiplied with every name that shares a term with it. In a large dictionary only its
most telling terms propose names, whose exact products then decide.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sparse_dot_topn import sp_matmul_topn, zip_sp_matmul_topn

from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import SparseEncoder
from linker.io import persistence
from linker.search.concepts import Generator, PairScores
from linker.search.index import (
    AUTO,
    LARGE,
    SPARE,
    EncodedTexts,
    Floats,
    Hits,
    IndexOptions,
    Integers,
    is_finite,
    most,
)

_PAIRS = 100_000  # pairs of names whose vectors are in memory at once, 60 MB with trigrams
_NAMES = 100_000  # names that are encoded at once
_PART = 131_072  # names whose scores are summed up together: more would not fit into caches
_TELLING = 0.8  # of the square of a query's length: the terms that propose names
_PROPOSED = 200  # names that then get their exact score, at least


@dataclass(eq=False)
class Postings:
    """For each term the names that have it: names with large products are found by these.

    Args:
        lists: csr_matrix (parts · terms, names of a part); the scores of a part fit into caches.
        names: their number.
        is_exact: whether all terms of a query are looked up. Otherwise its rarest ones are, which
            make up most of its length; the others stand in so many names that most of the time
            would go into them. A name that is good only by those is missed.
    """

    lists: csr_matrix
    names: int
    is_exact: bool = True

    @classmethod
    def of(cls, vectors: csr_matrix, is_exact: bool = True) -> Postings:
        """The postings of the vectors of names, csr_matrix (names, terms)."""
        names, terms = vectors.shape
        parts = []
        for start in range(0, max(1, names), _PART):
            part = csr_matrix(vectors[start : start + _PART].T)
            part.resize((terms, min(_PART, names)))
            parts.append(part)
        made = cls(parts[0] if len(parts) == 1 else vstack(parts, "csr"), names, is_exact)
        made.__dict__["vectors"] = vectors
        return made

    @cached_property
    def vectors(self) -> csr_matrix:
        """The vectors of the names, csr_matrix (names, terms)."""
        return csr_matrix(vstack([part.T for part in self._parts], "csr")[: self.names])

    @cached_property
    def _parts(self) -> Sequence[csr_matrix]:
        """The postings of each part of the names, (terms, names of a part)."""
        terms = self.lists.shape[0] // max(1, -(-self.names // max(1, self.lists.shape[1])))
        starts = range(0, self.lists.shape[0], max(1, terms))
        return [_rows(self.lists, row, row + terms) for row in starts]

    @cached_property
    def _frequencies(self) -> NDArray[np.int64]:
        """How many names have each term, (terms,)."""
        counts = [np.diff(part.indptr) for part in self._parts]
        return np.asarray(np.sum(counts, axis=0), np.int64)

    def search(self, queries: csr_matrix, k: int) -> Hits:
        """Find the k names with the largest dot products for each query, best first.

        All names that tie with the last one are found, `most(k)` at most.

        Args:
            queries: (queries, terms).
            k: fewer are found where fewer names share a term with the query.
        """
        hits = self._exact(queries, k) if self.is_exact else self._proposed(queries, k)
        return replace(hits, sparse=hits.scores)

    def _exact(self, queries: csr_matrix, k: int) -> Hits:
        """The k best names of each query among all."""
        hits, is_open = self._with_ties(queries, k, k + SPARE)
        if not is_open.any():
            return hits
        again = np.flatnonzero(is_open)
        more, _ = self._with_ties(queries[again], k, most(k))
        kept = ~is_open[hits.queries]
        query = np.concatenate([hits.queries[kept], again[more.queries]])
        rows = np.concatenate([hits.rows[kept], more.rows])
        scores = np.concatenate([hits.scores[kept], more.scores])
        return Hits.grouped(queries.shape[0], query, rows, scores)

    def _with_ties(self, queries: csr_matrix, k: int, count: int) -> tuple[Hits, NDArray[np.bool_]]:
        """The k best names of each query, and whether more than `count` may tie with the last."""
        found = self._found(queries, count, count)
        found.sort_indices()
        query = np.repeat(np.arange(queries.shape[0]), np.diff(found.indptr))
        hits, _ = Hits.best_with_ties(queries.shape[0], k, query, found.indices, found.data)
        return hits, np.diff(hits.indptr) >= count

    def _proposed(self, queries: csr_matrix, k: int) -> Hits:
        """The k best names of each query among those that its rarest terms propose."""
        count = max(_PROPOSED, 2 * k)
        found = self._found(self._telling(queries), count, max(k, 2 * count // len(self._parts)))
        found.sort_indices()
        query = np.repeat(np.arange(queries.shape[0]), np.diff(found.indptr))
        scores = pair_products(queries, query, self.vectors, found.indices)
        return Hits.best_with_ties(queries.shape[0], k, query, found.indices, scores)[0]

    def _found(self, queries: csr_matrix, k: int, of_part: int) -> csr_matrix:
        """The k best names of each query, of as many of each part, csr_matrix (queries, names)."""
        terms, columns = np.unique(queries.indices, return_inverse=True)
        parts = self._parts
        if 2 * len(terms) < queries.shape[1]:  # `sp_matmul_topn` copies all that it is given
            numbers = queries.data, columns.astype(np.int32), queries.indptr
            queries = csr_matrix(numbers, shape=(queries.shape[0], len(terms)))
            parts = [part[terms] for part in parts]
        threads = min(usable_cores(), max(1, queries.shape[0]))
        found = [sp_matmul_topn(queries, part, of_part, n_threads=threads) for part in parts]
        return found[0] if len(found) == 1 else zip_sp_matmul_topn(k, found)

    def _telling(self, queries: csr_matrix) -> csr_matrix:
        """Queries with their rarest terms alone, which make up most of their length."""
        query = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
        order = np.lexsort((self._frequencies[queries.indices], query))
        rarer = np.cumsum(queries.data[order] ** 2, dtype=np.float64) - queries.data[order] ** 2
        rarer -= rarer[queries.indptr[:-1][query]]
        is_kept = np.zeros(len(order), bool)
        is_kept[order] = rarer < _TELLING
        indptr = np.append(0, np.cumsum(is_kept))[queries.indptr]
        parts = queries.data[is_kept], queries.indices[is_kept], indptr
        return csr_matrix(parts, shape=queries.shape)

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder that is being saved."""
        _save_matrix(folder / "postings", self.lists)
        if not self.is_exact:
            _save_matrix(folder / "vectors", self.vectors)

    @classmethod
    def load(cls, folder: Path, terms: int, names: int) -> Postings:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        shape = max(1, -(-names // _PART)) * terms, min(_PART, names)
        vectors = folder / "vectors"
        made = cls(_load_matrix(folder / "postings", shape), names, not vectors.is_dir())
        if not made.is_exact:
            made.__dict__["vectors"] = _load_matrix(vectors, (names, terms))
        return made


class SparseGenerator(Generator):
    """Ranks names by the dot product of sparse vectors.

    Args:
        table: the normalised names of the dictionary.
        id_rank: as for `Generator`.
        entry_rank: as for `Generator`.
        encoder: fitted to the names; encodes the queries.
        names: the index of the vectors of the names.
    """

    def __init__(
        self,
        table: NameTable,
        id_rank: Integers,
        entry_rank: Integers,
        encoder: SparseEncoder,
        names: Postings,
    ) -> None:
        super().__init__(table, id_rank, entry_rank)
        self.encoder, self.names = encoder, names

    @classmethod
    def index(
        cls,
        table: NameTable,
        dictionary: Dictionary,
        encoder: SparseEncoder,
        options: IndexOptions = AUTO,
    ) -> SparseGenerator:
        """Index the vectors of the names of a dictionary.

        Args:
            table: the normalised names.
            dictionary: the dictionary.
            encoder: fitted to the names.
            options: whether the search may miss names.
        """
        starts = range(0, max(1, len(table)), _NAMES)
        blocks = [encoder.encode(table.texts[start : start + _NAMES]) for start in starts]
        is_exact = options.kind == "exact" or len(table) < LARGE
        vectors = blocks[0] if len(blocks) == 1 else vstack(blocks, format="csr")
        names = Postings.of(vectors, is_exact)
        return cls(table, dictionary.id_rank, dictionary.entry_rank, encoder, names)

    def score(self, queries: Sequence[str], k: int) -> Hits:
        encoded = EncodedTexts(self.encoder.encode(queries))
        return replace(self.names.search(encoded.sparse, k), encoded=encoded)

    def score_pairs(
        self, encoded: EncodedTexts, query: NDArray[np.int64], rows: Integers
    ) -> PairScores:
        scores = pair_products(encoded.sparse, query, self.by_name, rows)
        return PairScores(scores, scores, None)

    def among(self, concepts: NDArray[np.bool_]) -> SparseGenerator:
        rows = self.table.naming(concepts)
        is_exact = self.names.is_exact or len(rows) < LARGE
        return self._of(self.table.among(concepts), Postings.of(self.by_name[rows], is_exact))

    def without(self, pairs: NDArray[np.bool_]) -> SparseGenerator:
        return self._of(self.table.without(pairs), self.names)

    def _of(self, table: NameTable, names: Postings) -> SparseGenerator:
        return SparseGenerator(table, self._id_rank, self._entry_rank, self.encoder, names)

    @property
    def by_name(self) -> csr_matrix:
        """The vectors of the names, csr_matrix (names, terms)."""
        return self.names.vectors

    def similarity(self, queries: Sequence[str], rows: Integers) -> Floats:
        """Score given names for each query.

        Args:
            queries: the normalised queries.
            rows: (len(queries), K) rows of the name table, -1 where there is none.

        Returns:
            (len(queries), K) dot products, 0 where there is no row.
        """
        scores = np.zeros(rows.shape, np.float32)
        query, place = np.nonzero(rows >= 0)
        vectors, wanted = self.encoder.encode(queries), rows[query, place]
        scores[query, place] = pair_products(vectors, query, self.by_name, wanted)
        return scores

    def save(self, folder: Path) -> None:
        """Write the names, their vectors and the encoder into a folder that is being saved."""
        persistence.save_arrays(folder / "names", self.table.arrays())
        self.names.save(folder)
        self.encoder.save(folder / "sparse")

    @classmethod
    def load(
        cls, folder: Path, dictionary: Dictionary, encoder: type[SparseEncoder]
    ) -> SparseGenerator:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        # compiled code trusts what is checked here
        table = NameTable.from_arrays(persistence.load_arrays(folder / "names"))
        table.check(len(dictionary), len(dictionary.names))
        sparse = encoder.load(folder / "sparse")
        names = Postings.load(folder, sparse.encode([""]).shape[1], len(table))
        return cls(table, dictionary.id_rank, dictionary.entry_rank, sparse, names)


def _rows(matrix: csr_matrix, start: int, stop: int) -> csr_matrix:
    """A range of the rows of a matrix, whose values are not copied."""
    indptr = matrix.indptr[start : stop + 1]
    kept = slice(int(indptr[0]), int(indptr[-1]))
    parts = matrix.data[kept], matrix.indices[kept], indptr - indptr[0]
    return csr_matrix(parts, shape=(stop - start, matrix.shape[1]), copy=False)


def pair_products(
    left: csr_matrix,
    rows_of_left: NDArray[np.integer[Any]],
    right: csr_matrix,
    rows_of_right: NDArray[np.integer[Any]],
) -> Floats:
    """Multiply rows of two matrices, pair by pair, (pairs,)."""
    scores = np.zeros(len(rows_of_left), np.float32)
    for i in range(0, len(scores), _PAIRS):
        pairs = slice(i, i + _PAIRS)
        products = left[rows_of_left[pairs]].multiply(right[rows_of_right[pairs]])
        scores[pairs] = products.sum(axis=1).A1
    return scores


def _save_matrix(folder: Path, matrix: csr_matrix) -> None:
    """Write a matrix into a folder of its own."""
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    persistence.save_arrays(folder, arrays)


def _load_matrix(folder: Path, shape: tuple[int, int]) -> csr_matrix:
    """Read what `_save_matrix` wrote; the arrays stay memory-mapped.

    Raises:
        ValueError: they are no matrix of this shape; compiled code trusts what is checked here.
    """
    arrays = persistence.load_arrays(folder)
    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr"]
    persistence.check_lists(indptr, indices, *shape)
    if data.dtype != np.float32 or data.shape != indices.shape or not is_finite(data):
        raise ValueError("the weights are not finite, or do not fit the lists")
    return csr_matrix((data, indices, indptr), shape=shape, copy=False)


def usable_cores() -> int:
    """The cores that this process may run on, at most as many as OMP_NUM_THREADS says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit) if limit.isdecimal() and int(limit) else cores or 1)

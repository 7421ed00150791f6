"""Exact top-k of the sparse score, computed blockwise: never all queries by all names at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sparse_dot_topn import sp_matmul_topn

from linker import persistence
from linker.candidates.base import Generator
from linker.candidates.index import Floats, Hits, Integers
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import SparseEncoder
from linker.errors import LinkerError

_PAIRS = 100_000  # pairs of names whose vectors are in memory at once, 60 MB with trigrams


class SparseGenerator(Generator):
    """Ranks names by the dot product of sparse vectors.

    Args:
        table: the normalised names of the dictionary.
        id_rank: as for `Generator`.
        entry_rank: as for `Generator`.
        encoder: fitted to the names; encodes the queries.
        postings: csr_matrix (terms, names): for each term the names that have it.
        threads: of the CPU; 0: as many as the process may use.
    """

    def __init__(
        self,
        table: NameTable,
        id_rank: Integers,
        entry_rank: Integers,
        encoder: SparseEncoder,
        postings: csr_matrix,
        threads: int = 0,
    ) -> None:
        super().__init__(table, id_rank, entry_rank)
        self.encoder, self._postings = encoder, postings
        self._threads = threads or _usable_cores()

    @classmethod
    def index(
        cls, table: NameTable, dictionary: Dictionary, encoder: SparseEncoder
    ) -> SparseGenerator:
        """Encode the names of a dictionary with a fitted encoder."""
        return cls(
            table,
            dictionary.id_rank,
            dictionary.entry_rank,
            encoder,
            csr_matrix(encoder.encode(list(table.texts)).T),
        )

    def score(self, queries: Sequence[str], k: int) -> Hits:
        return self.search(self.encoder.encode(queries), k)

    def search(self, weights: csr_matrix, k: int) -> Hits:
        """Find the k best names of each query, given the encoded queries (queries, terms)."""
        best = sp_matmul_topn(weights, self._postings, k, n_threads=self._threads)
        rows = best.indices.astype(np.int32)
        return Hits(best.indptr.astype(np.int64), rows, best.data, sparse=best.data)

    def among(self, concepts: NDArray[np.bool_]) -> SparseGenerator:
        postings = csr_matrix(self.by_name[self.table.naming(concepts)].T)
        return SparseGenerator(
            self.table.among(concepts),
            self._id_rank,
            self._entry_rank,
            self.encoder,
            postings,
            self._threads,
        )

    @cached_property
    def by_name(self) -> csr_matrix:
        """The vectors of the names, csr_matrix (names, terms), made on first use."""
        return csr_matrix(self._postings.T)

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
        scores[query, place] = self.products(
            self.encoder.encode(queries), query, rows[query, place]
        )
        return scores

    def products(
        self, vectors: csr_matrix, query: NDArray[np.integer[Any]], rows: Integers
    ) -> Floats:
        """Multiply pairs: `vectors[query[i]]` by the vector of the name `rows[i]`, for each i."""
        scores = np.zeros(len(rows), np.float32)
        for i in range(0, len(rows), _PAIRS):
            pairs = slice(i, i + _PAIRS)
            scores[pairs] = vectors[query[pairs]].multiply(self.by_name[rows[pairs]]).sum(axis=1).A1
        return scores

    def save(self, folder: Path) -> None:
        """Write the names, their vectors and the encoder into a folder that is being saved."""
        matrix = self._postings
        persistence.save_arrays(folder / "names", self.table.arrays())
        arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
        persistence.save_arrays(folder / "postings", arrays)
        self.encoder.save(folder / "sparse")

    @classmethod
    def load(
        cls, folder: Path, dictionary: Dictionary, encoder: type[SparseEncoder]
    ) -> SparseGenerator:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        try:  # compiled code trusts what is checked here
            table = NameTable.from_arrays(persistence.load_arrays(folder / "names"))
            table.check(len(dictionary), len(dictionary.names))
            sparse = encoder.load(folder / "sparse")
            arrays = persistence.load_arrays(folder / "postings")
            shape = (sparse.encode([""]).shape[1], len(table))
            postings = csr_matrix(
                (arrays["data"], arrays["indices"], arrays["indptr"]),
                shape=shape,
                dtype=np.float32,
                copy=False,
            )
            postings.check_format(full_check=True)
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise LinkerError(
                f"{folder}: the names and their vectors do not fit together ({error}); train again"
            ) from None
        return cls(table, dictionary.id_rank, dictionary.entry_rank, sparse, postings)


def _usable_cores() -> int:
    """The cores that this process may run on, at most as many as OMP_NUM_THREADS says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit) if limit.isdecimal() and int(limit) else cores or 1)

"""Candidates by the dot product of sparse vectors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker import persistence
from linker.candidates.base import Generator
from linker.candidates.index import Floats, Hits, Integers
from linker.candidates.options import AUTO, LARGE, IndexOptions
from linker.candidates.postings import ExactPostings, SparseIndex, encoded
from linker.candidates.word_lists import WordLists
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import SparseEncoder
from linker.errors import LinkerError


class SparseGenerator(Generator):
    """Ranks names by the dot product of sparse vectors.

    Args:
        table: the normalised names of the dictionary.
        id_rank: as for `Generator`.
        entry_rank: as for `Generator`.
        encoder: fitted to the names; encodes the queries.
        names: the index of the vectors of the names.
        threads: of the CPU; 0: as many as the process may use.
    """

    def __init__(
        self,
        table: NameTable,
        id_rank: Integers,
        entry_rank: Integers,
        encoder: SparseEncoder,
        names: SparseIndex,
        threads: int = 0,
    ) -> None:
        super().__init__(table, id_rank, entry_rank)
        self.encoder, self.names = encoder, names
        self._threads = threads or _usable_cores()

    @classmethod
    def index(
        cls,
        table: NameTable,
        dictionary: Dictionary,
        encoder: SparseEncoder,
        options: IndexOptions = AUTO,
    ) -> SparseGenerator:
        """Encode the names of a dictionary with a fitted encoder; see `of_vectors`."""
        vectors = encoded(encoder, table.texts)
        return cls.of_vectors(table, dictionary, encoder, vectors, options)

    @classmethod
    def of_vectors(
        cls,
        table: NameTable,
        dictionary: Dictionary,
        encoder: SparseEncoder,
        vectors: csr_matrix,
        options: IndexOptions,
    ) -> SparseGenerator:
        """Index the vectors of names.

        Args:
            table: the normalised names.
            dictionary: the dictionary.
            encoder: fitted to the names.
            vectors: csr_matrix (names, terms).
            options: whether the search may miss names, and how many.
        """
        names: SparseIndex
        if options.kind == "exact" or len(table) < LARGE:
            names = ExactPostings(csr_matrix(vectors.T))
        else:
            names = WordLists.build(vectors, table.texts, encoder, options.recall, _usable_cores())
        return cls(table, dictionary.id_rank, dictionary.entry_rank, encoder, names)

    def score(self, queries: Sequence[str], k: int) -> Hits:
        return self.search(self.encoder.encode(queries), k)

    def search(self, weights: csr_matrix, k: int) -> Hits:
        """Find the k best names of each query, given the encoded queries (queries, terms)."""
        return self.names.search(weights, k, self._threads)

    def among(self, concepts: NDArray[np.bool_]) -> SparseGenerator:
        rows = self.table.naming(concepts)
        names: SparseIndex
        if isinstance(self.names, WordLists) and len(rows) >= LARGE:
            names = self.names.among(rows)
        else:
            names = ExactPostings(csr_matrix(self.by_name[rows].T))
        return SparseGenerator(
            self.table.among(concepts),
            self._id_rank,
            self._entry_rank,
            self.encoder,
            names,
            self._threads,
        )

    def without(self, pairs: NDArray[np.bool_]) -> SparseGenerator:
        ranks = self._id_rank, self._entry_rank
        table = self.table.without(pairs)
        return SparseGenerator(table, *ranks, self.encoder, self.names, self._threads)

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
        scores[query, place] = self.products(
            self.encoder.encode(queries), query, rows[query, place]
        )
        return scores

    def products(
        self, vectors: csr_matrix, query: NDArray[np.integer[Any]], rows: Integers
    ) -> Floats:
        """Multiply pairs: `vectors[query[i]]` by the vector of the name `rows[i]`, for each i."""
        return self.names.products(vectors, query, rows)

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
        try:  # compiled code trusts what is checked here
            table = NameTable.from_arrays(persistence.load_arrays(folder / "names"))
            table.check(len(dictionary), len(dictionary.names))
            sparse = encoder.load(folder / "sparse")
            index = ExactPostings if (folder / "postings").is_dir() else WordLists
            vectors = index.load(folder, sparse.encode([""]).shape[1], len(table))
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise LinkerError(
                f"{folder}: the names and their vectors do not fit together ({error}); train again"
            ) from None
        return cls(table, dictionary.id_rank, dictionary.entry_rank, sparse, vectors)


def _usable_cores() -> int:
    """The cores that this process may run on, at most as many as OMP_NUM_THREADS says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit) if limit.isdecimal() and int(limit) else cores or 1)

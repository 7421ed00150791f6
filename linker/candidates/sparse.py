"""Candidates by the dot product of sparse vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker import persistence
from linker.candidates.base import Generator
from linker.candidates.index import AUTO, LARGE, Floats, Hits, IndexOptions, Integers
from linker.candidates.sparse_index import ExactPostings, WordLists, encoded, pair_products
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import SparseEncoder


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
        names: ExactPostings | WordLists,
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
        vectors: csr_matrix | None = None,
    ) -> SparseGenerator:
        """Index the vectors of the names of a dictionary.

        Args:
            table: the normalised names.
            dictionary: the dictionary.
            encoder: fitted to the names.
            options: whether the search may miss names, and how many.
            vectors: csr_matrix (names, terms); made by the encoder where None.
        """
        if vectors is None:
            vectors = encoded(encoder, table.texts)
        names: ExactPostings | WordLists
        if options.kind == "exact" or len(table) < LARGE:
            names = ExactPostings(csr_matrix(vectors.T))
        else:
            names = WordLists.build(vectors, table.texts, encoder, options.recall)
        return cls(table, dictionary.id_rank, dictionary.entry_rank, encoder, names)

    def score(self, queries: Sequence[str], k: int) -> Hits:
        return self.names.search(self.encoder.encode(queries), k)

    def among(self, concepts: NDArray[np.bool_]) -> SparseGenerator:
        rows = self.table.naming(concepts)
        names: ExactPostings | WordLists
        if isinstance(self.names, WordLists) and len(rows) >= LARGE:
            names = self.names.among(rows)
        else:
            names = ExactPostings(csr_matrix(self.by_name[rows].T))
        return self._of(self.table.among(concepts), names)

    def without(self, pairs: NDArray[np.bool_]) -> SparseGenerator:
        return self._of(self.table.without(pairs), self.names)

    def _of(self, table: NameTable, names: ExactPostings | WordLists) -> SparseGenerator:
        """The same encoder and order of ties with other names."""
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
        scores[query, place] = self.products(
            self.encoder.encode(queries), query, rows[query, place]
        )
        return scores

    def products(
        self, vectors: csr_matrix, query: NDArray[np.integer[Any]], rows: Integers
    ) -> Floats:
        """Multiply pairs: `vectors[query[i]]` by the vector of the name `rows[i]`, for each i."""
        return pair_products(vectors, query, self.by_name, rows)

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
        index = ExactPostings if (folder / "postings").is_dir() else WordLists
        vectors = index.load(folder, sparse.encode([""]).shape[1], len(table))
        return cls(table, dictionary.id_rank, dictionary.entry_rank, sparse, vectors)

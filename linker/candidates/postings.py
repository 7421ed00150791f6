"""Search for the names whose sparse vectors have the largest dot products with those of queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sparse_dot_topn import sp_matmul_topn

from linker import persistence
from linker.candidates.index import Floats, Hits, Integers, is_finite
from linker.encoders.base import SparseEncoder

_PAIRS = 100_000  # pairs of names whose vectors are in memory at once, 60 MB with trigrams
_ENCODED = 100_000  # names that are encoded at once


class SparseIndex(ABC):
    """Finds names by their sparse vectors.

    Attributes:
        exact: whether none of the best names is missed.
    """

    exact: ClassVar[bool]

    @property
    @abstractmethod
    def vectors(self) -> csr_matrix:
        """The vectors of the names, csr_matrix (names, terms)."""

    @abstractmethod
    def search(self, queries: csr_matrix, k: int, threads: int) -> Hits:
        """Find the k names with the largest dot products for each query.

        Args:
            queries: (queries, terms).
            k: fewer are found where fewer names share a term with the query.
            threads: of the CPU.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the arrays into a folder that is being saved."""

    def products(
        self, queries: csr_matrix, query: NDArray[np.integer[Any]], rows: Integers
    ) -> Floats:
        """Multiply pairs: `queries[query[i]]` by the vector of the name `rows[i]`, for each i."""
        return pair_products(queries, query, self.vectors, rows)


class ExactPostings(SparseIndex):
    """Multiplies each query with every name that shares a term with it.

    Args:
        postings: csr_matrix (terms, names): for each term the names that have it.
    """

    exact = True

    def __init__(self, postings: csr_matrix) -> None:
        self.postings = postings

    @cached_property
    def vectors(self) -> csr_matrix:
        return csr_matrix(self.postings.T)

    def search(self, queries: csr_matrix, k: int, threads: int) -> Hits:
        found = sp_matmul_topn(queries, self.postings, k, n_threads=threads)
        rows = found.indices.astype(np.int32)
        return Hits(found.indptr.astype(np.int64), rows, found.data, sparse=found.data)

    def save(self, folder: Path) -> None:
        save_matrix(folder / "postings", self.postings)

    @classmethod
    def load(cls, folder: Path, terms: int, names: int) -> ExactPostings:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        return cls(load_matrix(folder / "postings", (terms, names)))


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


def encoded(encoder: SparseEncoder, names: Sequence[str]) -> csr_matrix:
    """Encode many names, some at a time; csr_matrix (names, terms)."""
    starts = range(0, max(1, len(names)), _ENCODED)
    blocks = [encoder.encode(names[start : start + _ENCODED]) for start in starts]
    return blocks[0] if len(blocks) == 1 else vstack(blocks, format="csr")


def save_matrix(folder: Path, matrix: csr_matrix) -> None:
    """Write a matrix into a folder of its own."""
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    persistence.save_arrays(folder, arrays)


def load_matrix(folder: Path, shape: tuple[int, int]) -> csr_matrix:
    """Read what `save_matrix` wrote; the arrays stay memory-mapped.

    Raises:
        ValueError: they are no matrix of this shape; compiled code trusts what is checked here.
    """
    arrays = persistence.load_arrays(folder)
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    matrix = csr_matrix(parts, shape=shape, dtype=np.float32, copy=False)
    matrix.check_format(full_check=True)
    if not is_finite(matrix.data):
        raise ValueError("a weight is not finite")
    return matrix

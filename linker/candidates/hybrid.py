"""Exact top-k of the hybrid score, z = dense + λ · sparse (BioSyn, Sung et al. 2020, eq. 1-4; BCNH, Yan et al. 2021, eq. 1-3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker import persistence
from linker.candidates import dense
from linker.candidates.base import Floats, Generator, Hits, Integers
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary
from linker.encoders.base import Encoder, SparseEncoder
from linker.errors import LinkerError

_WEIGHTS = 8_000_000  # sparse weights of queries that are held at once, zeros included, 32 MB
_LARGEST = 1e30  # of λ, so that float32 holds the scores


class HybridGenerator(Generator):
    """Ranks names by the dense dot product plus λ times the sparse one, plus what each name has of its own.

    Args:
        sparse: the names, and how their characters score.
        encoder: makes the dense vectors of queries.
        vectors: float32 (names, dim), what the encoder makes of the names.
        sparse_weight: λ; may be 0 or negative.
        bias: float32 (names,), added to the score of each name; none where None.

    Raises:
        ValueError: the vectors do not fit the names or the encoder, or a number is not finite.
    """

    def __init__(
        self,
        sparse: SparseGenerator,
        encoder: Encoder,
        vectors: Floats,
        sparse_weight: float,
        bias: Floats | None = None,
    ) -> None:
        super().__init__(sparse.table, sparse._id_rank, sparse._entry_rank)
        self.bias = np.zeros(len(sparse.table), np.float32) if bias is None else np.asarray(bias)
        _check(vectors, (len(sparse.table), encoder.dim))
        _check(self.bias, (len(sparse.table),))
        if not abs(sparse_weight) < _LARGEST:
            raise ValueError(f"sparse_weight is {sparse_weight}, expected: a finite number")
        self.sparse, self.encoder, self.vectors = (
            sparse,
            encoder,
            np.asarray(vectors),
        )  # plain, since slices of a memmap are slow
        self.sparse_weight = float(sparse_weight)
        self._nameless = (
            np.diff(sparse.table.indptr) == 0
        )  # the empty name, which stands for no concept

    @classmethod
    def index(
        cls,
        sparse: SparseGenerator,
        encoder: Encoder,
        sparse_weight: float,
        bias: Floats | None = None,
    ) -> HybridGenerator:
        """Encode the names of a sparse generator with a dense encoder."""
        return cls(sparse, encoder, _encode(encoder, list(sparse.table.texts)), sparse_weight, bias)

    def score(self, queries: Sequence[str], k: int) -> Hits:
        vectors, weights = _encode(self.encoder, queries), self.sparse.encoder.encode(queries)
        query, rows = self._best(vectors, weights, k)
        some = np.array([text != "" for text in queries], bool)[
            query
        ]  # an empty query finds nothing
        query, rows = query[some], rows[some]
        near, alike = (
            dense.products(vectors, self.vectors, query, rows),
            self.sparse.products(weights, query, rows),
        )
        indptr = np.searchsorted(query, np.arange(len(queries) + 1))
        return Hits(indptr, rows, near + self.sparse_weight * alike + self.bias[rows], alike, near)

    def among(self, concepts: NDArray[np.bool_]) -> HybridGenerator:
        rows = self.table.naming(concepts)
        return HybridGenerator(
            self.sparse.among(concepts),
            self.encoder,
            self.vectors[rows],
            self.sparse_weight,
            self.bias[rows],
        )

    def _best(self, vectors: Floats, weights: csr_matrix, k: int) -> tuple[Integers, Integers]:
        """The queries and rows of the hits, in the order of queries."""
        found = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        step = max(1, min(dense.QUERIES, _WEIGHTS // max(1, weights.shape[1])))
        for i in range(0, len(vectors), step):
            score = self._scorer(vectors[i : i + step], weights[i : i + step])
            query, rows, _ = dense.best(score, len(vectors[i : i + step]), len(self.table), k)
            found.append((query + np.int32(i), rows))
        query, rows = (np.concatenate(column) for column in zip(*found, strict=True))
        return query, rows

    def _scorer(self, vectors: Floats, weights: csr_matrix) -> dense.Score:
        """How blocks of names score; the sparse names meet queries with their zeros, so that frequent terms are as fast as rare ones."""
        weighted = (self.sparse_weight * weights).T.toarray(order="C")
        sparse = self.sparse.by_name

        def score(names: slice) -> Floats:
            block: Floats = self.vectors[names] @ vectors.T
            if self.sparse_weight:
                block += (
                    sparse if names.stop - names.start == len(self.table) else sparse[names]
                ) @ weighted  # a slice is a copy
            block += self.bias[names, None]
            block[self._nameless[names]] = -np.inf
            return block

        return score

    def save(self, folder: Path) -> None:
        self.sparse.save(folder)
        persistence.save_arrays(
            folder / "dense_names", {"vectors": persistence.narrow(self.vectors), "bias": self.bias}
        )
        self.encoder.save(folder / "dense")
        persistence.save_json(folder / "hybrid.json", {"sparse_weight": self.sparse_weight})

    @classmethod
    def load(
        cls,
        folder: Path,
        dictionary: Dictionary,
        sparse_encoder: type[SparseEncoder],
        dense_encoder: type[Encoder],
    ) -> HybridGenerator:
        """Read what `save` wrote; the arrays stay memory-mapped, but for vectors in half precision.

        Raises:
            LinkerError: an array or a number does not fit the others.
        """
        sparse = SparseGenerator.load(folder, dictionary, sparse_encoder)
        arrays, numbers = (
            persistence.load_arrays(folder / "dense_names"),
            persistence.load_json(folder / "hybrid.json"),
        )
        try:
            encoder = dense_encoder.load(folder / "dense")
            return cls(
                sparse,
                encoder,
                persistence.widened(arrays["vectors"]),
                numbers["sparse_weight"],
                arrays["bias"],
            )
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise LinkerError(
                f"{folder}: the dense vectors do not fit the names ({error}); train again"
            ) from None


def _encode(encoder: Encoder, names: Sequence[str]) -> Floats:
    vectors = encoder.encode(names)
    if not _is_finite(vectors):
        raise LinkerError(
            "the dense encoder makes vectors that are not finite; its weights are damaged, train again"
        )
    return vectors


def _is_finite(vectors: Floats) -> bool:
    """Whether all numbers are finite, without an array of answers."""
    return bool(np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all())


def _check(values: NDArray[Any], shape: tuple[int, ...]) -> None:
    if values.dtype != np.float32 or values.shape != shape:
        raise ValueError(f"they are {values.dtype} {values.shape}, expected: float32 {shape}")
    if not _is_finite(values):
        raise ValueError("they are not finite")

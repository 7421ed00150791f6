"""Candidates by the hybrid score, z = dense + λ · sparse.

The score is that of BioSyn (Sung et al. 2020, eq. 1-4) and BCNH (Yan et al. 2021, eq. 1-3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import Encoder, SparseEncoder
from linker.errors import LinkerError, needing
from linker.io import persistence
from linker.search.ann import IvfIndex
from linker.search.concepts import Candidates, Generator, PairScores, by_concept, distinct
from linker.search.index import EncodedTexts, Floats, Hits, Integers, VectorIndex, is_finite
from linker.search.sparse import SparseGenerator, pair_products

INDEX = "index"  # the folder of an approximate index in a model folder
VECTORS = "dense_names/vectors.npy"
SECOND = "second"  # the folder of the second encoder

_SILENT = 0.75  # of the product of a query's vector with itself: with no name nearer, it is new
_LARGEST = 1e30  # of λ, so that float32 holds the scores

_OTHERS = 5  # concepts that the second encoder adds to those of each query, at most
_NEAREST = 25  # names that it finds them by
_REMEMBERED = 10_000  # texts whose vectors by the second encoder are kept

_KNOWN = Lock()  # taken by the thread that looks into the vectors that are kept
ENCODING = Lock()
"""Taken by the thread that encodes: encoders keep state, and one at a time uses all cores."""


@dataclass(frozen=True, slots=True)
class NameVectors:
    """The vectors of names by a second encoder, which describes what the first one finds.

    Args:
        encoder: makes the vectors of texts.
        table: the names.
        index: of the vectors of all names of the dictionary, (all names, dim).
        rows: the rows of the names in the index, rising; None: the names are all of them.
        known: the vectors of the latest texts.

    Raises:
        ValueError: the vectors do not fit the names or the encoder.
    """

    encoder: Encoder
    table: NameTable
    index: VectorIndex
    rows: NDArray[np.int64] | None = None
    known: LRUCache[str, Floats] = field(default_factory=lambda: LRUCache(_REMEMBERED))

    def __post_init__(self) -> None:
        count = len(self.index) if self.rows is None else len(self.rows)
        if (count, self.index.vectors.shape[1]) != (len(self.table), self.encoder.dim):
            raise ValueError("the vectors of the second encoder do not fit the names or itself")

    @classmethod
    def of(cls, encoder: Encoder, table: NameTable) -> NameVectors:
        """Encode all names."""
        vectors = persistence.to_fp16(encode_names(encoder, list(table.texts)))
        return cls(encoder, table, VectorIndex(persistence.to_storage(vectors)))

    def encode(self, texts: Sequence[str]) -> Floats:
        """The vectors of normalised texts, in half precision; those of names are not made again.

        Args:
            texts: the texts; returned is float32 (texts, dim).
        """
        rows = self.table.rows(texts)
        vectors = np.empty((len(texts), self.encoder.dim), np.float32)
        named = self._all(rows[rows >= 0])
        vectors[rows >= 0] = persistence.from_storage(self.index.vectors[named])
        places = np.flatnonzero(rows < 0).tolist()
        with _KNOWN:
            of_texts = {texts[place]: self.known.get(texts[place]) for place in places}
        if new := [text for text, vector in of_texts.items() if vector is None]:
            encoded = persistence.to_fp16(encode_names(self.encoder, new))
            made = dict(zip(new, map(np.copy, encoded), strict=True))  # no views of the batch
            of_texts |= made
            with _KNOWN:
                self.known.update(made)
        for place in places:
            vectors[place] = of_texts[texts[place]]
        return vectors

    def search(self, texts: Sequence[str], k: int) -> Hits:
        """The k names with the largest dot products for each text, best first."""
        hits = self.index.search(self.encode(texts), k, self.rows)
        if self.rows is None:
            return hits
        return replace(hits, rows=np.searchsorted(self.rows, hits.rows).astype(np.int32))

    def products(self, vectors: Floats, query: NDArray[Any], names: NDArray[Any]) -> Floats:
        """Multiply pairs: `vectors[query[i]]` by the vector of the name `names[i]`, for each i."""
        return self.index.products(vectors, query, self._all(names))

    def _all(self, names: NDArray[Any]) -> NDArray[Any]:
        """The rows of names in the index."""
        return names if self.rows is None else self.rows[names]

    def among(self, table: NameTable, names: NDArray[np.int64]) -> NameVectors:
        """The vectors of some of the names.

        Args:
            table: of these names.
            names: their rows in the table of this.
        """
        return NameVectors(self.encoder, table, self.index, self._all(names), self.known)

    def of_table(self, table: NameTable) -> NameVectors:
        """The vectors of other names by the same encoder; only new ones are encoded."""
        vectors = persistence.to_storage(self.encode(list(table.texts)))
        return NameVectors(self.encoder, table, VectorIndex(vectors))

    def save(self, folder: Path) -> None:
        """Write the encoder and the vectors into a folder of a model that is being saved."""
        vectors = self.index.vectors if self.rows is None else self.index.vectors[self.rows]
        persistence.save_arrays(folder, {"vectors": vectors})
        self.encoder.save(folder / "encoder")

    @classmethod
    def load(cls, folder: Path, table: NameTable, encoder: type[Encoder]) -> NameVectors:
        """Read what `save` wrote; the vectors stay memory-mapped."""
        index = VectorIndex(persistence.load_arrays(folder)["vectors"])
        return cls(encoder.load(folder / "encoder"), table, index)


class HybridGenerator(Generator):
    """Ranks names by the dense dot product plus λ times the sparse one, plus a bias of each name.

    Args:
        sparse: the sparse generator of the names.
        encoder: makes the dense vectors of queries.
        vectors: of the names by this encoder, (names, dim), or an index of these vectors.
        sparse_weight: λ; may be 0 or negative.
        bias: float32 (names,), added to the score of each name; none where None.
        rows: the rows of the names in `vectors`, rising; None: the names are all of them.
        second: the names by another encoder, which tells the ranker more of what is found.

    Raises:
        ValueError: the vectors do not fit the names or the encoder, or a number is not finite.
    """

    def __init__(
        self,
        sparse: SparseGenerator,
        encoder: Encoder,
        vectors: NDArray[Any] | VectorIndex,
        sparse_weight: float,
        bias: Floats | None = None,
        rows: NDArray[np.int64] | None = None,
        second: NameVectors | None = None,
    ) -> None:
        super().__init__(sparse.table, sparse._id_rank, sparse._entry_rank)
        count = len(sparse.table)
        self.dense = vectors if isinstance(vectors, VectorIndex) else VectorIndex(vectors)
        self.bias = np.zeros(count, np.float32) if bias is None else np.asarray(bias)
        shape = len(self.dense) if rows is None else len(rows), self.dense.vectors.shape[1]
        fits = shape == (count, encoder.dim) and self.bias.shape == (count,)
        is_number = self.bias.dtype == np.float32 and is_finite(self.bias)
        if not (fits and is_number and abs(sparse_weight) < _LARGEST):
            raise ValueError("the vectors, their biases or λ do not fit the names and the encoder")
        self.sparse, self.encoder, self.rows, self.second = sparse, encoder, rows, second
        self.sparse_weight = float(sparse_weight)

    @property
    def encoders(self) -> list[Encoder]:
        """The one that finds names, then the second one where there is one."""
        return [self.encoder] if self.second is None else [self.encoder, self.second.encoder]

    @property
    def vectors(self) -> NDArray[Any]:
        """The vectors of the names as they are stored, float32 or float16 (names, dim)."""
        return self.dense.vectors if self.rows is None else self.dense.vectors[self.rows]

    def move(self, device: Literal["cpu", "cuda"]) -> None:
        """Encode and search on this device from now on; encoders without torch stay on the CPU.

        On a GPU the search is exact, also where the model has an approximate index.

        Raises:
            LinkerError: torch is not installed or finds no GPU, or the memory of the GPU does not
                hold the vectors.
        """
        dense = self.dense.on_cpu
        if device == "cuda":
            with needing("the device cuda", "dense"):
                from linker.search import torch_index  # it imports torch, which takes seconds
            dense = torch_index.on_gpu(dense)
        with ENCODING:
            for encoder in self.encoders:
                encoder.move(device)
        self.dense = dense

    def vectors_of(self, names: Sequence[str]) -> Floats:
        """The vectors of normalised names, in half precision; those of its own are not made again.

        Args:
            names: the names; returned is float32 (names, dim).
        """
        return NameVectors(self.encoder, self.table, self.dense, self.rows).encode(names)

    def score(self, queries: Sequence[str], k: int) -> Hits:
        vectors = encode_names(self.encoder, queries)
        encoded = EncodedTexts(self.sparse.encoder.encode(queries), vectors)
        query, rows = self._found(queries, vectors, encoded.sparse, k)
        found = self.score_pairs(encoded, query, rows)
        hits, order = Hits.best_with_ties(len(queries), k, query, rows, found.scores)
        return replace(
            hits,
            sparse=found.sparse[order],
            dense=None if found.dense is None else found.dense[order],
            encoded=encoded,
        )

    def score_pairs(
        self, encoded: EncodedTexts, query: NDArray[np.int64], rows: Integers
    ) -> PairScores:
        if encoded.dense is None:
            raise ValueError("the texts have no dense vectors")
        dense = self.products(encoded.dense, query, rows)
        sparse = pair_products(encoded.sparse, query, self.sparse.by_name, rows)
        scores = dense + np.float32(self.sparse_weight) * sparse + self.bias[rows]
        return PairScores(scores, sparse, dense)

    def candidates(self, queries: Sequence[str], k: int) -> Candidates:
        """Find the k best concepts of each query, and behind them those of the second encoder."""
        found = super().candidates(queries, k)
        if self.second is None or found.encoded is None:
            return found
        near = self.second.search(queries, _NEAREST)
        has_text = np.array([text != "" for text in queries], bool)
        kept = self._is_named[near.rows] & has_text[near.queries]
        query, rows, scores = near.queries[kept], near.rows[kept], near.scores[kept]
        near = Hits.best(len(queries), len(self.table), query, rows, scores)
        others = by_concept(near, _OTHERS, queries, self.name_order)
        scores = self.score_pairs(found.encoded, others.queries, others.names)
        return found.followed_by(others.with_scores(scores))

    def products(self, vectors: Floats, query: NDArray[Any], rows: NDArray[Any]) -> Floats:
        """Multiply pairs: `vectors[query[i]]` by the vector of the name `rows[i]`, for each i."""
        return self.dense.products(vectors, query, rows if self.rows is None else self.rows[rows])

    def among(self, concepts: NDArray[np.bool_]) -> HybridGenerator:
        names, sparse = self.table.naming(concepts), self.sparse.among(concepts)
        return HybridGenerator(
            sparse,
            self.encoder,
            self.dense,
            self.sparse_weight,
            self.bias[names],
            names if self.rows is None else self.rows[names],
            self.second and self.second.among(sparse.table, names),
        )

    def without(self, pairs: NDArray[np.bool_]) -> HybridGenerator:
        sparse, weight, dense = self.sparse.without(pairs), self.sparse_weight, self.dense
        return HybridGenerator(
            sparse, self.encoder, dense, weight, self.bias, self.rows, self.second
        )

    def with_second(self, second: NameVectors | None) -> HybridGenerator:
        """The same generator beside another second encoder, or none."""
        sparse, weight, dense = self.sparse, self.sparse_weight, self.dense
        return HybridGenerator(sparse, self.encoder, dense, weight, self.bias, self.rows, second)

    def _found(
        self,
        queries: Sequence[str],
        vectors: Floats,
        weights: csr_matrix,
        k: int,
    ) -> tuple[NDArray[np.int64], Integers]:
        """The queries and the rows of the names among which the k best of each are looked for.

        They are the k names with the best dense scores, the name that is the query, and the k best
        by characters. Characters are left out where vectors of sub-words have found something near
        (docs/decisions.md). A name that is good only by the sum may be missed.

        A query without any sub-word or n-gram of a name finds itself alone: all other names would
        tie, and be fetched and put in order.

        Args:
            queries: in normal form; an empty one finds nothing.
            vectors: of the queries.
            weights: of their n-grams.
            k: names for each query.
        """
        own = np.einsum("ij,ij->i", vectors, vectors)
        dense = self.dense.search(vectors, k, self.rows)
        silent = np.arange(len(vectors))
        if self.encoder.covers_characters:
            nearest = np.zeros(len(vectors), np.float32)
            np.maximum.at(nearest, dense.queries, dense.scores)
            silent = np.flatnonzero(nearest <= _SILENT * own)
        sparse = self.sparse.names.search(weights[silent], k)
        equal = self.table.rows(queries)
        known = np.flatnonzero(equal >= 0)
        query = np.concatenate([dense.queries, silent[sparse.queries], known])
        near = dense.rows if self.rows is None else np.searchsorted(self.rows, dense.rows)
        rows = np.concatenate([near, sparse.rows, equal[known]])
        has_text = np.array([text != "" for text in queries], bool)
        has_features = (own > 0) | (np.diff(weights.indptr) > 0)
        is_found = has_features[query] | (equal[query] == rows)
        kept = self._is_named[rows] & has_text[query] & is_found
        pairs = distinct(query[kept] * np.int64(len(self.table)) + rows[kept])
        query, rows = np.divmod(pairs, len(self.table))
        return query, rows.astype(np.int32)

    def save(self, folder: Path) -> None:
        self.sparse.save(folder)
        persistence.save_arrays(
            folder / "dense_names",
            {"vectors": persistence.to_storage(self.vectors), "bias": self.bias},
        )
        self.encoder.save(folder / "dense")
        if self.second:
            self.second.save(folder / SECOND)
        persistence.save_json(folder / "hybrid.json", {"sparse_weight": self.sparse_weight})

    @classmethod
    def load(
        cls,
        folder: Path,
        dictionary: Dictionary,
        sparse_encoder: type[SparseEncoder],
        dense_encoder: type[Encoder],
        second_encoder: type[Encoder] | None = None,
    ) -> HybridGenerator:
        """Read what `save` wrote; the arrays stay memory-mapped."""
        sparse = SparseGenerator.load(folder, dictionary, sparse_encoder)
        arrays = persistence.load_arrays(folder / "dense_names")
        numbers = persistence.load_json(folder / "hybrid.json")
        encoder = dense_encoder.load(folder / "dense")
        vectors: NDArray[Any] | VectorIndex = arrays["vectors"]
        if (folder / INDEX).is_dir():
            checksums = persistence.load_json(folder / persistence.MANIFEST)["sha256"]
            vectors = IvfIndex.load(folder / INDEX, arrays["vectors"], checksums[VECTORS])
        second = None
        if second_encoder:
            second = NameVectors.load(folder / SECOND, sparse.table, second_encoder)
        weight, bias = numbers["sparse_weight"], arrays["bias"]
        return cls(sparse, encoder, vectors, weight, bias, second=second)


def encode_names(encoder: Encoder, names: Sequence[str]) -> Floats:
    """Encode names, one thread at a time; float32 (len(names), dim).

    Raises:
        LinkerError: the vectors are not finite.
    """
    with ENCODING:
        vectors = encoder.encode(names)
    if not is_finite(vectors):
        raise LinkerError(
            "the dense encoder makes vectors that are not finite; "
            "its weights are damaged, train again"
        )
    return vectors

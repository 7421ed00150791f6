"""Search for the names whose vectors have the largest dot products with the vectors of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as options_dataclass
from scipy.sparse import csr_matrix, vstack

from linker.dictionary.columns import ranges
from linker.errors import LinkerError
from linker.io import persistence
from linker.io.option_group import OptionGroup, ZeroToOne

QUERIES = 1024  # queries that are scored together where scores are adjusted
_CELLS = 4_000_000  # scores in memory at once, 16 MB
_COMPONENTS = 4_000_000  # components of vectors that become float32 at once, 16 MB
_PAIRS = 5_000  # pairs of vectors that are multiplied at once, 8 MB a side with 384 components
_RANKED = 64  # queries whose scores of all names are sorted together
_MANY = 32  # queries from which on faiss searches: one mention does not pay for its import
_HELD = 100_000_000  # components of vectors that are held as float32 then, 400 MB
_CROWD = 4  # a block that would add more than 4 · k names to a query is first cut to its own k best
_EQUAL = 1e-5  # scores that differ by less are equal
_ROUNDED = 1e-6  # of a score, or of 1 if that is more: what rounding makes of equal scores

SPARE = 16
"""Names found beyond the k best, whose order rounding in a batch may change."""

LARGE = 500_000
"""Names from which on `auto` takes indexes that may miss some of the best names."""


@options_dataclass(frozen=True, slots=True)
class IndexOptions(OptionGroup):
    """How the vectors of names are searched; a model folder is written accordingly."""

    group: ClassVar[str] = "index"

    # exact: each query with every name; auto: by the number of names;
    # ivf: vectors by faiss, however few the names
    kind: Literal["auto", "exact", "ivf"] = "auto"
    # share of the 20 best names by exact search that must be found; an index of less is refused
    recall: ZeroToOne = 0.97


AUTO = IndexOptions()

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]

Adjust = Callable[[slice, Floats], None]
"""Changes the scores of a range of names in place, (names, queries), before the best are chosen."""


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """The vectors of some texts, by which names can be scored that no search found.

    Attributes:
        sparse: csr_matrix (texts, terms).
        dense: (texts, dim); None where the generator has no such vectors.
    """

    sparse: csr_matrix
    dense: Floats | None = None

    @property
    def squares(self) -> Floats | None:
        """The product of the dense vector of each text with itself, (texts,)."""
        return None if self.dense is None else np.einsum("ij,ij->i", self.dense, self.dense)

    def take(self, texts: NDArray[np.int64]) -> EncodedTexts:
        """Some of the texts, given their numbers, any number of times."""
        dense = None if self.dense is None else self.dense[texts]
        return EncodedTexts(self.sparse[texts], dense)

    @classmethod
    def joined(cls, parts: Sequence[EncodedTexts]) -> EncodedTexts:
        """Several of them, one behind another."""
        dense = [part.dense for part in parts if part.dense is not None]
        sparse = vstack([part.sparse for part in parts], "csr")
        return cls(sparse, np.concatenate(dense) if dense else None)


@dataclass(frozen=True, slots=True)
class Hits:
    """The rows of the names that were found for each query.

    Those of query i are `rows[indptr[i]:indptr[i + 1]]`.
    `sparse` and `dense` are the parts of the scores, each the plain dot product, where there are
    such parts; `encoded` are the queries, where a generator found the names.
    """

    indptr: NDArray[np.int64]
    rows: Integers
    scores: Floats
    sparse: Floats | None = None
    dense: Floats | None = None
    encoded: EncodedTexts | None = None

    @property
    def queries(self) -> NDArray[np.int64]:
        """The number of the query that each hit is of, (hits,)."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    @classmethod
    def best(
        cls, queries: int, k: int, query: NDArray[Any], rows: NDArray[Any], scores: Floats
    ) -> Hits:
        """The k best names of each query, best first; equal scores stay in their order.

        Args:
            queries: their number.
            k: names of each query.
            query: the number of the query that each name was found for.
            rows: of the names, rising for each query.
            scores: of the names.
        """
        order = np.lexsort((-scores, query))  # stable
        order = order[is_first(query[order], k)]
        indptr = np.searchsorted(query[order], np.arange(queries + 1))
        return cls(indptr, rows[order].astype(np.int32), scores[order])

    @classmethod
    def best_with_ties(
        cls, queries: int, k: int, query: NDArray[Any], rows: NDArray[Any], scores: Floats
    ) -> tuple[Hits, NDArray[np.int64]]:
        """As `best`, with all names that tie with the last one, `most(k)` at most.

        Returns:
            The hits, and the places of these in the arrays that were given.
        """
        order = np.lexsort((-scores, query))  # stable
        order = order[is_first(query[order], most(k))]
        indptr = np.searchsorted(query[order], np.arange(queries + 1))
        sizes = np.diff(indptr)
        least = np.full(queries, -np.inf)
        is_cut = sizes > k
        least[is_cut] = lowest_equal(scores[order[indptr[:-1][is_cut] + k - 1]])
        order = order[scores[order] >= np.repeat(least, sizes)]
        indptr = np.searchsorted(query[order], np.arange(queries + 1))
        return cls(indptr, rows[order].astype(np.int32), scores[order]), order

    def first(self, k: int) -> Hits:
        """The first k names of each query, without the parts of the scores."""
        kept = is_first(self.queries, k)
        indptr = np.concatenate([[0], np.cumsum(np.minimum(np.diff(self.indptr), k))])
        return Hits(indptr, self.rows[kept], self.scores[kept])

    @classmethod
    def equally_many(cls, rows: NDArray[Any], scores: Floats) -> Hits:
        """The hits of queries that have k each, (queries, k)."""
        indptr = np.arange(len(rows) + 1) * rows.shape[1]
        return cls(indptr, rows.ravel().astype(np.int32), scores.ravel())

    @classmethod
    def joined(cls, parts: Sequence[Hits]) -> Hits:
        """The rows and scores of several batches of queries, one behind another."""
        counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
        rows = np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)])
        scores = np.concatenate([np.empty(0, np.float32), *(part.scores for part in parts)])
        return cls(np.cumsum(counts, dtype=np.int64), rows, scores)

    @classmethod
    def grouped(cls, queries: int, query: NDArray[Any], rows: NDArray[Any], scores: Floats) -> Hits:
        """Hits that stand in any order of queries; those of a query keep their order.

        The arguments are those of `best`.
        """
        order = np.argsort(query, kind="stable")
        indptr = np.searchsorted(query[order], np.arange(queries + 1))
        return cls(indptr, rows[order].astype(np.int32), scores[order])


def is_first(groups: NDArray[Any], k: int) -> NDArray[np.bool_]:
    """Whether each entry is among the first k of its group, given rising numbers of groups."""
    places: NDArray[np.int64] = np.arange(len(groups)) - np.searchsorted(groups, groups)
    return places < k


def most(k: int) -> int:
    """How many names a search for k names gives at most, where many tie with the last."""
    return 4 * k + SPARE


def lowest_equal(scores: NDArray[Any]) -> NDArray[np.float64]:
    """The lowest scores that differ by no more than rounding from some others."""
    exact = scores.astype(np.float64)
    return exact - _ROUNDED * np.maximum(1, np.abs(exact))


@dataclass(frozen=True, slots=True)
class _Distinct:
    """The distinct vectors of names: those with the same sub-words, in any order, share one.

    Those of static vectors are a quarter fewer than the names.
    """

    vectors: Floats  # (distinct, dim)
    of_row: NDArray[np.int64]  # (names,) the vector of each name
    starts: NDArray[np.int64]  # (distinct + 1,) where the names of each vector begin
    rows: NDArray[np.int64]  # (names,) of the names, vector by vector, rising for each

    @classmethod
    def of(cls, vectors: NDArray[Any], floats: Callable[[NDArray[Any]], Floats]) -> _Distinct:
        """Find them, given all vectors as they are stored, and what makes float32 of some rows."""
        number: dict[bytes, int] = {}
        numbers = (number.setdefault(vector.tobytes(), len(number)) for vector in vectors)
        of_row = np.fromiter(numbers, np.int64, len(vectors))
        rows = np.argsort(of_row, kind="stable")
        starts = np.searchsorted(of_row[rows], np.arange(len(number) + 1))
        return cls(floats(rows[starts[:-1]]), of_row, starts, rows)

    def spread(self, scores: Floats, found: NDArray[np.int64]) -> Hits:
        """The k best names of each query, given its k best vectors; there are as many names.

        Args:
            scores: (queries, k), -inf behind the last vector.
            found: (queries, k), -1 behind the last vector.
        """
        queries, k = found.shape
        is_there, flat = found.ravel() >= 0, found.ravel()
        counts = np.where(is_there, self.starts[flat + 1] - self.starts[flat], 0)
        rows = self.rows[ranges(self.starts[flat], counts)]
        sizes = counts.reshape(queries, k).sum(axis=1)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = place < k
        of_names = np.repeat(scores.ravel(), counts)
        return Hits.equally_many(rows[kept].reshape(queries, k), of_names[kept].reshape(queries, k))


class VectorIndex:
    """Compares each query with every name, block by block.

    No matrix of queries by names is held. Other ways to search are subclasses. An approximate one
    may miss some of the best: a caller must not take the score of its last hit as a bound on the
    scores of the names that it did not return.

    Args:
        vectors: of the names, (names, dim), float32 or float16, as they are stored: an array that
            is memory-mapped stays so.

    Raises:
        ValueError: the vectors are of another type, or no matrix.
    """

    def __init__(self, vectors: NDArray[Any]) -> None:
        if vectors.dtype not in (np.float32, np.float16) or vectors.ndim != 2:
            raise ValueError(
                f"they are {vectors.dtype} {vectors.shape}, expected: float32 or float16 (n, dim)"
            )
        self.vectors = vectors

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def on_cpu(self) -> VectorIndex:
        """The index of the same vectors that searches on the CPU."""
        return self

    def search(self, queries: Floats, k: int, among: NDArray[np.int64] | None = None) -> Hits:
        """Find the k names with the largest dot products for each query.

        All names that tie with the last one are found, `most(k)` at most.

        Args:
            queries: (queries, dim), finite.
            k: fewer are found where there are no more names.
            among: the rows of the names that may be found, in rising order; all where None.

        Returns:
            Rows of `vectors` and dot products, best first. A query finds the same names in any
            batch: which of nearly equal ones are in is decided by `products`, then by row.
        """
        count = len(self) if among is None else len(among)
        shape = (len(queries), min(k + SPARE, count))
        k = min(k, count)
        found = self._nearest(queries, shape[1], among)
        rows, scores = found.rows.reshape(shape), found.scores.reshape(shape)
        if not 0 < k < shape[1]:
            return Hits.equally_many(rows[:, :k], scores[:, :k])
        squares = np.einsum("ij,ij->i", queries, queries)
        equal = scores[:, k - 1] - _EQUAL * np.maximum(squares, np.abs(scores[:, k - 1]))
        is_close = scores[:, k] >= equal
        is_deep = is_close & (scores[:, -1] >= equal)  # others may tie that were not found
        clear = np.flatnonzero(~is_close)
        parts = [Hits.equally_many(rows[clear, :k], scores[clear, :k])]
        numbers = [np.repeat(clear, k)]
        close = np.flatnonzero(is_close & ~is_deep)
        parts.append(self._settled(queries[close], k, np.sort(rows[close], axis=1)))
        numbers.append(close[parts[-1].queries])
        every = np.arange(count) if among is None else among
        for i in np.flatnonzero(is_deep).tolist():
            some = every if squares[i] else every[:k]  # all products with nothing are 0
            parts.append(self._settled(queries[i : i + 1], k, some[None, :]))
            numbers.append(np.full(len(parts[-1].rows), i))
        whole = Hits.joined(parts)
        return Hits.grouped(len(queries), np.concatenate(numbers), whole.rows, whole.scores)

    def _settled(self, queries: Floats, k: int, rows: NDArray[Any]) -> Hits:
        """The k best names of each query, with those that tie with the last one.

        Args:
            queries: (queries, dim).
            k: names of each.
            rows: (queries, names) among which they are, rising for each query.
        """
        query = np.repeat(np.arange(len(queries)), rows.shape[1])
        products = self.products(queries, query, rows.ravel())
        return Hits.best_with_ties(len(queries), k, query, rows.ravel(), products)[0]

    def _nearest(self, queries: Floats, k: int, among: NDArray[np.int64] | None) -> Hits:
        """As `search`, fast: sums are rounded as the batch has it, and of equals any are found."""
        is_held = among is None and "_distinct" in self.__dict__
        if len(queries) < _MANY and not is_held:
            return self.search_batch(queries, k, among)
        import faiss

        # else up to a thousand queries are compared one by one, which takes five times as long; it
        # holds for all that uses faiss in this process
        faiss.cvar.distance_compute_blas_threshold = 1
        queries, metric = np.ascontiguousarray(queries), faiss.METRIC_INNER_PRODUCT
        if among is None and self.vectors.size <= _HELD:
            distinct = self._distinct
            return distinct.spread(*faiss.knn(queries, distinct.vectors, k, metric))
        every = np.arange(len(self)) if among is None else among
        step = max(k, _COMPONENTS // max(1, self.vectors.shape[1]))
        rows = np.empty((len(queries), 0), np.int64)
        scores = np.empty((len(queries), 0), np.float32)
        for start in range(0, len(every), step):
            part = every[start : start + step]
            more, places = faiss.knn(queries, self._floats(part), min(k, len(part)), metric)
            rows = np.concatenate([rows, part[places]], axis=1)
            scores = np.concatenate([scores, more], axis=1)
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            rows = np.take_along_axis(rows, order, axis=1)
            scores = np.take_along_axis(scores, order, axis=1)
        return Hits.equally_many(rows, scores)

    def search_batch(
        self,
        queries: Floats,
        k: int,
        among: NDArray[np.int64] | None = None,
        adjust: Adjust | None = None,
    ) -> Hits:
        """As `search`, for at most `QUERIES` queries, by scores that the caller may adjust.

        Args:
            queries: (queries, dim), finite.
            k: fewer are found where there are no more names.
            among: as in `search`.
            adjust: is given each block of scores with its range of names, counted among those
                that may be found. A name that it sets to minus infinity is not found.
        """
        count, (number, dim) = len(self) if among is None else len(among), queries.shape
        step = max(1, min(_COMPONENTS // max(1, dim), _CELLS // max(1, number)))
        floor = np.full(number, -np.inf, np.float32)  # the k-th best score, if there is one
        best = Hits(np.zeros(number + 1, np.int64), np.empty(0, np.int32), floor[:0])
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            block = self._floats(part if among is None else among[part]) @ queries.T
            if adjust:
                adjust(part, block)
            is_near = block > floor
            if len(block) > k and np.count_nonzero(is_near) > _CROWD * k * number:
                is_near &= block >= np.partition(block.T, -k, axis=1)[:, -k]  # equal ones stay
            row, query = np.nonzero(is_near)
            query = np.concatenate([best.queries, query])
            scores = np.concatenate([best.scores, block[is_near]])
            best = Hits.best(number, k, query, np.concatenate([best.rows, row + start]), scores)
            is_full = np.diff(best.indptr) == k
            floor[is_full] = best.scores[best.indptr[1:][is_full] - 1]
        if among is None:
            return best
        return Hits(best.indptr, among[best.rows].astype(np.int32), best.scores)

    def products(self, queries: Floats, query: NDArray[Any], rows: NDArray[Any]) -> Floats:
        """Multiply pairs: `queries[query[i]]` by the vector of the name `rows[i]`, for each i."""
        scores = np.empty(len(rows), np.float32)
        for i in range(0, len(rows), _PAIRS):
            pairs = slice(i, i + _PAIRS)
            names = self._floats(rows[pairs])
            np.einsum("ij,ij->i", queries[query[pairs]], names, out=scores[pairs])
        return scores

    @cached_property
    def _distinct(self) -> _Distinct:
        """The distinct vectors, from the first search of many queries on."""
        return _Distinct.of(self.vectors, self._floats)

    def __getstate__(self) -> dict[str, Any]:  # what another process makes for itself
        return {name: value for name, value in self.__dict__.items() if name != "_distinct"}

    def _floats(self, rows: slice | NDArray[Any]) -> Floats:
        """The vectors of some names as float32.

        Raises:
            LinkerError: a vector is not finite.
        """
        if "_distinct" in self.__dict__:
            return self._distinct.vectors[self._distinct.of_row[rows]]
        vectors: Floats = persistence.from_storage(self.vectors[rows])
        if not is_finite(vectors):
            raise LinkerError(
                "the vectors of the names are not finite; the model is damaged, train again"
            )
        return vectors


def is_finite(vectors: NDArray[Any]) -> bool:
    """Whether all numbers are finite, without an array of answers."""
    return bool(np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all())


def ranks(
    queries: Floats, names: Floats, rows_of_queries: Sequence[NDArray[np.int64]]
) -> list[NDArray[np.int64]]:
    """Rank given names of each query among all names by inner product; equal products by row.

    A few queries are ranked at a time, so that no matrix of queries by names is held.

    Args:
        queries: (q, dim).
        names: (n, dim).
        rows_of_queries: for each query rows of `names`.

    Returns:
        For each query the ranks of its rows, from 1, in rising order.
    """
    ranked = []
    for i in range(0, len(queries), _RANKED):
        block = queries[i : i + _RANKED] @ names.T
        for scores, rows in zip(block, rows_of_queries[i : i + _RANKED], strict=False):
            rising = np.sort(scores)
            below = np.searchsorted(rising, scores[rows], "left")
            upto = np.searchsorted(rising, scores[rows], "right")
            places = len(scores) - upto + 1
            for tied in np.flatnonzero(upto - below > 1):
                places[tied] += np.count_nonzero(scores[: rows[tied]] == scores[rows[tied]])
            ranked.append(np.sort(places))
    return ranked

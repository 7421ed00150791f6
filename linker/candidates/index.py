"""Search for the names whose vectors have the largest dot products with the vectors of queries."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linker import persistence
from linker.errors import LinkerError

QUERIES = 1024  # queries that are scored together; more would not speed up the product
_CELLS = 4_000_000  # scores in memory at once, 16 MB
_NAMES = 100_000  # names that are scored together, however few the queries
_COMPONENTS = 4_000_000  # components of vectors that become float32 at once, 16 MB
_PAIRS = 5_000  # pairs of vectors that are multiplied at once, 8 MB a side with 384 components
_RANKED = 64  # queries whose scores of all names are sorted together
_FLAT = 32  # queries from which on faiss searches: one mention does not pay for its import
_MOST_FLAT = 100_000_000  # components of vectors that it holds, 400 MB
_SIGN_AND_REST, _EXPONENT = np.int32(-0x70000001), np.float32(2.0**112)  # see `to_fp32`
_MANY = 4  # best names of a list are sorted again with a quarter of new ones
_CROWD = 4  # a block that would add more than 4 · k names to a list is first cut to its own k best

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]

Score = Callable[[slice], Floats]
"""Scores a range of names for all queries, (names, queries); -inf for a name that is left out."""

Adjust = Callable[[slice, Floats], None]
"""Changes the scores of a range of names in place, (names, queries), before the best are chosen."""


@dataclass(frozen=True, slots=True)
class Hits:
    """The rows of the names that were found for each query.

    Those of query i are `rows[indptr[i]:indptr[i + 1]]`.
    `sparse` and `dense` are the parts of the scores, each the plain dot product, where there are
    such parts; `own` is the product of the vector of each query with itself, (queries,).
    """

    indptr: NDArray[np.int64]
    rows: Integers
    scores: Floats
    sparse: Floats | None = None
    dense: Floats | None = None
    own: Floats | None = None

    @property
    def queries(self) -> NDArray[np.int64]:
        """The number of the query that each hit is of, (hits,)."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def only(self, names: NDArray[np.bool_]) -> Hits:
        """The hits that are some of the names, given whether each name is."""
        kept = names[self.rows]
        return self if kept.all() else self._kept(kept)

    def of(self, queries: NDArray[np.bool_]) -> Hits:
        """The hits of some queries, given whether each query is one of them."""
        if queries.all():
            return self
        hits = self._kept(np.repeat(queries, np.diff(self.indptr)))
        indptr = hits.indptr[np.append(queries, True)]
        own = None if self.own is None else self.own[queries]
        return Hits(indptr, hits.rows, hits.scores, hits.sparse, hits.dense, own)

    def _kept(self, kept: NDArray[np.bool_]) -> Hits:
        """Some of the hits, given whether each is kept."""
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        sparse, dense = (None if part is None else part[kept] for part in (self.sparse, self.dense))
        return Hits(indptr, self.rows[kept], self.scores[kept], sparse, dense, self.own)


class VectorIndex(ABC):
    """Finds names by their vectors.

    An index that is not `exact` may miss some of the best. A caller must not take the
    score of its last hit as a bound on the scores of the names that it did not return.

    Args:
        vectors: of the names, (names, dim), float32 or float16, as they are stored: an array that
            is memory-mapped stays so. Blocks of float16 become float32 when they are used.

    Raises:
        ValueError: the vectors are of another type, or no matrix.
    """

    exact: ClassVar[bool]

    def __init__(self, vectors: NDArray[Any]) -> None:
        if vectors.dtype not in (np.float32, np.float16) or vectors.ndim != 2:
            raise ValueError(
                f"they are {vectors.dtype} {vectors.shape}, expected: float32 or float16 (n, dim)"
            )
        self.vectors = vectors
        self._is_checked = np.zeros(len(vectors), bool)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def on_cpu(self) -> VectorIndex:
        """The index of the same vectors that searches on the CPU."""
        return self

    @abstractmethod
    def search(self, queries: Floats, k: int, among: NDArray[np.int64] | None = None) -> Hits:
        """Find the k names with the largest dot products for each query.

        Args:
            queries: (queries, dim), finite.
            k: fewer are found where there are no more names.
            among: the rows of the names that may be found, in rising order; all where None.

        Returns:
            Rows of `vectors` and dot products, best first; equal products by row.
        """

    def products(self, queries: Floats, query: NDArray[Any], rows: NDArray[Any]) -> Floats:
        """Multiply pairs: `queries[query[i]]` by the vector of the name `rows[i]`, for each i."""
        scores = np.empty(len(rows), np.float32)
        for i in range(0, len(rows), _PAIRS):
            pairs = slice(i, i + _PAIRS)
            names = self._checked(rows[pairs])
            np.einsum("ij,ij->i", queries[query[pairs]], names, out=scores[pairs])
        return scores

    def _checked(self, rows: slice | NDArray[Any]) -> Floats:
        """The vectors of some names as float32; they are checked when they are first used.

        Raises:
            LinkerError: a vector is not finite.
        """
        vectors = self.vectors[rows]
        if self._is_checked[rows].all():
            return to_fp32(vectors)
        vectors = persistence.from_storage(vectors)
        if not is_finite(vectors):
            raise LinkerError(
                "the vectors of the names are not finite; the model is damaged, train again"
            )
        self._is_checked[rows] = True
        return vectors


def to_fp32(vectors: NDArray[Any]) -> Floats:
    """Finite float16 numbers as float32, twice as fast as numpy's own way; float32 as it is."""
    if vectors.dtype == np.float32:
        return vectors
    bits = vectors.view(np.int16).astype(np.int32)
    bits <<= 13  # the fraction has 10 bits in float16, 23 in float32
    bits &= _SIGN_AND_REST  # of the sign, which was copied, the first bit only
    numbers = bits.view(np.float32)
    numbers *= _EXPONENT  # the exponent counts from -15 in float16, from -127 in float32
    return numbers


class ExactIndex(VectorIndex):
    """Compares each query with every name, block by block.

    No matrix of queries by names is held, and no float32 copy of all vectors.
    """

    exact = True

    def search(self, queries: Floats, k: int, among: NDArray[np.int64] | None = None) -> Hits:
        if among is None and len(queries) >= _FLAT and self._flat is not None:
            # of equal products at the end of a list it takes any
            scores, rows = self._flat.search(np.ascontiguousarray(queries), min(k, len(self)))
            indptr = np.arange(len(queries) + 1) * rows.shape[1]
            return Hits(indptr, rows.ravel().astype(np.int32), scores.ravel())
        parts = (queries[i : i + QUERIES] for i in range(0, len(queries), QUERIES))
        return joined([self.search_batch(part, k, among) for part in parts])

    @cached_property
    def _flat(self) -> Any:
        """The vectors in faiss, which compares four times as many; None without it, or for many."""
        if self.vectors.size > _MOST_FLAT or not importlib.util.find_spec("faiss"):
            return None
        import faiss

        # else up to a thousand queries are compared one by one, which takes five times as long; it
        # holds for all that uses faiss in this process
        faiss.cvar.distance_compute_blas_threshold = 1
        index = faiss.IndexFlatIP(self.vectors.shape[1])
        index.add(self._checked(slice(None)))
        return index

    def __getstate__(self) -> dict[str, Any]:  # what another process makes for itself
        return {name: value for name, value in self.__dict__.items() if name != "_flat"}

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

        def score(names: slice) -> Floats:
            block = self.block(queries, names, among)
            if adjust:
                adjust(names, block)
            return block

        count = len(self) if among is None else len(among)
        query, rows, scores = best(score, len(queries), count, k)
        indptr = np.searchsorted(query, np.arange(len(queries) + 1))
        return Hits(indptr, rows if among is None else among[rows].astype(np.int32), scores)

    def block(self, queries: Floats, names: slice, among: NDArray[np.int64] | None) -> Floats:
        """The dot products of a range of names with all queries, (names, queries).

        Args:
            queries: (queries, dim), finite.
            names: a range of names, counted among those that may be found.
            among: as in `search`.
        """
        block = np.empty((names.stop - names.start, len(queries)), np.float32)
        step = max(1, _COMPONENTS // max(1, self.vectors.shape[1]))
        for start in range(0, len(block), step):
            part = slice(names.start + start, min(names.start + start + step, names.stop))
            vectors = self._checked(part if among is None else among[part])
            np.matmul(vectors, queries.T, out=block[start : start + step])
        return block


def joined(parts: Sequence[Hits]) -> Hits:
    """The hits of several batches of queries, one behind another."""
    counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
    rows = np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)])
    scores = np.concatenate([np.empty(0, np.float32), *(part.scores for part in parts)])
    return Hits(np.cumsum(counts, dtype=np.int64), rows, scores)


def is_finite(vectors: NDArray[Any]) -> bool:
    """Whether all numbers are finite, without an array of answers."""
    return bool(np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all())


class BestLists:
    """The best names of each query so far.

    Args:
        queries: their number.
        k: names of each query that are kept.

    Attributes:
        floor: a score that the k best names of each query reach, (queries,); -inf where fewer than
            k are known.
    """

    def __init__(self, queries: int, k: int) -> None:
        self.floor, self._k = np.full(queries, -np.inf, np.float32), k
        none = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
        self._parts: list[tuple[Integers, Integers, Floats]] = [none]  # the first one is sorted
        self._waiting = 0

    def add(self, query: NDArray[Any], rows: Integers, scores: Floats) -> None:
        """Add names, none of which is known yet; sorted as soon as they are many."""
        is_near = scores >= self.floor[query]
        self._parts.append((query[is_near].astype(np.int32), rows[is_near], scores[is_near]))
        self._waiting += int(np.count_nonzero(is_near))
        if _MANY * self._waiting > len(self._parts[0][0]):
            self.sorted()

    def sorted(self) -> tuple[Integers, Integers, Floats]:
        """The query, the row and the score of each name, (names,).

        They are ordered by query, then score descending, then row.
        """
        if self._waiting:
            query, rows, scores = map(np.concatenate, zip(*self._parts, strict=True))
            order = np.lexsort((rows, -scores, query))
            query, rows, scores = query[order], rows[order], scores[order]
            place = np.arange(len(query)) - np.searchsorted(query, query)
            self.floor[query[place == self._k - 1]] = scores[place == self._k - 1]
            kept = place < self._k
            self._parts, self._waiting = [(query[kept], rows[kept], scores[kept])], 0
        return self._parts[0]


def best(score: Score, queries: int, names: int, k: int) -> tuple[Integers, Integers, Floats]:
    """Find the k best names of each query, given how a block of names scores.

    A full list takes only what is above its last score, so that one comparison passes over most
    of a block.

    Args:
        score: gives the scores of a range of names.
        queries: their number.
        names: their number.
        k: fewer are found where there are no more names.

    Returns:
        The query, the row and the score of each hit, (hits,), ordered by query, then score
        descending, then row.
    """
    lists = BestLists(queries, k)
    for block_of in blocks(names, queries):
        block = score(block_of)
        row, query = above(block, lists.floor, k)
        lists.add(query, row + np.int32(block_of.start), block[row, query])
    return lists.sorted()


def blocks(names: int, queries: int) -> Iterator[slice]:
    """Ranges of names that are scored together."""
    step = max(1, min(_NAMES, _CELLS // max(1, queries)))
    return (slice(start, min(start + step, names)) for start in range(0, names, step))


def above(block: Floats, floor: Floats, k: int) -> tuple[Integers, Integers]:
    """Rows and columns of the scores above the floor of their column.

    Of a crowd only those are returned that can be among the k best of the block.

    Args:
        block: the scores, (names, queries).
        floor: of each query, (queries,).
        k: names that are wanted for each query.
    """
    is_above = block > floor
    if np.count_nonzero(is_above) > k * len(floor):
        crowded = np.flatnonzero(np.count_nonzero(is_above, axis=0) > _CROWD * k)
        columns = block[:, crowded].T.copy()
        columns.partition(len(block) - k, axis=1)
        below = np.nextafter(columns[:, len(block) - k], np.float32(-np.inf))
        is_above[:, crowded] &= block[:, crowded] > below  # equal scores stay
    row, column = np.divmod(np.flatnonzero(is_above), len(floor))
    return row.astype(np.int32), column.astype(np.int32)


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

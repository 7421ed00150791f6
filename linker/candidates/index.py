"""Search for the names whose vectors have the largest dot products with the vectors of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as options_dataclass

from linker import persistence
from linker.errors import LinkerError
from linker.fields import OptionGroup, ZeroToOne

QUERIES = 1024  # queries that are scored together; more would not speed up the product
_CELLS = 4_000_000  # scores in memory at once, 16 MB
_NAMES = 100_000  # names that are scored together, however few the queries
_COMPONENTS = 4_000_000  # components of vectors that become float32 at once, 16 MB
_PAIRS = 5_000  # pairs of vectors that are multiplied at once, 8 MB a side with 384 components
_RANKED = 64  # queries whose scores of all names are sorted together
_FLAT = 32  # queries from which on faiss searches: one mention does not pay for its import
_MOST_FLAT = 100_000_000  # components of vectors that it holds, 400 MB
_SIGN_AND_REST, _EXPONENT = np.int32(-0x70000001), np.float32(2.0**112)  # see `to_fp32`
_MANY = 4  # the best names are sorted again with a quarter of new ones
_CROWD = 4  # a block that would add more than 4 · k names to a query is first cut to its own k best
_SPARE = 16  # names found beyond the k best, whose order rounding in a batch may change
_EQUAL = 1e-5  # scores that differ by less are equal

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

    @classmethod
    def best(
        cls,
        queries: int,
        k: int,
        query: NDArray[Any],
        rows: NDArray[Any],
        scores: Floats,
        sparse: Floats | None = None,
        dense: Floats | None = None,
        own: Floats | None = None,
    ) -> Hits:
        """The k best names of each query, best first; equal scores stay in their order.

        Args:
            queries: their number.
            k: names of each query.
            query: the number of the query that each name was found for.
            rows: of the names, rising for each query.
            scores: of the names.
            sparse: as in `Hits`.
            dense: as in `Hits`.
            own: as in `Hits`.
        """
        order = np.lexsort((-scores, query))  # stable
        order = order[is_first(query[order], k)]
        return cls(
            np.searchsorted(query[order], np.arange(queries + 1)),
            rows[order].astype(np.int32),
            scores[order],
            None if sparse is None else sparse[order],
            None if dense is None else dense[order],
            own,
        )

    @classmethod
    def joined(cls, parts: Sequence[Hits]) -> Hits:
        """The rows and scores of several batches of queries, one behind another."""
        counts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
        rows = np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)])
        scores = np.concatenate([np.empty(0, np.float32), *(part.scores for part in parts)])
        return cls(np.cumsum(counts, dtype=np.int64), rows, scores)


def is_first(groups: NDArray[Any], k: int) -> NDArray[np.bool_]:
    """Whether each entry is among the first k of its group, given rising numbers of groups."""
    places: NDArray[np.int64] = np.arange(len(groups)) - np.searchsorted(groups, groups)
    return places < k


def recall(hits: Hits, exact: Hits) -> float:
    """The share of the best names, by exact search, that were found.

    Of names with equal scores any will do.
    """
    worst = np.full(len(exact.indptr) - 1, np.inf, np.float32)
    np.minimum.at(worst, exact.queries, exact.scores)
    is_right = hits.scores >= worst[hits.queries] - _EQUAL
    return float(is_right.sum() / max(1, len(exact.rows)))


class VectorIndex:
    """Compares each query with every name, block by block.

    No matrix of queries by names is held, and no float32 copy of all vectors. Other ways to search
    are subclasses. An approximate one may miss some of the best: a caller must not take the score
    of its last hit as a bound on the scores of the names that it did not return.

    Args:
        vectors: of the names, (names, dim), float32 or float16, as they are stored: an array that
            is memory-mapped stays so. Blocks of float16 become float32 when they are used.

    Raises:
        ValueError: the vectors are of another type, or no matrix.
    """

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

    def search(self, queries: Floats, k: int, among: NDArray[np.int64] | None = None) -> Hits:
        """Find the k names with the largest dot products for each query.

        Args:
            queries: (queries, dim), finite.
            k: fewer are found where there are no more names.
            among: the rows of the names that may be found, in rising order; all where None.

        Returns:
            Rows of `vectors` and dot products, best first. A query finds the same names in any
            batch: which of nearly equal ones are in is decided by `products`, then by row.
        """
        count = len(self) if among is None else len(among)
        k, shape = min(k, count), (len(queries), min(k + _SPARE, count))
        found = self._nearest(queries, shape[1], among)
        rows, scores = found.rows.reshape(shape), found.scores.reshape(shape)
        if 0 < k < shape[1]:
            own = np.einsum("ij,ij->i", queries, queries)
            equal = scores[:, k - 1] - _EQUAL * np.maximum(own, np.abs(scores[:, k - 1]))
            every = np.arange(count) if among is None else among
            for i in np.flatnonzero(scores[:, k] >= equal).tolist():
                some = every if own[i] else every[:k]  # all products with nothing are 0
                if scores[i, -1] < equal[i]:
                    some = np.sort(rows[i])
                products = self.products(queries, np.full(len(some), i), some)
                best = np.argsort(-products, kind="stable")[:k]
                rows[i, :k], scores[i, :k] = some[best], products[best]
        indptr = np.arange(len(queries) + 1) * k
        return Hits(indptr, rows[:, :k].ravel(), scores[:, :k].ravel())

    def _nearest(self, queries: Floats, k: int, among: NDArray[np.int64] | None) -> Hits:
        """As `search`, fast: sums are rounded as the batch has it, and of equals any are found."""
        if among is None and len(queries) >= _FLAT and self._flat is not None:
            scores, rows = self._flat.search(np.ascontiguousarray(queries), k)
            indptr = np.arange(len(queries) + 1) * k
            return Hits(indptr, rows.ravel().astype(np.int32), scores.ravel())
        parts = (queries[i : i + QUERIES] for i in range(0, len(queries), QUERIES))
        return Hits.joined([self.search_batch(part, k, among) for part in parts])

    @cached_property
    def _flat(self) -> Any:
        """The vectors in faiss, which compares four times as many; None for many."""
        if self.vectors.size > _MOST_FLAT:
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
        count = len(self) if among is None else len(among)
        step = max(1, min(_NAMES, _CELLS // max(1, len(queries))))
        best = _BestNames(len(queries), k)
        for start in range(0, count, step):
            names = slice(start, min(start + step, count))
            block = self._block(queries, names, among)
            if adjust:
                adjust(names, block)
            best.add(block, start)
        hits = best.hits()
        return hits if among is None else replace(hits, rows=among[hits.rows].astype(np.int32))

    def _block(self, queries: Floats, names: slice, among: NDArray[np.int64] | None) -> Floats:
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


def is_finite(vectors: NDArray[Any]) -> bool:
    """Whether all numbers are finite, without an array of answers."""
    return bool(np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all())


class _BestNames:
    """The k best names of each query, of blocks of scores that are added one after another.

    Blocks come in the order of rows. Where k names are known, a block adds only what is above the
    last of them, so that one comparison passes over most of it.
    """

    def __init__(self, queries: int, k: int) -> None:
        self._k, self._new = k, []  # type: ignore[var-annotated]
        self._floor = np.full(queries, -np.inf, np.float32)  # the k-th best score, if there is one
        self._best = Hits(np.zeros(queries + 1, np.int64), np.empty(0, np.int32), self._floor[:0])

    def add(self, block: Floats, start: int) -> None:
        """Add the scores of the names from a row on, (names, queries); -inf for one left out."""
        is_near = block > self._floor
        if np.count_nonzero(is_near) > _CROWD * self._k * len(self._floor):
            by_query = block.T.copy()
            by_query.partition(len(block) - self._k, axis=1)
            is_near &= block >= by_query[:, len(block) - self._k]  # equal scores stay
        row, query = np.divmod(np.flatnonzero(is_near), block.shape[1])
        self._new.append((query, row + start, block[row, query]))
        if _MANY * sum(len(rows) for _, rows, _ in self._new) > len(self._best.rows):
            self.hits()

    def hits(self) -> Hits:
        """The best names so far."""
        if self._new:
            old = self._best.queries, self._best.rows, self._best.scores
            columns = map(np.concatenate, zip(old, *self._new, strict=True))
            self._best, self._new = Hits.best(len(self._floor), self._k, *columns), []
            is_full = np.diff(self._best.indptr) == self._k
            self._floor[is_full] = self._best.scores[self._best.indptr[1:][is_full] - 1]
        return self._best


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

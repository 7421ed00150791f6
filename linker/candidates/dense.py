"""Exact top-k of dense scores, blockwise: no matrix of queries by names is ever held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from linker.candidates.base import Floats, Integers

QUERIES = 1024  # queries that are scored together; more would not speed up the product
_CELLS = 4_000_000  # scores that are held at once, 16 MB
_NAMES = 100_000  # names that are scored together, however few the queries
_PAIRS = 5_000  # pairs of vectors that are multiplied at once, 8 MB a side with 384 components
_RANKED = 64  # queries whose scores of all names are sorted together
_CROWD = 4  # times k names of a block may enter a list; where more would, the block's own k-th best is looked for first

Score = Callable[[slice], Floats]
"""Scores some names for all queries, (names, queries); minus infinity for a name that may not be found."""


def top_k(queries: Floats, names: Floats, k: int) -> tuple[Integers, Floats]:
    """Find the names with the largest inner products.

    Args:
        queries: (q, dim), finite.
        names: (n, dim), finite.

    Returns:
        Rows of `names` and inner products, each (q, min(k, n)), best first; equal products by row.
    """
    shape = len(queries), min(k, len(names))
    rows, scores = np.empty(shape, np.int32), np.empty(shape, np.float32)
    for i in range(0, len(queries), QUERIES):
        part = slice(i, i + QUERIES)
        _, found, values = best(
            partial(_inner, names, queries[part]), len(queries[part]), len(names), k
        )
        rows[part], scores[part] = found.reshape(rows[part].shape), values.reshape(rows[part].shape)
    return rows, scores


def _inner(names: Floats, queries: Floats, some: slice) -> Floats:
    return names[some] @ queries.T


def best(score: Score, queries: int, names: int, k: int) -> tuple[Integers, Integers, Floats]:
    """Find the k best names of each query, given how a block of names scores.

    A full list lets in only what is above its last score, so that most of a block is passed over by one comparison.

    Returns:
        The query, the row and the score of each hit, (hits,), ordered by query, then score descending, then row.
    """
    step = max(1, min(_NAMES, _CELLS // queries))
    query, rows, scores = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    floor = np.full(queries, -np.inf, np.float32)
    for start in range(0, names, step):
        block = score(slice(start, min(start + step, names)))
        row, column = _above(block, floor, k)
        query, rows = np.concatenate([query, column]), np.concatenate([rows, row + np.int32(start)])
        scores = np.concatenate([scores, block[row, column]])
        order = np.lexsort((-scores, query))  # stable: of equal scores the earlier row stays first
        query, rows, scores = query[order], rows[order], scores[order]
        place = np.arange(len(query)) - np.searchsorted(query, query)
        floor[query[place == k - 1]] = scores[place == k - 1]
        query, rows, scores = query[place < k], rows[place < k], scores[place < k]
    return query, rows, scores


def _above(block: Floats, floor: Floats, k: int) -> tuple[Integers, Integers]:
    """Rows and columns of the scores above the floor of their column; of a crowd only what can be among the k best of the block."""
    above = block > floor
    if np.count_nonzero(above) > _CROWD * k * len(floor) and k < len(block):
        columns = block.T.copy()
        columns.partition(len(block) - k, axis=1)
        above = block > np.maximum(
            floor, np.nextafter(columns[:, len(block) - k], np.float32(-np.inf))
        )  # equal scores stay
    row, column = np.divmod(np.flatnonzero(above), len(floor))
    return row.astype(np.int32), column.astype(np.int32)


def products(queries: Floats, names: Floats, query: Integers, rows: Integers) -> Floats:
    """Multiply pairs: `queries[query[i]]` by `names[rows[i]]`, for each i."""
    scores = np.empty(len(rows), np.float32)
    for i in range(0, len(rows), _PAIRS):
        pairs = slice(i, i + _PAIRS)
        np.einsum("ij,ij->i", queries[query[pairs]], names[rows[pairs]], out=scores[pairs])
    return scores


def ranks(
    queries: Floats, names: Floats, wanted: Sequence[NDArray[np.int64]]
) -> list[NDArray[np.int64]]:
    """Rank given names of each query among all names by inner product; equal products by row.

    A few queries at a time, so that no matrix of queries by names is held.

    Args:
        queries: (q, dim).
        names: (n, dim).
        wanted: for each query rows of `names`.

    Returns:
        For each query the ranks of its rows, from 1, in rising order.
    """
    found = []
    for i in range(0, len(queries), _RANKED):
        scores = queries[i : i + _RANKED] @ names.T
        for own, rows in zip(scores, wanted[i : i + _RANKED], strict=False):
            rising, mine = np.sort(own), own[rows]
            below, upto = (
                np.searchsorted(rising, mine, "left"),
                np.searchsorted(rising, mine, "right"),
            )
            places = len(own) - upto + 1
            for tied in np.flatnonzero(upto - below > 1):
                places[tied] += np.count_nonzero(own[: rows[tied]] == own[rows[tied]])
            found.append(np.sort(places))
    return found

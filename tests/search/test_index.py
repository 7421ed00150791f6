"""The blockwise search against the full matrix and a full sort."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from linker import LinkerError
from linker.search import index
from linker.search.index import VectorIndex

from .small import Found, Matrix, check_batches, found, matrix, sorted_fully


def searched(queries: Matrix, vectors: NDArray[Any], k: int, among: Any = None) -> Found:
    return found(VectorIndex(vectors).search(queries, k, among))


@given(st.data())
@settings(max_examples=60)
def test_a_search_is_a_full_sort_whatever_the_blocks(data: st.DataObject) -> None:
    dim, k = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 45))
    queries, names = (data.draw(matrix(st.integers(0, n), dim)) for n in (5, 40))
    blocks = {
        "_CELLS": data.draw(st.sampled_from([1, 7, 30, 10**6])),
        "_COMPONENTS": data.draw(st.sampled_from([1, 8, 10**6])),
        "_CROWD": data.draw(st.sampled_from([1, 4])),
        "QUERIES": data.draw(st.sampled_from([1, 2, 1024])),
    }
    among = np.flatnonzero(data.draw(arrays.arrays(bool, len(names))))
    with mock.patch.multiple(index, **blocks):
        assert searched(queries, names, k) == sorted_fully(queries, names, k)
        half = names.astype(np.float16)
        assert searched(queries, half, k) == sorted_fully(queries, names, k)
        assert searched(queries, half, k, among) == sorted_fully(queries, names, k, among)


@given(st.data())
@settings(max_examples=40)
def test_a_query_finds_the_same_in_any_batch(data: st.DataObject) -> None:
    check_batches(VectorIndex, data)


@pytest.mark.parametrize("rising", [False, True])
def test_vectors_of_any_numbers(rising: bool) -> None:
    random = np.random.default_rng(1)
    queries, names = (random.standard_normal((n, 16)).astype(np.float32) for n in (30, 3000))
    if rising:  # every block is better than those before it, for all queries
        queries = np.abs(queries)
        names = names[np.argsort(names.sum(axis=1))]
        names += np.linspace(0, 50, 3000, dtype=np.float32)[:, None]
    with mock.patch.multiple(index, _CELLS=30 * 200):
        rows, scores = searched(queries, names, 20)
    full = queries.astype(np.float64) @ names.astype(np.float64).T
    expected = np.argsort(-full, axis=1)[:, :20]
    assert rows == expected.tolist()
    assert np.array(scores) == pytest.approx(np.take_along_axis(full, expected, axis=1), rel=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_vectors_that_are_not_finite_are_found_by_the_first_search(bad: float, dtype: Any) -> None:
    vectors = np.ones((9, 2), dtype)
    vectors[7, 1] = bad
    made, query = VectorIndex(vectors), np.ones((1, 2), np.float32)
    with mock.patch.multiple(index, _COMPONENTS=2 * 3):
        assert len(made.search(query, 2, np.arange(6)).rows) == 2  # it is not among these
        for _ in range(2):
            with pytest.raises(LinkerError):
                made.search(query, 2)
    with pytest.raises(LinkerError):
        made.products(query, np.array([0]), np.array([7]))


@pytest.mark.parametrize("vectors", [np.ones((2, 2)), np.ones(2, np.float32), np.ones((2, 2), int)])
def test_what_is_no_matrix_of_vectors(vectors: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"they are .*, expected: float32 or float16 \(n, dim\)"):
        VectorIndex(vectors)


def test_no_block_is_larger_than_said() -> None:
    made, queries, asked = (
        VectorIndex(np.ones((20, 2), np.float32)),
        np.ones((5, 2), np.float32),
        [],
    )
    for components, expected in ((16, [(0, 8), (8, 16), (16, 20)]), (1000, [(0, 10), (10, 20)])):
        asked.clear()  # 10 names by 5 queries are 50 cells
        with mock.patch.multiple(index, _CELLS=50, _COMPONENTS=components):
            made.search_batch(queries, 3, adjust=lambda of, _: asked.append((of.start, of.stop)))
        assert asked == expected


@pytest.mark.parametrize("cells", [1, 100])
def test_names_that_may_not_be_found_are_not(cells: int) -> None:
    left_out = np.array([[0, 1], [1, 1], [0, 0]], bool)  # of 3 names, by 2 queries

    def leave_out(names: slice, scores: Matrix) -> None:
        scores[left_out[names]] = -np.inf

    names, queries = np.array([[1], [2], [3]], np.float32), np.array([[-1], [5]], np.float32)
    with mock.patch.multiple(index, _CELLS=cells):
        hits = VectorIndex(names).search_batch(queries, 3, adjust=leave_out)
    found = zip(hits.queries.tolist(), hits.rows.tolist(), hits.scores.tolist(), strict=True)
    assert list(found) == [(0, 0, -1), (0, 2, -3), (1, 2, 15)]


@given(st.data())
def test_ranks_of_given_names_are_their_places_in_a_full_sort(data: st.DataObject) -> None:
    dim = data.draw(st.integers(1, 3))
    names, queries = (data.draw(matrix(st.integers(*n), dim)) for n in ((1, 12), (0, 5)))
    some = st.lists(st.integers(0, len(names) - 1), unique=True, max_size=4)
    wanted = [np.array(data.draw(some), np.int64) for _ in queries]
    order, _ = sorted_fully(queries, names, len(names))
    expected = [
        sorted(of_query.index(row) + 1 for row in rows)
        for of_query, rows in zip(order, wanted, strict=True)
    ]
    with mock.patch.multiple(index, _RANKED=2):
        assert [ranks.tolist() for ranks in index.ranks(queries, names, wanted)] == expected

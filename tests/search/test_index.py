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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_vectors_that_are_not_finite_are_found_by_the_first_search(bad: float, dtype: Any) -> None:
    vectors = np.ones((9, 2), dtype)
    vectors[7, 1] = bad
    made, query = VectorIndex(vectors), np.ones((1, 2), np.float32)
    with mock.patch.multiple(index, _COMPONENTS=2 * 3):
        assert len(made.search(query, 2, np.arange(6)).rows) == 6  # it is not among these
        for _ in range(2):
            with pytest.raises(LinkerError):
                made.search(query, 2)
    with pytest.raises(LinkerError):
        made.products(query, np.array([0]), np.array([7]))


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

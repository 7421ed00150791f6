"""The blockwise top-k against the full matrix and a full sort."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from linker.candidates import dense

Matrix = NDArray[np.float32]


def sorted_fully(
    queries: Matrix, names: Matrix, k: int
) -> tuple[list[list[int]], list[list[float]]]:
    scores = queries @ names.T
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return rows.tolist(), np.take_along_axis(scores, rows, axis=1).tolist()


def matrix(rows: st.SearchStrategy[int], dim: int) -> st.SearchStrategy[Matrix]:
    """Small whole numbers, whose products are exact and often equal."""
    return rows.flatmap(
        lambda n: arrays.arrays(np.float32, (n, dim), elements=st.integers(-2, 2).map(float))
    )


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_top_k_is_that_of_a_full_sort_whatever_the_blocks(data: st.DataObject) -> None:
    dim = data.draw(st.integers(1, 3))
    queries, names = (
        data.draw(matrix(st.integers(0, 5), dim)),
        data.draw(matrix(st.integers(0, 40), dim)),
    )
    k = data.draw(st.integers(1, 45))
    blocks = {
        "_CELLS": data.draw(st.sampled_from([1, 7, 30, 10**6])),
        "_NAMES": data.draw(st.sampled_from([1, 3, 10**6])),
    }
    crowd = data.draw(st.sampled_from([0, 1, 4]))
    with mock.patch.multiple(
        dense, **blocks, _CROWD=crowd, QUERIES=data.draw(st.sampled_from([1, 2, 1024]))
    ):
        rows, scores = dense.top_k(queries, names, k)
    assert (rows.dtype, scores.dtype) == (np.int32, np.float32)
    assert rows.shape == scores.shape == (len(queries), min(k, len(names)))
    assert (rows.tolist(), scores.tolist()) == sorted_fully(queries, names, k)


@pytest.mark.parametrize("rising", [False, True])
def test_vectors_of_any_numbers(rising: bool) -> None:
    random = np.random.default_rng(1)
    queries, names = (random.standard_normal((n, 16)).astype(np.float32) for n in (30, 3000))
    if rising:  # every block is better than those before it, for all queries
        queries, names = (
            np.abs(queries),
            names[np.argsort(names.sum(axis=1))]
            + np.linspace(0, 50, 3000, dtype=np.float32)[:, None],
        )
    with mock.patch.multiple(dense, _CELLS=30 * 200):
        rows, scores = dense.top_k(queries, names, 20)
    full = queries.astype(np.float64) @ names.astype(np.float64).T
    expected = np.argsort(-full, axis=1)[:, :20]
    assert rows.tolist() == expected.tolist()
    assert scores == pytest.approx(np.take_along_axis(full, expected, axis=1), rel=1e-5)


def test_all_names_tie() -> None:
    with mock.patch.multiple(dense, _CELLS=64):
        rows, _ = dense.top_k(np.zeros((2, 3), np.float32), np.ones((100, 3), np.float32), 7)
    assert rows.tolist() == [list(range(7))] * 2


def test_no_block_is_larger_than_said() -> None:
    asked = []

    def score(some: slice) -> Matrix:
        asked.append((some.start, some.stop))
        return np.zeros((some.stop - some.start, 5), np.float32)

    with mock.patch.multiple(dense, _CELLS=50, _NAMES=8):
        dense.best(score, 5, 20, 3)
    assert asked == [(0, 8), (8, 16), (16, 20)]
    asked.clear()
    with mock.patch.multiple(dense, _CELLS=50, _NAMES=1000):
        dense.best(score, 5, 20, 3)
    assert asked == [(0, 10), (10, 20)]  # 10 names by 5 queries are 50 cells


def test_names_that_may_not_be_found_are_not() -> None:
    scores = np.array(
        [[-1, -np.inf], [-np.inf, -np.inf], [-3, 5]], np.float32
    )  # 3 names, 2 queries
    for cells in (1, 100):
        with mock.patch.multiple(dense, _CELLS=cells):
            query, rows, found = dense.best(lambda some: scores[some], 2, 3, 3)
        assert list(zip(query.tolist(), rows.tolist(), found.tolist(), strict=True)) == [
            (0, 0, -1),
            (0, 2, -3),
            (1, 2, 5),
        ]


def test_products_of_pairs() -> None:
    queries, names = (
        np.array([[1, 2], [3, 4]], np.float32),
        np.array([[5, 6], [7, 8], [9, 1]], np.float32),
    )
    with mock.patch.multiple(dense, _PAIRS=2):
        found = dense.products(
            queries, names, np.array([0, 1, 1], np.int32), np.array([2, 0, 1], np.int32)
        )
    assert found.tolist() == [1 * 9 + 2 * 1, 3 * 5 + 4 * 6, 3 * 7 + 4 * 8]


@given(st.data())
@settings(deadline=None)
def test_ranks_of_given_names_are_their_places_in_a_full_sort(data: st.DataObject) -> None:
    dim = data.draw(st.integers(1, 3))
    names, queries = (
        data.draw(matrix(st.integers(1, 12), dim)),
        data.draw(matrix(st.integers(0, 5), dim)),
    )
    some = st.lists(st.integers(0, len(names) - 1), unique=True, max_size=4).map(
        lambda rows: np.array(rows, np.int64)
    )
    wanted = [data.draw(some) for _ in queries]
    order, _ = sorted_fully(queries, names, len(names))
    expected = [
        sorted(found.index(row) + 1 for row in rows)
        for found, rows in zip(order, wanted, strict=True)
    ]
    with mock.patch.multiple(dense, _RANKED=2):
        assert [ranks.tolist() for ranks in dense.ranks(queries, names, wanted)] == expected

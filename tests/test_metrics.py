"""Metrics by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.metrics import hits, mean_interval, reciprocal_ranks

RANKS = [1, 0, 3, 2, 20, 21]


@pytest.mark.parametrize(("k", "expected"), [(1, [1, 0, 0, 0, 0, 0]), (3, [1, 0, 1, 1, 0, 0]), (20, [1, 0, 1, 1, 1, 0])])
def test_hits(k: int, expected: list[int]) -> None:
    assert hits(RANKS, k).tolist() == expected


def test_reciprocal_ranks() -> None:
    assert reciprocal_ranks(RANKS).tolist() == [1, 0, 1 / 3, 1 / 2, 1 / 20, 1 / 21]
    assert reciprocal_ranks([]).tolist() == []


def test_interval_is_the_same_for_the_same_seed() -> None:
    values = hits(RANKS * 20, 3)
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1)
    assert mean_interval(values, seed=1) != mean_interval(values, seed=2)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_interval_of_a_constant_is_the_constant(value: float) -> None:
    assert mean_interval([value] * 17) == pytest.approx((value,) * 3, abs=1e-15)


def test_interval_of_one_value() -> None:
    assert mean_interval([0.25]) == (0.25, 0.25, 0.25)


def test_interval_without_values_is_not_a_number() -> None:
    assert all(map(math.isnan, mean_interval([])))


def test_interval_is_that_of_the_normal_distribution_for_many_values() -> None:
    mean, lower, upper = mean_interval([0, 1] * 200)
    half = 1.96 * 0.5 / math.sqrt(400)  # 0.049
    assert mean == 0.5
    assert (lower, upper) == pytest.approx((0.5 - half, 0.5 + half), abs=0.006)
    narrow = mean_interval([0, 1] * 200, level=0.5)
    assert narrow[1:] == pytest.approx((0.5 - 0.6745 * 0.025, 0.5 + 0.6745 * 0.025), abs=0.004)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 5))
@settings(deadline=None, max_examples=30)
def test_interval_lies_within_the_values(values: list[float], seed: int) -> None:
    mean, lower, upper = mean_interval(values, samples=50, seed=seed)
    assert min(values) - 1e-12 <= lower <= upper <= max(values) + 1e-12
    assert mean == pytest.approx(np.mean(values))


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 30))
@settings(deadline=None, max_examples=50)
def test_hits_the_slow_way(ranks: list[int], k: int) -> None:
    assert hits(ranks, k).tolist() == [float(rank in range(1, k + 1)) for rank in ranks]

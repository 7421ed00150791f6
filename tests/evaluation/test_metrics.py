"""Metrics by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.evaluation import metrics
from linker.evaluation.metrics import hits, mean_interval, paired_difference, reciprocal_ranks

RANKS = [1, 0, 3, 2, 20, 21]


@pytest.mark.parametrize(
    ("k", "expected"), [(1, [1, 0, 0, 0, 0, 0]), (3, [1, 0, 1, 1, 0, 0]), (20, [1, 0, 1, 1, 1, 0])]
)
def test_hits(k: int, expected: list[int]) -> None:
    assert hits(RANKS, k).tolist() == expected


def test_reciprocal_ranks() -> None:
    assert reciprocal_ranks(RANKS).tolist() == [1, 0, 1 / 3, 1 / 2, 1 / 20, 1 / 21]
    assert reciprocal_ranks([]).tolist() == []


@pytest.mark.parametrize("count", [2, 3, 400])
def test_interval_the_slow_way(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """The sampling that the published intervals come from, whatever is held at once."""
    values = np.random.default_rng(count).random(count)
    generator = np.random.default_rng(3)
    means = [values[generator.integers(count, size=count)].mean() for _ in range(500)]
    expected = (values.mean(), *np.quantile(means, [0.05, 0.95]))
    for cells in (1, 1000, 500_000):
        monkeypatch.setattr(metrics, "_CELLS", cells)
        found = mean_interval(values, samples=500, level=0.9, seed=3)
        assert found == pytest.approx(expected, abs=1e-12)


def all_draws(*systems: list[list[float]]) -> list[list[float]]:
    """The means of the systems for every equally likely draw of mentions and of each system's runs, one after the other."""
    means = []
    places = range(len(systems[0][0]))
    for mentions in itertools.product(places, repeat=len(places)):
        for runs in itertools.product(
            *(itertools.product(system, repeat=len(system)) for system in systems)
        ):
            means.append(
                [
                    sum(run[m] for run in of_one for m in mentions) / len(of_one) / len(places)
                    for of_one in runs
                ]
            )
    return means


A = [[0.9, 0.1, 0.5], [0.8, 0.35, 0.2]]
B = [[0.4, 0.3, 0.6], [0.7, 0.05, 0.1]]


def test_difference_the_slow_way() -> None:
    exact = np.quantile([a - b for a, b in all_draws(A, B)], [0.1, 0.9])
    difference, lower, upper = paired_difference(A, B, samples=40_000, level=0.8)
    assert difference == pytest.approx(
        (0.9 + 0.1 + 0.5 + 0.8 + 0.35 + 0.2) / 6 - (0.4 + 0.3 + 0.6 + 0.7 + 0.05 + 0.1) / 6
    )
    assert (lower, upper) == pytest.approx(exact, abs=0.01)


def test_average_precision_by_hand() -> None:
    ranks = [np.array([1, 3]), np.array([2]), np.array([1, 2, 3])]
    assert metrics.average_precisions(ranks).tolist() == pytest.approx(
        [(1 / 1 + 2 / 3) / 2, 1 / 2, 1]
    )


def test_bins_of_equal_width_hold_their_upper_end() -> None:
    bins = metrics.calibration_bins([0.0, 0.5, 0.51, 1.0], [0, 1, 0, 1], 4)
    assert bins[:, 0].tolist() == [1, 1, 1, 1]
    assert bins[:, 1].tolist() == [0, 0.5, 0.51, 1]
    assert bins[:, 2].tolist() == [0, 1, 0, 1]
    (empty,) = metrics.calibration_bins([], [], 1)
    assert empty[0] == 0
    assert np.isnan(empty[1:]).all()


ANSWERS = st.lists(st.tuples(st.integers(0, 20).map(lambda i: i / 20), st.booleans()), min_size=1)


@given(ANSWERS)
def test_calibration_error_by_a_slow_twin(answers: list[tuple[float, bool]]) -> None:
    total = 0.0
    for number in range(15):
        low, high = number / 15, (number + 1) / 15
        members = [a for a in answers if low < a[0] <= high or (number == 0 and a[0] == 0)]
        if members:
            mean = sum(c for c, _ in members) / len(members)
            accuracy = sum(right for _, right in members) / len(members)
            total += len(members) / len(answers) * abs(mean - accuracy)
    assert metrics.calibration_error(*zip(*answers, strict=True)) == pytest.approx(total)


@given(ANSWERS)
def test_auroc_by_all_pairs(answers: list[tuple[float, bool]]) -> None:
    wins = [
        (high > low) + (high == low) / 2
        for high, is_right in answers
        for low, is_other_right in answers
        if is_right and not is_other_right
    ]
    area = metrics.auroc(*zip(*answers, strict=True))
    assert area == pytest.approx(sum(wins) / len(wins)) if wins else math.isnan(area)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), max_size=6, min_size=1))
@settings(max_examples=30)
def test_selective_accuracy_is_the_mean_over_the_orders_of_ties(
    answers: list[tuple[float, bool]],
) -> None:
    orders = [
        np.cumsum([right for _, right in order]) / np.arange(1, len(order) + 1)
        for order in itertools.permutations(answers)
        if all(a[0] >= b[0] for a, b in itertools.pairwise(order))
    ]
    values = metrics.selective_accuracy(*zip(*answers, strict=True))
    assert values == pytest.approx(np.mean(orders, axis=0))


def test_the_interval_of_a_share_is_wilsons() -> None:
    z, share, n = 1.959964, 0.9, 50
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    assert metrics.share_interval(45, 50) == pytest.approx((middle - half, middle + half), abs=1e-6)
    assert all(map(math.isnan, metrics.share_interval(0, 0)))

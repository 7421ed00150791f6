"""Metrics as pure functions of ranks: one value per mention; means and their intervals are taken by three functions at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linker.errors import LinkerError

_CELLS = 500_000  # mentions x draws that are held at once, 4 MB

Values = NDArray[np.float64]


def hits(ranks: ArrayLike, k: int) -> Values:
    """Acc@k of each mention: 1 where its rank is between 1 and k, else 0.

    Args:
        ranks: (mentions,) 1-based rank of the first right candidate, 0 where there is none.
        k: how many candidates are looked at.
    """
    ranks = np.asarray(ranks)
    return ((ranks > 0) & (ranks <= k)).astype(np.float64)


def reciprocal_ranks(ranks: ArrayLike) -> Values:
    """1 / rank of each mention, 0 where no candidate is right; the mean is MRR."""
    ranks = np.asarray(ranks, np.float64)
    found = ranks > 0
    values: Values = found / np.where(found, ranks, 1.0)
    return values


def average_precisions(ranks: Sequence[NDArray[np.int64]]) -> Values:
    """Average precision of each query, `mean_i i / rank_i`, from the rising ranks of all that is right; the mean is mAP."""
    return np.array([(np.arange(1, len(own) + 1) / own).mean() for own in ranks], np.float64)


def coverage(ranks: Sequence[NDArray[np.int64]], k: int) -> Values:
    """The share of what is right that is among the first k, for each query (Phan et al. 2019, section 4.1)."""
    return np.array([(own <= k).mean() for own in ranks], np.float64)


def mean_interval(
    values: ArrayLike, *, samples: int = 2000, level: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """The mean of per-mention values and its percentile bootstrap interval, mentions drawn with replacement.

    Returns:
        (mean, lower, upper); all NaN without values.
    """
    values = np.asarray(values, np.float64)
    if not len(values):
        return (float("nan"),) * 3
    generator = np.random.default_rng(seed)
    means = [
        values[generator.integers(len(values), size=len(values))].mean() for _ in range(samples)
    ]
    lower, upper = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(values.mean()), float(lower), float(upper)


def run_interval(
    values: ArrayLike, *, draws: int = 10_000, level: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """The mean over runs and mentions and its percentile bootstrap interval, both drawn with replacement.

    Args:
        values: (runs, mentions) one value per mention of each training run.

    Returns:
        (mean, lower, upper); all NaN without values.
    """
    runs = _runs(values)
    if not runs.size:
        return (float("nan"),) * 3
    lower, upper = _bounds(_drawn_means([runs], draws, seed)[0], level)
    return float(runs.mean()), lower, upper


def paired_difference(
    a: ArrayLike, b: ArrayLike, *, draws: int = 10_000, level: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """The difference of two systems' means and its percentile bootstrap interval.

    A draw takes the same mentions for both systems, and of each system's runs its own, all with replacement.

    Args:
        a: (runs of a, mentions) one value per mention of each training run.
        b: (runs of b, mentions) the same of the other system, mentions in the same order.

    Returns:
        (mean of a - mean of b, lower, upper); all NaN without values.

    Raises:
        LinkerError: the systems differ in the number of mentions, or a table has not two dimensions.
    """
    first, second = _runs(a), _runs(b)
    if first.shape[1] != second.shape[1]:
        raise LinkerError(
            f"the systems were judged on {first.shape[1]} and {second.shape[1]} mentions; expected: on the same ones"
        )
    if not first.size or not second.size:
        return (float("nan"),) * 3
    of_a, of_b = _drawn_means([first, second], draws, seed)
    lower, upper = _bounds(of_a - of_b, level)
    return float(first.mean() - second.mean()), lower, upper


def _runs(values: ArrayLike) -> Values:
    """Values as float64 (runs, mentions)."""
    runs = np.asarray(values, np.float64)
    if runs.ndim != 2:
        raise LinkerError(
            f"values of shape {runs.shape}; expected: a row for each run, a column for each mention"
        )
    return runs


def _drawn_means(systems: Sequence[Values], draws: int, seed: int) -> Values:
    """Bootstrap means (systems, draws): the mentions of a draw are the same for all systems, the runs each system's own.

    A draw is how often each mention and each run came, so that its mean is a product of matrices.
    """
    generator = np.random.default_rng(seed)
    mentions = systems[0].shape[1]
    step = max(1, _CELLS // mentions)
    blocks = []
    for size in (min(step, draws - at) for at in range(0, draws, step)):
        times = _times(generator, mentions, size)
        blocks.append(
            [(_times(generator, len(runs), size) * (times @ runs.T)).sum(1) for runs in systems]
        )
    means: Values = np.concatenate(blocks, axis=1) / np.array([[runs.size] for runs in systems])
    return means


def _times(generator: np.random.Generator, things: int, draws: int) -> Values:
    """How often each of some things came when as many were drawn with replacement: (draws, things)."""
    drawn = generator.integers(things, size=(draws, things)) + things * np.arange(draws)[:, None]
    times: Values = (
        np.bincount(drawn.ravel(), minlength=draws * things)
        .reshape(draws, things)
        .astype(np.float64)
    )
    return times


def _bounds(drawn: Values, level: float) -> tuple[float, float]:
    """The interval that holds the share `level` of the drawn values, as much left out below as above."""
    lower, upper = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)

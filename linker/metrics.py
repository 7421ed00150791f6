"""Metrics as pure functions of ranks: one value per mention; the mean is taken in `mean_interval`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def mean_interval(values: ArrayLike, *, samples: int = 2000, level: float = 0.95, seed: int = 0) -> tuple[float, float, float]:
    """The mean of per-mention values and its percentile bootstrap interval, mentions drawn with replacement.

    Returns:
        (mean, lower, upper); all NaN without values.
    """
    values = np.asarray(values, np.float64)
    if not len(values):
        return (float("nan"),) * 3
    generator = np.random.default_rng(seed)
    means = [values[generator.integers(len(values), size=len(values))].mean() for _ in range(samples)]
    lower, upper = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(values.mean()), float(lower), float(upper)

"""Metrics as pure functions of ranks, one value per mention; at the end, means with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linker.errors import LinkerError

_CELLS = 500_000  # mentions x samples in memory at once; 4 MB an array

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
    is_ranked = ranks > 0
    values: Values = is_ranked / np.where(is_ranked, ranks, 1.0)
    return values


def average_precisions(ranks: Sequence[NDArray[np.int64]]) -> Values:
    """Average precision of each query, `mean_i i / rank_i`; the mean is mAP.

    Args:
        ranks: for each query, the rising 1-based ranks of all right answers.
    """
    return np.array([(np.arange(1, len(of_one) + 1) / of_one).mean() for of_one in ranks], float)


def coverage(ranks: Sequence[NDArray[np.int64]], k: int) -> Values:
    """The share of the right answers that is among the first k (Phan et al. 2019, section 4.1).

    Args:
        ranks: for each query, the 1-based ranks of all right answers.
        k: how many answers are looked at.
    """
    return np.array([(of_one <= k).mean() for of_one in ranks], float)


def mean_interval(
    values: ArrayLike, *, samples: int = 2000, level: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """The mean of per-mention values and its percentile bootstrap interval.

    Args:
        values: (mentions,) one value per mention.
        samples: how often as many mentions are sampled with replacement.
        level: the share of the samples' means that the interval holds.
        seed: of the sampling.

    Returns:
        (mean, lower, upper); all NaN without values.
    """
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        return (float(values[0]) if len(values) else float("nan"),) * 3
    from scipy import stats  # takes a second to import

    interval = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=samples,
        batch=max(1, _CELLS // len(values)),
        confidence_level=level,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return float(values.mean()), float(interval.low), float(interval.high)


def run_interval(
    values: ArrayLike, *, samples: int = 10_000, level: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """The mean over runs and mentions and its percentile bootstrap interval.

    Runs and mentions are both sampled with replacement, which `scipy.stats.bootstrap` cannot do.

    Args:
        values: (runs, mentions) one value per mention of each training run.
        samples: how often they are sampled.
        level: the share of the samples' means that the interval holds.
        seed: of the sampling.

    Returns:
        (mean, lower, upper); all NaN without values.
    """
    runs = _runs(values)
    if not runs.size:
        return (float("nan"),) * 3
    lower, upper = _bounds(_sampled_means([runs], samples, seed)[0], level)
    return float(runs.mean()), lower, upper


def paired_difference(
    a: ArrayLike, b: ArrayLike, *, samples: int = 10_000, level: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """The difference of two systems' means and its percentile bootstrap interval.

    A sample has the same mentions for both systems, and for each its own of its runs, all with
    replacement.

    Args:
        a: (runs of a, mentions) one value per mention of each training run.
        b: (runs of b, mentions) the same of the other system, mentions in the same order.
        samples: how often runs and mentions are sampled.
        level: the share of the samples' differences that the interval holds.
        seed: of the sampling.

    Returns:
        (mean of a - mean of b, lower, upper); all NaN without values.

    Raises:
        LinkerError: the numbers of mentions differ, or `a` or `b` has not two dimensions.
    """
    first, second = _runs(a), _runs(b)
    if first.shape[1] != second.shape[1]:
        raise LinkerError(
            f"the systems were judged on {first.shape[1]} and {second.shape[1]} mentions; "
            "expected: on the same ones"
        )
    if not first.size or not second.size:
        return (float("nan"),) * 3
    of_a, of_b = _sampled_means([first, second], samples, seed)
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


def _sampled_means(systems: Sequence[Values], samples: int, seed: int) -> Values:
    """Bootstrap means (systems, samples), with the same mentions for all systems in a sample.

    A sample says how often each mention and each run came, so that its mean is a product of
    matrices.
    """
    generator = np.random.default_rng(seed)
    mentions = systems[0].shape[1]
    step = max(1, _CELLS // mentions)
    blocks = []
    for size in (min(step, samples - at) for at in range(0, samples, step)):
        times = _times(generator, mentions, size)
        blocks.append(
            [(_times(generator, len(runs), size) * (times @ runs.T)).sum(1) for runs in systems]
        )
    means: Values = np.concatenate(blocks, axis=1) / np.array([[runs.size] for runs in systems])
    return means


def _times(generator: np.random.Generator, items: int, samples: int) -> Values:
    """Sample as many items as there are, with replacement: how often each came (samples, items)."""
    sampled = generator.integers(items, size=(samples, items)) + items * np.arange(samples)[:, None]
    counts = np.bincount(sampled.ravel(), minlength=samples * items)
    times: Values = counts.reshape(samples, items).astype(np.float64)
    return times


def _bounds(values: Values, level: float) -> tuple[float, float]:
    """The interval that holds the share `level` of values, with as many below it as above."""
    lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)

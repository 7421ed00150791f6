"""Metrics as pure functions: of ranks, of confidences, and means with intervals.

Metrics of ranks and `squared_errors` give one value per mention.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def squared_errors(confidences: ArrayLike, right: ArrayLike) -> Values:
    """The squared error of each confidence; the mean is the Brier score.

    Args:
        confidences: (mentions,) the probability that each answer is right.
        right: (mentions,) whether it is.
    """
    values: Values = (_floats(confidences) - _floats(right)) ** 2
    return values


def calibration_bins(confidences: ArrayLike, right: ArrayLike, bins: int = 15) -> Values:
    """Group answers by their confidence into bins of equal width (Guo et al. 2017, section 2).

    A bin holds its upper end; the first one holds also 0.

    Args:
        confidences: (mentions,) the probability that each answer is right.
        right: (mentions,) whether it is.
        bins: how many.

    Returns:
        (bins, 3): the number of answers, their mean confidence, and the share that is right; the
        last two are NaN for an empty bin.
    """
    confidences, right = _floats(confidences), _floats(right)
    number = np.searchsorted(np.arange(1, bins) / bins, confidences)
    counts = np.bincount(number, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(number, of, bins) / counts for of in (confidences, right)]
    return np.stack([counts, *means], axis=1)


def calibration_error(confidences: ArrayLike, right: ArrayLike, bins: int = 15) -> float:
    """The expected calibration error (Guo et al. 2017, eq. 3); NaN without answers.

    It is the mean over the answers of how far the mean confidence of their bin is from the share of
    right answers there. The arguments are those of `calibration_bins`.
    """
    counts, confidence, accuracy = calibration_bins(confidences, right, bins).T
    if not counts.any():
        return float("nan")
    return float(np.nansum(counts * np.abs(accuracy - confidence)) / counts.sum())


def auroc(scores: ArrayLike, positive: ArrayLike) -> float:
    """The area under the ROC curve: how often a positive item has a higher score than a negative.

    Equal scores count a half.

    Args:
        scores: (items,) numbers that should be high for positive items.
        positive: (items,) whether each item is positive.

    Returns:
        The area; NaN unless there are both positive and negative items.
    """
    positive = np.asarray(positive, bool)
    if positive.all() or not positive.any():
        return float("nan")
    _, tied, counts = np.unique(_floats(scores), return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[tied]  # the mean rank of equal scores, from 1
    among = positive.sum()
    above = rank[positive].sum() - among * (among + 1) / 2
    return float(above / (among * (len(positive) - among)))


def selective_accuracy(confidences: ArrayLike, right: ArrayLike) -> Values:
    """The accuracy of the most confident answers, for each number of them.

    Answers of the same confidence come in no order: each counts with the share of them that is
    right, which is the mean over all orders.

    Args:
        confidences: (mentions,) the probability that each answer is right.
        right: (mentions,) whether it is.

    Returns:
        (mentions,): value i is the accuracy of the i + 1 most confident answers. The mean of
        1 - value is the area under the risk-coverage curve.
    """
    _, tied, counts = np.unique(-_floats(confidences), return_inverse=True, return_counts=True)
    expected = np.repeat(np.bincount(tied, _floats(right), len(counts)) / counts, counts)
    values: Values = np.cumsum(expected) / np.arange(1, len(expected) + 1)
    return values


def share_interval(count: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """The Wilson interval of a share.

    Args:
        count: how many mentions are right.
        of: how many mentions there are.
        level: the confidence level of the interval.

    Returns:
        (lower, upper); NaN without mentions.
    """
    if not of:
        return float("nan"), float("nan")
    from scipy import stats  # takes a second to import

    interval = stats.binomtest(count, of).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)


def _floats(values: ArrayLike) -> Values:
    return np.asarray(values, np.float64)


def mean_interval(
    values: ArrayLike, *, samples: int = 2000, level: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """The mean over runs and mentions and its percentile bootstrap interval.

    Runs and mentions are both sampled with replacement, which `scipy.stats.bootstrap` cannot do.

    Args:
        values: (mentions,) or (runs, mentions), one value per mention of each training run.
        samples: how often they are sampled.
        level: the share of the samples' means that the interval holds.
        seed: of the sampling.

    Returns:
        (mean, lower, upper); all NaN without values.
    """
    runs = np.atleast_2d(_floats(values))
    if not runs.size:
        return (float("nan"),) * 3
    return float(runs.mean()), *interval(_sampled_means([runs], samples, seed)[0], level)


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
    """
    first, second = _floats(a), _floats(b)
    if not first.size or not second.size:
        return (float("nan"),) * 3
    of_a, of_b = _sampled_means([first, second], samples, seed)
    return float(first.mean() - second.mean()), *interval(of_a - of_b, level)


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
        times = resampled(generator, mentions, size)
        blocks.append(
            [(resampled(generator, len(runs), size) * (times @ runs.T)).sum(1) for runs in systems]
        )
    means: Values = np.concatenate(blocks, axis=1) / np.array([[runs.size] for runs in systems])
    return means


def resampled(generator: np.random.Generator, items: int, samples: int) -> Values:
    """Sample as many items as there are, with replacement: how often each came (samples, items)."""
    sampled = generator.integers(items, size=(samples, items)) + items * np.arange(samples)[:, None]
    counts = np.bincount(sampled.ravel(), minlength=samples * items)
    times: Values = counts.reshape(samples, items).astype(np.float64)
    return times


def interval(values: Values, level: float = 0.95) -> tuple[float, float]:
    """The interval that holds the share `level` of values, with as many below it as above."""
    lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)

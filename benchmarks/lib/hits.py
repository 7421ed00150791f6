"""Which mentions are right: digits that a run keeps, and the accuracies that they give."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.measure import rounded
from linker.evaluation import metrics

Hits = NDArray[np.float64]


def digits(right: Iterable[bool]) -> str:
    """A digit for each mention."""
    return "".join(str(int(is_right)) for is_right in right)


def read(*texts: str) -> Hits:
    """1 for each mention that is right, 0 for others, of some texts of digits."""
    return np.array([*"".join(texts)], float)


def interval(right: Hits) -> list[float]:
    """The accuracy with its interval."""
    return rounded(metrics.mean_interval(right))


def gain(right: Hits, base: Hits) -> list[float]:
    """How much higher the accuracy is than another one of the same mentions, with its interval."""
    return rounded(metrics.paired_difference(right[None], base[None]))

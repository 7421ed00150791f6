"""Canonical correlation analysis: the linear constraint of Fivez et al. 2021a (section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_SMALL = 1e-6  # share of the largest variance below which a direction counts as having none


@dataclass(frozen=True, slots=True)
class Projection:
    """A linear map: `(x - mean) @ weights`. Arrays: mean (dim,), weights (dim, dim), float32."""

    mean: Floats
    weights: Floats

    def __call__(self, vectors: Floats) -> Floats:
        return np.asarray((vectors - self.mean) @ self.weights, np.float32)


def fit(x: Floats, y: Floats) -> tuple[Projection, Projection]:
    """Find the projections of two views that correlate best, with as many components as dim.

    The components are scaled as by scikit-learn's `CCA`, which the published code calls: it finds
    one component after another and takes each out of the data. Its weight vectors have length 1
    and are at right angles to the earlier canonical directions a_1, ..., so that they are the
    columns of Q in the QR decomposition of these, and the scores are those of the closed form
    divided by the diagonal of R. One decomposition takes the place of hundreds of fits; a test
    compares it with scikit-learn's values.

    Args:
        x: (n, dim) name vectors.
        y: (n, dim) the vector of each name's concept.

    Returns:
        The projections of x and of y. Directions without variance project to 0.
    """
    (mean_x, scale_x, x64), (mean_y, scale_y, y64) = _standardised(x), _standardised(y)
    white_x, white_y = _whitening(x64), _whitening(y64)
    left, _, right = np.linalg.svd((x64 @ white_x).T @ (y64 @ white_y))
    count = min(len(left), len(right))
    directions_x, directions_y = white_x @ left[:, :count], white_y @ right[:count].T
    return _projection(directions_x, mean_x, scale_x), _projection(directions_y, mean_y, scale_y)


def _standardised(
    values: Floats,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean, standard deviation (1 where it is 0) and the values with mean 0 and deviation 1."""
    wide = values.astype(np.float64)
    mean, scale = wide.mean(0), wide.std(0, ddof=1)
    scale[scale == 0] = 1
    return mean, scale, (wide - mean) / scale


def _whitening(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Directions in which the values are uncorrelated with variance 1/n: (dim, rank).

    Directions without variance are left out.
    """
    variance, axes = np.linalg.eigh(values.T @ values)
    kept = variance > _SMALL * variance[-1]
    whitening: NDArray[np.float64] = axes[:, kept] / np.sqrt(variance[kept])
    return whitening


def _projection(
    directions: NDArray[np.float64], mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> Projection:
    """Scale the canonical directions as scikit-learn does; columns of zeros make it square."""
    lengths = np.abs(np.diag(np.linalg.qr(directions, mode="r")))
    weights = np.zeros((len(directions), len(directions)))
    weights[:, : directions.shape[1]] = directions / lengths / scale[:, None]
    return Projection(mean.astype(np.float32), weights.astype(np.float32))

"""Canonical correlation analysis."""

from __future__ import annotations

import numpy as np
import pytest

from linker.encoders import cca


@pytest.mark.parametrize(("dim", "seed"), [(2, 0), (4, 1), (6, 2)])
def test_the_scores_are_those_of_scikit_learn(dim: int, seed: int) -> None:
    decomposition = pytest.importorskip("sklearn.cross_decomposition")
    random = np.random.default_rng(seed)
    common = random.normal(size=(300, dim))
    x, y = (
        (
            common @ random.normal(size=(dim, dim)) + noise * random.normal(size=(300, dim)) + 3
        ).astype(np.float32)
        for noise in (0.5, 1)
    )
    theirs = decomposition.CCA(dim, max_iter=100_000, tol=1e-14).fit(x, y).transform(x, y)
    for ours, expected in zip(
        (p(v) for p, v in zip(cca.fit(x, y), (x, y), strict=True)), theirs, strict=True
    ):
        signs = np.sign(
            (ours * expected).sum(0)
        )  # of a component, which is the same for both views
        np.testing.assert_allclose(ours * signs, expected, atol=1e-4)


def test_two_views_of_the_same_correlate_in_full() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    of_x, of_y = cca.fit(x, 2 * x + 1)
    np.testing.assert_allclose(of_x(x), of_y(2 * x + 1), atol=1e-4)


def test_a_direction_without_variance_projects_to_nothing() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    x[:, 2] = 1
    of_x, _ = cca.fit(x, x)
    assert of_x.weights.shape == (3, 3)
    assert np.isfinite(of_x(x)).all()
    assert not of_x(x)[:, 2].any()

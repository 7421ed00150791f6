"""How far a feature can move a probability, against a grid of its values."""

from __future__ import annotations

import numpy as np
import pytest

from linker.confidence.effects import effects
from linker.confidence.trees import Trees


@pytest.fixture(scope="module")
def trees() -> Trees:
    random = np.random.default_rng(0)
    values = random.random((2000, 3))
    right = random.random(2000) < 0.1 + 0.5 * values[:, 0] + 0.3 * (values[:, 1] > 0.5)
    return Trees.fit(("slope", "step", "noise"), values, right)


@pytest.mark.parametrize("values", [[0.2, 0.9, 0.5], [0.9, 0.1, 0.1], [0.5, 0.5, 0.9]])
def test_effects_are_the_extremes_over_all_values(trees: Trees, values: list[float]) -> None:
    answer = np.array(values)
    grid = np.linspace(-1, 2, 6001)
    result = {effect.name: effect for effect in effects(trees, answer, 3)}
    for place, name in enumerate(trees.features):
        others = np.tile(answer, (len(grid), 1))
        others[:, place] = grid
        of_others = trees.probabilities(others)
        assert result[name].value == answer[place]
        assert result[name].lowest == pytest.approx(of_others.min(), abs=1e-5)
        assert result[name].highest == pytest.approx(of_others.max(), abs=1e-5)


def test_the_largest_effects_come_first(trees: Trees) -> None:
    answer = np.array([0.2, 0.9, 0.5])
    now = float(trees.probabilities(answer[None])[0])
    every = effects(trees, answer, 3)
    sizes = [max(now - effect.lowest, effect.highest - now) for effect in every]
    assert sizes == sorted(sizes, reverse=True)
    assert effects(trees, answer, 1) == every[:1]


def test_a_feature_without_an_effect_is_left_out(trees: Trees) -> None:
    random = np.random.default_rng(0)
    values = np.column_stack([random.random(2000), np.zeros(2000)])
    model = Trees.fit(("slope", "constant"), values, random.random(2000) < values[:, 0])
    assert [effect.name for effect in effects(model, values[0], 2)] == ["slope"]

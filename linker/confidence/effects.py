"""Which features a probability rests on: how far each of them alone could move it."""

from __future__ import annotations

import numpy as np

from linker.confidence.trees import Floats, Trees
from linker.explanation import FeatureEffect


def effects(trees: Trees, values: Floats, most: int) -> list[FeatureEffect]:
    """The features that could move the probability of an answer furthest, the largest first.

    Each is given every other value that makes a difference to the trees, while the others stay.

    Args:
        trees: give the probability.
        values: (features,) of one answer.
        most: how many features.
    """
    now = float(trees.probabilities(values[None])[0])
    result = []
    for place, name in enumerate(trees.features):
        others = np.tile(values, (len(cuts := _cuts(trees, place)), 1))
        others[:, place] = cuts
        of_others = trees.probabilities(others)
        lowest = min(now, of_others.min(initial=now))
        highest = max(now, of_others.max(initial=now))
        effect = FeatureEffect(
            name, *(round(float(number), 6) for number in (values[place], lowest, highest))
        )
        result.append((max(now - lowest, highest - now), effect))
    result.sort(key=lambda pair: -pair[0])  # stable: equal ones in the order of the features
    return [effect for size, effect in result[:most] if size > 0]


def _cuts(trees: Trees, feature: int) -> Floats:
    """One value of a feature for each range in which all its values give the same probability."""
    is_inner = trees.left != np.arange(trees.left.shape[1])
    cuts = np.unique(trees.threshold[is_inner & (trees.feature == feature)])
    above: Floats = np.append(cuts, cuts[-1:] + 1)
    return above

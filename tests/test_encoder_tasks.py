"""The tasks of benchmarks/encoders/tasks.py, on names that are few enough to do by hand."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.dictionary.classes import Classes

pytest.importorskip("torch")
with pytest.MonkeyPatch.context() as _patch:
    _patch.syspath_prepend(Path(__file__).resolve().parent.parent)
    tasks: Any = importlib.import_module("benchmarks.encoders.tasks")
    relatedness: Any = importlib.import_module("benchmarks.lib.vectors")


def encoder(vectors: dict[str, Sequence[float]]) -> Any:
    return lambda names: np.array([vectors[name] for name in names], np.float32) * 3


def test_asked_against_ranked() -> None:
    encode = encoder({"a": (1, 0), "b": (0.8, 0.6), "c": (0, 1), "d": (-1, 0), "e": (0.6, 0.8)})
    asked = Classes(["e", "a"], np.array([1, 7]))
    ranked = Classes(["a", "b", "c", "d"], np.array([0, 1, 1, 2]))
    # e: b .96, c .8, a .6, d -.6; a has no class among them
    found = tasks.retrieved(encode, asked, ranked)
    assert [ranks.tolist() for ranks in found] == [[1, 2]]


def test_scores() -> None:
    ranks = [np.array([1, 3]), np.array([5]), np.array([1, 2, 3])]
    assert tasks.scores(ranks) == {
        "map": round(((1 / 1 + 2 / 3) / 2 + 1 / 5 + 1) / 3, 5),
        "acc": round(2 / 3, 5),
        "mrr": round((1 + 1 / 5 + 1) / 3, 5),
    }


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=9),
    st.integers(0, 99),
)
def test_names_among_the_others_by_a_slow_twin(names: list[tuple[int, int]], seed: int) -> None:
    """Some names have the same vector; a name is not among those that are ranked for it."""
    directions = np.random.default_rng(seed).normal(size=(5, 3))
    texts = [f"{i}" for i in range(len(names))]
    vectors = {text: directions[which] for text, (_, which) in zip(texts, names, strict=True)}
    labels = np.array([label for label, _ in names], np.int64)
    found = tasks.retrieved(encoder(vectors), Classes(texts, labels))
    unit = [vectors[text] / np.linalg.norm(vectors[text]) for text in texts]
    expected = []
    for row in range(len(names)):
        others = [other for other in range(len(names)) if other != row]
        others.sort(key=lambda other: (-round(float(unit[row] @ unit[other]), 5), other))
        places = [place for place, other in enumerate(others, 1) if labels[other] == labels[row]]
        if places:
            expected.append(places)
    assert [ranks.tolist() for ranks in found] == expected


def texts(names: Classes) -> dict[str, set[str]]:
    """The names of each class, by its id."""
    rows = names.of(np.arange(len(names.ids)))
    return {
        i: {names.texts[row] for row in of_one} for i, of_one in zip(names.ids, rows, strict=True)
    }

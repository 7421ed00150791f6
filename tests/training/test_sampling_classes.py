"""Which names grounding trains on and validates with, on a dictionary that is done by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary
from linker.dictionary.classes import Classes
from linker.encoders.base import Recipe
from linker.errors import LinkerError
from linker.linking.options import GroundOptions, LinkerOptions
from linker.text.normalize import normalize
from linker.training import sampling


def chosen(classes: str = "concepts", **ground: object) -> LinkerOptions:
    recipe = Recipe(classes=classes)  # type: ignore[arg-type]
    return LinkerOptions(ground=GroundOptions(**ground), recipe=recipe)  # type: ignore[arg-type]


SEEDS = st.integers(0, 2**31)
LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=20).map(
    lambda labels: np.unique(labels, return_inverse=True)[1].astype(np.int64)
)


def classes_of(labels: np.ndarray) -> Classes:
    return Classes([f"name {row}" for row in range(len(labels))], labels)


@given(LABELS, st.integers(0, 5), SEEDS)
def test_held_out_names_leave_two_behind(labels: np.ndarray, most: int, seed: int) -> None:
    names = classes_of(labels)
    out = sampling.held_out(names, most, seed)
    large = int((names.sizes >= 3).sum())
    assert out.sum() == min(most, large // 2)
    assert all(np.bincount(labels[out], minlength=names.count) <= 1)
    assert all(names.sizes[labels[out]] >= 3)


@given(LABELS, st.integers(1, 4), SEEDS)
def test_shots_are_as_many_of_each_as_there_are(labels: np.ndarray, each: int, seed: int) -> None:
    names = classes_of(labels)
    train, judged = sampling.shots(names, each, seed)
    expected = [min(each, count // 2) for count in names.sizes.tolist()]
    for part in (train, judged):
        assert np.bincount(part.labels, minlength=names.count).tolist() == expected
        assert all(
            names.labels[names.texts.index(text)] == label
            for text, label in zip(part.texts, part.labels, strict=True)
        )
    assert not {*train.texts} & {*judged.texts}
    assert train.texts == sampling.shots(names, each, seed)[0].texts


DICTIONARY = """id\tname\tsynonyms\tparents
D:0\tdisease\t\t
D:1\tcancer\ttumor\tD:0
D:2\theart disease\tcardiac disease\tD:0
D:3\tskin cancer\tskin tumor|cancer of skin\tD:1
D:4\theart attack\tinfarction\tD:2
"""


def test_what_names_are_drawn_by(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(DICTIONARY)
    dictionary = Dictionary.read(tmp_path / "d.tsv")
    table = dictionary.table(normalize)

    def listed(**options: Any) -> list[list[str]]:
        names = sampling._grouped(chosen(**options), table, dictionary)
        return [[names.texts[row] for row in rows] for rows in names.of(np.arange(names.count))]

    assert len(listed()) == 5
    assert listed(classes="level", level=1) == [
        ["skin cancer", "skin tumor", "cancer of skin"],
        ["heart attack", "infarction"],
    ]
    assert listed(classes="parts") == [
        ["cancer", "tumor", "skin cancer", "skin tumor", "cancer of skin"],
        ["heart disease", "cardiac disease", "heart attack", "infarction"],
    ]
    names, validation = sampling.select_classes(chosen(classes="parts", shots=2), table, dictionary)
    assert validation is not None
    assert (names.sizes.tolist(), validation.sizes.tolist()) == ([2, 2], [2, 2])


@pytest.mark.parametrize(
    "options",
    [
        {"classes": "parts", "shots": 1, "root": "D:9"},  # no concept
        {"classes": "parts"},  # all pairs
        {"classes": "level"},  # there is no level 4
    ],
)
def test_classes_that_there_are_not(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "d.tsv").write_text(DICTIONARY)
    dictionary = Dictionary.read(tmp_path / "d.tsv")
    table = dictionary.table(normalize)
    with pytest.raises(LinkerError):
        sampling.select_classes(chosen(**options), table, dictionary)

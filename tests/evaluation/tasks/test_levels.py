"""The levels of a taxonomy that is small enough to do by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linker.dictionary import Dictionary
from linker.dictionary.classes import Classes
from linker.errors import LinkerError
from linker.evaluation.tasks import levels, synonyms

# D0 is above D1 and D2; D1 above D3 and D4, D2 above D4 (so that what is below D4 is of both); the rest stands below D3 and D4.
TABLE = """id	name	synonyms	parents
D:0	disease		
D:1	organ disease	disease of an organ	D:0
D:2	growth		D:0
D:3	heart disease	cardiac disease	D:1
D:4	tumor	neoplasm	D:1|D:2
D:5	heart attack	attack of the heart|infarction|cardiac infarct	D:3
D:6	lymphoma	lymph tumor|tumor lymph	D:4
D:7	glioma	brain tumor	D:4
"""


def texts(names: object) -> dict[str, set[str]]:
    """The names of each class, by its id."""
    return {
        names.ids[i]: {names.texts[row] for row in rows}
        for i, rows in enumerate(names.of(np.arange(len(names.ids))))
    }


def test_split(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(TABLE)
    dictionary = Dictionary.read(tmp_path / "d.tsv")
    high, low = levels.split(dictionary, "D:0", seed=0, depth=2)
    heart, tumors = (
        {"heart attack", "attack of the heart", "infarction", "cardiac infarct"},
        {"lymphoma", "lymph tumor", "glioma", "brain tumor"},
    )
    of_low = {"D:3": heart, "D:4": tumors}
    of_high = {"D:1": heart | tumors, "D:2": tumors}
    for level, expected in ((high, of_high), (low, of_low)):
        parts = [texts(part) for part in (level.train, level.validation, level.test)]
        assert {i: set().union(*(part[i] for part in parts)) for i in expected} == expected
    counts = [
        {i: len(own) for i, own in texts(part).items()}
        for part in (low.train, low.validation, low.test)
    ]
    assert counts == [{"D:3": 1, "D:4": 1}, {"D:3": 1, "D:4": 1}, {"D:3": 2, "D:4": 2}]
    assert {*high.test.texts} == {*low.test.texts}
    assert {*high.train.texts}.isdisjoint({*low.test.texts} | {*low.validation.texts})
    assert texts(high.above) == {"D:1": {"organ disease", "disease of an organ"}, "D:2": {"growth"}}
    assert texts(low.above) == {
        "D:3": {"heart disease", "cardiac disease"},
        "D:4": {"tumor", "neoplasm"},
    }
    other = levels.split(dictionary, "D:0", seed=1, depth=2)[1]
    assert [texts(part) for part in (other.train, other.test)] != [
        texts(part) for part in (low.train, low.test)
    ]


def test_a_name_of_a_class_is_neither_trained_on_nor_asked_for(tmp_path: Path) -> None:
    """D:5 is also called as D:1, one of the classes, is, and D:6 as D:3, in another order."""
    table = TABLE.replace("infarction|", "infarction|organ disease|").replace(
        "tumor lymph", "disease heart"
    )
    (tmp_path / "d.tsv").write_text(table)
    for level in levels.split(Dictionary.read(tmp_path / "d.tsv"), "D:0", seed=0, depth=2):
        assert {"organ disease", "disease heart"}.isdisjoint(
            {*level.train.texts, *level.validation.texts, *level.test.texts}
        )
        assert {"infarction", "glioma"} <= {
            *level.train.texts,
            *level.validation.texts,
            *level.test.texts,
        }


def test_fewer_levels_than_asked(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(TABLE)
    with pytest.raises(
        LinkerError,
        match=r"below D:0 stand too few concepts \(level 1: 0, level 2: 0, level 3: 0\); expected: two",
    ):
        levels.split(Dictionary.read(tmp_path / "d.tsv"), "D:0", seed=0, depth=3)


def test_a_name_of_two_classes_finds_the_names_of_both(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(TABLE)
    high, _ = levels.split(Dictionary.read(tmp_path / "d.tsv"), "D:0", seed=0, depth=2)
    place = {"organ disease": 0.1, "disease of an organ": 0.3, "growth": 0.2}

    def encode(names: list[str]) -> np.ndarray:
        """At an angle: that of a test name is 0."""
        angles = [place.get(name, 0) for name in names]
        return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)

    asked = list(dict.fromkeys(high.test.texts))
    found = dict(zip(asked, synonyms.retrieved(encode, high.test, high.above), strict=True))
    expected = {text: [1, 2, 3] if text in texts(high.test)["D:2"] else [1, 3] for text in asked}
    assert {text: ranks.tolist() for text, ranks in found.items()} == expected
    assert {tuple(ranks) for ranks in expected.values()} == {(1, 2, 3), (1, 3)}


def test_a_class_keeps_a_name_though_others_share_it() -> None:
    names = Classes(["x", "y", "x", "z", "y", "w"], np.array([0, 0, 1, 1, 2, 2]))
    for seed in range(50):
        drawn = levels._sample(names, seed)
        assert drawn
        left = {
            label
            for text, label in zip(names.texts, names.labels.tolist(), strict=True)
            if text not in drawn
        }
        assert left == {0, 1, 2}


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(TABLE)
    with pytest.raises(
        LinkerError, match=r"'D:99' is no concept of the dictionary; give the id of one"
    ):
        levels.split(Dictionary.read(tmp_path / "d.tsv"), "D:99", seed=0)

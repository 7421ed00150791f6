"""The tasks of benchmarks/encoders/tasks.py, on names that are few enough to do by hand."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary
from linker.dictionary.classes import Classes
from linker.text.normalize import normalize

pytest.importorskip("torch")
with pytest.MonkeyPatch.context() as _patch:
    _patch.syspath_prepend(Path(__file__).resolve().parent.parent)
    tasks: Any = importlib.import_module("benchmarks.encoders.tasks")
    relatedness: Any = importlib.import_module("benchmarks.lib.vectors")


def encoder(vectors: dict[str, Sequence[float]]) -> Any:
    return lambda names: np.array([vectors[name] for name in names], np.float32) * 3


def named(names: Classes) -> set[frozenset[str]]:
    """The names of each class."""
    return {
        frozenset(names.texts[row] for row in rows) for rows in names.of(np.arange(names.count))
    }


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


def test_fine_classes(tmp_path: Path) -> None:
    """Without the name of two concepts, the same words in another order, and a name of more than six words."""
    rows = [
        "id\tname\tsynonyms\tparents",
        "D0\tdisease\tillness\t",
        "D1\ttumor\tgrowth|mass of cells\tD0",
        "D2\tlymphoma\tlymph tumor|tumor lymph\tD1|D3",
        "D3\tblood disease\tgrowth\tD0",
        "D4\tleukemia\tblood cancer|a cancer of the blood that is long\tD3",
        "D5\tacute leukemia\tsudden leukemia\tD4",
    ]
    (tmp_path / "d.tsv").write_text("\n".join(rows) + "\n")
    dictionary = Dictionary.read(tmp_path / "d.tsv")
    disease, blood = frozenset({"disease", "illness"}), frozenset({"blood disease"})
    tumor, lymphoma = {"tumor", "mass of cells"}, {"lymphoma", "lymph tumor"}
    leukemia, acute = {"leukemia", "blood cancer"}, {"acute leukemia", "sudden leukemia"}
    of_concepts = {frozenset(names) for names in (tumor, lymphoma, leukemia, acute)}
    assert named(tasks.fine(dictionary)) == {disease, blood, *of_concepts}


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(0, 3), st.integers(0, 99))
def test_splits(labels: list[int], zero_shot: int, seed: int) -> None:
    own = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    names = Classes([f"{label} {row}" for row, label in enumerate(own)], own)
    made = tasks.split(names, zero_shot, seed)
    parts = [made.train, made.validation, made.test, made.zero_shot]
    assert sorted(text for part in parts for text in part.texts) == sorted(names.texts)
    assert made.zero_shot.count == min(zero_shot, names.count)
    trained = dict(zip(made.train.labels.tolist(), made.train.texts, strict=True))
    for part in parts[:3]:  # the same label is the same class
        for text, label in zip(part.texts, part.labels.tolist(), strict=True):
            assert trained[label].split()[0] == text.split()[0]
    unseen = {text.split()[0] for text in made.zero_shot.texts}
    kept = [size for label, size in enumerate(np.bincount(own)) if f"{label}" not in unseen]
    assert len(made.test) == sum(min(2, size - 1) for size in kept)
    assert len(made.validation) == sum(min(2, max(0, size - 3)) for size in kept)
    assert tasks.split(names, zero_shot, seed).test.texts == made.test.texts


# D:0 is above D:1 and D:2; D:1 above D:3 and D:4, D:2 above D:4 (so that what is below D:4 is of both).
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


def levels_of(folder: Path, table: str = TABLE, seed: int = 0) -> Any:
    (folder / "d.tsv").write_text(table)
    return tasks.levels(Dictionary.read(folder / "d.tsv"), "D:0", seed, depth=2)


def texts(names: Classes) -> dict[str, set[str]]:
    """The names of each class, by its id."""
    rows = names.of(np.arange(len(names.ids)))
    return {
        i: {names.texts[row] for row in of_one} for i, of_one in zip(names.ids, rows, strict=True)
    }


def test_levels(tmp_path: Path) -> None:
    high, low = levels_of(tmp_path)
    heart = {"heart attack", "attack of the heart", "infarction", "cardiac infarct"}
    tumors = {"lymphoma", "lymph tumor", "glioma", "brain tumor"}
    of_high, of_low = {"D:1": heart | tumors, "D:2": tumors}, {"D:3": heart, "D:4": tumors}
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
    assert texts(low.above)["D:4"] == {"tumor", "neoplasm"}
    other = levels_of(tmp_path, seed=1)[1]
    assert [texts(part) for part in (other.train, other.test)] != [
        texts(part) for part in (low.train, low.test)
    ]
    # a name of two classes finds the names of both: at an angle, that of a test name is 0
    angles = {"organ disease": 0.1, "disease of an organ": 0.3, "growth": 0.2}
    angles |= dict.fromkeys(heart | tumors, 0)
    vectors = {name: (np.cos(angle), np.sin(angle)) for name, angle in angles.items()}
    asked = list(dict.fromkeys(high.test.texts))
    found = [ranks.tolist() for ranks in tasks.retrieved(encoder(vectors), high.test, high.above)]
    assert found == [[1, 2, 3] if text in tumors else [1, 3] for text in asked]


def test_a_name_of_a_class_is_neither_trained_on_nor_asked_for(tmp_path: Path) -> None:
    """D:5 is also called as D:1, one of the classes, is, and D:6 as D:3, in another order."""
    table = TABLE.replace("infarction|", "infarction|organ disease|")
    for level in levels_of(tmp_path, table.replace("tumor lymph", "disease heart")):
        names = {*level.train.texts, *level.validation.texts, *level.test.texts}
        assert {"organ disease", "disease heart"}.isdisjoint(names)
        assert {"infarction", "glioma"} <= names


def test_spearman_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    rows = ("a\tb\t9", 'a\t"c"\t3', "a\td\t5", "none\ta\t1")
    path.write_text("\n".join(("term1\tterm2\tscore", *rows)) + "\n")
    vectors = {"a": (1, 0), "b": (2, 2), '"c"': (0, 3), "d": (-1, 0), "none": (0, 0)}
    # cosines .71, 0, -1, 0: ranks 4, 2.5, 1, 2.5; scores: ranks 4, 2, 3, 1; both have mean 2.5
    x, y = np.array([4, 2.5, 1, 2.5]) - 2.5, np.array([4, 2, 3, 1]) - 2.5
    expected = (x @ y) / math.sqrt((x @ x) * (y @ y))
    assert relatedness.correlation(encoder(vectors), path) == pytest.approx(expected)


def test_candidates_are_all_names_of_the_concepts_that_share_words(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    (tmp_path / "d.txt").write_text(
        "D1||breast cancer|mammary tumor\nD2||skin cancer|melanoma\nD3||heart attack|infarct\n"
        "D4||lung cancer|lung cancer of old\n"
    )
    table = Dictionary.read(tmp_path / "d.txt", format="biosyn").table(normalize)
    queries = [("breast cancer of old", 0), ("infarct", 2), ("infarct", 0), ("fever", 1)]
    one, two = tasks.questions([(query, frozenset({gold})) for query, gold in queries], table)
    lung, others = {"lung cancer", "lung cancer of old"}, {"melanoma", "skin cancer"}
    assert {*one.names} == {"breast cancer", "mammary tumor", *lung, *others}
    assert {name for name, right in zip(one.names, one.right, strict=True) if right} == {
        "breast cancer",
        "mammary tumor",
    }
    assert (sorted(two.names), two.right.tolist()) == (["heart attack", "infarct"], [True, True])
    (few,) = tasks.questions([("lung cancer", frozenset({3}))], table, concepts=1)
    assert {*few.names} == lung


def test_average_precision_of_candidates() -> None:
    asked = [
        tasks.Question("q", ["a", "b", "c"], np.array([True, False, True])),
        tasks.Question("r", ["a", "b"], np.array([False, True])),
    ]
    alike = {"q": np.array([0.1, 0.9, 0.9]), "r": np.array([0.5, 0.5])}  # b c a, and a b
    made = tasks.mean_average_precision(asked, lambda query, names: alike[query])
    assert made == round(((1 / 2 + 2 / 3) / 2 + 1 / 2) / 2, 4)


def test_cosine_by_hand() -> None:
    similarity = tasks.cosine(encoder({"q": (2, 0), "a": (1, 1), "b": (-3, 0), "none": (0, 0)}))
    assert similarity("q", ["a", "b", "none"]) == pytest.approx([2**-0.5, -1, 0], abs=1e-6)

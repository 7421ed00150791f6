"""Synonym retrieval: splits, and scores by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary
from linker.dictionary.classes import Classes
from linker.evaluation.tasks import synonyms

VECTORS = {"a": (1, 0), "b": (0.8, 0.6), "c": (0, 1), "d": (-1, 0), "e": (0.6, 0.8)}


def encode(names: Sequence[str]) -> np.ndarray:
    return np.array([VECTORS[name] for name in names], np.float32).reshape(-1, 2) * 3


def classes(**labels: int) -> Classes:
    return Classes(list(labels), np.array(list(labels.values()), np.int64))


def test_names_that_are_asked_are_not_ranked() -> None:
    """Cosines: ab .8, ac 0, ad -1, bc .6, bd -.8, cd 0."""
    made = synonyms.scores(synonyms.retrieved(encode, classes(a=0, b=1, c=0, d=1)))
    # a: b c d, c is right (2); b: a c d, d is right (3); c: b, then a and d alike, a is right (2); d: c b a, b is right (2)
    assert made["map"].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 2])
    assert made["acc"].tolist() == [0, 0, 0, 0]
    assert made["mrr"].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 2])


def test_asked_against_ranked() -> None:
    made = synonyms.scores(
        synonyms.retrieved(encode, classes(e=1, a=7), classes(a=0, b=1, c=1, d=2))
    )
    # e: b .96, c .8, a .6, d -.6; a has no class among them
    assert {name: values.tolist() for name, values in made.items()} == {
        "map": [1.0],
        "acc": [1.0],
        "mrr": [1.0],
    }


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=9),
    st.integers(0, 99),
)
@settings(deadline=None)
def test_slow_twin(names: list[tuple[int, int]], seed: int) -> None:
    """Some names have the same vector."""
    random = np.random.default_rng(seed)
    directions = random.normal(size=(5, 3))
    texts = [f"{i}" for i in range(len(names))]
    vectors = {text: directions[which] for text, (_, which) in zip(texts, names, strict=True)}
    labels = np.array([label for label, _ in names], np.int64)
    found = synonyms.retrieved(
        lambda some: np.array([vectors[text] for text in some], np.float32), Classes(texts, labels)
    )
    made = synonyms.scores(found)
    expected = []
    for row in range(len(names)):
        others = [other for other in range(len(names)) if other != row]
        unit = {text: v / np.linalg.norm(v) for text, v in vectors.items()}
        others.sort(
            key=lambda other: (-round(float(unit[texts[row]] @ unit[texts[other]]), 5), other)
        )
        places = [place for place, other in enumerate(others, 1) if labels[other] == labels[row]]
        if places:
            expected.append(np.mean([i / place for i, place in enumerate(places, 1)]))
    assert made["map"].tolist() == pytest.approx(expected)


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
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
    return Dictionary.read(tmp_path / "d.tsv")


def named(names: Classes) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for text, label in zip(names.texts, names.labels.tolist(), strict=True):
        made.setdefault(str(label), []).append(text)
    return {"|".join(sorted(texts)): texts for texts in made.values()}


def test_fine_classes_are_concepts(dictionary: Dictionary) -> None:
    """Without the name of two concepts, the same words in another order, and a name of more than six words."""
    found = {frozenset(texts) for texts in named(synonyms.fine(dictionary)).values()}
    expected = [
        "disease|illness",
        "tumor|mass of cells",
        "lymphoma|lymph tumor",
        "blood disease",
        "leukemia|blood cancer",
    ]
    assert {"|".join(sorted(texts)) for texts in found} == {
        "|".join(sorted(e.split("|"))) for e in [*expected, "acute leukemia|sudden leukemia"]
    }


def test_coarse_classes_take_their_leaves(dictionary: Dictionary) -> None:
    found = {frozenset(texts) for texts in named(synonyms.coarse(dictionary)).values()}
    assert found == {
        frozenset({"disease", "illness"}),
        frozenset({"tumor", "mass of cells", "lymphoma", "lymph tumor"}),
        frozenset({"blood disease"}),
        frozenset({"leukemia", "blood cancer", "acute leukemia", "sudden leukemia"}),
    }


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(0, 3), st.integers(0, 99))
def test_splits(labels: list[int], zero_shot: int, seed: int) -> None:
    own = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    names = Classes([f"{label} {row}" for row, label in enumerate(own)], own)
    made = synonyms.split(names, zero_shot, seed)
    parts = [made.train, made.validation, made.test, made.zero_shot]
    assert sorted(text for part in parts for text in part.texts) == sorted(names.texts)
    assert made.zero_shot.count == min(zero_shot, names.count)
    for part in parts[:3]:  # the same label is the same class
        assert all(
            made.train.texts[int(np.flatnonzero(made.train.labels == label)[0])].split()[0]
            == text.split()[0]
            for text, label in zip(part.texts, part.labels, strict=True)
        )
    sizes = np.bincount(own)
    kept = [
        size
        for label, size in enumerate(sizes)
        if f"{label}" not in {text.split()[0] for text in made.zero_shot.texts}
    ]
    assert len(made.test) == sum(min(2, size - 1) for size in kept)
    assert len(made.validation) == sum(min(2, max(0, size - 3)) for size in kept)
    again = synonyms.split(names, zero_shot, seed)
    assert again.test.texts == made.test.texts


def test_mentions_that_repeat_are_apart() -> None:
    train = [("Fever", "C1"), ("fever", "C1"), ("pyrexia", "C1"), ("cold", "C2")]
    test = [
        ("fever", "C1"),
        ("high fever", "C1"),
        ("High-Fever", "C1"),
        ("fever", "C2"),
        ("rash", "C3"),
        ("rashes", "C3"),
    ]
    made = synonyms.medmentions(train, test, 0)
    assert sorted(made.train.texts + made.validation.texts) == ["cold", "fever", "pyrexia"]
    assert (made.test.texts, made.test.labels.tolist()) == (["high fever", "fever"], [0, 1])
    assert (made.zero_shot.texts, made.zero_shot.labels.tolist()) == (["rash", "rashes"], [0, 0])
    assert made.repeated is not None
    assert (made.repeated.texts, made.repeated.labels.tolist()) == (["fever"], [0])

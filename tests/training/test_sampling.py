"""What self-alignment draws, against counting by hand and neighbours on a line."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary
from linker.dictionary import NameTable
from linker.dictionary.classes import Classes, Rows
from linker.encoders.base import Recipe
from linker.errors import LinkerError
from linker.io.persistence import Strings
from linker.linking.options import GroundOptions, LinkerOptions
from linker.text.normalize import normalize
from linker.training import encoder, sampling
from linker.training.sampling import Stream, rng

CONCEPTS = 6
# the concepts of each name; a name may have none
NAMES = st.lists(st.frozensets(st.integers(0, CONCEPTS - 1), max_size=3), max_size=25)
SEEDS = st.integers(0, 2**40)


def table(names: Sequence[frozenset[int]]) -> NameTable:
    concepts = [concept for of in names for concept in sorted(of)]
    indptr = np.cumsum([0, *map(len, names)]).astype(np.int64)
    texts = Strings.of(f"name {row}" for row in range(len(names)))
    return NameTable(
        texts, indptr, np.array(concepts, np.int32), np.arange(len(concepts), dtype=np.int32)
    )


def listed(pairs: Rows) -> list[tuple[int, int]]:
    return [(left, right) for left, right in pairs.tolist()]


@given(names=NAMES, seed=SEEDS, epoch=st.integers(1, 9))
@settings(max_examples=100)
def test_pairs_by_counting(names: list[frozenset[int]], seed: int, epoch: int) -> None:
    """Each name is paired once for each of its concepts that have two names; the last of an odd number of names takes one of them again."""
    pairs = listed(encoder.synonym_pairs(table(names), seed, epoch))
    assert all(left != right and names[left] & names[right] for left, right in pairs)
    members = [[row for row, of in enumerate(names) if c in of] for c in range(CONCEPTS)]
    several = [rows for rows in members if len(rows) > 1]
    assert len(pairs) == sum(-(-len(rows) // 2) for rows in several)
    times, least = Counter(itertools.chain(*pairs)), Counter(itertools.chain(*several))
    assert times.keys() == least.keys()
    assert all(times[row] >= least[row] for row in least)
    assert pairs == listed(encoder.synonym_pairs(table(names), seed, epoch))


def test_of_names_with_the_same_words_one_is_drawn() -> None:
    texts = [
        "breast cancer",
        "cancer breast",
        "tumor of breast",
        "mammary tumor",
        "lung cancer",
        "cancer lung",
    ]
    names = NameTable(
        Strings.of(texts),
        np.arange(7),
        np.array([0, 0, 0, 0, 1, 1], np.int32),
        np.arange(6, dtype=np.int32),
    )
    drawn = [listed(encoder.synonym_pairs(names, 0, epoch)) for epoch in range(30)]
    # three names of concept 0; one of concept 1, which has no pair
    assert all(len(pairs) == 2 for pairs in drawn)
    assert not any({0, 1} <= {row for pair in pairs for row in pair} for pairs in drawn)
    assert {row for pairs in drawn for pair in pairs for row in pair} == {0, 1, 2, 3}


def line(n: int, seed: int) -> np.ndarray:
    """Vectors of one component, 0 to n - 1, in any order."""
    return np.random.default_rng(seed).permutation(n).astype(np.float32)[:, None]


LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=20).map(
    lambda labels: np.unique(labels, return_inverse=True)[1].astype(np.int64)
)


def classes_of(labels: np.ndarray) -> Classes:
    return Classes([f"name {row}" for row in range(len(labels))], labels)


def drawing(seed: int) -> np.random.Generator:
    """The random numbers of a first epoch."""
    return rng(seed, Stream.TRIPLETS, 1)


def all_near(labels: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """All names as neighbours, with the same cosine."""
    return lambda rows: (
        np.tile(np.arange(len(labels)), (len(rows), 1)),
        np.full((len(rows), len(labels)), 0.5, np.float32),
    )


@given(LABELS, st.integers(0, 3), SEEDS)
def test_triplets_are_a_name_another_of_its_class_and_one_of_another(
    labels: np.ndarray, each: int, seed: int
) -> None:
    names = classes_of(labels)
    drawn, again = (
        sampling.triplets(names, each, all_near(labels), drawing(seed)) for _ in range(2)
    )
    anchor, positive, negative = drawn
    if names.count < 2:
        assert not len(anchor)
        return
    assert all(labels[anchor] == labels[positive])
    assert all(anchor != positive)
    assert all(labels[anchor] != labels[negative])
    sizes = names.sizes[labels]
    assert (
        np.bincount(anchor, minlength=len(labels)).tolist()
        == np.where(sizes > 1, each or sizes - 1, 0).tolist()
    )
    assert [*map(np.ndarray.tolist, drawn)] == [*map(np.ndarray.tolist, again)]


def test_a_name_of_two_classes_is_no_negative_of_itself_and_of_names_of_either() -> None:
    names = Classes(["x", "y", "x", "z"], np.array([0, 0, 1, 2]))
    near = all_near(names.labels)
    anchor, _, negative = sampling.triplets(names, 50, near, drawing(0))
    assert {*zip(anchor.tolist(), negative.tolist(), strict=True)} == {(0, 3), (1, 3)}


def test_the_streams_of_earlier_versions_are_the_same() -> None:
    """Else the same seed would train another model."""
    assert rng(7, Stream.LIST_ORDER, 3).random() == np.random.default_rng((7, 3)).random()
    assert [int(stream) for stream in Stream] == [0, 1, 2, 3, 4, 6, 8, 9, 10, 11, 13, 14]
    for stream in list(Stream)[1:]:
        before = np.random.default_rng((7, 3, int(stream)))
        assert rng(7, stream, 3).random() == before.random()


# classes


def chosen(classes: str = "concepts", **ground: object) -> LinkerOptions:
    recipe = Recipe(classes=classes)  # type: ignore[arg-type]
    return LinkerOptions(ground=GroundOptions(**ground), recipe=recipe)  # type: ignore[arg-type]


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

"""What self-alignment draws, against counting by hand and neighbours on a line."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.dictionary import NameTable
from linker.dictionary.classes import Classes, Floats, Rows
from linker.io.persistence import Strings
from linker.training import align, sampling
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
    pairs = listed(align.synonym_pairs(table(names), seed, epoch))
    assert all(left != right and names[left] & names[right] for left, right in pairs)
    members = [[row for row, of in enumerate(names) if c in of] for c in range(CONCEPTS)]
    several = [rows for rows in members if len(rows) > 1]
    assert len(pairs) == sum(-(-len(rows) // 2) for rows in several)
    times, least = Counter(itertools.chain(*pairs)), Counter(itertools.chain(*several))
    assert times.keys() == least.keys()
    assert all(times[row] >= least[row] for row in least)
    assert pairs == listed(align.synonym_pairs(table(names), seed, epoch))


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
    drawn = [listed(align.synonym_pairs(names, 0, epoch)) for epoch in range(30)]
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


def test_near_names_are_likelier_negatives() -> None:
    labels = np.array([0, 0, 1, 2, 3])
    cosines = np.array([1, 1, 0.9, 0.5, 0.0], np.float32)  # weights 10, 2, 1 for the others
    names, counts = classes_of(labels), Counter[int]()
    for seed in range(500):

        def near(rows: Rows) -> tuple[Rows, Floats]:
            every = np.tile(np.arange(5), (len(rows), 1))
            return every, np.tile(cosines, (len(rows), 1))

        counts.update(sampling.triplets(names, 1, near, drawing(seed))[2].tolist())
    total = sum(counts.values())
    assert total == 1000
    assert [counts[row] / total for row in (2, 3, 4)] == pytest.approx(
        [10 / 13, 2 / 13, 1 / 13], abs=0.04
    )


def test_the_streams_of_earlier_versions_are_the_same() -> None:
    """Else the same seed would train another model."""
    assert rng(7, Stream.LIST_ORDER, 3).random() == np.random.default_rng((7, 3)).random()
    assert [int(stream) for stream in Stream] == [0, 1, 2, 3, 4, 6, 8, 9, 10, 11, 13, 14]
    for stream in list(Stream)[1:]:
        before = np.random.default_rng((7, 3, int(stream)))
        assert rng(7, stream, 3).random() == before.random()

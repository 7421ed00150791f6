"""The table of normalised names, and finding rows in it; whole dictionaries are in test_dictionary.py."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.dictionary import NameTable, names
from linker.dictionary.names import Places
from linker.io.persistence import Strings

TEXTS = st.lists(st.text(max_size=6), unique=True, max_size=30)


def named(
    texts: list[str], indptr: list[int], concepts: list[int], entries: list[int]
) -> NameTable:
    concept, entry = np.array(concepts, np.int32), np.array(entries, np.int32)
    return NameTable(Strings.of(texts), np.array(indptr, np.int64), concept, entry)


def test_names_with_one_form_are_one_row() -> None:
    concepts = np.array([0, 0, 1, 1, 0], np.int32)
    ranks = np.array([1, 0, 1, 2, 0], np.int32)
    table = NameTable.of(["b", "a", "a", "", "b"], concepts, ranks)
    assert list(table.texts) == ["b", "a", ""]
    assert [table.concepts_of(row).tolist() for row in range(3)] == [[0], [0, 1], []]
    assert table.entries.tolist() == [4, 1, 2]  # of "b" and concept 0 the name of the lower rank
    empty = NameTable.of([], np.empty(0, np.int32), np.empty(0, np.int32))
    assert (len(empty), empty.indptr.tolist(), empty.concepts.tolist()) == (0, [0], [])


@pytest.mark.parametrize(
    ("indptr", "concepts", "entries", "count", "names", "fits"),
    [
        ([0, 1, 3], [0, 1, 2], [0, 1, 4], 3, 5, True),
        ([0, 1, 3], [0, 1, 2], [0, 1, 4], 2, 5, False),
        ([0, 1, 3], [0, 1, 2], [0, 1, 4], 3, 4, False),
        ([0, 1, 3], [0, -1, 2], [0, 1, 4], 3, 5, False),
        ([1, 1, 3], [0, 1, 2], [0, 1, 4], 3, 5, False),
        ([0, 4, 3], [0, 1, 2], [0, 1, 4], 3, 5, False),
        ([0, 1, 3], [0, 1, 2], [0, 1], 3, 5, False),
        ([0, 0, 0], [], [], 3, 5, False),
    ],
)
def test_a_table_is_checked(
    indptr: list[int],
    concepts: list[int],
    entries: list[int],
    count: int,
    names: int,
    fits: bool,
) -> None:
    table = named(["a", "b"], indptr, concepts, entries)
    with nullcontext() if fits else pytest.raises(ValueError):
        table.check(count, names)


def test_without_some_pairs() -> None:
    made = named(["a", "b", "c", "d"], [0, 1, 3, 4, 4], [0, 1, 2, 2], [0, 1, 2, 3])
    assert ["a" in made, "d" in made, "e" in made, 1 in made] == [True, False, False, False]
    rest = made.without(np.array([True, False, True, False]))
    assert [rest.concepts_of(row).tolist() for row in range(4)] == [[], [1], [2], []]
    assert [rest.entries[rest.indptr[row] :][:1].tolist() for row in (1, 2)] == [[1], [3]]
    assert ["a" in rest, "b" in rest] == [False, True]


@pytest.mark.parametrize("equal_hashes", [False, True])
@given(texts=TEXTS, other=st.text(max_size=6))
def test_rows_are_those_of_a_dict(equal_hashes: bool, texts: list[str], other: str) -> None:
    column, row_of = Strings.of(texts), {text: row for row, text in enumerate(texts)}
    original = names._hash
    try:
        if equal_hashes:
            names._hash = lambda text: bytes(8)
        places = Places.of(column)
        expected = [row_of.get(text, -1) for text in (*texts, other)]
        assert places.find([*texts, other], column) == expected
    finally:
        names._hash = original

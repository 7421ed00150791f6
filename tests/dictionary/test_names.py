"""The table of normalised names, and finding rows in it; whole dictionaries are in test_dictionary.py."""

from __future__ import annotations

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


NOT_THERE, GAPS = "a list names a row that is not there", "overlap or leave gaps"


@pytest.mark.parametrize(
    ("indptr", "concepts", "entries", "count", "names", "message"),
    [
        ([0, 1, 3], [0, 1, 2], [0, 1, 4], 3, 5, None),
        ([0, 1, 3], [0, 1, 2], [0, 1, 4], 2, 5, NOT_THERE),
        ([0, 1, 3], [0, 1, 2], [0, 1, 4], 3, 4, NOT_THERE),
        ([0, 1, 3], [0, -1, 2], [0, 1, 4], 3, 5, NOT_THERE),
        ([1, 1, 3], [0, 1, 2], [0, 1, 4], 3, 5, GAPS),
        ([0, 4, 3], [0, 1, 2], [0, 1, 4], 3, 5, GAPS),
        ([0, 1, 3], [0, 1, 2], [0, 1], 3, 5, GAPS),
        ([0, 0, 0], [], [], 3, 5, "no name stands for a concept"),
    ],
)
def test_a_table_is_checked(
    indptr: list[int],
    concepts: list[int],
    entries: list[int],
    count: int,
    names: int,
    message: str | None,
) -> None:
    table = named(["a", "b"], indptr, concepts, entries)
    if message is None:
        table.check(count, names)
    else:
        with pytest.raises(ValueError, match=message):
            table.check(count, names)


def test_a_table_of_some_concepts() -> None:
    table = named(["", "flu", "fever", "β"], [0, 0, 2, 3, 5], [0, 1, 2, 1, 2], [0, 1, 2, 3, 4])
    wanted = np.array([False, True, False])
    some = table.among(wanted)
    assert (table.naming(wanted).tolist(), list(some.texts)) == ([1, 3], ["flu", "β"])
    assert (some.indptr.tolist(), some.concepts.tolist()) == ([0, 1, 2], [1, 1])
    assert some.entries.tolist() == [1, 3]
    every = table.among(np.ones(3, bool))
    assert list(every.texts) == ["flu", "fever", "β"]  # the empty one stands for no concept


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


def test_saved_places_are_used() -> None:
    made = named(["a", "b"], [0, 1, 2], [0, 1], [0, 1])
    arrays = made.arrays()
    assert NameTable.from_arrays(arrays).places.rows is arrays["hashed"]


def test_a_table_with_more_hashes_than_names_is_refused() -> None:
    table = named(["a", "b"], [0, 1, 2], [0, 1], [0, 1])
    table.check(concepts=2, names=2)
    hashes = np.arange(3, dtype=np.uint64)
    table.__dict__["places"] = Places(hashes, np.array([0, 1], np.int32))  # as from a file
    with pytest.raises(ValueError, match="3 hashes for 2 names"):
        table.check(concepts=2, names=2)

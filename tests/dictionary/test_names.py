"""The table of normalised names; tables of whole dictionaries are in test_dictionary.py."""

from __future__ import annotations

import numpy as np
import pytest

from linker.dictionary import NameTable
from linker.persistence import Strings


def test_names_with_one_form_are_one_row() -> None:
    concepts = np.array([0, 0, 1, 1, 0], np.int32)
    ranks = np.array([1, 0, 1, 2, 0], np.int32)
    table = NameTable.of(["b", "a", "a", "", "b"], concepts, ranks)
    assert list(table.texts) == ["b", "a", ""]
    assert [table.concepts_of(row).tolist() for row in range(3)] == [[0], [0, 1], []]
    assert table.entries.tolist() == [4, 1, 2]  # of "b" and concept 0 the name of the lower rank


def test_a_table_without_names() -> None:
    table = NameTable.of([], np.empty(0, np.int32), np.empty(0, np.int32))
    assert (len(table), table.indptr.tolist(), table.concepts.tolist()) == (0, [0], [])


def named(indptr: list[int], concepts: list[int], entries: list[int]) -> NameTable:
    """A table of two names."""
    return NameTable(
        Strings.of(["a", "b"]),
        np.array(indptr, np.int64),
        np.array(concepts, np.int32),
        np.array(entries, np.int32),
    )


def test_a_table_that_fits_passes_the_check() -> None:
    named([0, 1, 3], [0, 1, 2], [0, 1, 4]).check(3, 5)
    named([0, 0, 1], [0], [0]).check(1, 1)


@pytest.mark.parametrize(
    ("table", "concepts", "names", "message"),
    [
        (named([0, 1, 3], [0, 1, 2], [0, 1, 4]), 2, 5, "a list names a row that is not there"),
        (named([0, 1, 3], [0, 1, 2], [0, 1, 4]), 3, 4, "a list names a row that is not there"),
        (named([0, 1, 3], [0, -1, 2], [0, 1, 4]), 3, 5, "a list names a row that is not there"),
        (named([0, 1, 3], [0, 1, 2], [0, -1, 4]), 3, 5, "a list names a row that is not there"),
        (named([0, 1], [0], [0]), 3, 5, "overlap or leave gaps"),
        (named([1, 1, 3], [0, 1, 2], [0, 1, 4]), 3, 5, "overlap or leave gaps"),
        (named([0, 1, 2], [0, 1, 2], [0, 1, 4]), 3, 5, "overlap or leave gaps"),
        (named([0, 4, 3], [0, 1, 2], [0, 1, 4]), 3, 5, "overlap or leave gaps"),
        (named([0, 1, 3], [0, 1, 2], [0, 1]), 3, 5, "overlap or leave gaps"),
    ],
)
def test_a_table_that_does_not_fit(
    table: NameTable, concepts: int, names: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        table.check(concepts, names)


def test_a_table_of_some_concepts() -> None:
    table = NameTable(
        Strings.of(["", "flu", "fever", "β"]),
        np.array([0, 0, 2, 3, 5]),
        np.array([0, 1, 2, 1, 2], np.int32),
        np.arange(5, dtype=np.int32),
    )
    some = table.among(np.array([False, True, False]))
    assert table.naming(np.array([False, True, False])).tolist() == [1, 3]
    assert list(some.texts) == ["flu", "β"]
    assert (some.indptr.tolist(), some.concepts.tolist(), some.entries.tolist()) == (
        [0, 1, 2],
        [1, 1],
        [1, 3],
    )
    some.check(3, 5)
    assert list(table.among(np.ones(3, bool)).texts) == [
        "flu",
        "fever",
        "β",
    ]  # the empty one stands for no concept

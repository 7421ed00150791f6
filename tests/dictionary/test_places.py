"""Finding the row of a name, and tables without some pairs of a name and a concept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linker.dictionary import names
from linker.dictionary.names import NameTable, Places
from linker.persistence import Strings

TEXTS = st.lists(st.text(max_size=6), unique=True, max_size=30)


def table(concepts: list[list[int]]) -> NameTable:
    rows = np.array([c for of_name in concepts for c in of_name], np.int32)
    indptr = np.cumsum([0, *map(len, concepts)]).astype(np.int64)
    texts = Strings.of(f"name {row}" for row in range(len(concepts)))
    return NameTable(texts, indptr, rows, np.arange(len(rows), dtype=np.int32))


@given(TEXTS, st.text(max_size=6))
def test_rows_are_those_of_a_dict(texts: list[str], other: str) -> None:
    column = Strings.of(texts)
    places, row_of = Places.of(column), {text: row for row, text in enumerate(texts)}
    for text in (*texts, other):
        assert places.row(text, column) == row_of.get(text, -1)


@given(TEXTS, st.text(max_size=6))
def test_texts_with_equal_hashes_are_told_apart(texts: list[str], other: str) -> None:
    column, row_of = Strings.of(texts), {text: row for row, text in enumerate(texts)}
    original, names._hash = names._hash, lambda text: bytes(8)
    try:
        places = Places.of(column)
        assert [places.row(text, column) for text in (*texts, other)] == [
            row_of.get(text, -1) for text in (*texts, other)
        ]
    finally:
        names._hash = original


def test_a_name_without_a_concept_is_none() -> None:
    made = table([[0], [1, 2], []])
    assert [f"name {row}" in made for row in range(4)] == [True, True, False, False]
    assert 1 not in made


def test_without_some_pairs() -> None:
    made = table([[0], [1, 2], [2]])
    rest = made.without(np.array([True, False, True, False]))
    assert [rest.concepts_of(row).tolist() for row in range(3)] == [[], [1], [2]]
    assert [rest.entries[rest.indptr[row] :][:1].tolist() for row in (1, 2)] == [[1], [3]]
    assert "name 0" not in rest
    assert "name 1" in rest


def test_saved_places_are_used() -> None:
    made = table([[0], [1]])
    arrays = made.arrays()
    loaded = NameTable.from_arrays(arrays)
    assert loaded.places.rows is arrays["hashed"]
    del arrays["hashes"], arrays["hashed"]  # an older model
    assert NameTable.from_arrays(arrays).row("name 1") == 1

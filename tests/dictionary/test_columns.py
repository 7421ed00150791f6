"""The arrays of a dictionary: what is saved under which name, and what does not fit together."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from linker.dictionary.columns import Columns, Lists
from linker.persistence import Strings

ARRAYS: dict[str, NDArray[np.generic]] = {
    **Strings.of(["A:1", "A:2"]).arrays("id"),
    "id.rank": np.array([0, 1], np.int32),
    "preferred": np.array([0, 2], np.int32),
    **Strings.of(["", "an infection"]).arrays("definition"),
    **Strings.of(["X:1", ""]).arrays("xrefs"),
    "types.indptr": np.array([0, 0, 2], np.int64),
    "types.indices": np.array([1, 2], np.int32),
    "parents.indptr": np.array([0, 0, 1], np.int32),
    "parents.indices": np.array([0], np.int32),
    **Strings.of(["fever", "heat", "flu"]).arrays("name"),
    "name.concept": np.array([0, 0, 1], np.int32),
    "name.kind": np.array([0, 1, 0], np.uint8),
    "name.source": np.array([0, 0, 0], np.int32),
    "name.language": np.array([0, 0, 0], np.int32),
    "name.case": np.array([False, True, False]),
    **Strings.of(["A:9"]).arrays("old"),
    "old.status": np.array([2], np.uint8),
    "old.indptr": np.array([0, 2], np.int64),
    "old.indices": np.array([0, 1], np.int32),
}
ANNOTATED = {"name.annotated": np.array([0, 3, 1], np.int32)}


LENT = {"name.lent": np.array([False, True, False])}


@pytest.mark.parametrize("more", [{}, ANNOTATED, LENT, ANNOTATED | LENT])
def test_columns_are_saved_under_the_names_that_they_were_read_by(
    more: dict[str, NDArray[np.generic]],
) -> None:
    columns = Columns.from_arrays(ARRAYS | more)
    columns.check(3)
    saved = columns.arrays()
    assert saved.keys() == (ARRAYS | more).keys()
    assert all(saved[name] is values for name, values in (ARRAYS | more).items())


def test_columns_say_what_they_hold() -> None:
    columns = Columns.from_arrays(ARRAYS)
    assert (list(columns.ids), list(columns.names.texts)) == (
        ["A:1", "A:2"],
        ["fever", "heat", "flu"],
    )
    assert columns.types[1].tolist() == [1, 2]
    assert (columns.types.sizes.tolist(), columns.old.concepts[0].tolist()) == ([0, 2], [0, 1])
    kept = columns.names.keep(np.array([True, False, True]))
    assert (list(kept.texts), kept.concept.tolist(), kept.annotated) == (
        ["fever", "flu"],
        [0, 1],
        None,
    )


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "preferred"])
def test_a_column_that_is_too_short_is_refused(name: str) -> None:
    columns = Columns.from_arrays(ARRAYS | {name: ARRAYS[name][:-1]})
    with pytest.raises(ValueError, match=r"overlap or leave gaps|does not fit|not as many"):
        columns.check(3)


def test_labels_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="a list names a row that is not there"):
        Columns.from_arrays(ARRAYS).check(2)


def test_counts_of_annotations_that_do_not_fit_are_refused() -> None:
    for counts in (np.array([1, 2], np.int32), np.array([0.5, 1, 2])):
        columns = Columns.from_arrays(ARRAYS | {"name.annotated": counts})
        with pytest.raises(ValueError, match=r"name\.annotated does not fit the names"):
            columns.check(3)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(KeyError, match=r"name\.case"):
        Columns.from_arrays({name: v for name, v in ARRAYS.items() if name != "name.case"})


def test_lists() -> None:
    lists = Lists(np.array([0, 2, 2, 3]), np.array([4, 5, 6], np.int32))
    assert [lists[row].tolist() for row in range(3)] == [[4, 5], [], [6]]
    assert lists.sizes.tolist() == [2, 0, 1]


def test_names_are_appended_and_say_whether_they_are_lent() -> None:
    names = Columns.from_arrays(ARRAYS | ANNOTATED).names
    plain = names.append(["ague"], [0], 6)
    assert (list(plain.texts), plain.lent) == (["fever", "heat", "flu", "ague"], None)
    assert (plain.concept.tolist(), plain.kind.tolist()) == ([0, 0, 1, 0], [0, 1, 0, 6])
    lent = names.append(["ague", "grippe"], [0, 1], [1, 2], [1, 2], lent=True)
    assert lent.lent is not None
    assert lent.annotated is not None
    assert (lent.lent.tolist(), lent.annotated.tolist()) == (
        [False] * 3 + [True] * 2,
        [0, 3, 1, 0, 0],
    )
    assert (lent.source.tolist(), lent.kind.tolist()) == ([0, 0, 0, 1, 2], [0, 1, 0, 1, 2])
    lent.check(2, 3)
    more = lent.append(["again"], [1], 6)
    assert more.lent is not None
    assert more.lent.tolist() == [False] * 3 + [True] * 2 + [False]
    kept = more.keep(np.array([True, False, False, False, True, True]))
    assert kept.lent is not None
    assert kept.lent.tolist() == [False, True, False]


@pytest.mark.parametrize("values", [np.array([True, False]), np.array([0, 1, 0], np.uint8)])
def test_a_column_of_lent_names_that_does_not_fit_is_refused(values: NDArray[np.generic]) -> None:
    with pytest.raises(ValueError, match=r"name\.lent does not fit the names"):
        Columns.from_arrays(ARRAYS | {"name.lent": values}).check(3)

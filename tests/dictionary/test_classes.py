"""Names and their classes, against graphs and lists that are small enough to do by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.dictionary import NameTable, classes
from linker.dictionary.classes import Classes
from linker.dictionary.hierarchy import Hierarchy, parent_lists
from linker.errors import LinkerError
from linker.io.persistence import Strings

IDS = [f"D:{row}" for row in range(9)]


def made(edges: list[tuple[int, int]]) -> Hierarchy:
    return Hierarchy(parent_lists(9, edges))


# 0 is the root of 1, 2 and 3; 3 is a parent of 1 too; 4 and 5 stand below 1, 5 and 6 below 2,
# 7 below 3, 8 below 4.
HIERARCHY = made([(1, 0), (2, 0), (3, 0), (1, 3), (4, 1), (5, 1), (5, 2), (6, 2), (7, 3), (8, 4)])


def table(names: dict[str, set[int]]) -> NameTable:
    indptr = np.cumsum([0, *map(len, names.values())])
    concepts = np.array([c for own in names.values() for c in sorted(own)], np.int32)
    return NameTable(Strings.of(names), indptr, concepts, concepts)


def listed(names: Classes) -> dict[str, list[str]]:
    """The names of each class, by its id."""
    return {
        names.ids[label]: [names.texts[row] for row in rows]
        for label, rows in enumerate(names.of(np.arange(names.count)))
    }


def test_concepts_have_their_own_names_once_for_each_bag_of_words() -> None:
    names = {
        "breast cancer": {3},
        "cancer breast": {3},
        "tumor": {5},
        "cancer": {3, 5},
        "lymphoma": {5},
        "": set(),
    }
    found = classes.of_concepts(table(names), IDS)
    assert listed(found) == {"D:3": ["breast cancer"], "D:5": ["tumor", "lymphoma"]}
    assert (found.labels.tolist(), found.sizes.tolist(), found.count) == ([0, 1, 1], [1, 2], 2)
    assert [part.tolist() for part in found.members] == [[0, 1, 2], [0, 1, 3]]
    assert [rows.tolist() for rows in found.of(np.array([1, 0, 7]))] == [[1, 2], [0], []]
    assert listed(found[np.array([2, 0])]) == {"D:3": ["breast cancer"], "D:5": ["lymphoma"]}
    assert listed(found.relabelled(np.array([2]))) == {"D:5": ["lymphoma"]}


NAMES = {
    "a": {4},
    "b c": {5},
    "c b": {5},
    "d": {6},
    "e": {7},
    "f": {8},
    "above": {1},
    "g": {6, 8},
    "": set(),
}


def test_a_level_has_the_names_of_what_stands_below_it() -> None:
    """The longest way counts: 2 and 3 are on level 1, 1, 6 and 7 on level 2; 2 - 5 is a shortcut."""
    assert [sorted({*part.indices.tolist()}) for part in HIERARCHY.levels(2, 0)] == [[3], [1]]
    found = classes.of_level(table(NAMES), HIERARCHY, 1, ids=IDS)
    assert listed(found) == {"D:2": ["d", "g"], "D:3": ["a", "b c", "e", "f", "above", "g"]}
    with pytest.raises(LinkerError):
        classes.of_level(table(NAMES), HIERARCHY, 2)


def test_parts_have_the_names_of_one_child_of_the_root() -> None:
    """3 is the parent of 1, and so no part; "b c" and "g" are of both others."""
    assert listed(classes.of_parts(table(NAMES), HIERARCHY, 5, ids=IDS)) == {
        "D:1": ["a", "f", "above"],
        "D:2": ["d"],
    }
    three = {**NAMES, "h": {3}}
    flat = made([(child, 0) for child in (3, 5, 6, 8)])
    assert listed(classes.of_parts(table(three), flat, 3, root=0, ids=IDS)) == {
        "D:3": ["h"],
        "D:6": ["d"],
        "D:8": ["f"],
    }
    assert listed(classes.of_parts(table(three), flat, 2, root=0, ids=IDS)) == {
        "D:6": ["d"],
        "D:8": ["f"],
    }  # the largest, with "g"
    with pytest.raises(LinkerError):
        classes.of_parts(table(three), HIERARCHY, 5, root=4)
    with pytest.raises(LinkerError):
        classes.of_parts(table(three), made([]), 5)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), min_size=1, max_size=10, unique=True
    )
)
def test_names_are_alike_that_share_a_class(pairs: list[tuple[str, int]]) -> None:
    names = Classes([text for text, _ in pairs], np.array([label for _, label in pairs]))
    of = {text: {label for other, label in pairs if other == text} for text, _ in pairs}
    rows = np.arange(len(pairs))
    found = names.alike(rows, np.tile(rows, (len(rows), 1)))
    assert found.tolist() == [[bool(of[a] & of[b]) for b in names.texts] for a in names.texts]

"""Selections against a walk through the records of a dictionary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary, LinkerError, Selection
from linker.dictionary.building import Builder
from linker.dictionary.hierarchy import selected
from linker.errors import stop
from linker.records import Concept, Name


def concept(identifier: str, parents: str = "", types: str = "", **others: object) -> Concept:
    name = Name(f"name of {identifier}", identifier, "preferred")
    return Concept(
        identifier,
        name.text,
        (name,),
        tuple(parents.split()),
        types=tuple(types.split()),
        namespace=identifier.partition(":")[0],
        **others,  # type: ignore[arg-type]
    )


def dictionary(concepts: Sequence[Concept]) -> Dictionary:
    builder = Builder(frozenset(), frozenset(), stop)
    builder.add(concepts, "made", "table", "")
    return Dictionary(*builder.build())


TREE = dictionary(
    [
        concept("A:1"),
        concept("A:2", "A:1", "T1", alt_ids=("A:20",)),
        concept("B:3", "A:2 A:1", "T1 T2", alt_ids=("A:20",)),
        concept("B:4", "A:5", "T2"),  # with the next one a cycle
        concept("A:5", "B:4"),
        concept("A:6", "A:5", status="merged", replaced_by=("B:3",)),
        concept("A:7", status="obsolete"),
    ]
)
ALL = np.ones(len(TREE), bool)


def chosen(*selections: Selection) -> list[str]:
    return [TREE.ids[row] for row in np.flatnonzero(selected(TREE, selections, ALL))]


@pytest.mark.parametrize(
    "selection",
    [
        Selection(under=("A:9",)),
        Selection(not_under=("A:7",)),
        Selection(types=("T1", "t2", "T0")),
        Selection(namespaces=("C", "A", "d:")),
        Selection(under=("A:2", "B:3"), not_under=("A:1",), types=("T2",), namespaces=("B",)),
    ],
)
def test_selections_that_are_refused(selection: Selection) -> None:
    with pytest.raises(LinkerError):
        chosen(selection)


ROWS = st.integers(0, 7)


NODES = st.tuples(st.sets(ROWS, max_size=2), st.sampled_from(["", "T1", "T1 T2"]))


@given(
    st.lists(NODES, min_size=8, max_size=8),
    st.sets(ROWS, max_size=2),
    st.sets(ROWS, max_size=2),
    st.sets(st.sampled_from(["T1", "T2"])),
    st.sets(st.sampled_from("AB"), max_size=1),
)
@settings(max_examples=100)
def test_random_graphs_against_walks_upward(
    nodes: list[tuple[set[int], str]],
    under: set[int],
    not_under: set[int],
    types: set[str],
    namespaces: set[str],
) -> None:
    ids = [f"{'AB'[row % 2]}:{row}" for row in range(8)]
    every = [
        concept(ids[row], " ".join(ids[p] for p in parents if p != row), labels)
        for row, (parents, labels) in enumerate(nodes)
    ]
    above = {c.id: {c.id} for c in every}
    for _ in every:  # as many steps as the longest path may have
        for c in every:
            above[c.id].update(*(above[parent] for parent in c.parents))
    given_ids, others = ({ids[row] for row in rows} for rows in (under, not_under))
    expected = [
        (not under or bool(above[c.id] & given_ids))
        and not above[c.id] & others
        and (not types or bool({*c.types} & types))
        and (not namespaces or c.namespace in namespaces)
        for c in every
    ]
    selection = Selection(
        tuple(given_ids), tuple(others), tuple(sorted(types)), tuple(sorted(namespaces))
    )
    made = dictionary(every)
    if any(expected) and types <= {label for c in every for label in c.types}:
        is_selected = selected(made, [selection], np.ones(8, bool)).tolist()
        assert [is_selected[made.rows(identifier)[0]] for identifier in ids] == expected
    else:
        with pytest.raises(LinkerError):
            selected(made, [selection], np.ones(8, bool))

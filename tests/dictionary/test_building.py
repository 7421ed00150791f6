"""What only all concepts together show: repeated ids, missing parents, filters, old ids."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.dictionary import Dictionary
from linker.dictionary.building import Builder
from linker.errors import InputError, OnError, Skip, stop
from linker.records import Concept, Name


def concept(
    identifier: str, *names: str, line: int | None = None, **fields: tuple[str, ...] | str
) -> Concept:
    texts = names or (f"name of {identifier}",)
    listed = tuple(
        Name(text, identifier, "exact" if i else "preferred") for i, text in enumerate(texts)
    )
    return Concept(
        identifier, texts[0], listed, namespace=identifier.partition(":")[0], line=line, **fields
    )  # type: ignore[arg-type]


def build(
    *sources: list[Concept], namespaces: str = "", types: str = "", on_error: OnError = stop
) -> Dictionary:
    builder = Builder(frozenset(namespaces.split()), frozenset(types.split()), on_error)
    for number, concepts in enumerate(sources, 1):
        builder.add(concepts, f"folder/{number}.tsv", "table", f"release {number}")
    return Dictionary(*builder.build())


def ids(dictionary: Dictionary, old: str) -> list[str]:
    return [dictionary.ids[row] for row in dictionary.rows(old)]


def parents(dictionary: Dictionary) -> dict[str, list[str]]:
    return {i: list(dictionary.concept(row).parents) for row, i in enumerate(dictionary.ids)}


def test_an_id_that_two_sources_share_is_one_concept_with_the_names_and_parents_of_both() -> None:
    one = concept(
        "A:2", "flu", definition="a fever", types=("T1",), parents=("A:1",), alt_ids=("A:8",)
    )
    other = concept(
        "A:2", "influenza", "grippe", definition="b", parents=("A:3",), alt_ids=("A:9",)
    )
    merged = build([concept("A:1"), one], [other, concept("A:3")]).concept(1)
    kinds = [(name.text, name.kind) for name in merged.names]
    assert kinds == [("flu", "preferred"), ("grippe", "exact"), ("influenza", "exact")]
    assert (merged.name, merged.definition, merged.types) == ("flu", "a fever", ("T1",))
    assert (merged.parents, merged.alt_ids) == (("A:1", "A:3"), ("A:8", "A:9"))


def test_an_id_twice_in_one_source_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        build([concept("A:1", line=2), concept("A:1", line=3)])
    assert caught.value.line == 3
    skip = Skip()
    dictionary = build(
        [concept("A:1", "x"), concept("A:1", "y"), concept("A:2", "z")], on_error=skip
    )
    assert (skip.count, list(dictionary.names)) == (1, ["x", "z"])


def test_a_parent_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        build([concept("A:1", line=2), concept("A:2", line=3, parents=("A:1", "A:7"))])
    assert caught.value.line == 3
    obsolete = concept("A:8", status="obsolete")  # without a concept that replaces it
    skip = Skip()
    lost = [concept("A:1"), concept("A:2", parents=("A:1", "A:7", "A:8")), obsolete]
    assert parents(build(lost, on_error=skip)) == {"A:1": [], "A:2": ["A:1"]}
    assert skip.count == 2


def test_a_parent_may_stand_in_a_later_source_or_be_an_old_id() -> None:
    old = concept("B:7", status="merged", replaced_by=("B:1",))
    dictionary = build(
        [concept("A:1", parents=("B:1",)), concept("A:2", parents=("B:7", "B:8"))],
        [concept("B:1", alt_ids=("B:8",)), old],
    )
    assert parents(dictionary) == {"A:1": ["B:1"], "A:2": ["B:1"], "B:1": []}


def test_filters_keep_namespaces_and_types(caplog: pytest.LogCaptureFixture) -> None:
    concepts = [
        concept("A:1", types=("T1", "T2")),
        concept("A:2", types=("T3",), parents=("A:1", "B:1", "B:9"), alt_ids=("A:9",)),
        concept("B:1", types=("T1",), alt_ids=("B:9",)),
    ]
    assert list(build(concepts, namespaces="A").ids) == ["A:1", "A:2"]
    # a filtered parent is no error, by any of its ids
    assert parents(build(concepts, namespaces="A")) == {"A:1": [], "A:2": ["A:1"]}
    assert list(build(concepts, types="T2 T3").ids) == ["A:1", "A:2"]
    assert list(build(concepts, types="T1", namespaces="B").ids) == ["B:1"]
    assert build(concepts, namespaces="B").rows("A:9") == ()
    assert list(build([concept("A:1")], [concept("B:1")], namespaces="B").ids) == ["B:1"]
    assert caplog.messages == ["folder/1.tsv: holds no concept that the filters keep"]


def listed(dictionary: Dictionary, row: int) -> str:
    names = dictionary.concept(row).names
    assert [name.kind for name in names] == ["preferred"] + ["exact"] * (len(names) - 1)
    return " ".join(name.text for name in names)


@pytest.mark.parametrize("order", [1, -1])
def test_a_record_without_types_is_kept_where_another_source_keeps_its_id(order: int) -> None:
    untyped = [concept("A:1", "flu", "grippe"), concept("A:2", "cold"), concept("A:3", "cough")]
    typed = [concept("A:1", "influenza", "flu", types=("T1",)), concept("A:2", types=("T2",))]
    dictionary = build(*[untyped, typed][::order], types="T1")
    assert list(dictionary.ids) == ["A:1"]
    assert listed(dictionary, 0) == "influenza flu grippe"
    assert dictionary.types(0) == ("T1",)


@given(st.data())
@settings(max_examples=40)
def test_old_ids_stand_for_what_can_be_reached(data: st.DataObject) -> None:
    size = 7
    current = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    links = data.draw(st.lists(st.tuples(st.integers(0, size), st.integers(0, size)), max_size=14))
    graph = nx.DiGraph((a, b) for a, b in links if a not in current)
    graph.add_nodes_from(range(size + 1))  # the last is in no record
    concepts = [
        concept(f"A:{i}")
        if i in current
        else concept(
            f"A:{i}", status="obsolete", replaced_by=tuple(f"A:{b}" for a, b in links if a == i)
        )
        for i in range(size)
    ]
    dictionary = build(concepts)
    graph.remove_edges_from(list(graph.out_edges(size)))
    for i in range(size):
        reached = {f"A:{j}" for j in nx.descendants(graph, i) | {i} if j in current}
        assert set(ids(dictionary, f"A:{i}")) == reached

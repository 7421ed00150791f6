"""The hierarchy against hand-drawn graphs, and against networkx on graphs of any shape."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.dictionary.hierarchy import Hierarchy, parent_lists

SIZE = 8
EDGES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=20)


def made(size: int, edges: list[tuple[int, int]]) -> Hierarchy:
    lists = parent_lists(size, edges)
    assert {lists.indptr.dtype, lists.indices.dtype} == {np.dtype(np.int32)}  # as they are saved
    return Hierarchy(lists)


def lists(rows: list[np.ndarray]) -> list[list[int]]:
    return [sorted(r.tolist()) for r in rows]


def graph(edges: list[tuple[int, int]]) -> nx.DiGraph:
    edges_up = nx.DiGraph()
    edges_up.add_nodes_from(range(SIZE))
    edges_up.add_edges_from((a, b) for a, b in edges if a != b)
    return edges_up


def test_a_top_is_the_only_root() -> None:
    assert made(3, [(1, 0), (0, 0)]).top == {0}  # 2 has no child
    assert made(4, [(1, 0), (3, 2)]).top == frozenset()  # two roots: each says something


@given(EDGES)
@settings(max_examples=30)
def test_ancestors_agree_with_networkx(edges: list[tuple[int, int]]) -> None:
    hierarchy, up = made(SIZE, edges), graph(edges)
    for row in range(SIZE):
        assert hierarchy.ancestors([row])[0].tolist() == sorted(nx.descendants(up, row))
        assert sorted(hierarchy.parents([row])[0].tolist()) == sorted(up.successors(row))
        assert sorted(hierarchy.children([row])[0].tolist()) == sorted(up.predecessors(row))


@given(EDGES)
@settings(max_examples=30)
def test_depth_and_cycles_agree_with_networkx(edges: list[tuple[int, int]]) -> None:
    hierarchy, up = made(SIZE, edges), graph(edges)
    tops = [n for n in up if not up.out_degree(n)]
    to_top = {
        n: [nx.shortest_path_length(up, n, t) for t in tops if nx.has_path(up, n, t)] for n in up
    }
    depth = [min(to_top[n], default=-1) for n in range(SIZE)]
    assert hierarchy.depth.tolist() == depth
    strong = sorted(sorted(c) for c in nx.strongly_connected_components(up) if len(c) > 1)
    assert sorted(lists(hierarchy.cycles())) == strong
    assert hierarchy.roots.tolist() == [t for t in sorted(tops) if up.in_degree(t)]


@given(EDGES)
@settings(max_examples=30)
def test_levels_agree_with_all_paths(edges: list[tuple[int, int]]) -> None:
    hierarchy, up = made(SIZE, edges), graph(edges)
    part = {n: i for i, c in enumerate(nx.strongly_connected_components(up)) for n in c}
    up.remove_edges_from([(a, b) for a, b in up.edges if part[a] == part[b]])
    level = {
        n: max((len(path) - 1 for path in nx.all_simple_paths(up, n, 0)), default=-1)
        for n in up
        if n
    } | {0: 0}
    up.remove_edges_from(
        [(a, b) for a, b in [*up.edges] if level[b] < 0 or level[a] != level[b] + 1]
    )
    for k, groups in enumerate(hierarchy.levels(2, root=0), 1):
        expected = {
            (n, g)
            for n in up
            for g in up
            if level[g] == k and level[n] > 2 and nx.has_path(up, n, g)
        }
        assert set(zip(*(x.tolist() for x in groups.nonzero()), strict=True)) == expected

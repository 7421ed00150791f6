"""The hierarchy against hand-drawn graphs, and against networkx on graphs of any shape."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from linker.dictionary.hierarchy import Hierarchy, parent_lists

SIZE = 8
EDGES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=20)


def made(size: int, edges: list[tuple[int, int]]) -> Hierarchy:
    lists = parent_lists(size, edges)
    assert {lists.indptr.dtype, lists.indices.dtype} == {np.dtype(np.int32)}  # as they are saved
    return Hierarchy(lists)


#      0
#     / \
#    1   2      7 (alone)     8 <-> 9 (a cycle) <- 10
#   / \ / \
#  3   4   5
#      |
#      6 (also directly under 0)
TREE = [(1, 0), (2, 0), (3, 1), (4, 1), (4, 2), (5, 2), (6, 4), (6, 0)]
DRAWN = made(11, [*TREE, (8, 9), (9, 8), (10, 9), (3, 3), (4, 1)])


def lists(rows: list[np.ndarray]) -> list[list[int]]:
    return [sorted(r.tolist()) for r in rows]


def test_depth_roots_and_cycles() -> None:
    assert (DRAWN.size, DRAWN.edges) == (11, 11)  # the self-loop and the repeat are dropped
    assert DRAWN.depth.tolist() == [0, 1, 1, 2, 2, 2, 1, 0, -1, -1, -1]
    assert DRAWN.roots.tolist() == [0]  # 7 has no child
    assert DRAWN.top == {0}
    assert made(4, [(1, 0), (3, 2)]).top == frozenset()  # two roots: each says something
    assert lists(DRAWN.cycles()) == [[8, 9]]


def members(groups: csr_matrix) -> dict[int, list[int]]:
    dense = groups.toarray()
    assert set(groups.data) <= {1}
    return {
        group: np.flatnonzero(dense[:, group]).tolist()
        for group in np.unique(groups.indices).tolist()
    }


# 0 is the root of 1, 2 and 9; 1 is the parent of 3 and 4; 2 of 4 and 5; 3 of 6, 4 of 6 and 7, 6 of
# 8. 9 and 5 have no children, 0 - 7 and 1 - 8 are shortcuts, 10 stands elsewhere, and 11 and 12,
# below 3, are each other's parents.
UP = {
    1: [0],
    2: [0, 10],
    3: [1],
    4: [1, 2],
    5: [2],
    6: [3, 4],
    7: [4, 0],
    8: [6, 1],
    9: [0],
    11: [3, 12],
    12: [11],
}
TAXONOMY = made(13, [(child, parent) for child, parents in UP.items() for parent in parents])


def test_levels_of_a_taxonomy() -> None:
    first, second = TAXONOMY.levels(2, root=0)
    assert members(first) == {1: [6, 7, 8, 11], 2: [6, 7, 8]}
    assert members(second) == {3: [6, 8, 11], 4: [6, 7, 8]}
    (only,) = TAXONOMY.levels(1, root=0)
    assert members(only) == {1: [3, 4, 6, 7, 8, 11], 2: [4, 5, 6, 7, 8]}
    assert [members(groups) for groups in TAXONOMY.levels(4, root=0)] == [{}] * 4
    assert members(TAXONOMY.levels(1, root=4)[0]) == {6: [8]}


def graph(edges: list[tuple[int, int]]) -> nx.DiGraph:
    edges_up = nx.DiGraph()
    edges_up.add_nodes_from(range(SIZE))
    edges_up.add_edges_from((a, b) for a, b in edges if a != b)
    return edges_up


@given(EDGES)
@settings(max_examples=30)
def test_ancestors_agree_with_networkx(edges: list[tuple[int, int]]) -> None:
    hierarchy, up = made(SIZE, edges), graph(edges)
    for row in range(SIZE):
        assert hierarchy.ancestors([row])[0].tolist() == sorted(nx.descendants(up, row))
        assert sorted(hierarchy.parents([row])[0].tolist()) == sorted(up.successors(row))
        assert sorted(hierarchy.children([row])[0].tolist()) == sorted(up.predecessors(row))


@given(EDGES)
def test_a_way_up_goes_from_a_row_to_its_first_parents(edges: list[tuple[int, int]]) -> None:
    hierarchy = made(SIZE, edges)
    for row in range(SIZE):
        way = hierarchy.way_up(row)
        assert way[0] == row
        assert len(set(way)) == len(way)
        for child, parent in itertools.pairwise(way):
            assert parent == hierarchy.parents([child])[0][0]
        last = hierarchy.parents([way[-1]])[0].tolist()
        assert not last or last[0] in way


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

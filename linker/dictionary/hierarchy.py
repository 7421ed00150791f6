"""Parents, ancestors, depth, levels and distances over concept rows; safe where a hierarchy has cycles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from linker.dictionary.columns import Lists

Rows = NDArray[np.int32]


class Hierarchy:
    """A directed graph of `is a` edges between n concepts.

    Args:
        edges: csr_matrix (n, n); entry (child, parent) is 1.
    """

    def __init__(self, edges: csr_matrix) -> None:
        self._up = edges
        self.size = edges.shape[0]

    @classmethod
    def of(cls, size: int, pairs: Iterable[tuple[int, int]]) -> Hierarchy:
        """Make a hierarchy of (child row, parent row) pairs; repeats and self-loops are dropped."""
        distinct = sorted({(child, parent) for child, parent in pairs if child != parent})
        child, parent = (
            np.array(column, np.int32)
            for column in (zip(*distinct, strict=True) if distinct else ((), ()))
        )
        return cls(csr_matrix((np.ones(len(child), np.int8), (child, parent)), shape=(size, size)))

    @cached_property
    def _down(self) -> csr_matrix:
        return csr_matrix(self._up.T)

    @property
    def edges(self) -> int:
        """The number of parent edges."""
        return int(self._up.nnz)

    def parents(self, rows: Sequence[int] | Rows) -> list[Rows]:
        """The direct parents of each row."""
        return _neighbours(self._up, rows)

    def children(self, rows: Sequence[int] | Rows) -> list[Rows]:
        """The direct children of each row."""
        return _neighbours(self._down, rows)

    def steps(self, rows: Sequence[int] | Rows) -> csr_matrix:
        """The least number of steps up from each row to each of its ancestors.

        Returns:
            csr_matrix (len(rows), n) of int32; no entry where the column is no ancestor of the row. A concept on a cycle is not
            its own ancestor.
        """
        rows = np.asarray(rows, np.int32)
        frontier = self._up[rows].astype(np.int32)
        found = frontier.copy()
        step = 1
        while frontier.nnz:
            step += 1
            frontier = (frontier @ self._up).astype(bool).astype(np.int32)
            frontier -= frontier.multiply(found.astype(bool))
            frontier = csr_matrix(frontier)
            frontier.eliminate_zeros()
            found = csr_matrix(found + frontier * step)
        own = csr_matrix(
            (np.ones(len(rows), np.int32), (np.arange(len(rows)), rows)), shape=found.shape
        )
        found = csr_matrix(found - found.multiply(own))
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def ancestors(self, rows: Sequence[int] | Rows) -> list[Rows]:
        """All ancestors of each row, without the row itself, in row order."""
        return [self._above(int(row)) for row in rows]

    def _above(self, row: int) -> Rows:
        indptr, indices = self._up.indptr, self._up.indices
        found, waiting = {row}, [row]
        while waiting:
            child = waiting.pop()
            new = [p for p in indices[indptr[child] : indptr[child + 1]].tolist() if p not in found]
            found.update(new)
            waiting += new
        return np.array(sorted(found - {row}), np.int32)

    def under(self, rows: Sequence[int]) -> csr_matrix:
        """Group all concepts under some: csr_matrix (n, n) of int8, 1 where the column is one of `rows` and the row is it or below it."""
        own = np.asarray(rows, np.int64)
        found = reached = csr_matrix((np.ones(len(own), np.int8), (own, own)), shape=self._up.shape)
        while reached.nnz:
            reached = csr_matrix((self._up @ reached).astype(bool).astype(np.int8))
            reached = csr_matrix(reached - reached.multiply(found))
            reached.eliminate_zeros()
            found = csr_matrix(found + reached)
        return found

    @cached_property
    def roots(self) -> Rows:
        """Rows that have children and no parent."""
        return np.flatnonzero(
            (np.diff(self._up.indptr) == 0) & (np.diff(self._down.indptr) > 0)
        ).astype(np.int32)

    @cached_property
    def top(self) -> frozenset[int]:
        """The row of the root, which is everything's ancestor and says nothing as a hypernym; empty where there are several roots."""
        return frozenset(self.roots.tolist() if len(self.roots) == 1 else ())

    @cached_property
    def depth(self) -> Rows:
        """The least number of steps from a row without parents, (n,); -1 for rows that only a cycle reaches."""
        depth = np.where(np.diff(self._up.indptr) == 0, 0, -1).astype(np.int32)
        frontier = np.flatnonzero(depth == 0)
        level = 0
        while len(frontier):
            level += 1
            below = np.unique(self._down[frontier].indices)
            frontier = below[depth[below] < 0]
            depth[frontier] = level
        return depth

    def levels(self, depth: int, root: int | None = None) -> list[csr_matrix]:
        """Group the concepts below `depth` consecutive levels of a taxonomy under each of these levels (Fivez et al. 2021b, section 4.1).

        The level of a concept is the most steps from the root to it, so that edges which pass a level by are shortcuts; these, and
        edges of cycles, do not count. A concept stands under all that it reaches: on one level under several, or under none.
        Concepts of these levels that nothing below is reached from (dead ends) group nothing.

        Args:
            depth: how many levels.
            root: where levels are counted from; the first level holds its children. None: the root of the hierarchy; of several roots
                the first level holds them.

        Returns:
            For each level, the highest first, csr_matrix (n, n) of int8: (row, group) is 1 where `row` is below all the levels and
            `group` above it on this one.
        """
        up, level = self._acyclic, np.full(self.size, -1, np.int32)
        if root is None and len(self.roots) == 1:
            root = int(self.roots[0])
        frontier, steps = (self.roots, 1) if root is None else (np.array([root], np.int32), 0)
        down = csr_matrix(up.T)
        while len(frontier):
            level[frontier] = steps
            frontier, steps = np.unique(down[frontier].indices), steps + 1
        edges = up.tocoo()
        kept = (level[edges.row] == level[edges.col] + 1) & (level[edges.col] >= 0)
        up = csr_matrix((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=up.shape)
        return [self._below(up, level, k, depth) for k in range(1, depth + 1)]

    @cached_property
    def _acyclic(self) -> csr_matrix:
        """The edges between concepts that do not reach one another."""
        _, part = connected_components(self._up, directed=True, connection="strong")
        edges = self._up.tocoo()
        kept = part[edges.row] != part[edges.col]
        return csr_matrix(
            (edges.data[kept], (edges.row[kept], edges.col[kept])), shape=self._up.shape
        )

    def _below(self, up: csr_matrix, level: Rows, k: int, depth: int) -> csr_matrix:
        """Which concepts below level `depth` reach which ones of level k, all edges leading to the next level."""
        own = np.flatnonzero(level == k)
        reached = csr_matrix((np.ones(len(own), np.int8), (own, own)), shape=up.shape)
        found = csr_matrix(up.shape, dtype=np.int8)
        while reached.nnz:
            k += 1
            reached = csr_matrix((up @ reached).astype(bool).astype(np.int8))
            found = found + reached if k > depth else found
        return csr_matrix(found)

    def distance(self, a: ArrayLike, b: ArrayLike) -> Rows:
        """The least number of edges from a[i] up to a common ancestor (or either of them) and down to b[i]; -1 without one."""
        left, right = (
            self._with_self(np.atleast_1d(np.asarray(rows, np.int32))) for rows in (a, b)
        )
        distances = np.full(left.shape[0], -1, np.int32)
        for i in range(len(distances)):
            x, y = left[[i]], right[[i]]
            _, p, q = np.intersect1d(x.indices, y.indices, assume_unique=True, return_indices=True)
            if len(p):
                distances[i] = (
                    x.data[p] + y.data[q]
                ).min() - 2  # each side counts one step for the concept itself
        return distances

    def _with_self(self, rows: Rows) -> csr_matrix:
        steps = self.steps(rows)
        steps.data += 1
        own = csr_matrix(
            (np.ones(len(rows), np.int32), (np.arange(len(rows)), rows)), shape=steps.shape
        )
        return csr_matrix(steps + own)

    def is_ancestor(self, a: int, b: int) -> bool:
        """Whether row `a` is an ancestor of row `b`."""
        return bool(a in self.ancestors([b])[0])

    def cycles(self) -> list[Rows]:
        """The groups of rows that reach one another; empty for a proper hierarchy."""
        _, labels = connected_components(self._up, directed=True, connection="strong")
        order = np.argsort(labels, kind="stable")
        _, starts, counts = np.unique(labels[order], return_index=True, return_counts=True)
        return [
            order[s : s + c].astype(np.int32) for s, c in zip(starts, counts, strict=True) if c > 1
        ]

    @property
    def lists(self) -> Lists:
        """The rows of the parents of each concept, as a dictionary keeps them."""
        return Lists(self._up.indptr.astype(np.int32), self._up.indices.astype(np.int32))

    @classmethod
    def from_lists(cls, parents: Lists) -> Hierarchy:
        """The hierarchy that `lists` keeps."""
        indptr, indices = parents.indptr, parents.indices
        size = len(indptr) - 1
        edges = csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(size, size))
        edges.check_format(full_check=True)  # compiled code trusts it
        return cls(edges)


def _neighbours(matrix: csr_matrix, rows: Sequence[int] | Rows) -> list[Rows]:
    """The column indices of some rows, without making a matrix of them."""
    return [matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]] for r in rows]

"""The hierarchy of concepts: parents, ancestors, depth, levels and distances.

Concepts are known by their rows. A hierarchy may have cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from linker.dictionary.columns import Lists

Rows = NDArray[np.int32]


class Hierarchy:
    """A directed graph of `is a` edges between n concepts.

    Args:
        edges: sparse matrix (n, n) with 1 at (child, parent).
    """

    def __init__(self, edges: csr_matrix) -> None:
        self._up = edges
        self.size = edges.shape[0]

    @classmethod
    def of(cls, size: int, pairs: Iterable[tuple[int, int]]) -> Hierarchy:
        """Make a hierarchy of edges; repeats and self-loops are dropped.

        Args:
            size: how many concepts there are.
            pairs: (row of the child, row of the parent).
        """
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
        """The minimum number of steps up from each concept to each of its ancestors.

        Returns:
            sparse matrix (len(rows), n) of int32: entry (i, j) is the number of steps from
            `rows[i]` to concept j, without an entry where j is no ancestor. A concept on a cycle
            is not its own ancestor.
        """
        rows = np.asarray(rows, np.int32)
        frontier = self._up[rows].astype(np.int32)
        steps = frontier.copy()
        step = 1
        while frontier.nnz:
            step += 1
            frontier = (frontier @ self._up).astype(bool).astype(np.int32)
            frontier -= frontier.multiply(steps.astype(bool))
            frontier = csr_matrix(frontier)
            frontier.eliminate_zeros()
            steps = csr_matrix(steps + frontier * step)
        steps = csr_matrix(steps - steps.multiply(_marks(rows, self.size)))
        steps.eliminate_zeros()
        steps.sort_indices()
        return steps

    def ancestors(self, rows: Sequence[int] | Rows) -> list[Rows]:
        """All ancestors of each row, without the row itself, in row order."""
        return [self._above(int(row)) for row in rows]

    def _above(self, row: int) -> Rows:
        indptr, indices = self._up.indptr, self._up.indices
        above, waiting = {row}, [row]
        while waiting:
            child = waiting.pop()
            new = [p for p in indices[indptr[child] : indptr[child + 1]].tolist() if p not in above]
            above.update(new)
            waiting += new
        return np.array(sorted(above - {row}), np.int32)

    def way_up(self, row: int) -> list[int]:
        """The rows on a shortest way from a row to a concept without parents, both included.

        From a concept that is below no such concept, but on or below a cycle, it is the row alone.
        """
        child_of, waiting = {row: row}, [row]
        for place in waiting:  # grows while it is read: nearest rows first
            parents = self.parents([place])[0].tolist()
            if not parents:
                way = [place]
                while way[-1] != row:
                    way.append(child_of[way[-1]])
                return way[::-1]
            new = [parent for parent in parents if parent not in child_of]
            child_of |= dict.fromkeys(new, place)
            waiting += new
        return [row]

    def under(self, rows: Sequence[int]) -> csr_matrix:
        """Group concepts by those of some concepts that they are, or stand below.

        Returns:
            sparse matrix (n, n) of int8 with 1 at (concept, group): the group is one of `rows`, and
            the concept is the same or below it.
        """
        groups = np.asarray(rows, np.int64)
        frontier = csr_matrix(
            (np.ones(len(groups), np.int8), (groups, groups)), shape=self._up.shape
        )
        members = frontier
        while frontier.nnz:
            frontier = csr_matrix((self._up @ frontier).astype(bool).astype(np.int8))
            frontier = csr_matrix(frontier - frontier.multiply(members))
            frontier.eliminate_zeros()
            members = csr_matrix(members + frontier)
        return members

    @cached_property
    def roots(self) -> Rows:
        """Rows that have children and no parent."""
        return np.flatnonzero(
            (np.diff(self._up.indptr) == 0) & (np.diff(self._down.indptr) > 0)
        ).astype(np.int32)

    @cached_property
    def top(self) -> frozenset[int]:
        """The row of the root; empty where there are several roots.

        The root is an ancestor of all concepts, so that it says nothing as a hypernym.
        """
        return frozenset(self.roots.tolist() if len(self.roots) == 1 else ())

    @cached_property
    def depth(self) -> Rows:
        """The minimum number of steps from a concept without parents to each concept, (n,).

        It is -1 for concepts that are below no such concept, but on or below a cycle.
        """
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
        """Group concepts by their ancestors on each level of a taxonomy (Fivez et al. 2021b, 4.1).

        Grouped are the concepts below the `depth` highest levels. The level of a concept is the
        maximum number of steps from the root to it. An edge that skips a level is a shortcut and
        does not count, nor does an edge of a cycle. So a concept may have several ancestors on one
        level, or none, and an ancestor that no grouped concept reaches groups nothing.

        Args:
            depth: how many levels.
            root: where levels are counted from; the first level holds its children. None is the
                root of the hierarchy; where there are several roots, they are the first level.

        Returns:
            For each level, the highest first, a sparse matrix (n, n) of int8 with 1 at
            (concept, group): the group is on this level, and above the concept.
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
    def _strong_parts(self) -> NDArray[np.int32]:
        """The strongly connected component of each row."""
        from scipy.sparse.csgraph import connected_components  # slow to import

        part: NDArray[np.int32] = connected_components(
            self._up, directed=True, connection="strong"
        )[1]
        return part

    @cached_property
    def _acyclic(self) -> csr_matrix:
        """The edges between concepts that do not reach one another."""
        part = self._strong_parts
        edges = self._up.tocoo()
        kept = part[edges.row] != part[edges.col]
        return csr_matrix(
            (edges.data[kept], (edges.row[kept], edges.col[kept])), shape=self._up.shape
        )

    def _below(self, up: csr_matrix, level: Rows, k: int, depth: int) -> csr_matrix:
        """The concepts below level `depth` that reach each concept of level k.

        Args:
            up: the edges, each from one level to the next higher one.
            level: of each concept.
            k: the level of the groups.
            depth: the lowest level of groups.
        """
        groups = np.flatnonzero(level == k)
        frontier = csr_matrix((np.ones(len(groups), np.int8), (groups, groups)), shape=up.shape)
        members = csr_matrix(up.shape, dtype=np.int8)
        while frontier.nnz:
            k += 1
            frontier = csr_matrix((up @ frontier).astype(bool).astype(np.int8))
            members = members + frontier if k > depth else members
        return csr_matrix(members)

    def distance(self, a: ArrayLike, b: ArrayLike) -> Rows:
        """The minimum number of edges between concepts, up from one and down to the other.

        Args:
            a: rows of concepts.
            b: as many rows.

        Returns:
            The distance of a[i] and b[i] for each i, by way of a common ancestor or of one of the
            two; -1 where there is none.
        """
        left, right = (
            self._with_self(np.atleast_1d(np.asarray(rows, np.int32))) for rows in (a, b)
        )
        distances = np.full(left.shape[0], -1, np.int32)
        for i in range(len(distances)):
            x, y = left[[i]], right[[i]]
            _, p, q = np.intersect1d(x.indices, y.indices, assume_unique=True, return_indices=True)
            if len(p):
                distances[i] = (x.data[p] + y.data[q]).min() - 2  # `_with_self` adds 1 to each
        return distances

    def _with_self(self, rows: Rows) -> csr_matrix:
        """The steps up, each plus 1, and from each concept to itself 1 (0 would be no entry)."""
        steps = self.steps(rows)
        steps.data += 1
        return csr_matrix(steps + _marks(rows, self.size))

    def is_ancestor(self, a: int, b: int) -> bool:
        """Whether row `a` is an ancestor of row `b`."""
        return bool(a in self.ancestors([b])[0])

    def cycles(self) -> list[Rows]:
        """The groups of rows that reach one another; empty for a proper hierarchy."""
        part = self._strong_parts
        order = np.argsort(part, kind="stable")
        _, starts, counts = np.unique(part[order], return_index=True, return_counts=True)
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


def _marks(rows: Rows, size: int) -> csr_matrix:
    """A sparse matrix (len(rows), size) with 1 at (i, rows[i])."""
    values = np.ones(len(rows), np.int32)
    return csr_matrix((values, (np.arange(len(rows)), rows)), shape=(len(rows), size))


def _neighbours(matrix: csr_matrix, rows: Sequence[int] | Rows) -> list[Rows]:
    """The column indices of some rows, without making a matrix of them."""
    return [matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]] for r in rows]

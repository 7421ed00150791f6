"""The hierarchy of concepts: parents, ancestors, depth and levels, and selections by it.

Concepts are known by their rows. A hierarchy may have cycles.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker.dictionary.columns import RaggedArray
from linker.errors import LinkerError, shorten
from linker.ids import namespace, prefixes
from linker.records import Selection

if TYPE_CHECKING:
    from linker.dictionary.dictionary import Dictionary

logger = logging.getLogger(__name__)

_LABELS = 300  # characters of the types or prefixes that a message lists

Rows = NDArray[np.int32]


def parent_lists(size: int, pairs: Iterable[tuple[int, int]]) -> RaggedArray:
    """The parents of each concept, given the edges; repeats and self-loops are dropped.

    Args:
        size: how many concepts there are.
        pairs: (row of the child, row of the parent).
    """
    distinct = sorted({(child, parent) for child, parent in pairs if child != parent})
    children, parents = np.array(distinct, np.int32).reshape(-1, 2).T
    starts = np.searchsorted(children, np.arange(size + 1)).astype(np.int32)
    return RaggedArray(starts, np.ascontiguousarray(parents))


def borrowed_parents(
    own: RaggedArray,
    lent: RaggedArray,
    lender_rows: Callable[[int], Sequence[int]],
    own_rows: Callable[[int], Sequence[int]],
) -> RaggedArray:
    """The parents of concepts, taken from another hierarchy where it has the concept.

    A lent parent that is not known here, or that is the concept itself under another id, is
    replaced by its own parents.

    Args:
        own: the parents of the concepts.
        lent: those of the concepts of the other hierarchy.
        lender_rows: gives the rows in the other hierarchy of a concept.
        own_rows: gives the rows here of a concept of the other hierarchy.
    """
    pairs: set[tuple[int, int]] = set()
    parents_of = lent.tolist()
    for row, parents in enumerate(own.tolist()):
        lenders = lender_rows(row)
        if not lenders:
            pairs.update((row, parent) for parent in parents)
        for lender in lenders:
            seen, waiting = {lender}, [*parents_of[lender]]
            while waiting:
                parent = waiting.pop()
                if parent not in seen:
                    seen.add(parent)
                    known = [above for above in own_rows(parent) if above != row]
                    pairs.update((row, above) for above in known)
                    waiting += [] if known else parents_of[parent]
    return parent_lists(len(own.sizes), pairs)


class Hierarchy:
    """A directed graph of `is a` edges between concepts.

    Args:
        parents: the rows of the parents of each concept.
    """

    def __init__(self, parents: RaggedArray) -> None:
        indptr, indices = parents.indptr, parents.indices
        self.size, self.edges = len(indptr) - 1, len(indices)
        shape, ones = (self.size, self.size), np.ones(self.edges, np.int8)
        self._up = csr_matrix((ones, indices, indptr), shape=shape)
        self._up.check_format(full_check=True)  # compiled code trusts it

    @cached_property
    def _down(self) -> csr_matrix:
        return csr_matrix(self._up.T)

    def parents(self, rows: Sequence[int] | Rows) -> list[Rows]:
        """The direct parents of each row."""
        return _neighbours(self._up, rows)

    def children(self, rows: Sequence[int] | Rows) -> list[Rows]:
        """The direct children of each row."""
        return _neighbours(self._down, rows)

    def ancestors(self, rows: Sequence[int] | Rows) -> list[Rows]:
        """All ancestors of each row, without the row itself, in row order."""
        result = []
        for row in (int(row) for row in rows):
            above, waiting = {row}, [row]
            while waiting:
                new = {*self.parents([waiting.pop()])[0].tolist()} - above
                above |= new
                waiting += new
            result.append(np.array(sorted(above - {row}), np.int32))
        return result

    def way_up(self, row: int) -> list[int]:
        """The rows on the way from a row by first parents to a concept without parents, with both.

        On a cycle it ends where it would begin again.
        """
        way = [row]
        while (above := self.parents(way[-1:])[0].tolist()) and above[0] not in way:
            way.append(above[0])
        return way

    def under(self, rows: Sequence[int]) -> csr_matrix:
        """Group concepts by those of some concepts that they are, or stand below.

        Returns:
            sparse matrix (n, n) of int8 with 1 at (concept, group): the group is one of `rows`, and
            the concept is the same or below it.
        """
        return _under(self._up, rows)

    @cached_property
    def closure(self) -> csr_matrix:
        """The matrix of `under` for all rows: 1 at (concept, the same or one above it)."""
        return self.under(range(self.size))

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
        edges, level = self._up.tocoo(), np.full(self.size, -1, np.int32)
        acyclic = self._strong_parts[edges.row] != self._strong_parts[edges.col]
        children, parents = edges.row[acyclic], edges.col[acyclic]
        if root is None and len(self.roots) == 1:
            root = int(self.roots[0])
        frontier, steps = (self.roots, 1) if root is None else (np.array([root], np.int32), 0)
        down = _graph(parents, children, self.size)
        while len(frontier):
            level[frontier] = steps
            frontier, steps = np.unique(down[frontier].indices), steps + 1
        kept = (level[children] == level[parents] + 1) & (level[parents] >= 0)
        up = _graph(children[kept], parents[kept], self.size)
        deeper = np.flatnonzero(level > depth)
        grouped = _graph(deeper, deeper, self.size)
        groups = (np.flatnonzero(level == k) for k in range(1, depth + 1))
        return [csr_matrix(grouped @ _under(up, rows)) for rows in groups]

    @cached_property
    def _strong_parts(self) -> NDArray[np.int32]:
        """The strongly connected component of each row."""
        from scipy.sparse.csgraph import connected_components  # slow to import

        part: NDArray[np.int32] = connected_components(
            self._up, directed=True, connection="strong"
        )[1]
        return part

    def cycles(self) -> list[Rows]:
        """The groups of rows that reach one another; empty for a proper hierarchy."""
        part = self._strong_parts
        order = np.argsort(part, kind="stable")
        _, starts, counts = np.unique(part[order], return_index=True, return_counts=True)
        return [
            order[s : s + c].astype(np.int32) for s, c in zip(starts, counts, strict=True) if c > 1
        ]


def _graph(rows: NDArray[Any], columns: NDArray[Any], size: int) -> csr_matrix:
    """The sparse matrix (size, size) of int8 with 1 at each pair of row and column."""
    return csr_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(size, size))


def _under(up: csr_matrix, rows: Sequence[int] | NDArray[Any]) -> csr_matrix:
    """As `Hierarchy.under`, by the edges from children up to parents."""
    groups = np.asarray(rows, np.int64)
    members = frontier = _graph(groups, groups, up.shape[0])
    while frontier.nnz:
        frontier = csr_matrix((up @ frontier).astype(bool).astype(np.int8))
        frontier = csr_matrix(frontier - frontier.multiply(members))
        frontier.eliminate_zeros()
        members = csr_matrix(members + frontier)
    return members


def _neighbours(matrix: csr_matrix, rows: Sequence[int] | Rows) -> list[Rows]:
    """The column indices of some rows, without making a matrix of them."""
    return [matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]] for r in rows]


Mask = NDArray[np.bool_]
"""Whether each concept of a dictionary belongs to a part of it, (concepts,)."""


def selected(dictionary: Dictionary, selections: Sequence[Selection], linkable: Mask) -> Mask:
    """Find the concepts that fit all selections.

    An alternative, obsolete or merged id stands for the concepts that have its place now, and a
    warning says so. A hierarchy with a cycle has all concepts of the cycle under each of them.
    Types are compared as they are written, prefixes without case and colon, as
    `Dictionary.read` does.

    Args:
        dictionary: the dictionary.
        selections: what is asked for.
        linkable: the concepts to choose from.

    Raises:
        LinkerError: an id, type or prefix is not there, an id stands for no current concept, or no
            concept fits all selections.
    """
    fitting = linkable.copy()
    for selection in selections:
        if selection.under:
            fitting &= _below(dictionary, selection.under)
        if selection.not_under:
            fitting &= ~_below(dictionary, selection.not_under)
        if selection.types:
            column = dictionary.columns.types
            has = [{dictionary.labels[label] for label in labels} for labels in column.tolist()]
            fitting &= _having(selection.types, has, linkable, "of type")
        if selection.namespaces:
            has = [{namespace(identifier).upper()} for identifier in dictionary.ids]
            wanted = sorted(prefixes(selection.namespaces))
            fitting &= _having(wanted, has, linkable, "with the prefix")
    if not fitting.any():
        raise LinkerError("the selection is empty: no concept fits all of it; select more")
    return fitting


def _below(dictionary: Dictionary, identifiers: Sequence[str]) -> Mask:
    """The concepts that ids stand for, and those below them."""
    rows: set[int] = set()
    for text in identifiers:
        identifier = dictionary.identify(text) or text
        if not (current := dictionary.rows(identifier)):
            known = identifier in dictionary.old_ids
            state = "is obsolete, and nothing replaces it" if known else "is not in the dictionary"
            raise LinkerError(f"{shorten(identifier)} {state}; select by the id of a concept")
        ids = ", ".join(dictionary.ids[row] for row in current)
        if ids != identifier:
            logger.warning("%s is an alternative or old id; it stands for %s", identifier, ids)
        rows.update(current)
    below: Mask = np.diff(dictionary.hierarchy.under(sorted(rows)).indptr) > 0
    return below


def _having(wanted: Sequence[str], has: Sequence[set[str]], linkable: Mask, what: str) -> Mask:
    """The concepts that have one of some labels; one that no linkable concept has is refused."""
    there = set().union(*itertools.compress(has, linkable))
    if unknown := sorted({*wanted} - there):
        raise LinkerError(
            f"the model has no concept {what} {', '.join(label or 'none' for label in unknown)}; "
            f"it has: {shorten(', '.join(sorted(there)), _LABELS) or 'none'}"
        )
    return np.fromiter((not labels.isdisjoint(wanted) for labels in has), bool, len(has))

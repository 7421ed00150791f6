"""Names with the classes that they belong to, as metric learning sees them.

A class is a concept, an ancestor on one level of a taxonomy, or one of the largest parts of a
hierarchy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker.dictionary import NameTable
from linker.dictionary.hierarchy import Hierarchy
from linker.errors import LinkerError

_AT_ONCE = 1000  # names that are compared with others at once

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Classes:
    """Names, each of one class. A text that belongs to several classes stands once for each."""

    texts: Sequence[str]  # (names,)
    labels: Rows  # (names,) the class of each name, from 0 to `count` - 1
    ids: Sequence[str] = ()  # (count,) of the classes, where they are known

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.labels.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: Rows) -> Classes:
        """Some names, given by their rows, with the labels that they have."""
        return Classes([self.texts[row] for row in rows], self.labels[rows], self.ids)

    def relabelled(self, rows: Rows) -> Classes:
        """Some names, with their classes numbered anew from 0, so that none is empty."""
        kept, labels = np.unique(self.labels[rows], return_inverse=True)
        return Classes(
            [self.texts[row] for row in rows],
            labels.astype(np.int64),
            [self.ids[label] for label in kept] if self.ids else (),
        )

    @cached_property
    def members(self) -> tuple[Rows, Rows]:
        """The rows of the names, class after class, and where each class begins.

        Their shapes are (names,) and (count + 1,).
        """
        return np.argsort(self.labels, kind="stable"), np.searchsorted(
            np.sort(self.labels), np.arange(self.count + 1)
        )

    def of(self, labels: Rows) -> list[Rows]:
        """The rows of the names of each of some classes; none for a class that is not there."""
        order, start = self.members
        count = len(start) - 1
        return [
            order[start[label] : start[label + 1]] if label < count else order[:0]
            for label in labels.tolist()
        ]

    @cached_property
    def spelling(self) -> Rows:
        """The number of each name's text, (names,): names with equal texts have the same."""
        return _codes(self.texts)

    @property
    def sizes(self) -> Rows:
        """The number of names of each class, (count,)."""
        return np.bincount(self.labels, minlength=self.count)

    @cached_property
    def _labels_of(self) -> Rows:
        """All classes of each text, by its number: (texts, most classes of one).

        The rows of texts with fewer classes are filled up with -1.
        """
        order = np.argsort(self.spelling, kind="stable")
        counts = np.bincount(self.spelling)
        labels = np.full((len(counts), int(counts.max(initial=0))), -1, np.int64)
        labels[np.arange(labels.shape[1]) < counts[:, None]] = self.labels[order]
        return labels

    def alike(self, names: Rows, others: Rows) -> NDArray[np.bool_]:
        """Whether names share a class with others, by any of the classes of their texts.

        Args:
            names: rows (n,).
            others: rows (n, k), to be compared with each of the names.

        Returns:
            (n, k), true where the two share a class.
        """
        labels = self._labels_of
        if labels.shape[1] == 1:
            equal: NDArray[np.bool_] = self.labels[names, None] == self.labels[others]
            return equal
        shared = np.empty(others.shape, bool)
        for i in range(0, len(names), _AT_ONCE):
            part = slice(i, i + _AT_ONCE)
            left, right = labels[self.spelling[names[part]]], labels[self.spelling[others[part]]]
            left, right = left[:, None, :, None], right[:, :, None]
            shared[part] = ((left == right) & (left >= 0)).any((2, 3))
        return shared


def of_concepts(table: NameTable, ids: Sequence[str] = ()) -> Classes:
    """The names that stand for one concept only; the concepts are the classes.

    Of names that are the same words in another order the first is taken: to a bag of words they
    are one.

    Args:
        table: the names of a dictionary.
        ids: of the concepts, by row.
    """
    single = np.flatnonzero(np.diff(table.indptr) == 1)
    codes = bags(list(table.texts.take(single)))
    rows = single[np.sort(np.unique(codes, return_index=True)[1])]
    concepts, labels = np.unique(table.concepts[table.indptr[rows]], return_inverse=True)
    return Classes(
        list(table.texts.take(rows)),
        labels.astype(np.int64),
        [ids[concept] for concept in concepts] if ids else (),
    )


def of_groups(table: NameTable, groups: csr_matrix, ids: Sequence[str] = ()) -> Classes:
    """The names of the concepts of each group; the groups are the classes.

    Of names of one group that are the same words in another order the first is taken.

    Args:
        table: the names of a dictionary.
        groups: sparse matrix (concepts, concepts) with 1 at (concept, group).
        ids: of the concepts, by row; without them the ids of the classes are the groups' rows.
    """
    shape, values = (len(table), groups.shape[0]), np.ones(len(table.concepts), np.int32)
    members = csr_matrix((values, table.concepts, table.indptr), shape=shape) @ groups
    rows, group = (part.astype(np.int64) for part in csr_matrix(members).nonzero())
    order = np.lexsort((group, rows))
    rows, group = rows[order], group[order]
    kinds = group * (len(table) + 1) + bags(list(table.texts))[rows]
    first = np.sort(np.unique(kinds, return_index=True)[1])
    names = Classes(
        list(table.texts.take(rows[first])),
        group[first],
        ids or [str(row) for row in range(groups.shape[0])],
    )
    return names.relabelled(np.arange(len(names)))


def of_level(
    table: NameTable,
    hierarchy: Hierarchy,
    level: int,
    root: int | None = None,
    ids: Sequence[str] = (),
) -> Classes:
    """The names of the concepts below a level of a taxonomy (Fivez et al. 2021b, section 4.2).

    The concepts of the level are the classes; a name is in those above its concepts.

    Args:
        table: the names of a dictionary.
        hierarchy: of its concepts.
        level: counted from `root`, whose children are level 1; see `Hierarchy.levels`.
        root: the row of a concept; None is the root of the hierarchy.
        ids: of the concepts, by row.

    Raises:
        LinkerError: fewer than two concepts of the level have names below them.
    """
    names = of_groups(table, hierarchy.levels(level, root)[-1], ids)
    return _several(names, f"concept(s) on level {level}", "ground.level")


def of_parts(
    table: NameTable,
    hierarchy: Hierarchy,
    most: int,
    root: int | None = None,
    ids: Sequence[str] = (),
) -> Classes:
    """The names of the largest parts of a hierarchy (Fivez et al. 2021c, section 2.3).

    A part is a child of the root with all concepts below it, unless the child is also the parent
    of another one. The parts are the classes. First the largest are chosen, then the names that
    belong to several of them are left out.

    Args:
        table: the names of a dictionary.
        hierarchy: of its concepts.
        most: how many parts are chosen at most.
        root: the row of a concept; None is the root of the hierarchy. Where there are several
            roots, they are the parts.
        ids: of the concepts, by row.

    Raises:
        LinkerError: there are fewer than two parts with names of their own.
    """
    if root is None and len(hierarchy.roots) == 1:
        root = int(hierarchy.roots[0])
    children = hierarchy.roots if root is None else hierarchy.children([root])[0]
    above = {parent for parents in hierarchy.parents(children) for parent in parents.tolist()}
    parts = [child for child in children.tolist() if child not in above]
    names = of_groups(table, hierarchy.under(parts), ids)
    largest = np.argsort(-names.sizes, kind="stable")[:most]
    names = names[np.flatnonzero(np.isin(names.labels, largest))]
    if len(names):
        is_single = np.bincount(names.spelling)[names.spelling] == 1
        names = names.relabelled(np.flatnonzero(is_single))
    return _several(names, "part(s) below its root", "ground.parts")


def _several(names: Classes, what: str, option: str) -> Classes:
    """Names, unless they are of one class, or none."""
    if names.count > 1:
        return names
    raise LinkerError(
        f"the hierarchy has {names.count} {what} with names of their own; expected: two or more; "
        f"take another {option} or ground.root, or a dictionary with more of a hierarchy "
        "(--hierarchy)"
    )


def retrieval(queries: Classes, ranked: Classes) -> tuple[list[str], list[str], list[Rows]]:
    """Prepare a search for names of the same class, and its right answers.

    Args:
        queries: the names that are searched for.
        ranked: the names that are searched in.

    Returns:
        The distinct texts that are searched for, the distinct texts that are searched in, and for
        each of the former the rows of the latter that share a class with it.
    """
    right: dict[str, list[Rows]] = {}
    for text, members in zip(queries.texts, ranked.of(queries.labels), strict=True):
        right.setdefault(text, []).append(ranked.spelling[members])
    return (
        list(right),
        list(dict.fromkeys(ranked.texts)),
        [np.unique(np.concatenate(rows)) for rows in right.values()],
    )


def bags(texts: Sequence[str]) -> Rows:
    """A number for each text, the same for texts of the same words in any order."""
    return _codes([" ".join(sorted(text.split())) for text in texts])


def _codes(texts: Sequence[str]) -> Rows:
    """A number for each text, the same for equal ones."""
    codes: dict[str, int] = {}
    return np.fromiter((codes.setdefault(text, len(codes)) for text in texts), np.int64, len(texts))


def concept_means(vectors: Floats, labels: Rows) -> Floats:
    """The mean of the vectors of each class; a name without a vector, all zeros, does not count.

    Args:
        vectors: (names, dim).
        labels: (names,) the class of each name.

    Returns:
        float32 (classes, dim).
    """
    sums = np.zeros((int(labels.max(initial=-1)) + 1, vectors.shape[1]), np.float64)
    np.add.at(sums, labels, vectors)
    counts = np.bincount(labels[vectors.any(axis=1)], minlength=len(sums))
    means: Floats = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means

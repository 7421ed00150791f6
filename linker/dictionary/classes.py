"""Names and the classes they belong to: concepts, what stands above them on a level of a taxonomy, or the largest parts of a hierarchy."""

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
    """Names, each of one class: `texts` and `labels` (n,), of 0 to `count` - 1. A text of several classes stands once for each.

    `ids` are those of the classes, (count,) where they are known.
    """

    texts: Sequence[str]
    labels: Rows
    ids: Sequence[str] = ()

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.labels.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: Rows) -> Classes:
        """Some names, with the labels that they have."""
        return Classes([self.texts[row] for row in rows], self.labels[rows], self.ids)

    def relabelled(self, rows: Rows) -> Classes:
        """Some names, with labels from 0 on."""
        labels, own = np.unique(self.labels[rows], return_inverse=True)
        return Classes(
            [self.texts[row] for row in rows],
            own.astype(np.int64),
            [self.ids[i] for i in labels] if self.ids else (),
        )

    @cached_property
    def members(self) -> tuple[Rows, Rows]:
        """The names class by class, and where each class begins: (n,) and (count + 1,)."""
        return np.argsort(self.labels, kind="stable"), np.searchsorted(
            np.sort(self.labels), np.arange(self.count + 1)
        )

    def of(self, labels: Rows) -> list[Rows]:
        """The names of each of some classes; none of a class that there is not."""
        order, start = self.members
        count = len(start) - 1
        return [
            order[start[label] : start[label + 1]] if label < count else order[:0]
            for label in labels.tolist()
        ]

    @cached_property
    def spelling(self) -> Rows:
        """A number for each name, the same for equal texts, (n,)."""
        return _codes(self.texts)

    @property
    def sizes(self) -> Rows:
        """How many names each class has, (count,)."""
        return np.bincount(self.labels, minlength=self.count)

    @cached_property
    def _labels_of(self) -> Rows:
        """All classes of each spelling, filled up with -1: (spellings, most classes of one)."""
        order = np.argsort(self.spelling, kind="stable")
        count = np.bincount(self.spelling)
        found = np.full((len(count), int(count.max(initial=0))), -1, np.int64)
        found[np.arange(found.shape[1]) < count[:, None]] = self.labels[order]
        return found

    def alike(self, names: Rows, others: Rows) -> NDArray[np.bool_]:
        """Whether each of some names (n,) shares a class with each of its others (n, k), also by a second class of one of them: (n, k)."""
        labels = self._labels_of
        if labels.shape[1] == 1:
            shared: NDArray[np.bool_] = self.labels[names, None] == self.labels[others]
            return shared
        made = np.empty(others.shape, bool)
        for i in range(0, len(names), _AT_ONCE):
            part = slice(i, i + _AT_ONCE)
            own, theirs = labels[self.spelling[names[part]]], labels[self.spelling[others[part]]]
            made[part] = (
                (own[:, None, :, None] == theirs[:, :, None]) & (own >= 0)[:, None, :, None]
            ).any((2, 3))
        return made


def of_concepts(table: NameTable, ids: Sequence[str] = ()) -> Classes:
    """The names of one concept. Of names that are the same words in another order the first is taken: to a bag of words they are one.

    Args:
        ids: of the concepts, by row.
    """
    single = np.flatnonzero(np.diff(table.indptr) == 1)
    single = single[[table.texts[int(row)] != "" for row in single]]
    codes = bags([table.texts[int(row)] for row in single])
    rows = single[np.sort(np.unique(codes, return_index=True)[1])]
    concepts, labels = np.unique(table.concepts[table.indptr[rows]], return_inverse=True)
    return Classes(
        [table.texts[int(row)] for row in rows],
        labels.astype(np.int64),
        [ids[c] for c in concepts] if ids else (),
    )


def of_groups(table: NameTable, groups: csr_matrix, ids: Sequence[str] = ()) -> Classes:
    """The names of the concepts of each group; of names of a group that are the same words in another order the first.

    Args:
        groups: (concepts, concepts), 1 where the column is a group of the row.
        ids: of the concepts, by row; without them the columns are the ids.
    """
    shape = len(table), groups.shape[0]
    member = (
        csr_matrix(
            (np.ones(len(table.concepts), np.int32), table.concepts, table.indptr), shape=shape
        )
        @ groups
    )
    rows, group = (part.astype(np.int64) for part in csr_matrix(member).nonzero())
    kept = np.array([table.texts[int(row)] != "" for row in rows], bool)
    rows, group = rows[kept], group[kept]
    order = np.lexsort((group, rows))
    rows, group = rows[order], group[order]
    kinds = group * (len(table) + 1) + bags(table.texts)[rows]
    first = np.sort(np.unique(kinds, return_index=True)[1])
    made = Classes(
        [table.texts[int(row)] for row in rows[first]],
        group[first],
        ids or [str(row) for row in range(groups.shape[0])],
    )
    return made.relabelled(np.arange(len(made)))


def of_level(
    table: NameTable,
    hierarchy: Hierarchy,
    level: int,
    root: int | None = None,
    ids: Sequence[str] = (),
) -> Classes:
    """The names of the concepts below a level of the taxonomy, each in the classes above it (Fivez et al. 2021b, section 4.2).

    Args:
        level: counted from `root`, whose children are level 1; see `Hierarchy.levels`.
        ids: of the concepts, by row.

    Raises:
        LinkerError: the hierarchy does not reach below the level, or all of it stands under one concept of the level.
    """
    made = of_groups(table, hierarchy.levels(level, root)[-1], ids)
    if made.count < 2:
        deep = (
            k
            for k in range(level - 1, 0, -1)
            if of_groups(table, hierarchy.levels(k, root)[-1], ids).count > 1
        )
        remedy = (
            f"set ground.level={k}, the deepest that has, or take"
            if (k := next(deep, 0))
            else "take"
        )
        raise LinkerError(
            f"the hierarchy has {_counted(made.count, 'concept')} on level {level} with names below; expected: two or more; "
            f"{remedy} another ground.root, or a dictionary with more of a hierarchy (--hierarchy)"
        )
    return made


def of_parts(
    table: NameTable,
    hierarchy: Hierarchy,
    most: int,
    root: int | None = None,
    ids: Sequence[str] = (),
) -> Classes:
    """The names of the largest parts of a hierarchy: of a child of the root and of all below it (Fivez et al. 2021c, section 2.3).

    A child that is the parent of another one is no part. Names of several parts are left out, once the largest are chosen.

    Args:
        most: parts.
        root: None: the root of the hierarchy; of several roots these are the parts.
        ids: of the concepts, by row.

    Raises:
        LinkerError: there are fewer than two parts with names of their own.
    """
    if root is None and len(hierarchy.roots) == 1:
        root = int(hierarchy.roots[0])
    children = hierarchy.roots if root is None else hierarchy.children([root])[0]
    above = {parent for parents in hierarchy.parents(children) for parent in parents.tolist()}
    parts = [child for child in children.tolist() if child not in above]
    groups = hierarchy.under(parts)
    names = of_groups(table, groups, ids)
    largest = np.argsort(-names.sizes, kind="stable")[:most]
    names = names[np.flatnonzero(np.isin(names.labels, largest))]
    names = (
        names.relabelled(np.flatnonzero(np.bincount(names.spelling)[names.spelling] == 1))
        if len(names)
        else names
    )
    if names.count < 2:
        raise LinkerError(
            f"the hierarchy has {_counted(names.count, 'part')} below its root with names of their own; expected: two or more; "
            "give a dictionary with a hierarchy (--hierarchy), or another ground.root"
        )
    return names


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def retrieval(asked: Classes, ranked: Classes) -> tuple[list[str], list[str], list[Rows]]:
    """What each name is to find among others: the names that share a class with it.

    Returns:
        The distinct texts of both, and for each text of the first the rows among the second that are right.
    """
    right: dict[str, list[Rows]] = {}
    for text, own in zip(asked.texts, ranked.of(asked.labels), strict=True):
        right.setdefault(text, []).append(ranked.spelling[own])
    return (
        list(right),
        list(dict.fromkeys(ranked.texts)),
        [np.unique(np.concatenate(some)) for some in right.values()],
    )


def bags(texts: Sequence[str]) -> Rows:
    """A number for each text, the same for texts of the same words in any order."""
    return _codes([" ".join(sorted(text.split())) for text in texts])


def _codes(texts: Sequence[str]) -> Rows:
    """A number for each text, the same for equal ones."""
    codes: dict[str, int] = {}
    return np.fromiter((codes.setdefault(text, len(codes)) for text in texts), np.int64, len(texts))

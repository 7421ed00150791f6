"""The arrays of a dictionary: three tables, of concepts, of names and of old ids.

A row of a table is known by its number, from 0. A label (a semantic type, a source, a language) is
a number too: its place in the dictionary's list of labels.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linker.io import persistence
from linker.io.persistence import Strings
from linker.records import NAME_KINDS

ALTERNATIVE, OBSOLETE, MERGED = range(3)  # what an old id is
XREF_SEPARATOR = "\x1f"  # a reference may hold any visible sign
TRAINING = NAME_KINDS.index("training")
NAME_DTYPES = {  # of the columns that all names have
    "concept": np.int32,
    "kind": np.uint8,
    "source": np.int32,
    "language": np.int32,
    "case": np.bool_,
}

Arrays = Mapping[str, NDArray[Any]]  # what is saved: file name without `.npy` -> array
Annotations = Counter[tuple[str, int]]  # (text of a mention, row of its concept) -> how often


@dataclass(frozen=True, slots=True)
class RaggedArray:
    """A list of numbers for each row of a table, one behind another in one array."""

    indptr: NDArray[np.integer[Any]]  # (rows + 1,) where each list begins, and the last one ends
    indices: NDArray[np.int32]  # the numbers of all lists

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> RaggedArray:
        """Put lists one behind another."""
        return cls(
            np.cumsum([0, *map(len, lists)], dtype=np.int64),
            np.array([number for numbers in lists for number in numbers], np.int32),
        )

    @classmethod
    def grouped(cls, rows: int, owners: ArrayLike, numbers: ArrayLike) -> RaggedArray:
        """The distinct numbers of each owner, a row, in the order in which they first stand."""
        owner, number = np.asarray(owners, np.int64), np.asarray(numbers, np.int64)
        _, first = np.unique(owner * (number.max(initial=0) + 1) + number, return_index=True)
        first.sort()
        owner, number = owner[first], number[first]
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(rows + 1))
        return cls(starts, number[order].astype(np.int32))

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        return self.indices[self.indptr[row] : self.indptr[row + 1]]

    def tolist(self) -> list[list[int]]:
        """The numbers of each list."""
        starts, numbers = self.indptr.tolist(), self.indices.tolist()
        return [numbers[start:end] for start, end in itertools.pairwise(starts)]

    @property
    def sizes(self) -> NDArray[np.integer[Any]]:
        """How many numbers each list has, (rows,)."""
        return np.diff(self.indptr)

    def check(self, rows: int, limit: int) -> None:
        """Raise ValueError where these are not `rows` lists of numbers from 0 to below `limit`."""
        persistence.check_lists(self.indptr, self.indices, rows, limit)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays to save under `name`."""
        return {f"{name}.indptr": self.indptr, f"{name}.indices": self.indices}

    @classmethod
    def from_arrays(cls, arrays: Arrays, name: str) -> RaggedArray:
        """The lists saved under `name`."""
        return cls(arrays[f"{name}.indptr"], arrays[f"{name}.indices"])


def ranges(starts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.int64]:
    """The numbers of several ranges, one range behind another."""
    shift: NDArray[np.int64] = np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
    return np.arange(sizes.sum()) + shift


@dataclass(frozen=True, slots=True)
class NameColumns:
    """The names of all concepts. A text that names two concepts stands in two rows."""

    texts: Strings  # as their source writes them
    concept: NDArray[np.int32]  # row of the concept
    kind: NDArray[np.uint8]  # place in NAME_KINDS
    source: NDArray[np.int32]  # label
    language: NDArray[np.int32]  # label
    case: NDArray[np.bool_]  # whether capitals count, as in "ALL"
    annotated: NDArray[np.integer[Any]] | None = None
    """How often mentions were annotated with the concept and equal the name in normal form."""
    lent: NDArray[np.bool_] | None = None
    """Whether another vocabulary lent the name; None where no name is lent."""

    def _columns(self) -> dict[str, NDArray[Any]]:
        """The columns beside the texts, by their names."""
        columns = {name: getattr(self, name) for name in (*NAME_DTYPES, "annotated", "lent")}
        return {name: column for name, column in columns.items() if column is not None}

    def append(
        self,
        texts: Sequence[str],
        concept: ArrayLike,
        kind: ArrayLike,
        source: ArrayLike = 0,
        lent: bool = False,
    ) -> NameColumns:
        """The names with more of them behind, of which the language is not known.

        Args:
            texts: the names to append.
            concept: the row of the concept of each.
            kind: of each, a place in NAME_KINDS, or one for all.
            source: of each, a label, or one for all.
            lent: whether another vocabulary lent them.
        """
        columns = self._columns()
        if lent:
            columns.setdefault("lent", np.zeros(len(self.texts), bool))
        given = {"concept": concept, "kind": kind, "source": source, "lent": lent}
        for name, column in columns.items():
            values = np.asarray(given.get(name, 0), column.dtype)
            columns[name] = np.concatenate([column, np.broadcast_to(values, (len(texts),))])
        return NameColumns(self.texts.extended(texts), **columns)

    def take(self, rows: NDArray[np.int64]) -> NameColumns:
        """Some of the names, or all in another order, given their rows."""
        columns = {name: column[rows] for name, column in self._columns().items()}
        return NameColumns(self.texts.take(rows), **columns)

    def check(self, concepts: int, labels: int) -> None:
        """Raise ValueError where columns do not fit together, or name rows that are not there."""
        self.texts.check()
        limits = {
            "concept": concepts,
            "source": labels,
            "language": labels,
            "kind": len(NAME_KINDS),
        }
        types = {"case": "b", "annotated": "i", "lent": "b"}
        for name, column in self._columns().items():
            if name in limits:
                _check_numbers(column, len(self.texts), limits[name])
            elif column.shape != (len(self.texts),) or column.dtype.kind != types[name]:
                raise ValueError(f"name.{name} does not fit the names")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        columns = {f"name.{name}": column for name, column in self._columns().items()}
        return self.texts.arrays("name") | columns

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> NameColumns:
        """The columns saved by `arrays`."""
        columns = {name: arrays[f"name.{name}"] for name in NAME_DTYPES}
        return cls(
            Strings.from_arrays(arrays, "name"),
            **columns,
            annotated=arrays.get("name.annotated"),
            lent=arrays.get("name.lent"),
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """The concepts, with the tables of their names and of old ids."""

    ids: Strings  # CURIEs
    id_rank: NDArray[np.int32]  # place in the order of ids
    preferred: NDArray[np.int32]  # row of the preferred name
    definitions: Strings
    xrefs: Strings  # references to other vocabularies, joined by XREF_SEPARATOR
    types: RaggedArray  # labels of the semantic types
    parents: RaggedArray  # rows of the parents
    names: NameColumns
    # alternative, obsolete and merged ids, which are no concepts of their own:
    old_ids: Strings  # CURIEs
    old_status: NDArray[np.uint8]  # ALTERNATIVE, OBSOLETE or MERGED
    old_concepts: RaggedArray  # rows of the concepts that an id stands for now
    also: Strings | None = None
    """What lent files say of ids of other vocabularies: id, predicate and file of one behind those
    of another, joined by XREF_SEPARATOR; None where nothing was lent."""

    def check(self, labels: int) -> None:
        """Check columns that come from outside.

        Args:
            labels: how many labels the dictionary has.

        Raises:
            ValueError: columns do not fit together, or name rows or labels that are not there.
        """
        also = [self.also] if self.also is not None else []
        for texts in (self.ids, self.definitions, self.xrefs, self.old_ids, *also):
            texts.check()
        concepts, old_ids = len(self.ids), len(self.old_ids)
        self.names.check(concepts, labels)
        _check_numbers(self.old_status, old_ids, MERGED + 1)
        self.old_concepts.check(old_ids, concepts)
        _check_numbers(self.preferred, concepts, len(self.names.texts))
        _check_numbers(self.id_rank, concepts, concepts)
        self.types.check(concepts, labels)
        self.parents.check(concepts, concepts)
        if {concepts} != {len(texts) for texts in (self.definitions, self.xrefs, *also)}:
            raise ValueError("there are not as many texts as concepts")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        arrays = {"id.rank": self.id_rank, "preferred": self.preferred}
        arrays |= self.names.arrays() | {"old.status": self.old_status}
        for name, (saved, _) in _SAVED.items():
            if (column := getattr(self, name)) is not None:
                arrays |= column.arrays(saved)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Columns:
        """The columns saved by `arrays`."""
        lists = dict(_SAVED.items() if "also.data" in arrays else list(_SAVED.items())[:-1])
        return cls(
            id_rank=arrays["id.rank"],
            preferred=arrays["preferred"],
            names=NameColumns.from_arrays(arrays),
            old_status=arrays["old.status"],
            **{name: kind.from_arrays(arrays, saved) for name, (saved, kind) in lists.items()},
        )


_SAVED: dict[str, tuple[str, Any]] = {  # of columns of lists: the name of their files, and the type
    "ids": ("id", Strings),
    "definitions": ("definition", Strings),
    "xrefs": ("xrefs", Strings),
    "types": ("types", RaggedArray),
    "parents": ("parents", RaggedArray),
    "old_ids": ("old", Strings),
    "old_concepts": ("old", RaggedArray),
    "also": ("also", Strings),  # may be None
}


def _check_numbers(values: NDArray[Any], rows: int, limit: int) -> None:
    """Raise ValueError where a column has not `rows` whole numbers from 0 to below `limit`."""
    persistence.check_lists(np.array([0, rows]), values, 1, limit)


def add_annotations(
    names: NameColumns, annotations: Annotations, form: Callable[[str], str]
) -> NameColumns:
    """Add annotated mentions as names of kind `training`, and count them with the names there are.

    Args:
        names: the names of a dictionary.
        annotations: how often each mention was annotated with each concept.
        form: the normal form of a name; mentions of the same form are counted together.
    """
    pairs = zip(names.texts, names.concept.tolist(), strict=True)
    known = {pair for pair in pairs if pair in annotations}
    new = [pair for pair in annotations if pair not in known]
    added = names.append([text for text, _ in new], [concept for _, concept in new], TRAINING)
    times: Annotations = Counter()
    for (text, concept), count in annotations.items():
        times[form(text), concept] += count
    annotated = added.annotated
    if annotated is None:
        annotated = np.zeros(len(added.texts), np.int32)
    concepts = [concept for _, concept in annotations]
    for row in np.flatnonzero(np.isin(added.concept, concepts)).tolist():
        annotated[row] += times[form(added.texts[row]), int(added.concept[row])]
    return dataclasses.replace(added, annotated=annotated)


def annotations_of(names: NameColumns, form: Callable[[str], str]) -> Annotations:
    """Find the annotated mentions that `add_annotations` has counted with names.

    Mentions of one normal form and concept were counted together: those that no name of kind
    `training` shows count for a name that a source gives.

    Args:
        names: the names of a dictionary.
        form: the normal form of a name.
    """
    annotated = np.empty(0, np.int32) if names.annotated is None else names.annotated
    rows: dict[tuple[str, int], list[int]] = {}  # of the names of each normal form and concept
    for row in np.flatnonzero(annotated).tolist():
        key = form(names.texts[row]), int(names.concept[row])
        rows.setdefault(key, []).append(row)
    result: Annotations = Counter()
    for (_, concept), alike in rows.items():
        texts = [names.texts[row] for row in alike if names.kind[row] == TRAINING]
        texts = texts or [names.texts[alike[0]]]
        result.update((text, concept) for text in texts)
        result[texts[0], concept] += max(0, int(annotated[alike].max()) - len(texts))
    return result

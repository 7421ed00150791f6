"""The arrays of a dictionary: three tables, of concepts, of names and of old ids.

A row of a table is known by its number, from 0. A label (a semantic type, a source, a language) is
a number too: its place in the dictionary's list of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linker import persistence
from linker.persistence import Strings
from linker.types import NAME_KINDS

ALTERNATIVE, OBSOLETE, MERGED = range(3)  # what an old id is
XREF_SEPARATOR = "\x1f"  # a reference may hold any visible sign

_Number = TypeVar("_Number", bound=np.generic)

Arrays = Mapping[str, NDArray[Any]]  # what is saved: file name without `.npy` -> array


@dataclass(frozen=True, slots=True)
class Lists:
    """A list of numbers for each row of a table, one behind another in one array."""

    indptr: NDArray[np.integer[Any]]  # (rows + 1,) where each list begins, and the last one ends
    indices: NDArray[np.int32]  # the numbers of all lists

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        return self.indices[self.indptr[row] : self.indptr[row + 1]]

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
    def from_arrays(cls, arrays: Arrays, name: str) -> Lists:
        """The lists saved under `name`."""
        return cls(arrays[f"{name}.indptr"], arrays[f"{name}.indices"])


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

        def joined(column: NDArray[_Number], values: ArrayLike) -> NDArray[_Number]:
            added = np.broadcast_to(np.asarray(values, column.dtype), (len(texts),))
            return np.concatenate([column, added])

        were_lent = np.zeros(len(self.texts), bool) if self.lent is None else self.lent
        return NameColumns(
            self.texts.extended(texts),
            joined(self.concept, concept),
            joined(self.kind, kind),
            joined(self.source, source),
            joined(self.language, 0),
            joined(self.case, False),
            None if self.annotated is None else joined(self.annotated, 0),
            joined(were_lent, lent) if lent or self.lent is not None else None,
        )

    def keep(self, kept: NDArray[np.bool_]) -> NameColumns:
        """Some of the names, given whether each is kept (names,)."""
        return NameColumns(
            self.texts.take(np.flatnonzero(kept)),
            self.concept[kept],
            self.kind[kept],
            self.source[kept],
            self.language[kept],
            self.case[kept],
            None if self.annotated is None else self.annotated[kept],
            None if self.lent is None else self.lent[kept],
        )

    def check(self, concepts: int, labels: int) -> None:
        """Raise ValueError where columns do not fit together, or name rows that are not there."""
        self.texts.check()
        rows = len(self.texts)
        _check_numbers(self.concept, rows, concepts)
        _check_numbers(self.kind, rows, len(NAME_KINDS))
        _check_numbers(self.source, rows, labels)
        _check_numbers(self.language, rows, labels)
        if self.case.shape != (rows,) or self.case.dtype.kind != "b":
            raise ValueError("name.case does not fit the names")
        times = self.annotated
        if times is not None and (times.shape != (rows,) or times.dtype.kind != "i"):
            raise ValueError("name.annotated does not fit the names")
        if self.lent is not None and (self.lent.shape != (rows,) or self.lent.dtype.kind != "b"):
            raise ValueError("name.lent does not fit the names")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        arrays = self.texts.arrays("name") | {
            "name.concept": self.concept,
            "name.kind": self.kind,
            "name.source": self.source,
            "name.language": self.language,
            "name.case": self.case,
        }
        optional = {"name.annotated": self.annotated, "name.lent": self.lent}
        return arrays | {name: values for name, values in optional.items() if values is not None}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> NameColumns:
        """The columns saved by `arrays`."""
        return cls(
            Strings.from_arrays(arrays, "name"),
            arrays["name.concept"],
            arrays["name.kind"],
            arrays["name.source"],
            arrays["name.language"],
            arrays["name.case"],
            arrays.get("name.annotated"),
            arrays.get("name.lent"),
        )


@dataclass(frozen=True, slots=True)
class OldIdColumns:
    """The alternative, obsolete and merged ids, which are no concepts of their own."""

    ids: Strings  # CURIEs
    status: NDArray[np.uint8]  # ALTERNATIVE, OBSOLETE or MERGED
    concepts: Lists  # rows of the concepts that an id stands for now

    def check(self, concepts: int) -> None:
        """Raise ValueError where columns do not fit together, or name rows that are not there."""
        self.ids.check()
        _check_numbers(self.status, len(self.ids), MERGED + 1)
        self.concepts.check(len(self.ids), concepts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        return self.ids.arrays("old") | self.concepts.arrays("old") | {"old.status": self.status}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> OldIdColumns:
        """The columns saved by `arrays`."""
        return cls(
            Strings.from_arrays(arrays, "old"),
            arrays["old.status"],
            Lists.from_arrays(arrays, "old"),
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """The concepts, with the tables of their names and of their old ids."""

    ids: Strings  # CURIEs
    id_rank: NDArray[np.int32]  # place in the order of ids
    preferred: NDArray[np.int32]  # row of the preferred name
    definitions: Strings
    xrefs: Strings  # references to other vocabularies, joined by XREF_SEPARATOR
    types: Lists  # labels of the semantic types
    parents: Lists  # rows of the parents
    names: NameColumns
    old: OldIdColumns

    def check(self, labels: int) -> None:
        """Check columns that come from outside.

        Args:
            labels: how many labels the dictionary has.

        Raises:
            ValueError: columns do not fit together, or name rows or labels that are not there.
        """
        for texts in (self.ids, self.definitions, self.xrefs):
            texts.check()
        concepts = len(self.ids)
        self.names.check(concepts, labels)
        self.old.check(concepts)
        _check_numbers(self.preferred, concepts, len(self.names.texts))
        _check_numbers(self.id_rank, concepts, concepts)
        self.types.check(concepts, labels)
        self.parents.check(concepts, concepts)
        if not len(self.definitions) == len(self.xrefs) == concepts:
            raise ValueError("there are not as many texts as concepts")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        return (
            self.ids.arrays("id")
            | {"id.rank": self.id_rank, "preferred": self.preferred}
            | self.definitions.arrays("definition")
            | self.xrefs.arrays("xrefs")
            | self.types.arrays("types")
            | self.parents.arrays("parents")
            | self.names.arrays()
            | self.old.arrays()
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Columns:
        """The columns saved by `arrays`."""
        return cls(
            Strings.from_arrays(arrays, "id"),
            arrays["id.rank"],
            arrays["preferred"],
            Strings.from_arrays(arrays, "definition"),
            Strings.from_arrays(arrays, "xrefs"),
            Lists.from_arrays(arrays, "types"),
            Lists.from_arrays(arrays, "parents"),
            NameColumns.from_arrays(arrays),
            OldIdColumns.from_arrays(arrays),
        )


def _check_numbers(values: NDArray[Any], rows: int, limit: int) -> None:
    """Raise ValueError where a column has not `rows` whole numbers from 0 to below `limit`."""
    persistence.check_lists(np.array([0, rows]), values, 1, limit)

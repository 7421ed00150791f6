"""The distinct normalised names of a dictionary, in rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker import persistence
from linker.persistence import Strings


@dataclasses.dataclass(frozen=True, slots=True)
class NameTable:
    """Distinct normalised names in rows; an ambiguous name is one row with several concepts.

    `concepts[indptr[i]:indptr[i + 1]]` are the concept rows of name i, and `entries` beside them the rows of `Dictionary.names`
    that hold the name as written.
    """

    texts: Strings
    indptr: NDArray[np.int64]
    concepts: NDArray[np.int32]
    entries: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.texts)

    def concepts_of(self, row: int) -> NDArray[np.int32]:
        """The rows of the concepts that a name stands for."""
        return self.concepts[self.indptr[row] : self.indptr[row + 1]]

    def check(self, concepts: int, names: int) -> None:
        """Raise ValueError where the rows do not fit together, or stand for a concept or name beyond these numbers."""
        self.texts.check()
        persistence.check_lists(self.indptr, self.concepts, len(self), concepts)
        persistence.check_lists(self.indptr, self.entries, len(self), names)
        if not len(self.concepts):
            raise ValueError("no name stands for a concept")

    def naming(self, concepts: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The rows of the names of some concepts, given which ones (concepts of the dictionary,)."""
        kept = np.concatenate([[0], np.cumsum(concepts[self.concepts])])
        return np.flatnonzero(np.diff(kept[self.indptr]))

    def among(self, concepts: NDArray[np.bool_]) -> NameTable:
        """The table of the names of some concepts, as `naming` orders them, without the other concepts of these names."""
        kept = concepts[self.concepts]
        rows, ends = self.naming(concepts), np.concatenate([[0], np.cumsum(kept)])
        texts = list(self.texts)
        indptr = np.concatenate([[0], np.cumsum(np.diff(ends[self.indptr])[rows])])
        return NameTable(
            Strings.of(texts[row] for row in rows.tolist()),
            indptr,
            self.concepts[kept],
            self.entries[kept],
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        return self.texts.arrays("text") | {
            "indptr": self.indptr,
            "concepts": self.concepts,
            "entries": self.entries,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NameTable:
        """The table saved by `arrays`."""
        return cls(
            Strings.from_arrays(arrays, "text"),
            arrays["indptr"],
            arrays["concepts"],
            arrays["entries"],
        )

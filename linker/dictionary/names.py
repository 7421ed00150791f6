"""The distinct normalised names of a dictionary, in rows."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker import persistence
from linker.dictionary.words import Words
from linker.persistence import Strings

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """Where texts stand in a column, by their hashes."""

    hashes: NDArray[np.uint64]  # of all texts, rising
    rows: NDArray[np.int32]  # the row of the text of each hash

    @classmethod
    def of(cls, texts: Iterable[str]) -> Places:
        """Hash all texts of a column."""
        hashes = np.frombuffer(b"".join(map(_hash, texts)), np.uint64)
        rows = np.argsort(hashes, kind="stable")
        return cls(hashes[rows], rows.astype(np.int32))

    def row(self, text: str, texts: Strings) -> int:
        """The row of a text; -1 where it is not there."""
        return self.find([text], texts)[0]

    def find(self, wanted: Sequence[str], texts: Strings) -> list[int]:
        """The row of each text that is wanted; -1 where it is not there."""
        hashes = np.frombuffer(b"".join(map(_hash, wanted)), np.uint64)
        places = np.searchsorted(self.hashes, hashes).tolist()
        found = zip(wanted, hashes, places, strict=True)
        return [self._row(text, texts, number, place) for text, number, place in found]

    def _row(self, text: str, texts: Strings, number: np.uint64, place: int) -> int:
        """The row of a text, given its hash and where this begins."""
        while place < len(self.hashes) and self.hashes[place] == number:
            if texts[row := int(self.rows[place])] == text:
                return row
            place += 1
        return -1


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


@dataclasses.dataclass(frozen=True)
class NameTable:
    """Distinct normalised names in rows; an ambiguous name is one row with several concepts."""

    texts: Strings  # (names,) in normal form
    indptr: NDArray[np.int64]  # (names + 1,) where the concepts of each name begin
    concepts: NDArray[np.int32]  # rows of concepts, name after name
    entries: NDArray[np.int32]  # beside each concept the row of `Dictionary.names` as written

    @cached_property
    def places(self) -> Places:
        """Where each name stands."""
        return Places.of(self.texts)

    @cached_property
    def words(self) -> Words:
        """The words of the names, for a search; they are made when it is first asked for."""
        return Words.of(self.texts)

    def row(self, text: str) -> int:
        """The row of a normalised name; -1 where it is not there."""
        return self.places.row(text, self.texts)

    def rows(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The rows of normalised names; -1 for one that is not there."""
        return np.array(self.places.find(texts, self.texts), np.int64)

    def __contains__(self, text: object) -> bool:
        """Whether a normalised text is a name of some concept."""
        row = self.row(text) if isinstance(text, str) else -1
        return row >= 0 and bool(self.indptr[row] < self.indptr[row + 1])

    @classmethod
    def of(
        cls, forms: Iterable[str], concepts: NDArray[np.int32], ranks: NDArray[np.int32]
    ) -> NameTable:
        """Join the names that have one normal form.

        A name of which nothing is left in normal form stands for no concept, and a warning says so.

        Args:
            forms: the normal form of each name of a dictionary.
            concepts: the row of the concept of each name.
            ranks: which of several names of one concept and form is its entry: the lowest.
        """
        row_of: dict[str, int] = {}
        rows = np.fromiter((row_of.setdefault(form, len(row_of)) for form in forms), np.int64)
        empty = row_of.get("", -1)
        if empty >= 0:
            count = int((rows == empty).sum())
            logger.warning("%d names are empty once normalised and cannot be found", count)
        order = np.argsort(ranks, kind="stable")
        size = int(concepts.max(initial=0)) + 1
        pairs, first = np.unique((rows * size + concepts)[order], return_index=True)
        name, concept = np.divmod(pairs, size)
        kept = name != empty
        return cls(
            Strings.of(row_of),
            np.searchsorted(name[kept], np.arange(len(row_of) + 1)),
            concept[kept].astype(np.int32),
            order[first[kept]].astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.texts)

    def concepts_of(self, row: int) -> NDArray[np.int32]:
        """The rows of the concepts that a name stands for."""
        return self.concepts[self.indptr[row] : self.indptr[row + 1]]

    def check(self, concepts: int, names: int) -> None:
        """Check a table that comes from outside.

        Args:
            concepts: how many concepts the dictionary has.
            names: how many names the dictionary has.

        Raises:
            ValueError: the arrays do not fit together, or name rows that are not there.
        """
        self.texts.check()
        persistence.check_lists(np.array([0, len(self)]), self.places.rows, 1, len(self))
        if self.places.hashes.shape != self.places.rows.shape:
            raise ValueError(f"{len(self.places.hashes)} hashes for {len(self)} names")
        persistence.check_lists(self.indptr, self.concepts, len(self), concepts)
        persistence.check_lists(self.indptr, self.entries, len(self), names)
        if not len(self.concepts):
            raise ValueError("no name stands for a concept")

    def naming(self, concepts: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The rows of the names that stand for some concepts, given whether each is one of them."""
        ends = np.concatenate([[0], np.cumsum(concepts[self.concepts])])
        return np.flatnonzero(np.diff(ends[self.indptr]))

    def among(self, concepts: NDArray[np.bool_]) -> NameTable:
        """The table of some concepts and their names, without the other concepts of these names.

        Args:
            concepts: whether each concept of the dictionary is kept. The names stand in the order
                of `naming`.
        """
        kept = concepts[self.concepts]
        rows, ends = self.naming(concepts), np.concatenate([[0], np.cumsum(kept)])
        return NameTable(
            self.texts.take(rows),
            np.concatenate([[0], np.cumsum(np.diff(ends[self.indptr])[rows])]),
            self.concepts[kept],
            self.entries[kept],
        )

    def without(self, pairs: NDArray[np.bool_]) -> NameTable:
        """The same names without some of their concepts; one that keeps none is never an answer.

        Args:
            pairs: which of `concepts` are left out.
        """
        starts = np.concatenate([[0], np.cumsum(~pairs)])[self.indptr]
        table = NameTable(self.texts, starts, self.concepts[~pairs], self.entries[~pairs])
        table.__dict__["places"] = self.places
        return table

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        return self.texts.arrays("text") | {
            "hashes": self.places.hashes,
            "hashed": self.places.rows,
            "indptr": self.indptr,
            "concepts": self.concepts,
            "entries": self.entries,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NameTable:
        """The table saved by `arrays`."""
        table = cls(
            Strings.from_arrays(arrays, "text"),
            arrays["indptr"],
            arrays["concepts"],
            arrays["entries"],
        )
        table.__dict__["places"] = Places(arrays["hashes"], arrays["hashed"])
        return table

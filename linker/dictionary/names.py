"""The distinct normalised names of a dictionary, in rows, and the words that they are searched by.

A word that was typed fits a word of the dictionary that it is, begins, or is inside, with an error
or two.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.columns import RaggedArray, ranges
from linker.io import persistence
from linker.io.persistence import Strings

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Errors: TypeAlias = NDArray[np.uint8]

_LONGEST = 30  # bytes of a word that are looked at
_TYPED = 12  # words of a text that are looked for
_ONE_ERROR, _TWO_ERRORS, _INSIDE_FROM = 4, 8, 3  # bytes of a word that may have so many errors, ...
_FAR = 99  # errors of what is not looked at: more letters too many or too few than may be
_PER_ERROR = 2.0  # what an error costs, divided by the bytes of the word that was typed
_PER_REST = 0.2  # what it costs that a word is only begun, times the share that is missing
_INSIDE = 0.5  # how well a word fits that has the one that was typed inside
_MEANT = 0.75  # of the best fit: words that a typed one is taken for, when it is said to be rare
_COVERED = 0.7  # of how well a name fits, the share by how much of it was asked for


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of names in normal form.

    Args:
        joined: the words in the order of their bytes, each with a line break behind it.
        starts: where each word begins in them, (words + 1,).
        letters: the first bytes of each word, (bytes, words); 0 behind its end.
        names: for each word the rows of the names that have it.
        weights: how much each word says, (words,): the rarer, the more.
        name_weights: the sum of the weights of the words of each name, (names,).
    """

    joined: bytes
    starts: Ints
    letters: NDArray[np.uint8]
    names: RaggedArray
    weights: Floats
    name_weights: Floats

    @classmethod
    def of(cls, texts: Strings) -> Words:
        """Take names in normal form apart, (names,)."""
        numbers: dict[str, int] = {}
        words, sizes = array("i"), array("i")
        for text in texts:
            distinct = dict.fromkeys(text.split())
            words.extend(numbers.setdefault(word, len(numbers)) for word in distinct)
            sizes.append(len(distinct))
        encoded = sorted((word.encode(), number) for word, number in numbers.items())
        place = np.empty(len(encoded), np.int64)
        place[[number for _, number in encoded]] = np.arange(len(encoded))
        of_name = RaggedArray(
            np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
            place[np.asarray(words)].astype(np.int32),
        )
        bare = [word for word, _ in encoded]
        counts = np.bincount(of_name.indices, minlength=len(bare))
        weights = np.log1p(len(texts) / counts).astype(np.float32)
        owners = np.repeat(np.arange(len(texts), dtype=np.int32), np.asarray(sizes))
        return cls(
            b"".join(word + b"\n" for word in bare),
            np.cumsum([0, *(len(word) + 1 for word in bare)]),
            _letters(bare),
            RaggedArray(
                np.concatenate([[0], np.cumsum(counts)]),
                owners[np.argsort(of_name.indices, kind="stable")],
            ),
            weights,
            np.bincount(owners, weights[of_name.indices], len(texts)).astype(np.float32),
        )

    def fits(self, text: str) -> Floats:
        """How well each name fits a text in normal form, from 0 to 1, (names,).

        A name with all words of the text, in any order, and no other fits by 1.
        """
        found, covered = np.zeros((2, len(self.name_weights)), np.float32)
        asked = 0.0
        for word in list(dict.fromkeys(text.split()))[:_TYPED]:
            rows, fits = self._fitting(word.encode())
            names, sizes = _joined(self.names, rows)
            share, weight = np.zeros((2, len(found)), np.float32)
            share[names] = np.repeat(fits, sizes)  # the best of a name comes last, and stays
            weight[names] = np.repeat(fits * self.weights[rows], sizes)
            meant = sizes[fits >= _MEANT * fits.max(initial=0)].sum()
            rarity = float(np.log1p(len(found) / max(1, meant)))
            asked += rarity
            found += np.float32(rarity) * share
            covered += weight
        if asked:
            whole = np.minimum(1, covered / np.maximum(self.name_weights, 1e-6))
            found *= (1 - _COVERED + _COVERED * whole) / np.float32(asked)
        return found

    def _fitting(self, word: bytes) -> tuple[Ints, Floats]:
        """The rows of the words that fit one, and how well they do, from 0 to 1, the best last."""
        word = word[:_LONGEST]
        most = (len(word) >= _ONE_ERROR) + (len(word) >= _TWO_ERRORS)
        rows, whole, begun = self._similar(word, most)
        rest = np.maximum(0, 1 - len(word) / self._lengths(rows))
        fits = np.zeros(len(self.weights), np.float32)
        fits[rows] = 1 - np.minimum(
            _PER_ERROR * whole / len(word), _PER_ERROR * begun / len(word) + _PER_REST * rest
        )
        if len(word) >= _INSIDE_FROM:
            places = [match.start() for match in re.finditer(re.escape(word), self.joined)]
            inside = np.searchsorted(self.starts, places, "right") - 1
            fits[inside] = np.maximum(fits[inside], _INSIDE)
        rows = np.flatnonzero(fits > 0)
        rows = rows[np.argsort(fits[rows], kind="stable")]
        return rows, fits[rows]

    def _lengths(self, rows: Ints) -> Ints:
        return self.starts[rows + 1] - self.starts[rows] - 1

    def _similar(self, word: bytes, most: int) -> tuple[Ints, Errors, Errors]:
        """The words that are like one, or begin so.

        An error is a letter too many, too few, or another one, or two that changed places.

        Args:
            word: the one.
            most: errors that a word, or its beginning, may have.

        Returns:
            The rows of the words, and the errors of each as a whole and of its best beginning.
        """
        rows, letters = np.arange(len(self.weights)), self.letters[: len(word) + most]
        # last[j]: the errors between the letters of the word so far and the first j of each other
        last = np.repeat(np.arange(len(letters) + 1, dtype=np.uint8)[:, None], len(rows), axis=1)
        before = last
        for i, letter in enumerate(word):
            line = np.full_like(last, _FAR)
            line[0] = i + 1
            for j in range(max(1, i + 1 - most), min(i + 1 + most, len(letters)) + 1):
                other = last[j - 1] + (letters[j - 1] != letter)
                best = np.minimum(np.minimum(last[j], line[j - 1]) + np.uint8(1), other)
                if i and j > 1 and most:
                    swapped = (letters[j - 1] == word[i - 1]) & (letters[j - 2] == letter)
                    best = np.where(swapped, np.minimum(best, before[j - 2] + np.uint8(1)), best)
                line[j] = best
            before, last = last, line
            is_near = last.min(axis=0) <= most
            if is_near.sum() < len(rows) / 2:
                rows = rows[is_near]
                letters, last, before = (of[:, is_near] for of in (letters, last, before))
        begun, lengths = last.min(axis=0, initial=len(word)), self._lengths(rows)
        ends = np.minimum(lengths, len(letters))
        whole = np.where(lengths > ends, np.uint8(_FAR), last[ends, np.arange(len(rows))])
        near = begun <= most
        return rows[near], whole[near], begun[near]


def _letters(words: Sequence[bytes]) -> NDArray[np.uint8]:
    """The first bytes of words, as many as `Words._similar` may look at."""
    size = _LONGEST + 2
    rows = np.array([word[:size] for word in words], f"S{size}")
    return np.ascontiguousarray(rows.view(np.uint8).reshape(len(words), size).T)


def _joined(lists: RaggedArray, rows: Ints) -> tuple[NDArray[np.int32], Ints]:
    """The numbers of some lists one behind another, and how many each list has."""
    sizes = (lists.indptr[rows + 1] - lists.indptr[rows]).astype(np.int64)
    return lists.indices[ranges(lists.indptr[rows], sizes)], sizes


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

    def check(self, count: int) -> None:
        """Raise ValueError where these are no places of `count` texts."""
        persistence.check_lists(np.array([0, count]), self.rows, 1, count)
        hashes = self.hashes
        if hashes.shape != (count,) or hashes.dtype != np.uint64:
            raise ValueError(f"there are no hashes of {count} texts")
        if (hashes[1:] < hashes[:-1]).any():
            raise ValueError("the hashes of texts are not in order")

    def row(self, text: str, texts: Strings) -> int:
        """The row of a text; -1 where it is not there."""
        number, hashes = int.from_bytes(_hash(text), sys.byteorder), self.hashes.data
        place = bisect_left(hashes, number)  # which numpy takes longer for
        while place < len(hashes) and hashes[place] == number:
            if texts[row := int(self.rows[place])] == text:
                return row
            place += 1
        return -1

    def find(self, wanted: Sequence[str], texts: Strings) -> list[int]:
        """The row of each text that is wanted; -1 where it is not there."""
        hashes = np.frombuffer(b"".join(map(_hash, wanted)), np.uint64)
        starts = np.searchsorted(self.hashes, hashes, "left")
        ends = np.searchsorted(self.hashes, hashes, "right")
        rows = [-1] * len(wanted)
        for number in np.flatnonzero(starts < ends).tolist():
            rows[number] = self.row(wanted[number], texts)
        return rows


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
        row = self.places.row(text, self.texts) if isinstance(text, str) else -1
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
        self.places.check(len(self))
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

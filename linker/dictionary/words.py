"""The words of names, for a search that forgives: begun words, and typing errors.

A word that was typed fits a word of the dictionary that it is, begins, or is inside, with an error
or two.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.columns import RaggedArray
from linker.persistence import Strings

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


def _joined(lists: RaggedArray, rows: Ints) -> tuple[Ints, Ints]:
    """The numbers of some lists one behind another, and how many each list has."""
    starts, ends = lists.indptr[rows], lists.indptr[rows + 1]
    sizes = (ends - starts).astype(np.int64)
    before = np.cumsum(sizes) - sizes
    return lists.indices[np.repeat(starts - before, sizes) + np.arange(sizes.sum())], sizes

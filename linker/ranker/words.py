"""The words of the names of a dictionary, as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary
from linker.dictionary.columns import Lists
from linker.persistence import Strings

_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9}
_WORD = re.compile(r"[^\W_]+")
_REMEMBERED = 100_000  # words whose stems are kept
_SHORTEST = 4  # letters of a word whose ending is cut
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # mixes the numbers of words into one for their order


@lru_cache(_REMEMBERED)
def stem(word: str) -> str:
    """A lower-cased word without plural s, in American spelling; Roman numerals as digits."""
    if word in _ROMAN:
        return str(_ROMAN[word])
    if len(word) < _SHORTEST or not word.isalpha():
        return word
    word = word.replace("ae", "e").replace("oe", "e")
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-3] + "or" if word.endswith("our") else word


def words_of(text: str) -> list[str]:
    """The stems of the words of a normalised text."""
    return [stem(word) for word in _WORD.findall(text.lower())]


@dataclass(frozen=True)
class Words:
    """The words of the names of a dictionary.

    Attributes:
        texts: the distinct words.
        names: of each name of the dictionary (`Dictionary.names`) its words, in order.
        concepts: of each concept the distinct words of its names, rising.
    """

    texts: Strings
    names: Lists
    concepts: Lists

    @classmethod
    def of(cls, dictionary: Dictionary, normalize: Callable[[str], str]) -> Words:
        """Split the names of a dictionary, given what brings them into normal form."""
        number: dict[str, int] = {}
        words, ends = [], [0]
        for name in dictionary.names:
            words += [number.setdefault(word, len(number)) for word in words_of(normalize(name))]
            ends.append(len(words))
        indptr, indices = np.array(ends, np.int64), np.array(words, np.int32)
        concept = np.repeat(dictionary.name_concept, np.diff(indptr)).astype(np.int64)
        pairs = np.unique(concept * max(1, len(number)) + indices)
        owner, word = np.divmod(pairs, max(1, len(number)))
        starts = np.searchsorted(owner, np.arange(len(dictionary) + 1))
        of_concepts = Lists(starts, word.astype(np.int32))
        return cls(Strings.of(number), Lists(indptr, indices), of_concepts)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """The number of each word."""
        return {word: place for place, word in enumerate(self.texts)}

    @cached_property
    def weight(self) -> NDArray[np.float32]:
        """log((concepts + 1) / (concepts with the word + 0.5)); the last is of unknown words."""
        count = len(self.concepts.indptr) - 1
        of_word = np.bincount(self.concepts.indices, minlength=len(self.texts))
        return np.log((count + 1) / (np.append(of_word, 0) + 0.5)).astype(np.float32)

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Which words are numbers, or single letters, (words + 1,)."""
        return np.array([*(len(w) == 1 or w[0].isdecimal() for w in self.texts), False])

    @cached_property
    def order(self) -> NDArray[np.uint64]:
        """A number for the sequence of words of each name, (names,); 0 without words."""
        return sequences(self.names)

    def of_texts(self, texts: Iterable[str]) -> Lists:
        """The words of normalised texts; unknown ones have the number after the last, and more."""
        indices, ends, unknown = [], [0], dict[str, int]()
        for text in texts:
            for word in words_of(text):
                place = self.number.get(word)
                if place is None:
                    place = unknown.setdefault(word, len(self.texts) + len(unknown))
                indices.append(place)
            ends.append(len(indices))
        return Lists(np.array(ends, np.int64), np.array(indices, np.int32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        lists = self.names.arrays("name") | self.concepts.arrays("concept")
        return self.texts.arrays("word") | lists

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Words:
        """The words saved by `arrays`."""
        texts = Strings.from_arrays(arrays, "word")
        return cls(texts, Lists.from_arrays(arrays, "name"), Lists.from_arrays(arrays, "concept"))

    def check(self, names: int, concepts: int) -> None:
        """Raise ValueError where the arrays do not fit a dictionary of so many rows."""
        self.texts.check()
        self.names.check(names, len(self.texts))
        self.concepts.check(concepts, len(self.texts))


def sequences(lists: Lists) -> NDArray[np.uint64]:
    """A number for each list that depends on its numbers and their order; 0 for an empty one."""
    place = np.arange(len(lists.indices)) - np.repeat(lists.indptr[:-1], lists.sizes)
    mixed = (lists.indices.astype(np.uint64) + np.uint64(1)) * _MULTIPLIER
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MULTIPLIER ** (place.astype(np.uint64) + np.uint64(1))
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    numbers: NDArray[np.uint64] = ends[lists.indptr[1:]] - ends[lists.indptr[:-1]]
    return numbers

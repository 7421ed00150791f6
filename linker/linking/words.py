"""The words of the names of a dictionary, as numbers."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary
from linker.dictionary.columns import RaggedArray
from linker.dictionary.names import Places
from linker.io.persistence import Strings
from linker.records import NAME_KINDS

_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9}
_WORD = re.compile(r"[^\W_]+")
_REMEMBERED = 100_000  # words whose stems and numbers are kept
_SHORTEST = 4  # letters of a word whose ending is cut
_ENDING = 4  # last letters of a word by which those of one kind are known: "itis", "emia"
_BEHIND = re.compile(r",|\b(?:of|in|with|due|from|by|to|for|after|and|or)\b", re.IGNORECASE)
# arrays with a value for each word: their kind, as numpy names it
_OF_WORDS = {"weight": "f", "is_number": "b", "heads": "i", "times": "i"}
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # mixes the numbers of words into one for their order


@lru_cache(_REMEMBERED)
def stem(word: str) -> str:
    """A lower-cased word without plural s, in American spelling; Roman numerals as digits."""
    if word in _ROMAN:
        return str(_ROMAN[word])
    if len(word) < _SHORTEST or not word.isalpha():
        return word
    # not `linker.text.british.american`: stored models hold the words as they are spelt here
    word = word.replace("ae", "e").replace("oe", "e")
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-3] + "or" if word.endswith("our") else word


def words_of(text: str) -> list[str]:
    """The stems of the words of a normalised text."""
    return [stem(word) for word in _WORD.findall(text.lower())]


def head_place(text: str) -> int:
    """The number of the word that says what a text names, from 0; -1 where it has none.

    It is the last one before a comma or a preposition: "Neoplasms, Breast", "loss of appetite".
    """
    before = _BEHIND.split(text, maxsplit=1)[0]
    return len(_WORD.findall(before if _WORD.search(before) else text)) - 1


@dataclass(frozen=True)
class Words:
    """The words of the names of a dictionary.

    Attributes:
        texts: the distinct words; one that no name has is the last.
        places: where each of them stands.
        weight: (words,) log((concepts + 1) / (concepts with the word + 0.5)), as a share of that of
            a word that no concept has, so that it is alike in small dictionaries and in large ones.
        is_number: (words,) which of them are numbers, or single letters.
        names: of each name of the dictionary (`Dictionary.names`) its words, in order.
        concepts: of each concept the distinct words of its names, rising.
        heads: (words,) how many names each of them heads; annotated mentions do not count.
        times: (words,) how often each stands in these names.
    """

    texts: Strings
    places: Places
    weight: NDArray[np.float32]
    is_number: NDArray[np.bool_]
    names: RaggedArray
    concepts: RaggedArray
    heads: NDArray[np.int32]
    times: NDArray[np.int32]

    @classmethod
    def of(cls, dictionary: Dictionary, normalize: Callable[[str], str]) -> Words:
        """Split the names of a dictionary, given what brings them into normal form."""
        number: dict[str, int] = {}
        words, ends, heads = array("i"), array("q", [0]), array("i")
        is_own = dictionary.name_kind != NAME_KINDS.index("training")
        for name, counts in zip(dictionary.names, is_own.tolist(), strict=True):
            words.extend(number.setdefault(w, len(number)) for w in words_of(normalize(name)))
            if counts and len(words) > ends[-1]:
                heads.append(words[min(ends[-1] + max(0, head_place(name)), len(words) - 1)])
            ends.append(len(words))
        number[""] = len(number)
        indptr, indices = np.array(ends, np.int64), np.array(words, np.int32)
        concept = np.repeat(dictionary.name_concept, np.diff(indptr)).astype(np.int64)
        owner, word = np.divmod(np.unique(concept * len(number) + indices), len(number))
        starts = np.searchsorted(owner, np.arange(len(dictionary) + 1))
        count = np.bincount(word, minlength=len(number))
        texts, most = Strings.of(number), np.log((len(dictionary) + 1) / 0.5)
        return cls(
            texts,
            Places.of(texts),
            (np.log((len(dictionary) + 1) / (count + 0.5)) / most).astype(np.float32),
            np.array([len(word) == 1 or word[:1].isdecimal() for word in number]),
            RaggedArray(indptr, indices),
            RaggedArray(starts, word.astype(np.int32)),
            np.bincount(np.array(heads, np.int64), minlength=len(number)).astype(np.int32),
            np.bincount(indices[np.repeat(is_own, np.diff(indptr))], minlength=len(number)).astype(
                np.int32
            ),
        )

    @cached_property
    def _row(self) -> Callable[[str], int]:
        """Gives the number of a word; -1: no name has it. Texts repeat their words."""
        return lru_cache(_REMEMBERED)(partial(self.places.row, texts=self.texts))

    def __getstate__(self) -> dict[str, Any]:  # what is kept does not go to other processes
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def endings(self) -> Mapping[str, int]:
        """How many names are headed by words with each ending of four letters."""
        result: dict[str, int] = {}
        for row in np.flatnonzero(self.heads).tolist():
            if len(word := self.texts[row]) > _ENDING:
                ending = word[-_ENDING:]
                result[ending] = result.get(ending, 0) + int(self.heads[row])
        return result

    @cached_property
    def _headed(self) -> int:
        """How many names have a head."""
        return int(self.heads.sum())

    def head_facts(self, form: str, text: str) -> tuple[float, float, float]:
        """What names have in common with the head of a text.

        Args:
            form: the text in normal form.
            text: as it is written.

        Returns:
            How many names the word heads, as log(1 + n) / log(1 + names); the share of its places
            in names where it does; how many names words with its ending head, as the first.
        """
        words = words_of(form)
        if not words:
            return 0.0, 0.0, 0.0
        head = words[min(max(0, head_place(text)), len(words) - 1)]
        row = self._row(head)
        most = math.log1p(max(1, self._headed))
        own = int(self.heads[row]) if row >= 0 else 0
        times = int(self.times[row]) if row >= 0 else 0
        alike = self.endings.get(head[-_ENDING:], 0) if len(head) > _ENDING else own
        return math.log1p(own) / most, own / max(1, times), math.log1p(alike) / most

    def __contains__(self, word: object) -> bool:
        """Whether a word in normal form is a word of a name."""
        if not isinstance(word, str) or not word:  # the empty one stands for unknown words
            return False
        return self._row(stem(word)) >= 0

    @property
    def unknown_weight(self) -> float:
        """The weight of a word that no name has."""
        return float(self.weight[-1])

    def of_texts(self, texts: Iterable[str]) -> RaggedArray:
        """The words of normalised texts; unknown ones have the number after the last, and more."""
        known: dict[str, int] = {}
        indices, ends, unknown = [], [0], 0
        for text in texts:
            for word in words_of(text):
                place = known.get(word)
                if place is None:
                    place = self._row(word)
                    if place < 0:
                        place, unknown = len(self.texts) + unknown, unknown + 1
                    known[word] = place
                indices.append(place)
            ends.append(len(indices))
        return RaggedArray(np.array(ends, np.int64), np.array(indices, np.int32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to save."""
        return {
            **self.texts.arrays("word"),
            **self.names.arrays("name"),
            **self.concepts.arrays("concept"),
            "hashes": self.places.hashes,
            "hashed": self.places.rows,
            **{name: getattr(self, name) for name in _OF_WORDS},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Words:
        """The words saved by `arrays`."""
        return cls(
            texts=Strings.from_arrays(arrays, "word"),
            places=Places(arrays["hashes"], arrays["hashed"]),
            names=RaggedArray.from_arrays(arrays, "name"),
            concepts=RaggedArray.from_arrays(arrays, "concept"),
            **{name: arrays[name] for name in _OF_WORDS},
        )

    def check(self, names: int, concepts: int) -> None:
        """Check words that come from outside.

        Args:
            names: how many names the dictionary has.
            concepts: how many concepts it has.

        Raises:
            ValueError: the arrays do not fit together, or a number is out of its range.
        """
        count = len(self.texts)
        if not count:
            raise ValueError("there is no word, not even the empty one for unknown words")
        self.texts.check()
        self.places.check(count)
        self.names.check(names, count)
        self.concepts.check(concepts, count)
        for name, kind in _OF_WORDS.items():
            values = getattr(self, name)
            if values.shape != (count,) or values.dtype.kind != kind:
                raise ValueError(f"words.{name} does not fit the words")
        if not (np.isfinite(self.weight).all() and self.weight.min() >= 0):
            raise ValueError("the weight of a word is no number from 0 on")
        if self.heads.min() < 0 or self.times.min() < 0:
            raise ValueError("a word is counted less than never")


def sequences(lists: RaggedArray) -> NDArray[np.uint64]:
    """A number for each list that depends on its numbers and their order; 0 for an empty one."""
    place = np.arange(len(lists.indices)) - np.repeat(lists.indptr[:-1], lists.sizes)
    mixed = (lists.indices.astype(np.uint64) + np.uint64(1)) * _MULTIPLIER
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MULTIPLIER ** (place.astype(np.uint64) + np.uint64(1))
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    numbers: NDArray[np.uint64] = ends[lists.indptr[1:]] - ends[lists.indptr[:-1]]
    return numbers

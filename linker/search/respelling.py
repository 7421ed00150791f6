"""Words of the dictionary for words with a typing error: a letter too many, too few, another one,
or one that stands elsewhere.

As in SymSpell (Garbe 2012): two words are that near only where one of them, or it without a
letter, is the other one, or this without a letter. Of all these only hashes are kept.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import NameTable
from linker.text.composites import IsName
from linker.text.encodings import LOST
from linker.text.word_forms import is_another_word, is_same_word, nouns_of, singular

SHORTEST = 4  # letters of a word that is respelt
_LONGEST = 40
_MOST = 3  # words that one may stand for
_MOST_UNKNOWN = 3  # words of a text that are respelt
_MOST_LOST = 8  # words of a text that are completed
_REMEMBERED = 10_000  # words with lost letters whose completions are kept


class WordsNearby:
    """Finds the words of a list that are one typing error away from a word.

    Args:
        words: the list; those that are short, long, or not of letters alone are never found.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word for word in words if _is_spelt(word)]
        hashes, owner = _hashes(self._words)
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._owner = owner[order]

    def of(self, word: str) -> list[str]:
        """The words of the list, in no order."""
        if not _is_spelt(word):
            return []
        wanted = np.unique(_hashes([word])[0])
        starts = np.searchsorted(self._hashes, wanted, "left")
        ends = np.searchsorted(self._hashes, wanted, "right")
        rows: set[int] = set()
        for start, end in zip(starts, ends, strict=True):
            rows.update(self._owner[start:end].tolist())
        return [self._words[row] for row in rows if is_one_error(word, self._words[row])]


class Respelling:
    """Finds the words of the names of a dictionary that are one typing error away.

    Args:
        table: the names.
    """

    def __init__(self, table: NameTable) -> None:
        self._table = table
        self.complete = lru_cache(_REMEMBERED)(self._complete)

    @cached_property
    def _times(self) -> Counter[str]:
        """The words of the names, and how many names have each."""
        return Counter(word for name in self._table.texts for word in name.split())

    @cached_property
    def _by_first_letter(self) -> dict[str, list[str]]:
        """The words of the names that begin with each letter."""
        words: dict[str, list[str]] = defaultdict(list)
        for word in self._times:
            words[word[0]].append(word)
        return words

    @cached_property
    def _nearby(self) -> WordsNearby:
        return WordsNearby(list(self._times))

    def near(self, word: str) -> list[str]:
        """The words that a word may be, written by mistake.

        Other spellings and forms of it come first, then those whose letters stand in another order,
        then those that differ in vowels or double letters alone, then others; among these longer
        words, then the most frequent ones. A plural is looked for without its s, too ("chrons"). A
        word that is another one is no typing error of it, see `is_another_word`.
        """
        if not _is_spelt(word):
            return []
        times = self._times
        nouns = [noun for noun in nouns_of(word) if noun in times and noun != word]
        one = singular(word)
        errors = self._nearby.of(word)
        if one != word:
            errors += self._nearby.of(one)
        rivals = list(dict.fromkeys([*nouns, *errors]))
        rivals = [other for other in rivals if not is_another_word(word, other)]
        rivals.sort(
            key=lambda other: (
                not is_same_word(word, other),
                sorted(singular(other)) != sorted(one),
                _skeleton(singular(other)) != _skeleton(one),
                len(singular(other)) <= len(one),
                -times[other],
                other,
            )
        )
        return rivals[:_MOST]

    def completed(self, text: str, is_name: IsName) -> list[str]:
        """What a text in normal form may be with the letters that it lost, names first.

        Args:
            text: with `LOST` for each letter, or for each byte of one.
            is_name: tells the names.

        Returns:
            None where a word is none with any letter, or too many words lost some.
        """
        words = text.split()
        lost = [word for word in words if LOST in word]
        if len(lost) > _MOST_LOST:
            return []
        most = _MOST if len(lost) <= _MOST_UNKNOWN else 1  # else there are too many texts
        texts = [""]
        for word in words:
            others = self.complete(word)[:most] if LOST in word else [word]
            texts = [f"{start} {other}".strip() for start in texts for other in others]
        return sorted(texts, key=lambda complete: not is_name(complete))

    def _complete(self, word: str) -> list[str]:
        """The words that one with lost letters may be, the most frequent first."""
        if len(word) > _LONGEST:
            return []
        runs = re.split(f"({LOST}+)", word)
        letters = (rf"[^\W\d_]{{1,{len(run)}}}" if LOST in run else re.escape(run) for run in runs)
        pattern = re.compile("".join(letters))
        known = self._times if word[0] == LOST else self._by_first_letter.get(word[0], [])
        words = [other for other in known if pattern.fullmatch(other)]
        words.sort(key=lambda other: (-self._times[other], other))
        return words[:_MOST]

    def respelt(self, text: str, is_word: IsName, is_name: IsName) -> list[str]:
        """What a text in normal form may be, if its unknown words have a typing error each.

        Args:
            text: in normal form.
            is_word: tells the words of names.
            is_name: tells the names; texts that are names come first.

        Returns:
            No text where all words are known; none where one of those that are not is near no word.
        """
        if LOST in text:
            return self.completed(text, is_name)
        words = text.split()
        unknown = [i for i, word in enumerate(words) if not is_word(word)]
        if not 0 < len(unknown) <= _MOST_UNKNOWN:
            return []
        others = {i: near for i in unknown if (near := self.near(words[i]))}
        if not others:
            return []
        first = [others[i][0] if i in others else word for i, word in enumerate(words)]
        texts = [" ".join(first)]
        for i, near in others.items():
            for other in near[1:]:
                texts.append(" ".join([*first[:i], other, *first[i + 1 :]]))
        return sorted(texts, key=lambda respelt: not is_name(respelt))


def is_one_error(first: str, second: str) -> bool:
    """Whether two words are different, and one error apart.

    An error is a letter too many, too few, another one, or one that stands elsewhere ("chron" for
    "crohn").
    """
    if first == second or abs(len(first) - len(second)) > 1:
        return False
    start = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    a, b = first[start:], second[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or _is_moved(a, b)
    return a[1:] == b if len(a) > len(b) else a == b[1:]


def _is_moved(first: str, second: str) -> bool:
    """Whether two texts of the same length differ in the place of one letter, the first of one."""
    for one, other in ((first, second), (second, first)):
        place = other.find(one[0])
        while place > 0:
            if one == one[0] + other[:place] + other[place + 1 :]:
                return True
            place = other.find(one[0], place + 1)
    return False


def _skeleton(word: str) -> str:
    """A word without the vowels and each h behind its first letter, and double letters once."""
    consonants = [
        letter for place, letter in enumerate(word) if not place or letter not in "aeiouyh"
    ]
    return "".join(letter for letter, _ in groupby(consonants))


def _is_spelt(word: str) -> bool:
    """Whether a word is long enough, and of letters alone."""
    return SHORTEST <= len(word) <= _LONGEST and word.isalpha()


def _hashes(words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The hashes of words and of each without one of its letters, and the word that each is of."""
    hashes, owner = array("q"), array("i")
    for row, word in enumerate(words):
        forms = {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}
        hashes.extend(map(hash, forms))
        owner.extend([row] * len(forms))
    return np.frombuffer(hashes, np.int64), np.frombuffer(owner, np.int32)

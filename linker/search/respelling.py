"""Words of the dictionary for words with a typing error: a letter too many, too few, another one,
or two that changed places (the optimal string alignment distance is 1).

As in SymSpell (Garbe 2012): two words are that near only where one of them, or it without a
letter, is the other one, or this without a letter. Of all these only hashes are kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import NameTable
from linker.text.composites import IsName

SHORTEST = 4  # letters of a word that is respelt
_LONGEST = 40
_MOST = 3  # words that one may stand for
_MOST_UNKNOWN = 3  # words of a text that are respelt


class Respelling:
    """Finds the words of the names of a dictionary that are one typing error away.

    Args:
        table: the names.
    """

    def __init__(self, table: NameTable) -> None:
        self._table = table

    @cached_property
    def _times(self) -> Counter[str]:
        """The words of the names, and how many names have each."""
        words = Counter(word for name in self._table.texts for word in name.split())
        return Counter({word: times for word, times in words.items() if _is_spelt(word)})

    @cached_property
    def _index(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.int32]]:
        """The words; the hashes of them and of them without a letter, rising; the word of each."""
        words = list(self._times)
        hashes, owner = _hashes(words)
        order = np.argsort(hashes, kind="stable")
        return words, hashes[order], owner[order]

    def near(self, word: str) -> list[str]:
        """The words that are one error away, the most frequent first.

        Two letters that changed places come before other errors.
        """
        if not _is_spelt(word):
            return []
        words, hashes, owner = self._index
        wanted = np.unique(_hashes([word])[0])
        starts, ends = (np.searchsorted(hashes, wanted, side) for side in ("left", "right"))
        rows = {row for a, b in zip(starts, ends, strict=True) for row in owner[a:b].tolist()}
        found = [words[row] for row in rows if is_one_error(word, words[row])]
        times = self._times
        found.sort(key=lambda other: (sorted(other) != sorted(word), -times[other], other))
        return found[:_MOST]

    def respelt(self, text: str, is_word: IsName, is_name: IsName) -> list[str]:
        """What a text in normal form may be, if its unknown words have a typing error each.

        Args:
            text: in normal form.
            is_word: tells the words of names.
            is_name: tells the names; texts that are names come first.

        Returns:
            No text where all words are known; none where one of those that are not is near no word.
        """
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
    """Whether two words are different, and one error apart."""
    if first == second or abs(len(first) - len(second)) > 1:
        return False
    start = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    a, b = first[start:], second[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]


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

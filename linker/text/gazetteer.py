"""Search for the names of a dictionary in tokenised text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from ahocorasick_rs import AhoCorasick, MatchKind

_BREAK = "\n"  # before a word that begins a name or stands in none


class Gazetteer:
    """Finds all names in one pass through a text (Aho and Corasick 1975).

    Args:
        names: distinct names, with single spaces between their words.
        overlapping: whether all names are found; else from left to right the longest at each place.
    """

    def __init__(self, names: Iterable[str], *, overlapping: bool = False) -> None:
        self.names = [name for name in names if name]
        self._overlapping = overlapping
        kind = MatchKind.Standard if overlapping else MatchKind.LeftmostLongest
        self._search = AhoCorasick([_fenced(name.split()) for name in self.names], matchkind=kind)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy builds its own automaton
        return partial(Gazetteer, overlapping=self._overlapping), (self.names,)

    def find(
        self, words: Sequence[str], joined: Sequence[int] | None = None
    ) -> list[tuple[int, int, str]]:
        """Find names in a text.

        Args:
            words: the words of the text.
            joined: for each word whether a name may hold it and the word before it; None: all may.

        Returns:
            For each name its first word, the word behind its last one, and the name itself, in the
            order of their ends.
        """
        breaks = [0 if joined is None or is_joined else 1 for is_joined in joined or words]
        lengths = np.fromiter(map(len, words), np.int64, len(words)) + 2
        starts = np.cumsum(lengths + breaks) - lengths  # of the words in the fenced text
        matches = self._search.find_matches_as_indexes(
            _fenced(words, breaks), overlapping=self._overlapping
        )
        if not matches:
            return []
        names, *places = zip(*matches, strict=True)
        first, last = (np.searchsorted(starts, place).tolist() for place in places)
        return [
            (start, end, self.names[name])
            for start, end, name in zip(first, last, names, strict=True)
        ]


def _fenced(words: Sequence[str], breaks: Sequence[int] | None = None) -> str:
    """Put a space before and behind each word, so that a name matches whole words only.

    Neighbours do not share a space, so that one name may follow another.

    Args:
        words: the words.
        breaks: 1 for each word that a break stands before, else 0; None: no breaks.
    """
    if breaks is None:
        return "".join(f" {word} " for word in words)
    return "".join(
        f"{_BREAK * is_break} {word} " for word, is_break in zip(words, breaks, strict=True)
    )

"""Names of a dictionary found in tokenised text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linker.errors import LinkerError
from linker.version import install_hint


class Gazetteer:
    """Finds names, word by word, all at once (Aho and Corasick 1975).

    Args:
        names: distinct, each its words joined by single spaces.

    Raises:
        LinkerError: the package that searches is not installed.
    """

    def __init__(self, names: Iterable[str]) -> None:
        try:
            from ahocorasick_rs import AhoCorasick, MatchKind
        except ModuleNotFoundError:
            raise LinkerError(
                f"names are found in text by ahocorasick_rs, which is not installed: {install_hint('dense')}"
            ) from None
        self.names = [name for name in names if name]
        self._search = AhoCorasick(
            [_fenced(name.split()) for name in self.names], matchkind=MatchKind.LeftmostLongest
        )

    def find(self, words: Sequence[str]) -> list[tuple[int, int, str]]:
        """The names in a text: from and to which word, and the name; from left to right the longest, none within another."""
        starts, at = {}, 0
        for place, word in enumerate(words):
            starts[at] = place
            at += len(word) + 2
        starts[at] = len(words)
        found = self._search.find_matches_as_indexes(_fenced(words))
        return [(starts[start], starts[end], self.names[index]) for index, start, end in found]


def _fenced(words: Sequence[str]) -> str:
    """Words between two fences each, so that a name matches whole words only, and neighbours do not share a fence."""
    return "".join(f" {word} " for word in words)

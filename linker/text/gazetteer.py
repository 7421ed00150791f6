"""Search for the names of a dictionary in tokenised text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linker.errors import LinkerError
from linker.version import install_hint


class Gazetteer:
    """Finds all names in one pass through a text (Aho and Corasick 1975).

    Args:
        names: distinct names, with single spaces between their words.

    Raises:
        LinkerError: the package that searches is not installed.
    """

    def __init__(self, names: Iterable[str]) -> None:
        try:
            from ahocorasick_rs import AhoCorasick, MatchKind
        except ModuleNotFoundError:
            raise LinkerError(
                "names are found in text by ahocorasick_rs, which is not installed: "
                + install_hint("dense")
            ) from None
        self.names = [name for name in names if name]
        self._search = AhoCorasick(
            [_fenced(name.split()) for name in self.names], matchkind=MatchKind.LeftmostLongest
        )

    def find(self, words: Sequence[str]) -> list[tuple[int, int, str]]:
        """Find the names in a text, the longest at each place, from left to right.

        Args:
            words: the words of the text.

        Returns:
            For each name its first word, the word behind its last one, and the name itself. Names
            do not overlap.
        """
        word_at, offset = {}, 0  # offset in the fenced text -> number of the word
        for number, word in enumerate(words):
            word_at[offset] = number
            offset += len(word) + 2
        word_at[offset] = len(words)
        matches = self._search.find_matches_as_indexes(_fenced(words))
        return [(word_at[start], word_at[end], self.names[name]) for name, start, end in matches]


def _fenced(words: Sequence[str]) -> str:
    """Put a space before and behind each word, so that a name matches whole words only.

    Neighbours do not share a space, so that one name may follow another.
    """
    return "".join(f" {word} " for word in words)

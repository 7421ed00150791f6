"""Names of people, by which it is told who acts."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# what shows nothing, though Unicode counts it among letters, marks and signs: the joiner of
# graphemes, fillers of Hangul, vowels of Khmer, selectors of variants, the blank of Braille
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\u2800").union(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)


@lru_cache(10_000)
def person(name: str) -> str:
    """What all ways to write a name have in common, so that nobody passes for another.

    It is without case, in compatibility form (NFKC), with single blanks, and without characters
    that cannot be seen.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words = ("".join(filter(_is_seen, word)) for word in folded.split())
    return " ".join(filter(None, words))


def _is_seen(character: str) -> bool:
    """Whether a character shows: none of control, format, unassigned or private ones does."""
    return unicodedata.category(character)[0] != "C" and character not in _UNSEEN

"""Cells that were read in another encoding than they were written in, and letters lost by that."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

LOST = "\ufffd"
"""Stands for a letter that was lost: Unicode's replacement character."""

# a byte of UTF-8 that begins a character, read as a letter, and one that goes on
_MISREAD = re.compile(
    "[\u00c2-\u00f4\u00ce][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc"
    "\u2013-\u2026\u2030\u2039\u203a\u20ac\u2122]|[\u221a\u251c\u0393\u0152][^\x00-\x7f]|\u201a\u00c4"
)
_APOSTROPHE = re.compile(rf"(?<=[^\W\d_])[?{LOST}](?=s\b)")
_IN_A_WORD = re.compile(rf"(?<=[^\W\d_])[?{LOST}]+(?=-?[^\W\d_])")
_AT_ITS_END = re.compile(rf"(?<=[^\W\d_])[?{LOST}]+(?=[\s-])")


def mended(text: str) -> str:
    """A text in its own encoding, where one was taken for another: "SjÃ¶gren" is "Sjögren"."""
    if text.isascii() or not _MISREAD.search(text):
        return text
    from ftfy import fix_encoding  # takes a fifth of a second

    return str(fix_encoding(text))


def with_lost_letters(
    text: str, complete: Callable[[str], Sequence[str]], is_name: Callable[[str], bool]
) -> str:
    """A text with `LOST` for each question mark within a word: "Sj?gren".

    One at the end of a word is a lost letter only where all is a name with it: "Barr? syndrome";
    else it asks.

    Args:
        text: a cell.
        complete: gives the texts that one with `LOST` may be; none: no letter makes words of it.
        is_name: tells the names of the dictionary.
    """
    if "?" not in text and LOST not in text:
        return text
    text = _APOSTROPHE.sub("'", text)
    inside = _IN_A_WORD.sub(_lost, text)
    if inside != text and complete(inside):
        text = inside
    at_end = _AT_ITS_END.sub(_lost, text)
    if at_end != text and any(map(is_name, complete(at_end))):
        text = at_end
    return text


def _lost(match: re.Match[str]) -> str:
    """As many signs of a lost letter as signs were found."""
    return LOST * len(match[0])

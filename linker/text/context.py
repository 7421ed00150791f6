"""What stands around a mention."""

from __future__ import annotations

from collections.abc import Sequence

from linker.types import Span

_LETTERS = 32  # of a word and its space, at most: what lies further away is not cut into words


def around(text: str, spans: Sequence[Span], words: int) -> str:
    """The mention with so many words of its document's text on either side, spaces joined; empty for a mention without spans."""
    if not spans:
        return ""
    start, end = min(a for a, _ in spans), max(b for _, b in spans)
    reach = words * _LETTERS
    before, after = text[max(0, start - reach) : start].split(), text[end : end + reach].split()
    return " ".join([*before[max(0, len(before) - words) :], *text[start:end].split(), *after[:words]])

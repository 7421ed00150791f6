"""The definitions of a document that a reading of a mention rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linker.text import abbreviations
from linker.types import Document, Span

Pair = tuple[str, str]
"""A short form and its long form."""


def used(
    mention: str, expanded: str, first: Mapping[str, str], definitions: Iterable[Pair]
) -> dict[str, str]:
    """The short forms that were replaced in a mention, each with its long form.

    Args:
        mention: as it is written.
        expanded: what the definitions of its document made of it.
        first: the long forms by the first definition of each short form.
        definitions: all of the document, of which one may have taken the place of the first.
    """
    others = ({**first, short: long} for short, long in definitions if short in mention)
    for long_forms in (first, *others):
        if abbreviations.expand(mention, long_forms) == expanded:
            return {
                short: long
                for short, long in long_forms.items()
                if (short in mention or short in expanded)
                and abbreviations.expand(mention, _without(short, long_forms)) != expanded
            }
    return {}


def spans(document: Document, *, permuted: bool) -> dict[Pair, Span]:
    """Where a document defines each pair of a short and a long form: the span of the long form.

    Args:
        document: the document.
        permuted: as for `abbreviations.find`.
    """
    definitions = abbreviations.find(document.text, permuted=permuted)
    return {
        (d.short, d.long): d.long_span for d in reversed(definitions)
    }  # the first definition counts


def _without(short: str, long_forms: Mapping[str, str]) -> dict[str, str]:
    return {other: long for other, long in long_forms.items() if other != short}

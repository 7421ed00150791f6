"""The definitions of a document that a reading of a mention rests on."""

from __future__ import annotations

from collections.abc import Mapping

from linker.text import abbreviations
from linker.text.mentions import Definitions
from linker.types import Document, Span


def used(mention: str, expanded: str, definitions: Definitions) -> dict[str, str]:
    """The short forms that were replaced in a mention, each with its long form.

    Args:
        mention: as it is written.
        expanded: what the definitions made of it.
        definitions: of its document.
    """
    for long_forms in (definitions.first, *definitions.others):
        if abbreviations.expand(mention, long_forms) == expanded:
            return {
                short: long
                for short, long in long_forms.items()
                if (short in mention or short in expanded)
                and abbreviations.expand(mention, _without(short, long_forms)) != expanded
            }
    return {}


def spans(document: Document, *, permuted: bool) -> dict[tuple[str, str], Span]:
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

"""What is read of a mention: its text with short forms expanded, and the words around it in its document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from linker.errors import LinkerError
from linker.fields import OptionGroup, Weight
from linker.text import abbreviations
from linker.types import Document, Mention, Span

_LETTERS = 32  # of a word and its space, at most: what lies further away is not cut into words

Item = str | Mention | Document
Group = tuple[Document | None, Sequence[Mention], Mapping[str, str]]
"""A document, or None; some of its mentions; its short forms, each with its long form."""


@dataclass(frozen=True, slots=True)
class TextOptions(OptionGroup):
    """How a mention is prepared before its candidates are looked up, and what its document adds."""

    group: ClassVar[str] = "text"

    abbreviations: bool = True  # expand short forms that the document defines
    # also short forms whose letters stand in another order: "myotonic dystrophy (DM)"
    permuted: bool = True
    compounds: bool = True  # also the parts of compound ones: "HPT-JT" defines HPT and JT
    composites: bool = True  # split "breast and ovarian cancer" in two; never looks at the gold
    # annotated composites as names: left out, or joined as BioSyn does
    training_composites: Literal["skip", "join"] = "skip"
    # share of the score with which a concept stands first for another mention of the document,
    # added to its own score
    document_weight: Weight = 0.0


def grouped(
    items: Iterable[Item], options: TextOptions, wanted: Callable[[Mention], bool] | None = None
) -> Iterator[Group]:
    """Yield each document with its (wanted) mentions and the short forms that it defines, each loose mention alone."""
    if isinstance(items, str | Document | Mention):
        raise LinkerError(
            f"one {type(items).__name__} was given where a list of them is expected; put it in brackets"
        )
    for item in items:
        if isinstance(item, Document):
            yield (
                item,
                [m for m in item.mentions if wanted is None or wanted(m)],
                definitions_of(item, options),
            )
            continue
        mention = Mention(item) if isinstance(item, str) else item
        if wanted is None or not mention.type or wanted(mention):
            yield None, [mention], {}


def definitions_of(document: Document | None, options: TextOptions) -> Mapping[str, str]:
    """The short forms that a document defines; none for a loose mention, or where they are switched off."""
    if document is None or not options.abbreviations:
        return {}
    found = abbreviations.table(abbreviations.find(document.text, permuted=options.permuted))
    return found | abbreviations.compounds(found) if options.compounds else found


def expanded(mention: Mention, definitions: Mapping[str, str], options: TextOptions) -> str:
    """The text of a mention, its short forms replaced by what they stand for."""
    return (
        abbreviations.expand(mention.text, definitions) if options.abbreviations else mention.text
    )


def contexts(
    document: Document | None, mentions: Sequence[Mention], words: int | None
) -> list[str]:
    """Each mention with so many words of its document on either side; empty where `words` is None or there is no document."""
    if document is None or words is None:
        return [""] * len(mentions)
    text = document.text
    return [around(text, mention.spans, words) for mention in mentions]


def around(text: str, spans: Sequence[Span], words: int) -> str:
    """The mention with so many words of its document's text on either side, spaces joined; empty for a mention without spans."""
    if not spans:
        return ""
    start, end = min(a for a, _ in spans), max(b for _, b in spans)
    reach = words * _LETTERS
    before, after = text[max(0, start - reach) : start].split(), text[end : end + reach].split()
    return " ".join(
        [*before[max(0, len(before) - words) :], *text[start:end].split(), *after[:words]]
    )

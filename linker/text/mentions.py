"""Mentions with what their document says of them: its short forms."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from pydantic.dataclasses import dataclass

from linker.errors import LinkerError, shorten
from linker.io.option_group import OptionGroup
from linker.records import Assertion, Document, Mention, Span
from linker.text import abbreviations, assertion, languages
from linker.text.find import running_text

Item = str | Mention | Document


@dataclasses.dataclass(frozen=True, slots=True)
class Definitions:
    """The short forms that a document defines, each with its long form."""

    first: Mapping[str, str] = field(default_factory=dict)  # by the first definition of each
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)  # further ones of some
    spans: Mapping[abbreviations.Pair, Span] = field(default_factory=dict)  # of the long forms


DocumentMentions = tuple[Document | None, Sequence[Mention], Definitions]
"""A document, or None; mentions of it; its short forms."""


@dataclass(frozen=True, slots=True)
class TextOptions(OptionGroup):
    """How a mention is prepared before its candidates are looked up."""

    group: ClassVar[str] = "text"

    # of names and texts, whose rules are used: en, de, fr, es, or several, "de,en"
    language: str = "en"
    abbreviations: bool = True  # expand short forms that the document defines
    composites: bool = True  # split "breast and ovarian cancer" in two; never looks at the gold
    # read off what stands around a name: marks, codes, dates, "history of"; several names in a cell
    cells: bool = True
    # know names that people use, such as "lazy eye", and short forms of clinical notes, in English;
    # they stand below the names of the dictionary
    everyday: bool = True
    # as in BioSyn: short forms have their letters in order, and a composite that is annotated is
    # one name of its joined parts; else it is no name
    biosyn: bool = False

    def __post_init__(self) -> None:
        languages.named(self.language)  # raises

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the languages."""
        return tuple(code.strip() for code in self.language.split(","))


def several(items: Iterable[Item]) -> Iterable[Item]:
    """Refuse one item where a list of them is expected; a text would be taken letter by letter."""
    if isinstance(items, str | Document | Mention):
        raise LinkerError(
            f"one {type(items).__name__} was given where a list of them is expected; "
            "put it in brackets"
        )
    return items


def grouped(
    items: Iterable[Item], options: TextOptions, wanted: Callable[[Mention], bool] | None = None
) -> Iterator[DocumentMentions]:
    """Group mentions by document.

    Args:
        items: documents with mentions, mentions without a document, or their texts.
        options: which short forms of the documents to look for.
        wanted: whether a mention is kept; None keeps all. A mention without document and type is
            always kept.

    Yields:
        Each document with its mentions and the short forms that it defines; each mention without a
        document by itself.

    Raises:
        LinkerError: `items` is one item instead of a list, or an item is none.
    """
    for item in several(items):
        if isinstance(item, Document):
            mentions = [m for m in item.mentions if wanted is None or wanted(m)]
            yield item, mentions, definitions_of(item, options)
            continue
        mention = Mention(item) if isinstance(item, str) else item
        if not isinstance(mention, Mention):
            raise LinkerError(
                f"{shorten(repr(item))} cannot be linked; give texts, Mention or Document records"
            )
        if wanted is None or not mention.type or wanted(mention):
            yield None, [mention], Definitions()


def definitions_of(document: Document | None, options: TextOptions) -> Definitions:
    """The short forms that a document defines, each with its long form.

    There are none without a document, or where the options switch them off.
    """
    if document is None or not options.abbreviations:
        return Definitions()
    definitions = abbreviations.find(
        document.text, permuted=not options.biosyn, languages=languages.named(options.language)
    )
    long_forms = abbreviations.table(definitions)
    if not options.biosyn:
        long_forms |= abbreviations.compounds(long_forms)
    others: dict[str, dict[str, str]] = defaultdict(dict)
    for definition in definitions:
        if (form := definition.long.lower()) != long_forms[definition.short].lower():
            others[definition.short].setdefault(form, definition.long)
    spans = {(d.short, d.long): d.long_span for d in reversed(definitions)}  # the first counts
    further = {short: [*longs.values()] for short, longs in others.items()}
    return Definitions(long_forms, further, spans)


def assertions(
    document: Document, mentions: Sequence[Mention], options: TextOptions
) -> dict[tuple[Span, ...], Assertion]:
    """What a document says of the diseases that its mentions name, by their spans."""
    if not options.cells:
        return {}
    places = [mention.spans for mention in mentions if mention.spans]
    spans = [(of_one[0][0], of_one[-1][1]) for of_one in places]
    said = assertion.in_text(running_text(document), spans, options.codes)
    return dict(zip(places, said, strict=True))


def expanded(mention: Mention, definitions: Definitions, options: TextOptions) -> str:
    """The text of a mention with its short forms expanded, unless the options switch that off."""
    if not options.abbreviations:
        return mention.text
    return abbreviations.expand(mention.text, definitions.first)

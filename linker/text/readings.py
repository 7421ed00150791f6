"""The ways to read a mention: as it is written, expanded, split, or without its first words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linker.text import abbreviations, composites
from linker.text.composites import IsName
from linker.text.mentions import Definitions, TextOptions
from linker.types import ReadingKind

_SHORTEST = 4  # characters of what is left of a shortened mention
_MOST_WORDS = 8  # of a mention that is shortened, or split between two words


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to read a mention: the texts to look up for it."""

    kind: ReadingKind
    texts: tuple[str, ...]  # one, or one for each part of a composite


def of_mention(
    mention: str,
    definitions: Definitions,
    is_name: IsName,
    options: TextOptions,
    rivals: bool = True,
) -> list[Wording]:
    """The ways to read a mention, without repeats; the one that is most usual comes first.

    Args:
        mention: as it is written.
        definitions: the short forms of its document.
        is_name: whether a text is a name of the dictionary.
        options: `abbreviations` and `composites` say which ways there are.
        rivals: whether there are others beside the first.
    """
    wordings: dict[tuple[str, ...], Wording] = {}
    for wording in _wordings(mention, definitions, is_name, options):
        wordings.setdefault(wording.texts, wording)
        if not rivals:
            break
    return list(wordings.values())


def _wordings(
    mention: str, definitions: Definitions, is_name: IsName, options: TextOptions
) -> Iterator[Wording]:
    if not options.abbreviations:
        definitions = Definitions()
    text = abbreviations.expand(mention, definitions.first)
    whole: ReadingKind = "whole" if text == mention else "expanded"
    if options.composites:
        parts = composites.split(text, is_name)
        if len(parts) > 1:
            yield Wording("split", tuple(parts))
    yield Wording(whole, (text,))
    for others in definitions.others:
        if (other := abbreviations.expand(mention, others)) != text:
            yield Wording("expanded", (other,))
    yield Wording("whole", (mention,))
    if options.composites:
        for parts in composites.proposals(text, is_name):
            yield Wording("split", tuple(parts))
    yield from _shortened(text, is_name)


def _shortened(text: str, is_name: IsName) -> Iterator[Wording]:
    """The longest name that a text ends with, unless the text is a name itself."""
    words = text.split()
    if len(words) > _MOST_WORDS or is_name(text):
        return
    for i in range(1, len(words)):
        rest = " ".join(words[i:])
        if len(rest) >= _SHORTEST and is_name(rest):
            yield Wording("shortened", (rest,))
            return

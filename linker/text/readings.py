"""The ways to read a mention: as it is written, expanded, split, or without its first words."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from linker.text import abbreviations, composites, languages
from linker.text.composites import IsName
from linker.text.mentions import Definitions, TextOptions
from linker.text.normalize import BROKEN
from linker.types import ReadingKind

_SHORTEST = 4  # characters of what is left of a shortened mention
_MOST_DEFINITIONS = 3  # further ones of a short form that are tried
_REMEMBERED = 30_000  # texts of which it is known whether they are names
_MOST_WORDS = 8  # of a mention that is shortened, or split between two words


class NameForms:
    """The names of a dictionary in normal form.

    Args:
        forms: of all names.
        normalize: gives the normal form of a text.
    """

    def __init__(self, forms: Container[str], normalize: Callable[[str], str]) -> None:
        self.forms, self.normalize = forms, normalize
        self.is_name: IsName = lru_cache(_REMEMBERED)(self._is_name)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return NameForms, (self.forms, self.normalize)

    def _is_name(self, text: str) -> bool:
        """Whether a text, however it is written, is a name."""
        return self.normalize(text) in self.forms


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to read a mention: the texts to look up for it."""

    kind: ReadingKind
    texts: tuple[str, ...]  # one, or one for each part of a composite
    forms: tuple[str, ...] = ()  # the same in normal form

    def parts(self, mention: str) -> Iterator[tuple[str, str | None, str]]:
        """Each part as written, expanded where it has short forms, and the form looked up."""
        for text, form in zip(self.texts, self.forms, strict=True):
            yield (mention, text, form) if self.kind == "expanded" else (text, None, form)


def of_mention(
    mention: str,
    definitions: Definitions,
    names: NameForms,
    options: TextOptions,
    rivals: bool = True,
) -> list[Wording]:
    """The ways to read a mention; the most usual comes first, and no two look up the same.

    Args:
        mention: as it is written.
        definitions: the short forms of its document.
        names: of the dictionary.
        options: `abbreviations` and `composites` say which ways there are.
        rivals: whether there are others beside the first.
    """
    wordings: dict[tuple[str, ...], Wording] = {}
    for wording in _wordings(mention, definitions, names.is_name, options):
        forms = tuple(map(names.normalize, wording.texts))
        wordings.setdefault(forms, Wording(wording.kind, wording.texts, forms))
        if not rivals:
            break
    return list(wordings.values())


def _wordings(
    mention: str, definitions: Definitions, is_name: IsName, options: TextOptions
) -> Iterator[Wording]:
    if (unbroken := BROKEN.sub("", mention)) != mention:
        yield from _wordings(unbroken, definitions, is_name, options)
        if not is_name(mention):  # whose hyphen is its own: "non-Hodgkin lymphoma"
            return
    if not options.abbreviations:
        definitions = Definitions()
    spoken = languages.named(options.language)
    text = abbreviations.expand(mention, definitions.first)
    whole: ReadingKind = "whole" if text == mention else "expanded"
    if options.composites:
        parts = composites.split(text, is_name, spoken)
        if len(parts) > 1:
            yield Wording("split", tuple(parts))
    yield Wording(whole, (text,))
    for short, longs in definitions.others.items():
        for long in longs[:_MOST_DEFINITIONS] if short in mention else ():
            other = abbreviations.expand(mention, {**definitions.first, short: long})
            if other != text:
                yield Wording("expanded", (other,))
    if text != mention and is_name(mention):
        yield Wording("whole", (mention,))
    if options.composites and len(parts := composites.bold_split(text, is_name, spoken)) > 1:
        yield Wording("split", tuple(parts))
    yield from _around_names(text, is_name, options.composites)


def _around_names(text: str, is_name: IsName, composites: bool) -> Iterator[Wording]:
    """The longest name that a text ends with, and the text split before a name.

    A text that is a name itself is neither shortened nor split, and it is split only where what
    comes before is a name, too ("hemorrhagic cystitis").
    """
    words = text.split()
    if not 1 < len(words) <= _MOST_WORDS or is_name(text):
        return
    is_first = True
    for i in range(1, len(words)):
        start, rest = " ".join(words[:i]), " ".join(words[i:])
        if not is_name(rest):
            continue
        if is_first and len(rest) >= _SHORTEST:
            yield Wording("shortened", (rest,))
        if composites and is_name(start):
            yield Wording("split", (start, rest))
            return
        is_first = False

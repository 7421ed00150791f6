"""The ways to read a mention: as it is written, expanded, split, shortened, or respelt."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from linker.records import Assertion, ReadingKind
from linker.text import (
    abbreviations,
    cells,
    composites,
    languages,
)
from linker.text.assertion import stronger
from linker.text.cells import Aside, CellPart
from linker.text.composites import IsName
from linker.text.mentions import Definitions, TextOptions
from linker.text.normalize import BROKEN
from linker.text.short_forms import ShortForms
from linker.text.word_forms import of_eponym

_SHORTEST = 4  # characters of what is left of a shortened mention
_MOST_DEFINITIONS = 3  # further ones of a short form that are tried
_REMEMBERED = 30_000  # texts of which it is known whether they are names
_MOST_WORDS = 8  # of a mention that is shortened, or split between two words
_DENYING = frozenset({"without", "no", "not", "w/o", "excluding", "non", "ohne", "sans", "sin"})
_SPELT_OUT = 6  # characters of a text in capitals that is taken for a word, not a short form
_MOST_RESPELT = 2  # texts that a misspelt mention may stand for


class NameForms:
    """The names of a dictionary in normal form.

    Args:
        forms: of all names.
        normalize: gives the normal form of a text.
        respell: gives the texts in normal form that one may be without typing errors, the most
            probable first.
    """

    def __init__(
        self,
        forms: Container[str],
        normalize: Callable[[str], str],
        respell: Callable[[str], list[str]] = lambda _: [],
    ) -> None:
        self._given = forms, normalize, respell
        self.forms, self.respell = forms, respell
        self.normalize = lru_cache(_REMEMBERED)(normalize)
        self.is_name: IsName = lru_cache(_REMEMBERED)(self._is_name)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with empty caches
        return NameForms, self._given

    def _is_name(self, text: str) -> bool:
        """Whether a text, however it is written, is a name."""
        return self.normalize(text) in self.forms


@dataclass(frozen=True, slots=True)
class PartWording:
    """A part of a mention as it is looked up, or the whole of it."""

    text: str  # as the mention has it, without what stands around it
    expanded: str | None  # with its short forms expanded, or respelt; None: as it is written
    form: str = ""  # what is looked up, in normal form
    assertion: Assertion = "present"
    is_listed: bool = False  # a list of short forms gave the long form, no document did
    errors: int = 0  # letters that differ, of what was respelt
    aside: Aside | None = None  # what was left out
    used: tuple[abbreviations.Pair, ...] = ()  # the short forms that were expanded

    @property
    def looked_up(self) -> str:
        """What is looked up, before it is brought into normal form."""
        return self.text if self.expanded is None else self.expanded


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to read a mention: what to look up for it."""

    kind: ReadingKind
    parts: tuple[PartWording, ...]  # one, or several of a composite or of a cell with several names
    is_list: bool = False  # whether a cell has several names, each of which stands for itself

    @property
    def forms(self) -> tuple[str, ...]:
        """What is looked up for each part, in normal form."""
        return tuple(part.form for part in self.parts)

    @property
    def texts(self) -> tuple[str, ...]:
        """The same before it is brought into normal form."""
        return tuple(part.looked_up for part in self.parts)


Way = tuple[ReadingKind, list[PartWording]]
"""A way to read a mention: its kind, and the parts."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads mentions.

    Attributes:
        names: of the dictionary.
        options: `cells`, `abbreviations` and `composites` say which ways there are.
        short_forms: those of clinical notes, for mentions without a document.
        rivals: whether there are ways beside the most usual one.
    """

    names: NameForms
    options: TextOptions
    short_forms: ShortForms = field(default_factory=ShortForms)
    rivals: bool = True

    def divide(self, mention: str, definitions: Definitions | None = None) -> list[CellPart]:
        """The names that a mention holds: one, or those of a cell with several.

        Args:
            mention: as it is written.
            definitions: the short forms of its document; None: it has no document.

        Returns:
            None where the mention says that nothing was entered, or is marks alone.
        """
        if not self.options.cells:
            return [CellPart(mention)]
        known = partial(self._is_known, listed=self._listed(definitions))
        text, is_alone = cells.plain(mention), definitions is None
        codes, is_name = self.options.codes, self.names.is_name
        return cells.parts(text, is_name, codes, is_known=known, lines=is_alone)

    def _listed(self, definitions: Definitions | None) -> ShortForms:
        """The list of short forms, which is for mentions without a document."""
        return self.short_forms if definitions is None else ShortForms()

    def of_names(
        self, found: Sequence[CellPart], definitions: Definitions | None = None
    ) -> list[Wording]:
        """The ways to read what `divide` gave: the most usual first, and none twice."""
        is_name, listed = self.names.is_name, self._listed(definitions)
        if not found:
            return []
        wordings: dict[tuple[str, ...], Wording] = {}
        given = definitions if definitions and self.options.abbreviations else Definitions()
        ways: Iterable[Way] = (
            self._of_one(found[0].text, given, listed)
            if len(found) == 1
            else [("split", [self._of_several(part.text, given, listed) for part in found])]
        )
        for kind, parts in ways:
            said = [part.assertion for part in found]
            if len(found) == 1:  # of all parts of a composite
                said *= len(parts)
            is_first = not wordings and len(parts) > 1
            each = is_first and all(is_name(part.looked_up) for part in parts)
            wording = Wording(kind, tuple(map(self._told, parts, said)), len(found) > 1 or each)
            wordings.setdefault(wording.forms, wording)
            if not self.rivals:
                break
        return list(wordings.values())

    def _told(self, part: PartWording, assertion: Assertion) -> PartWording:
        """A part with its normal form and its assertion."""
        form, said = self.names.normalize(part.looked_up), stronger(part.assertion, assertion)
        return replace(part, form=form, assertion=said)

    def _of_several(self, text: str, definitions: Definitions, listed: ShortForms) -> PartWording:
        """One of several names in a cell: in the first way in which all of it is a name."""
        ways = [
            parts[0]
            for kind, parts in self._of_one(text, definitions, listed)
            if len(parts) == 1 and (kind != "shortened" or parts[0].aside == "extra")
        ]
        return next((part for part in ways if self.names.is_name(part.looked_up)), ways[0])

    def _is_known(self, text: str, listed: ShortForms) -> bool:
        """Whether a text is a name as it is, without grades, by a list, or without errors."""
        is_name = self.names.is_name
        ways = (text, listed.expand(text), *(short for short, _ in cells.shortened(text)))
        if any(cells.is_respelt(way, is_name) for way in ways):
            return True
        return any(map(is_name, self.names.respell(self.names.normalize(text))[:1]))

    def _of_one(self, text: str, definitions: Definitions, listed: ShortForms) -> Iterator[Way]:
        """The ways to read a mention that stands for itself, without what stands around it."""
        is_name, long = self.names.is_name, listed.expand(text)
        if is_name(long) and not is_name(text):
            yield "expanded", [PartWording(text, long, is_listed=True)]
            return
        if self.options.cells and not is_name(text):
            short = cells.ungraded(text, is_name)
            if is_name(short):
                yield from self._of_one(short, definitions, listed)
                return
        yield from self._as_written(text, definitions)
        if long != text:
            yield "expanded", [PartWording(text, long, is_listed=True)]
        if not self.options.cells or len(text) > cells.LONGEST or is_name(text):
            return
        known = partial(self._is_known, listed=listed)
        members = (
            cells.divided(text, is_name, known, self.options.codes)
            if self.options.composites
            else []
        )
        if members:
            parts = [self._of_several(member.text, definitions, listed) for member in members]
            said = [member.assertion for member in members]
            yield "split", [replace(p, assertion=a) for p, a in zip(parts, said, strict=True)]
        for short, aside in cells.shortened(text):
            yield "shortened", [PartWording(short, None, aside=aside)]
            if (expanded := listed.expand(short)) != short:
                yield "expanded", [PartWording(short, expanded, is_listed=True, aside=aside)]
        is_short = text.isupper() and len(text) < _SPELT_OUT
        if is_short or is_name(long):
            return
        form = self.names.normalize(text)
        known = self.names.forms.__contains__
        if eponym := of_eponym(form, known):
            yield "expanded", [PartWording(text, eponym, is_listed=True)]
        full = ""
        for respelt in self.names.respell(form)[:_MOST_RESPELT]:
            pairs = zip(form.split(), respelt.split(), strict=True)
            errors = sum(word != other for word, other in pairs)
            yield "respelt", [PartWording(text, respelt, errors=errors)]
            if not full and not is_name(respelt):
                full = self._in_full(respelt)
                if full:
                    yield "respelt", [PartWording(text, full, is_listed=True, errors=errors)]

    def _in_full(self, respelt: str) -> str:
        """The name that a text without its errors is, but for "disease" or "syndrome"."""
        known = self.names.forms.__contains__
        one = respelt.removesuffix(" s")
        if " " not in one:
            return of_eponym(f"{one} s", known)
        headed = (f"{respelt} syndrome", f"{respelt} disease")  # "budd chiary"
        return next(filter(known, headed), "")

    def _as_written(self, mention: str, definitions: Definitions) -> Iterator[Way]:
        is_name, spoken = self.names.is_name, languages.named(self.options.language)
        if (unbroken := BROKEN.sub("", mention)) != mention:
            yield from self._as_written(unbroken, definitions)
            if not is_name(mention):  # whose hyphen is its own: "non-Hodgkin lymphoma"
                return
        text, used = abbreviations.expansion(mention, definitions.first)
        parts = composites.split(text, is_name, spoken) if self.options.composites else [text]
        if len(parts) > 1:
            yield "split", _as_they_are(parts, used)
        if text == mention:
            yield "whole", _as_they_are([mention])
        else:
            yield "expanded", [PartWording(mention, text, used=used)]
        for short, longs in definitions.others.items():
            for long in longs[:_MOST_DEFINITIONS] if short in mention else ():
                other, by = abbreviations.expansion(mention, {**definitions.first, short: long})
                if other != text:
                    yield "expanded", [PartWording(mention, other, used=by)]
        if text != mention and is_name(mention):
            yield "whole", _as_they_are([mention])
        bold = self.options.composites and composites.bold_split(text, is_name, spoken)
        if bold and len(bold) > 1:
            yield "split", _as_they_are(bold, used)
        if len(parts) > 1 and all(map(is_name, parts)):
            return  # a part of a composite is not all of it
        for kind, texts in _around_names(text, is_name, self.options.composites):
            yield kind, _as_they_are(texts, used)


def _as_they_are(
    texts: Iterable[str], used: tuple[abbreviations.Pair, ...] = ()
) -> list[PartWording]:
    return [PartWording(text, None, used=used) for text in texts]


def _around_names(
    text: str, is_name: IsName, composites: bool
) -> Iterator[tuple[ReadingKind, tuple[str, ...]]]:
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
        if words[i - 1].lower() in _DENYING or not is_name(rest):
            continue
        if is_first and len(rest) >= _SHORTEST:
            yield "shortened", (rest,)
        if composites and is_name(start):
            yield "split", (start, rest)
            return
        is_first = False

"""The ways to read a mention: as it is written, expanded, split, shortened, or respelt."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

from linker.records import Assertion, ReadingKind
from linker.text import (
    abbreviations,
    cells,
    composites,
    encodings,
    languages,
)
from linker.text.assertion import stronger
from linker.text.cells import Aside, CellPart
from linker.text.composites import IsName
from linker.text.demands import Demand, demand_of
from linker.text.everyday import EverydayNames, Meaning
from linker.text.mentions import Definitions, TextOptions
from linker.text.modifiers import Modifiers
from linker.text.normalize import BROKEN
from linker.text.short_forms import ShortForms
from linker.text.word_forms import common_form, is_common, of_eponym

_SHORTEST = 4  # characters of what is left of a shortened mention
_MOST_DEFINITIONS = 3  # further ones of a short form that are tried
_REMEMBERED = 30_000  # texts of which it is known whether they are names
_MOST_WORDS = 8  # of a mention that is shortened, or split between two words
_MOST_TURNED = 12  # of a mention that may be a name with its last words first
_DIVIDED = re.compile(r"[,;:()\[\]/–—]|-\s|\s-")  # where a name may have its last words first
_ITEM = re.compile(r"\d+[a-z]?|[a-z]|[ivx]+")  # the word of a mark of an item: "2)", "b.", "iv."
_DENYING = frozenset({"without", "no", "not", "w/o", "excluding", "non", "ohne", "sans", "sin"})
_SPELT_OUT = 6  # characters of a text in capitals that is taken for a word, not a short form
_MOST_RESPELT = 2  # texts that a misspelt mention may stand for


class Lengthened(NamedTuple):
    """A name whose words a text has cut off."""

    name: str
    is_short_form: bool  # whether letters stand for several words
    is_only: bool  # whether no other concept has such a name


class NameForms:
    """The names of a dictionary in normal form.

    Args:
        forms: of all names.
        normalize: gives the normal form of a text.
        respell: gives the texts in normal form that one may be without typing errors, the most
            probable first.
        spell: gives a text in normal form that is no name in the spelling of the names.
        modifiers: the words that are no name beside another one; None: those that are shipped.
        lengthen: gives the names whose words a text may have cut off, given whether it was
            expanded.
    """

    def __init__(
        self,
        forms: Container[str],
        normalize: Callable[[str], str],
        respell: Callable[[str], list[str]] = lambda _: [],
        spell: Callable[[str], str] = lambda form: form,
        modifiers: Modifiers | None = None,
        lengthen: Callable[[str, bool], list[Lengthened]] = lambda *_: [],
    ) -> None:
        self._given = forms, normalize, respell, spell, modifiers, lengthen
        self.lengthen = lru_cache(_REMEMBERED)(lengthen)
        self.forms, self.respell = forms, respell
        self.has_form: IsName = lru_cache(_REMEMBERED)(forms.__contains__)
        self.modifiers = modifiers or Modifiers(normalize)
        self.normalize = lru_cache(_REMEMBERED)(self._looked_up)
        self.is_name: IsName = lru_cache(_REMEMBERED)(self._is_name)
        self.is_part: IsName = lru_cache(_REMEMBERED)(self._is_part)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with empty caches
        return NameForms, self._given

    def _looked_up(self, text: str) -> str:
        """The normal form of a text, as the names have its words."""
        _, normalize, _, spell, *_ = self._given
        form = normalize(text)
        if self.has_form(form):
            return form
        spelt = spell(form)
        is_name = spelt != form and self.has_form(spelt)
        if is_name or not self._may_be_turned(text, spelt):
            return spelt
        turned = map(spell, _turned(form))
        return next(filter(self.has_form, turned), spelt)

    def _may_be_turned(self, text: str, form: str) -> bool:
        """Whether a text may be a name with its last words first."""
        return bool(_DIVIDED.search(text)) or self.modifiers.begins_or_ends(form)

    def is_rewritten(self, text: str, form: str) -> bool:
        """Whether a name is written with other marks, or in another order, than by the dictionary.

        Args:
            text: as it is written: "sinusitis - acute".
            form: by which it is looked up.
        """
        first, *others = form.split() or [""]
        if not others:
            return False
        if text.lower().startswith(first) and not _DIVIDED.search(text):
            return False  # as most are
        _, normalize, *_ = self._given
        return form in self.forms and sorted(normalize(text).split()) == sorted([first, *others])

    def _is_name(self, text: str) -> bool:
        """Whether a text, however it is written, is a name."""
        return self.has_form(self.normalize(text))

    def _is_part(self, text: str) -> bool:
        """Whether a text is a name that may stand beside another one, and no modifier."""
        return self.is_name(text) and text not in self.modifiers


def _turned(form: str) -> Iterator[str]:
    """A text with its last words first: "sinusitis acute" as "acute sinusitis".

    The mark of an item is no word of a name: "1) thrombocytopenia" is not "thrombocytopenia 1"; an
    answer is none, either: "appetite: no" is not "no appetite".
    """
    words = form.split()
    if len(words) > _MOST_TURNED or words[-1:] == ["no"]:
        return
    first = next((i for i, word in enumerate(words) if not _ITEM.fullmatch(word)), len(words))
    for cut in range(first + 1 if first else 1, len(words)):
        yield " ".join(words[cut:] + words[:cut])


class PartWording(NamedTuple):
    """A part of a mention as it is looked up, or the whole of it."""

    text: str  # as the mention has it, without what stands around it
    expanded: str | None  # with its short forms expanded, or respelt; None: as it is written
    form: str = ""  # what is looked up, in normal form
    assertion: Assertion = "present"
    is_listed: bool = False  # a list of short forms gave the long form, no document did
    meaning: Meaning | None = None  # what people mean by it, which is looked up
    is_one_of_several: bool = False  # whether its words may be cut off from another name, too
    errors: int = 0  # letters that differ, of what was respelt
    aside: Aside | None = None  # what was left out
    used: tuple[abbreviations.Pair, ...] = ()  # the short forms that were expanded
    demand: Demand | None = None  # what its answer must fulfil
    is_rewritten: bool = False  # whether it is a name with other marks, or in another order

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


@dataclass(frozen=True, slots=True)
class _Listed:
    """What lists say of a mention: its short forms, and what people mean by names that they use."""

    short_forms: ShortForms
    everyday: Callable[[str], Sequence[Meaning]]
    is_of_cell: bool

    def meanings(self, text: str) -> Sequence[Meaning]:
        """What people mean by a text, unless a list of the user explains it."""
        meanings = self.everyday(text)
        return () if meanings and self.short_forms.is_of_user(text) else meanings

    def wordings(self, text: str, is_name: IsName) -> list[PartWording]:
        """What a text is looked up as: all that people mean by it, or with its long forms."""
        is_own = is_name(text)
        meanings = [
            meaning
            for meaning in self.meanings(text)
            if is_name(meaning.name.target) and (meaning.is_recased or not is_own)
        ]
        if meanings:
            return [PartWording(text, m.name.target, meaning=m) for m in meanings]
        long = self.short_forms.expand(text)
        if long == text:
            return []
        is_listed = self.short_forms.has_short_form(text)
        return [PartWording(text, long, is_listed=is_listed)]


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
        everyday: the names that people use that the dictionary is lent.
    """

    names: NameForms
    options: TextOptions
    short_forms: ShortForms = field(default_factory=ShortForms)
    rivals: bool = True
    everyday: EverydayNames = field(default_factory=EverydayNames)

    def divide(
        self, mention: str, definitions: Definitions | None = None, labels: tuple[str, ...] = ()
    ) -> list[CellPart]:
        """The names that a mention holds: one, or those of a cell with several.

        Args:
            mention: as it is written.
            definitions: the short forms of its document; None: it has no document.
            labels: of fields, one of which may stand at the beginning of a cell.

        Returns:
            None where the mention says that nothing was entered, or is marks alone.
        """
        if not self.options.cells:
            return [CellPart(mention)]
        listed = self._listed(definitions)
        is_used = partial(self._is_used, listed=listed)
        known = partial(self._is_known, listed=listed)
        text, is_alone = cells.plain(mention), definitions is None
        if is_alone and not self.names.is_name(mention):
            text = cells.plain(encodings.mended(mention))
            if labels and not (text := cells.without_label(text, labels, is_used)):
                return []
            text = encodings.with_lost_letters(text, self._completed, self.names.is_name)
        may_be_cut = self.options.everyday and is_alone and cells.has_cut_words(text)
        if may_be_cut and not is_used(text) and self.names.lengthen(text, False):
            return [CellPart(text)]  # whose points divide nothing
        modifiers = self.names.modifiers
        return cells.parts(
            text,
            is_used,
            self.options.codes,
            is_known=known,
            is_modifier=modifiers.__contains__,
            lines=is_alone,
        )

    def _completed(self, text: str) -> list[str]:
        """The texts that one with lost letters may be; none of one that is too long to be read."""
        if len(text) > cells.LONGEST:
            return []
        return self.names.respell(self.names.normalize(text))

    def _listed(self, definitions: Definitions | None) -> _Listed:
        """What lists say: all of it of mentions without a document, in texts what is clear."""
        if definitions is None:
            return _Listed(self.short_forms, self.everyday.of_cell, is_of_cell=True)
        return _Listed(ShortForms(), self.everyday.of_mention, is_of_cell=False)

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
            names = found
            if len(found) == 1 < len(parts):  # a composite
                names = [CellPart(part.text, found[0].assertion) for part in parts]
            is_first = not wordings and len(parts) > 1
            each = is_first and all(is_name(part.looked_up) for part in parts)
            told = [self._told(part, name, listed) for part, name in zip(parts, names, strict=True)]
            wording = Wording(kind, tuple(told), len(found) > 1 or each)
            wordings.setdefault(wording.forms, wording)
            if not self.rivals:
                break
        return list(wordings.values())

    def _told(self, part: PartWording, name: CellPart, listed: _Listed) -> PartWording:
        """A part with its normal form, its assertion, and what its answer must fulfil."""
        form, said = self.names.normalize(part.looked_up), stronger(part.assertion, name.assertion)
        demand = None
        if not part.meaning and not self.names.is_name(name.text):
            demand = demand_of(name.text, listed.short_forms.expand)
        is_rewritten = self.names.is_rewritten(part.looked_up, form)
        return part._replace(form=form, assertion=said, demand=demand, is_rewritten=is_rewritten)

    def _of_several(self, text: str, definitions: Definitions, listed: _Listed) -> PartWording:
        """One of several names in a cell: in the first way in which all of it is a name."""
        ways = [
            parts[0]
            for kind, parts in self._of_one(text, definitions, listed)
            if len(parts) == 1 and (kind != "shortened" or parts[0].aside == "extra")
        ]
        return next((part for part in ways if self.names.is_name(part.looked_up)), ways[0])

    def _is_used(self, text: str, listed: _Listed) -> bool:
        """Whether a text is a name of the dictionary, or one that people use for it."""
        return self.names.is_name(text) or bool(listed.meanings(text))

    def _is_known(self, text: str, listed: _Listed) -> bool:
        """Whether a text is a name as it is, without grades, by a list, or without errors."""
        is_part = self.names.is_part
        long = listed.short_forms.expand(text)
        ways = (text, long, *(short for short, _ in cells.shortened(text)))
        if any(cells.is_respelt(way, is_part) or listed.meanings(way) for way in ways):
            return True
        return any(map(is_part, self.names.respell(self.names.normalize(text))[:1]))

    def _of_one(self, text: str, definitions: Definitions, listed: _Listed) -> Iterator[Way]:
        """The ways to read a mention that stands for itself, without what stands around it."""
        is_name = self.names.is_name
        is_used = partial(self._is_used, listed=listed)
        expanded = listed.wordings(text, is_name)
        if expanded and is_name(expanded[0].looked_up):
            is_lent = any(part.meaning for part in expanded)
            # a list of the user wins, even where the text is a name itself
            if is_lent or listed.short_forms.is_of_user(text) or not is_name(text):
                for part in expanded:
                    yield "expanded", [part]
                return
        if self.options.cells and not is_name(text):
            short = cells.ungraded(text, is_used)
            if short != text and is_used(cells.unbracketed(short)):
                yield from self._of_one(short, definitions, listed)
                return
        if listed.is_of_cell:
            for part in self._lengthened(text, expanded):
                yield "expanded", [part]
        yield from self._as_written(text, definitions)
        for part in expanded:
            yield "expanded", [part]
        if not self.options.cells or len(text) > cells.LONGEST or is_name(text):
            return
        known = partial(self._is_known, listed=listed)
        members = (
            cells.divided(
                text, is_name, known, self.options.codes, self.names.modifiers.__contains__
            )
            if self.options.composites
            else []
        )
        if members:
            parts = [self._of_several(member.text, definitions, listed) for member in members]
            said = [member.assertion for member in members]
            yield "split", [p._replace(assertion=a) for p, a in zip(parts, said, strict=True)]
        for short, aside in cells.shortened(text):
            yield "shortened", [PartWording(short, None, aside=aside)]
            for part in listed.wordings(short, is_name):
                yield "expanded", [part._replace(aside=aside)]
        is_short = text.isupper() and len(text) < _SPELT_OUT
        if is_short or any(is_name(part.looked_up) for part in expanded):
            return
        form = self.names.normalize(text)
        if eponym := of_eponym(form, self.names.has_form):
            yield "expanded", [PartWording(text, eponym, is_listed=True)]
        full = ""
        texts = self.names.respell(form)[:_MOST_RESPELT]
        is_any_name = any(map(is_name, texts))  # "fveer" is fever, not Feer's disease
        for respelt in texts:
            pairs = zip(form.split(), respelt.split(), strict=True)
            errors = sum(word != other for word, other in pairs)
            yield "respelt", [PartWording(text, respelt, errors=errors)]
            if not full and not is_any_name:
                full = self._in_full(respelt)
                if full:
                    yield "respelt", [PartWording(text, full, is_listed=True, errors=errors)]

    def _in_full(self, respelt: str) -> str:
        """The name that a text without its errors is, but for "disease" or "syndrome"."""
        known = self.names.has_form
        one = respelt.removesuffix(" s")
        if " " not in one:
            is_free = one != respelt or not is_common(one)
            form = f"{one} s" if is_free else common_form(one)  # "trunk" is no eponym
            return of_eponym(form, known)
        headed = (f"{respelt} syndrome", f"{respelt} disease")  # "budd chiary"
        return next(filter(known, headed), "")

    def _lengthened(self, text: str, expanded: Sequence[PartWording]) -> Iterator[PartWording]:
        """A text that is no name with its words in full, where the whole is a name then.

        Args:
            text: of a cell.
            expanded: what lists make of it.
        """
        is_name = self.names.is_name
        if not self.options.everyday or is_name(text) or len(text) > cells.LONGEST:
            return
        part = expanded[0] if expanded else PartWording(text, text)
        if part.is_listed:
            name = next(filter(is_name, cells.staged(part.looked_up)), None)
            if name:
                yield part._replace(expanded=name)
                return
        texts = [part.looked_up, cells.without_sides(part.looked_up)]
        if not part.is_listed:
            texts.insert(0, text)
        for long in dict.fromkeys(texts):
            lengthened = self.names.lengthen(long, long != text)
            for found in lengthened:
                if is_name(found.name):
                    is_listed = part.is_listed or found.is_short_form
                    yield part._replace(
                        expanded=found.name,
                        is_listed=is_listed,
                        is_one_of_several=not found.is_only,
                    )
            if lengthened:
                return

    def _as_written(self, mention: str, definitions: Definitions) -> Iterator[Way]:
        is_name, is_part = self.names.is_name, self.names.is_part
        spoken = languages.named(self.options.language)
        if (unbroken := BROKEN.sub("", mention)) != mention:
            yield from self._as_written(unbroken, definitions)
            if not is_name(mention):  # whose hyphen is its own: "non-Hodgkin lymphoma"
                return
        text, used = abbreviations.expansion(mention, definitions.first)
        coordination = composites.Coordination(text, is_part, spoken)
        parts = coordination.split() if self.options.composites else [text]
        if not self._are_several(parts):
            parts = [text]
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
        bold = coordination.bold_split() if self.options.composites else [text]
        if self._are_several(bold):
            yield "split", _as_they_are(bold, used)
        if len(parts) > 1 and all(map(is_name, parts)):
            return  # a part of a composite is not all of it
        if is_name(text):
            return
        for kind, texts in _around_names(text, is_part, self.options.composites):
            yield kind, _as_they_are(texts, used)

    def _are_several(self, parts: Sequence[str]) -> bool:
        """Whether the parts of a composite are several things, not one with several modifiers.

        "Relapsed and refractory myeloma" is one, "acute and chronic sinusitis" is two where both
        are names.
        """
        if len(parts) < 2 or all(map(self.names.is_name, parts)):
            return len(parts) > 1
        forms = map(self.names.normalize, parts)
        return len(set(map(self.names.modifiers.left_out, forms))) > 1


def _as_they_are(
    texts: Iterable[str], used: tuple[abbreviations.Pair, ...] = ()
) -> list[PartWording]:
    return [PartWording(text, None, used=used) for text in texts]


def _around_names(
    text: str, is_part: IsName, composites: bool
) -> Iterator[tuple[ReadingKind, tuple[str, ...]]]:
    """The longest name that a text ends with, and the text split before a name.

    It is split only where what comes before is a name, too ("hemorrhagic cystitis").

    Args:
        text: no name itself.
        is_part: tells the names that may stand beside another one.
        composites: whether it may be split.
    """
    words = text.split()
    if not 1 < len(words) <= _MOST_WORDS:
        return
    is_first = True
    for i in range(1, len(words)):
        start, rest = " ".join(words[:i]), " ".join(words[i:])
        if words[i - 1].lower() in _DENYING or not is_part(rest):
            continue
        if is_first and len(rest) >= _SHORTEST:
            yield "shortened", (rest,)
        if composites and is_part(start):
            yield "split", (start, rest)
            return
        is_first = False

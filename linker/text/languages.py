"""What names and texts of each language have of their own, as data.

`text.language` chooses the languages of a model. English is the default, and has no rules beside
those of the normal form.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, permutations, product

from linker.errors import LinkerError, shorten

_MOST_FORMS = 64  # of a text, in singular
_SHORTEST = 3  # letters of a word without its ending


@dataclass(frozen=True)
class Language:
    """A language: how its names vary, and how it joins names.

    Attributes:
        conjunctions: "and", "or" and others; the first stands for any of them.
        replacements: patterns of a text in any case, and what takes their place before the text is
            brought into normal form.
        prepositions: no name of a coordination begins with one of these.
        articles: left out before a coordinated name.
        endings: of the plural or a case, and what the singular has in their place; of a text each
            word may be without its ending. None: those of English, which `composites` knows.
        hyphens: whether a hyphen stands for a part of a compound: "Leber- und Nierenversagen".
        stops: words that give no letter to a short form, beside those of English.
    """

    conjunctions: tuple[str, ...]
    replacements: tuple[tuple[str, str], ...] = ()
    prepositions: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    endings: tuple[tuple[str, str], ...] | None = ()
    hyphens: bool = False
    stops: frozenset[str] = frozenset()

    def may_join(self, text: str) -> bool:
        """Whether a text has the letters of what may join names: quicker than `sign`."""
        lowered = text.lower()
        return "/" in text or "&" in text or any(map(lowered.__contains__, self.conjunctions))

    @cached_property
    def sign(self) -> re.Pattern[str]:
        """Finds what may join names."""
        return re.compile(rf"\b(?:{_either(self.conjunctions)})\b|[/&]", re.IGNORECASE)

    @cached_property
    def both(self) -> re.Pattern[str]:
        """Finds two conjunctions that are written as one: "and/or"."""
        pairs = map("/".join, permutations(self.conjunctions, 2))
        return re.compile(rf"\b(?:{_either(pairs)})\b", re.IGNORECASE)

    @cached_property
    def last(self) -> re.Pattern[str]:
        """Finds any conjunction with the space around it."""
        between = rf"{self.both.pattern}|\b(?:{_either(self.conjunctions)})\b|/|&"
        return re.compile(rf"\s*(?:{between})\s*", re.IGNORECASE)

    @cached_property
    def patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """The replacements, compiled."""
        return [(re.compile(this, re.IGNORECASE), other) for this, other in self.replacements]

    def plain(self, text: str) -> str:
        """A text after the replacements of its language."""
        for pattern, other in self.patterns:
            text = pattern.sub(other, text)
        return text

    def singular(self, text: str) -> Iterable[str]:
        """A text, and what it may be with words in the singular."""
        words = [[word, *self._without_ending(word)] for word in text.split()]
        return map(" ".join, islice(product(*words), _MOST_FORMS))

    def _without_ending(self, word: str) -> list[str]:
        return [
            word.removesuffix(ending) + other
            for ending, other in self.endings or ()
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST
        ]


def without_accents(text: str) -> str:
    """A text of the same length without accents."""
    return "".join(_LIGATURES.get(c) or unicodedata.normalize("NFD", c)[0] for c in text)


def _either(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, texts))


_LIGATURES = dict(zip("œæŒÆ", "oaOA", strict=True))  # by the letter that they begin with
_APOSTROPHE = "['’ʼ´`]"
_STOPS = {  # articles, prepositions and conjunctions
    "de": "am bei beim das dem den der des die durch ein eine im mit oder und vom von zum zur",
    "fr": "au aux avec d du en et l les ou par pour sans sur un une",
    "es": "al con del e el en las los o por sin u un una y",
}

LANGUAGES = {
    "en": Language(
        ("and", "or"),
        prepositions=frozenset(["of", "in", "to", "for", "from", "by", "with", "due"]),
        articles=frozenset(["the", "a", "an", "both", "other", "some", "any", "either", "all"]),
        endings=None,
    ),
    "de": Language(
        ("und", "oder", "sowie", "bzw", "bzw.", "beziehungsweise"),
        # as Lucene's GermanNormalizationFilter: "ue" is a u only behind a consonant
        replacements=(
            ("ß", "ss"),
            ("ä|ae|æ", "a"),
            ("ö|oe|œ", "o"),
            ("ü|(?<![aeiouqäöü])ue", "u"),
        ),
        endings=(("en", ""), ("n", ""), ("e", ""), ("s", "")),
        hyphens=True,
        stops=frozenset(_STOPS["de"].split()),
    ),
    "fr": Language(
        ("et", "ou"),
        replacements=(
            (rf"\b(?:du|des|de\s+la)\b|\b(?:de\s+l|d){_APOSTROPHE}", "de "),
            ("œ", "oe"),
            ("æ", "ae"),
        ),
        endings=(("aux", "al"), ("s", ""), ("x", "")),
        stops=frozenset(_STOPS["fr"].split()),
    ),
    "es": Language(
        ("y", "e", "o", "u"),
        endings=(("ces", "z"), ("es", ""), ("s", "")),
        stops=frozenset(_STOPS["es"].split()),
    ),
}
"""The languages whose rules there are, by their codes of ISO 639-1."""


@lru_cache
def named(codes: str) -> tuple[Language, ...]:
    """The languages of a list of codes, "de,en".

    Raises:
        LinkerError: one of them has no rules here.
    """
    chosen = [code.strip() for code in codes.split(",")]
    if unknown := [code for code in chosen if code not in LANGUAGES]:
        raise LinkerError(
            f"text.language is {shorten(repr(codes))}; there are no rules for "
            f"{shorten(repr(unknown[0]))}; expected: one or more of "
            f"{', '.join(LANGUAGES)}, with commas between them"
        )
    return tuple(LANGUAGES[code] for code in chosen)

"""One normalised form of a name, used by index and query alike."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache
from importlib import resources
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from linker.io.option_group import OptionGroup

BROKEN = re.compile(r"[-\u00ad\u2010]\s*\n\s*")
"""Where a line ends inside a word, with a hyphen that is perhaps none of the word's own."""

_COMBINING = dict.fromkeys(range(768, 880))


@dataclass(frozen=True, slots=True)
class NormalizeOptions(OptionGroup):
    """The differences that `normalize` removes. `PRESETS["biosyn"]` is the published setting."""

    group: ClassVar[str] = "normalize"

    # which signs become a space: of all scripts, or of ASCII alone; unicode also
    # makes of compatibility forms the usual ones (NFKC): "ﬁ" -> "fi", "²" -> "2"
    punctuation: Literal["unicode", "ascii"] = "unicode"
    greek: bool = True  # "β" -> "beta": dictionaries spell Greek letters out, texts do not
    accents: bool = True  # "Sjögren" -> "Sjogren"


PRESETS = {
    "default": NormalizeOptions(),
    "biosyn": NormalizeOptions(punctuation="ascii", greek=False, accents=False),
}


def normalize(text: str, options: NormalizeOptions = PRESETS["default"]) -> str:
    """Fold case, punctuation and Unicode variants of a name and collapse its white space.

    >>> normalize("Sjögren’s  Syndrome, β-type")
    'sjogren s syndrome beta type'
    """
    if not text.isascii():
        text = _fold_unicode(text, options)
    return " ".join(text.lower().translate(_signs(options.punctuation)).split())


def _fold_unicode(text: str, options: NormalizeOptions) -> str:
    if options.punctuation == "unicode":
        text = without_unseen(unicodedata.normalize("NFKC", text))
    if options.accents:  # before Greek letters: an accented alpha is an alpha
        text = unicodedata.normalize(
            "NFC", unicodedata.normalize("NFD", text).translate(_COMBINING)
        )
    if options.greek:
        text = text.translate(_greek())
    return text


def rows_of(file: str) -> list[list[str]]:
    """The rows of a table that comes with linker, cut at their tabs; lines with a # are notes."""
    text = (resources.files("linker.text") / file).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def without_unseen(text: str) -> str:
    """A text without soft hyphens, zero-width characters and the like."""
    return text if text.isascii() else text.translate(_unseen())


@lru_cache(maxsize=1)
def _unseen() -> dict[int, None]:
    """Characters of format: soft hyphens, zero-width joiners, byte order marks."""
    return {c: None for c in range(0x10000) if unicodedata.category(chr(c)) == "Cf"}


@lru_cache(maxsize=1)
def _greek() -> dict[int, str]:
    """Greek letters to their names in Unicode ('GREEK SMALL LETTER BETA' -> 'beta')."""
    table = {}
    for code in range(0x0370, 0x0400):
        words = unicodedata.name(chr(code), "").split()
        if words[:1] == ["GREEK"] and "LETTER" in words and "WITH" not in words:
            name = {"lamda": "lambda"}.get(words[-1].lower(), words[-1].lower())
            table[code] = name.capitalize() if "CAPITAL" in words else name
    table[0x00B5] = "mu"  # the micro sign, where ligatures are left alone
    return table


@lru_cache(maxsize=2)
def _signs(punctuation: str) -> dict[int, str]:
    """The signs that become a space."""
    table = dict.fromkeys(map(ord, string.punctuation), " ")
    if punctuation == "unicode":
        table |= {c: " " for c in range(0x10000) if unicodedata.category(chr(c))[0] == "P"}
        table[0x2212] = " "  # the minus sign
    return table


# what shows nothing, though Unicode counts it among letters, marks and signs: the joiner of
# graphemes, fillers of Hangul, vowels of Khmer, selectors of variants, the blank of Braille
_UNSEEN_SIGNS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\u2800"
).union(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


@lru_cache(10_000)
def person(name: str) -> str:
    """What all ways to write a name have in common, so that nobody passes for another.

    It is without case, in compatibility form (NFKC), with single blanks, and without characters
    that cannot be seen.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words = ("".join(filter(_is_seen, word)) for word in folded.split())
    return " ".join(filter(None, words))


def _is_seen(character: str) -> bool:
    """Whether a character shows: none of control, format, unassigned or private ones does."""
    return unicodedata.category(character)[0] != "C" and character not in _UNSEEN_SIGNS

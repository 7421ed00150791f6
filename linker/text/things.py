"""What names no disease by the form of its words: organisms, and what is measured.

"Schistosoma mansoni" is what a disease comes from, and "citrulline level" says nothing of whether
it is high or low. The words are in things.tsv.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from linker.text.normalize import rows_of
from linker.text.word_forms import is_common, is_same_word

Thing = Literal["organism", "measurement"]

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 6  # of what is measured
_UNNAMED = frozenset({"sp", "spp", "species"})
_LATIN = re.compile(r"[a-z]{2,}(?:ae|ensis|ii|is|um|us)")
_LATIN_OR_ENGLISH = re.compile(r"[a-z]{2,}(?:a|ans|ens|es|i|oides|on)")
_DISEASED = re.compile(r".*(?:itis|itides|osis|oses|asis|emia|uria|oma|oea|ea|ia|epsis)")


def thing(text: str) -> Thing | None:
    """What a text is the name of, if that is an organism or a measurement; else None."""
    words = _WORD.findall(text.lower())
    if len(words) < 2:
        return None
    if _is_organism(words):
        return "organism"
    return "measurement" if _is_measurement(words) else None


def _is_organism(words: list[str]) -> bool:
    """Whether words are genus and species, alone or with words of a measurement behind them."""
    genus, species = words[:2]
    if not set(words[2:]) <= _words("measured"):
        return False
    if len(genus) == 1:
        return species in _words("species")
    if not _is_genus(genus):
        return False
    if species in _UNNAMED or species in _words("species"):
        return True
    if _DISEASED.fullmatch(species) or species in _words("finding"):
        return False
    if _LATIN.fullmatch(species):
        return True
    return _LATIN_OR_ENGLISH.fullmatch(species) is not None and not is_common(species)


def _is_genus(word: str) -> bool:
    """Whether a word is a genus, of the list or by its ending."""
    return word in _words("genus") or word.endswith(_endings())


def _is_measurement(words: list[str]) -> bool:
    """Whether words name what is measured, and say nothing of what came out."""
    if len(words) > _MOST_WORDS or says_more(words):
        return False
    is_in_specimen = words[0] in _words("specimen") and not words[1].startswith("cell")
    return is_in_specimen or words[-1] in _words("measured")


def is_of_disease(text: str) -> bool:
    """Whether a text says of a disease which one is meant or how it was found, and no more.

    A result behind it is of the disease then, not of a test: "type 2: negative".
    """
    words = _WORD.findall(text.lower())
    return all(word in _words("itself") or len(word) < 2 for word in words)


def says_more(words: Iterable[str]) -> bool:
    """Whether one of some words says what came out of a measurement, or names a disease."""
    return not _words("direction", "finding").isdisjoint(words)


def adds_direction(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a name says that what a text names is high, low or abnormal, and the text does not.

    Args:
        words: of the text, in normal form.
        others: of the name, in normal form: those of the text, beside words of direction.
    """
    direction = _words("direction").intersection(others)
    if not direction or says_more(words):
        return False
    added = {other for other in others if not any(is_same_word(word, other) for word in words)}
    return added - direction <= _words("around")


@cache
def _words(*kinds: str) -> frozenset[str]:
    """The words of some kinds in the table."""
    return frozenset(row[1] for row in rows_of("things.tsv") if row[0] in kinds)


@cache
def _endings() -> tuple[str, ...]:
    """The endings by which a genus is known."""
    return tuple(word[1:] for word in _words("genus") if word.startswith("-"))

"""British and American spelling: names that differ in nothing else are one name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

from linker.text.composites import IsName

_REMEMBERED = 50_000  # words whose American spelling is kept
_SHORTEST = 5  # letters of a word with a diphthong: "does" is none of them
_BRITISH = re.compile("ae|oe|our|is[aei]|ys[ei]|lph|leuc|[tbv]re|neurone|disc|inium|logue")
"""Finds what may be British: other words leave here."""
_TO_AMERICAN = [
    (re.compile(pattern), american)
    for pattern, american in (
        ("(?<=..)our(?=$|s$|ed$|ing|al|ation|ous|less|i)", "or"),  # not "four", "mourning"
        ("(?<=[^aeiou])is(e[ds]?|ing|ations?)$", r"iz\1"),
        ("ys(e[ds]?|ing)$", r"yz\1"),
        ("sulph", "sulf"),
        ("^leuc(?=o)", "leuk"),
        ("([tbv])re(s?)$", r"\1er\2"),
        ("neurone", "neuron"),
        ("^disc(?=s?$)", "disk"),
        ("inium$", "inum"),
        ("logue(?=s?$)", "log"),
    )
]


def american(form: str) -> str:
    """A text in normal form in American spelling.

    >>> american("localised oedema of the tumour")
    'localized edema of the tumor'
    """
    return " ".join(map(_american_word, form.split()))


@lru_cache(_REMEMBERED)
def _american_word(word: str) -> str:
    """A word in American spelling."""
    if not _BRITISH.search(word):
        return word
    if len(word) >= _SHORTEST:
        word = word.replace("ae", "e").replace("oe", "e")
    for pattern, replacement in _TO_AMERICAN:
        word = pattern.sub(replacement, word)
    return word


class Spellings:
    """The spelling that a dictionary has of texts.

    Args:
        names: of the dictionary, in normal form.
        is_name: tells these.
    """

    def __init__(self, names: Iterable[str], is_name: IsName) -> None:
        self._texts = names
        self._is_name = is_name

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names that are not in American spelling, by what they are in it."""
        return {american(name): name for name in self._texts if american(name) != name}

    @cached_property
    def _words(self) -> set[str]:
        """The words of the names."""
        return set().union(*map(str.split, self._texts))

    def of(self, form: str) -> str:
        """The name that a text is in another spelling, else the text with words of the names.

        Args:
            form: in normal form; no name.
        """
        other = american(form)
        if other != form and self._is_name(other):
            return other
        if other in self._names:
            return self._names[other]
        if other == form:
            return form
        return " ".join(self._of_word(word) for word in form.split())

    def _of_word(self, word: str) -> str:
        """A word in American spelling if a name has that, else as it is."""
        other = american(word)
        return other if other in self._words else word

"""Short forms and shortened words of clinical notes, each with the long form that it mostly has.

A cell has no text that explains short forms, so that what they give is never sure. A shortened word
("chr" for chronic) leaves nothing open where the whole is a name then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

from linker.errors import OnError, stop
from linker.io.files import Pathlike
from linker.text import everyday
from linker.text.spelling import read_pairs

_TOKEN = re.compile(r"[^\W_](?:[\w.'-]*[\w.])?(?:/[\w.]*)?|#")
_ANY_CASE = 4  # letters of a short form from which on its case does not count


@dataclass(frozen=True)
class ShortForms:
    """Short forms and shortened words, with what they stand for.

    Attributes:
        exact: short forms whose case counts: "RA".
        folded: others, in lower case: "nsclc".
        words: shortened words, in lower case: "chr".
    """

    exact: Mapping[str, str] = field(default_factory=dict)
    folded: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    def expand(self, text: str) -> str:
        """A text with the long forms in the place of its short ones."""
        return _TOKEN.sub(lambda token: self._long(token[0]), text)

    def has_short_form(self, text: str) -> bool:
        """Whether a text holds a short form; a shortened word is none."""
        return any(self._short_form(token[0]) is not None for token in _TOKEN.finditer(text))

    def _long(self, token: str) -> str:
        word = token.lower()
        long = self.exact.get(token) or self.folded.get(word)
        if long is None and token[-1] == ".":
            long = self._short_form(token.rstrip("."))
        if long is not None:
            return long
        return self.words.get(word) or self.words.get(word.rstrip(".")) or token

    def _short_form(self, token: str) -> str | None:
        """What a token stands for, if it is a short form."""
        long = self.exact.get(token) or self.folded.get(token.lower())
        if long is None and token.endswith("."):
            return self._short_form(token.rstrip("."))
        return long

    def is_of_user(self, text: str) -> bool:
        """Whether a list of the user explains a whole text."""
        long = self._short_form(text)
        return long is not None and shipped()._short_form(text) != long

    def beside(self, others: ShortForms) -> ShortForms:
        """These, and others, which win."""
        return ShortForms(
            {**self.exact, **others.exact},
            {**self.folded, **others.folded},
            {**self.words, **others.words},
        )

    def without(self, names: Iterable[str]) -> ShortForms:
        """These, without what ships of short forms that are among names: the names win."""
        ours = shipped()
        known = {name.lower() for name in names}

        def kept(own: Mapping[str, str], of_ours: Mapping[str, str]) -> dict[str, str]:
            return {
                short: long
                for short, long in own.items()
                if short.lower() not in known or of_ours.get(short) != long
            }

        return ShortForms(
            kept(self.exact, ours.exact),
            kept(self.folded, ours.folded),
            kept(self.words, ours.words),
        )


@lru_cache(maxsize=1)
def shipped() -> ShortForms:
    """The short forms and shortened words that come with linker."""
    letters = _of((n.name, n.target) for n in everyday.shipped() if n.is_short_form)
    return ShortForms(letters.exact, letters.folded, _shortened_words())


def _shortened_words() -> dict[str, str]:
    """The shortened words that come with linker; a lone # is one of them, and begins no note."""
    text = (resources.files("linker.text") / "shortened_words.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("# "))
    return {word.lower(): long for word, long in rows}


def read(path: Pathlike, on_error: OnError = stop) -> ShortForms:
    """Read a list of short forms: `short<TAB>long` on each line; lines that begin with # are notes.

    Args:
        path: the file.
        on_error: what to do with a line that is none of these; returns to skip it.

    Raises:
        InputError: a line has not two fields, or a short form has two long forms, and `on_error`
            raises.
    """
    known: dict[str, str] = {}

    def problem_of(short: str, long: str) -> str:
        if not long or not _TOKEN.fullmatch(short):
            return "this is no short form with its long form; a short form is one word"
        other = known.setdefault(_folded(short), long)
        return "" if other == long else f"the short form has another long form, {other!r}, before"

    for _ in read_pairs(path, "\t", problem_of, on_error):
        pass
    return _of(known.items())


def _folded(short: str) -> str:
    return short.lower() if len(short) >= _ANY_CASE else short


def _of(pairs: Iterable[tuple[str, str]]) -> ShortForms:
    exact: dict[str, str] = {}
    folded: dict[str, str] = {}
    for short, long in pairs:
        if len(short) >= _ANY_CASE:
            folded[short.lower()] = long
        else:
            exact[short] = long
    return ShortForms(exact, folded)

"""Short forms of clinical notes, each with the long form that it has most often.

A cell has no text that explains them, so that what they give is never sure.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from itertools import dropwhile

from linker.errors import OnError, stop
from linker.io.files import Pathlike
from linker.text.spelling import read_pairs

_TOKEN = re.compile(r"[^\W_](?:[\w.'-]*[\w.])?(?:/[\w.]*)?|#")
_ANY_CASE = 4  # letters of a short form from which on its case does not count


@dataclass(frozen=True)
class ShortForms:
    """Short forms with their long forms.

    Attributes:
        exact: those whose case counts: "RA".
        folded: others, in lower case: "htn", "dz".
        cells: what is one only as a whole text, in lower case: "diabetic", "crohn's".
    """

    exact: Mapping[str, str] = field(default_factory=dict)
    folded: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, str] = field(default_factory=dict)

    def expand(self, text: str) -> str:
        """A text with the long forms in the place of its short ones."""
        whole = self.cells.get(text.lower().replace("’", "'"))
        return whole or _TOKEN.sub(lambda token: self._long(token[0]), text)

    def _long(self, token: str) -> str:
        for written in (token, token.rstrip(".")):
            long = self.exact.get(written) or self.folded.get(written.lower())
            if long is not None:
                return long
        return token

    def beside(self, others: ShortForms) -> ShortForms:
        """These, and others, which win."""
        theirs = {short.lower() for short in (*others.exact, *others.folded)}
        return ShortForms(
            {**self.exact, **others.exact},
            {**self.folded, **others.folded},
            {cell: long for cell, long in self.cells.items() if cell not in theirs},
        )

    def without(self, names: Iterable[str]) -> ShortForms:
        """These, without what ships of short forms that are among names: the names win."""
        ours, known = shipped(), {name.lower() for name in names}

        def kept(own: Mapping[str, str], of_ours: Mapping[str, str]) -> dict[str, str]:
            return {
                short: long
                for short, long in own.items()
                if short.lower() not in known or of_ours.get(short) != long
            }

        return ShortForms(
            kept(self.exact, ours.exact),
            kept(self.folded, ours.folded),
            kept(self.cells, ours.cells),
        )


@lru_cache(maxsize=1)
def shipped() -> ShortForms:
    """The short forms that come with linker."""
    text = (resources.files("linker.text") / "short_forms.tsv").read_text("utf-8")
    rows = dropwhile(lambda line: line.startswith("#"), text.splitlines())
    return _of(
        (row["short"], row["long"], row["kind"]) for row in csv.DictReader(rows, delimiter="\t")
    )


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
    return _of((short, long, "disease") for short, long in known.items())


def _folded(short: str) -> str:
    return short.lower() if len(short) >= _ANY_CASE else short


def _of(rows: Iterable[tuple[str, str, str]]) -> ShortForms:
    exact: dict[str, str] = {}
    folded: dict[str, str] = {}
    cells: dict[str, str] = {}
    for short, long, kind in rows:
        if kind == "cell":
            cells[short] = long
        elif kind == "word" or len(short) >= _ANY_CASE:
            folded[short.lower()] = long
        else:
            exact[short] = long
    return ShortForms(exact, folded, cells)

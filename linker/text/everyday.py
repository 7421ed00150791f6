"""Names that people use for diseases and findings: "lazy eye", "lockjaw", "water on the brain".

The table comes with linker; `linker.dictionary.everyday` says which of its names a dictionary is
lent, below its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, NamedTuple, get_args

from linker.errors import InputError
from linker.text.british import american
from linker.text.normalize import normalize

FILE = "everyday.tsv"
SOURCE = f"linker:{FILE}"
"""What outputs say of an answer that was found by a name of the table."""

Kind = Literal[
    "lay",
    "slang",
    "shortened",
    "adjective",
    "short",
    "British",
    "Irish",
    "American",
    "Australian",
]

KINDS = get_args(Kind)

_IN_TEXTS = "text"  # the field that opens running text to a name
_REMEMBERED = 30_000  # texts whose meanings are kept
_LONGEST = 80  # characters of a text that is looked up
_INNER = re.compile(r"(?<= )(?:(?:the|a|an|my|his|her) )+")
_UNABLE = re.compile(
    "(?:(?:i|he|she|patient|pt|child|baby) )?"
    "(?:cant|cannot|can not|can no longer|could not|couldnt"
    "|(?:(?:is|am|im|was|being) )?(?:unable|not able|no longer able) to"
    "|(?:isnt|wasnt) able to|inability to) "
    "(.+?)(?: at all| any ?more| any longer)?"
)
_ARTICLES = ("the ", "a ", "an ", "my ")


class EverydayName(NamedTuple):
    """A row of the table."""

    name: str
    target: str  # a name of a dictionary, which it stands for
    kind: Kind
    is_in_texts: bool = False  # whether running text means nothing else by it

    @property
    def is_short_form(self) -> bool:
        """Whether it is one word of letters, which is read inside of texts, too."""
        return self.kind == "short" and " " not in self.name and "&" not in self.name

    @property
    def is_of_mention(self) -> bool:
        """Whether a marked mention in running text means it: two words and more, and no slang."""
        words = _without_article(self.name).split()
        return self.kind not in ("slang", "short") and len(words) > 1


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text means by a name of the table."""

    name: EverydayName
    is_sure: bool  # whether nothing else is meant by it
    is_recased: bool = False  # whether the dictionary has it as a short form in other case


@lru_cache(maxsize=1)
def shipped() -> tuple[EverydayName, ...]:
    """The names that come with linker, in the order of the table."""
    return read((resources.files("linker.text") / FILE).read_text("utf-8"))


def read(text: str) -> tuple[EverydayName, ...]:
    """Read a table: name, what it stands for and kind, with tabs between; a # begins a note.

    A fourth field, "text", opens running text to a name.

    Args:
        text: the table.

    Raises:
        InputError: a row has other fields, one of them is empty, or the kind is unknown.
    """
    names: list[EverydayName] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        is_in_texts = fields[3:] == [_IN_TEXTS]
        if is_in_texts:
            fields.pop()
        if len(fields) != 3 or not all(map(str.strip, fields)):
            problem = f"this is no row of three fields, and {_IN_TEXTS!r} as a fourth"
            raise InputError(FILE, problem, line=number, value=line)
        name, target, kind = fields
        if kind not in KINDS:
            raise InputError(FILE, "there is no such kind", line=number, value=kind)
        names.append(EverydayName(name, target, kind, is_in_texts))  # type: ignore[arg-type]
    return tuple(names)


def form_of(text: str) -> str:
    """What the ways to write an everyday name have in common.

    >>> form_of("Athlete’s foot"), form_of("colour-blind"), form_of("ringing in the ears")
    ('athletes foot', 'color blind', 'ringing in ears')
    >>> form_of("can't walk"), form_of("is unable to walk"), form_of("cannot walk any more")
    ('cant walk', 'cant walk', 'cant walk')
    """
    form = normalize(text.replace("’", "'").replace("'", ""))
    return _with_cant(_INNER.sub("", american(form)))


@lru_cache(maxsize=1)  # a process reads the same table for each of its models
def by_form(names: tuple[EverydayName, ...]) -> Mapping[str, Sequence[EverydayName]]:
    """The names that are no short forms, by the form that their spellings share; in their order."""
    names_of: dict[str, list[EverydayName]] = {}
    for name in names:
        if not name.is_short_form:
            names_of.setdefault(form_of(name.name), []).append(name)
    return names_of


def _with_cant(form: str) -> str:
    """A form that says what somebody is not able to do, with "cant" for all ways to say so."""
    unable = _UNABLE.fullmatch(form)
    return f"cant {unable[1]}" if unable else form


def _without_article(text: str) -> str:
    """A text without an article in front of it."""
    return text.partition(" ")[2] if text.startswith(_ARTICLES) else text


class EverydayNames:
    """The names of the table that a dictionary is lent.

    Args:
        meanings: what each form of a name means.
        short_forms: those of one word, which are read inside of texts.
    """

    def __init__(
        self,
        meanings: Mapping[str, Sequence[Meaning]] | None = None,
        short_forms: Sequence[EverydayName] = (),
    ) -> None:
        self._meanings = meanings or {}
        self.short_forms = tuple(short_forms)
        self.of_cell = lru_cache(_REMEMBERED)(self._of_cell)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return EverydayNames, (self._meanings, self.short_forms)

    def __len__(self) -> int:
        """How many pairs of a name and its meaning are lent."""
        return sum(map(len, self._meanings.values())) + len(self.short_forms)

    def _of_cell(self, text: str) -> Sequence[Meaning]:
        """What a whole text means, in the order of the table; () where no name is lent for it."""
        if len(text) > _LONGEST or not self._meanings:
            return ()
        form = form_of(text)
        if form not in self._meanings:
            form = _without_article(form)
            if form not in self._meanings and form.endswith("s") and " " in form:
                form = form[:-1]
        meanings = self._meanings.get(form, ())
        if text.isupper():  # "COLD" is the short form, "cold" is not
            return [meaning for meaning in meanings if not meaning.is_recased]
        return meanings

    def in_texts(self) -> Iterator[EverydayName]:
        """The names that are looked for in running text."""
        for meanings in self._meanings.values():
            yield from (meaning.name for meaning in meanings if meaning.name.is_in_texts)

    def of_mention(self, text: str) -> Sequence[Meaning]:
        """As `of_cell`, of a marked mention in running text: what is clear enough there."""
        return tuple(m for m in self.of_cell(text) if m.name.is_of_mention)

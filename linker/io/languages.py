"""The languages of names: how their tags are compared, and which names of a concept are kept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

from linker.errors import LinkerError
from linker.ids import namespace
from linker.io.parsing import check_concept
from linker.records import NAME_KINDS, Concept, Name, NameKind


class Statement(NamedTuple):
    """What a file says of a concept."""

    field: str  # a kind of name, or a field of `Concept`; "obsolete": that is its status
    value: str  # a text or an id
    language: str = ""  # its tag
    source: str = ""  # of a name


ENGLISH = ("en",)
"""What is kept where no language is chosen."""

# ISO 639-1, and what ISO 639-2 and the UMLS write for it
_CODES: dict[str, str] = dict(
    re.findall(
        r"(\w{3})=(\w\w)",
        "ara=ar baq=eu eus=eu bul=bg cat=ca chi=zh zho=zh cze=cs ces=cs dan=da dut=nl nld=nl "
        "eng=en est=et fin=fi fre=fr fra=fr ger=de deu=de gre=el ell=el heb=he hrv=hr scr=hr "
        "hun=hu ice=is isl=is ita=it jpn=ja kor=ko lav=lv lit=lt nor=no pol=pl por=pt rum=ro "
        "ron=ro rus=ru slo=sk slk=sk slv=sl spa=es swe=sv tur=tr ukr=uk",
    )
)


@lru_cache(maxsize=1 << 10)
def language_code(tag: str) -> str:
    """The language of a tag without its region, in two letters where it has such a code.

    >>> language_code("en-US"), language_code("ENG"), language_code("fre")
    ('en', 'en', 'fr')
    """
    first = re.split("[-_]", tag.strip().lower())[0]
    return _CODES.get(first, first)


class Languages:
    """The languages of the names to keep; it remembers the tags that it is asked for.

    A name without a tag is kept, and counts as English.

    Args:
        wanted: codes in two or three letters, with a region or without, the one first in which
            concepts are to be called; all languages where empty.
    """

    def __init__(self, wanted: Iterable[str] = ENGLISH) -> None:
        self.wanted = tuple(wanted)
        self._places: dict[str, tuple[int, int] | None] = {}

    def place(self, tag: str) -> tuple[int, int] | None:
        """Where the language of a tag stands among those wanted; None for one to leave out.

        The second number is 0 for the tag as it is wanted, 1 without a region, else 2.
        """
        if tag not in self._places:
            self._places[tag] = self._place(tag)
        return self._places[tag]

    def _place(self, tag: str) -> tuple[int, int] | None:
        code, wanted = language_code(tag or ENGLISH[0]), self.wanted or ENGLISH
        region = 1 if not re.search("[-_]", tag) else 2
        for place, other in enumerate(wanted):
            if language_code(other) == code:
                is_same = tag.lower().replace("_", "-") == other.lower().replace("_", "-")
                return place, 0 if is_same else region
        return (len(wanted), region) if not tag or not self.wanted else None

    def concept(
        self, identifier: str, statements: Iterable[Statement], *, source: str = "", **fields: Any
    ) -> Concept:
        """Make a concept of what is stated on it, with the names in these languages, or none.

        It is called by its preferred name in the first language that it has. The names that other
        languages prefer are exact.

        Args:
            identifier: its id.
            statements: with names and definitions in any language.
            source: of names that state none.
            fields: other fields of `Concept`.

        Raises:
            RecordError: see `linker.io.parsing.check_concept`.
        """
        kept, described = list[tuple[tuple[int, int], Name]](), list[tuple[tuple[int, int], str]]()
        lists: dict[str, dict[str, None]] = defaultdict(dict)
        for field, value, tag, origin in statements:
            if field == "obsolete":
                fields["status"] = field
            elif field not in NAME_KINDS and field != "definition":
                lists[field][value] = None
            elif (place := self.place(tag)) and field == "definition":
                described.append((place, value.strip()))
            elif place:
                kept.append(
                    (
                        place,
                        Name(
                            value.strip(), identifier, cast(NameKind, field), tag, origin or source
                        ),
                    )
                )
        fields |= {field: tuple(values) for field, values in lists.items()}
        fields["namespace"] = namespace(identifier)
        if not kept and fields.get("status", "current") != "current":
            kept = [((0, 0), Name(identifier, identifier))]  # only its id will be used
        if not kept:
            check_concept(identifier, ())
            return Concept(identifier, "", **fields)
        _, best = min(kept, key=lambda k: (k[0][0], k[1].kind != "preferred", k[0][1]))
        unique: dict[str, Name] = {}
        for name in (best, *(name for _, name in kept)):
            kind = "exact" if unique and name.kind == "preferred" else name.kind
            unique.setdefault(name.text, replace(name, kind=kind if unique else "preferred"))
        check_concept(identifier, unique)
        if described:
            fields["definition"] = min(described, key=lambda d: d[0])[1]
        return Concept(identifier, best.text, tuple(unique.values()), **fields)

    def check(self, where: object) -> None:
        """Check that there are names in every language that is wanted.

        Args:
            where: the files that were read, for the message.

        Raises:
            LinkerError: there are none in one of them.
        """
        tags = sorted(filter(None, self._places))
        codes = {language_code(tag or ENGLISH[0]) for tag in self._places}
        missing = [tag for tag in self.wanted if language_code(tag) not in codes]
        if missing and (tags or self.wanted != ENGLISH):
            there = f"the languages are {', '.join(tags)}" if tags else "no name says its language"
            raise LinkerError(
                f"{where}: there are no names in {', '.join(missing)}; {there}; "
                "choose of these with --languages"
            )

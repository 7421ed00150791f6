"""Ontologies in OBO format 1.2 and 1.4 (DO, HPO, MONDO), parsed stanza by stanza with obonet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from linker.errors import InputError, OnError, RecordError, ignore, stop
from linker.files import Pathlike, read_lines
from linker.ids import normalized, spelled_as
from linker.readers.records import make_concept, parse_each
from linker.readers.terms import curie
from linker.types import Concept, NameKind

Stanza = list[tuple[int, str]]  # lines with their numbers

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(EXACT|NARROW|BROAD|RELATED)?\s*([^\s\[]*)')
_SCOPED: tuple[NameKind, ...] = ("exact", "narrow", "broad", "related")
_KINDS = {kind.upper(): kind for kind in _SCOPED}
# of the current tag, unless it states another, and of the tags of OBO 1.0
_SCOPES = {"synonym": "RELATED", **{f"{kind}_synonym": kind.upper() for kind in _SCOPED}}
_QUOTED_TAGS = frozenset(("def", *_SCOPES))
_PLAIN_TAGS = frozenset(
    ("id", "name", "is_a", "alt_id", "is_obsolete", "replaced_by", "subset", "xref")
)
_BLANKS = {"n": " ", "t": " ", "W": " "}  # escaped white space


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold an OBO header or term."""
    return any(line.startswith(("format-version:", "[Term]")) for line in head)


def release(path: Pathlike) -> str:
    """The data-version of the header, else its date; empty where there is neither."""
    header = _header(next(_stanzas(path, ignore), []))
    return "".join(header.get("data-version", [])[:1] or header.get("date", [])[:1])


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read the terms of an OBO file, obsolete ones included; subsets become the types.

    A synonym whose type is called an abbreviation, by itself or in the header, has the kind
    "abbreviation" whatever its scope.
    """
    abbreviations: frozenset[str] = frozenset()

    def parse(number: int, stanza: Stanza) -> Concept | None:
        nonlocal abbreviations
        for place, line in stanza:
            if ":" not in line[1:] and not line.startswith("["):
                error = RecordError("the line is not OBO", line, expected="tag: value")
                on_error(error.at(path, place))
                return None
        first = stanza[0][1]
        if not first.startswith("["):
            abbreviations = _abbreviation_types(_header(stanza))
        is_term = first.startswith("[Term]")
        return _concept(number, _tags(stanza[1:]), abbreviations) if is_term else None

    stanzas = ((stanza[0][0], stanza) for stanza in _stanzas(path, on_error))
    yield from parse_each(path, stanzas, parse, on_error)


def _stanzas(path: Pathlike, on_error: OnError) -> Iterator[Stanza]:
    """The header, then each stanza from its "[…]" line on; blank lines and comments are left out.

    A stanza with a line that cannot be read is left out, since that line may begin another stanza.
    """
    stanza: Stanza = []
    unread: list[InputError] = []  # of this stanza

    def report(error: InputError) -> None:
        on_error(error)
        unread.append(error)

    for number, line in chain(read_lines(path, on_error=report), [(0, "[")]):  # which ends the last
        if line.startswith("["):
            if stanza and not (unread and stanza[0][1].startswith("[")):
                yield stanza
            stanza = []
            unread.clear()
        if line.strip() and not line.startswith("!"):
            stanza.append((number, line))


def _header(stanza: Stanza) -> dict[str, list[str]]:
    header: dict[str, list[str]] = {}
    for _, line in stanza:
        tag, _, value = line.partition(":")
        header.setdefault(tag, []).append(value.strip())
    return header


def _abbreviation_types(header: dict[str, list[str]]) -> frozenset[str]:
    """The ids of the synonym types that are defined as abbreviations, such as HP:0045077 in HPO."""
    return frozenset(
        value.split()[0]
        for value in header.get("synonymtypedef", [])
        if "abbreviation" in value.lower()
    )


def _tags(stanza: Stanza) -> dict[str, Any]:
    from obonet.read import (  # brings networkx: only where an OBO file is read
        parse_stanza,
        term_tag_singularity,
    )

    values = [(line.partition(":")[0], line) for _, line in stanza]
    tags: dict[str, Any] = parse_stanza(
        [line for tag, line in values if tag in _PLAIN_TAGS], term_tag_singularity
    )
    for tag, line in values:
        if tag in _QUOTED_TAGS:  # obonet would take " !" inside the quotes for a comment
            tags.setdefault(tag, []).append(line[len(tag) + 1 :].strip())
    return tags


def _concept(number: int, tags: dict[str, Any], abbreviations: frozenset[str]) -> Concept:
    identifier, name = normalized(tags.get("id", "")), _plain(tags.get("name", ""))
    obsolete = tags.get("is_obsolete") == "true"
    if obsolete and not name:
        name = identifier  # only its id will be used
    synonyms: dict[str, NameKind] = {}
    for tag, scope in _SCOPES.items():
        for value in tags.get(tag, ()):
            text, kind = _synonym(value, scope, abbreviations)
            if text:
                synonyms.setdefault(text, kind)

    def own(values: Iterable[str]) -> tuple[str, ...]:  # OBO files also have HP_1 and IRIs for HP:1
        ids = (spelled_as(identifier, curie(text, {})) for text in _identifiers(values))
        return tuple(dict.fromkeys(ids))

    return make_concept(
        identifier,
        name,
        synonyms,
        parents=own(tags.get("is_a", ())),
        alt_ids=own(tags.get("alt_id", ())),
        definition=_plain(_quoted(tags["def"][0])[1]) if "def" in tags else "",
        types=tuple(tags.get("subset", ())),
        status="obsolete" if obsolete else "current",
        replaced_by=own(tags.get("replaced_by", ())),
        xrefs=_identifiers(tags.get("xref", ())),
        line=number,
    )


def _synonym(value: str, scope: str, abbreviations: frozenset[str]) -> tuple[str, NameKind]:
    quoted = _quoted(value)
    short = quoted[3] in abbreviations or "abbreviation" in quoted[3].lower()
    return _plain(quoted[1]), "abbreviation" if short else _KINDS[quoted[2] or scope]


def _quoted(value: str) -> re.Match[str]:
    if quoted := _QUOTED.match(value):
        return quoted
    expected = 'text in double quotes, such as "fever" EXACT []'
    problem = "a text of the term that starts here is not quoted"
    raise RecordError(problem, value, expected=expected)


def _plain(text: str) -> str:
    """Take the backslashes out of a value."""
    return re.sub(r"\\(.)", lambda escape: _BLANKS.get(escape[1], escape[1]), text).strip()


def _identifiers(values: Iterable[str]) -> tuple[str, ...]:
    """Identifiers out of values that may go on with a description, without repeats."""
    return tuple(dict.fromkeys(normalized(_plain(value.split()[0])) for value in values if value))

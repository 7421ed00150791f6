"""Ontologies in OBO format 1.2 and 1.4 (DO, HPO, MONDO), parsed stanza by stanza with obonet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from linker.errors import InputError, OnError, RecordError, ignore, stop
from linker.files import Pathlike, read_lines
from linker.ids import normalized, spelled_as
from linker.readers import terms
from linker.readers.languages import Languages
from linker.readers.records import parse_each
from linker.types import Concept

Stanza = list[tuple[int, str]]  # lines with their numbers

_ANY = Languages(())  # OBO names none
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(EXACT|NARROW|BROAD|RELATED)?\s*([^\s\[]*)')
# what the statements of other formats are called, see `linker.readers.terms`
_PREDICATES = {
    **{"name": "label", "is_a": "is_a", "alt_id": "hasAlternativeId", "xref": "hasDbXref"},
    **{"replaced_by": "isReplacedBy", "subset": "inSubset", "is_obsolete": "deprecated"},
}
_OF_IDS = ("is_a", "alt_id", "replaced_by", "xref")
# of tags with a quoted text, unless it states another scope; those of four kinds are of OBO 1.0
_SCOPES = {
    **{"def": "definition", "synonym": "hasRelatedSynonym"},
    **{
        f"{kind.lower()}_synonym": f"has{kind}Synonym"
        for kind in ("Exact", "Narrow", "Broad", "Related")
    },
}
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
        return _concept(number, stanza[1:], abbreviations) if is_term else None

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


def _concept(number: int, stanza: Stanza, abbreviations: frozenset[str]) -> Concept:
    from obonet.read import parse_stanza  # brings networkx: only where an OBO file is read

    lines = [(line.partition(":")[0], line) for _, line in stanza]
    tags = parse_stanza([line for tag, line in lines if tag in ("id", *_PREDICATES)], {})
    identifier = normalized(tags.pop("id", [""])[-1])
    statements = [
        (_PREDICATES[tag], _value(tag, value, identifier), "")
        for tag, values in tags.items()
        for value in values
        if value
    ]
    for tag, line in lines:
        if tag in _SCOPES:  # obonet would take " !" inside the quotes for a comment
            predicate, text = _quoted(line[len(tag) + 1 :].strip(), _SCOPES[tag], abbreviations)
            statements += [(predicate, text, "")] if text else []
    return terms.concept(identifier, statements, _ANY, line=number)


def _value(tag: str, value: str, identifier: str) -> str:
    """The text of a tag; identifiers may go on with a description."""
    if tag not in _OF_IDS:
        return _plain(value)
    text = _plain(value.split()[0])
    if tag == "xref":
        return normalized(text)
    return spelled_as(identifier, terms.curie(text, {}))  # OBO files also have HP_1 and IRIs


def _quoted(value: str, predicate: str, abbreviations: frozenset[str]) -> tuple[str, str]:
    """The predicate of a tag with a text in quotes, and the text."""
    if not (quoted := _QUOTED.match(value)):
        expected = 'text in double quotes, such as "fever" EXACT []'
        problem = "a text of the term that starts here is not quoted"
        raise RecordError(problem, value, expected=expected)
    _, scope, kind = quoted.groups()
    predicate = f"has{scope.capitalize()}Synonym" if scope else predicate
    if kind in abbreviations or "abbreviation" in kind.lower():
        predicate = "abbreviation"
    return predicate, _plain(quoted[1])


def _plain(text: str) -> str:
    """Take the backslashes out of a value."""
    return re.sub(r"\\(.)", lambda escape: _BLANKS.get(escape[1], escape[1]), text).strip()

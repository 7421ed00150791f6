"""Ontologies in OBO 1.2 and 1.4 (DO, HPO, MONDO), and as OBO Graphs in JSON.

Neither has a place for the language of a name, but some names end in its tag: "pectoral fin@en".
https://github.com/geneontology/obographs has the format of the graphs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from types import SimpleNamespace
from typing import Any

from linker.errors import InputError, OnError, RecordError, ignore, stop
from linker.ids import normalized, spelled_as
from linker.io.files import LONG_LINE, Line, Pathlike, check_size, read_lines
from linker.io.parsing import Languages, Statement, json_version, parse_each, parsing, read_json
from linker.io.rdf import concept, curie, statement, synonym_predicate
from linker.records import Concept

OPTIONS = ("languages",)
_TRAILING = re.compile(r"\s(?:\{[^{}]*\}(?:\s!.*)?|!.*)$")  # qualifiers and a comment
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(EXACT|NARROW|BROAD|RELATED)?\s*([^\s\[]*)')
_FIELDS = {
    **{"name": "preferred", "is_a": "parents", "alt_id": "alt_ids", "xref": "xrefs"},
    **{"replaced_by": "replaced_by", "subset": "types", "is_obsolete": "obsolete"},
}
_IDS = ("parents", "alt_ids", "replaced_by", "xrefs")
_QUOTED_FIELDS = ("exact", "narrow", "broad", "related", "abbreviation", "definition")
# of tags with a quoted text, unless it states another scope; those of four kinds are of OBO 1.0
_SCOPES = {
    **{"def": "definition", "synonym": "related"},
    **{f"{kind}_synonym": kind for kind in ("exact", "narrow", "broad", "related")},
}
_BLANKS = {"n": " ", "t": " ", "W": " "}  # escaped white space
_GRAPHS = re.compile(r'\s*\{.*"graphs"\s*:', re.DOTALL)


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold an OBO header or term."""
    return any(line.startswith(("format-version:", "[Term]")) for line in head)


def release(path: Pathlike) -> str:
    """The data-version of the header, else its date; empty where there is neither."""
    header = dict(reversed([_tag(line) for _, line in next(_stanzas(path, ignore), [])]))
    return header.get("data-version") or header.get("date", "")


def read(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the terms of an OBO file, obsolete ones included; subsets become the types.

    A synonym whose type is called an abbreviation, by itself or in the header, has the kind
    "abbreviation" whatever its scope.

    Args:
        path: the file.
        on_error: what to do with a bad term.
        languages: of the names to keep; None: English. Names without a tag are always kept.
    """
    chosen = languages or Languages()
    abbreviations: set[str] = set()

    def parse(number: int, stanza: list[Line]) -> Concept | None:
        for place, line in stanza:
            if ":" not in line[1:] and not line.startswith("["):
                error = RecordError("the line is not OBO", line, expected="tag: value")
                on_error(error.at(path, place))
                return None
        tags = [_tag(line) for _, line in stanza]
        if not stanza[0][1].startswith("["):
            typedefs = (value for tag, value in tags if tag == "synonymtypedef")
            abbreviations.update(v.split()[0] for v in typedefs if "abbreviation" in v.lower())
        is_term = stanza[0][1].startswith("[Term]")
        return _concept(number, tags, abbreviations, chosen) if is_term else None

    stanzas = ((stanza[0][0], stanza) for stanza in _stanzas(path, on_error))
    yield from parse_each(path, stanzas, parse, on_error)


def _stanzas(path: Pathlike, on_error: OnError) -> Iterator[list[Line]]:
    """The header, then each stanza from its "[…]" line on; blank lines and comments are left out.

    A stanza with a line that cannot be read is left out, since that line may begin another stanza.
    """
    stanza: list[Line] = []
    size = 0
    unread: list[InputError] = []  # of this stanza

    def report(error: InputError) -> None:
        on_error(error)
        unread.append(error)

    for number, line in chain(read_lines(path, on_error=report), [(0, "[")]):  # which ends the last
        if line.startswith("["):
            if stanza and not (unread and stanza[0][1].startswith("[")):
                yield stanza
            stanza, size = [], 0
            unread.clear()
        if line.strip() and not line.startswith("!"):
            stanza.append((number, line))
            size += len(line)
            check_size(path, size, LONG_LINE, "the stanza")


def _tag(line: str) -> tuple[str, str]:
    tag, _, value = line.partition(":")
    return tag, value.strip()


def _concept(
    number: int, tags: list[tuple[str, str]], abbreviations: set[str], languages: Languages
) -> Concept:
    ids = [_plain(_TRAILING.sub("", value)) for tag, value in tags if tag == "id"]
    identifier = normalized(ids[-1] if ids else "")
    statements: list[Statement] = []
    for tag, value in tags:
        if tag in _SCOPES:
            field, text = _quoted(value, _SCOPES[tag], abbreviations)
        elif tag in _FIELDS:
            field, text = _FIELDS[tag], _plain(_TRAILING.sub("", value))
        else:
            continue
        if field in _IDS and text:
            text = normalized(text.split()[0])  # a description may follow
            if field != "xrefs":  # OBO files also have HP_1
                text = spelled_as(identifier, text)
        if text and (field != "obsolete" or text.lower() in ("true", "1")):
            statements.append(Statement(field, text))
    # texts in quotes behind the rest: the names of a term stand in this order
    statements.sort(key=lambda stated: stated.field in _QUOTED_FIELDS)
    return concept(identifier, statements, languages, number)


def _quoted(value: str, kind: str, abbreviations: set[str]) -> tuple[str, str]:
    """The field of a tag with a text in quotes, and the text."""
    if not (quoted := _QUOTED.match(value)):
        expected = 'text in double quotes, such as "fever" EXACT []'
        raise RecordError("a text of the term is not quoted", value, expected=expected)
    text, scope, type = quoted.groups()
    is_short = type in abbreviations or "abbreviation" in type.lower()
    return "abbreviation" if is_short else (scope or kind).lower(), _plain(text)


def _plain(text: str) -> str:
    """Take the backslashes out of a value."""
    return re.sub(r"\\(.)", lambda escape: _BLANKS.get(escape[1], escape[1]), text).strip()


def _is_graphs(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold an object with graphs."""
    return _GRAPHS.match("\n".join(head)) is not None


def read_graphs(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the classes of all graphs, deprecated ones included; subsets become the types.

    The file is read whole. Classes without a label, to which others refer, have no names.

    Args:
        path: the file.
        on_error: what to do with a bad class.
        languages: of the names to keep; None: English. Names without a tag are always kept.

    Raises:
        InputError: the file is not OBO Graphs, or what `on_error` raises.
    """
    chosen = languages or Languages()
    parents: dict[str, list[str]] = defaultdict(list)
    nodes: list[Any] = []
    content = read_json(path)
    with parsing(path, '{"graphs": [{"nodes": […], "edges": […]}]}'):
        for graph in content["graphs"]:
            nodes += graph.get("nodes") or ()
            for edge in graph.get("edges") or ():
                if edge["pred"] in ("is_a", "subClassOf"):
                    parents[edge["sub"]].append(edge["obj"])

    def of_node(_: None, node: Any) -> Concept | None:
        if node.get("type") not in ("CLASS", None):
            return None
        stated = [*_of_meta(node), *(("is_a", above) for above in parents.get(node["id"], ()))]
        read = (statement(predicate, value, "", {}) for predicate, value in stated)
        return concept(curie(node["id"], {}), [*filter(None, read)], chosen)

    records = ((None, node) for node in nodes)
    expected = "a node with id, lbl and meta"
    yield from parse_each(path, records, of_node, on_error, expected=expected)


def _of_meta(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The predicates and values of a node."""
    meta = node.get("meta") or {}
    if label := node.get("lbl"):
        yield "label", label
    for synonym in meta.get("synonyms") or ():
        kind = synonym.get("synonymType") or ""
        yield synonym_predicate(synonym["pred"], kind), synonym["val"]
    if definition := meta.get("definition"):
        yield "definition", definition["val"]
    for xref in meta.get("xrefs") or ():
        yield "hasDbXref", xref["val"]
    for subset in meta.get("subsets") or ():
        yield "inSubset", subset
    for value in meta.get("basicPropertyValues") or ():
        yield value["pred"], value["val"]
    if meta.get("deprecated") is True:
        yield "deprecated", "true"


graphs = SimpleNamespace(
    recognises=_is_graphs, read=read_graphs, release=json_version, OPTIONS=OPTIONS
)

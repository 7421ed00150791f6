"""Ontologies as OBO Graphs in JSON, which has no place for the language of a name.

https://github.com/geneontology/obographs has the format.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from linker.errors import InputError, OnError, stop
from linker.files import Pathlike
from linker.readers import terms
from linker.readers.languages import Languages
from linker.readers.records import json_version, parse_objects, read_json
from linker.types import Concept

_START = re.compile(r'\s*\{.*"graphs"\s*:', re.DOTALL)
_EXPECTED = "a node with id, lbl and meta"


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold an object with graphs."""
    return _START.match("\n".join(head)) is not None


release = json_version


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read the classes of all graphs, deprecated ones included; subsets become the types.

    The file is read whole. Classes without a label, to which others refer, have no names.

    Raises:
        InputError: the file is not OBO Graphs, or what `on_error` raises.
    """
    parents: dict[str, list[str]] = defaultdict(list)
    nodes: list[Any] = []
    try:
        for graph in read_json(path)["graphs"]:
            nodes += graph.get("nodes") or ()
            for edge in graph.get("edges") or ():
                if edge["pred"] in ("is_a", "subClassOf"):
                    parents[edge["sub"]].append(edge["obj"])
    except (AttributeError, KeyError, TypeError) as error:
        problem = f"the JSON is no OBO Graphs ({type(error).__name__}: {error})"
        expected = '{"graphs": [{"nodes": […], "edges": […]}]}'
        raise InputError(path, problem, expected=expected, remedy="name its format") from None
    languages = Languages(())

    def node_of(node: Any) -> Concept | None:
        if node.get("type") not in ("CLASS", None):
            return None
        statements = (
            (predicate, terms.value_of(predicate, text, {}), "")
            for predicate, text in _statements(node, parents.get(node["id"], ()))
        )
        return terms.concept(terms.curie(node["id"], {}), statements, languages)

    yield from parse_objects(path, nodes, node_of, on_error, _EXPECTED)


def _statements(node: dict[str, Any], parents: Any) -> Iterator[tuple[str, str]]:
    meta = node.get("meta") or {}
    if label := node.get("lbl"):
        yield "label", label
    for synonym in meta.get("synonyms") or ():
        predicate = terms.local_name(synonym["pred"])
        yield terms.predicate_of(predicate, synonym.get("synonymType") or ""), synonym["val"]
    if definition := meta.get("definition"):
        yield "definition", definition["val"]
    for xref in meta.get("xrefs") or ():
        yield "hasDbXref", xref["val"]
    for subset in meta.get("subsets") or ():
        yield "inSubset", subset
    for value in meta.get("basicPropertyValues") or ():
        if (predicate := terms.local_name(value["pred"])) in terms.USED:
            yield predicate, value["val"]
    if meta.get("deprecated") is True:
        yield "deprecated", "true"
    for parent in parents:
        yield "is_a", parent

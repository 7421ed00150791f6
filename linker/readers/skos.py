"""Thesauri in SKOS, as Turtle or RDF/XML, parsed with rdflib."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from linker.errors import InputError, OnError, needing, stop
from linker.files import Pathlike, check_unicode
from linker.readers import terms
from linker.readers.languages import Languages
from linker.readers.records import parse_each
from linker.types import Concept

OPTIONS = ("languages",)
_SKOS = re.compile(r"skos(?::|/core#)Concept(?:Scheme)?\b")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines name SKOS's classes of concepts or schemes."""
    return _SKOS.search("\n".join(head)) is not None


release = terms.version_of


def read(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the concepts, deprecated ones included; their schemes become the types.

    The file is read whole. A notation becomes an alternative id. Labels of SKOS-XL are not read.

    Args:
        path: the file.
        on_error: what to do with a bad concept.
        languages: of the labels to keep; None: English. Labels without a tag are always kept.

    Raises:
        LinkerError: rdflib is not installed.
        InputError: the file is neither Turtle nor RDF/XML, or what `on_error` raises.
    """
    chosen = languages or Languages()
    with needing(f"{path}: SKOS", "skos"):
        from rdflib import RDF, SKOS, BNode
    text = terms.read_markup(path)
    declared, graph = terms.prefixes_of(text), _graph(path, text)
    del text
    broader: dict[Any, list[Any]] = defaultdict(list)
    for subject, narrower in graph.subject_objects(SKOS.narrower):
        broader[narrower].append(subject)

    def of_iri(_: None, subject: Any) -> Concept:
        said = [(terms.local_name(p), o) for p, o in graph.predicate_objects(subject)]
        said += [("broader", other) for other in broader.get(subject, ())]
        statements = [
            (name, terms.value_of(name, str(o), declared), getattr(o, "language", None) or "")
            for name, o in said
            if name in terms.USED and not isinstance(o, BNode)
        ]
        identifier = terms.curie(str(subject), declared)
        check_unicode([identifier, statements])  # escapes of Turtle can write half a pair
        return terms.concept(identifier, statements, chosen)

    subjects = graph.subjects(RDF.type, SKOS.Concept)
    concepts = ((None, subject) for subject in subjects if not isinstance(subject, BNode))
    yield from parse_each(path, concepts, of_iri, on_error)


def _graph(path: Pathlike, text: str) -> Any:
    from rdflib import Graph
    from rdflib.plugins.parsers.notation3 import BadSyntax

    form = "xml" if terms.XML.match(text) else "turtle"
    graph = Graph(bind_namespaces="none")
    try:
        graph.parse(data=text, format=form, publicID="file:///")
    except BadSyntax as error:
        line, problem = error.lines + 1, str(error._why)
    except Exception as error:  # rdflib raises what its parsers meet
        line, problem = None, f"{type(error).__name__}: {error}"
    else:
        return graph
    named = "RDF/XML" if form == "xml" else "Turtle"
    problem, remedy = f"the {named} is broken ({problem})", "fetch or write the file again"
    raise InputError(path, problem, line=line, remedy=remedy)

"""Ontologies in OWL and thesauri in SKOS, and what they share with OBO: predicates and IRIs.

py-horned-owl parses OWL (RDF/XML, OWL/XML or functional syntax), rdflib SKOS (Turtle or RDF/XML).
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from linker.errors import InputError, OnError, needing, stop
from linker.ids import IRI, normalized, spelled_as
from linker.io.files import Pathlike, check_unicode, head, read_text
from linker.io.parsing import Languages, Statement, parse_each, parsing
from linker.records import Concept

logger = logging.getLogger(__name__)

_FIELDS = {  # what predicates, by their local names, say of a concept
    **dict.fromkeys(("label", "prefLabel"), "preferred"),
    **dict.fromkeys(("hasExactSynonym", "altLabel", "hiddenLabel", "IAO_0000118"), "exact"),
    **{"hasNarrowSynonym": "narrow", "hasBroadSynonym": "broad", "hasRelatedSynonym": "related"},
    **dict.fromkeys(("subClassOf", "is_a", "broader"), "parents"),
    **dict.fromkeys(("hasAlternativeId", "notation"), "alt_ids"),
    **dict.fromkeys(("IAO_0100001", "isReplacedBy"), "replaced_by"),
    **dict.fromkeys(("hasDbXref", "exactMatch", "closeMatch"), "xrefs"),
    **dict.fromkeys(("inSubset", "inScheme"), "types"),
    **dict.fromkeys(("IAO_0000115", "definition"), "definition"),
    "deprecated": "obsolete",
    "abbreviation": "abbreviation",  # said of the type of a synonym
}
_IDS = ("parents", "alt_ids", "replaced_by", "xrefs")
_ABBREVIATION = re.compile("abbreviation|OMO_00030(00|12)", re.IGNORECASE)
_DECLARED = re.compile(
    r'(?:xmlns:|@prefix\s+|PREFIX\s+|Prefix\()([\w.-]+)(?:=["\']|:\s*(?:=\s*)?<)([^"\'>]+)'
)
_VERSION = re.compile(
    r"(?<!#)(?:version(?:IRI|Info)|\bdc\w*:(?:modified|issued))\b"
    r'(?:\s+(?:xml:lang|rdf:datatype)="[^"]*")*[^"<>]{0,200}["<>]\s*([^"<>]+)'
)
_XML = re.compile(r"\s*<(?:\?xml|!|\w+:RDF\b|Ontology\b)")
_ENTITY = re.compile(r'<!ENTITY\s+[\w.-]+\s+(?:"[^"&%]{0,200}"|\'[^\'&%]{0,200}\')\s*>')
_SKOS = re.compile(r"skos(?::|/core#)Concept(?:Scheme)?\b")
_OWL = re.compile(r"<owl:Ontology\b|<Ontology\b|^Ontology\(|2002/07/owl#Ontology\"", re.MULTILINE)
_FUNCTIONAL = re.compile(r"\s*(?:#.*\n\s*)*(?:Prefix|Ontology)\(")
_OWL_XML = re.compile(r"<Ontology\b")
_THING = "http://www.w3.org/2002/07/owl#Thing"
_BELOW = "subClassOf"
_Row = tuple[str, str, str, str]  # the IRI of a class, a predicate, a value, and its language


def statement(
    predicate: str, value: str, language: str, spaces: Mapping[str, str]
) -> Statement | None:
    """What a predicate says of a concept; None where it is not read.

    Args:
        predicate: an IRI, or its local name.
        value: a text or an IRI.
        language: of the text.
        spaces: namespaces of the file, with their prefixes.
    """
    field = _FIELDS.get(local_name(predicate))
    if field is None or (field == "obsolete" and value.lower() not in ("true", "1")):
        return None
    if field in _IDS:
        value = curie(value, spaces)
    return Statement(field, local_name(value) if field == "types" else value, language)


def synonym_predicate(predicate: str, kind: str) -> str:
    """The predicate of a synonym whose type may call it an abbreviation."""
    is_short = local_name(predicate) in _FIELDS and _ABBREVIATION.search(kind)
    return "abbreviation" if is_short else predicate


def concept(
    identifier: str, statements: list[Statement], languages: Languages, line: int | None = None
) -> Concept:
    """Make a concept; HPO has had HP_1 for HP:1 in what replaces one."""
    spelled = (
        s._replace(value=spelled_as(identifier, s.value)) if s.field == "replaced_by" else s
        for s in statements
    )
    return languages.concept(identifier, spelled, line=line)


def local_name(iri: str) -> str:
    """The part of an IRI behind its last slash or hash sign."""
    return iri[max(iri.rfind("/"), iri.rfind("#")) + 1 :]


def curie(iri: str, spaces: Mapping[str, str]) -> str:
    """Write an IRI as a CURIE where its prefix is known; any other text is kept.

    Args:
        iri: the IRI, or a CURIE.
        spaces: namespaces of the file, with their prefixes.
    """
    identifier = normalized(iri)
    if not (unknown := IRI.fullmatch(identifier)):
        return identifier
    prefix = spaces.get(iri.removesuffix(unknown[2]))
    return normalized(f"{prefix}:{unknown[2]}") if prefix else iri


def _read_markup(path: Pathlike) -> tuple[str, dict[str, str]]:
    """The text of a file, and the namespaces that it declares, with their prefixes.

    Raises:
        InputError: it is XML with an entity that is more than a short text.
    """
    text = read_text(path)
    if _XML.match(text) and len(_ENTITY.findall(text)) != text.count("<!ENTITY"):
        problem = "an entity of the XML refers to another one, or to another file, or is long"
        raise InputError(path, problem, expected="a text", remedy="write the file without it")
    return text, {namespace: prefix for prefix, namespace in _DECLARED.findall(text)}


def _version(path: Pathlike) -> str:
    """The version, else the date, that the first lines state, else empty."""
    match = _VERSION.search("\n".join(head(path)))
    return match[1].strip() if match else ""


def read_skos(
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
        from rdflib import RDF, SKOS, BNode, Graph
    text, spaces = _read_markup(path)
    graph = Graph(bind_namespaces="none")
    form = "xml" if _XML.match(text) else "turtle"
    with parsing(path, "Turtle or RDF/XML"):
        graph.parse(data=text, format=form, publicID="file:///")
    broader: dict[Any, list[Any]] = defaultdict(list)
    for subject, narrower in graph.subject_objects(SKOS.narrower):
        broader[narrower].append(subject)

    def of_iri(_: None, subject: Any) -> Concept:
        stated = [*graph.predicate_objects(subject)]
        stated += [(SKOS.broader, other) for other in broader.get(subject, ())]
        statements = [
            read
            for p, o in stated
            if not isinstance(o, BNode)
            and (read := statement(str(p), str(o), getattr(o, "language", "") or "", spaces))
        ]
        identifier = curie(str(subject), spaces)
        check_unicode([identifier, statements])  # escapes of Turtle can write half a pair
        return concept(identifier, statements, chosen)

    subjects = graph.subjects(RDF.type, SKOS.Concept)
    concepts = ((None, subject) for subject in subjects if not isinstance(subject, BNode))
    yield from parse_each(path, concepts, of_iri, on_error)


def read_owl(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the classes in the order of their IRIs, deprecated ones included.

    The file is read whole. Imports are never fetched: a warning names them, and a parent that is
    not in the file has no names, so that another source can have it.

    Args:
        path: the file.
        on_error: what to do with a bad class.
        languages: of the names to keep; None: English. Names without a language are always kept.

    Raises:
        LinkerError: py-horned-owl is not installed.
        InputError: the file is not OWL, or what `on_error` raises.
    """
    text, spaces = _read_markup(path)
    chosen = languages or Languages()
    with needing(f"{path}: OWL", "owl"):
        import pyhornedowl
    is_owx = _OWL_XML.search(text, 0, 1 << 16)
    form: Any = "ofn" if _FUNCTIONAL.match(text) else "owx" if is_owx else "rdf"
    with parsing(path, "OWL in RDF/XML, OWL/XML or functional syntax"):
        axioms = pyhornedowl.open_ontology_from_string(text, form).get_components()
        rows, imports = _stated(axioms)
    if imports:
        advice = "%s: imports %s, which is not read; give a file with it as another --dict"
        logger.warning(advice, path, ", ".join(imports))
        above = {value for _, predicate, value, _ in rows if predicate == _BELOW}
        rows += [(parent, "", "", "") for parent in above - {row[0] for row in rows}]
    rows.sort()  # horned-owl has them in no order

    def of_class(_: None, group: list[_Row]) -> Concept:
        read = (statement(predicate, value, tag, spaces) for _, predicate, value, tag in group)
        return concept(curie(group[0][0], spaces), [*filter(None, read)], chosen)

    grouped = ((None, list(of)) for _, of in groupby(rows, key=lambda row: row[0]))
    yield from parse_each(path, grouped, of_class, on_error)


def _stated(axioms: list[Any]) -> tuple[list[_Row], list[str]]:
    """The statements on the classes of an ontology, and the IRIs that it imports."""
    import pyhornedowl.model as model

    classes: set[str] = set()
    rows: list[_Row] = []
    imports: list[str] = []
    for annotated in axioms:
        axiom = annotated.component
        if isinstance(axiom, model.AnnotationAssertion):
            value = axiom.ann.av
            predicate = local_name(str(axiom.ann.ap.first))
            if predicate not in _FIELDS or isinstance(value, model.AnonymousIndividual):
                continue
            kinds = " ".join(str(a.av) for a in annotated.ann if "Type" in str(a.ap.first))
            predicate = synonym_predicate(predicate, kinds)
            text = value.literal if hasattr(value, "literal") else str(value)
            rows.append((str(axiom.subject), predicate, text, getattr(value, "lang", "")))
        elif isinstance(axiom, model.SubClassOf):
            below, above = axiom.sub, axiom.sup
            if isinstance(below, model.Class) and isinstance(above, model.Class):
                rows.append((str(below.first), _BELOW, str(above.first), ""))
        elif isinstance(axiom, model.DeclareClass):
            classes.add(str(axiom.first.first))
        elif isinstance(axiom, model.Import):
            imports.append(str(axiom.first))
    described = {row[0] for row in rows}
    for child, predicate, parent, _ in rows:
        if predicate == _BELOW:
            classes.update({child, parent} & described)
    rows += [(iri, "", "", "") for iri in classes]
    return [row for row in rows if row[0] in classes and _THING not in row], imports


def _is_skos(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines name SKOS's classes of concepts or schemes."""
    return _SKOS.search("\n".join(head)) is not None


def _is_owl(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold the ontology of a file."""
    return _OWL.search("\n".join(head)) is not None


_OPTIONS = ("languages",)
skos = SimpleNamespace(recognises=_is_skos, read=read_skos, release=_version, OPTIONS=_OPTIONS)
owl = SimpleNamespace(recognises=_is_owl, read=read_owl, release=_version, OPTIONS=_OPTIONS)

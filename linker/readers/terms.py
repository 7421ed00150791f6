"""What OBO, OBO Graphs, OWL and SKOS share: statements on a concept, IRIs and their prefixes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from lxml import etree  # type: ignore[import-untyped]

from linker.errors import InputError
from linker.files import Pathlike, check_whole, head, read_text
from linker.ids import normalized, spelled_as
from linker.readers.languages import Languages
from linker.types import Concept, Name, NameKind
from linker.vocabularies import of_address

Statement = tuple[str, str, str]
"""The local name of a predicate, a text or an IRI, and the tag of its language."""

NAMES: dict[str, NameKind] = {
    **dict.fromkeys(("label", "prefLabel"), "preferred"),
    **dict.fromkeys(("hasExactSynonym", "altLabel", "hiddenLabel", "IAO_0000118"), "exact"),
    **{"hasNarrowSynonym": "narrow", "hasBroadSynonym": "broad", "hasRelatedSynonym": "related"},
    "abbreviation": "abbreviation",  # said of the type of a synonym
}
_LISTS = {
    **dict.fromkeys(("subClassOf", "is_a", "broader"), "parents"),
    **dict.fromkeys(("hasAlternativeId", "notation"), "alt_ids"),
    **dict.fromkeys(("IAO_0100001", "isReplacedBy"), "replaced_by"),
    **dict.fromkeys(("hasDbXref", "exactMatch", "closeMatch"), "xrefs"),
    **dict.fromkeys(("inSubset", "inScheme"), "types"),
}
_DEFINITIONS = ("IAO_0000115", "definition")
USED = frozenset((*NAMES, *_LISTS, *_DEFINITIONS, "deprecated"))
"""The predicates that are read."""

_ABBREVIATION = re.compile("abbreviation|OMO_00030(00|12)", re.IGNORECASE)
_IRI = re.compile(r"https?://(.+?)[/#]([^/#]+)")
# namespaces in which the prefix is a part of the local name, as in obo/DOID_4
_UNDERSCORED = frozenset(("purl.obolibrary.org/obo", "www.orpha.net/ORDO", "www.ebi.ac.uk/efo"))
# where the last part of a namespace is the prefix
_REGISTRIES = ("identifiers.org/", "purl.bioontology.org/ontology/")
_DECLARED = re.compile(
    r'(?:xmlns:|@prefix\s+|PREFIX\s+|Prefix\()([\w.-]+)(?:=["\']|:\s*(?:=\s*)?<)([^"\'>]+)'
)
_VERSION = re.compile(
    r"(?<!#)(?:version(?:IRI|Info)|\bdc\w*:(?:modified|issued))\b"
    r'(?:\s+(?:xml:lang|rdf:datatype)="[^"]*")*[^"<>]{0,200}["<>]\s*([^"<>]+)'
)
XML = re.compile(r"\s*<(?:\?xml|!|\w+:RDF\b|Ontology\b)")
"""How a file of XML begins."""

_ENTITY = re.compile(r'<!ENTITY\s+([\w.-]+)\s+(?:"([^"&%]*)"|\'([^\'&%]*)\')\s*>')


def concept(
    identifier: str,
    statements: Iterable[Statement],
    languages: Languages,
    line: int | None = None,
) -> Concept:
    """Make a concept of what is stated on it; predicates that are not read are passed over.

    Raises:
        RecordError: see `Languages.concept`.
    """
    names, definitions, status = list[Name](), list[tuple[str, str]](), "current"
    lists: dict[str, dict[str, None]] = defaultdict(dict)
    for predicate, value, language in statements:
        if predicate in NAMES:
            names.append(Name(value.strip(), identifier, NAMES[predicate], language))
        elif predicate in _DEFINITIONS:
            definitions.append((value.strip(), language))
        elif predicate in _LISTS:
            lists[_LISTS[predicate]][value] = None
        elif predicate == "deprecated" and value.lower() in ("true", "1"):
            status = "obsolete"
    fields = {name: tuple(values) for name, values in lists.items()}
    fields["replaced_by"] = tuple(  # HPO has had HP_1 for HP:1 there
        spelled_as(identifier, other) for other in lists["replaced_by"]
    )
    return languages.concept(identifier, names, definitions, status=status, line=line, **fields)


def local_name(iri: str) -> str:
    """The part of an IRI behind its last slash or hash sign."""
    return iri[max(iri.rfind("/"), iri.rfind("#")) + 1 :]


def value_of(predicate: str, text: str, declared: Mapping[str, str]) -> str:
    """The value of a statement on a concept: an IRI becomes a CURIE, of a type its local name."""
    if _LISTS.get(predicate) == "types":
        return local_name(text)
    return curie(text, declared) if predicate in _LISTS else text


def predicate_of(predicate: str, synonym_type: str) -> str:
    """The predicate of a synonym whose type may call it an abbreviation."""
    return "abbreviation" if _ABBREVIATION.search(synonym_type) else predicate


def curie(iri: str, declared: Mapping[str, str]) -> str:
    """Write an IRI as a CURIE where its prefix is known; any other text is kept.

    Args:
        iri: the IRI, or a CURIE.
        declared: namespaces of the file, with their prefixes.
    """
    match = _IRI.fullmatch(iri)
    if not match:
        return normalized(iri)
    namespace, local = match.groups()
    if namespace == "identifiers.org":
        return normalized(local)
    if namespace in _UNDERSCORED and "_" in local:
        prefix, _, local = local.rpartition("_")
    elif namespace.startswith(_REGISTRIES):
        prefix = local_name(namespace)
    else:
        whole = iri.removesuffix(local)
        prefix = of_address(namespace).prefix or declared.get(whole, "")
    return normalized(f"{prefix}:{local}") if prefix else iri


def prefixes_of(text: str) -> dict[str, str]:
    """The namespaces that an RDF or OWL file declares, with their prefixes."""
    return {namespace: prefix for prefix, namespace in _DECLARED.findall(text)}


def version_of(path: Pathlike) -> str:
    """The version, else the date, that the first lines of an RDF or OWL file state, else empty."""
    match = _VERSION.search("\n".join(head(path, limit=None)))
    return match[1].strip() if match else ""


class _Nothing:
    """Makes nothing of the elements that a parser meets."""

    def close(self) -> None:
        """End the document."""


def read_markup(path: Pathlike) -> str:
    """The whole text of a file that may be XML, which is checked before others parse it.

    Raises:
        InputError: the XML is broken or nested deeper than 256 elements, or an entity is not a
            plain text, or makes the file too long.
    """
    text = read_text(path)
    if not XML.match(text):
        return text
    entities = _ENTITY.findall(text)
    if len(entities) != text.count("<!ENTITY"):
        problem = "an entity of the XML refers to another one, or to another file"
        raise InputError(path, problem, expected="a text", remedy="write the file without it")
    sizes = (text.count(f"&{name};") * len(one or other) for name, one, other in entities)
    check_whole(path, len(text) + sum(sizes))
    try:
        parser = etree.XMLParser(target=_Nothing(), resolve_entities=False, no_network=True)
        etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        problem, remedy = f"the XML is broken ({error.msg})", "fetch or write the file again"
        raise InputError(path, problem, line=error.lineno, remedy=remedy) from None
    return text

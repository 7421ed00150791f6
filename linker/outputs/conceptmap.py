"""A ConceptMap of FHIR R4, from the distinct texts of mentions to concepts.

R4, since terminology servers (HAPI, Ontoserver, Snowstorm) take it; R5 calls its fields otherwise.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from linker.ids import namespace
from linker.outputs import Layout, jsonl
from linker.outputs.terms import Term, mapped
from linker.types import Document
from linker.version import NAME, VERSION
from linker.vocabularies import of_prefix

MENTIONS = "http://local.invalid/mentions"  # the system of what is no code, but a text
_EQUIVALENCES = {"": "equivalent", "broad": "wider", "narrow": "narrower", "related": "relatedto"}
_OTHER = "https://bioregistry.io/"  # and the prefix: a system that is not known
FOOTER = "}\n"

item = jsonl.item


def coding(identifier: str) -> tuple[str, str]:
    """The system and the code that FHIR has for a concept id.

    >>> coding("OMIM:208900"), coding("HP:0001250")[1], coding("XY:1")
    (('http://www.omim.org', '208900'), 'HP:0001250', ('https://bioregistry.io/XY', '1'))
    """
    prefix, code = namespace(identifier), " ".join(identifier.split())
    known = of_prefix(prefix)
    system = known.system or f"{_OTHER}{quote(prefix, safe='')}"
    return system, code if known.keeps_prefix else code.removeprefix(f"{prefix}:")


def header(first: Document | None, layout: Layout) -> str:
    """What is known of the map before its first mention; it is a draft, whoever decided on terms.

    Its id depends on nothing but the dictionary and the version, so that it can be repeated.
    """
    vocabulary = layout.vocabulary
    named = f"{vocabulary.name} ({vocabulary.release})" if vocabulary else "a dictionary"
    record = {
        "resourceType": "ConceptMap",
        "url": uuid.uuid5(uuid.NAMESPACE_URL, f"{named} {VERSION}").urn,
        "name": "LinkerMentions",
        "status": "draft",
        "description": f"Texts, and the concepts of {named} that {NAME} {VERSION} found for them. "
        "The comment of a target says whether a person accepted it.",
    }
    return json.dumps(record, ensure_ascii=False)[:-1]


def gather(texts: Iterable[str]) -> Iterator[str]:
    """The groups of the map, one for each system, and whether it is experimental.

    It is not, where people accepted all answers. A text without a concept is `unmatched`, in the
    largest group; one that denies what it names is left out, see `terms.mapped`.
    """
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    unmatched, accepted = [], set()
    for term in mapped(texts):
        accepted.add(term.is_accepted)
        by_system: dict[str, list[dict[str, str]]] = defaultdict(list)
        for system, target in targets(term):
            by_system[system].append(target)
        for system, of_system in by_system.items():
            groups[system].append({"code": term.text, "target": of_system})
        if not by_system:
            none = {"equivalence": "unmatched", "comment": judgement(term)}
            unmatched.append({"code": term.text, "target": [none]})
    if unmatched:
        groups[max(groups, key=lambda system: len(groups[system]), default="")] += unmatched
    yield f', "experimental": {json.dumps(accepted != {True})}'
    for number, (system, elements) in enumerate(groups.items()):
        group = {"source": MENTIONS} | ({"target": system} if system else {})
        yield ",\n" if number else ', "group": [\n'
        yield f'{json.dumps(group)[:-1]}, "element": [\n'
        yield ",\n".join(json.dumps(element, ensure_ascii=False) for element in elements)
        yield "]}"
    yield "]" if groups else ""


def targets(term: Term) -> Iterator[tuple[str, dict[str, str]]]:
    """The systems and the targets of a term, one for each of `Term.parts` with a concept.

    A target is `equivalent` where a person accepted it, or `wider` or `narrower` than the text, as
    the person said; else it is `relatedto`, which says that nobody knows how. So it is with the
    parts of a composite, of which the comment says which.
    """
    parts = term.prediction.parts
    for number, part in enumerate(parts, 1):
        if part.best and part.assertion == "present":
            system, code = coding(part.best.concept_id)
            is_known = term.is_accepted and len(parts) == 1
            place = f"part {number} of {len(parts)}: {part.text}; " if len(parts) > 1 else ""
            yield (
                system,
                {
                    "code": code,
                    "display": part.best.name,
                    "equivalence": _EQUIVALENCES[term.predicate if is_known else "related"],
                    "comment": place + judgement(term, part.confidence),
                },
            )


def judgement(term: Term, confidence: float | None = None) -> str:
    """Who accepted an answer, or that nobody did, and its confidence."""
    if term.is_accepted:
        return f"accepted by {term.accepted_by or 'a person'}"
    return "not reviewed" + ("" if confidence is None else f"; confidence {confidence:.4f}")

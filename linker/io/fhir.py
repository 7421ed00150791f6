"""FHIR in JSON: code systems and value sets are read, ConceptMaps written.

The prefix of an id is that of a well-known system, else the last part of the system's URL.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from linker.errors import OnError, RecordError, stop
from linker.ids import namespace, of_address, of_prefix
from linker.io import jsonl
from linker.io.files import Pathlike
from linker.io.outputs import Layout
from linker.io.parsing import Languages, Statement, json_version, parse_each, parsing, read_json
from linker.io.terms import Term, mapped
from linker.records import Concept, Document
from linker.version import NAME, VERSION

logger = logging.getLogger(__name__)

OPTIONS = ("languages",)
_START = re.compile(r'\s*\{.*"resourceType"\s*:\s*"(?:CodeSystem|ValueSet)"', re.DOTALL)
_PARENTS = ("parent", "subsumedBy")
_OBSOLETE = ("retired", "deprecated")
_PREFERRED = ("display", "preferredForLanguage")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold a CodeSystem or a ValueSet."""
    return _START.match("\n".join(head)) is not None


release = json_version


def read(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the concepts, those that are inactive, retired or deprecated as obsolete.

    The file is read whole. Parents are those of the tree and of the properties parent, child and
    subsumedBy, unless the hierarchy says that it is of parts. Of a value set the expansion is read,
    else the codes that it names; they have no parents. A supplement adds names to the concepts of
    the system that it supplements. Codes without a display in the languages have no names.

    Args:
        path: the file.
        on_error: what to do with a bad concept.
        languages: of the designations to keep; None: English. A display is in the language of the
            resource, or has none and is always kept.

    Raises:
        InputError: the resource does not hold its concepts, or what `on_error` raises.
    """
    resource, chosen = read_json(path), languages or Languages()
    language = str(resource.get("language") or "")
    is_set = resource.get("resourceType") == "ValueSet"
    with parsing(path, "CodeSystem or ValueSet with its concepts"):
        records = (_of_value_set if is_set else _of_code_system)(path, resource)

    def of_record(_: None, record: _Record) -> Concept:
        return _concept(record, language, chosen)

    expected = "a concept with code, display and designation"
    each = ((None, record) for record in records)
    yield from parse_each(path, each, of_record, on_error, expected=expected)


_Record = tuple[str, dict[str, Any], tuple[str, ...]]
"""The system of a code, what is said of it, and the codes of its parents."""


def _of_code_system(path: Pathlike, resource: dict[str, Any]) -> list[_Record]:
    content = resource["content"]
    if content == "not-present":
        raise ValueError("content: not-present; take a ValueSet that a server has expanded")
    if content in ("example", "fragment"):
        logger.warning("%s: holds a part of its concepts only (content: %s)", path, content)
    system = resource.get("supplements") or resource.get("url") or resource.get("id", "")
    above: dict[str, list[str]] = defaultdict(list)
    records = []
    for record, parents in _walk(resource.get("concept", ()), "concept"):
        above[record["code"]] += parents
        for key, value in _properties(record):
            if key in _PARENTS:
                above[record["code"]].append(value)
            elif key == "child":
                above[value].append(record["code"])
        records.append(record)
    if resource.get("hierarchyMeaning") == "part-of":
        above.clear()
    obsolete = {record["code"] for record in records if _is_obsolete(record)}
    return [(system, record, _living(record["code"], above, obsolete)) for record in records]


def _living(
    code: str, above: Mapping[str, Sequence[str]], obsolete: Collection[str]
) -> tuple[str, ...]:
    """The codes above one; those above an obsolete code stand in for it."""
    seen: dict[str, None] = {}
    waiting = [*above.get(code, ())]
    while waiting:
        if (parent := waiting.pop(0)) not in seen:
            seen[parent] = None
            waiting += above.get(parent, ()) if parent in obsolete else ()
    return tuple(parent for parent in seen if parent not in obsolete)


def _of_value_set(path: Pathlike, resource: dict[str, Any]) -> list[_Record]:
    records: dict[tuple[str, str], _Record] = {}  # an expansion may repeat a code
    if expansion := resource.get("expansion"):
        for record, _ in _walk(expansion.get("contains", ()), "contains"):
            if "code" in record:
                system = record["system"]
                records.setdefault((system, record["code"]), (system, record, ()))
        if (total := expansion.get("total", 0)) > len(records):
            text = "%s: holds %s of the %s codes of the value set"
            logger.warning(text, path, f"{len(records):,}", f"{total:,}")
        return list(records.values())
    compose = resource["compose"]
    if "exclude" in compose or not all("concept" in part for part in compose["include"]):
        raise ValueError("it has rules; have a terminology server expand it (ValueSet/$expand)")
    for part in compose["include"]:
        for record in part["concept"]:
            records.setdefault((part["system"], record["code"]), (part["system"], record, ()))
    return list(records.values())


def _walk(records: Any, key: str) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the records of a tree in its order, each with the code above it."""
    waiting: list[tuple[dict[str, Any], list[str]]] = [(r, []) for r in reversed(records)]
    while waiting:
        record, parents = waiting.pop()
        yield record, parents
        code = [record["code"]] if "code" in record else []
        waiting += [(below, code) for below in reversed(record.get(key, ()))]


def _properties(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The properties of a concept, with their values."""
    for entry in record.get("property", ()):
        value = next((entry[key] for key in entry if key.startswith("value")), None)
        yield entry["code"], value["code"] if isinstance(value, dict) else value


def _concept(of: _Record, language: str, chosen: Languages) -> Concept:
    system, record, parents = of
    statements = [("preferred", record.get("display"), language)]
    for other in record.get("designation", ()):
        is_preferred = (other.get("use") or {}).get("code") in _PREFERRED
        tag = other.get("language") or language
        statements.append(("preferred" if is_preferred else "exact", other["value"], tag))
    statements.append(("definition", record.get("definition"), language))
    return chosen.concept(
        _identifier(system, record["code"]),
        [Statement(field, text.strip(), tag) for field, text, tag in statements if text],
        parents=tuple(_identifier(system, code) for code in parents),
        status="obsolete" if _is_obsolete(record) else "current",
    )


def _is_obsolete(record: dict[str, Any]) -> bool:
    return record.get("inactive") is True or any(
        (key == "inactive" and value is True) or (key == "status" and value in _OBSOLETE)
        for key, value in _properties(record)
    )


def _identifier(system: str, code: str) -> str:
    """The id of a code; one that has its prefix keeps it, as those of HPO."""
    prefix = of_address(system).prefix or re.split("[/:]", system.rstrip("/#"))[-1]
    if not code.strip():
        raise RecordError("the code is empty", system, expected="a code")
    return code if code.startswith(f"{prefix}:") or not prefix else f"{prefix}:{code}"


# A ConceptMap of R4 from the distinct texts of mentions to concepts: terminology servers (HAPI,
# Ontoserver, Snowstorm) take R4; R5 calls its fields otherwise.

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
    """The systems and the targets of a term, one for each concept of `Term.parts`.

    A target is `equivalent` where a person accepted it, or `wider` or `narrower` than the text, as
    the person said; else it is `relatedto`, which says that nobody knows how, or `wider` where it
    is the broader concept of a part. So it is with the parts of a composite, of which the comment
    says which.
    """
    parts = term.prediction.parts
    for number, part in enumerate(parts, 1):
        if part.assertion != "present":
            continue
        is_known = term.is_accepted and len(parts) == 1
        place = f"part {number} of {len(parts)}: {part.text}; " if len(parts) > 1 else ""
        found = ((part.best, term.predicate if is_known else "related"), (part.broader, "broad"))
        for concept, predicate in found:
            if concept:
                system, code = coding(concept.concept_id)
                yield (
                    system,
                    {
                        "code": code,
                        "display": concept.name,
                        "equivalence": _EQUIVALENCES[predicate],
                        "comment": place + judgement(term, concept.confidence),
                    },
                )


def judgement(term: Term, confidence: float | None = None) -> str:
    """Who accepted an answer, or that nobody did, and its confidence."""
    if term.is_accepted:
        return f"accepted by {term.accepted_by or 'a person'}"
    return "not reviewed" + ("" if confidence is None else f"; confidence {confidence:.4f}")

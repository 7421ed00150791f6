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
from typing import Any, NamedTuple
from urllib.parse import quote

from linker.errors import OnError, RecordError, stop
from linker.ids import namespace, normalized, of_address, of_prefix
from linker.io import jsonl
from linker.io.files import Pathlike
from linker.io.outputs import Layout
from linker.io.parsing import Languages, Statement, json_version, parse_each, parsing, read_json
from linker.io.terms import Term, mapped
from linker.records import Concept, Document
from linker.version import NAME, VERSION

logger = logging.getLogger(__name__)

OPTIONS = ("languages",)
_START = re.compile(r'\s*\{.*"resourceType"\s*:\s*"(?:CodeSystem|ValueSet|Bundle)"', re.DOTALL)
_PARENTS = ("parent", "subsumedBy")
_OBSOLETE = ("retired", "deprecated")
_PREFERRED = ("display", "preferredForLanguage")
# how properties are called whose texts are names
_SYNONYMS = re.compile(
    r"(?i)(?:has)?[_ -]?(exact|narrow|broad|related)?[_ -]?synonyms?"
    r"|alias(?:es)?|alt(?:ernative|ernate)?[_ -]?(?:label|name|term)s?"
)
_ALTERNATIVES = ("synonym", "synonymCode")  # of codes, as HL7 defines them
_ABBREVIATIONS = re.compile("(?i)abbreviations?|acronyms?")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold a CodeSystem, a ValueSet or a Bundle."""
    return _START.match("\n".join(head)) is not None


release = json_version


def read(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the concepts, those that are inactive, retired or deprecated as obsolete.

    The file is read whole. Parents are those of the tree and of the properties parent, child and
    subsumedBy, unless the hierarchy says that it is of parts. Of a value set the expansion is read,
    else the codes that it names; they have no parents. A supplement adds names to the concepts of
    the system that it supplements. Of a bundle all code systems and value sets are read. A code
    that comes again is one concept with all names. Codes without a display in the languages have no
    names.

    Texts of properties such as synonym, alias or hasExactSynonym are names; a code under synonym is
    an alternative id.

    Args:
        path: the file.
        on_error: what to do with a bad concept.
        languages: of the designations to keep; None: English. A display is in the language of the
            resource, or has none and is always kept.

    Raises:
        InputError: the resource does not hold its concepts, or what `on_error` raises.
    """
    resource, chosen = read_json(path), languages or Languages()
    with parsing(path, "CodeSystem, ValueSet or Bundle with concepts"):
        entries = _entries(path, resource)
        grouped = _grouped(entries)

    def concept(_: None, of_code: list[_Entry]) -> Concept:
        return _concept(of_code, chosen)

    expected = "a concept with system, code, display and designation"
    records = ((None, of_code) for of_code in grouped)
    yield from parse_each(path, records, concept, on_error, expected=expected)


class _Entry(NamedTuple):
    """What a resource says of a code."""

    system: str  # empty: none is stated
    code: str | None  # None: there is none
    record: dict[str, Any]
    language: str  # of texts that state none
    parents: tuple[str, ...]  # codes
    synonyms: Mapping[str, str]  # the properties that are names, with their kinds


def _entries(path: Pathlike, resource: dict[str, Any]) -> list[_Entry]:
    """What a code system, a value set, or those of a bundle say of each code.

    Raises:
        ValueError: the resource holds no concepts.
    """
    kind = resource.get("resourceType")
    if kind == "CodeSystem":
        return _of_code_system(path, resource)
    if kind == "ValueSet":
        return _of_value_set(path, resource)
    if kind != "Bundle":
        raise ValueError(f"its resourceType is {kind!r}")
    entries: list[_Entry] = []
    for entry in resource.get("entry") or ():
        inner = entry.get("resource") or {}
        if inner.get("resourceType") in ("CodeSystem", "ValueSet"):
            try:
                entries += _entries(path, inner)
            except ValueError as error:  # others of the bundle may hold theirs
                logger.warning("%s: %s is left out: %s", path, inner.get("url", "a set"), error)
    if not entries:
        raise ValueError("no CodeSystem or ValueSet in the bundle holds its concepts")
    return entries


def _grouped(entries: Iterable[_Entry]) -> list[list[_Entry]]:
    """The entries of each id together; one without an id, which is refused later, by itself."""
    groups: list[list[_Entry]] = []
    of_id: dict[str, list[_Entry]] = {}
    for entry in entries:
        if not entry.system or not isinstance(entry.code, str) or not entry.code.strip():
            groups.append([entry])
            continue
        identifier = _identifier(entry.system, entry.code)
        if identifier not in of_id:
            of_id[identifier] = []
            groups.append(of_id[identifier])
        of_id[identifier].append(entry)
    return groups


def _of_code_system(path: Pathlike, resource: dict[str, Any]) -> list[_Entry]:
    content = resource.get("content")
    if not content:
        raise ValueError("it does not say whether it holds its concepts (content)")
    if content == "not-present":
        raise ValueError("content: not-present; take a ValueSet that a server has expanded")
    if content in ("example", "fragment"):
        logger.warning("%s: holds a part of its concepts only (content: %s)", path, content)
    supplemented = str(resource.get("supplements") or "").partition("|")[0]  # without its version
    system = supplemented or resource.get("url") or resource.get("id", "")
    above: dict[str, list[str]] = defaultdict(list)
    records: list[dict[str, Any]] = []
    for record, parents in _walk(resource.get("concept", ()), "concept"):
        records.append(record)
        if (code := record.get("code")) is None:
            continue
        above[code] += parents
        for key, value in _properties(record):
            if key in _PARENTS and value is not None:
                above[code].append(value)
            elif key == "child" and value is not None:
                above[value].append(code)
    if resource.get("hierarchyMeaning") == "part-of":
        above.clear()
    codes = [record["code"] for record in records if "code" in record]
    if repeated := len(codes) - len(set(codes)):
        logger.warning("%s: %s of the concepts repeat a code, and were merged", path, repeated)
    obsolete = {record["code"] for record in records if "code" in record and _is_obsolete(record)}
    language = str(resource.get("language") or "")
    synonyms = _synonym_properties(resource)
    entries: list[_Entry] = []
    for record in records:
        code = record.get("code")
        living = () if code is None else _living(code, above, obsolete)
        entries.append(_Entry(system, code, record, language, living, synonyms))
    return entries


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


def _of_value_set(path: Pathlike, resource: dict[str, Any]) -> list[_Entry]:
    language = str(resource.get("language") or "")
    synonyms = _synonym_properties(resource)

    def entry(system: str, record: dict[str, Any]) -> _Entry:
        return _Entry(system, record.get("code"), record, language, (), synonyms)

    if expansion := resource.get("expansion"):
        walked = _walk(expansion.get("contains", ()), "contains")
        # groups of an expansion have no code
        entries = [entry(r.get("system", ""), r) for r, _ in walked if "code" in r]
        held = len({(each.system, each.code) for each in entries})
        if (total := expansion.get("total", 0)) > held:
            text = "%s: holds %s of the %s codes of the value set"
            logger.warning(text, path, f"{held:,}", f"{total:,}")
        return entries
    compose = resource.get("compose")
    if not compose:
        raise ValueError("it names no codes; have a terminology server expand it")
    if "exclude" in compose or not all("concept" in part for part in compose["include"]):
        raise ValueError("it has rules; have a terminology server expand it (ValueSet/$expand)")
    entries = []
    for part in compose["include"]:
        entries += [entry(part.get("system", ""), record) for record in part["concept"]]
    return entries


def _walk(records: Any, key: str) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the records of a tree in its order, each with the code above it."""
    waiting: list[tuple[dict[str, Any], list[str]]] = [(r, []) for r in reversed(records)]
    while waiting:
        record, parents = waiting.pop()
        yield record, parents
        code = [record["code"]] if "code" in record else parents
        waiting += [(below, code) for below in reversed(record.get(key, ()))]


def _properties(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The properties of a concept, with their values; None for a coding without a code."""
    for entry in record.get("property", ()):
        value = next((entry[key] for key in entry if key.startswith("value")), None)
        yield entry.get("code", ""), value.get("code") if isinstance(value, dict) else value


def _synonym_properties(resource: dict[str, Any]) -> dict[str, str]:
    """The properties whose texts are names, by their codes, or by what they are declared as."""
    kinds: dict[str, str] = {}
    for declared in resource.get("property", ()):
        code = declared.get("code", "")
        address = str(declared.get("uri", ""))
        if kind := _kind_of_names(code) or _kind_of_names(re.split("[/#]", address)[-1]):
            kinds[code] = kind
    return kinds


def _kind_of_names(title: str) -> str:
    """The kind of the names in a property that is called so; empty where it holds none."""
    if _ABBREVIATIONS.fullmatch(title):
        return "abbreviation"
    match = _SYNONYMS.fullmatch(title)
    return (match[1] or "exact").lower() if match else ""


def _concept(of_code: Sequence[_Entry], chosen: Languages) -> Concept:
    """The concept of a code.

    Raises:
        RecordError: there is no code, or no system, or a designation has no value.
    """
    system = of_code[0].system
    code = of_code[0].code
    if code is None:
        raise RecordError("the concept has no code", json.dumps(of_code[0].record)[:200])
    identifier = _identifier(system, code)
    statements: list[Statement] = []
    parents: dict[str, None] = {}  # as a set in order
    for entry in of_code:
        statements += _statements(entry)
        parents.update(dict.fromkeys(entry.parents))
    return chosen.concept(
        identifier,
        statements,
        parents=tuple(_identifier(system, parent) for parent in parents),
        status="obsolete" if all(_is_obsolete(e.record) for e in of_code) else "current",
    )


def _statements(entry: _Entry) -> Iterator[Statement]:
    """The names, the definition and the other ids that an entry states."""
    record = entry.record
    language = entry.language
    if text := record.get("display"):
        yield Statement("preferred", text.strip(), language)
    for other in record.get("designation", ()):
        if not (text := other.get("value")):
            raise RecordError("a designation has no value", json.dumps(other)[:200])
        is_preferred = (other.get("use") or {}).get("code") in _PREFERRED
        field = "preferred" if is_preferred else "exact"
        yield Statement(field, text.strip(), other.get("language") or language)
    for of_property in record.get("property", ()):
        code = of_property.get("code", "")
        text = of_property.get("valueString")
        kind = entry.synonyms.get(code) or _kind_of_names(code)
        if kind and text:
            yield Statement(kind, text.strip(), language)
        elif code in _ALTERNATIVES and (alternative := of_property.get("valueCode")):
            yield Statement("alt_ids", _identifier(entry.system, alternative))
    if text := record.get("definition"):
        yield Statement("definition", text.strip(), language)


def _is_obsolete(record: dict[str, Any]) -> bool:
    return record.get("inactive") is True or any(
        (key == "inactive" and value is True) or (key == "status" and value in _OBSOLETE)
        for key, value in _properties(record)
    )


def _identifier(system: str, code: str) -> str:
    """The id of a code, with the prefix of its system, which codes such as those of HPO have."""
    if not system:
        raise RecordError("the code has no system", code, expected="the address of its system")
    if not code.strip():
        raise RecordError("the code is empty", system, expected="a code")
    prefix = of_address(system).prefix or re.split("[/:]", system.rstrip("/#"))[-1]
    as_id = normalized(code)  # MONDO_0001 is written so, too
    if not prefix:
        return as_id
    if of_prefix(namespace(as_id)).prefix == of_prefix(prefix).prefix:
        code = as_id.partition(":")[2]
    return normalized(f"{prefix}:{code}")


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
                        "comment": place + judgement(term, concept.confidence, number),
                    },
                )


def judgement(term: Term, confidence: float | None = None, number: int | None = None) -> str:
    """Who accepted an answer, or that nobody did, and its confidence.

    Args:
        term: has the answer.
        confidence: of the concept.
        number: of the part that is asked for, from 1; None: the whole is.
    """
    if term.is_accepted if number is None else term.accepted_parts[number - 1]:
        return f"accepted by {term.accepted_by(number) or 'a person'}"
    return "not reviewed" + ("" if confidence is None else f"; confidence {confidence:.4f}")

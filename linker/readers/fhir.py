"""Code systems and value sets of FHIR in JSON.

The prefix of an id is that of a well-known system, else the last part of the system's URL.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike
from linker.readers.languages import Languages
from linker.readers.records import json_version, parse_objects, read_json
from linker.types import Concept, Name, NameKind
from linker.vocabularies import of_address

logger = logging.getLogger(__name__)

OPTIONS = ("languages",)
_START = re.compile(r'\s*\{.*"resourceType"\s*:\s*"(?:CodeSystem|ValueSet)"', re.DOTALL)
_PARENTS = ("parent", "subsumedBy")
_OBSOLETE = ("retired", "deprecated")
_PREFERRED = ("display", "preferredForLanguage")
_EXPECTED = "a concept with code, display and designation"


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
    try:
        if resource.get("resourceType") == "ValueSet":
            records = _of_value_set(path, resource)
        else:
            records = _of_code_system(path, resource)
    except (AttributeError, KeyError, TypeError) as error:
        problem = f"the JSON is no CodeSystem or ValueSet ({type(error).__name__}: {error})"
        raise InputError(path, problem, expected=_EXPECTED, remedy="name its format") from None

    def of_record(record: Any) -> Concept:
        return _concept(record, language, chosen)

    yield from parse_objects(path, records, of_record, on_error, _EXPECTED)


_Record = tuple[str, dict[str, Any], tuple[str, ...]]
"""The system of a code, what is said of it, and the codes of its parents."""


def _of_code_system(path: Pathlike, resource: dict[str, Any]) -> list[_Record]:
    content = resource["content"]
    if content == "not-present":
        problem = "the CodeSystem does not hold its concepts (content: not-present)"
        remedy = "take a ValueSet that a terminology server has expanded, or the publisher's files"
        raise InputError(path, problem, expected="content: complete", remedy=remedy)
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
        problem = "the ValueSet says by rules which codes it holds"
        remedy = "have it expanded by a terminology server (ValueSet/$expand)"
        raise InputError(path, problem, expected="expansion, or codes", remedy=remedy)
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
    identifier = _identifier(system, record["code"])
    names = []
    if display := record.get("display"):
        names.append(Name(display.strip(), identifier, "preferred", language))
    for other in record.get("designation", ()):
        is_preferred = (other.get("use") or {}).get("code") in _PREFERRED
        kind: NameKind = "preferred" if is_preferred else "exact"
        tag = other.get("language") or language
        names.append(Name(other["value"].strip(), identifier, kind, tag))
    definition = record.get("definition")
    return chosen.concept(
        identifier,
        names,
        [(definition.strip(), language)] if definition else (),
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

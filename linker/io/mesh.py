"""MeSH in the XML of NLM: descriptors (desc2026.xml), supplementary concept records (supp2026.xml).

The elements are described at https://www.nlm.nih.gov/mesh/xml_data_elements.html, and declared in
NLM's DTDs (nlmdescriptorrecordset, nlmsupplementalrecordset). As in MEDIC, which CTD makes of the
same records, all terms of a record are names of its concept, also those that NLM has permuted
("Cancers, Breast") and inflected: a plural is often among these alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from linker.errors import InputError, OnError, RecordError, stop
from linker.ids import normalized
from linker.io.files import Pathlike, is_folder, open_binary, reading, start_of
from linker.io.parsing import elements, make_concept, parse_each
from linker.records import Concept, NameKind

OPTIONS = ("under",)
DISEASES = ("C", "F03")
"""The trees of diseases and of mental disorders, which are read where nothing else is chosen."""
EVERYTHING = "all"

_SET = r"<(Descriptor|Supplemental)RecordSet\b"
_YEAR = r"\b(?:nlm\w+recordset_|desc|supp)(\d{4})\w*\.dtd"
_NAMES = ("desc*.xml", "desc*.gz"), ("supp*.xml", "supp*.gz")  # of the files of a folder
# what the second concept of a relation is to the first, and the first to the second
_SECOND: dict[str, NameKind] = {"NRW": "narrow", "BRD": "broad"}
_FIRST: dict[str, NameKind] = {"NRW": "broad", "BRD": "narrow"}
_SHORT = ("ABB", "ACR")  # lexical tags of abbreviations and acronyms
_OWN = "ConceptList/Concept[@PreferredConceptYN='Y']"  # path of the record's own concept
_DISEASE = "3"  # class of the supplementary records of diseases

_Records = Iterator[tuple[int, Any]]  # elements with their lines


class Part:
    """The part of MeSH to keep; it remembers the descriptors of the files that were read.

    It is true where another part than diseases is chosen.

    Args:
        wanted: tree numbers such as C04, letters of trees, and ids of descriptors, which stand for
            themselves and what is below them; or "all". Diseases where empty.
    """

    def __init__(self, wanted: Sequence[str] = ()) -> None:
        self.wanted = tuple(wanted) or DISEASES
        self.is_whole = EVERYTHING in self.wanted
        self.kept: dict[str, tuple[str, ...]] = {}  # ids of descriptors, with their types

    def __bool__(self) -> bool:
        return self.wanted != DISEASES


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines begin a set of records, or a folder has descriptors and more."""
    return all(map(_in_folder, [path] * 2, _NAMES)) or any(re.search(_SET, line) for line in head)


def release(path: Pathlike) -> str:
    """The year in the name of the DTD; empty where none is named."""
    year = re.search(_YEAR, start_of(_files(path)[0]))
    return year[1] if year else ""


def read(
    path: Pathlike, *, on_error: OnError = stop, under: Part | Sequence[str] = ()
) -> Iterator[Concept]:
    """Read the descriptors or the supplementary records of a file, or a folder with files of both.

    A parent of a descriptor has its tree number without the last part. A supplementary record is
    below the headings that it is mapped to, and is kept where one of these is; a disease counts
    under headings of diseases only, a substance or an organism under others only. Types are the
    categories of tree numbers, such as C04. A term of another concept than the record's own has the
    kind that says what it is to it; abbreviations and acronyms have theirs.

    Descriptors are held in memory, supplementary records are not.

    Args:
        path: the file or folder.
        on_error: what to do with a bad record.
        under: what to keep, see `Part`, or a part that knows the descriptors of files before.

    Raises:
        InputError: the XML is broken, no descriptor is where one is asked for, no descriptors were
            read before supplementary records, or what `on_error` raises.
    """
    part = under if isinstance(under, Part) else Part(under)
    for file in _files(path):
        with open_binary(file) as opened, reading(file):
            found = re.search(_SET.encode(), opened.peek())
            tag = f"{found[1].decode() if found else 'Descriptor'}Record"
            all_of = elements(file, opened, "MeSH", f"{tag}Set", tag)
            records = ((element.sourceline, element) for element in all_of)
            reader = _descriptors if tag == "DescriptorRecord" else _supplementary
            yield from reader(file, records, part, on_error)


def _files(path: Pathlike) -> list[Pathlike]:
    return [*chain(*(_in_folder(path, n) for n in _NAMES))] if is_folder(path) else [path]


def _in_folder(path: Pathlike, names: Sequence[str]) -> list[Path]:
    return sorted(chain(*map(Path(path).glob, names))) if is_folder(path) else []


def _descriptors(
    path: Pathlike, records: _Records, part: Part, on_error: OnError
) -> Iterator[Concept]:
    """The descriptors of a part, with their places in its trees."""

    def parse(line: int, element: Any) -> tuple[Concept, list[str]]:
        concept = _concept(line, element, "Descriptor", _text(element, f"{_OWN}/ScopeNote"))
        return concept, _texts(element, "TreeNumberList/TreeNumber")

    found = list(parse_each(path, records, parse, on_error))
    holders = {number: concept.id for concept, numbers in found for number in numbers}
    roots = _roots(path, part, {concept.id: numbers for concept, numbers in found})
    for concept, numbers in found:
        inside = [number for number in numbers if _is_under(number, roots)]
        if inside or part.is_whole:
            above = (number.rpartition(".")[0] for number in inside)
            parents = [holders.get(n, f"MESH:{n}") for n in above if _is_under(n, roots)]
            types = tuple(sorted({number[:3] for number in inside}))
            part.kept[concept.id] = types
            yield replace(concept, parents=tuple(dict.fromkeys(parents)), types=types)


def _roots(path: Pathlike, part: Part, numbers: Mapping[str, list[str]]) -> list[str]:
    """The tree numbers that are wanted, or letters of trees, given the numbers of descriptors."""
    there = [number for of_one in numbers.values() for number in of_one]
    if part.is_whole:
        return sorted({number[0] for number in there})
    roots: list[str] = []
    for text in part.wanted:
        local = normalized(text).removeprefix("MESH:")
        found = numbers.get(f"MESH:{local}", [local])
        if part and not any(_is_under(number, found) for number in there):
            expected = f"tree numbers such as C04, ids of descriptors, or {EVERYTHING}"
            raise InputError(path, "no descriptor is under", value=text, expected=expected)
        roots += found
    return roots


def _is_under(number: str, roots: Sequence[str]) -> bool:
    """Whether a tree number is one of some, below one of them, or of a tree with that letter."""
    return any(
        number.startswith(root) and (len(root) == 1 or number[len(root) :][:1] in ("", "."))
        for root in roots
    )


def _supplementary(
    path: Pathlike, records: _Records, part: Part, on_error: OnError
) -> Iterator[Concept]:
    """The supplementary records that are mapped to descriptors of a part."""
    if not part.kept:
        problem = "the descriptors that its records are mapped to were not read before it"
        remedy = "give their file, such as desc2026.xml, with another --dict before this one"
        raise InputError(path, problem, remedy=remedy)

    def parse(line: int, element: Any) -> Concept | None:
        is_disease = element.get("SCRClass") == _DISEASE
        mapped = _texts(element, "HeadingMappedToList/*/DescriptorReferredTo/DescriptorUI")
        ids = dict.fromkeys(f"MESH:{ui.lstrip('*')}" for ui in mapped)  # * marks the main ones
        above = [i for i in ids if i in part.kept]
        alike = [
            i for i in above if is_disease == any(_is_under(t, DISEASES) for t in part.kept[i])
        ]
        if not alike and not part.is_whole:
            return None
        note = _text(element, f"{_OWN}/ScopeNote") or _text(element, "Note")
        concept = _concept(line, element, "SupplementalRecord", note)
        parents = alike or above
        types = sorted({label for parent in parents for label in part.kept[parent]})
        return replace(concept, parents=tuple(parents), types=tuple(types))

    yield from parse_each(path, records, parse, on_error)


def _concept(line: int, element: Any, kind: str, definition: str) -> Concept:
    """A record without its parents and types."""
    if next(element.iter(etree.Entity), None) is not None:
        raise RecordError("an entity of the XML is not resolved", expected="a text")
    own = _text(element, f"{_OWN}/ConceptUI")
    kinds: dict[str, NameKind] = {own: "exact"}
    for relation in element.iterfind("ConceptList/Concept/ConceptRelationList/ConceptRelation"):
        name, first, second = (
            relation.get("RelationName", ""),
            *(_text(relation, tag) for tag in ("Concept1UI", "Concept2UI")),
        )
        other, way = (second, _SECOND) if first == own else (first, _FIRST)
        kinds.setdefault(other, way.get(name, "related"))
    names: dict[str, NameKind] = {}
    for concept in element.iterfind("ConceptList/Concept"):
        kind_of = kinds.get(_text(concept, "ConceptUI"), "related")
        for term in concept.iterfind("TermList/Term"):
            short = term.get("LexicalTag") in _SHORT
            if text := _text(term, "String"):
                names.setdefault(text, "abbreviation" if short else kind_of)
    identifier, name = _text(element, f"{kind}UI"), _text(element, f"{kind}Name/String")
    return make_concept(f"MESH:{identifier}", name, names, definition=definition, line=line)


def _text(element: Any, path: str) -> str:
    """The text of the first element at a path, without the white space around it."""
    return (element.findtext(path) or "").strip()


def _texts(element: Any, path: str) -> list[str]:
    return [text for found in element.iterfind(path) if (text := (found.text or "").strip())]

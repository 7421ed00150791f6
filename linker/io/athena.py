"""The vocabularies of OMOP as Athena hands them out: CONCEPT.csv and the tables beside it.

A concept is a standard or a classification concept that is valid. Concepts of other vocabularies
are known by what they map to ("Maps to"): their ids are alternative ids. Their names are not taken,
since many are narrower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path

from linker.errors import LinkerError, OnError, ignore, stop
from linker.ids import counted
from linker.io.files import Pathlike, is_folder
from linker.io.languages import Languages, Statement
from linker.io.parsing import check_concept
from linker.io.tabs import (
    Grouped,
    Row,
    find,
    first_table,
    number_of,
    read_beside,
    read_table,
)
from linker.records import Concept

OPTIONS = ("languages", "sources")
_CONCEPT, _SYNONYM = "CONCEPT.csv", "CONCEPT_SYNONYM.csv"
_RELATIONSHIP, _VOCABULARY = "CONCEPT_RELATIONSHIP.csv", "VOCABULARY.csv"
_COLUMNS = (
    *("concept_id", "concept_name", "domain_id", "vocabulary_id"),
    *("standard_concept", "concept_code", "invalid_reason"),
)
_LANGUAGES = {  # the concepts of languages; others are called by their id
    **dict.fromkeys(("4180186", "4093769"), "en"),
    **{"4182511": "es", "4180190": "fr", "4182504": "de", "4182507": "it", "4182503": "nl"},
    **{"4181536": "pt", "4180183": "da", "4175777": "sv", "4182948": "zh", "4181524": "ja"},
    **{"4175771": "ko", "4181374": "ar", "4180047": "he"},
}
_RELATIONS = {"Is a": "parents", "Concept replaced by": "replaced_by"}
_REVERSED = {"Subsumes": "parents", "Maps to": "alt_ids"}  # of the second concept


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether `path` is a folder with a table of concepts, or the first line is its header."""
    if is_folder(path):
        return any(find(path, name) for name in (_CONCEPT, _SYNONYM, _RELATIONSHIP))
    return set(_COLUMNS) <= set("".join(head[:1]).split("\t"))


def release(path: Pathlike) -> str:
    """The version of the vocabularies in VOCABULARY.csv; empty where it is not there."""
    table = find(path if is_folder(path) else Path(path).parent, _VOCABULARY)
    columns = ("vocabulary_id", "vocabulary_version")

    def version(_: int, vocabulary: str, version: str) -> str | None:
        return version if vocabulary == "None" else None

    return next(read_table(table, columns, version, ignore), "") if table else ""


def read(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    languages: Languages | None = None,
    sources: Collection[str] = (),
) -> Iterator[Concept]:
    """Read the concepts under their OMOP ids, those that are not valid as obsolete ones.

    CONCEPT.csv is read twice, line by line; the rows of the other tables are held packed. The
    domain is the type, the vocabulary with its code a cross-reference. Parents that are no such
    concepts are left out.

    Args:
        path: a folder with CONCEPT.csv, CONCEPT_SYNONYM.csv and CONCEPT_RELATIONSHIP.csv, plain or
            .gz; or the first of these, with the others beside it.
        on_error: what to do with a bad row of any of the three.
        languages: of the names to keep; None: English, in which concepts are called.
        sources: vocabularies of the concepts to keep; all where empty.

    Raises:
        LinkerError: CONCEPT.csv is not there, or no concept is a standard concept of the sources.
        InputError: what `on_error` raises.
    """
    table, chosen = first_table(path, _CONCEPT), languages or Languages()
    of_vocabulary: Counter[str] = Counter()

    def standard(_: int, identifier: str, *cells: str) -> int | None:
        vocabulary, is_standard, invalid = cells[2], cells[3], cells[5]
        if is_standard not in ("S", "C") or invalid:
            return None
        of_vocabulary[vocabulary] += 1
        return number_of(identifier) if not sources or vocabulary in sources else None

    kept = set(read_table(table, _COLUMNS, standard, on_error))
    if sources and not kept:
        there = counted(of_vocabulary)
        named = ", ".join(sources)
        raise LinkerError(f"{table}: holds no standard concept of {named}; there are {there}")
    rows = chain(_synonyms(table, on_error, kept, chosen), _relations(table, on_error, kept))
    known = Grouped(rows)

    def concept(line: int, number: str, name: str, domain: str, *cells: str) -> Concept | None:
        vocabulary, _, code, invalid = cells
        is_foreign = sources and vocabulary not in sources
        if number_of(number) not in kept and (not invalid or is_foreign):
            return None
        return chosen.concept(
            f"OMOP:{number}",
            [Statement("preferred", name, "en"), *known[int(number)]],
            source=vocabulary,
            types=(domain,),
            status="obsolete" if invalid else "current",
            xrefs=(f"{vocabulary.replace(' ', '_')}:{code}",),
            line=line,
        )

    yield from read_table(table, _COLUMNS, concept, ignore)  # bad rows were reported above


def _synonyms(
    table: Pathlike, on_error: OnError, kept: Collection[int], languages: Languages
) -> Iterator[Row]:
    def synonym(_: int, identifier: str, name: str, spoken: str) -> Row | None:
        number, language = number_of(identifier), _LANGUAGES.get(spoken, spoken)
        if number not in kept or languages.place(language) is None:
            return None
        check_concept(identifier, (name.strip(),))
        return number, Statement("exact", name, language)

    columns = ("concept_id", "concept_synonym_name", "language_concept_id")
    return read_beside(table, _SYNONYM, "synonyms", columns, synonym, on_error)


def _relations(table: Pathlike, on_error: OnError, kept: Collection[int]) -> Iterator[Row]:
    def relation(_: int, first: str, second: str, name: str, invalid: str) -> Row | None:
        if invalid or first == second:
            return None
        field = _RELATIONS.get(name, "")
        if not field:
            field, first, second = _REVERSED.get(name, ""), second, first
        if not field:
            return None
        owner, other = number_of(first), number_of(second)
        is_kept = field == "replaced_by" or owner in kept
        is_kept = is_kept and (field != "parents" or other in kept)
        return (owner, Statement(field, f"OMOP:{other}")) if is_kept else None

    columns = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")
    lacking = "parents, alternative ids and replacements"
    return read_beside(table, _RELATIONSHIP, lacking, columns, relation, on_error)

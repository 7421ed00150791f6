"""Real ontologies in other formats, and large generated vocabularies, for the benchmark of readers.

Names of large vocabularies are those of `benchmarks.lib.recombined`. Concept n of them is below the
concepts (n - 1) // 5 and (n - 1) // 50, so that the hierarchy is as deep and as wide as real ones.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from benchmarks.lib import recombined
from benchmarks.lib.data import locate
from linker.readers import obo
from linker.types import Concept, Name

PURL, OBO_IN_OWL = "http://purl.obolibrary.org/obo/", "http://www.geneontology.org/formats/oboInOwl"
ONTOLOGIES = ("doid", "hp")
_RELEASE = "20240101"


def ontologies(folder: Path) -> dict[str, Path]:
    """The real ontologies in each format, by names such as "doid.owl"; written where missing."""
    paths = {}
    for name in ONTOLOGIES:
        source = folder / f"{name}.obo"
        for end, write in _WRITERS.items():
            path = paths[f"{name}.{end}"] = folder / f"{name}.{end}"
            if not path.exists():
                write(source, path)
    return paths


def _unpack(source: Path, path: Path) -> None:
    path.write_bytes(gzip.decompress(locate(f"ontologies/{path.name}.gz").read_bytes()))


def _owl(source: Path, path: Path) -> None:
    import pyhornedowl

    ontology = pyhornedowl.open_ontology_from_string(source.read_text("utf-8"), "obo")
    ontology.save_to_file(str(path), "rdf" if path.suffix == ".owl" else "ofn")


def _iri(identifier: str) -> str:
    return PURL + identifier.replace(":", "_", 1)


def _obographs(source: Path, path: Path) -> None:
    nodes, edges = [], []
    for concept in obo.read(source):
        meta: dict[str, object] = {
            "synonyms": list(map(_synonym, concept.names[1:])),
            "xrefs": [{"val": xref} for xref in concept.xrefs],
            "subsets": [f"{PURL}x#{label}" for label in concept.types],
            "basicPropertyValues": [
                {"pred": f"{OBO_IN_OWL}#hasAlternativeId", "val": other}
                for other in concept.alt_ids
            ],
        }
        if concept.definition:
            meta["definition"] = {"val": concept.definition, "xrefs": []}
        if concept.status != "current":
            meta["deprecated"] = True
        iri = _iri(concept.id)
        nodes.append({"id": iri, "lbl": concept.name, "type": "CLASS", "meta": meta})
        edges += [{"sub": iri, "pred": "is_a", "obj": _iri(parent)} for parent in concept.parents]
    graph = {"id": f"{PURL}{path.stem}.json", "nodes": nodes, "edges": edges}
    path.write_text(json.dumps({"graphs": [graph]}, indent=2), encoding="utf-8")


def _synonym(name: Name) -> dict[str, object]:
    if name.kind == "abbreviation":
        kind = {"pred": "hasExactSynonym", "synonymType": f"{PURL}OMO_0003000"}
    else:
        kind = {"pred": f"has{name.kind.title()}Synonym"}
    return {**kind, "val": name.text, "xrefs": []}


def _skos(source: Path, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n")
        file.write(f"@prefix obo: <{PURL}> .\n\n")
        for concept in _current(source):
            said = [("prefLabel", f"{json.dumps(concept.name, ensure_ascii=False)}@en")]
            said += [
                ("altLabel", f"{json.dumps(name.text, ensure_ascii=False)}@en")
                for name in concept.names[1:]
            ]
            said += [("broader", f"<{_iri(parent)}>") for parent in concept.parents]
            lines = " ;\n    ".join(f"skos:{predicate} {value}" for predicate, value in said)
            file.write(f"<{_iri(concept.id)}> a skos:Concept ;\n    {lines} .\n\n")


def _fhir(source: Path, path: Path) -> None:
    concepts = [
        {
            "code": concept.id,
            "display": concept.name,
            "designation": [{"language": "en", "value": n.text} for n in concept.names[1:]],
            "property": [{"code": "parent", "valueCode": parent} for parent in concept.parents],
        }
        for concept in _current(source)
    ]
    head = {"resourceType": "CodeSystem", "url": f"http://example.org/{path.stem}"}
    text = json.dumps({**head, "content": "complete", "concept": concepts}, indent=1)
    path.write_text(text, encoding="utf-8")


def _current(source: Path) -> Iterator[Concept]:
    return (concept for concept in obo.read(source) if concept.status == "current")


_WRITERS: dict[str, Callable[[Path, Path], None]] = {
    "obo": _unpack,
    "json": _obographs,
    "owl": _owl,
    "ofn": _owl,
    "ttl": _skos,
    "fhir.json": _fhir,
}


def _names(count: int) -> Iterator[tuple[int, list[str]]]:
    made = islice(recombined.concepts(1 << 62), count)
    return ((number, names) for number, (_, names) in enumerate(made))


def _above(number: int) -> list[int]:
    return sorted({(number - 1) // 5, (number - 1) // 50} - {-1}) if number else []


def athena(folder: Path, count: int) -> None:
    """Write a vocabulary of OMOP: of ten concepts six are standard, three map, one is not valid."""
    folder.mkdir(parents=True, exist_ok=True)
    dates = ("19700101", "20991231")
    heads = {
        "CONCEPT": "concept_id concept_name domain_id vocabulary_id concept_class_id "
        "standard_concept concept_code valid_start_date valid_end_date invalid_reason",
        "CONCEPT_SYNONYM": "concept_id concept_synonym_name language_concept_id",
        "CONCEPT_RELATIONSHIP": "concept_id_1 concept_id_2 relationship_id valid_start_date "
        "valid_end_date invalid_reason",
    }
    standard = (count * 6) // 10
    with ExitStack() as stack:
        rows, synonyms, relations = _tables(stack, {folder / f"{n}.csv": heads[n] for n in heads})
        for number, (name, *others) in _names(count):
            kind = 0 if number < standard else 1 + (number % 4 == 0)
            vocabulary, sign, invalid = [("SNOMED", "S", ""), ("ICD10", "", ""), ("NDC", "", "U")][
                kind
            ]
            cells = (number + 1, name, "Condition", vocabulary, "Clinical Finding")
            rows(*cells, sign, f"C{number}", *dates, invalid)
            for other in others:
                synonyms(number + 1, other, 4180186)
            if kind == 0:
                for parent in _above(number):
                    relations(number + 1, parent + 1, "Is a", *dates, "")
                    relations(parent + 1, number + 1, "Subsumes", *dates, "")
            else:
                target = 1 + number % standard
                name = "Maps to" if kind == 1 else "Concept replaced by"
                relations(number + 1, target, name, *dates, "")


def rf2(folder: Path, count: int) -> None:
    """Write a snapshot of SNOMED CT, in which three of ten concepts are inactive."""
    folder.mkdir(parents=True, exist_ok=True)
    common = "id effectiveTime active moduleId"
    kinds = {
        "sct2_Concept_Snapshot_INT": "definitionStatusId",
        "sct2_Description_Snapshot-en_INT": "conceptId languageCode typeId term caseSignificanceId",
        "sct2_Relationship_Snapshot_INT": "sourceId destinationId relationshipGroup typeId "
        "characteristicTypeId modifierId",
        "der2_cRefset_LanguageSnapshot-en_INT": "refsetId referencedComponentId acceptabilityId",
        "der2_cRefset_AssociationSnapshot_INT": "refsetId referencedComponentId targetComponentId",
    }
    with ExitStack() as stack:
        heads = {folder / f"{n}_{_RELEASE}.txt": f"{common} {kinds[n]}" for n in kinds}
        tables = _tables(stack, heads)
        concepts, descriptions, relationships, members, associations = tables
        term = edge = 0
        for number, names in _names(count):
            active, identifier = number % 10 < 7, 100_000_000 + number
            said = (_RELEASE, int(active), 900000000000207008)
            concepts(identifier, *said, 900000000000074008)
            kinds_of = [("900000000000003001", f"{names[0]} (disorder)")]
            kinds_of += [("900000000000013009", name) for name in names]
            for place, (kind, text) in enumerate(kinds_of):
                term += 1
                of_all = (term, _RELEASE, 1, 900000000000207008)
                descriptions(*of_all, identifier, "en", kind, text, 900000000000448009)
                best = 900000000000548007 if place < 2 else 900000000000549004
                for refset in (900000000000509007, 900000000000508004):
                    members(f"m{term}", *of_all[1:], refset, term, best)
            if not active:
                target = 100_000_000 + number - number % 10
                associations(f"a{number}", *said[:1], 1, said[2], 900000000000526001, identifier,
                             target)  # fmt: skip
            for above in _above(number) if active else ():
                edge += 1
                parent = 100_000_000 + above - (above % 10 - 6 if above % 10 > 6 else 0)
                rest = (0, 116680003, 900000000000011006, 900000000000451002)
                relationships(edge, *said, identifier, parent, *rest)


def _tables(stack: ExitStack, heads: dict[Path, str]) -> Sequence[Callable[..., None]]:
    """What writes a row of each table, whose header is written first."""

    def table(path: Path, head: str) -> Callable[..., None]:
        file = stack.enter_context(path.open("w", encoding="utf-8"))
        file.write("\t".join(head.split()) + "\n")

        def write(*cells: object) -> None:
            file.write("\t".join(map(str, cells)) + "\n")

        return write

    return [table(path, head) for path, head in heads.items()]

"""Thesauri in SKOS."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.errors import InputError
from linker.io import dictionaries
from linker.io.parsing import Languages
from linker.io.rdf import skos
from linker.records import Concept, Name

pytest.importorskip("rdflib")

TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix x: <http://example.org/x/> .
<http://example.org/x> a skos:ConceptScheme ; owl:versionInfo "2.1" .
x:1 a skos:Concept ; skos:prefLabel "disease"@en ; skos:narrower x:2 .
x:2 a skos:Concept ;
    skos:prefLabel "sheep fever"@en, "Schaffieber"@de ;
    skos:altLabel "ovine fever"@en, "SF" ;
    skos:hiddenLabel "shep fever"@en ;
    skos:notation "A01" ;
    skos:definition "A hot sheep."@en, "Ein Schaf."@de ;
    skos:exactMatch <http://id.nlm.nih.gov/mesh/D900001> ;
    skos:closeMatch <http://www.wikidata.org/entity/Q1> ;
    skos:inScheme <http://example.org/x> .
x:3 a skos:Concept ; skos:prefLabel "lamb fever"@en ; skos:broader x:2, [ a skos:Concept ] .
x:4 a skos:Concept ; skos:prefLabel "old"@en ; owl:deprecated true ; dcterms:isReplacedBy x:2 .
x:5 skos:prefLabel "no concept"@en .
"""
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="http://purl.obolibrary.org/obo/X_1">
  <skos:prefLabel xml:lang="en">fever</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_concept_whole(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.ttl", TURTLE)
    assert (dictionaries.detect(path), skos.release(path)) == ("skos", "2.1")
    concepts = list(skos.read(path))
    assert [concept.id for concept in concepts] == ["x:1", "x:2", "x:3", "x:4"]
    assert concepts[1] == Concept(
        "x:2",
        "sheep fever",
        (
            Name("sheep fever", "x:2", "preferred", "en"),
            Name("ovine fever", "x:2", "exact", "en"),
            Name("SF", "x:2", "exact"),
            Name("shep fever", "x:2", "exact", "en"),
        ),
        parents=("x:1",),
        alt_ids=("A01",),
        definition="A hot sheep.",
        types=("x",),
        namespace="x",
        xrefs=("MESH:D900001", "http://www.wikidata.org/entity/Q1"),
    )
    german = list(skos.read(path, languages=Languages(["de", "en"])))[1]
    assert (german.name, german.definition) == ("Schaffieber", "Ein Schaf.")


def test_rdf_xml(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.rdf", XML)
    assert dictionaries.detect(path) == "skos"
    assert [(concept.id, concept.name) for concept in skos.read(path)] == [("X:1", "fever")]


@pytest.mark.parametrize(
    "text",
    [
        TURTLE + 'x:9 a "',
        TURTLE + "[ skos:broader " * 3_000,
        XML[:-20],
        XML.replace("rdf:about=", "rdf:ID="),
    ],
)
def test_what_is_broken(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        list(skos.read(saved(tmp_path / "x", text)))

"""Ontologies in OWL."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from linker import Dictionary
from linker.errors import InputError
from linker.io import dictionaries
from linker.io.parsing import Languages
from linker.io.rdf import owl
from linker.records import Concept, Name

pytest.importorskip("pyhornedowl")

RDF = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY obo "http://purl.obolibrary.org/obo/"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:oio="http://www.geneontology.org/formats/oboInOwl#" xmlns:obo="&obo;"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#" xmlns:my="http://example.org/my/">
<owl:Ontology rdf:about="&obo;x.owl"><owl:versionIRI rdf:resource="&obo;x/2001/x.owl"/>IMPORTS
</owl:Ontology>
DECLARED
<owl:Class rdf:about="&obo;X_1"><rdfs:label>disease</rdfs:label>
  <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/></owl:Class>
<owl:Class rdf:about="&obo;X_2">
  <rdfs:label xml:lang="en">sheep &amp; fever</rdfs:label>
  <rdfs:label xml:lang="de-AT">Schaffieber</rdfs:label>
  <obo:IAO_0000115>A hot sheep.</obo:IAO_0000115>
  <oio:hasExactSynonym>ovine fever</oio:hasExactSynonym>
  <oio:hasExactSynonym>SF</oio:hasExactSynonym>
  <oio:hasNarrowSynonym>lamb fever</oio:hasNarrowSynonym>
  <oio:hasDbXref>MeSH:D900001</oio:hasDbXref>
  <skos:exactMatch rdf:resource="http://identifiers.org/mesh/D900002"/>
  <oio:hasAlternativeId>X:12</oio:hasAlternativeId>
  <oio:inSubset rdf:resource="&obo;x#slim_a"/>
  <rdfs:subClassOf rdf:resource="&obo;X_1"/>
  <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="&obo;RO_1"/>
    <owl:someValuesFrom rdf:resource="&obo;X_1"/></owl:Restriction></rdfs:subClassOf>
</owl:Class>
<owl:Axiom><owl:annotatedSource rdf:resource="&obo;X_2"/>
  <owl:annotatedProperty
    rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
  <owl:annotatedTarget>SF</owl:annotatedTarget>
  <oio:hasSynonymType rdf:resource="&obo;OMO_0003000"/></owl:Axiom>
<owl:Class rdf:about="&obo;X_4"><rdfs:label>obsolete fever</rdfs:label>
  <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated>
  <obo:IAO_0100001 rdf:resource="&obo;X_2"/></owl:Class>
<owl:Class rdf:about="http://example.org/my/3"><rdfs:label>own</rdfs:label></owl:Class>
<owl:Class rdf:about="http://example.org/other/5"><rdfs:label>other</rdfs:label></owl:Class>
</rdf:RDF>
"""
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
PROPERTIES = [f"{OBO_IN_OWL}has{name}" for name in ("ExactSynonym", "NarrowSynonym", "DbXref")]
PROPERTIES += [f"{OBO_IN_OWL}{name}" for name in ("hasAlternativeId", "inSubset")]
PROPERTIES += [f"&obo;{name}" for name in ("IAO_0000115", "IAO_0100001")]
PROPERTIES += ["http://www.w3.org/2004/02/skos/core#exactMatch"]
RDF = RDF.replace(
    "DECLARED", "\n".join(f'<owl:AnnotationProperty rdf:about="{iri}"/>' for iri in PROPERTIES)
)
FEVER = Concept(
    "X:2",
    "sheep & fever",
    (
        Name("sheep & fever", "X:2", "preferred", "en"),
        Name("SF", "X:2", "abbreviation"),
        Name("ovine fever", "X:2", "exact"),
        Name("lamb fever", "X:2", "narrow"),
    ),
    parents=("X:1",),
    alt_ids=("X:12",),
    definition="A hot sheep.",
    types=("slim_a",),
    namespace="X",
    xrefs=("MESH:D900002", "MESH:D900001"),
)
FUNCTIONAL = """Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>)
Prefix(obo:=<http://purl.obolibrary.org/obo/>)
Ontology(<http://purl.obolibrary.org/obo/x.owl>
Declaration(Class(obo:X_2))
AnnotationAssertion(rdfs:label obo:X_2 "a (fever"@en)
SubClassOf(obo:X_2 obo:X_1)
AnnotationAssertion(rdfs:label obo:X_1 "disease")
)
"""
OWL_XML = """<?xml version="1.0"?>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://purl.obolibrary.org/obo/x.owl">
<Declaration><Class IRI="http://purl.obolibrary.org/obo/X_2"/></Declaration>
<AnnotationAssertion><AnnotationProperty IRI="http://www.w3.org/2000/01/rdf-schema#label"/>
<IRI>http://purl.obolibrary.org/obo/X_2</IRI><Literal>fever</Literal></AnnotationAssertion>
</Ontology>
"""


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(tmp_path / "x.owl", RDF.replace("IMPORTS", ""))


def test_a_class_whole(path: Path) -> None:
    assert dictionaries.detect(path) == "owl"
    concepts = list(owl.read(path))
    assert [c.id for c in concepts] == ["my:3", "http://example.org/other/5", "X:1", "X:2", "X:4"]
    assert concepts[3] == FEVER
    german = list(owl.read(path, languages=Languages(["de"])))[3]
    assert german.name == "Schaffieber"
    dictionary = Dictionary.read(path)
    assert dictionary.resolve("X:4") == {"X:2"}
    assert dictionary.sources[0].release == "&obo;x/2001/x.owl"


def test_other_syntaxes(tmp_path: Path) -> None:
    functional = saved(tmp_path / "a", FUNCTIONAL)
    assert dictionaries.detect(functional) == "owl"
    assert [(c.id, c.name, c.parents) for c in owl.read(functional)] == [
        ("X:1", "disease", ()), ("X:2", "a (fever", ("X:1",)),
    ]  # fmt: skip
    xml = saved(tmp_path / "b", OWL_XML)
    assert dictionaries.detect(xml) == "owl"
    assert [(c.id, c.name) for c in owl.read(xml)] == [("X:2", "fever")]


def test_imports_are_named_and_not_fetched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = RDF.replace("IMPORTS", '<owl:imports rdf:resource="http://127.0.0.1:1/y.owl"/>')
    path = saved(tmp_path / "x.owl", text.replace('"&obo;X_1"/></owl', '"&obo;Y_9"/></owl'))
    path.write_text(path.read_text().replace('subClassOf rdf:resource="&obo;X_1', 'subClassOf rdf:resource="&obo;Y_1'))  # fmt: skip
    with caplog.at_level(logging.WARNING):
        assert {c.id: c.parents for c in owl.read(path) if c.names}["X:2"] == ("Y:1",)
    assert caplog.messages == [
        f"{path}: imports http://127.0.0.1:1/y.owl, which is not read; "
        "give a file with it as another --dict"
    ]


@pytest.mark.parametrize(
    "text",
    [
        RDF[:900],
        RDF.replace('">', '" >').replace("<!ENTITY obo", '<!ENTITY a "&obo;"> <!ENTITY obo'),
        RDF.replace("<!ENTITY obo", '<!ENTITY a SYSTEM "/etc/passwd"> <!ENTITY obo'),
        RDF.replace("<!ENTITY obo", f'<!ENTITY a "{"a" * 9_000}"> <!ENTITY obo'),
        FUNCTIONAL.replace("SubClassOf", "Nonsense"),
    ],
)
def test_what_is_broken_or_a_bomb(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        list(owl.read(saved(tmp_path / "x.owl", text)))

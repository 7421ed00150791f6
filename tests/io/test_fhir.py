"""Code systems and value sets of FHIR."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary
from linker.errors import InputError
from linker.io import dictionaries, fhir
from linker.io.parsing import Languages
from linker.records import Concept, Name

from .conftest import refused

SYSTEM: dict[str, Any] = {
    "resourceType": "CodeSystem",
    "url": "http://example.org/CodeSystem/sheep",
    "version": "1.2",
    "language": "en",
    "content": "complete",
    "hierarchyMeaning": "is-a",
    "concept": [
        {
            "code": "d",
            "display": "disease",
            "concept": [
                {
                    "code": "f",
                    "display": "sheep fever",
                    "definition": "A hot sheep.",
                    "designation": [
                        {"value": "ovine fever", "use": {"code": "synonym"}},
                        {"language": "de", "value": "Schaffieber", "use": {"code": "display"}},
                        {"language": "de-AT", "value": "Schafbrand"},
                    ],
                    "property": [{"code": "parent", "valueCode": "i"}],
                },
                {
                    "code": "o",
                    "display": "old fever",
                    "property": [{"code": "status", "valueCode": "retired"}],
                    "concept": [{"code": "y", "display": "young fever"}],
                },
            ],
        },
        {
            "code": "i",
            "display": "infection",
            "property": [
                {"code": "child", "valueCode": "y"},
                {"code": "inactive", "valueBoolean": False},
            ],
        },
        {"code": "n"},
    ],
}


def saved(path: Path, resource: dict[str, Any]) -> Path:
    path.write_text(json.dumps(resource, indent=1), encoding="utf-8")
    return path


def test_a_concept_whole(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.json", SYSTEM)
    assert (dictionaries.detect(path), fhir.release(path)) == ("fhir", "1.2")
    assert list(fhir.read(path))[1] == Concept(
        "sheep:f",
        "sheep fever",
        (
            Name("sheep fever", "sheep:f", "preferred", "en"),
            Name("ovine fever", "sheep:f", "exact", "en"),
        ),
        parents=("sheep:d", "sheep:i"),
        definition="A hot sheep.",
        namespace="sheep",
    )


def test_the_tree_with_properties_and_obsolete_codes(tmp_path: Path) -> None:
    dictionary = Dictionary.read(saved(tmp_path / "a.json", SYSTEM))
    assert list(dictionary.ids) == ["sheep:d", "sheep:f", "sheep:i", "sheep:y"]
    assert dictionary.concept(3).parents == ("sheep:d", "sheep:i")  # not the retired one between
    assert dictionary.identify("sheep:o") == "sheep:o"
    assert dictionary.rows("sheep:o") == ()
    parts = Dictionary.read(saved(tmp_path / "b.json", {**SYSTEM, "hierarchyMeaning": "part-of"}))
    assert [parts.concept(row).parents for row in range(4)] == [()] * 4


def test_languages_and_a_supplement(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.json", SYSTEM)
    german = list(fhir.read(path, languages=Languages(["de"])))[1]
    assert [(name.text, name.kind) for name in german.names] == [
        ("Schaffieber", "preferred"), ("Schafbrand", "exact"),
    ]  # fmt: skip
    supplement = {
        "resourceType": "CodeSystem",
        "content": "supplement",
        "supplements": SYSTEM["url"],
        "concept": [{"code": "i", "designation": [{"language": "fr", "value": "infection (fr)"}]}],
    }
    more = saved(tmp_path / "b.json", supplement)
    both = Dictionary.read(path, more, languages=["en", "fr"])
    assert [name.text for name in both.concept(2).names] == ["infection", "infection (fr)"]


def test_an_expansion(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    loinc = {"system": "http://loinc.org", "code": "1-8", "display": "Acyclovir"}
    contains = [{"display": "drugs", "abstract": True, "contains": [loinc, {**loinc}]}]
    contains += [{**loinc, "code": "2-7", "display": "Old", "inactive": True}]
    value_set = {
        "resourceType": "ValueSet",
        "expansion": {"total": 3, "contains": contains},
        "compose": {"include": [{"system": "http://loinc.org"}]},
    }
    path = saved(tmp_path / "v.json", value_set)
    with caplog.at_level(logging.WARNING):
        assert [(c.id, c.name, c.status) for c in fhir.read(path)] == [
            ("LOINC:1-8", "Acyclovir", "current"), ("LOINC:2-7", "Old", "obsolete"),
        ]  # fmt: skip
    assert caplog.messages == [f"{path}: holds 2 of the 3 codes of the value set"]
    del value_set["expansion"]
    with pytest.raises(InputError):
        list(fhir.read(saved(path, value_set)))


def system_of(*records: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A code system of some concepts."""
    return {
        "resourceType": "CodeSystem",
        "url": "http://purl.obolibrary.org/obo/mondo.owl",
        "content": "complete",
        "concept": [*records],
        **fields,
    }


def texts(concept: Concept) -> list[tuple[str, str]]:
    return [(name.text, name.kind) for name in concept.names]


def test_a_coding_without_a_code_says_nothing_and_the_tree_stays(tmp_path: Path) -> None:
    coding = {"code": "parent", "valueCoding": {"display": "unknown"}}
    below = {"code": "MONDO:3", "display": "podagra"}
    path = saved(
        tmp_path / "a.json",
        system_of(
            {
                "code": "MONDO:1",
                "display": "arthritis",
                "concept": [{"display": "no code", "concept": [below]}],
            },
            {"code": "MONDO:2", "display": "gout", "property": [coding]},
        ),
    )
    concepts = refused(fhir.read, path, None)  # the one without a code
    assert [(concept.id, concept.parents) for concept in concepts] == [
        ("MONDO:1", ()),
        ("MONDO:3", ("MONDO:1",)),
        ("MONDO:2", ()),
    ]


def test_a_code_that_comes_again_is_one_concept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = {
        "code": "MONDO:1",
        "display": "gout",
        "property": [{"code": "status", "valueCode": "retired"}],
    }
    again = {
        "code": "MONDO:1",
        "display": "gouty arthritis",
        "designation": [{"value": "podagra"}],
        "property": [{"code": "parent", "valueCode": "MONDO:2"}],
    }
    (concept,) = fhir.read(saved(tmp_path / "a.json", system_of(first, again)))
    assert texts(concept) == [
        ("gout", "preferred"),
        ("gouty arthritis", "exact"),
        ("podagra", "exact"),
    ]
    assert (concept.parents, concept.status) == (("MONDO:2",), "current")
    assert len(caplog.messages) == 1
    of_system = {
        "system": "http://loinc.org",
        "concept": [{**first, "code": "1"}, {**again, "code": "1"}],
    }
    value_set = {"resourceType": "ValueSet", "compose": {"include": [of_system]}}
    (concept,) = fhir.read(saved(tmp_path / "v.json", value_set))
    assert [name.text for name in concept.names] == ["gout", "gouty arthritis", "podagra"]


def test_synonyms_in_properties(tmp_path: Path) -> None:
    properties = [
        {"code": "synonym", "valueString": "podagra"},
        {"code": "synonym", "valueCode": "MONDO_9"},  # as HL7 defines it: another code
        {"code": "hasRelatedSynonym", "valueString": "uric arthritis"},
        {"code": "acronym", "valueString": "GA"},
        {"code": "p3", "valueString": "gouty arthritis"},
        {"code": "comment", "valueString": "no name"},
        {"code": "p4", "valueString": "no name either"},
    ]
    declared = [
        {"code": "p3", "uri": "http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"},
        {"code": "p4", "uri": "http://example.org/note"},
    ]
    record = {"code": "MONDO_1", "display": "gout", "property": properties}
    (concept,) = fhir.read(saved(tmp_path / "a.json", system_of(record, property=declared)))
    assert (concept.id, concept.alt_ids) == ("MONDO:1", ("MONDO:9",))
    assert texts(concept) == [
        ("gout", "preferred"),
        ("podagra", "exact"),
        ("uric arthritis", "related"),
        ("GA", "abbreviation"),
        ("gouty arthritis", "exact"),
    ]


def test_a_bundle(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gout = system_of({"code": "MONDO:1", "display": "gout"})
    more = system_of(
        {"code": "MONDO:1", "designation": [{"value": "podagra"}]},
        content="supplement",
        supplements=f"{gout['url']}|2026-01",
    )
    rules = {
        "resourceType": "ValueSet",
        "compose": {"include": [{"system": "http://loinc.org", "filter": []}]},
    }
    metadata = [{"resourceType": "ValueSet", "url": "http://a/set"}, {"resourceType": "CodeSystem"}]
    resources = [{"resourceType": "Patient"}, gout, rules, *metadata, SYSTEM, more]
    bundle = {"resourceType": "Bundle", "entry": [{"resource": r} for r in resources] + [{}]}
    path = saved(tmp_path / "b.json", bundle)
    assert dictionaries.detect(path) == "fhir"
    concepts = list(fhir.read(path))
    assert [concept.id for concept in concepts][:2] == ["MONDO:1", "sheep:d"]
    assert len(concepts) == 7
    assert texts(concepts[0]) == [("gout", "preferred"), ("podagra", "exact")]
    assert len(caplog.messages) == 3  # of the rules, and of the resources without concepts
    with pytest.raises(InputError):
        list(fhir.read(saved(path, {"resourceType": "Bundle", "entry": [{"resource": rules}]})))


def test_codes_have_the_prefix_of_a_known_vocabulary_as_it_is_spelled(tmp_path: Path) -> None:
    record = system_of({"code": "A01", "display": "typhoid"}, url="http://a.example/icd10")
    (concept,) = fhir.read(saved(tmp_path / "a.json", record))
    assert concept.id == "ICD10:A01"


def test_a_code_is_one_concept_with_the_prefix_of_its_system_or_without(tmp_path: Path) -> None:
    records = [
        {"code": "558", "display": "Marfan syndrome"},
        {"code": "ORPHA:558", "display": "Marfan's syndrome"},
        {"code": "99", "display": "other", "property": [parent_of("ORPHA:558")]},
    ]
    path = saved(tmp_path / "a.json", system_of(*records, url="http://www.orpha.net"))
    marfan, other = fhir.read(path)
    assert (marfan.id, [text for text, _ in texts(marfan)]) == (
        "Orphanet:558",
        ["Marfan syndrome", "Marfan's syndrome"],
    )
    assert other.parents == ("Orphanet:558",)


def parent_of(code: str) -> dict[str, str]:
    """The property that names the code above."""
    return {"code": "parent", "valueCode": code}


def test_a_code_without_a_system_is_a_bad_concept(tmp_path: Path) -> None:
    contains = [{"code": "1-8", "display": "a"}, {"system": "http://loinc.org", "code": "2-7"}]
    value_set = {"resourceType": "ValueSet", "expansion": {"contains": contains}}
    (concept,) = refused(fhir.read, saved(tmp_path / "v.json", value_set), None)
    assert concept.id == "LOINC:2-7"


@pytest.mark.parametrize(
    "record",
    [
        {"code": " ", "display": "a"},
        {"code": "x", "display": 7},
        {"code": "x", "designation": [{}]},
        {"display": "a disease without a code"},
    ],
)
def test_bad_concepts_stop_or_are_skipped(tmp_path: Path, record: dict[str, Any]) -> None:
    path = saved(tmp_path / "a.json", {**SYSTEM, "concept": [*SYSTEM["concept"], record]})
    assert len(refused(fhir.read, path, None)) == 6

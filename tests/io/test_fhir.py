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
    assert list(dictionary.ids) == ["sheep:d", "sheep:f", "sheep:y", "sheep:i"]
    assert dictionary.concept(2).parents == ("sheep:d", "sheep:i")  # not the retired one between
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
    assert [name.text for name in both.concept(3).names] == ["infection", "infection (fr)"]


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


@pytest.mark.parametrize(
    "record",
    [
        {"code": " ", "display": "a"},
        {"code": "x", "display": 7},
        {"code": "x", "designation": [{}]},
    ],
)
def test_bad_concepts_stop_or_are_skipped(tmp_path: Path, record: dict[str, Any]) -> None:
    path = saved(tmp_path / "a.json", {**SYSTEM, "concept": [*SYSTEM["concept"], record]})
    assert len(refused(fhir.read, path, None)) == 6

"""OMOP's vocabularies, as Athena hands them out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linker import Dictionary
from linker.errors import LinkerError
from linker.io import dictionaries
from linker.io.parsing import Languages
from linker.io.tabs import athena
from linker.records import Concept, Name

from .conftest import refused

CONCEPTS = [
    "concept_id concept_name domain_id vocabulary_id concept_class_id standard_concept "
    "concept_code valid_start_date valid_end_date invalid_reason".replace(" ", "\t"),
    '10\t5" wound\tCondition\tSNOMED\tFinding\tS\t100\t19700101\t20991231\t',
    "11\tFever\tCondition\tSNOMED\tFinding\tS\t101\t19700101\t20991231\t",
    "12\tFinding\tCondition\tSNOMED\tFinding\tC\t102\t19700101\t20991231\t",
    "20\tFever, unspecified\tCondition\tICD10CM\tCode\t\tR50.9\t19700101\t20991231\t",
    "30\tOld fever\tCondition\tSNOMED\tFinding\t\t103\t19700101\t20100101\tU",
    "40\taspirin\tDrug\tRxNorm Extension\tIngredient\tS\t1191\t19700101\t20991231\t",
]
SYNONYMS = [
    "concept_id\tconcept_synonym_name\tlanguage_concept_id",
    "11\tPyrexia\t4180186",
    "11\tFiebre\t4182511",
    "11\tLaz\t999",
    "20\tunread\t4180186",
]
RELATIONS = [
    "concept_id_1\tconcept_id_2\trelationship_id\tvalid_start_date\tvalid_end_date\tinvalid_reason",
    "11\t12\tIs a\t19700101\t20991231\t",
    "12\t11\tSubsumes\t19700101\t20991231\t",
    "12\t10\tSubsumes\t19700101\t20991231\t",
    "10\t11\tIs a\t19700101\t20991231\tD",
    "11\t20\tIs a\t19700101\t20991231\t",
    "20\t11\tMaps to\t19700101\t20991231\t",
    "11\t11\tMaps to\t19700101\t20991231\t",
    "30\t11\tConcept replaced by\t19700101\t20991231\t",
    "11\t40\tHas treatment\t19700101\t20991231\t",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = {"CONCEPT": CONCEPTS, "CONCEPT_SYNONYM": SYNONYMS, "CONCEPT_RELATIONSHIP": RELATIONS}
    for name, lines in tables.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_a_concept_whole(folder: Path) -> None:
    assert dictionaries.detect(folder) == "athena"
    fever = list(athena.read(folder))[1]
    assert fever == Concept(
        "OMOP:11",
        "Fever",
        (
            Name("Fever", "OMOP:11", "preferred", "en", "SNOMED"),
            Name("Pyrexia", "OMOP:11", "exact", "en", "SNOMED"),
        ),
        parents=("OMOP:12",),
        alt_ids=("OMOP:20",),
        types=("Condition",),
        namespace="OMOP",
        xrefs=("SNOMED:101",),
    )
    assert fever.line == 3


def test_standard_and_classification_concepts_are_concepts_and_others_lead_to_them(
    folder: Path,
) -> None:
    dictionary = Dictionary.read(folder)
    assert list(dictionary.ids) == ["OMOP:10", "OMOP:11", "OMOP:12", "OMOP:40"]
    assert dictionary.preferred_name(0) == '5" wound'
    assert dictionary.concept(0).parents == ("OMOP:12",)
    assert dictionary.concept(3).xrefs == ("RxNorm_Extension:1191",)
    assert dictionary.resolve("OMOP:20") == dictionary.resolve("OMOP:30") == {"OMOP:11"}
    only = Dictionary.read(folder, types=["Drug"])
    assert list(only.ids) == ["OMOP:40"]


def test_languages_and_vocabularies(folder: Path) -> None:
    spanish = Dictionary.read(folder, languages=["es"])
    assert [spanish.preferred_name(row) for row in range(len(spanish))] == ["Fiebre"]
    other = list(athena.read(folder, languages=Languages(["999"])))
    assert [concept.name for concept in other if concept.names] == ["Laz", "OMOP:30"]
    assert list(Dictionary.read(folder, sources=["RxNorm Extension"]).ids) == ["OMOP:40"]
    with pytest.raises(LinkerError) as caught:
        Dictionary.read(folder, sources=["ICD10CM"])
    assert str(caught.value).endswith(
        "CONCEPT.csv: holds no standard concept of ICD10CM; there are SNOMED 3, RxNorm Extension 1"
    )


def test_a_file_gzip_and_the_release(folder: Path) -> None:
    plain = list(athena.read(folder))
    assert list(athena.read(folder / "CONCEPT.csv")) == plain
    assert dictionaries.detect(folder / "CONCEPT.csv") == "athena"
    assert athena.release(folder) == ""
    (folder / "VOCABULARY.csv").write_text(
        "vocabulary_id\tvocabulary_name\tvocabulary_reference\tvocabulary_version\t"
        "vocabulary_concept_id\nSNOMED\ta\tb\t2024\t1\nNone\tOMOP\tb\tv5.0 29-FEB-24\t2\n"
    )
    assert athena.release(folder) == athena.release(folder / "CONCEPT.csv") == "v5.0 29-FEB-24"
    for file in (folder / "CONCEPT.csv", folder / "CONCEPT_SYNONYM.csv"):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    assert list(athena.read(folder)) == plain


@pytest.mark.parametrize(
    ("name", "line", "number"),
    [
        ("CONCEPT", "x\ty\tDrug\tSNOMED\tz\tS\t1\t\t\t", 8),
        ("CONCEPT", "50\ty", 8),
        ("CONCEPT_SYNONYM", "11\tx", 6),
        ("CONCEPT_SYNONYM", "11\t \t4180186", 6),
        ("CONCEPT_RELATIONSHIP", "a\t1\tIs a\t\t\t", 11),
    ],
)
def test_bad_rows_stop_or_are_skipped(
    folder: Path, name: str, line: str, number: int | None
) -> None:
    file = folder / f"{name}.csv"
    file.write_text(file.read_text() + line + "\n")
    assert len(refused(athena.read, folder, number, named=file)) == 5

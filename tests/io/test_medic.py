"""MEDIC, tab-separated and CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.io import dictionaries
from linker.io.table import icd10cm, medic
from linker.records import Concept, Name

from .conftest import refused

HEAD = """# Disease vocabulary
# Report created: Mon Jan 01 00:00:00 EST 2001
#
# Fields:
# DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\tSlimMappings
#
"""
SHEEP = (
    "Sheep Fever\tMESH:D900001\tDO:DOID:0000001|OMIM:900001\tA fever, of sheep.\t"
    "MESH:D900002|MESH:D900003\tC01\tC\tFever of sheep|Ovine fever\tA|B"
)


@pytest.fixture
def tsv(tmp_path: Path) -> Path:
    path = tmp_path / "medic.tsv"
    path.write_text(HEAD + SHEEP + "\n")
    return path


def write(path: Path, *lines: str) -> Path:
    path.write_text(HEAD + "\n".join(lines) + "\n")
    return path


def test_a_concept_whole(tsv: Path) -> None:
    names = (
        Name("Sheep Fever", "MESH:D900001", "preferred"),
        Name("Fever of sheep", "MESH:D900001"),
        Name("Ovine fever", "MESH:D900001"),
    )
    assert list(medic.read(tsv)) == [
        Concept(
            "MESH:D900001",
            "Sheep Fever",
            names,
            parents=("MESH:D900002", "MESH:D900003"),
            alt_ids=("DOID:0000001", "OMIM:900001"),
            definition="A fever, of sheep.",
            types=("A", "B"),
            namespace="MESH",
        )
    ]
    assert next(medic.read(tsv)).line == 7
    assert medic.release(tsv) == "2001-01-01"


@pytest.mark.parametrize(
    "line",
    [
        "Sheep Fever\tMESH:D900001",
        "Sheep Fever\tMESH:\t\t\t\t\t\t\t",
        " \tMESH:D900001\t\t\t\t\t\t\t",
        "a" * 5001 + "\tMESH:D900001\t\t\t\t\t\t\t",
    ],
)
def test_bad_records_stop_or_are_skipped(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "m.tsv", line, SHEEP)
    assert [c.id for c in refused(medic.read, path, 7)] == ["MESH:D900001"]


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "concepts", "synonyms", "parents", "release"),
    [
        ("CTD_diseases_2017-06-06.tsv.gz", 11_865, 66_129, 20_018, "2017-06-06"),
        ("CTD_diseases_2026-04-30.csv.gz", 13_321, 77_978, 22_417, "2026-04-30"),
    ],
)
def test_the_real_releases(
    data: Path, file: str, concepts: int, synonyms: int, parents: int, release: str
) -> None:
    path = data / "medic" / file
    found = list(medic.read(path))
    assert len(found) == len({c.id for c in found}) == concepts
    assert sum(len(c.names) - 1 for c in found) == synonyms
    assert sum(len(c.parents) for c in found) == parents
    assert {p for c in found for p in c.parents} <= {c.id for c in found}
    assert medic.release(path) == release
    assert found[2].alt_ids == ("DOID:0060395",)


def line(number: int, code: str, short: str, long: str = "") -> str:
    return f"{number:05d} {code:7} 1 {short:60} {long or short}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "icd10cm-order-2026.txt"
    rows = [("E11", "Type 2 diabetes mellitus"), ("E1165", "Type 2 diabetes w hyperglycemia")]
    longer = "Type 2 diabetes mellitus with hyperglycemia"
    path.write_text(line(1, *rows[0]) + line(2, *rows[1], longer) + line(3, "E110", "Other"))
    return path


def test_codes_get_their_dot_and_the_longest_code_above_as_parent(path: Path) -> None:
    assert dictionaries.detect(path) == "icd10cm"
    read = [(c.id, c.parents, [(n.text, n.kind) for n in c.names]) for c in icd10cm.read(path)]
    assert read[0] == ("ICD10CM:E11", (), [("Type 2 diabetes mellitus", "preferred")])
    assert read[1][:2] == ("ICD10CM:E11.65", ("ICD10CM:E11",))
    assert read[1][2] == [
        ("Type 2 diabetes mellitus with hyperglycemia", "preferred"),
        ("Type 2 diabetes w hyperglycemia", "exact"),
    ]
    assert read[2][:2] == ("ICD10CM:E11.0", ("ICD10CM:E11",))


def test_a_line_of_another_width_is_refused(path: Path) -> None:
    path.write_text(path.read_text() + "00004 E1169 1 Type 2 diabetes\n" + line(5, "E12", "x"))
    assert [concept.id for concept in refused(icd10cm.read, path, 4)][-1] == "ICD10CM:E12"

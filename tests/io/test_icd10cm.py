"""The order file of ICD-10-CM."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.io import dictionaries
from linker.io.table import icd10cm

from .conftest import refused


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

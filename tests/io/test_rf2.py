"""SNOMED CT in RF2: a snapshot, made line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.errors import LinkerError
from linker.io import dictionaries, files
from linker.io.parsing import Languages
from linker.io.tabs import rf2
from linker.records import Concept, Name

from .conftest import refused

FSN, SYNONYM = "900000000000003001", "900000000000013009"
US, GB, SPANISH = "900000000000509007", "900000000000508004", "450828004"
PREFERRED, ACCEPTABLE = "900000000000548007", "900000000000549004"
COMMON = "id effectiveTime active moduleId"
NAMES = f"{COMMON} conceptId languageCode typeId term caseSignificanceId"
DATE = "20240101"


def table(columns: str, *rows: str) -> str:
    """A table of which each row has blanks between cells, and `_` for blanks in them."""
    lines = [row.replace(" ", "\t").replace("_", " ") for row in rows]
    return "\n".join([columns.replace(" ", "\t"), *lines, ""])


def of(identifier: int, *cells: object, active: int = 1) -> str:
    return " ".join(map(str, (identifier, DATE, active, 9, *cells)))


def name(identifier: int, concept: int, kind: str, term: str, *, language: str = "en") -> str:
    return of(identifier, concept, language, kind, term, 8)


FILES = {
    "Terminology/sct2_Concept_Snapshot_INT": table(
        f"{COMMON} definitionStatusId", of(1, 7), of(2, 7), of(3, 7, active=0)
    ),
    "Terminology/sct2_Description_Snapshot-en_INT": table(
        NAMES,
        name(11, 1, FSN, "Disease_(disorder)"),
        name(12, 1, SYNONYM, "Disease"),
        name(21, 2, FSN, "Tumor_of_5\"_(disorder)"),
        name(22, 2, SYNONYM, "Neoplasm_of_5\""),
        name(23, 2, SYNONYM, "Tumour_of_5\""),
        name(24, 2, SYNONYM, "Tumor_of_5\""),
        of(25, 2, "en", SYNONYM, "Old_tumor", 8, active=0),
        name(31, 3, FSN, "Growth_(disorder)"),
    ),
    "Terminology/sct2_Description_Snapshot-es_INT": table(
        NAMES, name(26, 2, SYNONYM, "tumor_de_5\"", language="es")
    ),
    "Terminology/sct2_TextDefinition_Snapshot-en_INT": table(
        NAMES, name(41, 2, FSN, "What_grows.")
    ),
    "Terminology/sct2_Relationship_Snapshot_INT": table(
        f"{COMMON} sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId",
        of(51, 2, 1, 0, 116680003, 6, 6),
        of(52, 2, 3, 0, 116680003, 6, 6, active=0),
        of(53, 2, 3, 0, 363698007, 6, 6),
    ),
    "Terminology/sct2_StatedRelationship_Snapshot_INT": "not read",
    "Refset/Language/der2_cRefset_LanguageSnapshot-en_INT": table(
        f"{COMMON} refsetId referencedComponentId acceptabilityId",
        of(61, US, 11, PREFERRED), of(62, GB, 12, PREFERRED), of(63, US, 12, PREFERRED),
        of(64, GB, 23, PREFERRED), of(65, US, 24, PREFERRED), of(66, US, 22, ACCEPTABLE),
        of(67, US, 22, PREFERRED, 0)[:-2].replace(" 1 9 ", " 0 9 "), of(68, SPANISH, 26, PREFERRED),
    ),
    "Refset/Content/der2_cRefset_AssociationSnapshot_INT": table(
        f"{COMMON} refsetId referencedComponentId targetComponentId",
        of(71, "900000000000526001", 3, 2), of(72, "900000000000523009", 3, 1),
    ),
}  # fmt: skip


@pytest.fixture
def release(tmp_path: Path) -> Path:
    for file, text in FILES.items():
        path = tmp_path / "Snapshot" / f"{file}_{DATE}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "Full").mkdir()
    (tmp_path / "Full" / "sct2_Concept_Full_INT_20200101.txt").write_text("not read")
    return tmp_path


def test_a_concept_whole(release: Path) -> None:
    assert dictionaries.detect(release) == "rf2"
    assert rf2.release(release) == DATE
    tumor = list(rf2.read(release))[1]
    identifier = "SNOMEDCT:2"
    assert tumor == Concept(
        identifier,
        'Tumor of 5"',
        (
            Name('Tumor of 5"', identifier, "preferred", "en"),
            Name('Neoplasm of 5"', identifier, "exact", "en"),
            Name('Tumour of 5"', identifier, "exact", "en-GB"),
        ),
        parents=("SNOMEDCT:1",),
        definition="What grows.",
        types=("disorder",),
        namespace="SNOMEDCT",
    )
    assert tumor.line == 3


def test_languages_and_dialects(release: Path) -> None:
    british = list(rf2.read(release / "Snapshot", languages=Languages(["en-GB"])))
    assert [concept.name for concept in british] == ["Disease", 'Tumour of 5"', "Growth"]
    spanish = list(rf2.read(release, languages=Languages(["SPA"])))[1]
    assert [(n.text, n.kind) for n in spanish.names] == [('tumor de 5"', "preferred")]
    assert spanish.types == ("disorder",)
    with pytest.raises(LinkerError):
        Dictionary.read(release, languages=["de"])


def test_inactive_concepts_lead_to_what_replaces_them(release: Path) -> None:
    dictionary = Dictionary.read(release)
    assert list(dictionary.ids) == ["SNOMEDCT:1", "SNOMEDCT:2"]
    assert dictionary.sources[0].sha256 == files.fingerprint(release)
    (release / "Full" / "more.txt").write_text("")  # at any depth
    assert dictionary.sources[0].sha256 != files.fingerprint(release)
    assert dictionary.resolve("SNOMEDCT:3") == {"SNOMEDCT:2"}


@pytest.mark.parametrize(
    ("kind", "row", "number"),
    [
        ("sct2_Concept", "x 1 1 1 1", 5),
        ("sct2_Concept", "4 1", 5),
        ("sct2_Description_Snapshot-en", name(27, 2, FSN, "_"), 10),
        ("sct2_Relationship", of(54, 2, "a", 0, 116680003, 6, 6), 5),
    ],
)
def test_bad_rows_stop_or_are_skipped(
    release: Path, kind: str, row: str, number: int | None
) -> None:
    (file,) = (release / "Snapshot").rglob(f"{kind}_*")
    file.write_text(file.read_text() + row.replace(" ", "\t").replace("_", " ") + "\n")
    assert len(refused(rf2.read, release, number, named=file)) == 3

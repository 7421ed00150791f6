"""Which names that people use a dictionary is lent."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary.everyday import LEAST_PAIRS, lent
from linker.text.everyday import EverydayName, EverydayNames, shipped
from linker.text.normalize import normalize

ROWS = [
    "id\tname\tsynonyms",
    "D:1\tAmblyopia\t",
    "D:2\tCommon Cold\t",
    "D:3\tPulmonary Disease, Chronic Obstructive\tCOLD",
    "D:4\tStye\tsty",
    "D:5\tPleural Effusion\t",
    "D:6\tPulmonary Edema\tlung edema",
]
LAZY_EYE = EverydayName("lazy eye", "amblyopia", "lay")


def lent_to(folder: Path, names: list[EverydayName], rows: list[str] = ROWS) -> EverydayNames:
    path = folder / "dictionary.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    dictionary = Dictionary.read(path)
    return lent(dictionary, dictionary.table(normalize), normalize, names)


def meant(names: EverydayNames, text: str) -> list[tuple[str, bool]]:
    return [(meaning.name.target, meaning.is_sure) for meaning in names.of_cell(text)]


def test_own_names_are_no_everyday_names(tmp_path: Path) -> None:
    sty = EverydayName("sty", "Amblyopia", "lay")
    cold = EverydayName("cold", "Common Cold", "lay")
    names = lent_to(tmp_path, [LAZY_EYE, sty, cold])
    assert meant(names, "lazy eye") == [("amblyopia", True)]
    assert meant(names, "sty") == []
    # a short form in other case is not what the dictionary says
    assert meant(names, "cold") == [("Common Cold", True)]
    assert meant(names, "COLD") == []


def test_several_meanings_are_unsure(tmp_path: Path) -> None:
    water = [
        EverydayName("water on the lung", target, "lay")
        for target in ("Pleural Effusion", "Pulmonary Edema", "Lung edema")
    ]
    names = lent_to(tmp_path, water)
    assert meant(names, "water on the lung") == [
        ("Pleural Effusion", False),
        ("Pulmonary Edema", False),  # of which "lung edema" is another name
    ]
    assert meant(lent_to(tmp_path, water[1:]), "water on the lung") == [("Pulmonary Edema", True)]
    # what the dictionary lacks may be meant
    elsewhere = EverydayName("water on the lung", "Drowning", "lay")
    assert meant(lent_to(tmp_path, [water[0], elsewhere]), "water on the lung") == [
        ("Pleural Effusion", False)
    ]


def test_short_forms_are_never_sure(tmp_path: Path) -> None:
    short = [
        EverydayName("C&C", "Common Cold", "short"),
        EverydayName("PE", "Pulmonary Edema", "short"),
    ]
    names = lent_to(tmp_path, short)
    assert meant(names, "C&C") == [("Common Cold", False)]
    assert meant(names, "PE") == []  # which is read inside of texts, too
    assert names.short_forms == (short[1],)
    assert len(names) == 2


@pytest.mark.parametrize(("others", "is_lent"), [(19, True), (20, False)])
def test_a_dictionary_of_another_domain_is_lent_none(
    tmp_path: Path, others: int, is_lent: bool
) -> None:
    """One concept of 20 has a target as its name, or one of 21."""
    cells = [f"CL:{number}\tcell {number}\t" for number in range(others)]
    rows = [ROWS[0], ROWS[1], *cells]
    assert bool(lent_to(tmp_path, [LAZY_EYE], rows)) is is_lent
    # a large dictionary needs so many pairs
    pairs = [EverydayName(f"eye {n}", "Amblyopia", "lay") for n in range(LEAST_PAIRS)]
    assert len(lent_to(tmp_path, pairs, rows)) == LEAST_PAIRS
    assert bool(lent_to(tmp_path, pairs[1:], rows)) is is_lent


@pytest.mark.data
def test_targets_are_names(data: Path) -> None:
    """Each name stands for what MEDIC, DOID or HPO has."""
    files = (
        "medic/CTD_diseases_2026-04-30.csv.gz",
        "ontologies/doid.obo.gz",
        "ontologies/hp.obo.gz",
    )
    known: set[str] = set()
    for file in files:
        known.update(map(normalize, Dictionary.read(data / file).names))
    assert sorted({n.target for n in shipped() if normalize(n.target) not in known}) == []


@pytest.mark.data
@pytest.mark.parametrize("file", ["other/cl.obo.gz", "other/uberon.obo.gz"])
def test_cells_and_anatomy_are_lent_none(data: Path, file: str) -> None:
    dictionary = Dictionary.read(data / file)
    assert len(lent(dictionary, dictionary.table(normalize), normalize, shipped())) == 0

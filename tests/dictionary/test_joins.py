"""Which concepts of two vocabularies are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary.lending import Joins, key
from linker.types import Concept, IdMapping


def maps(subject: str, target: str, predicate: str = "skos:exactMatch") -> IdMapping:
    return IdMapping(subject, "", predicate, target, "")


@pytest.fixture
def ours(tmp_path: Path) -> Dictionary:
    """Row 0: MESH:D900001, row 1: MESH:D900002, row 2: OMIM:900003."""
    (tmp_path / "ours.tsv").write_text(
        "id\tname\talt_ids\txrefs\n"
        "MESH:D900001\tfever\tDOID:11|DOID:12\tUMLS_CUI:C0000001\n"
        "MESH:D900002\tcough\tDOID:12\t\n"
        "MIM:900003\tflu\t\tORPHA:3\n"
    )
    return Dictionary.read(tmp_path / "ours.tsv")


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        (("MSH:D900001", "MESH:D900001", "mesh:D900001"), "MESH:D900001"),
        (("MIM:900003", "OMIM:900003", "omim:900003"), "OMIM:900003"),
        (("UMLS_CUI:C0000001", "UMLS:C0000001"), "UMLS:C0000001"),
        (("ORDO:3", "ORPHA:3", "Orphanet:3", "ORPHANET:3"), "ORPHANET:3"),
        (("NCI:C3", "NCIT:C3"), "NCIT:C3"),
        (("SNOMEDCT_US_2023_03_01:3", "SNOMEDCT_US:3", "SCTID:3"), "SNOMEDCT_US:3"),
        (("plain",), "plain"),
    ],
)
def test_spellings_of_a_vocabulary_are_one(spellings: tuple[str, ...], expected: str) -> None:
    assert {key(spelling) for spelling in spellings} == {expected}


@pytest.mark.parametrize(
    ("concept", "rows"),
    [
        (Concept("MSH:D900001", "x"), (0,)),
        (Concept("DOID:11", "x"), (0,)),  # an alternative id of ours
        (Concept("DOID:12", "x"), (0, 1)),
        (Concept("DOID:12", "x", xrefs=("MESH:D900002",)), (1,)),  # which is stronger
        (Concept("X:1", "x", alt_ids=("MESH:D900002",)), (1,)),
        (Concept("X:1", "x", xrefs=("MIM:900003", "EFO:1")), (2,)),
        (Concept("X:1", "x", xrefs=("MESH:D900001", "DOID:12")), (0, 1)),
        (Concept("UMLS:C0000001", "x"), (0,)),  # which ours refers to
        (Concept("X:1", "x", xrefs=("Orphanet:3",)), (2,)),  # both refer to it: two steps
        (Concept("X:1", "x", xrefs=("EFO:1",)), ()),
        (Concept("900003", "x"), ()),  # a bare id is of no known vocabulary
    ],
)
def test_concepts_join_by_ids_and_references(
    ours: Dictionary, concept: Concept, rows: tuple[int, ...]
) -> None:
    assert Joins(ours.columns, [], steps=2).rows(concept) == rows


def test_steps_are_counted(ours: Dictionary) -> None:
    mappings = [maps("MONDO:1", "DOID:1"), maps("MONDO:1", "mesh:D900001"), maps("N:1", "DOID:1")]
    expected = {"MONDO:1": 1, "DOID:1": 2, "N:1": 3, "MESH:D900001": 0, "DOID:11": 0}
    for identifier, needed in expected.items():
        for steps in range(4):
            rows = Joins(ours.columns, mappings, steps).rows(Concept(identifier, "x"))
            assert rows == ((0,) if steps >= needed else ())


def test_the_fewest_steps_decide_and_equal_ones_are_ambiguous(ours: Dictionary) -> None:
    near, far = maps("X:1", "MESH:D900001"), [maps("X:1", "Y:1"), maps("Y:1", "MESH:D900002")]
    assert Joins(ours.columns, [*far, near], 2).rows(Concept("X:1", "x")) == (0,)
    assert Joins(ours.columns, far, 2).rows(Concept("X:1", "x")) == (1,)
    assert Joins(ours.columns, [near, maps("MIM:900003", "X:1")], 2).rows(Concept("X:1", "x")) == (
        0,
        2,
    )


def test_cycles_end(ours: Dictionary) -> None:
    mappings = [
        maps("X:1", "X:2", "owl:equivalentClass"),
        maps("X:2", "X:3"),
        maps("X:3", "X:1"),
        maps("X:3", "X:3"),
    ]
    assert Joins(ours.columns, mappings, 9).rows(Concept("X:1", "x")) == ()
    assert Joins(ours.columns, [*mappings, maps("X:3", "MESH:D900002")], 9).rows(
        Concept("X:1", "x")
    ) == (1,)


def test_prefixes_are_those_that_lead_to_the_dictionary(ours: Dictionary) -> None:
    prefixes = Joins(ours.columns, [maps("X:1", "Y:1")], 2).prefixes
    assert prefixes == {"MESH": 2, "DOID": 2, "OMIM": 1, "UMLS": 1, "ORPHANET": 1}

"""Concepts by ids and by parts of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary.lookup import described, search
from linker.text.normalize import normalize

from .test_inspection import OLD, read
from .test_lending import DISEASES, OURS, REFERENCES, saved


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A:2", [("A:2", "A:2", 1.0)]),
        ("A:99", [("A:2", "A:99", 1.0), ("A:3", "A:99", 1.0)]),  # an alternative id of two
        ("A:5", [("A:1", "A:5", 1.0), ("A:2", "A:5", 1.0)]),  # a merged id, by the obsolete one
        ("A:6", []),
        ("FLU", [("A:2", "flu", 1.0), ("A:3", "swine flu", 0.3333)]),  # 3 of 9 characters
        ("grippe", [("A:2", "grippe", 1.0), ("A:3", "grippe", 1.0)]),
        ("common", [("B:2", "common cold", 0.5455)]),  # 6 of 11
        ("old", [("B:1", "cold", 0.75), ("B:2", "COLD", 0.75)]),  # not the obsolete names
        ("typhus", []),
        ("!?", []),
    ],
)
def test_search(tmp_path: Path, text: str, expected: list[tuple[str, str, float]]) -> None:
    dictionary = read(tmp_path, OLD)
    hits = search(dictionary, dictionary.table(normalize), normalize, text)
    assert [(dictionary.ids[hit.row], *hit[1:]) for hit in hits] == expected


def test_names_and_other_ids_say_who_lent_them(tmp_path: Path) -> None:
    lenders = (saved(tmp_path / "r.sssom.tsv", REFERENCES), saved(tmp_path / "d.obo", DISEASES))
    ours = saved(tmp_path / "ours.tsv", OURS.replace("D:8", "https://a.org/8", 1))
    dictionary = Dictionary.read(ours).lend(*lenders)
    fever, cough = described(dictionary, "M:1"), described(dictionary, "M:2")
    assert fever
    assert cough
    assert [(n["text"], n["kind"], n["lent"] and n["source"]) for n in fever["names"]] == [
        ("fever", "preferred", False),
        ("heat", "exact", False),
        ("Hot-head", "exact", False),
        ("pyrexia", "exact", "r.sssom.tsv"),
        ("ague", "exact", "d.obo"),
    ]
    assert [other["id"] for other in fever["also"]] == ["O:1", "O:2", "D:1"]
    assert fever["also"][0] == {
        **{"id": "O:1", "predicate": "skos:exactMatch", "source": "r.sssom.tsv", "url": None}
    }
    assert cough["also"][-1]["url"] == "https://a.org/8"


def test_public_pages_of_other_ids(tmp_path: Path) -> None:
    rows = "id\tname\txrefs\nM:1\tfever\tSNOMEDCT_US_2023_03_01:386661006|NCI:C3038|DOID:1\n"
    dictionary = Dictionary.read(saved(tmp_path / "x.tsv", rows))
    concept = described(dictionary, "M:1")
    assert concept
    assert [other["url"] for other in concept["also"]] == [
        "http://snomed.info/id/386661006",
        "https://evsexplore.semantics.cancer.gov/evsexplore/concept/ncit/C3038",
        "https://disease-ontology.org/term/DOID:1",
    ]

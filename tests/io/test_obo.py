"""OBO ontologies."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from linker.errors import InputError
from linker.io import dictionaries, obo
from linker.records import Concept

from .conftest import refused

TINY = Path(__file__).resolve().parent.parent / "data" / "tiny.obo"


def concept(identifier: str, path: Path = TINY) -> Concept:
    return next(c for c in obo.read(path) if c.id == identifier)


def test_terms_are_read_in_order_and_nothing_else() -> None:
    assert [c.id for c in obo.read(TINY)] == ["X:0000001", "X:0000002", "X:0000004", "X:0000003"]
    assert [c.line for c in obo.read(TINY)][:2] == [8, 12]
    assert obo.release(TINY) == "releases/2001-01-01"


def test_names_and_their_kinds() -> None:
    assert [(n.text, n.kind) for n in concept("X:0000002").names] == [
        ("sheep fever", "preferred"),
        ("ovine fever", "exact"),  # stated twice: the first scope counts
        ("lamb fever", "narrow"),
        ("fever", "broad"),
        ("hot sheep", "related"),  # no scope: RELATED by the format's definition
        ("hot ! sheep", "exact"),
        ("SF", "abbreviation"),  # a type that the header calls so
        ("OVF", "abbreviation"),  # a type that is called so itself
    ]


def test_names_that_end_in_the_tag_of_a_language(tmp_path: Path) -> None:
    path = tmp_path / "a.obo"
    path.write_text(
        "format-version: 1.2\n\n[Term]\nid: X:1\nname: pectoral fin\n"
        'synonym: "nageoire pectorale@fr" EXACT []\nsynonym: "Brustflosse @de" EXACT []\n'
        'synonym: "IGH@" EXACT []\nsynonym: "breast fin@en-GB" EXACT []\n'
    )

    def names(*wanted: str) -> list[tuple[str, str]]:
        (term,) = dictionaries.read(path, "obo", languages=wanted)
        return [(name.text, name.language) for name in term.names]

    english = [("pectoral fin", ""), ("IGH@", ""), ("breast fin", "en-GB")]
    assert names("en") == english
    assert names("fr") == [("nageoire pectorale", "fr"), ("pectoral fin", ""), ("IGH@", "")]
    assert ("Brustflosse", "de") in names()


def test_the_other_fields() -> None:
    term = concept("X:0000002")
    assert term.parents == ("X:0000001", "X:0000003")
    assert term.alt_ids == ("X:0000012", "X:0000022")
    assert term.xrefs == ("MESH:D900001", "UMLS:C0900001")
    assert term.types == ("slim_a", "slim_b")
    assert term.definition == 'A "hot" sheep: one with {fever}.'
    assert (term.namespace, term.status, term.replaced_by) == ("X", "current", ())
    old = concept("X:0000004")
    assert (old.status, old.replaced_by, old.xrefs) == ("obsolete", ("X:0000002",), ())


@pytest.mark.parametrize(
    ("stanza", "number"),
    [
        ("[Term]\nname: a", 3),
        ("[Term]\nid: X:1\nnonsense", 5),
        ("[Term]\nid: X:1\nname: a\nsynonym: b EXACT []", 3),
        ("[Term]\nid: X:1\nname: " + "a" * 5001, 3),
    ],
)
def test_bad_terms_stop_or_are_skipped(tmp_path: Path, stanza: str, number: int | None) -> None:
    path = tmp_path / "bad.obo"
    path.write_text(f"format-version: 1.2\n\n{stanza}\n\n[Term]\nid: X:2\nname: good\n")
    assert [c.id for c in refused(obo.read, path, number)] == ["X:2"]


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "terms", "obsolete", "parents", "synonyms", "release"),
    [  # 21,802 and 15,982 synonym lines, less those that repeat a name of their term
        ("doid.obo.gz", 13_982, 2_481, 15_995, 21_791, "releases/2024-01-31/doid.obo"),
        ("hp.obo.gz", 12_358, 132, 16_044, 14_809, "releases/2017-04-13"),
    ],
)
def test_the_real_ontologies(
    data: Path, file: str, terms: int, obsolete: int, parents: int, synonyms: int, release: str
) -> None:
    path = data / "ontologies" / file
    found = list(obo.read(path))
    assert len(found) == terms
    assert Counter(c.status for c in found)["obsolete"] == obsolete
    assert sum(len(c.parents) for c in found) == parents
    assert sum(len(c.names) - 1 for c in found) == synonyms
    assert obo.release(path) == release


@pytest.mark.parametrize("written", ["X:2", "X_2", "2", "http://purl.obolibrary.org/obo/X_2"])
def test_ids_of_other_terms_as_obo_files_write_them(tmp_path: Path, written: str) -> None:
    path = tmp_path / "ids.obo"
    old = f"[Term]\nid: X:1\nis_obsolete: true\nreplaced_by: {written}\n"
    child = f"[Term]\nid: X:3\nname: heat\nis_a: {written} ! fever\nalt_id: Y_4\n"
    path.write_text(f"format-version: 1.2\n\n{old}\n[Term]\nid: X:2\nname: fever\n\n{child}")
    assert concept("X:1", path).replaced_by == ("X:2",)
    assert (concept("X:3", path).parents, concept("X:3", path).alt_ids) == (("X:2",), ("Y:4",))


def test_a_stanza_without_an_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obo, "LONG_LINE", 100)
    (path := tmp_path / "x.obo").write_text("[Term]\nid: X:1\nname: a\n" + "xref: Y:1\n" * 20)
    with pytest.raises(InputError):
        list(obo.read(path))

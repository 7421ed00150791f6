"""Languages: tags in their several forms, and the name by which a concept is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.errors import LinkerError
from linker.readers.languages import Languages, Statement, language_code

NAMES = [
    Statement("preferred", "tumor", "en-US"),
    Statement("preferred", "tumour", "en-GB"),
    Statement("exact", "growth", "ENG"),
    Statement("preferred", "Tumor", "ger"),
    Statement("exact", "Geschwulst", "de-AT"),
    Statement("abbreviation", "T"),
]


@pytest.mark.parametrize("tag", ["en", "ENG", "eng", "en-US", "en_GB"])
def test_codes_in_all_forms(tag: str) -> None:
    assert language_code(tag) == "en"


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["en"], ["tumor", "tumour", "growth", "T"]),
        (["en-GB"], ["tumour", "tumor", "growth", "T"]),
        (["DEU"], ["Tumor", "Geschwulst", "T"]),
        (["de", "eng"], ["Tumor", "tumor", "tumour", "growth", "Geschwulst", "T"]),
        ([], ["tumor", "tumour", "growth", "Tumor", "Geschwulst", "T"]),
        (["fr"], ["T"]),
    ],
)
def test_the_first_language_that_there_is_gives_the_name(
    wanted: list[str], names: list[str]
) -> None:
    concept = Languages(wanted).concept("X:1", NAMES)
    assert [name.text for name in concept.names] == names
    assert (concept.name, concept.namespace) == (names[0], "X")
    assert [name.kind for name in concept.names].count("preferred") == 1


def test_a_name_without_a_tag_is_english_where_english_is_wanted() -> None:
    untagged = [Statement("preferred", "fever"), Statement("exact", "pyrexia", "en")]
    german = Statement("exact", "Fieber", "de")
    assert Languages(["en"]).concept("X:1", untagged).name == "fever"
    assert Languages(["de"]).concept("X:1", [*untagged, german]).name == "Fieber"


def test_a_definition_is_in_the_first_language_too() -> None:
    named = [
        *NAMES,
        Statement("definition", "a growth", "en"),
        Statement("definition", "ein Gewächs", "de"),
    ]
    concept = Languages(["de", "en"]).concept("X:1", named)
    assert concept.definition == "ein Gewächs"
    assert Languages(["fr"]).concept("X:1", named).definition == ""


def test_what_has_no_name_is_nameless_or_an_old_id() -> None:
    english = Statement("preferred", "fever", "en")
    assert Languages(["de"]).concept("X:1", [english]).names == ()
    old = Languages(["de"]).concept("X:1", [english], status="obsolete", replaced_by=("X:2",))
    assert (old.name, old.replaced_by) == ("X:1", ("X:2",))


def test_a_language_that_is_not_there() -> None:
    chosen = Languages(["de", "xx"])
    chosen.concept("X:1", NAMES)
    with pytest.raises(LinkerError):
        chosen.check("a.json")
    Languages().check("untagged.json")
    with pytest.raises(LinkerError):
        Languages(["de"]).check("untagged.json")
    english = Languages()
    for tag in ("", "de"):  # displays of FHIR have no tag, and designations have one
        english.place(tag)
    english.check("codes.json")


THESAURUS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://example.org/x/> .
x:1 a skos:Concept ; skos:prefLabel "Krankheit"@de .
x:2 a skos:Concept ; skos:prefLabel "infection"@en ; skos:broader x:1 .
x:3 a skos:Concept ; skos:prefLabel "Grippe"@de ; skos:broader x:2 .
"""


def test_those_above_a_concept_without_a_name_stand_in_for_it(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    path = tmp_path / "a.ttl"
    path.write_text(THESAURUS)
    german = Dictionary.read(path, languages=["de"])
    assert list(german.ids) == ["x:1", "x:3"]
    assert german.concept(1).parents == ("x:1",)
    more = tmp_path / "more.ttl"
    more.write_text(THESAURUS.split("x:1 a")[0] + 'x:2 a skos:Concept; skos:prefLabel "Infekt"@de.')
    both = Dictionary.read(path, more, languages=["de"])
    assert {c: both.concept(row).parents for row, c in enumerate(both.ids)} == {
        "x:1": (),
        "x:2": ("x:1",),
        "x:3": ("x:2",),
    }


def test_several_files_have_the_languages_together(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    english, german = tmp_path / "en.ttl", tmp_path / "de.ttl"
    head = THESAURUS.split("x:1 a")[0]
    english.write_text(head + 'x:1 a skos:Concept ; skos:prefLabel "fever"@en .')
    german.write_text(head + 'x:1 a skos:Concept ; skos:prefLabel "Fieber"@de .')
    both = Dictionary.read(english, german, languages=["en", "de"])
    assert [name.text for name in both.concept(0).names] == ["fever", "Fieber"]
    with pytest.raises(LinkerError):
        Dictionary.read(english, german, languages=["en", "fr"])
    with pytest.raises(LinkerError):
        Dictionary.read(german)

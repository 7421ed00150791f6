"""Languages: tags in their several forms, and the name by which a concept is called."""

from __future__ import annotations

import pytest

from linker.errors import LinkerError
from linker.io.parsing import Languages, Statement, language_code

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

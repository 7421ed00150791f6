"""The one rule for short forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary.finding import doubt

ROWS = (
    "D:1\tAcute Lymphoblastic Leukemia\tALL",
    "D:2\tCATARACT 32\tCAP",
    "D:3\tAnxiety Disorders\tANXIETY",
    "D:4\tMultiple Endocrine Neoplasia\tMEN 1|MEN1",
    "D:5\tAsthma\t",
    "D:6\tMyocardial Infarction\theart attack",
)


def read(path: Path, *rows: str) -> Dictionary:
    path.write_text("\n".join(["id\tname\tsynonyms", *rows]) + "\n", encoding="utf-8")
    return Dictionary.read(path)


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("short") / "dictionary.tsv"
    return read(path, *ROWS).add([("MI", ["D:6"]), ("MI", ["D:6"])], str.lower)


@pytest.mark.parametrize(
    ("text", "concept", "expected"),
    [
        ("ALL", "D:1", "short form"),
        ("A.L.L.", "D:1", "other case"),  # not as the name is written
        ("(all)", "D:1", "other case"),
        ("Cap", "D:2", "other case"),
        ("men1", "D:4", "other case"),
        ("MEN1", "D:4", "short form"),
        ("IHD", "D:6", "short form"),  # no name of the concept
        ("MI", "D:6", "annotated short form"),
        ("MI", "D:1", "short form"),  # annotated with another concept
        ("mi", "D:6", "other case"),
        ("anxiety", "D:3", None),  # a word: "Anxiety Disorders"
        ("ANXITY", "D:3", None),
        ("ANXTY", "D:3", "short form"),
        ("ASTHMA", "D:5", None),  # the name has small letters
        ("heart", "D:6", None),
        ("heart attack", "D:6", None),
        ("", "D:6", None),
    ],
)
def test_what_leaves_open_what_it_means(
    dictionary: Dictionary, text: str, concept: str, expected: str | None
) -> None:
    assert doubt(dictionary, text, dictionary.rows(concept)[0]) == expected


def test_case_tells_nothing_in_a_dictionary_in_capitals(tmp_path: Path) -> None:
    dictionary = read(tmp_path / "capitals.tsv", "D:1\tFEVER\tHIGH TEMPERATURE")
    assert [doubt(dictionary, text, 0) for text in ("fever", "Fever", "FEVER")] == [None] * 3
    assert doubt(dictionary, "HT", 0) == "short form"

"""The names of a dictionary in running text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary
from linker.dictionary.finding import DictionaryNames, Findings
from linker.text.mentions import TextOptions

ROWS = (
    "id\tname\tsynonyms",
    "D:1\tAcute Lymphoblastic Leukemia\tALL|Acute Lymphatic Leukemia",
    "D:2\tCapillary Leak\tCAP",
    "D:3\tWilms Tumor\tWT1|WT|Nephroblastoma",
    "D:4\tAcquired Immunodeficiency Disease\tAIDS",
    "D:5\tDisease\t",
    "D:6\tCrohn Disease\tCD",
    "E:1\tEdema\t",
)


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("finding") / "dictionary.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    # so many names that two of them with "disease" are few
    return Dictionary.read(path)


@pytest.fixture(scope="module")
def names(dictionary: Dictionary) -> DictionaryNames:
    return DictionaryNames(dictionary, TextOptions())


def plausible(names: DictionaryNames, text: str) -> list[str]:
    findings = names.find(text)
    taken = names.plausible(findings)
    return [findings.written(m) for m, ok in zip(findings.matches, taken, strict=True) if ok]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("All had impact, and all the cap.", []),
        ("AIDS aids", ["AIDS"]),
        ("ALL", []),  # three letters, and nothing else speaks for it
        ("ALL, an acute lymphatic leukaemia", ["ALL", "acute lymphatic leukaemia"]),
        ("Wilms tumours and WT, but not the gene WT1", ["Wilms tumours", "WT"]),
        ("congenital adrenal disorder (CAD); CAD", []),
        ("cluster of differentiation (CD), Crohn disease", ["Crohn disease"]),
        ("Crohn disease (CD): CD", ["Crohn disease", "CD", "CD"]),
    ],
)
def test_which_names_are_taken_for_mentions(
    names: DictionaryNames, text: str, expected: list[str]
) -> None:
    assert [written for written in plausible(names, text) if written != "disease"] == expected


def test_a_word_of_many_names_is_no_mention(tmp_path: Path) -> None:
    path = tmp_path / "many.tsv"
    rows = [f"D:{n}\tn{n} disease\t" for n in range(3)] + [f"E:{n}\tm{n}\t" for n in range(90)]
    path.write_text("\n".join(["id\tname\tsynonyms", "D:9\tDisease\t", *rows]) + "\n")
    names = DictionaryNames(Dictionary.read(path), TextOptions())
    assert plausible(names, "the disease is an m1, or n1 disease") == ["m1", "n1 disease"]


def test_facts_leave_out_annotated_mentions(dictionary: Dictionary) -> None:
    extended = dictionary.add([("oedemas", ["E:1"]), ("swelling", ["E:1"])])
    names = DictionaryNames(extended, TextOptions())
    edema, swelling = names.facts("edema"), names.facts("swelling")
    assert (edema.written, edema.normal) == (frozenset({"Edema"}), frozenset({"edema", "oedemas"}))
    assert (swelling.written, swelling.concepts) == (frozenset(), frozenset())
    assert names.facts("no such form").normal == frozenset()


def spelled(names: DictionaryNames, text: str) -> list[str]:
    findings: Findings = names.find(text)
    return [names.spelled(findings, match) for match in findings.matches]


def test_the_spelling_of_the_dictionary(names: DictionaryNames) -> None:
    assert spelled(names, "oedemas") == ["Edema"]
    assert spelled(names, "EDEMA") == [""]  # its normal form is a name
    assert spelled(names, "Crohn disease (CD)")[-1] == ""  # a short form of the document


def test_an_annotated_short_form_is_a_name_by_case(dictionary: Dictionary) -> None:
    names = DictionaryNames(dictionary.add([("SWLG", ["E:1"])]), TextOptions())
    assert plausible(names, "SWLG and swlg") == ["SWLG"]


def test_an_annotated_spelling_stays(dictionary: Dictionary) -> None:
    extended = dictionary.add([("oedemas", ["E:1"])])
    assert spelled(DictionaryNames(extended, TextOptions()), "oedemas") == [""]


def test_names_of_some_concepts(dictionary: Dictionary) -> None:
    row = dictionary.rows("E:1")[0]
    names = DictionaryNames(dictionary, TextOptions(), np.array([row], np.int32))
    findings = names.find("edema in Crohn disease")
    assert [findings.written(match) for match in findings.matches] == ["edema"]


def test_without_short_forms_of_the_document(dictionary: Dictionary) -> None:
    names = DictionaryNames(dictionary, TextOptions(abbreviations=False))
    assert {match.kind for match in names.find("Crohn disease (XD), XD").matches} == {"name"}

"""The names of a dictionary in running text, and the rule for short forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.dictionary.lookup import DictionaryNames, doubt
from linker.text.mentions import TextOptions

ROWS = (
    "D:1\tAcute Lymphoblastic Leukemia\tALL|Acute Lymphatic Leukemia",
    "D:2\tCapillary Leak\tCAP",
    "D:3\tWilms Tumor\tWT1|WT|Nephroblastoma",
    "D:4\tAcquired Immunodeficiency Disease\tAIDS",
    "D:5\tDisease\t",
    "D:6\tCrohn Disease\tCD",
    "E:1\tEdema\t",
)


def read(path: Path, *rows: str) -> Dictionary:
    path.write_text("\n".join(["id\tname\tsynonyms", *rows]) + "\n", encoding="utf-8")
    return Dictionary.read(path)


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    return read(tmp_path_factory.mktemp("finding") / "dictionary.tsv", *ROWS)


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
def test_which_names_are_taken(names: DictionaryNames, text: str, expected: list[str]) -> None:
    assert [written for written in plausible(names, text) if written != "disease"] == expected


def spelled(names: DictionaryNames, text: str) -> list[str]:
    findings = names.find(text)
    return [names.spelled(findings, match) for match in findings.matches]


def test_the_spelling_of_the_dictionary(names: DictionaryNames) -> None:
    assert spelled(names, "oedemas") == ["Edema"]
    assert spelled(names, "EDEMA") == [""]  # its normal form is a name
    assert spelled(names, "Crohn disease (CD)")[-1] == ""  # a short form of the document


SHORT = (
    "D:1\tAcute Lymphoblastic Leukemia\tALL",
    "D:2\tCATARACT 32\tCAP",
    "D:3\tAnxiety Disorders\tANXIETY",
    "D:4\tMultiple Endocrine Neoplasia\tMEN 1|MEN1",
    "D:5\tAsthma\t",
    "D:6\tMyocardial Infarction\theart attack",
)


@pytest.fixture(scope="module")
def shortened(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("short") / "dictionary.tsv"
    return read(path, *SHORT).add([("MI", ["D:6"]), ("MI", ["D:6"])], str.lower)


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
    shortened: Dictionary, text: str, concept: str, expected: str | None
) -> None:
    assert doubt(shortened, text, shortened.rows(concept)[0]) == expected


BESIDE = (
    "D:1\tMyotonic Dystrophy\tDM",
    "D:2\tDiabetes Mellitus, Type 2\tT2DM|DM type 2",
    "D:3\tIchthyosis Bullosa of Siemens\tIBS",
    "D:4\tHIV Infections\tHIV infection",
    "D:5\tFever\t",
)


@pytest.mark.parametrize(
    ("text", "concept", "expected"),
    [
        ("IBS severe", "D:3", "short form"),
        ("severe IBS", "D:3", "short form"),
        ("(IBS), severe", "D:3", "short form"),
        ("severe IBS of both legs", "D:3", "short form"),
        ("IBS bullosa", "D:3", None),
        ("IBS, Ichthyosis.", "D:3", None),  # signs beside words do not count
        ("ibs severe", "D:3", None),  # a word by its case
        ("DM type 2", "D:1", "short form"),
        ("DM type 2", "D:2", None),  # "type" decides
        ("HIV infection", "D:4", None),
        ("HIV positive", "D:4", "short form"),
        ("IBS severe", "D:5", None),  # no short form of the concept
        ("severe illness", "D:5", None),
        ("IBS DM", "D:1", "short form"),
        ("mi severe", "D:6", None),
        ("MI severe", "D:6", "annotated short form"),
    ],
)
def test_a_short_form_beside_words(
    tmp_path: Path, text: str, concept: str, expected: str | None
) -> None:
    rows = (*BESIDE, "D:6\tMyocardial Infarction\t")
    dictionary = read(tmp_path / "beside.tsv", *rows).add([("MI", ["D:6"]), ("MI", ["D:6"])])
    assert doubt(dictionary, text, dictionary.rows(concept)[0]) == expected

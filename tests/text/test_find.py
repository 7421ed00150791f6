"""Names of a dictionary in running text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text import abbreviations
from linker.text.find import Finder, Words, fold, is_short_form, key, running_text
from linker.types import Document, Passage

NAMES = (
    "Breast Cancer",
    "Ovarian cancers",
    "colon cancer",
    "Cancer",
    "ALL",
    "ataxia telangiectasia",
    "non-Hodgkin lymphoma",
    "Sjögren syndrome",
    "leukemia",
    "β-thalassemia",
)
FINDER = Finder((name, row) for row, name in enumerate(NAMES))


def found(text: str, *, define: bool = False) -> list[tuple[str, str]]:
    """The texts of the matches, with their kinds."""
    definitions = abbreviations.find(text) if define else []
    matches = FINDER.find(Words.of(text), definitions)
    return [(text[match.start : match.end], match.kind) for match in matches]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tumour", "Tumors"),
        ("metastasis", "metastases"),
        ("disease", "Diseases"),
        ("abscess", "abscesses"),
        ("anomaly", "anomalies"),
        ("anaemia", "anemia"),
        ("oedema", "edemas"),
        ("arthritis", "arthritides"),
        ("carcinoma", "carcinomata"),
        ("HNPCC", "HNPCCs"),
        ("Sjögren", "sjogren"),
        ("Sjo\u0308gren", "Sjögren"),
        ("β", "beta"),
    ],
)
def test_forms_that_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("AIDS", "aid"), ("virus", "viru"), ("tetanus", "tetanu"), ("gas", "ga")]
)
def test_forms_that_are_two(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALL", True),
        ("HbS", True),
        ("A-T", True),
        ("G6PD", True),
        ("Cap", False),
        ("all", False),
        ("BREAST CANCER", False),
        ("THROMBOCYTOPENIA", False),
    ],
)
def test_short_forms(text: str, expected: bool) -> None:
    assert is_short_form(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n ", []),
        ("Cancers of the breast", [("Cancers", "name")]),
        ("BREAST-CANCER!", [("BREAST-CANCER", "name"), ("CANCER", "name")]),
        ("breast\ncancer", [("breast\ncancer", "name"), ("cancer", "name")]),
        ("the breast. Cancer", [("Cancer", "name")]),
        ("breast\n\ncancer", [("cancer", "name")]),
        ("breast\tcancer", [("cancer", "name")]),
        ("anticancer and cancerous", []),
        ("nonHodgkin and non Hodgkin lymphomas", [("non Hodgkin lymphomas", "name")]),
        ("acute leukaemia", [("leukaemia", "name")]),
        ("Sjogren's syndrome", []),
        ("a beta thalassaemia", [("beta thalassaemia", "name")]),
        ("all patients", [("all", "name")]),
        ("breast (cancer", [("cancer", "name")]),
        ("<b>leukemia</b>\x00\x07", [("leukemia", "name")]),
    ],
)
def test_names(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "breast and ovarian cancer",
        "breast, colon, and ovarian cancers",
        "breast/ovarian cancer",
        "breast and/or ovarian cancer",
    ],
)
def test_coordinated_names(text: str) -> None:
    assert found(f"Of {text}.")[0] == (text, "coordinated")


@pytest.mark.parametrize(
    "text", ["liver and ovarian cancer", "breast; and ovarian cancer", "breast ovarian cancer"]
)
def test_what_is_not_coordinated(text: str) -> None:
    assert "coordinated" not in dict(found(text)).values()


def test_defined_short_forms() -> None:
    text = "AT is rare. Ataxia telangiectasia (AT) and classical Hodgkin nodes (CHN); ATs, CHN."
    assert found(text, define=True) == [
        ("AT", "short"),
        ("Ataxia telangiectasia", "name"),
        ("AT", "short"),
        ("ATs", "short"),
    ]


def test_a_long_form_that_ends_with_a_name_is_found_with_its_short_form() -> None:
    text = "familial colon cancer (FCC): FCC"
    assert found(text, define=True) == [
        ("familial colon cancer", "long"),
        ("colon cancer", "name"),
        ("cancer", "name"),
        ("FCC", "short"),
        ("FCC", "short"),
    ]
    matches = FINDER.find(Words.of(text), abbreviations.find(text))
    assert {match.key for match in matches if match.kind == "short"} == {"familial colon cancer"}


def test_a_defined_short_form_counts_before_a_name() -> None:
    text = "acute lymphatic leukemia (ALL)"
    assert found(text, define=True)[-1] == ("ALL", "short")


PIECE = st.one_of(
    st.sampled_from([*NAMES, "and", "breast", "(", "AT", ". ", "\n\n", "β", "é", "\x00", "𝛽", "²"]),
    st.text(max_size=4),
)


@given(st.lists(PIECE, max_size=12), st.sampled_from(["", " ", "-", "\r\n"]))
def test_offsets_are_those_of_the_text(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    words = Words.of(text)
    assert [*words.written()] == [
        text[start:end] for start, end in zip(words.starts, words.ends, strict=True)
    ]
    for match in FINDER.find(words, abbreviations.find(text)):
        written = text[match.start : match.end]
        assert written == written.strip()
        if match.kind == "name":
            assert key(written) == match.key
            assert match.key in FINDER.rows


def slow(text: str) -> set[tuple[int, int]]:
    """Every stretch of whole words without a break that has the form of a name."""
    words = Words.of(text)
    forms = {key(name) for name in NAMES}
    return {
        (words.starts[first], words.ends[last - 1])
        for first in range(len(words.forms))
        for last in range(first + 1, len(words.forms) + 1)
        if " ".join(words.forms[first:last]) in forms
        and all(words.joined[first + 1 : last])
        and text[words.starts[first] : words.ends[last - 1]].count("(")
        == text[words.starts[first] : words.ends[last - 1]].count(")")
    }


@given(st.lists(st.sampled_from([*NAMES, "breast", "(", ")", ". ", ",", "of"]), max_size=10))
def test_slow_twin(pieces: list[str]) -> None:
    text = " ".join(pieces)
    matches = FINDER.find(Words.of(text))
    assert {(m.start, m.end) for m in matches if m.kind == "name"} == slow(text)


def test_passages_are_kept_apart_and_offsets_hold() -> None:
    document = Document("1", (Passage("of the breast"), Passage("Cancer", 14), Passage("x", 30)))
    text = running_text(document)
    assert text == "of the breast\tCancer" + " " * 9 + "\tx"
    assert len(text) == len(document.text)
    assert [(m.start, m.end) for m in FINDER.find(Words.of(text))] == [(14, 20)]


def test_passages_that_touch_are_one_text() -> None:
    assert (
        running_text(Document("1", (Passage("breast "), Passage("cancer", 7)))) == "breast cancer"
    )
    assert running_text(Document("1")) == ""

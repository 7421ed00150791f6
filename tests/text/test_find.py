"""Names of a dictionary in running text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.records import Document, Passage
from linker.text import abbreviations
from linker.text.find import Finder, TokenizedText, fold, key, longest, running_text
from linker.text.letters import is_balanced

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
    matches = FINDER.find(TokenizedText.of(text), definitions)
    return [(text[match.start : match.end], match.kind) for match in matches]


ONE = """
tumour Tumors
metastasis metastases
disease Diseases
abscess abscesses
anomaly anomalies
anaemia anemia
oedema edemas
arthritis arthritides
carcinoma carcinomata
reflex reflexes
die dies
HNPCC HNPCCs
Sjögren Sjo\u0308gren sjogren
β beta
"""


@pytest.mark.parametrize("words", ONE.strip().split("\n"))
def test_forms_that_are_one(words: str) -> None:
    assert len(set(map(fold, words.split()))) == 1


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
    ("text", "expected"),
    [
        ("acute leuk-\naemia.", ["leuk-\naemia"]),
        ("the ovar-\r\n  ian can\u00ad\ncer", ["ovar-\r\n  ian can\u00ad\ncer", "can\u00ad\ncer"]),
        ("non-\nHodgkin lymphoma", ["non-\nHodgkin lymphoma"]),  # "nonhodgkin" is no word of a name
        ("the can-\ncerous", []),
        ("a can- cer, a can\ncer", []),
        ("-\ncancer", ["cancer"]),
    ],
)
def test_words_that_a_line_end_breaks(text: str, expected: list[str]) -> None:
    matches = FINDER.find(TokenizedText.of(text, FINDER.is_word))
    assert [text[match.start : match.end] for match in matches] == expected


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


def test_defined_short_forms() -> None:
    text = "AT is rare. Ataxia telangiectasia (AT) and classical Hodgkin nodes (CHN); ATs, CHN."
    names = [written for written, kind in found(text, define=True) if kind == "name"]
    short = [written for written, kind in found(text, define=True) if kind == "short"]
    assert (names, short) == (["Ataxia telangiectasia"], ["AT", "AT", "ATs"])
    # it counts before a name
    assert found("acute lymphatic leukemia (ALL)", define=True)[-1] == ("ALL", "short")


def test_a_long_form_that_ends_with_a_name_is_found_with_its_short_form() -> None:
    text = "familial colon cancer (FCC): FCC"
    assert found(text, define=True) == [
        ("familial colon cancer", "long"),
        ("colon cancer", "name"),
        ("cancer", "name"),
        ("FCC", "short"),
        ("FCC", "short"),
    ]
    matches = FINDER.find(TokenizedText.of(text), abbreviations.find(text))
    assert {match.key for match in matches if match.kind == "short"} == {"familial colon cancer"}


PIECE = st.one_of(
    st.sampled_from([*NAMES, "and", "breast", "(", "AT", ". ", "\n\n", "β", "é", "\x00", "𝛽", "²"]),
    st.text(max_size=4),
)


@given(st.lists(PIECE, max_size=12), st.sampled_from(["", " ", "-", "\r\n"]))
def test_offsets_are_those_of_the_text(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    words = TokenizedText.of(text)
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
    words = TokenizedText.of(text)
    forms = {key(name) for name in NAMES}
    return {
        (words.starts[first], words.ends[last - 1])
        for first in range(len(words.forms))
        for last in range(first + 1, len(words.forms) + 1)
        if " ".join(words.forms[first:last]) in forms
        and all(words.joined[first + 1 : last])
        and is_balanced(text[words.starts[first] : words.ends[last - 1]])
    }


@given(st.lists(st.sampled_from([*NAMES, "breast", "(", ")", ". ", ",", "of"]), max_size=10))
def test_slow_twin(pieces: list[str]) -> None:
    text = " ".join(pieces)
    matches = FINDER.find(TokenizedText.of(text))
    assert {(m.start, m.end) for m in matches if m.kind == "name"} == slow(text)


def test_passages_are_kept_apart_and_offsets_hold() -> None:
    document = Document("1", (Passage("of the breast"), Passage("Cancer", 14), Passage("x", 30)))
    text = running_text(document)
    assert text == "of the breast\tCancer" + " " * 9 + "\tx"
    assert len(text) == len(document.text)
    assert [(m.start, m.end) for m in FINDER.find(TokenizedText.of(text))] == [(14, 20)]


# the names in tokenised text


# spans that overlap

SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda p: (p[0], p[0] + p[1])),
    unique=True,
    max_size=12,
)


def slow_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """One after the other, the longest and of equals the first, unless a character is taken."""
    taken: set[int] = set()
    chosen = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            chosen.append((start, end))
    return sorted(chosen)


@given(SPANS)
def test_the_longest_spans(spans: list[tuple[int, int]]) -> None:
    assert longest(spans) == slow_spans(spans)

"""Normal forms of names."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text.normalize import PRESETS, NormalizeOptions, normalize, person


@pytest.mark.parametrize(
    ("text", "ours", "biosyn"),
    [
        ("Louis-Bar Syndrome", "louis bar syndrome", "louis bar syndrome"),
        ("  Alzheimer's   disease, ", "alzheimer s disease", "alzheimer s disease"),
        ("Sjögren’s syndrome", "sjogren s syndrome", "sjögren’s syndrome"),
        ("β-thalassaemia", "beta thalassaemia", "β thalassaemia"),
        ("α1–antitrypsin", "alpha1 antitrypsin", "α1–antitrypsin"),
        ("ﬁbrosis", "fibrosis", "ﬁbrosis"),
        ("C₂ deficiency", "c2 deficiency", "c₂ deficiency"),
        ("Ά", "alpha", "ά"),
        ("µ-chain", "mu chain", "µ chain"),
        ("λ light chain", "lambda light chain", "λ light chain"),
        ("a_b|c", "a b c", "a b c"),
        ("ＡＢ\u00a0c", "ab c", "ａｂ c"),
        ("...", "", ""),
        ("", "", ""),
    ],
)
def test_presets(text: str, ours: str, biosyn: str) -> None:
    assert normalize(text) == ours
    assert normalize(text, PRESETS["biosyn"]) == biosyn


@pytest.mark.parametrize(
    "text",
    [
        *("colorectal\u00ad cancer", "colo\u200brectal cancer", "colo\u200crectal cancer"),
        *("colo\u200drectal cancer", "\ufeffcolorectal cancer", "\u200ecolorectal cancer\u200f"),
        *(
            "colo\u2060rectal cancer",
            "\u202acolorectal cancer\u202c",
            "colo\u00ad\u200brectal cancer",
        ),
    ],
)
def test_characters_of_format_are_left_out(text: str) -> None:
    assert normalize(text) == "colorectal cancer"
    assert normalize(text, PRESETS["biosyn"]) != "colorectal cancer"  # its rule is published
    kept = normalize(text, NormalizeOptions(punctuation="ascii"))
    assert kept != "colorectal cancer"


def slow_biosyn(text: str) -> str:
    """The published rule, written the obvious way."""
    return " ".join(
        part
        for part in re.split(r"[\s" + re.escape(string.punctuation) + "]+", text.lower())
        if part
    )


@given(st.text())
def test_the_biosyn_preset_is_the_published_rule(text: str) -> None:
    assert normalize(text, PRESETS["biosyn"]) == slow_biosyn(text)


@given(st.text())
def test_ours_is_clean(text: str) -> None:
    normal = normalize(text)
    assert normal == " ".join(normal.split())
    assert not set(normal) & set(string.punctuation)


@given(st.text(alphabet=string.printable + "äöéβλ–’ﬁ²"))
def test_ours_is_done_in_one_go(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@pytest.mark.parametrize(
    "other",
    [
        *("eve", " EVE ", "Ｅｖｅ", "Eve\u200b", "E\u00adve", "\ufeffEve", "E\u2066ve\u2069"),
        *("Eve\ufe0f", "Ev\u034fe", "Eve\u3164", "Eve\U000e0041"),
        *("Eve\x07", "\x7fEve", "Eve\u2065", "Eve \u200b", "E\ue000ve"),
    ],
)
def test_what_looks_like_a_name_is_that_name(other: str) -> None:
    assert person(other) == person("Eve")


def test_other_names_are_others() -> None:
    names = ["Eve", "Ève", "Eva", "Eve M", "", "李", "Straße 1"]
    assert len({*map(person, names)}) == len(names)
    assert person("Zoe\u0301  B") == person("zoé b")
    assert person("Zoe \u200b B") == person("Zoe B") != person("ZoeB")
    assert person("STRASSE 1") == person("Straße 1")

"""Cells that were read in another encoding than they were written in."""

from __future__ import annotations

import pytest

from linker.text.encodings import LOST, mended, with_lost_letters


@pytest.mark.parametrize(
    "name", ["Sjögren", "Behçet", "Guillain-Barré", "α-thalassemia", "Crohn’s"]
)
def test_a_text_in_a_wrong_encoding_is_mended(name: str) -> None:
    assert mended(name.encode().decode("cp1252")) == name


def test_an_encoding_that_went_wrong_twice_is_mended() -> None:
    assert mended("SjÃƒÂ¶gren") == "Sjögren"


@pytest.mark.parametrize("text", ["Sjögren", "Ménière", "Behçet’s", "gout", "β-thalassemia", "ÎLE"])
def test_what_is_right_stays(text: str) -> None:
    assert mended(text) == text


def complete(text: str) -> list[str]:
    known = {f"sj{LOST}gren": "sjogren", f"Barr{LOST} syndrome": "barre syndrome"}
    return [known[text]] if text in known else []


def is_name(text: str) -> bool:
    return text == "barre syndrome"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sj?gren", f"sj{LOST}gren"),
        ("Barr? syndrome", f"Barr{LOST} syndrome"),
        ("gout? asthma", "gout? asthma"),  # asks
        ("?gout", "?gout"),
        ("gout?asthma", "gout?asthma"),
        ("Crohn?s", "Crohn's"),
        ("gout", "gout"),
    ],
)
def test_a_question_mark_in_a_word_is_a_lost_letter(text: str, expected: str) -> None:
    assert with_lost_letters(text, complete, is_name) == expected

"""Spelling lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import InputError
from linker.text.spelling import correct, read


def write(folder: Path, text: str) -> Path:
    path = folder / "spelling.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "tumour||tumor\n\nsmallbowel||small bowel\n"
        " atrial  fibrilation || atrial fibrillation\nthe||\n",
    )
    assert read(path) == {
        "tumour": "tumor",
        "smallbowel": "small bowel",
        "atrial fibrilation": "atrial fibrillation",
        "the": "",
    }


@pytest.mark.parametrize("line", ["tumour", "tumour|tumor", "||tumor", "a||b||c"])
def test_bad_lines_are_named(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, f"a||b\n{line}\n")
    with pytest.raises(InputError) as error:
        read(path)
    assert (error.value.line, error.value.path) == (2, str(path))


CORRECTIONS = {
    "tumour": "tumor",
    "smallbowel": "small bowel",
    "atrial fibrilation": "atrial fibrillation",
    "the": "",
    "small": "tiny",
}


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("skin tumour", "skin tumor"),
        ("skin tumours", "skin tumours"),
        ("Tumour", "Tumour"),
        ("smallbowel tumour", "small bowel tumor"),
        ("chronic atrial fibrilation of the heart", "chronic atrial fibrillation of heart"),
        ("atrial tumour", "atrial tumor"),
        ("the", ""),
        ("", ""),
    ],
)
def test_correct(text: str, corrected: str) -> None:
    assert correct(text, CORRECTIONS) == corrected


@given(st.text())
def test_a_text_without_listed_words_stays(text: str) -> None:
    assert correct(text, {"\u2603": "x"}).split() == [
        "x" if word == "\u2603" else word for word in text.split()
    ]

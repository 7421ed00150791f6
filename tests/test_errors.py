"""What a message shows of a path."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import LinkerError, UsageError, shown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a b/it's.tsv", "a b/it's.tsv"),
        ("β", "β"),
        ("\udcce\udcb2", "β"),  # as a locale without Greek gives it
        ("a\udcff\udcce\udcb2", r"a\xffβ"),
        ("\ud800", r"\ud800"),
        ("a\r\n\x1b[0m\u2028", r"a\r\n\x1b[0m\u2028"),
        (Path("a\nb"), r"a\nb"),
    ],
)
def test_a_path_is_shown_in_one_line(path: str | Path, text: str) -> None:
    assert shown(path) == text


@given(st.text(st.characters(categories=None)))  # lone surrogates too
def test_whatever_is_shown_can_be_written_and_shown_again(text: str) -> None:
    once = shown(text)
    assert once.encode().decode().splitlines() == ([once] if once else [])
    assert shown(once) == once


def test_a_message_that_repeats_a_long_input_keeps_its_start_and_its_end() -> None:
    message = f"{'a' * 100_000} is unknown; give another one"
    text = str(LinkerError(message))
    assert text == f"{'a' * 1_500} … {message[-500:]}"
    assert str(UsageError(message[-2_000:])) == message[-2_000:]

"""What a message shows of a path."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Linker
from linker.errors import (
    Cancelled,
    InputError,
    LinkerError,
    UsageError,
    call_while_wanted,
    shown,
)
from linker.io.mentions import NoMentions
from linker.linking.requests import Request
from linker.records import Document, Mention, Passage
from linker.text import abbreviations


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


def test_an_error_keeps_its_place_in_another_process() -> None:
    sent = InputError("a.tsv", "a digit", line=7, value="x1", remedy="mend it")
    for error in (sent, NoMentions("a.tsv", "a digit")):
        error.is_of_file = True
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.__dict__) == (type(error), str(error), error.__dict__)
    assert (sent.path, sent.line) == ("a.tsv", 7)


TEXT = "long form (LF) " * 100
MARKED = Document(
    "1", (Passage("ataxia " * 100, 0),), tuple(Mention("ataxia", ((7 * n, 7 * n + 6),)) for n in range(100))
)  # fmt: skip


def test_long_work_asks_between_its_steps(sample_linker: Linker) -> None:
    linker = sample_linker.with_ranker(sample_linker.ranker)  # which remembers nothing yet

    def ended_after(limit: int, work: Callable[[], object]) -> int:
        """How often work asks that is given up when it has asked so often."""
        asked = itertools.count(1)
        last = 0

        def is_given_up() -> bool:
            nonlocal last
            last = next(asked)
            return last > limit

        with pytest.raises(Cancelled):
            call_while_wanted(is_given_up, work)
        return last

    assert ended_after(3, lambda: abbreviations.find(TEXT)) == 4
    assert ended_after(3, lambda: list(linker.answers([Request(MARKED)]))) == 4
    # where the mentions are read, it asks before their candidates are looked up
    assert ended_after(100, lambda: list(linker.answers([Request(MARKED)]))) == 101
    assert len(abbreviations.find(TEXT)) == 100  # nobody gave this one up

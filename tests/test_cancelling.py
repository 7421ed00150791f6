"""Work that ends when nobody waits for it any longer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from linker import Dictionary
from linker.errors import Cancelled, call_while_wanted
from linker.linking.requests import Request
from linker.records import Document, Mention, Passage
from linker.text import abbreviations
from linker.training.pipeline import train

TEXT = "long form (LF) " * 100
MARKED = Document(
    "1", (Passage("ataxia " * 100, 0),), tuple(Mention("ataxia", ((7 * n, 7 * n + 6),)) for n in range(100))
)  # fmt: skip


def test_long_work_asks_between_its_steps(sample: Path) -> None:
    linker = train(Dictionary.read(sample), encoder="tfidf")

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

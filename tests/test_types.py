"""What the records work out themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.types import Document, Passage

WORDS = st.lists(st.text("abc𝒳é", min_size=1, max_size=5), max_size=6)


@pytest.mark.parametrize(
    ("passages", "text"),
    [
        ((), ""),
        ((("Fever.", 0), ("Flu.", 7)), "Fever. Flu."),
        ((("Flu.", 7), ("Fever.", 0)), "Fever. Flu."),  # out of order
        ((("c", 4), ("a", 0), ("b", 2)), "a b c"),
        ((("Flu.", 3),), "   Flu."),
        ((("abcdef", 0), ("XY", 2)), "abXYef"),  # the later of two that overlap, at its offset
        ((("abcd", 0), ("CDEF", 2)), "abCDEF"),
        ((("CDEF", 2), ("abcd", 0)), "abcdEF"),
        ((("ab", 0), ("ab", 0)), "ab"),
        ((("", 5), ("ab", 0)), "ab   "),
        ((("𝒳é", 0), ("β", 3)), "𝒳é β"),  # offsets are characters
    ],
)
def test_the_text_of_a_document(passages: tuple[tuple[str, int], ...], text: str) -> None:
    assert Document("1", tuple(Passage(*passage) for passage in passages)).text == text


@given(WORDS, st.randoms())
def test_every_passage_stands_at_its_offset_in_whatever_order(words: list[str], random: object) -> None:
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    passages = [Passage(word, start) for word, start in zip(words, starts, strict=True)]
    random.shuffle(passages)  # type: ignore[attr-defined]
    assert Document("1", tuple(passages)).text == " ".join(words)

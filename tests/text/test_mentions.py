"""What stands around a mention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text.mentions import around

TEXT = "In two families  with\nbreast cancer the BRCA1 gene is mutated."


def span(mention: str) -> tuple[int, int]:
    start = TEXT.index(mention)
    return start, start + len(mention)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (0, "breast cancer"),
        (1, "with breast cancer the"),
        (2, "families with breast cancer the BRCA1"),
        (99, "In two families with breast cancer the BRCA1 gene is mutated."),
    ],
)
def test_words_on_either_side(words: int, expected: str) -> None:
    assert around(TEXT, [span("breast cancer")], words) == expected


def test_a_mention_in_pieces_is_read_from_its_first_to_its_last() -> None:
    assert (
        around(TEXT, [span("gene"), span("families")], 1)
        == "two families with breast cancer the BRCA1 gene is"
    )


def test_a_mention_without_a_place() -> None:
    assert around(TEXT, [], 5) == ""


@given(
    st.lists(st.text("ab", min_size=1, max_size=30), min_size=1, max_size=20),
    st.data(),
    st.integers(0, 25),
)
def test_against_cutting_the_whole_text(words: list[str], data: st.DataObject, wide: int) -> None:
    place = data.draw(st.integers(0, len(words) - 1))
    start = sum(len(word) + 1 for word in words[:place])
    expected = words[max(0, place - wide) : place + wide + 1]
    assert around(" ".join(words), [(start, start + len(words[place]))], wide).split() == expected

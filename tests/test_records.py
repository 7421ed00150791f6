"""What the records work out themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.records import SELECTION, Document, Passage, Selection, parse_spans

WORDS = st.lists(st.text("abc𝒳é", min_size=1, max_size=5), max_size=6)


@pytest.mark.parametrize(
    ("passages", "text"),
    [
        ((), ""),
        ((("Fever.", 0), ("Flu.", 7)), "Fever. Flu."),
        ((("c", 4), ("a", 0), ("b", 2)), "a b c"),
        ((("Flu.", 3),), "   Flu."),
        ((("abcdef", 0), ("XY", 2)), "abXYef"),  # the later of two that overlap, at its offset
        ((("", 5), ("ab", 0)), "ab   "),
        ((("𝒳é", 0), ("β", 3)), "𝒳é β"),  # offsets are characters
        ((("a", 0), ("bc", 1_000_001)), "a" + " " * 1_000_000 + "bc"),
        ((("a\r\nb\rc\n", 0),), "a\r\nb\rc\n"),
    ],
)
def test_the_text_of_a_document(passages: tuple[tuple[str, int], ...], text: str) -> None:
    assert Document("1", tuple(Passage(*passage) for passage in passages)).text == text


@pytest.mark.parametrize("offset", [-1, 1_000_004, 10**20])
def test_offsets_outside_of_a_document_are_refused(offset: int) -> None:
    with pytest.raises(ValueError):
        _ = Document("1", (Passage("a"), Passage("bc", offset))).text


def test_spans() -> None:
    assert parse_spans([[0, 4], [9, 12]]) == ((0, 4), (9, 12))
    assert parse_spans(None) == parse_spans([]) == ()


WHOLE = [["01"], [[1]], [[1, 2, 3]], [[0, 1.0]], [[0, True]], [[0, math.inf]], [[None, 1]]]


@pytest.mark.parametrize("pairs", ["01", 7, True, {"0": 1}, [1], *WHOLE])
def test_what_are_no_spans(pairs: object) -> None:
    with pytest.raises(ValueError):
        parse_spans(pairs)


@given(WORDS, st.randoms())
def test_every_passage_stands_at_its_offset_in_whatever_order(
    words: list[str], random: object
) -> None:
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    passages = [Passage(word, start) for word, start in zip(words, starts, strict=True)]
    random.shuffle(passages)  # type: ignore[attr-defined]
    assert Document("1", tuple(passages)).text == " ".join(words)


def test_lists_of_a_selection() -> None:
    assert Selection("A:1", ["B:1", "B:2"]) == Selection(("A:1",), ("B:1", "B:2"))  # type: ignore[arg-type]
    assert [bool(Selection(**{name: ("x",)})) for name in SELECTION] == [True] * 4
    assert not Selection()
    assert SELECTION == ("under", "not_under", "types", "namespaces")

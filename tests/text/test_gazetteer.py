"""Names found in text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("ahocorasick_rs")

from linker.text.gazetteer import Gazetteer

WORD = st.sampled_from(["a", "b", "ab", "é", "cold"])


def slow(names: list[str], words: list[str]) -> list[tuple[int, int, str]]:
    """From left to right, the longest name that begins at a word."""
    matches, at = [], 0
    while at < len(words):
        ends = [end for end in range(at + 1, len(words) + 1) if " ".join(words[at:end]) in names]
        if ends:
            matches.append((at, max(ends), " ".join(words[at : max(ends)])))
        at = max(ends, default=at + 1)
    return matches


@given(
    st.lists(
        st.lists(WORD, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=6, unique=True
    ),
    st.lists(WORD, max_size=12),
)
def test_slow_twin(names: list[str], words: list[str]) -> None:
    assert Gazetteer(names).find(words) == slow(names, words)


def test_whole_words_only() -> None:
    assert Gazetteer(["cold", "old"]).find(["scold", "colds", "cold"]) == [(2, 3, "cold")]


def test_nothing_to_find() -> None:
    assert Gazetteer(["", "cold"]).find([]) == []

"""Names found in text."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text.find import Gazetteer

WORD = st.sampled_from(["a", "b", "ab", "é", "cold"])
NAMES = st.lists(
    st.lists(WORD, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=6, unique=True
)


def slow(names: list[str], words: list[str]) -> list[tuple[int, int, str]]:
    """From left to right, the longest name that begins at a word."""
    matches, at = [], 0
    while at < len(words):
        ends = [end for end in range(at + 1, len(words) + 1) if " ".join(words[at:end]) in names]
        if ends:
            matches.append((at, max(ends), " ".join(words[at : max(ends)])))
        at = max(ends, default=at + 1)
    return matches


@given(NAMES, st.lists(WORD, max_size=12))
def test_slow_twin(names: list[str], words: list[str]) -> None:
    assert Gazetteer(names).find(words) == slow(names, words)


@given(NAMES, st.lists(st.tuples(WORD, st.booleans()), max_size=12))
def test_slow_twin_of_all_names(names: list[str], text: list[tuple[str, bool]]) -> None:
    words, joined = [word for word, _ in text], [is_joined for _, is_joined in text]
    expected = {
        (start, end, " ".join(words[start:end]))
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
        if " ".join(words[start:end]) in names and all(joined[start + 1 : end])
    }
    matches = Gazetteer(names, overlapping=True).find(words, joined)
    assert len(matches) == len(expected)
    assert set(matches) == expected


def test_whole_words_only() -> None:
    assert Gazetteer(["cold", "old"]).find(["scold", "colds", "cold"]) == [(2, 3, "cold")]


@pytest.mark.parametrize("overlapping", [True, False])
def test_copies_find_the_same(overlapping: bool) -> None:
    gazetteer = Gazetteer(["cold", "a cold"], overlapping=overlapping)
    copied = pickle.loads(pickle.dumps(gazetteer))
    assert copied.find(["a", "cold"]) == gazetteer.find(["a", "cold"])
    assert len(copied.find(["a", "cold"])) == 1 + overlapping


def test_nothing_to_find() -> None:
    assert Gazetteer(["", "cold"]).find([]) == []

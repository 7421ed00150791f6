"""Words with a typing error."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from linker.search.respelling import Respelling, is_one_error
from tests.search.small import table


def distance(first: str, second: str) -> int:
    """The optimal string alignment distance, by the table of its definition."""
    rows = [
        [i + j if not i * j else 0 for j in range(len(second) + 1)] for i in range(len(first) + 1)
    ]
    for i, j in itertools.product(range(1, len(first) + 1), range(1, len(second) + 1)):
        rows[i][j] = min(
            rows[i - 1][j] + 1,
            rows[i][j - 1] + 1,
            rows[i - 1][j - 1] + (first[i - 1] != second[j - 1]),
        )
        if i > 1 and j > 1 and first[i - 2 : i] == second[j - 2 : j][::-1]:
            rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


def made(*names: str) -> Respelling:
    return Respelling(table(names, [[row] for row in range(len(names))]))


short = st.text("abc", max_size=6)
words = st.text("abé", min_size=3, max_size=7)


@given(short, short)
def test_one_error(first: str, second: str) -> None:
    assert is_one_error(first, second) == (distance(first, second) == 1)


@settings(max_examples=60)
@given(
    st.lists(words, min_size=1, max_size=30, unique=True).filter(
        lambda w: len(max(w, key=len)) > 3
    ),
    words,
)
def test_near_finds_what_is_one_error_away(known: list[str], word: str) -> None:
    near = made(*known).near(word)
    expected = [w for w in known if len(w) >= 4 and len(word) >= 4 and distance(w, word) == 1]
    assert len(near) == len(set(near)) == min(3, len(expected))
    assert set(near) <= set(expected)
    swapped = [w for w in expected if sorted(w) == sorted(word)]
    assert near == sorted(expected, key=lambda w: (w not in swapped, w))[:3]


def texts(text: str, *names: str) -> list[str]:
    """What a text may be."""
    known = {word for name in names for word in name.split()}
    return made(*names).respelt(text, known.__contains__, set(names).__contains__)


def test_respelt() -> None:
    names = ("acute asthma", "chronic asthma", "acute gout", "acne")
    assert texts("acute astmha", *names) == ["acute asthma"]
    assert texts("acutee astmha", *names) == ["acute asthma"]
    assert texts("acute asthma", *names) == []  # all words are known
    assert texts("acute quux", *names) == []
    assert texts("astmha quux", *names) == ["asthma quux"]  # the one that is near a word
    assert texts("astmha acutee chronci", *names) == ["asthma acute chronic"]
    assert texts("astmha acutee chronci goutt", *names) == []  # more than three unknown words
    assert texts("", *names) == []
    assert len(texts("astmha " * 3, *names)) == 1
    assert texts("astmha " * 5_000, *names) == []

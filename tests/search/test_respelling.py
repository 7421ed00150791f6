"""Words with a typing error."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.search.respelling import Respelling, WordsNearby, is_one_error
from linker.text.encodings import LOST
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


def test_few_texts_are_made_of_many_words_that_lost_letters() -> None:
    respelling = made("fever", "favor", "fewer", "gout", "grout")
    lost = f"f{LOST}{LOST}er"
    assert sorted(respelling.completed(lost, lambda _: False)) == ["fever", "fewer"]
    assert len(respelling.completed(" ".join([lost] * 3), lambda _: False)) == 8
    assert respelling.completed(" ".join([lost] * 8), lambda _: False) == [" ".join(["fever"] * 8)]
    assert respelling.completed(" ".join([lost] * 20), lambda _: False) == []
    assert respelling.completed(f"{LOST}out", lambda _: False) == ["gout"]


def test_a_word_that_lost_letters_is_looked_for_once() -> None:
    respelling = made("fever", "fewer", "gout")
    for _ in range(5):
        respelling.completed(f"fe{LOST}er " * 8, lambda _: False)
    assert respelling.complete.cache_info().misses == 1
    assert respelling.complete.cache_info().maxsize is not None
    assert respelling.complete(LOST * 5_000) == []


short = st.text("abc", max_size=6)
words = st.text("abé", min_size=3, max_size=7)


def is_moved(first: str, second: str) -> bool:
    """Whether one letter of a text stands elsewhere in another one."""
    places = itertools.product(range(len(first)), range(len(second)))
    return first != second and any(
        first[i] == second[j] and first[:i] + first[i + 1 :] == second[:j] + second[j + 1 :]
        for i, j in places
    )


@given(short, short)
def test_one_error(first: str, second: str) -> None:
    expected = distance(first, second) == 1 or is_moved(first, second)
    assert is_one_error(first, second) == expected


@settings(max_examples=60)
@given(st.lists(words, max_size=30, unique=True), words)
def test_words_nearby(known: list[str], word: str) -> None:
    nearby = WordsNearby(known).of(word)
    spelt = [one for one in known if len(one) >= 4 and len(word) >= 4]
    assert sorted(nearby) == sorted(one for one in spelt if is_one_error(word, one))


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("gotu", "goti goti gout gut", ["gout", "goti"]),  # the same letters; none of three letters
        ("wegner", "werner werner werner wegener", ["wegener", "werner"]),  # a vowel was left out
        ("chron", "crohn chroma", ["crohn"]),  # a letter that stands elsewhere
        ("corea", "core core core chorea", ["chorea", "core"]),  # a silent letter was left out
        ("chrons", "crohn", ["crohn"]),
        ("cirrhotic", "cirrhosis", ["cirrhosis"]),
        ("anaemic", "anemia", []),  # two letters: `respelt` has American spelling
        ("enema", "edema", []),  # a word of its own
        ("would", "wound", []),
        ("apyrexial", "pyrexial", []),
        ("gastrotomy", "gastrostomy", []),
        ("haematuria", "hematuria", ["hematuria"]),  # a common word, and a spelling of it
        ("a", "an", []),
    ],
)
def test_what_a_word_may_be(word: str, known: str, expected: list[str]) -> None:
    assert (
        made(*(f"{one} {place}" for place, one in enumerate(known.split()))).near(word) == expected
    )


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


def test_letters_that_were_lost() -> None:
    respelling = made("sjogren syndrome", "meniere disease", "sjogren", "sjegren", "gout")
    is_name = {"sjogren syndrome", "meniere disease"}.__contains__
    known = {"syndrome", "disease"}.__contains__
    assert respelling.respelt("sj\ufffdgren syndrome", known, is_name)[0] == "sjogren syndrome"
    assert respelling.respelt("m\ufffd\ufffdni\ufffdre disease", known, is_name) == [
        "meniere disease"
    ]
    assert respelling.respelt("xy\ufffdz disease", known, is_name) == []

"""Words of names as numbers."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.dictionary import Dictionary
from linker.dictionary.building import Builder
from linker.dictionary.columns import RaggedArray
from linker.errors import stop
from linker.linking.words import Words, head_place, sequences, stem, words_of
from linker.records import Concept, Name
from linker.text.normalize import normalize


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("leukaemia", "leukemia"),
        ("oesophageal", "esophageal"),
        ("tumours", "tumor"),
        ("tumour", "tumor"),
        ("neuropathies", "neuropathy"),
        ("cancers", "cancer"),
        ("virus", "virus"),
        ("psychosis", "psychosis"),
        ("loss", "loss"),
        ("iv", "4"),
        ("als", "als"),
        ("b12s", "b12s"),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def made(concepts: list[Concept]) -> Dictionary:
    builder = Builder(frozenset(), frozenset(), stop)
    builder.add(concepts, "made", "table", "")
    return Dictionary(*builder.build())


@pytest.fixture
def words() -> tuple[Dictionary, Words]:
    names = ("Lung cancer", "Cancers of lung", "Lung cancer II", "K cancer")
    of_first = [Name(name, "X:1", "exact" if n else "preferred") for n, name in enumerate(names)]
    dictionary = made(
        [
            Concept("X:1", "Lung cancer", tuple(of_first)),
            Concept("X:2", "Cancer", (Name("Cancer", "X:2", "preferred"),)),
        ]
    )
    return dictionary, Words.of(dictionary, normalize)


def test_names_concepts_and_weights(words: tuple[Dictionary, Words]) -> None:
    dictionary, found = words
    texts = list(found.texts)
    of_name = [[texts[w] for w in found.names[row]] for row in range(len(dictionary.names))]
    assert of_name == [words_of(normalize(name)) for name in dictionary.names]
    of_concept = [[texts[w] for w in found.concepts[row]] for row in range(2)]
    assert sorted(of_concept[0]) == ["2", "cancer", "k", "lung", "of"]
    assert of_concept[1] == ["cancer"]
    assert all((np.diff(found.concepts[row]) > 0).all() for row in range(2))
    weight = dict(zip(texts, found.weight.tolist(), strict=True))
    assert weight["cancer"] == pytest.approx(math.log(3 / 2.5) / math.log(3 / 0.5))
    # two names of one concept
    assert weight["lung"] == pytest.approx(math.log(3 / 1.5) / math.log(3 / 0.5))
    assert (texts[-1], found.unknown_weight) == ("", pytest.approx(1))
    is_number = dict(zip(texts, found.is_number.tolist(), strict=True))
    assert [word for word in sorted(is_number) if is_number[word]] == ["2", "k"]
    assert all(found.places.row(text, found.texts) == row for row, text in enumerate(texts))


def test_words_that_were_asked_go_to_other_processes(words: tuple[Dictionary, Words]) -> None:
    _, found = words
    assert "lungs" in found
    copy = pickle.loads(pickle.dumps(found))
    assert "lungs" in copy
    assert "kidney" not in copy
    assert [*copy.texts] == [*found.texts]


def test_words_of_texts_keep_unknown_ones_apart(words: tuple[Dictionary, Words]) -> None:
    _, found = words
    lists = found.of_texts(["lung cancers", "", "foo bar foo"])
    known, texts = len(found.texts), list(found.texts)
    assert lists[0].tolist() == [texts.index("lung"), texts.index("cancer")]
    assert lists[1].tolist() == []
    assert lists[2].tolist() == [known, known + 1, known]


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=8))
def test_sequences_are_equal_where_lists_are(several: list[list[int]]) -> None:
    ends = np.cumsum([0, *map(len, several)])
    flat = np.array([number for one in several for number in one], np.int32)
    numbers = sequences(RaggedArray(ends, flat)).tolist()
    for (one, number), (other, other_number) in itertools.product(
        zip(several, numbers, strict=True), repeat=2
    ):
        assert (one == other) == (number == other_number)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("breast cancer", 1),
        ("Neoplasms, Breast", 0),
        ("Diabetes Mellitus, Type 2", 1),
        ("loss of appetite", 0),
        ("pain IN the chest", 0),
        ("non-Hodgkin lymphoma", 2),  # three words
        ("cancers and tumours", 0),
        ("intoxication", 0),  # begins with a preposition
        ("of the lung", 2),  # nothing is before it
        (", lung", 0),
        ("", -1),
        ("+-", -1),
        ("\u75db\u98a8", 0),
    ],
)
def test_the_place_of_the_head(text: str, place: int) -> None:
    assert head_place(text) == place


@pytest.mark.parametrize(
    ("form", "text", "own", "share", "alike"),
    [
        # "cancer" heads four of five names, and stands in all of them
        ("lung cancer", "Lung cancer", 4, 4 / 5, 4),
        ("cancers of lung", "Cancers of lung", 4, 4 / 5, 4),
        ("lung cancer ii", "Lung cancer II", 1, 1, 1),  # the last word, which has no ending
        ("lung", "Lung", 0, 0, 0),  # in three names, at the head of none
        ("bad dancer", "bad dancer", 0, 0, 4),  # ends like "cancer"
        ("bad ncer", "bad ncer", 0, 0, 0),  # is no longer than an ending
        ("quux", "quux", 0, 0, 0),
        ("cancer", "X, cancer", 4, 4 / 5, 4),  # its form lacks a word
        ("cancer", "no big cancer", 4, 4 / 5, 4),
        ("cancer", "+", 4, 4 / 5, 4),
        ("", "Lung cancer", 0, 0, 0),
        ("", "", 0, 0, 0),
    ],
)
def test_facts_of_heads(
    words: tuple[Dictionary, Words], form: str, text: str, own: int, share: float, alike: int
) -> None:
    _, found = words
    expected = (math.log(1 + own) / math.log(6), share, math.log(1 + alike) / math.log(6))
    assert found.head_facts(form, text) == pytest.approx(expected)

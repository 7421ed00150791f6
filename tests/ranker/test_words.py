"""Words of names as numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linker.dictionary import Dictionary
from linker.dictionary.building import Builder
from linker.errors import stop
from linker.ranker.words import Words, sequences, stem, words_of
from linker.text.normalize import normalize
from linker.types import Concept, Name


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


def test_words_of_a_text() -> None:
    assert words_of("type II tumours_of the-nose") == ["type", "2", "tumor", "of", "the", "nose"]


@pytest.fixture
def words() -> tuple[Dictionary, Words]:
    concepts = [
        Concept(
            "X:1",
            "Lung cancer",
            (Name("Lung cancer", "X:1", "preferred"), Name("Cancers of lung", "X:1", "exact")),
        ),
        Concept("X:2", "Cancer", (Name("Cancer", "X:2", "preferred"),)),
    ]
    builder = Builder(frozenset(), frozenset(), stop)
    builder.add(concepts, "made", "table", "")
    dictionary = Dictionary(*builder.build())
    return dictionary, Words.of(dictionary, normalize)


def test_names_concepts_and_weights(words: tuple[Dictionary, Words]) -> None:
    dictionary, found = words
    texts = list(found.texts)
    of_name = [[texts[w] for w in found.names[row]] for row in range(len(dictionary.names))]
    assert sorted(of_name) == [["cancer"], ["cancer", "of", "lung"], ["lung", "cancer"]]
    of_concept = [sorted(texts[w] for w in found.concepts[row]) for row in range(2)]
    assert of_concept == [["cancer", "lung", "of"], ["cancer"]]
    weight = dict(zip(texts, found.weight.tolist(), strict=False))
    assert weight["cancer"] == pytest.approx(math.log(3 / 2.5))
    assert weight["lung"] == pytest.approx(math.log(3 / 1.5))
    assert found.weight[-1] == pytest.approx(math.log(3 / 0.5))  # of a word that no concept has


def test_words_of_texts_keep_unknown_ones_apart(words: tuple[Dictionary, Words]) -> None:
    _, found = words
    lists = found.of_texts(["lung cancer", "", "foo bar foo"])
    known = len(found.texts)
    assert lists[0].tolist() == [found.number["lung"], found.number["cancer"]]
    assert lists[1].tolist() == []
    assert lists[2].tolist() == [known, known + 1, known]


def test_sequences_tell_orders_apart(words: tuple[Dictionary, Words]) -> None:
    _, found = words
    numbers = sequences(found.of_texts(["lung cancer", "cancer lung", "lung cancer", ""]))
    assert numbers[0] == numbers[2] != numbers[1]
    assert numbers[3] == 0


def test_arrays_come_back(words: tuple[Dictionary, Words]) -> None:
    dictionary, found = words
    again = Words.from_arrays(found.arrays())
    again.check(len(dictionary.names), len(dictionary))
    assert list(again.texts) == list(found.texts)
    assert np.array_equal(again.names.indices, found.names.indices)
    with pytest.raises(ValueError, match="lists of rows"):
        again.check(len(dictionary.names) + 1, len(dictionary))

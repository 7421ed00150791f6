"""What a training is made of: the names with and without the mentions, and fingerprints of both."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from linker import Dictionary

from .small import MENTIONS, data_of


def test_names_of_the_dictionary_and_mentions_indexed_behind_them(dictionary: Dictionary) -> None:
    data = data_of(dictionary)
    names = list(data.table.texts)
    assert sorted(names) == sorted({*dictionary.names})
    assert list(data.indexed.table.texts)[: len(names)] == names
    assert list(data.indexed.table.texts)[len(names) :] == [
        text for text, _ in MENTIONS if text != "mass"
    ]
    plain = data_of(dictionary, extend=False)
    assert plain.names is plain.indexed


def test_fingerprints_change_with_what_they_are_of(dictionary: Dictionary) -> None:
    data, fewer = data_of(dictionary), data_of(dictionary, MENTIONS[1:])
    assert data.fingerprint_of_names() == fewer.fingerprint_of_names()
    assert data.fingerprint_of_mentions() == data_of(dictionary).fingerprint_of_mentions()
    one, other = data.fingerprint_of_mentions(), fewer.fingerprint_of_mentions()
    assert {name for name in one if one[name] != other[name]} == {"mentions", "indexed"}

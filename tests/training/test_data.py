"""What a training is made of: the names with and without the mentions, and fingerprints of both."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

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
    plain = data_of(dictionary, None)
    assert plain.names is plain.indexed


def test_fingerprints_change_with_what_they_are_of(dictionary: Dictionary) -> None:
    one, other = (
        data_of(dictionary, mentions).fingerprint() for mentions in (MENTIONS, MENTIONS[1:])
    )
    assert one == data_of(dictionary).fingerprint()
    assert {name for name in one if one[name] != other[name]} == {"mentions", "indexed"}

"""Annotated mentions that are found again among the names of a dictionary."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary
from linker.dictionary.columns import annotations_of
from linker.text.normalize import normalize


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    (tmp_path / "d.tsv").write_text("id\tname\tsynonyms\nD1\tFever\tfevers|hot\nD2\tcold\thot\n")
    return Dictionary.read(tmp_path / "d.tsv")


def test_mentions_that_were_added_are_found_again(dictionary: Dictionary) -> None:
    mentions = [
        ("Pyrexia", "D1"),
        ("pyrexia", "D1"),
        ("pyrexia", "D1"),
        ("hot", "D1"),
        ("hot", "D2"),
        ("hot", "D2"),
        ("pyrexia", "D2"),
    ]
    added = dictionary.add([(text, (identifier,)) for text, identifier in mentions], normalize)
    again = annotations_of(added.columns.names, normalize)
    forms = Counter(
        (normalize(text), dictionary.rows(identifier)[0]) for text, identifier in mentions
    )
    found: Counter[tuple[str, int]] = Counter()
    for (text, concept), times in again.items():
        found[normalize(text), concept] += times
    assert found == forms
    assert {text for text, _ in again} == {"Pyrexia", "pyrexia", "hot"}


def test_adding_what_was_found_gives_the_same_names_and_counts(dictionary: Dictionary) -> None:
    mentions = [("Pyrexia", ("D1",)), ("pyrexia", ("D1",)), ("fever", ("D1",)), ("hot", ("D2",))]
    added = dictionary.add(2 * mentions, normalize)
    again = annotations_of(added.columns.names, normalize)
    same = dictionary.add(
        [
            (text, (dictionary.ids[concept],))
            for (text, concept), times in again.items()
            for _ in range(times)
        ],
        normalize,
    )
    for one, other in ((added, same),):
        assert sorted(one.names) == sorted(other.names)
        assert np.array_equal(
            np.sort(one.columns.names.annotated), np.sort(other.columns.names.annotated)
        )  # type: ignore[call-overload,arg-type]


def test_a_dictionary_without_annotations(dictionary: Dictionary) -> None:
    assert annotations_of(dictionary.columns.names, normalize) == Counter()

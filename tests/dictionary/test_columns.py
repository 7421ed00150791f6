"""The arrays of a dictionary: what is saved under which name, what does not fit, and annotations."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from linker import Dictionary
from linker.dictionary.columns import Columns, annotations_of
from linker.io.persistence import Strings
from linker.text.normalize import normalize

ARRAYS: dict[str, NDArray[np.generic]] = {
    **Strings.of(["A:1", "A:2"]).arrays("id"),
    "id.rank": np.array([0, 1], np.int32),
    "preferred": np.array([0, 2], np.int32),
    **Strings.of(["", "an infection"]).arrays("definition"),
    **Strings.of(["X:1", ""]).arrays("xrefs"),
    "types.indptr": np.array([0, 0, 2], np.int64),
    "types.indices": np.array([1, 2], np.int32),
    "parents.indptr": np.array([0, 0, 1], np.int32),
    "parents.indices": np.array([0], np.int32),
    **Strings.of(["fever", "heat", "flu"]).arrays("name"),
    "name.concept": np.array([0, 0, 1], np.int32),
    "name.kind": np.array([0, 1, 0], np.uint8),
    "name.source": np.array([0, 0, 0], np.int32),
    "name.language": np.array([0, 0, 0], np.int32),
    "name.case": np.array([False, True, False]),
    **Strings.of(["A:9"]).arrays("old"),
    "old.status": np.array([2], np.uint8),
    "old.indptr": np.array([0, 2], np.int64),
    "old.indices": np.array([0, 1], np.int32),
}
ANNOTATED = {"name.annotated": np.array([0, 3, 1], np.int32)}
LENT = {"name.lent": np.array([False, True, False])}


@pytest.mark.parametrize("more", [{}, ANNOTATED, LENT, ANNOTATED | LENT])
def test_columns_are_saved_under_the_names_that_they_were_read_by(
    more: dict[str, NDArray[np.generic]],
) -> None:
    columns = Columns.from_arrays(ARRAYS | more)
    columns.check(3)
    saved = columns.arrays()
    assert saved.keys() == (ARRAYS | more).keys()
    assert all(saved[name] is values for name, values in (ARRAYS | more).items())


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "preferred"])
def test_a_column_that_is_too_short_is_refused(name: str) -> None:
    columns = Columns.from_arrays(ARRAYS | {name: ARRAYS[name][:-1]})
    with pytest.raises(ValueError):
        columns.check(3)


@pytest.mark.parametrize("values", [np.array([1, 2], np.int32), np.array([0.5, 1, 2])])
@pytest.mark.parametrize("name", ["name.annotated", "name.lent"])
def test_an_optional_column_that_does_not_fit_is_refused(
    name: str, values: NDArray[np.generic]
) -> None:
    with pytest.raises(ValueError, match=name):
        Columns.from_arrays(ARRAYS | {name: values}).check(3)


def test_missing_columns_and_labels_are_named() -> None:
    with pytest.raises(ValueError, match="a list names a row that is not there"):
        Columns.from_arrays(ARRAYS).check(2)
    with pytest.raises(KeyError, match=r"name\.case"):
        Columns.from_arrays({name: v for name, v in ARRAYS.items() if name != "name.case"})


def test_names_are_appended_and_say_whether_they_are_lent() -> None:
    names = Columns.from_arrays(ARRAYS | ANNOTATED).names
    plain = names.append(["ague"], [0], 6)
    assert (list(plain.texts), plain.lent) == (["fever", "heat", "flu", "ague"], None)
    assert (plain.concept.tolist(), plain.kind.tolist()) == ([0, 0, 1, 0], [0, 1, 0, 6])
    lent = names.append(["ague", "grippe"], [0, 1], [1, 2], [1, 2], lent=True)
    assert lent.annotated is not None
    assert lent.annotated.tolist() == [0, 3, 1, 0, 0]
    assert (lent.source.tolist(), lent.kind.tolist()) == ([0, 0, 0, 1, 2], [0, 1, 0, 1, 2])
    lent.check(2, 3)
    more = lent.append(["again"], [1], 6)
    kept = more.take(np.array([0, 4, 5]))
    assert list(kept.texts) == ["fever", "grippe", "again"]
    assert kept.lent is not None
    assert kept.lent.tolist() == [False, True, False]


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    (tmp_path / "d.tsv").write_text("id\tname\tsynonyms\nD1\tFever\tfevers|hot\nD2\tcold\thot\n")
    return Dictionary.read(tmp_path / "d.tsv")


def test_mentions_that_were_added_are_found_again(dictionary: Dictionary) -> None:
    mentions = [("Pyrexia", "D1"), ("pyrexia", "D1"), ("pyrexia", "D1"), ("hot", "D1")]
    mentions += [("hot", "D2"), ("hot", "D2"), ("pyrexia", "D2"), ("fever", "D1")]
    added = dictionary.add([(text, (identifier,)) for text, identifier in mentions], normalize)
    again = annotations_of(added.columns.names, normalize)
    found: Counter[tuple[str, str]] = Counter()
    for (text, concept), times in again.items():
        found[normalize(text), dictionary.ids[concept]] += times
    assert found == Counter((normalize(text), identifier) for text, identifier in mentions)
    assert {text for text, _ in again} == {"Pyrexia", "pyrexia", "hot", "fever"}

"""Holding names out of a dictionary, and telling two linkers apart by them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linker import Dictionary, Linker
from linker.text.normalize import normalize
from linker.training import trial


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    """300 concepts of three names, of which one is written in two ways; "shared" is a name of all, and one preferred name a synonym."""
    lines = [f"X:{i}\tname {i}\tother {i}|Other {i}!|third {i}|shared" for i in range(300)]
    (tmp_path / "d.tsv").write_text("id\tname\tsynonyms\n" + "\n".join(lines) + "\nY:1\tname 0\t\n")
    return Dictionary.read(tmp_path / "d.tsv")


def test_names_are_held_out_that_other_names_of_their_concept_remain_of(
    dictionary: Dictionary,
) -> None:
    held = trial.hold_out(dictionary, normalize, seed=0)
    assert held
    assert len(held.names) == 0.2 * 600
    assert len(set(held.concepts.tolist())) == len(held.names)
    left = {normalize(text) for text in held.dictionary.names}
    assert not left & set(held.names)
    assert left | set(held.names) == {normalize(text) for text in dictionary.names}
    for name, row in zip(held.names, held.concepts.tolist(), strict=True):
        assert name in (f"other {row}", f"third {row}")
        assert (
            held.dictionary.preferred_name(row) == dictionary.preferred_name(row) == f"name {row}"
        )
    assert trial.hold_out(dictionary, normalize, seed=0).names == held.names  # type: ignore[union-attr]
    assert trial.hold_out(dictionary, normalize, seed=1).names != held.names  # type: ignore[union-attr]


def test_lent_names_are_never_held_out(dictionary: Dictionary, tmp_path: Path) -> None:
    lines = [f"Z:{i}\tlent {i}\tX:{i}" for i in range(300)]
    lender = tmp_path / "lender.tsv"
    lender.write_text("id\tname\txrefs\n" + "\n".join(lines) + "\n")
    held = trial.hold_out(dictionary.lend(lender), normalize, seed=0)
    assert held
    assert held.names == trial.hold_out(dictionary, normalize, seed=0).names  # type: ignore[union-attr]
    assert len(held.dictionary.lent_rows) == 300


def test_too_few_names_tell_nothing(tmp_path: Path) -> None:
    lines = [
        f"X:{i}\tname {i}\tother {i}" if i < 249 else f"X:{i}\tname {i}\t" for i in range(1000)
    ]
    (tmp_path / "d.tsv").write_text("id\tname\tsynonyms\n" + "\n".join(lines) + "\n")
    assert (
        trial.hold_out(Dictionary.read(tmp_path / "d.tsv"), normalize, 0) is None
    )  # a fifth of 249 is 49


def test_what_is_right_is_the_concept_that_stands_first(dictionary: Dictionary) -> None:
    held = trial.hold_out(dictionary, normalize, seed=0)
    assert held
    assert held.right(Linker.train(dictionary)).all()  # which knows them
    some = held.right(Linker.train(held.dictionary))
    found = Linker.train(held.dictionary).link(held.names, k=1)
    assert some.tolist() == [
        p.parts[0].candidates[0].concept_id == f"X:{row}"
        for p, row in zip(found, held.concepts, strict=True)
    ]
    assert not some.all()


@pytest.mark.parametrize(
    ("dense", "winner", "factor"),
    [
        ({0.5: 9, 1.0: 5, 2.0: 5, 4.0: 5, 8.0: 5}, "dense × 0.5", 0.5),
        (
            {0.5: 6, 1.0: 8, 2.0: 8, 4.0: 7, 8.0: 7},
            "dense × 2.0",
            2.0,
        ),  # of equal ones that nearer to characters
        (
            {0.5: 1, 1.0: 2, 2.0: 3, 4.0: 7, 8.0: 6},
            "sparse",
            4.0,
        ),  # one more is no more than its standard error
        ({0.5: 1, 1.0: 2, 2.0: 3, 4.0: 4, 8.0: 5}, "sparse", 8.0),
    ],
)
def test_the_linker_that_is_right_more_often_is_taken(
    dense: dict[float, int], winner: str, factor: float
) -> None:
    """Characters get 6 of 10 right, and the others the first so many too: what differs is one standard error from 1 on, √4 from 4."""
    sparse: Any = SimpleNamespace(name="sparse", count=6)

    def weighted(by: float) -> Any:
        return SimpleNamespace(name=f"dense × {by}", count=dense[by])

    trained: Any = SimpleNamespace(weighted=weighted, by_characters=lambda: sparse)
    found = trial.compare(trained, lambda linker: np.arange(10) < linker.count)  # type: ignore[attr-defined]
    assert found.linker.name == winner  # type: ignore[attr-defined]
    assert (found.mentions, found.sparse, found.dense, found.factor) == (
        10,
        6,
        dense[factor],
        factor,
    )


def test_wins_are_weighed_against_what_goes_either_way() -> None:
    """Two more of 100 right: enough where nothing else differs (2 > √2), too little where 3 are lost and 5 won (2 < √8)."""
    sparse: Any = SimpleNamespace(right=[*range(10, 60)])

    def compared(right: list[int]) -> str:
        dense: Any = SimpleNamespace(
            weighted=lambda by: SimpleNamespace(right=right, name="dense"),
            by_characters=lambda: sparse,
        )
        linker: Any = trial.compare(
            dense, lambda linker: np.isin(np.arange(100), linker.right)
        ).linker  # type: ignore[attr-defined]
        return "sparse" if linker is sparse else "dense"

    assert compared([*range(10, 62)]) == "dense"
    assert compared([*range(13, 65)]) == "sparse"

"""`id||name` dictionaries."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from linker.io import biosyn

from .conftest import refused

Row = tuple[str, tuple[str, ...], list[str]]


def rows(tmp_path: Path, *lines: str) -> list[Row]:
    path = tmp_path / "dictionary.txt"
    path.write_text("\n".join(lines) + "\n")
    return [(c.id, c.alt_ids, [n.text for n in c.names]) for c in biosyn.read(path)]


def test_several_ids_and_names_a_line(tmp_path: Path) -> None:
    assert rows(tmp_path, "D900001|900001||Sheep Fever, Acute|SF| |SF", "C900002||Goat Fever") == [
        ("MESH:D900001", ("OMIM:900001",), ["Sheep Fever, Acute", "SF"]),
        ("MESH:C900002", (), ["Goat Fever"]),
    ]
    sheep, _ = biosyn.read(tmp_path / "dictionary.txt")
    assert [n.kind for n in sheep.names] == ["preferred", "exact"]
    assert (sheep.namespace, sheep.parents, sheep.line) == ("MESH", (), 1)


def test_lines_of_the_same_ids_are_one_concept(tmp_path: Path) -> None:
    first = ("D900001|900001||sheep fever", "D900002||goat fever")
    assert rows(tmp_path, *first, "D900001|900001||sf", "D900001||ovine fever") == [
        ("MESH:D900001", ("OMIM:900001",), ["sheep fever", "sf", "ovine fever"]),
        ("MESH:D900002", (), ["goat fever"]),
    ]


def test_ids_in_a_row_of_other_lines_are_an_ambiguous_name(tmp_path: Path) -> None:
    first = ("D900001|900001|D900002||sf", "D900001|900001||sheep fever")
    assert rows(tmp_path, *first, "D900002||swine fever", "D900003|900003||sf 3") == [
        ("MESH:D900001", ("OMIM:900001",), ["sheep fever", "sf"]),
        ("MESH:D900002", (), ["swine fever", "sf"]),
        ("MESH:D900003", ("OMIM:900003",), ["sf 3"]),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "D900001 sheep fever",
        "||sheep fever",
        "D900001|||sheep fever",
        "D900001| ||sheep fever",
        "D900001||",
        "D900001||" + "a" * 5001,
    ],
)
def test_bad_lines_stop_or_are_skipped(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(f"{line}\n\nD900009||good\n")
    assert [c.id for c in refused(biosyn.read, path, 1)] == ["MESH:D900009"]


@pytest.mark.data
def test_the_processed_dictionary_of_biosyn(data: Path, tmp_path: Path) -> None:
    with tarfile.open(data / "biosyn-ncbi-disease" / "ncbi-disease.tar.gz") as archive:
        member = archive.extractfile("ncbi-disease/train_dictionary.txt")
        assert member is not None
        text = io.TextIOWrapper(member, encoding="utf-8").read()
    path = tmp_path / "train_dictionary.txt"
    path.write_text(text, encoding="utf-8")
    concepts = list(biosyn.read(path))
    assert len({n.text for c in concepts for n in c.names}) == 71_924
    assert len(concepts) == len({c.id for c in concepts}) == 11_843
    released = {c.id: c.alt_ids for c in biosyn.read(data / "medic" / "medic_06Jul2012.txt.gz")}
    assert (len(released), sum(map(bool, released.values()))) == (11_915, 3_026)
    assert {c.id for c in concepts} <= released.keys()  # the 72 others share all their names
    assert sum(released[c.id] == c.alt_ids for c in concepts) == 11_681

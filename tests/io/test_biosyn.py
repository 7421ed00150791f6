"""`id||name` dictionaries."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linker.errors import InputError, Skip
from linker.io import biosyn
from linker.records import GoldGroup, Mention

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


def folder(path: Path) -> Path:
    (path / "7.concept").write_text(
        "7||0|4||SpecificDisease||gout||D006073\n7||9|30||CompositeMention||breast cancer|ovarian cancer||D001943|D010051\n"
    )
    (path / "12.concept").write_text(
        "12||5|9||DiseaseClass||ochronotic|arthropathy|| D009794+190300\n12||11|12||Modifier||x||-1\n"
    )
    (path / "notes.txt").write_text("not read")
    return path


def test_folder(tmp_path: Path) -> None:
    first, second = biosyn.read_mentions(folder(tmp_path))
    assert [first.id, second.id] == ["12", "7"]
    assert second.mentions[0] == Mention(
        "gout",
        ((0, 4),),
        (GoldGroup(("MESH:D006073",)),),
        "SpecificDisease",
        "7",
        metadata={"concept:ids": "D006073"},
    )
    assert [m.gold for m in first.mentions] == [
        (GoldGroup(("MESH:D009794", "OMIM:190300"), "all_of"),),
        (),
    ]
    assert second.mentions[1].text == "breast cancer|ovarian cancer"
    assert second.mentions[1].gold == (GoldGroup(("MESH:D001943",)), GoldGroup(("MESH:D010051",)))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1||0|4||A||gout", "the line is not a mention: '1||0|4||A||gout'; expected"),
        ("1||0-4||A||gout||D1", "the line is not a mention"),
        ("1||0|4||A|| ||D1", "the mention is empty"),
        ("", "the line is not a mention: ''"),
    ],
)
def test_bad_lines_of_concept_files(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "1.concept"
    path.write_text(f"{line}\n1||0|4||A||gout||D1\n")
    (document,) = refused(biosyn.read_mentions, path, 1)
    assert len(document.mentions) == 1


def test_a_damaged_file_of_a_folder_is_passed_over_whole(tmp_path: Path) -> None:
    line = "{}||0|4||Disease||gout||D006073\n"
    lines = "".join(map(line.format, range(10_000, 15_000)))  # read in several pieces
    (tmp_path / "a.concept").write_bytes(gzip.compress(lines.encode())[:-20])
    (tmp_path / "b.concept").write_text(line.format(2))
    with pytest.raises(InputError):
        list(biosyn.read_mentions(tmp_path))
    skip = Skip()
    documents = list(biosyn.read_mentions(tmp_path, on_error=skip))
    assert [document.id for document in documents] == ["2"]
    assert (skip.files, skip.count) == ([str(tmp_path / "a.concept")], 0)

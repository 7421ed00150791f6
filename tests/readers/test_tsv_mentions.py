"""Mentions with ids in two columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.errors import InputError, Skip
from linker.readers import tsv
from linker.types import GoldGroup, Mention

GOUT = Mention("gout", gold=(GoldGroup(("MESH:D006073",)),))


def read(folder: Path, text: str, **options: Skip) -> list[Mention]:
    path = folder / "x.tsv"
    path.write_bytes(text.encode())
    return list(tsv.read(path, **options))


@pytest.mark.parametrize("header", ["", "mention\tid\n", "Mention\tconcept_id\tnote\r\n", "\ufeffmention\tid\n"])
def test_header_or_not(tmp_path: Path, header: str) -> None:
    assert read(tmp_path, f"{header}gout\tD006073\r\n") == [GOUT]


def test_ids_of_every_kind(tmp_path: Path) -> None:
    mentions = read(tmp_path, "a\tD1|MESH:D2\tignored\nb\tD000001+D000002\nc\t-1\nd\t\n")
    assert [m.gold for m in mentions] == [
        (GoldGroup(("D1",)), GoldGroup(("MESH:D2",))),
        (GoldGroup(("MESH:D000001", "MESH:D000002"), "all_of"),),
        (),
        (),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gout", "line 1: the line has 1 column: 'gout'; expected mention<TAB>id; add the id (-1 for no concept), or read the file as txt"),
        ("", "line 1: the line has 1 column: ''"),
        ("\tD006073", "line 1: the mention is empty"),
        ("a" * 1_001 + "\tD006073", "line 1: the mention has 1,001 characters"),
        (
            "mention\tpart\tconcept_id",
            "line 1: the header is not known: 'mention\\tpart\\tconcept_id'; expected mention<TAB>id; name the second",
        ),
        ("mention", "line 1: the header is not known: 'mention'"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"{line}\ngout\tD006073\n")
    assert f"{tmp_path / 'x.tsv'}, {message}" in str(caught.value)
    assert read(tmp_path, f"{line}\ngout\tD006073\n", on_error=Skip()) == [GOUT]


def test_long_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: the line has more than 100,000 characters"):
        read(tmp_path, "gout\t" + "D" * 200_000)

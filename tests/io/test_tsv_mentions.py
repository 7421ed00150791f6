"""Mentions with ids in two columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.io import tsv
from linker.records import GoldGroup, Mention

from .conftest import refused

GOUT = Mention("gout", gold=(GoldGroup(("D006073",)),))


def read(folder: Path, text: str) -> list[Mention]:
    path = folder / "x.tsv"
    path.write_bytes(text.encode())
    return list(tsv.read(path))


def test_ids_of_every_kind(tmp_path: Path) -> None:
    mentions = read(tmp_path, "a\tD1|MESH:D2\tignored\nb\tD000001+D000002\nc\t-1\nd\t\n")
    assert [m.gold for m in mentions] == [
        (GoldGroup(("D1",)), GoldGroup(("MESH:D2",))),
        (GoldGroup(("D000001", "D000002"), "all_of"),),
        (),
        (),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "gout",
        "a" * 1001 + "\tD006073",
        "mention\tcui",
        "mention",
        "25763772\t0\t5\tDCTN4\tT103\tC0000001",
    ],
)
def test_bad_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(f"{line}\ngout\tD006073\n")
    assert refused(tsv.read, path, 1) == [GOUT]


@pytest.mark.parametrize(
    "text",
    [
        "mention\tid\n\tD001249\ngout\tD006073\n \t\n",
        "mention,id\n,D001249\ngout,D006073\n\n",
        "gout\tD006073\n\tD001249\n\n",
    ],
)
def test_a_blank_cell_is_an_empty_row(tmp_path: Path, text: str) -> None:
    empty = Mention("")  # not annotated: nothing is learnt of it
    mentions = read(tmp_path, text)
    assert len(mentions) == 3
    assert [m for m in mentions if m.text] == [GOUT]
    assert mentions.count(empty) == 2


@pytest.mark.parametrize(
    "text",
    [
        "gout\tD006073\r\n",
        "mention\tid\ngout\tD006073\r\n",
        "\ufeffMention\tconcept_id\tnote\r\ngout\tD006073\r\n",
        "document\tconcept_id\tMention\n1\tD006073\tgout\n",
        "mention\tpart\tconcept_id\ngout\tgo\tD006073\n",
        "id,mention\nD006073,gout\n",
        'doc,"Mention","Gold"\r\n1,"gout","D006073"\r\n',
        "\ufeffmention,id\ngout,D006073\n",
    ],
)
def test_columns_are_found_by_their_names(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [GOUT]

"""Mentions in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linker.errors import InputError, LinkerError, Skip
from linker.io import mentions
from linker.records import Mention, Selection

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")


def write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "m",
        id=[1, 2],
        mention=[" gout ", "AT"],
        document_id=[7, None],
        type=["Disease", None],
        gold=["D006073", None],
        spans=[[[0, 4]], None],
        under=[None, ["D001"]],
    )
    assert mentions.detect(path) == "parquet"
    first, second = mentions.read(path)
    assert isinstance(first, Mention)
    assert (first.text, first.document_id, first.type, first.spans) == (
        *("gout", "7", "Disease"),
        ((0, 4),),
    )
    assert first.gold is not None
    assert first.gold[0].ids == ("D006073",)
    assert second == Mention("AT", within=Selection(under=("D001",)))


def test_the_column_of_mentions(tmp_path: Path) -> None:
    path = write(tmp_path / "m", name=["gout"], text=["asthma"], other=[1])
    assert [m.text for m in mentions.read(path)] == ["asthma"]
    assert [m.text for m in mentions.read(path, column="name")] == ["gout"]
    for column in ("nom", "other"):
        with pytest.raises(InputError):
            list(mentions.read(path, column=column))
    (tmp_path / "m.txt").write_text("gout\n")
    with pytest.raises(LinkerError):
        list(mentions.read(tmp_path / "m.txt", column="name"))


def test_bad_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "m", mention=["gout", None, " ", "x" * 1001, "asthma"])
    skip = Skip()
    assert [m.text for m in mentions.read(path, on_error=skip)] == ["gout", "asthma"]
    assert skip.count == 3
    with pytest.raises(InputError):
        list(mentions.read(path))


def test_damaged_files(tmp_path: Path) -> None:
    path = write(tmp_path / "m", mention=["gout"] * 100)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(InputError):
        list(mentions.read(path))
    (tmp_path / "t").write_text("gout\n")
    with pytest.raises(InputError):
        list(mentions.read(tmp_path / "t", "parquet"))

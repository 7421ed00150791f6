"""Mentions in Parquet files."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linker.errors import InputError, LinkerError, Skip
from linker.io import mentions, tsv
from linker.io.outputs import FIELDS, Layout
from linker.records import Candidate, Document, Mention, Part, Prediction, Selection

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
    path = write(tmp_path / "m", mention=["gout", "x" * 1001, "asthma"])
    skip = Skip()
    assert [m.text for m in mentions.read(path, on_error=skip)] == ["gout", "asthma"]
    assert skip.count == 1
    with pytest.raises(InputError):
        list(mentions.read(path))
    numbers = write(tmp_path / "n", diagnosis=[1])
    with pytest.raises(InputError, match="'diagnosis' is not a text"):  # as users call it
        list(mentions.read(numbers, column="diagnosis"))


def test_a_null_is_an_empty_row(tmp_path: Path) -> None:
    path = write(tmp_path / "m", mention=["gout", None, " ", "asthma"], gold=["1", "2", "3", "4"])
    read = list(mentions.read(path))
    assert [mention.text for mention, _ in mentions.flatten(read)] == ["gout", "", "", "asthma"]
    assert read[1:3] == [Mention(""), Mention("")]  # not annotated
    nulls = write(tmp_path / "n", mention=pa.nulls(2))
    assert list(mentions.read(nulls)) == [Mention(""), Mention("")]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted on Linux")
def test_no_thread_of_arrow_reads_a_file_of_python(tmp_path: Path) -> None:
    # one that lets go of what it read when the interpreter ends aborts the process (SIGABRT)
    path = write(tmp_path / "m.parquet", mention=["gout"] * 50_000)
    script = """if True:
        import pathlib, sys
        import pyarrow.parquet
        from linker.io import mentions
        def threads():
            names = [p.joinpath("comm").read_text() for p in pathlib.Path("/proc/self/task").iterdir()]
            return len([name for name in names if not name.startswith("jemalloc")])
        before = threads()
        next(mentions.read(sys.argv[1], "parquet"))
        sys.exit(threads() - before)
        """
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 0


pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

GOUT = Candidate("MESH:D006073", "Gout", "gout", 0.875, source="do.obo", confidence=0.5)
AGED = Candidate("MESH:D1", "Aged", "old", 0.25)
ITEMS: list[Any] = [
    (None, [Prediction(Mention("gout or so"), (Part("gout", candidates=(GOUT, AGED)),))]),
    (
        Document("7"),
        [
            Prediction(
                Mention("x and y", ((0, 1), (6, 7))),
                (Part("x", nil=True, rejected=GOUT), Part("y", nil=True, assertion="absent")),
            )
        ],
    ),
]


def packed(items: list[Any]) -> bytes:
    file = io.BytesIO()
    layout = Layout(documents=True, sources=True, decisions=True)
    assert tsv.write_parquet(iter(items), file, layout) == len(items)
    return file.getvalue()


def test_rows() -> None:
    table = pq.read_table(io.BytesIO(packed(ITEMS)))
    assert table.schema.names == [
        "number",
        *(field.name for field in FIELDS if field.shown not in ("also", "sets", "broader")),
    ]
    first = ("MESH:D006073", "Gout", 0.875, "gout", 1, 0.5)
    second = ("MESH:D1", "Aged", 0.25, "old", 2, None)
    none, place, said = (None,) * 5, ("7", "0-1;6-7"), (None, "model", None, None, None)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (1, "gout or so", "gout", *first, None, None, "do.obo", None, None, *said),
        (1, "gout or so", "gout", *second, None, None, None, None, None, *said),
        (2, "x and y", "x", *none, 0.5, *place, None, "MESH:D006073", None, *said),
        (2, "x and y", "y", *none, None, *place, None, None, "absent", *said),
    ]


def test_equal_predictions_are_equal_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert packed(ITEMS) == packed(ITEMS)
    monkeypatch.setattr(tsv, "_ROWS", 2)
    assert pq.ParquetFile(io.BytesIO(packed(ITEMS))).num_row_groups == 2
    assert pq.read_table(io.BytesIO(packed([]))).num_rows == 0

"""Predictions as flat rows of a Parquet file."""

from __future__ import annotations

import io
from typing import Any

import pytest

from linker.io import tsv
from linker.io.outputs import FIELDS
from linker.records import Candidate, Document, Mention, Part, Prediction

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


def written(items: list[Any]) -> bytes:
    file = io.BytesIO()
    assert tsv.write_parquet(iter(items), file) == len(items)
    return file.getvalue()


def test_rows() -> None:
    table = pq.read_table(io.BytesIO(written(ITEMS)))
    assert table.schema.names == ["number", *(field.name for field in FIELDS[:-1])]
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
    assert written(ITEMS) == written(ITEMS)
    monkeypatch.setattr(tsv, "_ROWS", 2)
    assert pq.ParquetFile(io.BytesIO(written(ITEMS))).num_row_groups == 2
    assert pq.read_table(io.BytesIO(written([]))).num_rows == 0

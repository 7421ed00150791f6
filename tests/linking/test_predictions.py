"""Answers as data frames, HTML and lines for notebooks."""

from __future__ import annotations

import sys

import pytest

from linker import (
    Candidate,
    Decision,
    LinkerError,
    Mention,
    Part,
    Prediction,
    Predictions,
)
from linker.io.outputs import FIELDS
from linker.io.tsv import COLUMNS

GOUT = Candidate("A:1", "Gout", "podagra <b>", 0.5, 0.5, confidence=0.25)
TEA = Candidate("A:2", "Tea", "tea", 0.25)
PARTS = (Part("a", candidates=(GOUT, TEA)), Part("b", nil=True, rejected=TEA))
PREDICTION = Prediction(Mention("a & b"), PARTS)
ROWS = [
    ["a & b", "a", "A:1", "Gout", 0.5, "podagra <b>", 1, 0.25, None, None],
    ["a & b", "a", "A:2", "Tea", 0.25, "tea", 2, None, None, None],
    ["a & b", "b", None, None, None, None, None, None, "A:2", None],
]


def test_a_frame_has_the_rows_of_a_tsv() -> None:
    pytest.importorskip("pandas")
    frame = Predictions([PREDICTION]).to_frame()
    assert list(frame) == [*COLUMNS, "rejected", "assertion"]
    assert frame.astype(object).where(frame.notna(), None).values.tolist() == ROWS
    assert Predictions().to_frame().columns.tolist() == [*COLUMNS, "rejected", "assertion"]
    decided = Prediction(
        Mention("a", ((0, 1),), document_id="7"),
        (Part("a", candidates=(Candidate("A:1", "Gout", "gout", 1.0, source="decision"),)),),
        state="accepted",
        decisions=(Decision("a", "A:1", reviewer="ann", time="2026"),),
    )
    frame = Predictions([decided]).to_frame()
    assert list(frame) == [
        field.name for field in FIELDS if field.shown not in ("also", "sets", "broader")
    ]
    assert frame.reviewer.tolist() == ["ann"]


def test_a_frame_is_of_polars_where_pandas_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pandas", None)
    frame = Predictions([PREDICTION]).to_frame()
    assert isinstance(frame, polars.DataFrame)
    assert [list(row) for row in frame.rows()] == ROWS
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(LinkerError, match="pandas"):
        Predictions([PREDICTION]).to_frame()


def test_html_is_escaped() -> None:
    html = Predictions([PREDICTION] * 21)._repr_html_()
    assert html.count("<tr>") == 1 + 20 * 3
    assert "a &amp; b" in html
    assert "podagra &lt;b&gt;" in html
    assert "0.2500" in html
    assert html.endswith("</table><p>and 1 more</p>")

"""Columns of data frames, and texts in one line, on the sample dictionary."""

from __future__ import annotations

import math
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tqdm.auto  # noqa: F401 - which looks at IPython as it is

import linker
from linker import Linker, LinkerError
from linker.integrations import linker_of
from linker.integrations.frames import link_column
from linker.records import Mention, Prediction

COLUMNS = [
    *("concept_id", "name", "matched_name", "confidence", "rejected", "assertion", "state"),
    "source",
    *("broader", "broader_name"),
]
TEXTS = ["podagra", None, "hepatitis B/C", " ", "podagra ", "zzz"]
IDS = ["MESH:D006073", None, "MESH:D006509|MESH:D006526", None, "MESH:D006073", None]


@pytest.fixture(scope="module")
def model(sample_linker: Linker) -> Linker:
    return sample_linker


def test_a_frame_of_pandas_keeps_its_rows_index_and_types(model: Linker) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"diagnosis": pandas.Categorical(TEXTS), "n": pandas.array(range(6), "int8")},
        index=pandas.Index([3, 3, 1, 1, 0, 0], name="patient"),
    )
    linked = link_column(frame, "diagnosis", model, threshold=0.5)
    pandas.testing.assert_frame_equal(linked[["diagnosis", "n"]], frame)
    assert list(linked) == [*frame, *COLUMNS]
    assert list(frame) == ["diagnosis", "n"]
    assert [value if isinstance(value, str) else None for value in linked.concept_id] == IDS
    assert linked.name.tolist()[:3:2] == ["Gout", "Hepatitis B|Hepatitis C"]
    assert linked.confidence.dtype == "float64"
    parts = model.link("hepatitis B/C").parts
    assert linked.confidence.iloc[2] == math.prod(part.confidence or 0 for part in parts)
    assert linked.confidence.isna().tolist() == [False, True, False, True, False, True]
    assert linked.state.dropna().tolist() == ["model"] * 4
    counts, _, _ = linked.attrs["linker"][0].partition(";")
    assert counts == "6 rows: 3 linked, 0 unsure, 1 no concept, 2 empty"
    sets = link_column(frame, "diagnosis", model, coverage=0.9)
    assert [*sets][-4:-2] == ["set", "set_size"]
    assert sets.set_size.isna().tolist() == [False, True, False, True, False, False]  # by text
    assert any(line.startswith("sets for 0.9: ") for line in sets.attrs["linker"])
    genes = pandas.DataFrame({"a": [f"BRCA{number}" for number in range(20)]})
    assert link_column(genes, "a", model).attrs["linker"][-1].startswith("WARNING: ")


def test_cells_that_are_missing_have_missing_answers(model: Linker) -> None:
    pandas = pytest.importorskip("pandas")
    cells = [None, float("nan"), pandas.NA, pandas.NaT, "gout"]
    linked = link_column(pandas.DataFrame({"a": pandas.Series(cells, dtype=object)}), "a", model)
    assert linked.concept_id.isna().tolist() == [True] * 4 + [False]
    empty = pandas.DataFrame({"a": [float("nan")] * 2})  # as read from a file without a cell
    assert link_column(empty, "a", model).concept_id.isna().all()


def test_labels_are_taken_off(model: Linker) -> None:
    pandas = pytest.importorskip("pandas")
    cells = pandas.DataFrame({"a": ["Reason, own words - gout", "reason, own words"]})
    linked = link_column(cells, "a", model, labels=["Reason, own words"])
    assert linked.concept_id.tolist()[0] == "MESH:D006073"
    assert linked.concept_id.isna().tolist() == [False, True]


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_other_frames_and_more_candidates(model: Linker, package: str) -> None:
    library = pytest.importorskip(package)
    make = library.DataFrame if package == "polars" else library.table
    linked = link_column(make({"a": TEXTS[:3]}), "a", model, k=2, prefix="a_")
    assert isinstance(linked, type(make({"a": [""]})))
    columns = linked.to_dict(as_series=False) if package == "polars" else linked.to_pydict()
    assert list(columns) == ["a", *(f"a_{name}" for name in (*COLUMNS, "candidates"))]
    assert columns["a_concept_id"] == IDS[:3]
    gout, missing, both = columns["a_candidates"]
    hepatitis = [c.concept_id for p in model.link("hepatitis B/C", k=2).parts for c in p.candidates]
    assert (gout[0], len(gout), missing, both) == ("MESH:D006073", 2, None, hepatitis)


def test_a_frame_that_cannot_be_linked(model: Linker) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    good = pandas.DataFrame({"diagnosis": ["gout"], "n": [7], 1: ["gout"]})
    for frame, column, said in (
        (good, "x", "'x'; it has: diagnosis, n, 1"),
        (good, "n", "'n', row 0 "),
        (pandas.DataFrame({"a": ["gout", None, 7]}), "a", "'a', row 2 "),
        (good.assign(name=1), "diagnosis", "prefix='diagnosis_'"),
        (pandas.DataFrame([["gout", 1, 2]], columns=["a", "b", "b"]), "a", "name 'b'"),
        (arrow.table([["gout"], ["gout"]], names=["a", "a"]), "a", "name 'a'"),
        (polars.LazyFrame({"a": ["gout"]}), "a", "LazyFrame"),
        (["gout"], "a", "list"),
    ):
        with pytest.raises(LinkerError, match=re.escape(said)):
            link_column(frame, column, model)


def test_one_line_takes_the_model_that_the_command_would(
    model: Linker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINKER_MODEL", raising=False)
    with pytest.raises(LinkerError):
        linker.load().link("gout")
    model.save("linker-model")
    assert linker.load().link("podagra").parts == model.link("podagra").parts
    assert linker.load().link(["podagra"], k=1).to_dict() == model.link(["podagra"], k=1).to_dict()
    kept = linker_of(None)
    assert linker_of(tmp_path / "linker-model") is kept is linker_of(kept)
    frame = pandas.DataFrame({"a": ["podagra"]})
    assert link_column(frame, "a", kept).concept_id.tolist() == ["MESH:D006073"]
    os.rename("linker-model", "moved")
    monkeypatch.setenv("LINKER_MODEL", "moved")
    assert link_column(frame, "a", k=1).name.tolist() == ["Gout"]
    model.with_ranker(None).save("moved")  # in its place
    assert linker_of(None) is not kept


def test_duckdb_calls_it_as_a_function(model: Linker) -> None:
    duckdb, arrow = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")

    def concept_id(texts: Any) -> Any:
        return link_column(arrow.table({"text": texts}), "text", model)["concept_id"]

    with duckdb.connect() as connection:
        connection.create_function(
            "concept_id", concept_id, ["VARCHAR"], "VARCHAR", type="arrow", null_handling="special"
        )
        connection.execute("CREATE TABLE notes (n INT, diagnosis VARCHAR)")
        connection.executemany("INSERT INTO notes VALUES (?, ?)", [*enumerate(TEXTS[:5])])
        rows = connection.execute("SELECT concept_id(diagnosis) FROM notes ORDER BY n").fetchall()
    assert [row[0] for row in rows] == IDS[:5]


@pytest.mark.parametrize(
    ("progress", "kernel", "count", "is_shown"),
    [
        (None, True, 1100, True),
        (None, True, 20, False),  # all at once
        (None, False, 1100, False),
        (False, True, 1100, False),
        (True, False, 20, True),
    ],
)
def test_a_bar_is_shown_in_a_notebook(
    model: Linker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    progress: bool | None,
    kernel: bool,
    count: int,
    is_shown: bool,
) -> None:
    shell = SimpleNamespace(config={"IPKernelApp": {}} if kernel else {})
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(
        model, "link", lambda texts, **_: (Prediction(Mention(t), ()) for t in texts)
    )
    frame = pytest.importorskip("pandas").DataFrame(
        {"text": [f"text {place}" for place in range(count)]}
    )
    link_column(frame, "text", model, progress=progress)
    assert (f"/{count} [" in capsys.readouterr().err) == is_shown

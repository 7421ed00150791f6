"""linker model: what it is, whether its files are whole, and the encoders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linker import Dictionary
from linker.training import pipeline
from linker.version import VERSION

Run = Callable[..., Any]


def test_a_whole_model(model: Path, run: Run) -> None:
    result = run("model", "verify", "--model", model)
    inside = [f for f in model.rglob("*") if f.is_file() and f.name != "manifest.json"]
    size = sum(f.stat().st_size for f in inside)
    said = f"{model}: {len(inside):,} files, {size:,} bytes, all as manifest.json says\n"
    assert result == (0, said, "")


def test_info_says_what_a_model_is(model: Path, run: Run) -> None:
    lines = run("model", "info", "--model", model).out.splitlines()
    facts = [line.split(maxsplit=1) for line in lines]
    assert facts[0] == ["folder", str(model)]
    said = dict(facts)
    assert said["encoder"] == "tfidf"
    assert said["dictionary"].startswith("sample_medic.tsv ")
    assert said["annotated"] == "0 mentions of 0 concepts"
    assert said["format"].endswith(f"written by linker {VERSION}")
    assert "ngram_max=" in said["sparse"]


def test_encode(run: Run, sample: Path, tmp_path: Path) -> None:
    names, model = tmp_path / "a.txt", tmp_path / "model"
    names.write_text("gout\nasthma\n", "utf-8")
    pipeline.train(Dictionary.read(sample), encoder="static").save(model)
    encode = ("model", "encode", names, "--model", model, "-o", tmp_path / "v.npy")
    assert run(*encode).code == 0
    assert np.load(tmp_path / "v.npy").shape[0] == 2


def test_ours(run: Run) -> None:
    result = run("model", "encoders")
    assert (result.code, result.err) == (0, "")
    assert "tfidf         Sparse: character n-gram TF-IDF; needs no download" in result.out

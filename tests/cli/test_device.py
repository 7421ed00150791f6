"""--device of the commands that link."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary
from linker import search as candidates
from linker.training import pipeline

from .conftest import Result

Run = Callable[..., Result]

NO_GPU = "the device is cuda, but torch finds no GPU; take auto or cpu"


@pytest.fixture(scope="module")
def vectors(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with vectors of the sample dictionary; not to be changed."""
    folder = tmp_path_factory.mktemp("vectors") / "model"
    pipeline.train(Dictionary.read(sample), encoder="static").save(folder)
    return folder


@pytest.fixture
def commands(sample: Path, tmp_path: Path) -> list[list[Any]]:
    """Commands that link, without their model."""
    text = tmp_path / "text.txt"
    text.write_text("She had breast cancer.", encoding="utf-8")
    mentions = sample.with_name("sample_mentions.tsv")
    return [
        ["link", mentions],
        ["link", mentions, "--workers", "2"],
        ["annotate", text],
        ["evaluate", mentions],
        ["serve", "--decisions", "none", "--port", "0"],
    ]


def test_without_a_gpu_they_say_so(
    run: Run, vectors: Path, commands: list[list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for command in commands:
        result = run(*command, "--model", vectors, "--device", "cuda")
        assert (result.code, result.out) == (1, "")
        assert NO_GPU in result.err


def test_without_torch_they_say_how_to_install_it(
    run: Run, vectors: Path, commands: list[list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(candidates, "torch_index", raising=False)
    for name in ("linker.search.torch_index", "linker.encoders.trainable"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    for command in commands:
        if "--workers" in command:  # others look for torch then
            continue
        result = run(*command, "--model", vectors, "--device", "cuda")
        assert result.code == 1
        assert "the device cuda needs torch, which is not installed: pip install" in result.err


def test_files_of_a_job_are_linked_by_workers_that_want_a_gpu(
    run: Run, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The GPUs may be those of other machines, so that the workers say whether there are any."""
    pytest.importorskip("torch")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("breast cancer\n", encoding="utf-8")
    job = ("link", tmp_path / "*.txt", "-o", tmp_path / "linked", "--model", vectors)
    result = run(*job, "--workers", "2", "--device", "cuda")
    assert result.code == 1
    assert NO_GPU in result.err


def test_an_evaluation_says_where_it_was_made(
    run: Run, vectors: Path, sample: Path, tmp_path: Path
) -> None:
    mentions = sample.with_name("sample_mentions.tsv")
    options = ("--model", vectors, "-o", tmp_path, "--device", "cpu")
    assert run("evaluate", mentions, *options).code == 0
    model = json.loads((tmp_path / "metrics.json").read_text("utf-8"))["model"]
    assert model["device"] == "cpu"

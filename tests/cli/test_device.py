"""--device of the commands that link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary
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

"""--device cuda of the commands that link, where there is no GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linker import Dictionary
from linker.training import pipeline

from .conftest import Result


@pytest.fixture(scope="module")
def vectors(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with vectors of the sample dictionary; not to be changed."""
    folder = tmp_path_factory.mktemp("vectors") / "model"
    pipeline.train(Dictionary.read(sample), encoder="static").save(folder)
    return folder


@pytest.mark.parametrize(
    "command",
    ["link {}", "link {} --workers 2", "annotate {}", "evaluate {}", "serve --port 0"],
)
def test_without_a_gpu_they_say_so(
    run: Callable[..., Result],
    vectors: Path,
    sample: Path,
    tmp_path: Path,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("LINKER_MODEL", str(vectors))
    mentions = "sample_documents.pubtator.txt" if "annotate" in command else "sample_mentions.tsv"
    arguments = command.format(sample.with_name(mentions)).split()
    result = run(*arguments, "--device", "cuda")
    assert (result.code, result.out) == (1, "")
    assert "the device is cuda, but torch finds no GPU; take auto or cpu" in result.err

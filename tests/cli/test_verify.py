"""linker verify: all files of a model are checked, whatever is remembered of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Linker
from linker.files import verified


@pytest.fixture
def model(tmp_path: Path, sample: Path) -> Path:
    Linker.train(Dictionary.read(sample), encoder="tfidf").save(tmp_path / "model")
    return tmp_path / "model"


def test_a_whole_model(model: Path, run: Callable[..., Any]) -> None:
    result = run("verify", "--model", model)
    inside = [f for f in model.rglob("*") if f.is_file() and f.name != "manifest.json"]
    size = sum(f.stat().st_size for f in inside)
    assert (result.code, result.err) == (0, "")
    assert (
        result.out == f"{model}: {len(inside):,} files, {size:,} bytes, all as manifest.json says\n"
    )


def test_what_is_remembered_is_checked_all_the_same(
    model: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files are damaged here, which only who does not trust sees."""
    monkeypatch.setattr(verified, "has_checksum", lambda *_, trust: trust)
    Linker.load(model)
    result = run("verify", "--model", model)
    assert result.code == 1
    assert result.err == (
        f"linker: {model}/README.md: differs from its checksum in manifest.json; "
        "the file was changed or damaged, train or save it again\n"
    )


def test_there_is_no_model(tmp_path: Path, run: Callable[..., Any]) -> None:
    result = run("verify", "--model", tmp_path / "none")
    assert (result.code, result.out) == (1, "")
    assert "there is no model here" in result.err

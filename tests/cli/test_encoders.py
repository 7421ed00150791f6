"""linker encoders: one line each."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def test_ours(run: Run) -> None:
    result = run("encoders")
    assert (result.code, result.err) == (0, "")
    assert "tfidf         Sparse: character n-gram TF-IDF; needs no download" in result.out


def test_a_plug_in_that_cannot_be_loaded_says_why(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = importlib.metadata.EntryPoint(
        "theirs", "no_such_package.encoder:Encoder", "linker.encoders"
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    lines = run("encoders").out.splitlines()
    assert (
        "theirs        (encoder 'theirs' needs no_such_package, which is not installed: install what no_such_package asks for)"
        in lines
    )


def test_each_has_a_line_of_its_own(run: Run) -> None:
    lines = [line.split(None, 1) for line in run("encoders").out.splitlines()]
    assert {name for name, _ in lines} >= {
        "tfidf",
        "transformer",
        "dan",
        "dan-higher",
        "fewshot",
        "bne",
        "bne-words",
    }
    assert len({text for _, text in lines}) == len(lines)

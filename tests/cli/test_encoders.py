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
    ours = run("encoders")
    values = {"bad": "os:Wrong", "theirs": "no_such_package.encoder:Encoder"}
    points = [
        importlib.metadata.EntryPoint(name, value, "linker.encoders")
        for name, value in values.items()
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    result = run("encoders")
    assert (result.code, result.out) == (0, ours.out)
    assert result.err.splitlines() == [
        "encoder 'bad': the package os names os:Wrong, which is not there; ask its authors",
        "encoder 'theirs': the package no_such_package names no_such_package.encoder:Encoder, "
        "and the module no_such_package is missing; ask its authors",
    ]


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

"""linker compare: evaluation folders, models, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    path.write_text("breast cancer\tD001943\nasthma\tD001249\nLouis-Bar syndrome\tD001260\n")
    return path


@pytest.fixture
def other(run: Run, sample: Path, tmp_path: Path) -> Path:
    """A model of the sample dictionary without one concept."""
    lines = sample.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if "MESH:D001249" not in line.split("\t")[1:2]]
    assert len(kept) == len(lines) - 1
    (tmp_path / "less.tsv").write_text("".join(kept), encoding="utf-8")
    command = ("train", "--dict", tmp_path / "less.tsv", "--encoder", "tfidf")
    assert run(*command, "-o", tmp_path / "other").code == 0
    return tmp_path / "other"


def test_two_models_and_two_evaluations(
    run: Run, trained: Path, other: Path, mentions: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "changed.tsv"
    models = run("compare", trained, other, "--mentions", mentions, "-o", changed)
    assert (models.code, models.err) == (0, "")
    assert "Acc@1   1.0000  0.6667  -0.3333" in models.out
    # depending on the threshold that training chose
    assert re.search("  right -> (concept_not_in_dictionary|no_candidate) +1", models.out)
    head, row = (line.split("\t") for line in changed.read_text("utf-8").splitlines())
    assert row[head.index("mention")] == "asthma"
    assert row[head.index("change")] == "right_to_wrong"
    for model, folder in ((trained, "a"), (other, "b")):
        assert run("evaluate", mentions, "--model", model, "-o", tmp_path / folder).code == 0
    folders = [tmp_path / "a", tmp_path / "b"]
    again = run("compare", *folders)
    assert again.out.splitlines()[2:] == models.out.splitlines()[2:]
    mixed = run("compare", tmp_path / "a", other, "--mentions", mentions, "--format", "json")
    record = json.loads(mixed.out)
    assert (record["a"], record["b"], record["n"]) == (str(tmp_path / "a"), str(other), 3)
    assert record["mcnemar"] == {"right_to_wrong": 1, "wrong_to_right": 0, "p": 1}


def test_what_is_refused(run: Run, trained: Path, mentions: Path, tmp_path: Path) -> None:
    assert run("evaluate", mentions, "--model", trained, "-o", tmp_path / "a").code == 0
    mentions.write_text(mentions.read_text().replace("asthma", "asthmas"))
    assert run("evaluate", mentions, "--model", trained, "-o", tmp_path / "b").code == 0
    result = run("compare", tmp_path / "a", tmp_path / "b")
    assert result.code == 1
    assert "number 2, 'asthma MESH:D001249' and 'asthmas MESH:D001249'" in result.err
    result = run("compare", trained, trained, "--mentions", mentions, "-o", mentions)
    assert (result.code, "is read and would be replaced" in result.err) == (1, True)

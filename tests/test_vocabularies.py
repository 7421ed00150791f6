"""A guard: mentions of several vocabularies are answered as often as was recorded, and no others.

What is recorded is benchmarks/results/vocabularies_guard.json, which
`python benchmarks/accuracy/vocabularies.py --guard` writes where the shipped weights have changed.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "benchmarks" / "results" / "vocabularies_guard.json"
ROWS = {
    row["vocabulary"]: row for row in json.loads(RECORDED.read_text("utf-8"))["figures"]["rows"]
}
LEAST_FALL = 0.02  # of a share that is no chance


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script whose figures are compared."""
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    return importlib.import_module("benchmarks.accuracy.vocabularies")


def has_fallen(now: list[int], before: list[int]) -> bool:
    """Whether a share, as how many of how many, is more than two points below an earlier one."""
    return now[0] / now[1] < before[0] / before[1] - LEAST_FALL


def test_a_fall_is_more_than_two_points() -> None:
    assert has_fallen([140, 300], [147, 300])
    assert not has_fallen([141, 300], [147, 300])
    assert not has_fallen([300, 300], [147, 300])


def test_every_group_is_guarded(benchmark: Any) -> None:
    assert tuple(ROWS) == benchmark.GUARDED
    guarded = {benchmark.TITLES[title].group for title in ROWS}
    assert guarded == {vocabulary.group for vocabulary in benchmark.VOCABULARIES}


@pytest.mark.data
@pytest.mark.parametrize("vocabulary", ROWS)
def test_no_vocabulary_falls(data: Path, benchmark: Any, vocabulary: str) -> None:
    row = benchmark.guarded(vocabulary)
    recorded = ROWS[vocabulary]
    assert not has_fallen(row["answered"], recorded["answered"]), (row, recorded)
    assert not has_fallen(row["told"], recorded["told"]), (row, recorded)

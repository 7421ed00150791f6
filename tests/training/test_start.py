"""Old checkpoints are forgotten before a training."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from linker.training import start
from linker.training.settings import RunSettings


def test_checkpoints_of_all_phases_are_removed_and_nothing_else(tmp_path: Path) -> None:
    phases = ["align", "ground", "rank", "refit"]
    for phase in phases:
        (tmp_path / phase / "00001-00000000").mkdir(parents=True)
        (tmp_path / phase / "mine").mkdir()
    start.clear_checkpoints(RunSettings(tmp_path))
    assert [path.name for phase in phases for path in (tmp_path / phase).iterdir()] == ["mine"] * 4
    start.clear_checkpoints(RunSettings())  # keeps none

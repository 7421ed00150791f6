"""The notebook of docs/ runs, and shows what it was saved with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbformat: Any = pytest.importorskip("nbformat")
nbclient: Any = pytest.importorskip("nbclient")
for package in ("ipykernel", "matplotlib", "pandas"):
    pytest.importorskip(package)
NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "notebook.ipynb"


def shown(notebook: Any) -> list[list[tuple[str, ...]]]:
    """What each cell shows: the kinds of its outputs, and the ids in them."""
    return [
        [
            (*sorted(output.get("data", {})), *sorted(re.findall(r"MESH:\w+", str(output))))
            for output in cell.get("outputs", [])
        ]
        for cell in notebook.cells
    ]


def test_the_notebook_runs_and_shows_what_it_was_saved_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    saved, run = (nbformat.read(NOTEBOOK, as_version=4) for _ in range(2))
    folder = {"metadata": {"path": str(NOTEBOOK.parent)}}
    nbclient.NotebookClient(run, timeout=120, kernel_name="python3", resources=folder).execute()
    assert shown(run) == shown(saved)
    kinds = {kind for cell in shown(saved) for output in cell for kind in output}
    assert {"text/html", "image/png", "MESH:D001943"} <= kinds
    assert NOTEBOOK.stat().st_size < 100_000

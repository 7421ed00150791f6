"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real files; tests that use it are marked `data`."""
    folder = Path(os.environ.get("LINKER_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real files are not at {folder}; set LINKER_DATA")
    return folder


@pytest.fixture(scope="session")
def sample() -> Path:
    """The bundled sample dictionary, in the tab-separated format of MEDIC."""
    return ROOT / "dictionaries" / "sample_medic.tsv"

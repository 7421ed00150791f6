"""What the tests of jobs share."""

from __future__ import annotations

from pathlib import Path

import pytest

NAMES = ("breast and ovarian cancer", "Louis-Bar syndrome", "asthma", "gout", "no such thing")


@pytest.fixture(scope="session")
def model(sample_model: Path) -> Path:
    """A model of the sample dictionary; not to be changed."""
    return sample_model


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with three files of mentions, of which the last is equal to the first."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("\n".join(NAMES) + "\n")
    (folder / "b.txt").write_text("leukaemia\ndiabetes\n")
    (folder / "c.txt").write_text("\n".join(NAMES) + "\n")
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden").write_text("x\n")
    return folder

"""Files of projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.errors import InputError
from linker.projects import sources


def test_a_workbook_without_a_header(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra sheets is not installed")
    openpyxl.Workbook().save(tmp_path / "blank.xlsx")
    with pytest.raises(InputError, match="has no column with a name"):
        sources.read((tmp_path / "blank.xlsx").read_bytes(), "blank.xlsx", None, None, 10**6)

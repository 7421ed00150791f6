"""README.md: its figures are those of the benchmarks, its links lead somewhere, and it is short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_figures_of_the_pages_are_those_of_the_benchmarks() -> None:
    script = [sys.executable, str(ROOT / "benchmarks" / "pages" / "write.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", "dictionaries/README.md"])
def test_links_lead_to_files_of_the_repository(page: str) -> None:
    source = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!\w+:)([^)#\s]+)", source)
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 140

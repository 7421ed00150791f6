"""README.md: its links lead somewhere, and it is short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("page", ["README.md", "dictionaries/README.md", "benchmarks/README.md"])
def test_links_lead_to_files_of_the_repository(page: str) -> None:
    source = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!\w+:)([^)#\s]+)", source)
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]


def test_pages_are_short() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert sum(words.values()) <= 31_500
    assert max(words.values()) <= 2_100, words


def test_files_that_the_architecture_names_are_there() -> None:
    named = re.findall(r"`([\w/]+\.py)`", (ROOT / "docs/architecture.md").read_text())
    files = [f"/{path.relative_to(ROOT)}" for path in ROOT.glob("linker/**/*.py")]
    assert named
    assert [n for n in named if not any(file.endswith(f"/{n}") for file in files)] == []

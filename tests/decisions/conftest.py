"""A linker of the sample dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary, Linker


@pytest.fixture(scope="session")
def linker(sample: Path) -> Linker:
    return Linker.train(Dictionary.read(sample), encoder="tfidf")

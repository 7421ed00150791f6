"""A linker of the sample dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary, Linker
from linker.training.pipeline import train


@pytest.fixture(scope="session")
def linker(sample: Path) -> Linker:
    return train(Dictionary.read(sample), encoder="tfidf")

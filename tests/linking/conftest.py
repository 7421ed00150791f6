"""What several linkers are tried on, read and trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary, Linker, Mention
from linker.io import mentions as readers
from linker.training.pipeline import train


@pytest.fixture(scope="session")
def dictionary(sample: Path) -> Dictionary:
    return Dictionary.read(sample)


@pytest.fixture(scope="session")
def tfidf(dictionary: Dictionary) -> Linker:
    return train(dictionary, encoder="tfidf")


@pytest.fixture(scope="session")
def static(dictionary: Dictionary) -> Linker:
    return train(dictionary, encoder="static")


@pytest.fixture(scope="session")
def mentions(sample: Path) -> list[Mention]:
    """The first 30 bundled mentions."""
    items = readers.read(sample.with_name("sample_mentions.tsv"))
    return [item for item in items if isinstance(item, Mention)][:30]

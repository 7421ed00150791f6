"""The dictionaries that trainings are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary

AGED = """id\tname\tsynonyms\tparents\talt_ids\tstatus
D:0\tdisease\tillness\t\t\t
D:1\ttumor\tmass|growth\tD:0\t\t
D:2\tlymphoma\tlymphoid mass|growth\tD:1\tO:2\t
D:3\tburkitt\tburkitt tumor\tD:2|D:4\t\t
D:4\tviral disease\t\tD:0\t\t
D:5\tfever\tpyrexia\tD:0\t\t
D:9\told tumor\t\t\t\tobsolete
"""


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    """Eight concepts, of which each has two names or more."""
    from .small import SMALL, read

    return read(SMALL, tmp_path_factory.mktemp("train"))


@pytest.fixture(scope="module")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    """Concepts of which one has an alternative id, one a single name, and one is obsolete."""
    path: Path = tmp_path_factory.mktemp("aged") / "aged.tsv"
    path.write_text(AGED, encoding="utf-8")
    return Dictionary.read(path)

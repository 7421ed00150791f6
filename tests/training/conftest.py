"""The dictionary that trainings are tried on."""

from __future__ import annotations

import pytest

from linker import Dictionary


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    from .small import SMALL, read

    return read(SMALL, tmp_path_factory.mktemp("train"))

"""The table of output formats."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from linker.outputs import FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes(name: str) -> None:
    assert callable(importlib.import_module(FORMATS[name]).write)


def test_nothing_is_imported_before_it_is_used() -> None:
    late = {"bioc", "lxml", "linker.readers.jsonl", "linker.outputs.jsonl"}
    script = (
        f"import sys, linker.outputs, linker.readers.mentions; print({late} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"

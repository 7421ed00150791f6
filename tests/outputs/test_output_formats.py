"""The table of output formats."""

from __future__ import annotations

import io
import subprocess
import sys
from inspect import signature

import pytest

from linker.errors import LinkerError
from linker.outputs import FORMATS, writer
from linker.types import Document, Mention, Part, Passage, Prediction


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_by_the_same_call(name: str) -> None:
    document = Document("7", (Passage("gout"),), (Mention("gout", ((0, 4),), type="Disease"),))
    prediction = Prediction(document.mentions[0], (Part("gout", nil=True),))
    file = io.StringIO()
    writer(name)([(document, [prediction])], file, documents=True)
    assert "gout" in file.getvalue()
    assert signature(writer(name)) == signature(writer("tsv"))


def test_another_format_is_refused() -> None:
    with pytest.raises(LinkerError, match="'xml' is not a format of predictions; choose one of"):
        writer("xml")


def test_nothing_is_imported_before_it_is_used() -> None:
    late = {"bioc", "lxml", "linker.readers.jsonl", "linker.outputs.jsonl"}
    script = (
        f"import sys, linker.outputs, linker.readers.mentions; print({late} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"

"""The table of output formats."""

from __future__ import annotations

import subprocess
import sys

import pytest

from linker.errors import LinkerError
from linker.formats import PREDICTIONS
from linker.outputs import Layout, joined, writer_of
from linker.types import Document, Mention, Part, Passage, Prediction

from .conftest import written


@pytest.mark.parametrize("name", PREDICTIONS)
def test_chunks_are_joined_to_one_file(name: str) -> None:
    texts = [Passage("gout", metadata={"bioc:infon:a": "b"})]
    documents = [
        Document(str(n), tuple(texts), (Mention("gout", ((0, 4),), type="Disease"),))
        for n in range(3)
    ]
    items = [(d, [Prediction(d.mentions[0], (Part("gout", nil=True),))]) for d in documents]
    whole = written(name, *items)
    assert whole.count("gout") >= (1 if hasattr(writer_of(name), "gather") else 3)
    format = writer_of(name)
    empty = Layout()
    chunks = [(format.header(d, empty), format.item(d, ps, empty)) for d, ps in items]
    assert "".join(joined(name, chunks)) == whole
    assert "".join(joined(name, [(format.header(None, empty), "")])) == written(name)


@pytest.mark.parametrize("name", ["bioc", "pubtator"])
def test_inputs_without_documents_or_texts(name: str) -> None:
    loose = f"the format {name} holds documents, and the input has loose mentions; choose tsv or"
    with pytest.raises(LinkerError, match=loose):
        written(name, (None, [Prediction(Mention("gout"), ())]))
    textless = f"the format {name} holds texts, and document 7 has none; choose tsv or jsonl"
    with pytest.raises(LinkerError, match=textless):
        written(name, (Document("1"), ()), (Document("7", mentions=(Mention("gout"),)), ()))
    with pytest.raises(LinkerError, match="'xml' is not a format of predictions; choose one of"):
        written("xml")


def test_nothing_is_imported_before_it_is_used() -> None:
    late = {"bioc", "lxml", "linker.readers.jsonl", "linker.outputs.jsonl"}
    script = (
        f"import sys, linker.outputs, linker.readers.mentions; print({late} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"

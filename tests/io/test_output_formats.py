"""The table of output formats."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linker.errors import LinkerError
from linker.ids import parse_gold
from linker.io import jsonl, mentions
from linker.io.formats import PREDICTIONS
from linker.io.outputs import Layout, joined, writer_of
from linker.records import Candidate, Decision, Document, Mention, Part, Passage, Prediction

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
    with pytest.raises(LinkerError):
        written(name, (None, [Prediction(Mention("gout"), ())]))
    with pytest.raises(LinkerError):
        written(name, (Document("1"), ()), (Document("7", mentions=(Mention("gout"),)), ()))
    with pytest.raises(LinkerError):
        written("xml")


def test_nothing_is_imported_before_it_is_used() -> None:
    late = {"bioc", "lxml", "linker.io.jsonl"}
    script = f"import sys, linker.io.outputs, linker.io.mentions; print({late} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("form", ["pubtator", "bioc"])
@pytest.mark.parametrize(
    ("state", "is_gold"),
    [
        ("model", False),  # nobody said anything
        ("accepted", True),
        ("accepted in bulk", False),  # as it was written before, where nobody looked at it
        ("no concept", True),
        ("rejected", False),
        ("open", False),
        ("disputed", False),
    ],
)
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("confidence", [None, 0.25])
def test_ids_are_gold_where_a_person_confirmed_them(
    tmp_path: Path, form: str, state: Any, is_gold: bool, parts: int, confidence: float | None
) -> None:
    best = Candidate("X:1", "x", "x", 1.0, confidence=confidence)
    said = () if state == "model" else (Decision("Gout", "X:1", bulk="bulk" in state),)
    mention = Mention("Gout", ((0, 4),), type="Disease")
    answer = Prediction(
        mention, (Part("open (model", candidates=(best,)),) * parts, decisions=said, state=state
    )
    document = Document("1", (Passage("Gout"),), (mention,))
    (tmp_path / "x").write_text(written(form, (document, [answer])), encoding="utf-8")
    (read,) = mentions.read(tmp_path / "x")
    assert isinstance(read, Document)
    assert read.mentions[0].gold == (parse_gold("|".join(["X:1"] * parts)) if is_gold else None)


@pytest.mark.parametrize("name", PREDICTIONS)
def test_what_was_accepted_in_bulk_is_written(name: str) -> None:
    best = Candidate("OMOP:1", "Gout", "gout", 1.0, confidence=0.9)
    said = Decision("Gout", "OMOP:1", reviewer="ann", bulk=True)
    mention = Mention("Gout", ((0, 4),), type="Disease")
    answer = Prediction(mention, (Part("Gout", candidates=(best,)),), decisions=(said,))
    document = Document("1", (Passage("Gout"),), (mention,))
    assert "1" in written(name, (document, [answer]), decisions=True).split("Gout", 1)[1]
    assert jsonl.from_json(answer.to_dict()) == replace(
        answer, mention=replace(mention, type="", document_id=None)
    )

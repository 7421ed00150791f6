"""linker explain: its formats, its documents, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Explanation, Linker

Run = Callable[..., Any]
TEXT = (
    "Familial adenomatous polyposis (FAP) was seen.\n"
    "Familial amyloid polyneuropathy (FAP) was not.\n"
)


@pytest.fixture(scope="session")
def model(trained: Path) -> Linker:
    return Linker.load(trained)


@pytest.mark.parametrize(("form", "face"), [("text", str), ("json", Explanation.to_json)])
def test_formats(run: Run, trained: Path, model: Linker, form: str, face: Any) -> None:
    options = ("--model", trained, "D007938", "-k", 2)
    result = run("explain", "atxia telangiectasia", *options, "--format", form)
    expected = face(model.explain("atxia telangiectasia", concept="MESH:D007938", k=2))
    assert (result.code, result.err) == (0, "")
    assert result.out.rstrip("\n") == expected.rstrip("\n")


def test_a_document_of_a_corpus_defines_short_forms(
    run: Run, trained: Path, tmp_path: Path, sample: Path
) -> None:
    documents = sample.with_name("sample_documents.pubtator.txt")
    path = tmp_path / "one.pubtator.txt"
    path.write_text(documents.read_text("utf-8").split("\n\n")[0] + "\n")
    result = run("explain", "A-T", "--document", path, "--model", trained, "--format", "json")
    record = json.loads(result.out)
    assert record["document_id"] == "900001"
    assert record["parts"][0]["lookup"]["text"] == "ataxia telangiectasia"
    result = run("explain", "A-T", "--document", documents, "--model", trained)
    assert result.code == 1
    assert "holds 3 documents; expected a text, or PubTator or BioC with one" in result.err


def test_bytes_that_are_no_text_are_explained(trained: Path) -> None:
    command = [sys.executable, "-m", "linker.cli", "explain", "--model", str(trained)]
    for form in ("text", "json"):
        done = subprocess.run(
            [*command, "--format", form, b"fever\xff\x1b[31m"], capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert "fever" in done.stdout.decode("utf-8")
        assert b"\x1b" not in done.stdout

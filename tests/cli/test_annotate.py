"""linker annotate: what it reads, finds and writes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.io import bioc, pubtator

from .conftest import rows

Run = Callable[..., Any]
TEXT = "Two sisters with ataxia telangiectasia (A-T)\r\nhad gout. In A-T, all is not well.\n"


@pytest.fixture
def article(tmp_path: Path) -> Path:
    path = tmp_path / "article.txt"
    path.write_bytes(TEXT.encode())
    return path


def places(table: str) -> list[tuple[str, str, str]]:
    return [(row["document_id"], row["spans"], row["mention"]) for row in rows(table)]


def test_a_text(annotate: Run, article: Path) -> None:
    result = annotate(article)
    assert (result.code, result.err.count("\n")) == (0, 1)
    assert "learnt from no annotated documents" in result.err  # what the confidence is of
    columns = ("spans", "mention", "concept_id", "rank")
    assert [tuple(row[column] for column in columns) for row in rows(result.out)] == [
        ("17-38", "ataxia telangiectasia", "MESH:D001260", "1"),
        ("40-43", "A-T", "MESH:D001260", "1"),
        ("50-54", "gout", "MESH:D006073", "1"),
        ("59-62", "A-T", "MESH:D001260", "1"),
    ]
    for row in rows(result.out):
        start, end = map(int, row["spans"].split("-"))
        assert TEXT[start:end] == row["mention"]


def test_standard_input(process: Run, trained: Path) -> None:
    result = process("annotate", "-", "--model", trained, "--format", "jsonl", input=TEXT.encode())
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [line["mention"] for line in lines] == ["ataxia telangiectasia", "A-T", "gout", "A-T"]
    assert {line["document_id"] for line in lines} == {"stdin"}


def test_a_folder(annotate: Run, tmp_path: Path) -> None:
    for name, text in (("b", "gout"), ("a", "no name"), ("c", "asthma, gout")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    result = annotate(tmp_path)
    assert places(result.out) == [
        ("b", "0-4", "gout"),
        ("c", "0-6", "asthma"),
        ("c", "8-12", "gout"),
    ]


def test_a_damaged_text_of_a_folder_is_passed_over(annotate: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"gout " * 1000)[:-20])
    (tmp_path / "b.txt").write_text("asthma, gout", encoding="utf-8")
    assert annotate(tmp_path).code == 1
    result = annotate(tmp_path, "--on-error", "skip")
    assert result.code == 1
    assert str(tmp_path / "a.txt.gz") in result.err.splitlines()[-1]
    assert [place[0] for place in places(result.out)] == ["b", "b"]


def test_pubtator(annotate: Run, sample: Path, tmp_path: Path) -> None:
    marked = sample.with_name("sample_documents.pubtator.txt")
    before = list(pubtator.read(marked))
    result = annotate(marked, "--format", "pubtator")
    again = tmp_path / "again.txt"
    again.write_text(result.out, encoding="utf-8")
    after = list(pubtator.read(again))
    assert [document.text for document in after] == [document.text for document in before]
    for old, new in zip(before, after, strict=True):
        known = {(m.spans, m.gold) for m in old.mentions}
        assert known <= {(m.spans, m.gold) for m in new.mentions}


def test_bioc_out_and_in(
    annotate: Run, run: Run, trained: Path, article: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.xml"
    options = ("--model", trained, "--format", "bioc", "--type", "Disease")
    assert run("annotate", article, *options, "-o", output).code == 0
    (document,) = bioc.read(output)
    assert [(m.text, m.type) for m in document.mentions][:2] == [
        ("ataxia telangiectasia", "Disease"),
        ("A-T", "Disease"),
    ]
    twice = annotate(output)
    marked = [
        (m.document_id, f"{m.spans[0][0]}-{m.spans[0][1]}", m.text) for m in document.mentions
    ]
    assert twice.code == 0
    assert places(twice.out) == marked  # nothing more is found; nobody confirmed the ids


def test_json_lines_hold_texts(annotate: Run, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": "7", "title": "No gout", "abstract": "Or gout."}\n', "utf-8")
    assert places(annotate(path).out) == [("7", "3-7", "gout"), ("7", "11-15", "gout")]
    path.write_text('{"mention": "gout"}\n', "utf-8")
    result = annotate(path)
    assert (result.code, result.out) == (1, "")
    assert "holds mentions, such as 'gout', and no texts" in result.err


def test_evaluate_by_document(run: Run, trained: Path, sample: Path, tmp_path: Path) -> None:
    marked = sample.with_name("sample_documents.pubtator.txt")
    options = ("--model", trained, "--protocol", "document")
    result = run("evaluate", marked, *options, "-o", tmp_path / "out")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()[1:]] == ["span", "span", "concept"]
    record = json.loads((tmp_path / "out" / "metrics.json").read_text(encoding="utf-8"))
    assert (record["protocol"], record["span"]["annotated"] > 0) == ("document", True)
    assert (tmp_path / "out" / "documents.tsv").exists()

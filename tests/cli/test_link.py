"""linker link: formats in and out, streams, and what -k, --threshold, --model and -o do."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.outputs import jsonl
from linker.readers import bioc, pubtator

Run = Callable[..., Any]


@pytest.fixture
def documents(sample: Path) -> Path:
    return sample.with_name("sample_documents.pubtator.txt")


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    path = tmp_path / "m.txt"
    path.write_text("breast and ovarian cancer\nLouis-Bar syndrome\n…\n", encoding="utf-8")
    return path


def test_tsv(run: Run, trained: Path, mentions: Path) -> None:
    result = run("link", mentions, "--model", trained, "-k", "1")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "mention\tpart\tconcept_id\tname\tscore\tmatched_name\trank",
        "breast and ovarian cancer\tbreast cancer\tMESH:D001943\tBreast Neoplasms\t1.0000\tbreast cancer\t1",
        "breast and ovarian cancer\tovarian cancer\tMESH:D010051\tOvarian Neoplasms\t1.0000\tovarian cancer\t1",
        "Louis-Bar syndrome\tLouis-Bar syndrome\tMESH:D001260\tAtaxia Telangiectasia\t1.0000\tLouis-Bar syndrome\t1",
        "…\t…\t\t\t\t\t",
    ]


def test_jsonl(run: Run, trained: Path, mentions: Path) -> None:
    result = run("link", mentions, "--model", trained, "-k", "2", "--format", "jsonl")
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [record["mention"] for record in records] == mentions.read_text("utf-8").splitlines()
    assert [[part["nil"] for part in record["parts"]] for record in records] == [[False, False], [False], [True]]
    best = records[1]["parts"][0]["candidates"][0]
    assert best == best | {"concept_id": "MESH:D001260", "name": "Ataxia Telangiectasia", "matched_name": "Louis-Bar syndrome"}
    assert (best["score"], best["dense_score"]) == (pytest.approx(1.0), None)


def test_pubtator_and_bioc(run: Run, trained: Path, documents: Path, tmp_path: Path) -> None:
    for form, reader in (("pubtator", pubtator), ("bioc", bioc)):
        assert run("link", documents, "--model", trained, "--format", form, "-o", tmp_path / form).code == 0
        found = {(d.id, m.spans): m.gold for d in reader.read(tmp_path / form) for m in d.mentions}
        assert found == {(d.id, m.spans): m.gold for d in pubtator.read(documents) for m in d.mentions}, form


def test_documents_in_tsv_keep_their_place(run: Run, trained: Path, documents: Path) -> None:
    lines = run("link", documents, "--model", trained, "-k", "1").out.splitlines()
    assert lines[0].endswith("\tdocument_id\tspans")
    assert lines[1].endswith("\t900001\t35-56")


def test_loose_mentions_have_no_documents_to_write(run: Run, trained: Path, mentions: Path) -> None:
    for form in ("pubtator", "bioc"):
        result = run("link", mentions, "--model", trained, "--format", form)
        assert result.code == 1
        assert result.err == f"linker: the format {form} holds documents, and the input has loose mentions; choose tsv or jsonl\n"


def test_k_and_threshold(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("a cup of tea\nleukaemia\n")
    for k in ("1", "3", "7"):
        assert len(run("link", tmp_path / "m.txt", "--model", trained, "-k", k).out.splitlines()) == 1 + 2 * int(k)
    lines = run("link", tmp_path / "m.txt", "--model", trained, "--threshold", "0.9").out.splitlines()
    assert lines[1:] == ["a cup of tea\ta cup of tea\t\t\t\t\t", "leukaemia\tleukaemia\tMESH:D007938\tLeukemia\t1.0000\tleukaemia\t1"]


def test_output_files(run: Run, trained: Path, mentions: Path, tmp_path: Path) -> None:
    expected = run("link", mentions, "--model", trained).out
    for name in ("out.tsv", "out.tsv.gz"):
        result = run("link", mentions, "--model", trained, "-o", tmp_path / name)
        assert result == (0, "", "")
    assert (tmp_path / "out.tsv").read_text("utf-8") == expected
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.txt", "out.tsv", "out.tsv.gz"]
    assert run("link", mentions, "--model", trained, "-o", "-").out == expected


def test_outputs_that_cannot_be_written(run: Run, trained: Path, mentions: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    result = run("link", mentions, "--model", trained, "-o", tmp_path / "folder")
    assert (result.code, result.err) == (1, f"linker: {tmp_path / 'folder'}: is a folder; name a file with -o\n")
    for output in (tmp_path / "nowhere" / "out.tsv", mentions / "out.tsv"):
        result = run("link", mentions, "--model", trained, "-o", output)
        assert result.code == 1
        assert result.err.startswith(f"linker: {output}: cannot be written: ")
        assert result.err.endswith("; free space or name another output with -o\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "m.txt"]


def test_input_formats(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "m").write_text("breast cancer\tMESH:D001943\n")
    told = run("link", tmp_path / "m", "--model", trained, "-k", "1").out
    assert told.splitlines()[1].startswith("breast cancer\tbreast cancer\tMESH:D001943")
    as_text = run("link", tmp_path / "m", "--model", trained, "-k", "1", "--input-format", "txt").out
    assert as_text.splitlines()[1].startswith("breast cancer MESH:D001943\t")


def test_types(run: Run, trained: Path, tmp_path: Path) -> None:
    text = "1|t|Asthma and aspirin\n1|a|\n1\t0\t6\tAsthma\tDisease\n1\t11\t18\taspirin\tChemical\n"
    (tmp_path / "d.txt").write_text(text)
    result = run("link", tmp_path / "d.txt", "--model", trained, "--type", "Disease", "-k", "1")
    assert [line.split("\t")[0] for line in result.out.splitlines()[1:]] == ["Asthma"]


def test_standard_input_and_the_model_of_the_environment(process: Run, trained: Path, tmp_path: Path) -> None:
    environment = os.environ | {"LINKER_MODEL": str(trained), "PYTHONIOENCODING": "ascii"}
    text = "β-thalassaemia\r\nSjögren’s syndrome\n".encode()
    result = process("link", "-", "-k", "1", "--format", "jsonl", input=text, env=environment, cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [record["mention"] for record in records] == ["β-thalassaemia", "Sjögren’s syndrome"]
    assert records[0]["parts"][0]["candidates"][0]["concept_id"] == "MESH:D017086"
    assert "\\u" not in result.out


def test_predictions_of_standard_input_can_be_read_back(process: Run, trained: Path, documents: Path, tmp_path: Path) -> None:
    options = ("--input-format", "pubtator", "--format", "jsonl", "--model", trained, "-o", tmp_path / "p.jsonl")
    assert process("link", "-", *options, input=documents.read_bytes()) == (0, "", "")
    given = [mention for document in pubtator.read(documents) for mention in document.mentions]
    assert [p.mention.spans for p in jsonl.read(tmp_path / "p.jsonl")] == [mention.spans for mention in given]


def test_a_reader_that_has_seen_enough_ends_it_quietly(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("".join(f"cancer {number}\n" for number in range(5000)))
    command = [sys.executable, "-m", "linker.cli", "link", str(tmp_path / "m.txt"), "--model", str(trained)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline().startswith(b"mention\tpart\t")
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0

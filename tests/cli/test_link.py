"""linker link: formats in and out, streams, and what -k, --threshold, --model and -o do."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.ids import parse_gold
from linker.io import bioc, pubtator

from .conftest import rows, typed

Run = Callable[..., Any]


@pytest.fixture
def documents(sample: Path) -> Path:
    return sample.with_name("sample_documents.pubtator.txt")


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    path = tmp_path / "m.txt"
    path.write_text("breast and ovarian cancer\nLouis-Bar syndrome\n…\n", encoding="utf-8")
    return path


def test_tsv(link: Run, mentions: Path) -> None:
    result = link(mentions, "-k", "1")
    assert (result.code, result.err) == (0, "")
    both, louis = "breast and ovarian cancer", "Louis-Bar syndrome"
    assert [line.split("\t")[:7] for line in result.out.splitlines()] == [
        ["mention", "part", "concept_id", "name", "score", "matched_name", "rank"],
        [both, "breast cancer", "MESH:D001943", "Breast Neoplasms", "1.0000", "breast cancer", "1"],
        [
            both,
            "ovarian cancer",
            "MESH:D010051",
            "Ovarian Neoplasms",
            "1.0000",
            "ovarian cancer",
            "1",
        ],
        [louis, louis, "MESH:D001260", "Ataxia Telangiectasia", "1.0000", louis, "1"],
        ["…", "…", "", "", "", "", ""],
    ]


def test_jsonl(link: Run, mentions: Path) -> None:
    result = link(mentions, "-k", "2", "--format", "jsonl")
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [record["mention"] for record in records] == mentions.read_text("utf-8").splitlines()
    nil = [[part["nil"] for part in record["parts"]] for record in records]
    assert nil == [[False, False], [False], [True]]


def test_pubtator_and_bioc(link: Run, documents: Path, tmp_path: Path) -> None:
    for form, reader in (("pubtator", pubtator), ("bioc", bioc)):
        assert link(documents, "--format", form, "-o", tmp_path / form).code == 0
        read = [m for d in reader.read(tmp_path / form) for m in d.mentions]
        key = {"pubtator": "pubtator:id", "bioc": "identifier"}[form]
        found = {(m.document_id, m.spans): parse_gold(m.metadata[key]) for m in read}
        assert found == {
            (d.id, m.spans): m.gold for d in pubtator.read(documents) for m in d.mentions
        }, form
        assert {m.gold for m in read} == {None}  # nobody confirmed them


def test_output_files(link: Run, mentions: Path, tmp_path: Path) -> None:
    expected = link(mentions).out
    for name in ("out.tsv", "out.tsv.gz"):
        result = link(mentions, "-o", tmp_path / name)
        assert result == (0, "", "3 mentions: 2 linked, 0 unsure, 1 no concept, 0 empty\n")
    assert (tmp_path / "out.tsv").read_text("utf-8") == expected
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.txt", "out.tsv", "out.tsv.gz"]
    assert link(mentions, "-o", "-").out == expected


def test_standard_input_and_the_model_of_the_environment(
    process: Run, trained: Path, tmp_path: Path
) -> None:
    environment = os.environ | {"LINKER_MODEL": str(trained), "PYTHONIOENCODING": "ascii"}
    text = "β-thalassaemia\r\nSjögren’s syndrome\n".encode()
    command = typed("link - -k 1 --format jsonl")
    result = process(*command, input=text, env=environment, cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [record["mention"] for record in records] == ["β-thalassaemia", "Sjögren’s syndrome"]
    assert records[0]["parts"][0]["candidates"][0]["concept_id"] == "MESH:D017086"
    assert "\\u" not in result.out


def test_batches_of_one_are_answered_before_the_next_mention_is_sent(trained: Path) -> None:
    options = typed("-m linker.cli link - -k 1 --batch-size 1 --model")
    command = [sys.executable, *options, str(trained)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 1}
    with subprocess.Popen(command, text=True, encoding="utf-8", **pipes) as child:
        # an answer that is held back would be waited for without end
        timer = threading.Timer(60, child.kill)
        timer.start()
        assert child.stdin is not None
        assert child.stdout is not None
        answers = []
        for mention in ("breast cancer\n", "\n", "asthma\n"):
            child.stdin.write(mention)
            answers += [child.stdout.readline() for _ in range(1 if answers else 2)]
        child.stdin.close()
        assert child.stdout.read() == ""
        timer.cancel()
    assert child.returncode == 0
    ids = [answer.split("\t")[2] for answer in answers]
    assert ids == ["concept_id", "MESH:D001943", "", "MESH:D001249"]


def test_lines_with_selections_of_their_own(link: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    selections = ("", ', "under": "D001943"', ', "under": 7', ', "under": "D99"')
    path.write_text("".join(f'{{"mention": "ovarian cancer"{s}}}\n' for s in selections))
    result = link(path, "-k", "1", "--threshold", "0", "--on-error", "skip")
    ids = [row["concept_id"] for row in rows(result.out)]
    assert (result.code, ids) == (0, ["MESH:D010051", "MESH:D061325"])
    assert "2 bad records were skipped" in result.err
    result = link(path)
    assert (result.code, result.out) == (1, "")
    assert f"linker: {path}, line 3: 'under' is neither a text nor a list" in result.err


def test_the_input_is_not_replaced_by_the_output(link: Run, tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("asthma\n")
    (tmp_path / "same.txt").symlink_to(tmp_path / "m.txt")
    result = link(tmp_path / "m.txt", "-o", tmp_path / "same.txt")
    message = "same.txt: is read and would be replaced; name another output with -o\n"
    assert result == (1, "", f"linker: {tmp_path}/{message}")
    assert (tmp_path / "m.txt").read_text() == "asthma\n"


def test_a_mention_in_the_place_of_a_file(
    link: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for mention in ("breast cancer", "St. Louis encephalitis", "{"):
        result = link(mention, "-k", "1")
        assert result.code == 0
        assert [row["mention"] for row in rows(result.out)] == [mention]
        assert result.err.count("\n") == 1
        assert mention in result.err
    (tmp_path / "breast cancer").write_text("gout\n")
    result = link("breast cancer", "-k", "1")
    assert ([row["mention"] for row in rows(result.out)], result.err) == (["gout"], "")


def test_sets_of_answers(link: Run, mentions: Path, tmp_path: Path) -> None:
    result = link(mentions, "-o", tmp_path / "o.tsv", "-k", "1", "--coverage", "0.9")
    assert result.code == 0
    assert "sets for 0.9: " in result.err
    with (tmp_path / "o.tsv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file, delimiter="\t")]
    for row in rows:
        answers = row["set"].split()
        assert len(answers) == int(row["set_size"]) >= 1
        assert row["concept_id"] in answers or "none" in answers
    lines = link(mentions, "--format", "jsonl", "--coverage", "0.9").out.splitlines()
    parts = [part for line in lines for part in json.loads(line)["parts"]]
    assert [" ".join(i or "none" for i in p["set"]) for p in parts] == [r["set"] for r in rows]
    for wrong in (["--coverage", "1"], ["--coverage", "0"]):
        assert link(mentions, *wrong).code == 2
    assert link(mentions, "--coverage", "0.9", "--format", "sssom").code == 1
    table = tmp_path / "t.csv"
    table.write_text("label\nLouis-Bar syndrome\n")
    options = ("--column", "label", "--coverage", "0.9", "-o", tmp_path / "t2.csv")
    assert link(table, *options).code == 0
    header, row = (tmp_path / "t2.csv").read_text().splitlines()
    assert header.endswith(",set,set_size,broader,broader_name")
    assert row.endswith(",MESH:D001260,1,,")


def test_labels_of_fields(link: Run, tmp_path: Path) -> None:
    label = "Illness of mother, self-reported"
    cells = ["Louis-Bar syndrome", f"{label}: breast cancer", f"{label.upper()} no breast cancer"]
    path = tmp_path / "cells.txt"
    path.write_text("\n".join([*cells, label, "Illness 2: breast cancer"]), encoding="utf-8")
    result = link(path, "-k", "1", "--label", label, "--label", "illness 2:")
    assert result.code == 0
    found = [(row["part"], row["concept_id"], row["assertion"]) for row in rows(result.out)]
    assert found == [
        ("Louis-Bar syndrome", "MESH:D001260", ""),
        ("breast cancer", "MESH:D001943", ""),
        ("breast cancer", "MESH:D001943", "absent"),
        (label, "", ""),
        ("breast cancer", "MESH:D001943", ""),
    ]
    table = tmp_path / "table.tsv"
    table.write_text(f"id\tcell\n1\t{label}: breast cancer\n", encoding="utf-8")
    result = link(table, "--column", "cell", "--label", label)
    assert rows(result.out)[0]["concept_id"] == "MESH:D001943"


@pytest.mark.parametrize("label", ["", " : ", "&nbsp;"])
def test_a_label_without_a_text_is_refused(link: Run, mentions: Path, label: str) -> None:
    result = link(mentions, "--label", label)
    assert result.code == 1
    assert repr(label) in result.err
    assert result.out == ""

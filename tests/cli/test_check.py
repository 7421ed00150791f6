"""linker review check, and tables whose columns are kept by linker link --column."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary
from linker.training import pipeline

Run = Callable[..., Any]

TERMS = [
    "X:1; name: gout; alt_id: X:11",
    'X:2; name: measles; synonym: "rubeola" EXACT []',
    "X:3; name: obsolete podagra; is_obsolete: true; replaced_by: X:1",
]


@pytest.fixture
def model(tmp_path: Path, ontology: Callable[..., str]) -> Path:
    (tmp_path / "d.obo").write_text(ontology(*TERMS))
    pipeline.train(Dictionary.read(tmp_path / "d.obo"), encoder="tfidf").save(tmp_path / "model")
    return tmp_path / "model"


def test_verdicts(run: Run, model: Path, tmp_path: Path) -> None:
    pairs = [
        ("X:1", "Gout", "right", "X:1", ""),
        ("X:11", "gout", "right", "X:1", ""),
        ("X:2", "rubeola", "right", "X:2", ""),
        ("X:3", "gout", "obsolete", "X:1", ""),
        ("X:3", "measles", "obsolete", "X:1", "X:2"),
        ("X:1", "measles", "mismatched", "X:1", "X:2"),
        ("X:9", "gout", "unknown", "", "X:1"),
        ("", "gout", "unknown", "", "X:1"),
        ("X:1", "", "", "X:1", ""),
        ("", "", "", "", ""),
        ("X:1|X:2", "gout and measles", "right", "X:1|X:2", ""),
    ]
    path = tmp_path / "p.tsv"
    path.write_text("note\tID\tLabel\n" + "".join(f"n\t{p[0]}\t{p[1]}\n" for p in pairs))
    result = run("review", "check", path, "--model", model)
    assert result.code == 0
    head, *rows = csv.reader(result.out.splitlines(), delimiter="\t")
    assert head[3:] == ["verdict", "current_id", "better_id", "better_name", "confidence"]
    assert [tuple(row[1:6]) for row in rows] == pairs
    assert rows[5][6] == "measles"
    assert result.err == (
        "11 rows: 4 right, 2 obsolete, 1 mismatched, 0 unsure, 2 unknown, 2 empty\n"
    )


def test_ids_that_look_like_others(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(
        "id\tname\n127009\tmeasles\nA17.0\tgout\nA17.0+\tpodagra\nC81,3\tfever\n"
    )
    pairs = [
        ("127009", "measles", "right", "127009", ""),
        ("OMIM:127009", "measles", "unknown", "", "127009"),
        ("A17.0+", "podagra", "right", "A17.0+", ""),
        ("C81,3", "fever", "right", "C81,3", ""),
    ]
    path, model, gold = tmp_path / "p.tsv", tmp_path / "model", tmp_path / "gold.tsv"
    path.write_text("id\tlabel\n" + "".join(f"{p[0]}\t{p[1]}\n" for p in pairs))
    run("train", "--dict", tmp_path / "d.tsv", "--encoder", "tfidf", "-o", model)
    result = run("review", "check", path, "--model", model)
    _, *rows = csv.reader(result.out.splitlines(), delimiter="\t")
    assert [tuple(row[:5]) for row in rows] == pairs
    gold.write_text("".join(f"{p[1]}\t{p[0]}\n" for p in pairs if p[2] == "right"))
    run("evaluate", gold, "--model", model, "-o", tmp_path / "evaluation")
    metrics = json.loads((tmp_path / "evaluation" / "metrics.json").read_text())
    assert (metrics["n"], metrics["acc"]["1"]) == (3, 1.0)


def test_a_side_of_mappings(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.sssom.tsv"
    path.write_text(
        "#mapping_set_id: http://x.org/y\n#curie_map:\n#  X: http://x.org/\n"
        "subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\n"
        "Y:7\tpodagra\tskos:exactMatch\tX:1\tgout\n"
        "X:1\tgout\tskos:exactMatch\tX:2\tgout\n"
    )
    side = ("--column", "object_id,object_label")
    lines = run("review", "check", path, "--model", model, *side).out.splitlines()
    assert lines[:3] == path.read_text().splitlines()[:3]
    assert lines[3].endswith(
        "\tobject_label\tverdict\tcurrent_id\tbetter_id\tbetter_name\tconfidence"
    )
    assert [line.split("\t")[5:8] for line in lines[4:]] == [
        ["right", "X:1", ""],
        ["mismatched", "X:2", "X:1"],
    ]
    assert run("review", "check", path, "--model", model, "--column", "object_id").code == 2


def test_link_keeps_the_table(run: Run, trained: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    path.write_text('name,disease\n=1,"breast, and ovarian cancer"\n2,\n3,Louis-Bar syndrome\n')
    link = ("link", path, "--model", trained, "--column", "disease", "-o")
    said = "3 rows: 2 linked, 0 unsure, 0 no concept, 1 empty\n"
    assert run(*link, out) == (0, "", said)
    head, both, empty, last = out.read_text().splitlines()
    added = "concept_id,linker_name,matched_name,confidence,rejected,assertion,state,source,broader,broader_name"
    assert head == f"name,disease,{added}"
    assert both.startswith('=1,"breast, and ovarian cancer",MESH:D001943|MESH:D010051,')
    assert empty == "2,,,,,,,,,,,"
    assert last.startswith("3,Louis-Bar syndrome,MESH:D001260,Ataxia Telangiectasia,")
    assert run(*link, path).code == 1


@pytest.mark.parametrize("command", ["link --column label", "review check"])
def test_bad_rows_of_a_table_are_skipped_where_that_is_asked_for(
    run: Run, trained: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "t.csv").write_text("id,label\nMESH:D006073,gout\nMESH:D001943,cancer, breast\n")
    options = (*command.split(), tmp_path / "t.csv", "--model", trained, "-o", tmp_path / "o.csv")
    assert run(*options).code == 1
    skipped = run(*options, "--on-error", "skip")
    assert (skipped.code, "t.csv, line 3" in skipped.err) == (0, True)
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 2


def test_link_writes_a_workbook(run: Run, trained: Path, tmp_path: Path) -> None:
    openpyxl: Any = pytest.importorskip("openpyxl")
    path, out = tmp_path / "t.xlsx", tmp_path / "o.xlsx"
    book = openpyxl.Workbook()
    for row in (["n", "disease"], [1, "Louis-Bar syndrome"], [2, None]):
        book.active.append(row)
    book.save(path)
    named = ["--column", "disease", "-o", out]
    assert run("link", path, "--model", trained, *named).code == 0
    rows = list(openpyxl.load_workbook(out).active.iter_rows(values_only=True))
    assert rows[0][:4] == ("n", "disease", "concept_id", "name")
    assert rows[1][:4] == (1, "Louis-Bar syndrome", "MESH:D001260", "Ataxia Telangiectasia")
    assert rows[2] == (2, *[None] * (len(rows[0]) - 1))
    for arguments in (named[:2], named[2:], [*named, "--input-format", "tsv"]):
        assert run("link", path, "--model", trained, *arguments).code == 2

"""linker evaluate: the table, metrics.json, outcomes.tsv, and predictions of others."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    lines = "breast cancer\tD001943\nbreast and ovarian cancer\tD001943|D010051\n"
    lines += "male breast cancer\tD001943\n…\t-1\nasthma\tC999999\n"
    path.write_text(lines, encoding="utf-8")
    return path


@pytest.fixture
def evaluate(run: Run, trained: Path) -> Run:
    """Evaluates the trained model."""
    return lambda path, *options: run("evaluate", path, "--model", trained, *options)


def rows(text: str) -> dict[str, list[str]]:
    """The lines of a table by their first cell."""
    cells = [re.split(r"  +", line) for line in text.splitlines() if line]
    return {line[0]: line[1:] for line in cells}


def read_record(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text("utf-8"))


def test_the_table_and_the_files(evaluate: Run, mentions: Path, tmp_path: Path) -> None:
    result = evaluate(mentions, "-k", "1,2,50", "-o", tmp_path / "out")
    assert result.code == 0
    table = rows(result.out)
    assert result.out.splitlines()[0].split() == ["n", "Acc@1", "Acc@2", "Acc@50", "MRR"]
    # right: two, and the one without a concept; then the father of male breast cancer
    assert table["all"][:3] == ["5", "0.6000", "0.8000"]
    assert table["hyponym"] == ["1", "a descendant of the right concept"]
    assert table["concept_not_in_dictionary"] == ["1", "no annotated id is in the dictionary"]
    record = read_record(tmp_path / "out")
    assert (record["protocol"], record["n"], record["left_out"]) == ("strict", 5, 0)
    assert (record["acc"], record["mrr"]) == ({"1": 0.6, "2": 0.8, "50": 0.8}, 0.7)
    assert record["errors"] == {"hyponym": 1, "concept_not_in_dictionary": 1}
    assert record["groups"]["unseen_mention"] == {"n": 5, "acc": record["acc"], "mrr": 0.7}
    assert record["model"]["encoder"] == "tfidf"
    assert record["dictionary"]["sources"][0]["file"] == "sample_medic.tsv"
    lines = (tmp_path / "out" / "outcomes.tsv").read_text("utf-8").splitlines()
    both = "MESH:D001943|MESH:D010051"
    male = ("MESH:D001943", "2", "MESH:D018567", "male breast cancer", "hyponym")
    unknown = ("C999999", "", "MESH:D001249", "Asthma", "concept_not_in_dictionary")
    assert [tuple(line.split("\t")[1:7]) for line in lines] == [
        ("mention", "gold", "rank", "concept_id", "matched_name", "error"),
        ("breast cancer", "MESH:D001943", "1", "MESH:D001943", "breast cancer", ""),
        ("breast and ovarian cancer", both, "1", both, "breast cancer|ovarian cancer", ""),
        ("male breast cancer", *male),
        ("…", "-1", "1", "-1", "", ""),
        ("asthma", *unknown),
    ]


def test_biosyn_leaves_out_mentions_without_a_concept(evaluate: Run, mentions: Path) -> None:
    biosyn = (mentions, "--protocol", "biosyn", "-k", "1")
    result = evaluate(*biosyn)
    assert rows(result.out)["all"][:2] == ["4", "0.5000"]
    _, left_out = result.err.splitlines()
    assert left_out == "1 of 5 mentions were left out: without annotated concept"
    assert evaluate(*biosyn, "-q").err == ""


def test_our_own_predictions_are_judged_as_the_model_is(
    run: Run, evaluate: Run, trained: Path, sample: Path, tmp_path: Path
) -> None:
    gold, predictions = sample.with_name("sample_mentions.tsv"), tmp_path / "p.jsonl"
    link = ("link", gold, "--model", trained, "-k", "20", "--format", "jsonl", "-o", predictions)
    assert run(*link).code == 0
    by_model, with_model = evaluate(gold), evaluate(gold, "--predictions", predictions)
    assert with_model.out == by_model.out
    alone = run("evaluate", gold, "--predictions", predictions, "-o", tmp_path / "out")
    assert rows(alone.out)["all"][1] < rows(by_model.out)["all"][1]  # of an alternative id
    record = read_record(tmp_path / "out")
    assert (record["model"], record["dictionary"]) == (None, None)
    assert record["predictions"] == str(predictions)


def test_selections_and_a_threshold(evaluate: Run, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(
        '{"mention": "ovarian cancer", "gold": "D010051"}\n'
        '{"mention": "ovarian cancer", "gold": "D061325", "under": "D001943"}\n'
    )
    # ovarian cancer itself is better than what is within
    for options, accuracy in (
        ((), "0.5000"),
        (("--threshold", "0"), "1.0000"),
        (("--threshold", "1"), "0.0000"),
        (("--not-under", "D061325", "--namespaces", "mesh"), "0.5000"),
    ):
        result = evaluate(path, "-k", "1", *options, "-o", tmp_path / "out")
        assert (result.code, rows(result.out)["all"][:2]) == (0, ["2", accuracy])
    record = read_record(tmp_path / "out")
    selection = [record[name] for name in ("under", "not_under", "types", "namespaces")]
    assert selection == [None, ["D061325"], None, ["mesh"]]


@pytest.mark.data
def test_the_published_predictions_of_biosyn(run: Run, data: Path, tmp_path: Path) -> None:
    folder, gold = data / "biosyn-ncbi-disease", tmp_path / "gold"
    gold.mkdir()
    with tarfile.open(folder / "ncbi-disease.tar.gz") as archive:
        for member in archive:
            if re.search(r"processed_test/.*\.concept$", member.name):
                content = archive.extractfile(member)
                assert content is not None
                (gold / Path(member.name).name).write_bytes(content.read())
    predictions, plain = folder / "biosyn_predictions_test.json.gz", tmp_path / "plain.json"
    plain.write_bytes(gzip.decompress(predictions.read_bytes()))
    options = ("--protocol", "biosyn", "-k", "1,5,20", "-o", tmp_path / "out")
    for path in (predictions, plain):
        assert run("evaluate", gold, "--predictions", path, *options).code == 0
        record = read_record(tmp_path / "out")
        assert (record["n"], record["acc"]) == (960, {"1": 0.91146, "5": 0.93854, "20": 0.96771})


# ------------------------------------------------------------------------------ two evaluations


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    path.write_text("breast cancer\tD001943\nasthma\tD001249\nLouis-Bar syndrome\tD001260\n")
    return path


@pytest.fixture
def other(run: Run, sample: Path, tmp_path: Path) -> Path:
    """A model of the sample dictionary without one concept."""
    lines = sample.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if "MESH:D001249" not in line.split("\t")[1:2]]
    assert len(kept) == len(lines) - 1
    (tmp_path / "less.tsv").write_text("".join(kept), encoding="utf-8")
    command = ("train", "--dict", tmp_path / "less.tsv", "--encoder", "tfidf")
    assert run(*command, "-o", tmp_path / "other").code == 0
    return tmp_path / "other"


def test_against_another_evaluation(
    run: Run, trained: Path, other: Path, gold: Path, tmp_path: Path
) -> None:
    old, new = tmp_path / "a", tmp_path / "b"
    assert run("evaluate", gold, "--model", trained, "-o", old).code == 0
    compared = run("evaluate", gold, "--model", other, "-o", new, "--against", old)
    assert compared.code == 0
    assert "Acc@1   1.0000  0.6667  -0.3333" in compared.out
    record = json.loads((new / "metrics.json").read_text("utf-8"))["against"]
    assert (record["a"], record["b"], record["n"]) == (str(old), str(other), 3)

"""linker evaluate: the table, metrics.json, outcomes.tsv, and predictions of others."""

from __future__ import annotations

import csv
import gzip
import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.evaluation.protocols import ERRORS

Run = Callable[..., Any]


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    lines = (
        "breast cancer\tD001943",
        "breast and ovarian cancer\tD001943|D010051",
        "male breast cancer\tD001943",
        "…\t-1",
        "asthma\tC999999",
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows(text: str) -> dict[str, list[str]]:
    """The lines of a table by their first cell."""
    cells = [re.split(r"  +", line) for line in text.splitlines() if line]
    return {line[0]: line[1:] for line in cells}


def test_the_table_and_the_files(run: Run, trained: Path, mentions: Path, tmp_path: Path) -> None:
    result = run("evaluate", mentions, "--model", trained, "--k", "1,2,50", "-o", tmp_path / "out")
    assert result.code == 0
    table = rows(result.out)
    assert result.out.splitlines()[0].split() == ["n", "Acc@1", "Acc@2", "Acc@50", "MRR"]
    assert table["all"][:3] == [
        "5",
        "0.6000",
        "0.8000",
    ]  # right: two, and the one without a concept; then the father of male breast cancer
    assert table["hyponym"] == ["1", "a descendant of the right concept"]
    assert table["concept_not_in_dictionary"] == ["1", "no annotated id is in the dictionary"]
    record = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
    assert (record["protocol"], record["n"], record["left_out"]) == ("strict", 5, 0)
    assert (record["acc"], record["mrr"]) == ({"1": 0.6, "2": 0.8, "50": 0.8}, 0.7)
    assert record["errors"] == {"hyponym": 1, "concept_not_in_dictionary": 1}
    assert record["groups"]["unseen_mention"] == {"n": 5, "acc": record["acc"], "mrr": 0.7}
    assert record["model"]["encoder"] == "tfidf"
    assert record["dictionary"]["sources"][0]["file"] == "sample_medic.tsv"
    outcomes = (tmp_path / "out" / "outcomes.tsv").read_text("utf-8").splitlines()
    assert [line.split("\t")[1:6] for line in outcomes] == [
        ["mention", "gold", "rank", "concept_id", "matched_name"],
        ["breast cancer", "MESH:D001943", "1", "MESH:D001943", "breast cancer"],
        [
            "breast and ovarian cancer",
            "MESH:D001943|MESH:D010051",
            "1",
            "MESH:D001943|MESH:D010051",
            "breast cancer|ovarian cancer",
        ],
        ["male breast cancer", "MESH:D001943", "2", "MESH:D018567", "male breast cancer"],
        ["…", "-1", "1", "-1", ""],
        ["asthma", "C999999", "", "MESH:D001249", "Asthma"],
    ]
    assert [line.split("\t")[6] for line in outcomes[1:]] == [
        "",
        "",
        "hyponym",
        "",
        "concept_not_in_dictionary",
    ]


def test_outcomes_are_quoted_where_that_is_needed(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text('"breast" cancer\tD001943\n')
    assert (
        run("evaluate", tmp_path / "gold.tsv", "--model", trained, "-o", tmp_path / "out").code == 0
    )
    with open(tmp_path / "out" / "outcomes.tsv", encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file, dialect="excel-tab"))["mention"] == '"breast" cancer'


def test_biosyn_leaves_out_mentions_without_a_concept(
    run: Run, trained: Path, mentions: Path
) -> None:
    result = run("evaluate", mentions, "--model", trained, "--protocol", "biosyn", "--k", "1")
    assert rows(result.out)["all"][:2] == ["4", "0.5000"]
    unknown, left_out = result.err.splitlines()
    assert re.fullmatch(
        r"the model does not have 1 of the 3 annotated ids \(none 1; it has MESH \d+, OMIM \d+\)",
        unknown,
    )
    assert left_out == "1 of 5 mentions were left out: without annotated concept"
    assert (
        run("evaluate", mentions, "--model", trained, "--protocol", "biosyn", "--k", "1", "-q").err
        == ""
    )


def test_our_own_predictions_are_judged_as_the_model_is(
    run: Run, trained: Path, sample: Path, tmp_path: Path
) -> None:
    for name in ("sample_mentions.tsv", "sample_documents.pubtator.txt"):
        gold = sample.with_name(name)
        assert (
            run(
                "link",
                gold,
                "--model",
                trained,
                "-k",
                "20",
                "--format",
                "jsonl",
                "-o",
                tmp_path / "p.jsonl",
            ).code
            == 0
        )
        by_model = run("evaluate", gold, "--model", trained)
        with_model = run(
            "evaluate", gold, "--model", trained, "--predictions", tmp_path / "p.jsonl"
        )
        alone = run("evaluate", gold, "--predictions", tmp_path / "p.jsonl", "-o", tmp_path / "out")
        assert with_model.out == by_model.out
        assert "without --model" not in with_model.err
        assert (
            "without --model old ids are not resolved, and seen mentions and kinds of errors are not told apart\n"
            in alone.err
        )
        if (
            name == "sample_mentions.tsv"
        ):  # an alternative id among its gold, which no model is asked about
            assert rows(alone.out)["all"][1] < rows(by_model.out)["all"][1]
            continue
        assert rows(alone.out) == {
            name: cells
            for name, cells in rows(by_model.out).items()
            if not name.startswith(("seen", "unseen", "error at 1", *ERRORS))
        }
        record = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
        assert (record["model"], record["dictionary"], record["predictions"]) == (
            None,
            None,
            str(tmp_path / "p.jsonl"),
        )


def test_predictions_for_other_mentions(
    run: Run, trained: Path, mentions: Path, tmp_path: Path
) -> None:
    run("link", mentions, "--model", trained, "--format", "jsonl", "-o", tmp_path / "p.jsonl")
    lines = (tmp_path / "p.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "p.jsonl").write_text("".join(lines[::-1]), encoding="utf-8")
    result = run("evaluate", mentions, "--predictions", tmp_path / "p.jsonl")
    message = "line 1: is for other mentions: 'asthma'; expected 'breast cancer'; give the mentions that were linked, in the same order"
    assert (result.code, result.err) == (1, f"linker: {tmp_path / 'p.jsonl'}, {message}\n")
    result = run("evaluate", mentions, "--predictions", mentions, "--protocol", "biosyn")
    assert result.code == 1
    assert f"{mentions}: these are no predictions (" in result.err


def test_types(run: Run, trained: Path, tmp_path: Path) -> None:
    text = "1|t|Asthma and aspirin\n1|a|\n1\t0\t6\tAsthma\tDisease\tD001249\n1\t11\t18\taspirin\tChemical\tD001241\n"
    (tmp_path / "d.txt").write_text(text)
    result = run(
        "evaluate", tmp_path / "d.txt", "--model", trained, "--type", "Disease", "--k", "1"
    )
    assert rows(result.out)["all"][:2] == ["1", "1.0000"]
    assert result.err == ""
    result = run("evaluate", tmp_path / "d.txt", "--model", trained, "-k", "1")
    assert rows(result.out)["all"][:2] == ["2", "0.5000"]  # the sample has no drugs
    assert result.err.startswith(
        "the model does not have 1 of the 2 annotated ids (MESH 1; it has MESH "
    )
    assert result.err.endswith("), and none of type Chemical: choose others with --type\n")


def test_types_that_are_all_known_are_not_mentioned(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    text = "1|t|Asthma and asthma\n1|a|\n1\t0\t6\tAsthma\tDisease\tD001249\n1\t11\t17\tasthma\tModifier\tD001249\n"
    (tmp_path / "d.txt").write_text(text)
    assert run("evaluate", tmp_path / "d.txt", "--model", trained).err == ""


def test_a_model_of_another_dictionary_is_not_judged(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "gold.tsv").write_text(
        "asthma\tHP:0002099\ngout\tHP:0001997|DOID:999\ngouts\tHP:0001997\nx\t-1\n"
    )
    for options in ((), ("--protocol", "biosyn")):
        result = run("evaluate", tmp_path / "gold.tsv", "--model", trained, *options)
        assert (result.code, result.out) == (1, "")
        message = (
            r"linker: the model has none of the 3 annotated ids \(HP 2, DOID 1; it has MESH \d+, OMIM \d+"
            r"\); name a model that has them, .*\n"
        )
        assert re.fullmatch(message, result.err)
    assert (
        run(
            "link",
            tmp_path / "gold.tsv",
            "--model",
            trained,
            "--format",
            "jsonl",
            "-o",
            tmp_path / "p.jsonl",
        ).code
        == 0
    )
    assert run("evaluate", tmp_path / "gold.tsv", "--predictions", tmp_path / "p.jsonl").code == 0


def test_namespaces(run: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text(
        "breast cancer\tD001943\ncomplement 2 deficiency\tOMIM:217000\n"
    )
    result = run(
        "evaluate",
        tmp_path / "gold.tsv",
        "--model",
        trained,
        "-k",
        "1",
        "--namespaces",
        "omim",
        "-o",
        tmp_path / "out",
    )
    assert (result.code, rows(result.out)["all"][:2]) == (0, ["2", "0.5000"])
    assert re.match(
        r"the model does not have 1 of the 2 annotated ids \(MESH 1; it has OMIM \d+\)\n",
        result.err,
    )
    assert json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))["namespaces"] == [
        "omim"
    ]
    result = run("evaluate", tmp_path / "gold.tsv", "--predictions", "x", "--namespaces", "OMIM")
    assert (
        result.code,
        "--namespaces is for a model, not for --predictions; leave it out" in result.err,
    ) == (2, True)


def test_selections(run: Run, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(
        '{"mention": "ovarian cancer", "gold": "D010051"}\n'
        '{"mention": "ovarian cancer", "gold": "D061325", "under": "D001943"}\n'
        '{"mention": "ovarian cancer", "gold": "D001943", "under": "D99"}\n'
    )
    options = (path, "--model", trained, "-k", "1")
    result = run("evaluate", *options, "--on-error", "skip", "-o", tmp_path / "out")
    assert (result.code, rows(result.out)["all"][:2]) == (0, ["2", "1.0000"])
    assert "1 bad record was skipped" in result.err
    result = run("evaluate", *options)
    message = f"linker: {path}: mention 'ovarian cancer': D99 is not in the dictionary"
    assert (result.code, result.err.startswith(message)) == (1, True)
    path.write_text(path.read_text().rpartition('{"mention"')[0])
    choice = ("--not-under", "D061325", "--namespaces", "mesh")
    result = run("evaluate", *options, *choice, "-o", tmp_path / "out")
    assert (result.code, rows(result.out)["all"][:2]) == (0, ["2", "0.5000"])
    record = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
    assert [record[name] for name in ("under", "not_under", "types", "namespaces")] == [
        *(None, ["D061325"], None, ["mesh"])
    ]
    for flag in ("--under", "--not-under", "--types"):
        result = run("evaluate", path, "--predictions", "x", flag, "A")
        assert result.code == 2
        assert f"{flag} is for a model, not for --predictions; leave it out" in result.err


def test_a_threshold_withholds_answers_with_a_lower_confidence(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text("breast cancer\tD001943\na cup of tea\t-1\n")
    figures = {}
    for threshold in ("0", "0.5", "1"):
        result = run("evaluate", path, "--model", trained, "-k", "1", "--threshold", threshold)
        assert result.code == 0
        figures[threshold] = rows(result.out)["all"][:2]
    assert figures == {
        "0": ["2", "0.5000"],
        "0.5": ["2", "1.0000"],
        "1": ["2", "0.5000"],
    }  # the last: nothing is returned
    assert (
        run("evaluate", path, "--model", trained, "-k", "1").out
        == run("evaluate", path, "--model", trained, "--k", "1").out
    )
    for options in (("--protocol", "biosyn"), ("--predictions", path)):
        result = run("evaluate", path, "--model", trained, "--threshold", "0.9", *options)
        assert result.code == 2
        assert "--threshold is for a model under --protocol strict; leave it out" in result.err


def test_a_file_in_the_way(run: Run, trained: Path, mentions: Path) -> None:
    result = run("evaluate", mentions, "--model", trained, "-o", mentions)
    assert result.code == 1
    assert (
        result.err
        == f"linker: {mentions}: cannot be written: File exists; name another output with -o\n"
    )


@pytest.mark.parametrize("ks", ["0", "1,x", "-1", ",", "1.5", "1,1000001", "99999999999999999999"])
def test_wrong_ks(run: Run, trained: Path, mentions: Path, ks: str) -> None:
    result = run("evaluate", mentions, "--model", trained, "--k", ks)
    assert result.code == 2
    assert (
        f"Invalid value for '-k' / '--k': '{ks}'; expected whole numbers from 1 to 1000000, e.g. 1,5,10,20"
        in " ".join(result.err.split())
    )


@pytest.mark.data
def test_the_published_predictions_of_biosyn(run: Run, data: Path, tmp_path: Path) -> None:
    folder = data / "biosyn-ncbi-disease"
    with tarfile.open(folder / "ncbi-disease.tar.gz") as archive:
        for member in archive:
            if (
                member.isfile()
                and "processed_test/" in member.name
                and member.name.endswith(".concept")
            ):
                content = archive.extractfile(member)
                assert content is not None
                (tmp_path / Path(member.name).name).write_bytes(content.read())
    predictions = folder / "biosyn_predictions_test.json.gz"
    options = ("--protocol", "biosyn", "--k", "1,5,20", "-o", tmp_path / "out")
    (tmp_path / "plain.json").write_bytes(gzip.decompress(predictions.read_bytes()))
    for path in (predictions, tmp_path / "plain.json"):
        result = run("evaluate", tmp_path, "--predictions", path, *options)
        assert result.code == 0
        record = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
        assert (record["n"], record["acc"]) == (960, {"1": 0.91146, "5": 0.93854, "20": 0.96771})

"""linker review, and --decisions of linker link, annotate, explain and evaluate."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import rows

Run = Callable[..., Any]
BREAST, OVARIAN = "MESH:D001943", "MESH:D010051"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "d.tsv"
    path.write_text(f"breast cancer\t{OVARIAN}\ngout\t-1\n", "utf-8")
    return path


@pytest.fixture
def file(run: Run, trained: Path, table: Path, tmp_path: Path) -> Path:
    path = tmp_path / "decisions.db"
    result = run(
        "review", "import", table, "--model", trained, "--decisions", path, "--reviewer", "ann"
    )
    assert (result.code, result.err) == (0, "2 decisions were taken\n")
    return path


def test_link(run: Run, trained: Path, file: Path, tmp_path: Path) -> None:
    mentions = tmp_path / "m.txt"
    mentions.write_text("Breast cancer\ngout\novarian cancer\n", "utf-8")
    link = ("link", mentions, "--model", trained, "--decisions", file, "-k", 1)
    result = run(*link)
    assert result.err == ""
    assert [(r["concept_id"], r["source"]) for r in rows(result.out)] == [
        (OVARIAN, "decision"),
        ("", "decision"),
        (OVARIAN, ""),
    ]
    records = list(map(json.loads, run(*link, "--format", "jsonl").out.splitlines()))
    assert [record["state"] for record in records] == ["accepted", "no concept", "model"]
    assert run(*link, "--workers", 2).out == result.out


def test_a_concept_that_was_changed_without_a_state_is_warned_of(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    table = tmp_path / "reviewed.tsv"
    header = ["mention", "concept_id", "name", "matched_name", "state", "decisions"]
    gout = ["gout", OVARIAN, "Gout", "Gout", "model", ""]
    table.write_text("\n".join(map("\t".join, [header, gout])), "utf-8")
    path = tmp_path / "d.sqlite"
    result = run("review", "import", table, "--model", trained, "--decisions", path)
    assert result.code == 0
    none, warning = result.err.splitlines()
    assert none == "0 decisions were taken"
    assert warning.startswith("WARNING: rows with another concept than was linked, and no state: 1")


def test_evaluate(run: Run, trained: Path, file: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text(f"breast cancer\t{OVARIAN}\ngout\t-1\novarian cancer\t{OVARIAN}\n", "utf-8")
    evaluate = ("evaluate", gold, "--model", trained, "-k", "1,5")
    accuracies = []
    for options in ((), ("--decisions", file)):
        assert run(*evaluate, *options, "-o", tmp_path / "out").code == 0
        metrics = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
        accuracies.append(metrics["acc"]["1"])
    assert accuracies == [pytest.approx(1 / 3, abs=1e-3), 1.0]
    assert metrics["decisions"] == str(file)
    sources = [r["source"] for r in rows((tmp_path / "out" / "outcomes.tsv").read_text("utf-8"))]
    assert sources[0] == "decision"


def test_list_and_conflicts(run: Run, trained: Path, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tsv"
    other.write_text(f"Breast Cancer\t{BREAST}\n", "utf-8")
    take = ("review", "import", other, "--model", trained, "--decisions", file)
    assert run(*take, "--reviewer", "bob").code == 0
    result = run("review", "list", "--decisions", file)
    assert [r["reviewer"] for r in rows(result.out)] == ["ann", "ann", "bob"]
    assert all(len(r["model"]) == 64 and r["release"] and r["time"] for r in rows(result.out))
    disputed = run("review", "list", "--decisions", file, "--conflicts", "--model", trained)
    assert [r["concept_id"] for r in rows(disputed.out)] == [OVARIAN, BREAST]
    one = run("review", "list", "--decisions", file, "--reviewer", "bob")
    assert [r["concept_id"] for r in rows(one.out)] == [BREAST]
    result = run("link", other, "--input-format", "tsv", "--model", trained, "--decisions", file)
    assert "2 of 3 decisions are not applied" in result.err
    assert rows(result.out)[0]["concept_id"] == BREAST


def test_withdraw_and_history(run: Run, trained: Path, file: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.tsv"
    more.write_text(f"gout\t{BREAST}\n", "utf-8")
    run("review", "import", more, "--model", trained, "--decisions", file, "--reviewer", "ann")
    withdraw = ("review", "withdraw", "--decisions", file, "--reviewer", "bob")
    assert run(*withdraw, 1, 7, 8).code == 1
    assert len(rows(run("review", "list", "--decisions", file).out)) == 2
    assert run(*withdraw, 1, 3).err == "2 decisions were withdrawn\n"
    assert run(*withdraw, 1).code == 1
    assert run(*withdraw).code == run(*withdraw, "x").code == 2
    left = rows(run("review", "list", "--decisions", file).out)
    assert [(r["decision"], r["mention"]) for r in left] == [("2", "gout")]
    history = run("review", "export", "--decisions", file, "--format", "log")
    assert [(r["decision"], r["state"], r["withdrawn_by"]) for r in rows(history.out)] == [
        ("1", "withdrawn", "bob"),
        ("2", "in force", ""),
        ("3", "withdrawn", "bob"),
    ]
    assert rows(history.out)[2]["concept"] == BREAST
    more.write_text(history.out, "utf-8")
    assert run("review", "import", more, "--decisions", file, "--model", trained).code == 1
    none = tmp_path / "none.db"
    assert run("review", "withdraw", "--decisions", none, 1).code == 1
    assert not none.exists()


def test_an_import_that_is_repeated_undoes_nothing(
    run: Run, trained: Path, file: Path, table: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.tsv"
    other.write_text(f"breast cancer\t{BREAST}\n", "utf-8")
    take = ("review", "import", "--model", trained, "--decisions", file, "--reviewer", "ann")
    assert run(*take, other).code == 0
    result = run(*take, table)
    assert result.err.splitlines() == [
        "0 decisions were taken, 2 were there already",
        "decisions that were replaced or withdrawn since, passed over: 1; --again takes them",
    ]

    def concepts() -> list[str]:
        return [r["concept_id"] for r in rows(run("review", "list", "--decisions", file).out)]

    assert concepts() == ["-1", BREAST]
    assert run("review", "withdraw", "--decisions", file, 2, 3).code == 0
    assert run(*take, other, table).code == 0
    assert concepts() == [OVARIAN]
    assert run(*take, table, "--again").err.splitlines()[0] == (
        "1 decision was taken, 1 were there already"
    )
    assert concepts() == [OVARIAN, "-1"]


def test_what_is_exported_is_imported(run: Run, trained: Path, file: Path, tmp_path: Path) -> None:
    table, copy = tmp_path / "e.tsv", tmp_path / "copy.db"
    assert run("review", "export", "--decisions", file, "-o", table).code == 0
    add = ("review", "import", table, "--decisions", copy, "--model", trained)
    assert run(*add).err == "2 decisions were taken\n"
    assert run(*add).err == "0 decisions were taken, 2 were there already\n"
    lists = [run("review", "list", "--decisions", path).out for path in (file, copy)]
    assert lists[0] == lists[1]
    scoped = tmp_path / "scoped.tsv"
    scoped.write_text(f"mention\tid\tscope\nbreast cancer\t{BREAST}\t7\n", "utf-8")
    run("review", "import", scoped, "--model", trained, "--decisions", file)
    assert run("review", "export", "--decisions", file, "-o", table).code == 0
    assert len(table.read_text("utf-8").splitlines()) == 4
    mentions = tmp_path / "mentions.tsv"
    export = ("review", "export", "--decisions", file, "--format", "mentions", "-o", mentions)
    left_out = "1 decision was left out, which mentions cannot express\n"
    assert run(*export).err == left_out
    assert mentions.read_text() == f"mention\tconcept_id\nbreast cancer\t{OVARIAN}\ngout\t-1\n"
    sssom = run("review", "export", "--decisions", file, "--format", "sssom", "--model", trained)
    assert f"{OVARIAN}\tOvarian Neoplasms" in sssom.out


def test_a_new_release(
    run: Run, file: Path, trained: Path, medic: Callable[..., Path], tmp_path: Path
) -> None:
    new = medic(("Gout", "MESH:D006073", "", ""), ("Sore Toe", "MESH:D000001", "", ""))
    toe, options = tmp_path / "toe.tsv", ("--decisions", file, "--model", trained)
    toe.write_text("mention\tconcept_id\nsore toe\tMESH:D006073\n", "utf-8")
    run("review", "import", toe, *options, "--reviewer", "Bob")
    result = run("review", "update", "--dict", new, *options)
    assert [(r["kind"], r["mention"], r["now"]) for r in rows(result.out)] == [
        ("unknown", "breast cancer", ""),
        ("moved", "sore toe", "MESH:D000001"),
    ]
    assert "1 current, 1 moved, 1 unknown" in result.err
    assert run("review", "update", "--dict", new, *options, "--accept", "merged").code == 2
    again = ("review", "update", "--dict", new, *options, "--accept", "moved")
    assert "1 decision was taken" in run(*again, "--reviewer", "Ann").err
    listed = rows(run("review", "list", "--decisions", file).out)
    assert ("sore toe", "MESH:D000001", "Ann") in [
        (r["mention"], r["concept_id"], r["reviewer"]) for r in listed
    ]
    assert [r["kind"] for r in rows(run(*again[:-2]).out)] == ["unknown"]  # nothing is left to move


def test_a_merge_turns_no_rejection_around(run: Run, trained: Path, tmp_path: Path) -> None:
    """Also where answers of the new release go out and come back."""
    new, model = tmp_path / "new.tsv", tmp_path / "new"
    concept = f"{BREAST}\tBreast Neoplasms\tBreast Cancer\t{OVARIAN}\n"
    new.write_text(f"id\tname\tsynonyms\talt_ids\n{concept}", "utf-8")
    assert run("train", "--dict", new, "--encoder", "tfidf", "-o", model).code == 0
    table, file = tmp_path / "t.tsv", tmp_path / "d.sqlite"
    table.write_text(
        "mention\tconcept_id\taccepted\n"
        f"breast cancer\t{BREAST}\t\nbreast cancer\t{OVARIAN}\tfalse\n"
        f"breast neoplasms\t{OVARIAN}\tfalse\n",
        "utf-8",
    )
    take = ("review", "import", table, "--model", trained, "--decisions", file)
    assert run(*take, "--reviewer", "ann").code == 0
    mentions = tmp_path / "m.csv"
    mentions.write_text("mention\nbreast cancer\nbreast neoplasms\n", "utf-8")

    def linked(name: str, *options: object) -> Path:
        path = tmp_path / name
        link = ("link", mentions, "--model", model, "--decisions", file, "--column", "mention")
        assert run(*link, "-o", path, *options).code == 0
        return path

    answers = list(csv.DictReader(io.StringIO(linked("l.csv").read_text("utf-8"))))
    assert [(r["state"], r["concept_id"]) for r in answers] == [("accepted", BREAST), ("open", "")]
    said = json.loads(answers[1]["decisions"])
    assert [(d["concept_id"], d["said"], d["accepted"]) for d in said] == [(BREAST, OVARIAN, False)]
    again = ("review", "import", tmp_path / "l.csv", "--model", model, "--decisions", file)
    assert "0 decisions were taken, 2 were there already" in run(*again).err
    update = ("review", "update", "--dict", new, "--model", trained, "--decisions", file)
    listed = rows(run(*update).out)
    assert [(r["decision"], r["kind"]) for r in listed] == [("2", "merged"), ("3", "open")]
    assert "1 decision was taken" in run(*update, "--accept", 3, "--reviewer", "Bob").err
    answers = list(csv.DictReader(io.StringIO(linked("l.csv").read_text("utf-8"))))
    assert [(r["state"], r["reviewer"]) for r in answers] == [
        ("accepted", "ann"),
        ("accepted", "Bob"),
    ]
    assert {r["kind"] for r in rows(run(*update).out)} == {"merged"}


def test_a_short_form_is_no_part_of_a_bulk(
    run: Run, file: Path, trained: Path, medic: Callable[..., Path], tmp_path: Path
) -> None:
    new = medic(
        ("Gout", "MESH:D006073", "", ""),
        ("Sore Toe", "MESH:D000001", "", "FAP|Double Pain"),
        ("Sore Foot", "MESH:D000002", "", "Double Pain"),
    )
    table, options = tmp_path / "t.tsv", ("--decisions", file, "--model", trained)
    decided = [f"{mention}\tMESH:D006073\n" for mention in ("sore toe", "FAP", "double pain")]
    table.write_text("mention\tconcept_id\n" + "".join(decided), "utf-8")
    assert run("review", "import", table, *options, "--reviewer", "Bob").code == 0
    update = ("review", "update", "--dict", new, *options, "--reviewer", "Cleo")
    listed = rows(run(*update, "--accept", "moved").out)
    assert [(r["mention"], r["kind"], bool(r["one_by_one"])) for r in listed[1:]] == [
        ("sore toe", "moved", False),
        ("FAP", "moved", True),
        ("double pain", "ambiguous", False),
    ]

    def accepted() -> list[tuple[str, str]]:
        by_cleo = run("review", "list", "--decisions", file, "--reviewer", "Cleo")
        return [(r["mention"], r["bulk"]) for r in rows(by_cleo.out)]

    assert accepted() == [("sore toe", "true")]
    assert run(*update, "--accept", listed[2]["decision"]).code == 0
    assert accepted() == [("sore toe", "true"), ("FAP", "")]


def test_bad_rows(run: Run, trained: Path, tmp_path: Path) -> None:
    bad, file = tmp_path / "bad.tsv", tmp_path / "decisions.db"
    bad.write_text("gout\tMESH:D999999\ngout\t-1\nonly\n", "utf-8")
    decide = ("review", "import", bad, "--model", trained, "--decisions", file)
    result = run(*decide)
    assert result.code == 1
    assert not file.exists()
    result = run(*decide, "--on-error", "skip")
    assert result.code == 0
    assert "1 decision was taken\n2 bad records were skipped\n" in result.err


STATES = {
    "Breast cancer": "accepted",
    "gout": "no concept",
    "breast and ovarian cancer": "accepted",
    "ataxia": "open",
    "ovarian cancer": "disputed",
    "hepatitis B": "model",
}


@pytest.fixture
def reviewed(run: Run, trained: Path, tmp_path: Path) -> Path:
    """Decisions that bring each of `STATES` about."""
    path, decisions = tmp_path / "reviewed.tsv", tmp_path / "reviewed.db"
    path.write_text(
        "mention\tconcept_id\taccepted\treviewer\n"
        f"breast cancer\t{OVARIAN}\t\tann\n"
        "gout\t-1\t\tann\n"
        f"breast and ovarian cancer\t{BREAST}|-1\t\tann\n"
        "ataxia\tMESH:D001260\tfalse\tann\nataxia\tMESH:D020754\tfalse\tann\n"
        f"ovarian cancer\t{OVARIAN}\t\tann\novarian cancer\t{BREAST}\t\tbob\n",
        "utf-8",
    )
    assert run("review", "import", path, "--model", trained, "--decisions", decisions).code == 0
    return decisions


@pytest.mark.parametrize("form", ["csv", "sssom"])
def test_states_go_out_and_come_back(
    run: Run, trained: Path, reviewed: Path, tmp_path: Path, form: str
) -> None:
    """What people decided stands in tables and mappings, and is the same when it was read again."""
    lines, table = tmp_path / "m.txt", tmp_path / f"m.{form}"
    lines.write_text("".join(f"{mention}\n" for mention in STATES), "utf-8")
    rows = [("n", "mention"), *((str(n), mention) for n, mention in enumerate(STATES))]
    table.write_text("".join(f"{','.join(row)}\n" for row in rows), "utf-8")
    source, how = (lines, "--format") if form == "sssom" else (table, "--column")
    named = form if form == "sssom" else "mention"
    out, copy = tmp_path / f"out.{form}", tmp_path / "copy.db"
    linked = run("link", source, "--model", trained, "--decisions", reviewed, how, named, "-o", out)
    assert linked.code == 0, linked.err
    assert run("review", "import", out, "--model", trained, "--decisions", copy).code == 0
    for decisions in (reviewed, copy):
        link = ("link", lines, "--model", trained, "--decisions", decisions)
        answers = run(*link, "--format", "jsonl")
        states = {a["mention"]: a["state"] for a in map(json.loads, answers.out.splitlines())}
        assert states == STATES
    again = run("review", "import", out, "--model", trained, "--decisions", copy)
    assert form == "sssom" or "0 decisions were taken, 7 were there already" in again.err


def test_a_report_says_why_rows_have_no_answer(run: Run, trained: Path, tmp_path: Path) -> None:
    table, listed = tmp_path / "t.csv", tmp_path / "l.txt"
    table.write_text("mention,n\nbreast cancer,1\nxyzzy,2\nxyzzy,3\n")
    listed.write_text("breast cancer\nxyzzy\nxyzzy\n")
    first = "2 of 3 rows (1 of 2 distinct mentions) have no sure answer."
    for path in (table, listed):
        result = run("review", "report", path, "--model", trained)
        assert (result.code, result.out.splitlines()[0]) == (0, first)
    names = tmp_path / "d.tsv"
    names.write_text("id\tname\nX:1\tXyzzy\n")
    run("review", "report", table, "--model", trained, "--lend", names, "-o", tmp_path / "r.md")
    assert "## named elsewhere: 2 rows" in (tmp_path / "r.md").read_text()
    assert run("review", "report", table, "--model", trained, "--column", "x").code == 1

"""Two evaluations of the same mentions."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest

from linker import InputError, Linker, LinkerError, Mention
from linker.evaluation import compare, run
from linker.evaluation.compare import Evaluated, Row
from linker.ids import parse_gold

HEAD = "document_id\tmention\tgold\trank\tconcept_id\tmatched_name\terror"


def row(mention: str, rank: int, answer: str, error: str = "", gold: str = "D:1") -> Row:
    cells = ("7", mention, gold, str(rank or ""), answer, "", error)
    return dict(zip(HEAD.split("\t"), cells, strict=True))


def evaluated(name: str, *rows: Row, ks: tuple[int, ...] = (1, 5)) -> Evaluated:
    return Evaluated(name, "strict", ks, rows)


A = evaluated(
    "old",
    row("a", 1, "D:1"),
    row("b", 1, "D:1"),
    row("c", 2, "D:2", "sibling"),
    row("d", 0, "D:2", "hypernym"),
    row("e", 0, "D:2", "hypernym"),
    row("f", 1, "OLD:1"),
    row("g", 0, "-1", "no_candidate"),
)
B = evaluated(
    "new",
    row("a", 1, "D:1"),
    row("b", 2, "D:3", "hyponym"),
    row("c", 1, "D:1"),
    row("d", 1, "D:1"),
    row("e", 3, "D:4", "unrelated"),
    row("f", 1, "D:1"),
    row("g", 0, "-1", "no_candidate"),
    ks=(1, 5, 20),
)


def test_what_changed() -> None:
    record, changed = compare.compare(A, B)
    assert [(change, of_a["mention"]) for change, of_a, _ in changed] == [
        ("right_to_wrong", "b"),
        ("wrong_to_right", "c"),
        ("wrong_to_right", "d"),
        ("wrong_to_other_wrong", "e"),
        ("right_to_other_right", "f"),
    ]
    assert record["changes"] == {
        "right_to_wrong": 1,
        "wrong_to_right": 2,
        "wrong_to_other_wrong": 1,
        "right_to_other_right": 1,
    }
    assert record["errors"] == {
        "right_to_wrong": {"right -> hyponym": 1},
        "wrong_to_right": {"sibling -> right": 1, "hypernym -> right": 1},
        "wrong_to_other_wrong": {"hypernym -> unrelated": 1},
        "right_to_other_right": {"right -> right": 1},
    }
    assert list(record["acc"]) == ["1", "5"]  # the k of both
    first, fifth = record["acc"].values()
    assert (first["a"], first["b"], first["difference"]) == (0.42857, 0.57143, 0.14286)
    assert (fifth["a"], fifth["b"]) == (0.57143, 0.85714)
    assert first["interval"][0] < first["difference"] < first["interval"][1]
    # 1 against 2: every split of 3 is as likely or less, so that p is 1
    assert record["mcnemar"] == {"right_to_wrong": 1, "wrong_to_right": 2, "p": 1}


def test_mcnemars_test_is_exact() -> None:
    wrong, right = row("x", 0, "D:2"), row("x", 1, "D:1")
    better, _ = compare.compare(
        evaluated("a", *[wrong] * 9, right), evaluated("b", *[right] * 9, wrong)
    )
    tail = sum(math.comb(10, won) for won in (9, 10)) / 2**10
    assert better["mcnemar"]["p"] == pytest.approx(2 * tail)
    same, _ = compare.compare(A, A)
    assert (same["mcnemar"]["p"], same["acc"]["1"]["interval"]) == (1, [0, 0])


OTHER = row("x", 1, "D:1")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (evaluated("new", *B.rows[:2], OTHER), "differs is number 3, '7 c D:1' and '7 x D:1'; eva"),
        (evaluated("new", *B.rows[:6]), "number 7, '7 g D:1' and 'nothing'"),
        (evaluated("new", *B.rows, row("h", 1, "D:1")), "number 8, 'nothing' and '7 h D:1'"),
        (evaluated("new", *B.rows, ks=(2,)), "old and new have no k of Acc@k in common"),
        (Evaluated("new", "biosyn", (1,), B.rows), "old is by the protocol strict, new by biosyn;"),
        (evaluated("new"), "number 1, '7 a D:1' and 'nothing'"),
    ],
)
def test_what_cannot_be_compared(other: Evaluated, message: str) -> None:
    with pytest.raises(LinkerError) as caught:
        compare.compare(A, other)
    assert message in str(caught.value)


def test_the_tables() -> None:
    record, mentions = compare.compare(A, B)
    lines = compare.table(record).splitlines()
    assert lines[:3] == ["A: old", "B: new", "7 mentions, protocol strict"]
    assert lines[4].split() == ["A", "B", "B", "-", "A", "95%", "interval"]
    assert lines[5].split()[:4] == ["Acc@1", "0.4286", "0.5714", "+0.1429"]
    assert "McNemar's exact test of Acc@1: p = 1 (1 became wrong, 2 became right)" in lines
    assert "  hypernym -> unrelated  1" in [line.rstrip() for line in lines]
    file = io.StringIO()
    compare.write_changed(mentions, file)
    head, first, *_ = (line.split("\t") for line in file.getvalue().splitlines())
    changed = dict(zip(head, first, strict=True))
    assert (changed["mention"], changed["change"]) == ("b", "right_to_wrong")
    assert (changed["concept_id_a"], changed["concept_id_b"]) == ("D:1", "D:3")
    assert (changed["rank_b"], changed["error_b"], changed["confidence_a"]) == ("2", "hyponym", "")


GIVEN = [
    Mention('a"b\tcd', gold=parse_gold("D:1"), document_id="7"),
    Mention("abxy", gold=parse_gold("D:1")),
    Mention("…", gold=()),
]


def test_an_evaluation_is_read_as_it_was_written(tiny: Linker, tmp_path: Path) -> None:
    result = run.evaluate(GIVEN, tiny, "strict", (1, 5))
    run.write(tmp_path, result.record, result.outcomes, tiny, GIVEN)
    read, made = compare.read(tmp_path), [*map(run.row, result.outcomes)]
    assert (read.protocol, list(read.ks)) == ("strict", [1, 5])
    assert read.rows[1:] == made[1:]
    assert read.rows[0] == {**made[0], "mention": 'a"b cd'}  # a tab cannot stand in a table


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", "{}"),
        ("metrics.json", '{"protocol": "strict", "acc": 3}'),
        ("metrics.json", "["),
        ("outcomes.tsv", "mention\tgold\nm\tD:1\n"),
        ("outcomes.tsv", "HEAD\n7\tm\n"),
        ("outcomes.tsv", "HEAD\n7\tm\tD:1\tone\tD:1\tx\t\n"),
        ("outcomes.tsv", 'HEAD\n7\t"m\n'),
    ],
)
def test_damaged_evaluations(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "metrics.json").write_text('{"protocol": "strict", "acc": {"1": 1.0}}')
    (tmp_path / "outcomes.tsv").write_text(f"{HEAD}\n7\tm\tD:1\t1\tD:1\tx\t\n")
    assert compare.read(tmp_path).rows[0]["rank"] == "1"  # as versions before this one wrote it
    (tmp_path / name).write_text(content.replace("HEAD", HEAD))
    with pytest.raises(InputError) as caught:
        compare.read(tmp_path)
    assert f"{name}: these are no figures of an evaluation" in str(caught.value)
    assert str(caught.value).endswith("evaluate again with -o")

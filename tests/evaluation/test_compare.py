"""Two evaluations of the same mentions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linker import InputError, Linker, LinkerError, Mention
from linker.evaluation import compare, run
from linker.evaluation.protocols import Outcome
from linker.ids import parse_gold

HEAD = "document_id\tmention\tgold\trank\tconcept_id\tmatched_name\terror"


def outcomes(*ranks: int, gold: str = "D:1") -> list[Outcome]:
    return [
        Outcome(Mention(f"m{i}", gold=parse_gold(gold), document_id="7"), rank, (None,))
        for i, rank in enumerate(ranks)
    ]


def record(*ks: str, protocol: str = "strict") -> dict[str, Any]:
    return {"protocol": protocol, "acc": dict.fromkeys(ks, 0.5)}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of an evaluation."""
    rows = [*map(run.row, outcomes(1, 1, 2, 0, 0, 1, 0))]
    run.write_tables(tmp_path, record("1", "5"), "outcomes.tsv", rows)
    return tmp_path


def test_the_figures_of_both(old: Path) -> None:
    new = outcomes(1, 2, 1, 1, 3, 1, 0)
    made = compare.compare(compare.read(old), "new", record("1", "5", "20"), new)
    assert (made["a"], made["b"], made["n"]) == (str(old), "new", 7)
    assert list(made["acc"]) == ["1", "5"]  # the k of both
    first, fifth = made["acc"].values()
    assert (first["a"], first["b"], first["difference"]) == (0.42857, 0.57143, 0.14286)
    assert (fifth["a"], fifth["b"]) == (0.57143, 0.85714)
    assert first["interval"][0] < first["difference"] < first["interval"][1]
    lines = compare.table(made).splitlines()
    assert lines[5].split()[:4] == ["Acc@1", "0.4286", "0.5714", "+0.1429"]


@pytest.mark.parametrize(
    ("other", "figures"),
    [
        (outcomes(*[1] * 7, gold="D:2"), record("1")),
        (outcomes(*[1] * 8), record("1")),
        (outcomes(*[1] * 7), record("2")),
        (outcomes(*[1] * 7), record("1", protocol="biosyn")),
    ],
)
def test_what_cannot_be_compared(old: Path, other: list[Outcome], figures: dict[str, Any]) -> None:
    with pytest.raises(LinkerError):
        compare.compare(compare.read(old), "new", figures, other)


def test_an_evaluation_is_compared_with_itself(tiny: Linker, tmp_path: Path) -> None:
    given = [
        Mention('a"b\tcd', gold=parse_gold("D:1"), document_id="7"),
        Mention("abxy", gold=parse_gold("D:1")),
        Mention("…", gold=()),
    ]
    result = run.evaluate(given, tiny, "strict", (1, 5))
    run.write(tmp_path, result.record, result.outcomes)
    made = compare.compare(compare.read(tmp_path), "same", result.record, result.outcomes)
    assert made["acc"]["1"]["interval"] == [0, 0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", '{"protocol": "strict", "acc": 3}'),
        ("outcomes.tsv", "mention\tgold\nm\tD:1\n"),
        ("outcomes.tsv", "HEAD\n7\tm\tD:1\tone\tD:1\tx\t\n"),
        ("outcomes.tsv", 'HEAD\n7\t"m\n'),
    ],
)
def test_damaged_evaluations(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "metrics.json").write_text('{"protocol": "strict", "acc": {"1": 1.0}}')
    (tmp_path / "outcomes.tsv").write_text(f"{HEAD}\n7\tm0\tD:1\t1\tD:1\tx\t\n")
    # as versions before this one wrote it
    assert compare.compare(compare.read(tmp_path), "new", record("1"), outcomes(1))["n"] == 1
    (tmp_path / name).write_text(content.replace("HEAD", HEAD))
    with pytest.raises(InputError) as caught:
        compare.read(tmp_path)
    assert name in str(caught.value)

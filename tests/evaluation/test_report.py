"""Figures worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from linker import Linker, Mention
from linker.cli.evaluate import evaluate
from linker.evaluation import protocols, report
from linker.evaluation.protocols import Outcome
from linker.ids import parse_gold


def of(*ranks: int) -> list[Outcome]:
    return [Outcome(Mention("m", gold=parse_gold("D:1")), rank, (None,)) for rank in ranks]


def test_figures_of_four_mentions() -> None:
    record = report.summary(of(1, 2, 0, 1), (1, 2, 5))
    assert record["n"] == 4
    assert record["acc"] == {"1": 2 / 4, "2": 3 / 4, "5": 3 / 4}
    assert record["mrr"] == (1 / 1 + 1 / 2 + 0 + 1 / 1) / 4
    assert not {"groups", "errors"} & set(record)
    for k in ("1", "2", "5"):
        low, high = record["acc_interval"][k]
        assert 0 <= low <= record["acc"][k] <= high <= 1
    assert record["mrr_interval"][0] < record["mrr"] < record["mrr_interval"][1]


def test_the_interval_is_that_of_the_binomial() -> None:
    low, high = report.figures(of(*[1] * 360, *[0] * 40), (1,))["acc_interval"]["1"]
    half = 1.96 * (0.9 * 0.1 / 400) ** 0.5  # 0.0294
    assert (low, high) == (
        pytest.approx(0.9 - half, abs=0.004),
        pytest.approx(0.9 + half, abs=0.004),
    )
    assert report.figures(of(1, 1, 1), (1,))["acc_interval"]["1"] == [1.0, 1.0]


def test_figures_are_the_same_each_time() -> None:
    assert report.summary(of(1, 0, 3), (1, 5)) == report.summary(of(1, 0, 3), (1, 5))


def test_figures_have_five_decimals() -> None:
    record = report.figures(of(1, 1, 0), (1,))
    assert (record["acc"]["1"], record["mrr"]) == (0.66667, 0.66667)


def test_nothing_gives_no_figures() -> None:
    record = report.figures([], (1,))
    assert (record["n"], record["acc"], record["mrr"], record["acc_interval"]) == (
        0,
        {"1": None},
        None,
        {"1": [None, None]},
    )


def test_a_linker_adds_groups_and_errors(tiny: Linker) -> None:
    given = [
        ("abcd", "D:1"),
        ("abxy", "D:1"),
        ("male breast cancer", "D:3"),
        ("…", "D:1"),
        ("breast cancer", "D:4"),
        ("www", "-1"),
    ]
    outcomes = list(
        protocols.strict(tiny, [Mention(text, gold=parse_gold(gold)) for text, gold in given], 20)
    )
    record = report.summary(outcomes, (1,), tiny)
    assert record["acc"] == {"1": 0.16667}
    assert record["errors"] == {
        "hyponym": 2,
        "no_candidate": 1,
        "sibling": 1,
        "concept_not_expected": 1,
    }
    assert list(record["errors"].values()) == [2, 1, 1, 1]
    assert record["groups"]["unseen_mention"] == {
        "n": 6,
        "acc": {"1": 0.16667},
        "mrr": record["mrr"],
    }
    assert record["groups"]["seen_mention"] == {"n": 0, "acc": {"1": None}, "mrr": None}


def test_the_table() -> None:
    record = report.figures(of(1, 1, 1), (1, 5)) | {
        "groups": {"seen_mention": report.figures([], (1, 5), intervals=False)},
        "errors": {"sibling": 12, "no_candidate": 3},
    }
    assert report.table(record).split("\n") == [
        "              n  Acc@1        Acc@5        MRR",
        "all           3  1.0000       1.0000       1.0000",
        "95% interval     1.000-1.000  1.000-1.000  1.000-1.000",
        "seen mention  0",
        "",
        "error at 1    n   what was returned instead",
        "sibling       12  shares a parent with the right concept",
        "no_candidate  3   nothing was returned",
    ]


@pytest.mark.parametrize("protocol", protocols.PROTOCOLS)
def test_the_mrr_does_not_depend_on_the_k_that_are_shown(
    tiny: Linker, tmp_path: Path, protocol: str
) -> None:
    tiny.save(tmp_path / "model")
    (tmp_path / "gold.tsv").write_text("abcd\tD:2\nabcd\tD:1\n", encoding="utf-8")
    mrr = set()
    for ks in ("1", "2,5", "20"):
        given = [
            tmp_path / "gold.tsv",
            "--model",
            tmp_path / "model",
            "--protocol",
            protocol,
            "--k",
            ks,
            "-o",
            tmp_path / "out",
        ]
        assert CliRunner().invoke(evaluate, list(map(str, given))).exit_code == 0
        mrr.add(json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))["mrr"])
    assert mrr == {round((1 / 3 + 1) / 2, 5)}  # D:2 is third, D:1 first

"""An evaluation from mentions to figures and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linker import InputError, Linker, LinkerError, Mention
from linker.evaluation import protocols, report, run
from linker.evaluation.protocols import Outcome
from linker.ids import parse_gold
from linker.io import outputs
from linker.linking.ranker import Ranker

GIVEN = [
    Mention("abcd", gold=parse_gold("D:1"), document_id="7"),
    Mention("abcd", gold=parse_gold("D:5")),
    Mention("www"),
]


def test_an_evaluation_shows_itself_as_a_table(tiny: Linker) -> None:
    result = run.evaluate(GIVEN, tiny, "strict", (1,))
    shown = repr(result)
    assert report.table(result.record) in shown
    assert f"{result.record['acc']['1']:.4f}" in result._repr_html_()
    assert result._repr_html_().startswith("<table>")
    nothing = run.evaluate([Mention("gout")], tiny)
    assert nothing._repr_html_() == repr(nothing)


@pytest.mark.parametrize("protocol", protocols.PROTOCOLS)
def test_a_model_is_evaluated_by_a_protocol(tiny: Linker, tmp_path: Path, protocol: str) -> None:
    outcomes = list(getattr(protocols, protocol)(tiny, GIVEN, 20))
    result = run.evaluate(GIVEN, tiny, protocol, (1, 5))
    assert result.outcomes == outcomes
    assert result.record == {
        "protocol": protocol,
        **report.summary(outcomes, (1, 5), tiny),
        **(report.of_confidences(outcomes) if protocol == "strict" else {}),
        "left_out": 1,
    }
    assert (result.mentions, result.warning) == (3, "")
    run.write(tmp_path, result.record, result.outcomes)
    assert json.loads((tmp_path / "metrics.json").read_text("utf-8")) == result.record
    if protocol == "strict":
        first, second = (tmp_path / "outcomes.tsv").read_text("utf-8").splitlines()[1:]
        assert first == "7\tabcd\tD:1\t1\tD:1\tabcd\t\t\twhole\t\t"
        assert (second.split("\t")[2], second.split("\t")[6]) == ("D:5", "hypernym")


def test_the_confidences_of_a_ranker_are_calibrated(tiny: Linker, tmp_path: Path) -> None:
    """By `strict` they are those of `link`; `biosyn` knows none, but names stand by them."""
    linker = tiny.with_ranker(Ranker.shipped())
    result = run.evaluate(GIVEN, linker, "strict", (1,))
    given = [p.parts[0].confidence for p in linker.link(GIVEN, threshold=0)][:2]
    assert [outcome.confidence for outcome in result.outcomes] == given
    assert result.record["calibration"]["n"] == 2
    assert result.record["calibration"]["without_confidence"] == 0
    run.write(tmp_path, result.record, result.outcomes)
    _, first, _ = (tmp_path / "outcomes.tsv").read_text("utf-8").splitlines()
    assert first.split("\t")[7] == f"{given[0]:.4f}"
    assert ">Calibration</h2>" in (tmp_path / "report.html").read_text("utf-8")
    names = run.evaluate(GIVEN, linker, "biosyn", (1, 5))
    assert "calibration" not in names.record
    (ranking,) = linker.rank_names(["abcd"], 20)
    for order, field in ((ranking.by_score, "rank"), (ranking.by_concept, "rank_of_concepts")):
        ids = [linker.dictionary.ids[row] for row in order.concepts.tolist()]
        assert [getattr(outcome, field) for outcome in names.outcomes] == [
            ids.index(gold) + 1 for gold in ("D:1", "D:5")
        ]


def test_predictions_need_no_model(tiny: Linker, tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    with path.open("w", encoding="utf-8") as file:
        outputs.write("jsonl", tiny.link_items(GIVEN, k=20), file)
    alone = run.evaluate_predictions(path, GIVEN, None, "strict", (1,))
    assert alone.record["acc"] == {"1": 1 / 2}
    assert "groups" not in alone.record
    together = run.evaluate_predictions(path, GIVEN, tiny, "strict", (1,))
    assert together.outcomes == run.evaluate(GIVEN, tiny, "strict", (1,)).outcomes
    assert "groups" in together.record


# two evaluations of the same mentions

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
    made = run.compare(run.read(old), "new", record("1", "5", "20"), new)
    assert (made["a"], made["b"], made["n"]) == (str(old), "new", 7)
    assert list(made["acc"]) == ["1", "5"]  # the k of both
    first, fifth = made["acc"].values()
    assert (first["a"], first["b"], first["difference"]) == (0.42857, 0.57143, 0.14286)
    assert (fifth["a"], fifth["b"]) == (0.57143, 0.85714)
    assert first["interval"][0] < first["difference"] < first["interval"][1]
    lines = run.comparison_table(made).splitlines()
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
        run.compare(run.read(old), "new", figures, other)


def test_an_evaluation_is_compared_with_itself(tiny: Linker, tmp_path: Path) -> None:
    given = [
        Mention('a"b\tcd', gold=parse_gold("D:1"), document_id="7"),
        Mention("abxy", gold=parse_gold("D:1")),
        Mention("…", gold=()),
    ]
    result = run.evaluate(given, tiny, "strict", (1, 5))
    run.write(tmp_path, result.record, result.outcomes)
    made = run.compare(run.read(tmp_path), "same", result.record, result.outcomes)
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
    assert run.compare(run.read(tmp_path), "new", record("1"), outcomes(1))["n"] == 1
    (tmp_path / name).write_text(content.replace("HEAD", HEAD))
    with pytest.raises(InputError) as caught:
        run.read(tmp_path)
    assert name in str(caught.value)

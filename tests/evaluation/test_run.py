"""An evaluation from mentions to figures and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linker import (
    Linker,
    Mention,
)
from linker.evaluation import protocols, report, run
from linker.ids import parse_gold
from linker.io import outputs
from linker.linking.ranker import Ranker

GIVEN = [
    Mention("abcd", gold=parse_gold("D:1"), document_id="7"),
    Mention("abcd", gold=parse_gold("D:5")),
    Mention("www"),
]


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
    ids = [linker.dictionary.ids[row] for row in ranking.concepts.tolist()]
    assert [outcome.rank for outcome in names.outcomes] == [
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

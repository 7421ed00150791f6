"""Somebody's predictions: our JSONL and the JSON of BioSyn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linker import (
    InputError,
    Linker,
    LinkerError,
    Mention,
)
from linker.evaluation import predictions, protocols
from linker.evaluation.protocols import Outcome
from linker.ids import parse_gold
from linker.io import outputs

GIVEN = [
    Mention("abcd", gold=parse_gold("D:2")),
    Mention("breast and ovarian cancer", gold=parse_gold("D:3|D:4")),
    Mention("www", gold=()),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "predictions.json"


@pytest.fixture
def ours(tiny: Linker, path: Path) -> Path:
    """Our own predictions for GIVEN."""
    with path.open("w", encoding="utf-8") as file:
        outputs.write("jsonl", tiny.link_items(GIVEN, k=20), file)
    return path


def evaluated(path: Path, given: list[Mention], protocol: str, tiny: Linker) -> list[Outcome]:
    return list(predictions.outcomes(path, given, protocol, tiny))


def test_our_predictions_are_evaluated_as_the_model_is(tiny: Linker, ours: Path) -> None:
    strict = evaluated(ours, GIVEN, "strict", tiny)
    assert strict == list(protocols.strict(tiny, GIVEN, 20))
    assert [o.rank for o in strict] == [3, 1, 0]
    # biosyn leaves out mentions without a concept; the candidates of our file count one a concept
    assert [o.rank for o in evaluated(ours, GIVEN, "biosyn", tiny)] == [3, 1]
    unknown = [GIVEN[0], Mention(GIVEN[1].text), GIVEN[2]]  # one that is not annotated
    assert [o.rank for o in evaluated(ours, unknown, "strict", tiny)] == [3, 0]


@pytest.mark.parametrize(
    ("given", "line"), [(GIVEN[1:], 1), ([*GIVEN, GIVEN[0]], 4), (GIVEN[:2], None)]
)
def test_predictions_for_other_mentions(
    tiny: Linker, ours: Path, given: list[Mention], line: int | None
) -> None:
    with pytest.raises(InputError) as caught:
        evaluated(ours, given, "strict", tiny)
    assert (caught.value.path, caught.value.line) == (str(ours), line)


def biosyn(*queries: tuple[str, list[tuple[str, list[str]]]]) -> dict[str, Any]:
    """The form of predictions_eval.json: a query has parts, a part ranked names with their ids."""

    def part(gold: str, text: str, ids: list[str]) -> dict[str, Any]:
        candidates = [{"name": f"n{i}", "cui": i, "label": 0} for i in ids]
        return {"mention": text, "golden_cui": gold, "candidates": candidates}

    return {"queries": [{"mentions": [part(gold, *of) for of in parts]} for gold, parts in queries]}


def test_the_predictions_of_biosyn(tiny: Linker, path: Path) -> None:
    breast, ovarian = ("breast cancer", ["D:3"]), ("ovarian cancer", ["D:1", "D:4"])
    record = biosyn(
        ("D:2", [("abcd", ["D:1", "D:6", "D:2|D:7"])]),  # joined ids: any of them
        ("D:3|D:4", [breast, ovarian]),  # all parts must hit
        ("D:3|D:1", [breast, ("none", [])]),
        ("OLD:2", [("abxy", ["D:2"])]),
        ("D:6", [("www", ["-1", "D:6"])]),  # a name without an id is a miss
    )
    path.write_text(json.dumps(record, indent=2))
    # in another order; theirs is kept
    given = [
        Mention("x", gold=parse_gold(gold))
        for gold in ("OLD:2", "D:6", "D:3|D:1", "D:2", "D:3|D:4")
    ]
    outcomes = evaluated(path, given, "biosyn", tiny)
    assert [(o.mention.text, o.rank) for o in outcomes] == [
        ("abcd", 3),
        ("breast cancer|ovarian cancer", 2),
        ("breast cancer|none", 0),
        ("abxy", 1),
        ("www", 2),
    ]
    assert [part and part.concept_id for part in outcomes[2].parts] == ["D:3", None]
    assert [outcomes[1].error, outcomes[3].error] == ["hypernym", ""]


@pytest.mark.parametrize(("given", "protocol"), [(GIVEN, "biosyn"), (GIVEN[:1], "strict")])
def test_predictions_of_biosyn_that_do_not_fit(
    tiny: Linker, path: Path, given: list[Mention], protocol: str
) -> None:
    path.write_text(json.dumps(biosyn(("D:2", [("abcd", ["D:1"])])), indent=2))
    with pytest.raises(LinkerError):
        evaluated(path, given, protocol, tiny)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"queries": 3}',
        '{"queries": [{"mentions": []}]}',
        "[" * 100_000,
        '{"queries": [{"mentions": [{"mention": 1, "golden_cui": "D:1", "candidates": []}]}]}',
        '{"queries": [{"mentions": [{"mention": "\\ud800", "golden_cui": 1, "candidates": []}]}]}',
    ],
)
def test_no_predictions(tiny: Linker, path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(InputError):
        evaluated(path, GIVEN, "biosyn", tiny)

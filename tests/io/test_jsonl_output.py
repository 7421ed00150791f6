"""Predictions as JSON lines, and back."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import InputError, Skip
from linker.io import jsonl
from linker.records import (
    Candidate,
    Decision,
    GoldGroup,
    Mention,
    Part,
    Prediction,
    Reading,
    ReadingKind,
)

from .conftest import written

BREAST = Candidate(
    "MESH:D001943", "Breast Neoplasms", "breast cancer", 0.93, 0.41, 0.88, confidence=0.97
)
TEA = Candidate("A:1", "Tea", "tea", 0.2, 0.2)
PREDICTION = Prediction(
    Mention("breast and ovarian cancer", gold=(GoldGroup(("MESH:D001943",)),)),
    (
        Part("breast cancer", candidates=(BREAST,)),
        Part("ovarian ca", "ovarian cancer", ((11, 18), (19, 25)), nil=True, rejected=TEA),
    ),
    "split",
    (Reading("whole", (Part("breast and ovarian cancer", candidates=(BREAST,)),), 0.25),),
)
KEYS = ["concept_id", "name", "matched_name", "score", "sparse_score", "dense_score", "confidence"]


def as_json(*values: object) -> dict[str, Any]:
    return dict(zip(KEYS, values, strict=True))


def part(text: str, **values: Any) -> dict[str, Any]:
    nothing = {"expanded": None, "spans": None, "nil": False, "assertion": "present"}
    nothing["confidence"] = None
    return {"text": text, **nothing, "candidates": [], "rejected": None} | values


CANDIDATE = as_json("MESH:D001943", "Breast Neoplasms", "breast cancer", 0.93, 0.41, 0.88, 0.97)
SURE: dict[str, Any] = {"confidence": 0.97, "candidates": [CANDIDATE]}
UNSURE = part(
    "ovarian ca",
    expanded="ovarian cancer",
    spans=[[11, 18], [19, 25]],
    nil=True,
    rejected=as_json("A:1", "Tea", "tea", 0.2, 0.2, None, None),
)
WHOLE = {"kind": "whole", "confidence": 0.25, "parts": [part("breast and ovarian cancer", **SURE)]}
RECORD: dict[str, Any] = {
    "schema": 1,
    "mention": "breast and ovarian cancer",
    "document_id": None,
    "spans": None,
    "parts": [part("breast cancer", **SURE), UNSURE],
    "reading": "split",
    "assertion": "present",
    "rivals": [WHOLE],
    "state": "model",
    "decisions": [],
}


def test_lent_names_and_decided_answers_say_so_there_and_back() -> None:
    lent = Candidate("MESH:D006073", "Gout", "podagra", 0.5, source="doid.obo")
    prediction = Prediction(Mention("podagra"), (Part("podagra", candidates=(lent, BREAST)),))
    record = prediction.to_dict()
    first, second = record["parts"][0]["candidates"]
    assert first["source"] == "doid.obo"
    assert "source" not in second
    assert jsonl.from_json(record) == prediction
    said = (Decision("m", ""), Decision("m", "A:1", False, "7", "ann", "2026-01-01"))
    prediction = Prediction(Mention("m"), (Part("m", nil=True),), state="open", decisions=said)
    decided = prediction.to_dict()
    assert (decided["state"], decided["decisions"][0]["concept_id"]) == ("open", None)
    assert jsonl.from_json(decided) == prediction
    first["source"] = 7
    with pytest.raises(ValueError):
        jsonl.from_json(record)


def without(record: Any, *keys: str) -> Any:
    """A record without some keys, at any depth."""
    if isinstance(record, list):
        return [without(item, *keys) for item in record]
    if not isinstance(record, dict):
        return record
    return {key: without(value, *keys) for key, value in record.items() if key not in keys}


TEXTS_SAID = {"scope": "", "reviewer": "", "time": ""}
SAID = {"mention": "m", "concept_id": None, "accepted": True, **TEXTS_SAID}


def test_lines_of_earlier_versions_are_read() -> None:
    old = jsonl.from_json(
        without(
            *(RECORD, "confidence", "rejected", "reading", "assertion"),
            *("rivals", "state", "decisions"),
        )
    )
    first, second = old.parts
    assert (old.reading, old.rivals) == ("whole", ())
    assert (first.best, second.rejected) == (dataclasses.replace(BREAST, confidence=None), None)
    assert (first.assertion, old.assertion) == ("present", "present")


def test_one_object_a_line_in_plain_unicode() -> None:
    items = (None, [Prediction(Mention("β\n"), ())]), (None, [PREDICTION])
    first, second = written("jsonl", *items).splitlines()
    assert first == (
        '{"schema": 1, "mention": "β\\n", "document_id": null, "spans": null, "parts": [], '
        '"reading": "whole", "assertion": "present", "rivals": [], "state": "model", "decisions": []}'
    )
    assert second == json.dumps(RECORD, ensure_ascii=False)


TEXT = st.text("aé𝒳\n", max_size=3)
SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(10, 19)), max_size=2).map(tuple)
SCORE = st.floats(-2, 2)
SHARE = st.none() | st.floats(0, 1)
CANDIDATES = st.builds(
    Candidate, TEXT, TEXT, TEXT, SCORE, st.none() | SCORE, st.none() | SCORE, TEXT, SHARE
)
PARTS = st.builds(
    Part,
    TEXT,
    st.none() | TEXT,
    SPANS,
    st.lists(CANDIDATES, max_size=2).map(tuple),
    st.booleans(),
    st.none() | CANDIDATES,
    answers=st.lists(st.none() | TEXT, max_size=2).map(tuple),
)
PART_LISTS = st.lists(PARTS, max_size=2).map(tuple)
KINDS = st.sampled_from(get_args(ReadingKind))
READINGS = st.builds(Reading, KINDS, PART_LISTS, SHARE)
MENTIONS = st.builds(Mention, TEXT, SPANS, document_id=st.none() | TEXT)


@given(
    st.builds(Prediction, MENTIONS, PART_LISTS, KINDS, st.lists(READINGS, max_size=2).map(tuple))
)
def test_round_trip(prediction: Prediction) -> None:
    assert jsonl.from_json(json.loads(json.dumps(prediction.to_dict()))) == prediction


@pytest.mark.parametrize(
    "line",
    [
        b'{"schema": 2}',
        b'{"schema": 1, "ment',
        b"\xff",
        b"[" * 100000,
        json.dumps(RECORD | {"document_id": "\ud800"}).encode(),
    ],
)
def test_bad_lines_stop_or_are_skipped(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line + b"\n" + json.dumps(RECORD).encode())
    with pytest.raises(InputError):
        list(jsonl.read_predictions(path))
    skip = Skip()
    assert [p.parts for p in jsonl.read_predictions(path, on_error=skip)] == [PREDICTION.parts]
    assert skip.count == 1


@pytest.mark.parametrize(
    "change",
    [
        {"schema": None},
        {"mention": 7},
        {"parts": None},
        {"parts": [{}]},
        {"spans": [[0, math.inf]]},
        {"document_id": 7},
        *(
            {"parts": [UNSURE | {"candidates": [CANDIDATE | {"score": score}]}]}
            for score in ("high", math.nan, -math.inf)
        ),
        *(
            {"parts": [UNSURE | {"rejected": CANDIDATE | {"confidence": value}}]}
            for value in (1.5, -0.1, math.nan, [])
        ),
        {"reading": "guess"},
        {"rivals": [{"kind": "whole"}]},
        {"state": "guess"},
        {"decisions": {}},
        {"decisions": [{"mention": "m"}]},
        {"decisions": [SAID | {"concept_id": 0}]},
    ],
)
def test_other_objects_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        jsonl.from_json(RECORD | change)

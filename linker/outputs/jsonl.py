"""Predictions as JSON lines, schema 1: one mention a line; also read back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from linker.errors import OnError, RecordError, stop
from linker.files import Pathlike, parse_json, read_lines
from linker.outputs import Layout, decision_from_json
from linker.types import (
    ASSERTIONS,
    SCHEMA,
    Candidate,
    Document,
    Mention,
    Part,
    Prediction,
    Reading,
    ReadingKind,
    Reference,
    State,
    parse_spans,
)

FOOTER = ""
_EXPECTED = "an object as linker link --format jsonl writes it"


def header(first: Document | None, layout: Layout) -> str:
    """Nothing; see `linker.outputs.Writer`."""
    return ""


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """One object a line, in the order of the mentions; see `linker.outputs.Writer`.

    A candidate has the key `source` where another vocabulary lent the matched name, or where a
    person chose or rejected the concept ("decision"). The `confidence` of a part is that of its
    first candidate, or of the `rejected` one. `state` is what people said of the mention, and
    `decisions` are theirs.
    """
    return "".join(json.dumps(p.to_dict(), ensure_ascii=False) + "\n" for p in predictions)


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Prediction]:
    """Yield the predictions of a file that `linker.outputs.write` wrote.

    Raises:
        InputError: a line is not JSON, or not an object of schema 1.
    """
    for number, line in read_lines(path, limit=None, on_error=on_error):
        try:
            prediction = from_json(parse_json(line))
        except ValueError as error:
            problem = f"the line is no prediction ({error})"
            bad = RecordError(problem, line, expected=_EXPECTED, remedy="write the file again")
            on_error(bad.at(path, number))
        else:
            yield prediction


def from_json(record: Any) -> Prediction:
    """Turn an object of schema 1 into the prediction that it was made of; its mention has no gold.

    Lines of earlier versions have no readings, rejected candidates, confidences, states, or
    assertions.

    Raises:
        ValueError: the object is not of that schema; the text says why.
    """
    if not isinstance(record, Mapping) or record.get("schema") != SCHEMA:
        raise ValueError(f"it is not an object of schema {SCHEMA}")
    try:
        mention = Mention(
            _text(record, "mention"),
            parse_spans(record["spans"]),
            document_id=_text_or_none(record, "document_id"),
        )
        return Prediction(
            mention,
            tuple(map(_part_from_json, record["parts"])),
            _of(get_args(ReadingKind), record.get("reading", "whole"), "a reading"),
            tuple(map(_rival_from_json, record.get("rivals", ()))),
            _of(get_args(State), record.get("state", "model"), "the state"),
            tuple(map(decision_from_json, record.get("decisions", ()))),
        )
    except KeyError as error:
        raise ValueError(f"the key {error} is missing") from None
    except (AttributeError, TypeError) as error:
        raise ValueError(f"a value has the wrong type: {error}") from None


def _rival_from_json(record: Mapping[str, Any]) -> Reading:
    parts = tuple(map(_part_from_json, record["parts"]))
    kind = _of(get_args(ReadingKind), record["kind"], "a reading")
    return Reading(kind, parts, _confidence(record))


def _of(choices: tuple[Any, ...], value: Any, what: str) -> Any:
    if value not in choices:
        raise ValueError(f"{what} is none of {', '.join(choices)}")
    return value


def _part_from_json(record: Mapping[str, Any]) -> Part:
    rejected = record.get("rejected")
    return Part(
        _text(record, "text"),
        _text_or_none(record, "expanded"),
        parse_spans(record["spans"]),
        tuple(map(_candidate_from_json, record["candidates"])),
        bool(record["nil"]),
        None if rejected is None else _candidate_from_json(rejected),
        _of(ASSERTIONS, record.get("assertion", "present"), "the assertion"),
    )


def _candidate_from_json(record: Mapping[str, Any]) -> Candidate:
    return Candidate(
        _text(record, "concept_id"),
        _text(record, "name"),
        _text(record, "matched_name"),
        _score(record, "score"),
        None if record["sparse_score"] is None else _score(record, "sparse_score"),
        None if record["dense_score"] is None else _score(record, "dense_score"),
        _text(record, "source") if "source" in record else "",
        _confidence(record),
        tuple(Reference(**other) for other in record.get("also", ())),
    )


def _confidence(record: Mapping[str, Any]) -> float | None:
    if record.get("confidence") is None:
        return None
    if not 0 <= (confidence := _score(record, "confidence")) <= 1:
        raise ValueError("'confidence' is not a number from 0 to 1")
    return confidence


def _text(record: Mapping[str, Any], key: str) -> str:
    if not isinstance(value := record[key], str):
        raise ValueError(f"{key!r} is not a text")
    return value


def _text_or_none(record: Mapping[str, Any], key: str) -> str | None:
    return None if record[key] is None else _text(record, key)


def _score(record: Mapping[str, Any], key: str) -> float:
    try:
        score = float(record[key])
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise ValueError(f"{key!r} is not a finite number")
    return score

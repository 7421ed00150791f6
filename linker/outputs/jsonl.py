"""Predictions as JSON lines, schema 1: one mention a line; also read back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

from linker.errors import OnError, RecordError, stop
from linker.files import Pathlike, parse_json, read_lines
from linker.outputs import Layout, decision_from_json
from linker.types import SCHEMA, Document, Prediction

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
            bad = RecordError(problem, line, expected=_EXPECTED)
            on_error(bad.at(path, number))
        else:
            yield prediction


def from_json(record: Any) -> Prediction:
    """Turn an object of schema 1 into the prediction that it was made of; its mention has no gold.

    Lines of earlier versions lack readings, rejected candidates, confidences, states, assertions.

    Raises:
        ValueError: the object is not of that schema; the text says why.
    """
    if not isinstance(record, Mapping) or record.get("schema") != SCHEMA:
        raise ValueError(f"it is not an object of schema {SCHEMA}")
    values = _checked(record)
    mention = {"text": "mention", "spans": "spans", "document_id": "document_id"}
    values["mention"] = {key: values[name] for key, name in mention.items() if name in values}
    decisions = values.get("decisions", [])
    if not isinstance(decisions, list):
        raise ValueError("the decisions are no list")
    values["decisions"] = tuple(map(decision_from_json, decisions))
    try:
        prediction: Prediction = _checker().validate_python(values)
    except ValueError as error:
        first = error.errors()[0]  # type: ignore[attr-defined] # pydantic's
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    parts = chain(prediction.parts, *(rival.parts for rival in prediction.rivals))
    candidates = (c for part in parts for c in (*part.candidates, part.rejected) if c)
    if not all(0 <= (candidate.confidence or 0) <= 1 for candidate in candidates):
        raise ValueError("a confidence is not a number from 0 to 1")
    return prediction


@cache
def _checker() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Prediction)


def _checked(value: Any) -> Any:
    """A value of JSON, of which numbers are finite; where there are no spans, there is no key."""
    if isinstance(value, Mapping):
        return {
            key: _checked(inner)
            for key, inner in value.items()
            if not (key == "spans" and inner is None)
        }
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    return list(map(_checked, value)) if isinstance(value, list) else value

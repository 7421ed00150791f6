"""Mentions, documents and predictions as JSON lines, an object a line; also mentions in a column of
a Parquet file, whose other columns are the keys of such objects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

from linker.errors import InputError, OnError, stop
from linker.ids import Identify, not_known, parse_gold
from linker.io.files import Pathlike, open_binary, parse_json, pyarrow_for, read_lines, reading
from linker.io.outputs import Layout, decision_from_json
from linker.io.parsing import check_mention, parse_each, parse_selection, parsing
from linker.records import (
    IN_BULK,
    SCHEMA,
    SELECTION,
    Document,
    Gold,
    GoldGroup,
    Mention,
    Passage,
    Prediction,
    parse_spans,
)

FOOTER = ""
_GOLD_KEYS = ("gold", "id", "ids", "concept_id")  # the first that is there counts
_TEXTS = ("title", "abstract", "text")  # of a document, in their order
_OWNERS = ("document_id", "id", "pmid")  # its id, the first that is there
_ANSWER = "a prediction as linker link --format jsonl writes it"
_EXPECTED = '{"mention": "...", "gold": "A|B"}, or of a document {"id": "...", "text": "..."}'

_NAMES = ("mention", "text")  # of the column of mentions; the first that is there counts
_OTHERS = ("document_id", "type", "gold", "spans", *SELECTION)
_ROWS = 10_000  # that are in memory at once


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Document | Mention]:
    """Yield the mention or the document of each line.

    Keys of a mention: `mention`; `gold`, `id`, `ids` or `concept_id` (a string such as `A|B`, or a
    list with a string for each part; absent or null: not annotated); `document_id`; `spans`
    ([[start, end], ...]); `type`; `under`, `not_under`, `types` and `namespaces` (a text or a list
    of texts: the `Selection` that the mention is linked within). Where `mention` is null or blank,
    the mention is empty and not annotated, and keeps its row. An object without `mention` is a
    document, with `title`, `abstract` and `text`, of which one is enough; its id is in
    `document_id`, `id` or `pmid`, else it is the number of its line. Other keys are ignored.

    For `identify` see `linker.ids.split_ids`.
    """

    def parse(number: int, line: str) -> Document | Mention:
        record = parse_json(line)
        if isinstance(record, dict) and "mention" not in record and {*_TEXTS} & {*record}:
            return _document(record, number)
        return from_record(record, identify)

    lines = read_lines(path, on_error=on_error)
    return parse_each(path, lines, parse, on_error, expected=_EXPECTED)


def from_record(record: Any, identify: Identify = not_known, column: str = "mention") -> Mention:
    """Make a mention of an object with the keys that `read` describes.

    Args:
        record: the object.
        identify: see `linker.ids.split_ids`.
        column: what users call the key `mention`, for messages.

    Raises:
        RecordError: the mention is too long.
        ValueError: a value is not of its type; the text says which one.
    """
    if not isinstance(record, dict):
        raise ValueError("the line is not a JSON object")
    if record.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(
            f"schema {record['schema']!r} is not known; this version reads schema {SCHEMA}"
        )
    if "mention" not in record:
        raise ValueError("the object has no 'mention'")
    text = record["mention"]
    kind = record.get("type")
    document_id = record.get("document_id")
    if not isinstance(text, str | None):
        raise ValueError(f"{column!r} is not a text")
    if not isinstance(kind, str | None) or not isinstance(document_id, str | int | None):
        raise ValueError("'type' and 'document_id' must be texts")
    spans = parse_spans(record.get("spans"))
    if any(not 0 <= start < end for start, end in spans):
        raise ValueError("a span does not end behind its start")
    owner = None if document_id is None else str(document_id)
    gold = _gold(record, identify)
    within = parse_selection(record)
    if not (text := check_mention(text or "")):
        return Mention("", type=kind or "", document_id=owner)
    return Mention(text, spans, gold, kind or "", owner, within=within)


def _document(record: Mapping[str, Any], number: int) -> Document:
    """The document of an object; a ValueError says what is wrong with it."""
    owner = next((record[key] for key in _OWNERS if record.get(key) is not None), number)
    if not isinstance(owner, str | int):
        raise ValueError("the id of the document is neither a text nor a number")
    passages: list[Passage] = []
    offset = 0
    for kind in _TEXTS:
        text = record.get(kind)
        if not isinstance(text, str | None):
            raise ValueError(f"{kind!r} is not a text")
        if text:
            passages.append(Passage(text, offset, {"type": kind}))
            offset += len(text) + 1
    return Document(str(owner), tuple(passages))


def _gold(record: Mapping[str, Any], identify: Identify) -> Gold | None:
    ids = next((record[key] for key in _GOLD_KEYS if key in record), None)
    if ids is None:
        return None
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        raise ValueError("the ids are neither a text nor a list of texts")
    groups: list[GoldGroup] = []
    for text in ids:
        gold = parse_gold(text, identify)
        if gold is None:  # a part that nobody decided: the mention is not annotated
            return None
        groups.extend(gold)
    return tuple(groups)


def read_parquet(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    identify: Identify = not_known,
    column: str | None = None,
) -> Iterator[Mention]:
    """Yield the mention of each row; a null or a blank text is an empty one.

    The columns `document_id`, `type`, `gold`, `spans`, `under`, `not_under`, `types` and
    `namespaces` are read where they are, and mean what the keys of a JSON line mean. Spans that
    are no lists are passed over, as are other columns.

    Args:
        path: the file.
        on_error: what to do with a bad row.
        identify: see `linker.ids.split_ids`.
        column: the name of the column of mentions; None for `mention`, else `text`.

    Raises:
        InputError: the file is no valid Parquet, or has no such column of texts.
        LinkerError: pyarrow is not installed.
    """
    arrow, parquet = pyarrow_for(path)
    with open_binary(path) as file, reading(path), parsing(path, "Parquet file"):
        if not file.peek(1):
            return
        is_whole = not file.seekable()
        source = arrow.BufferReader(file.read()) if is_whole else arrow.PythonFile(file, "r")
        # buffered ahead, a thread of Arrow may still hold what it read of a Python file when the
        # interpreter ends, and aborts the process
        table = parquet.ParquetFile(source, pre_buffer=False)
        schema = table.schema_arrow
        column = column or next((n for n in _NAMES if n in schema.names), _NAMES[0])
        if schema.get_field_index(column) < 0:  # none, or more than one
            problem = f"has no single column {column}; name that of mentions with --column"
            raise InputError(path, problem, expected=f"one of {', '.join(schema.names)}")
        others = (name for name in _OTHERS if schema.get_field_index(name) >= 0)
        # spans that are no lists are those of a table that linker wrote
        kept = (n for n in others if n != "spans" or "list" in str(schema.field(n).type))
        names = {name: name for name in kept} | {column: "mention"}
        batches = table.iter_batches(_ROWS, columns=list(names), use_threads=False)
        rows = enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1)

        def parse(_: int, row: dict[str, Any]) -> Mention:
            record = {names[key]: row[key] for key in names}
            return from_record(record, identify, column)

        yield from parse_each(path, rows, parse, on_error, expected="a text")


def header(first: Document | None, layout: Layout) -> str:
    """Nothing; see `linker.io.outputs.Writer`."""
    return ""


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """One object a line, in the order of the mentions; see `linker.io.outputs.Writer`.

    A candidate has the key `source` where another vocabulary lent the matched name, or where a
    person chose or rejected the concept ("decision"). The `confidence` of a part is that of its
    first candidate, or of the `rejected` one. `state` is what people said of the mention, and
    `decisions` are theirs.
    """
    return "".join(json.dumps(p.to_dict(), ensure_ascii=False) + "\n" for p in predictions)


def read_predictions(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Prediction]:
    """Yield the predictions of a file that `linker.io.outputs.write` wrote.

    Raises:
        InputError: a line is not JSON, or not an object of schema 1.
    """
    lines = read_lines(path, on_error=on_error)
    yield from parse_each(
        path, lines, lambda _, line: from_json(parse_json(line)), on_error, expected=_ANSWER
    )


def from_json(record: Any) -> Prediction:
    """Turn an object of schema 1 into the prediction that it was made of; its mention has no gold.

    Lines of earlier versions lack readings, rejected candidates, confidences, states, assertions.

    Raises:
        ValueError: the object is not of that schema; the text says why.
    """
    if not isinstance(record, Mapping) or record.get("schema") != SCHEMA:
        raise ValueError(f"it is not an object of schema {SCHEMA}")
    values = _checked(record)
    if values.get("state") == IN_BULK:  # as files write it, see `Prediction.written_state`
        values["state"] = "model"
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
    candidates = (c for part in parts for c in (*part.candidates, part.rejected, part.broader) if c)
    if not all(0 <= (candidate.confidence or 0) <= 1 for candidate in candidates):
        raise ValueError("a confidence is not a number from 0 to 1")
    return prediction


_FIELD = {"set": "answers", "open": "is_open"}  # keys that are called otherwise in Python


@cache
def _checker() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Prediction)


def _checked(value: Any) -> Any:
    """A value of JSON, of which numbers are finite; where there are no spans, there is no key."""
    if isinstance(value, Mapping):
        return {
            _FIELD.get(key, key): _checked(inner)
            for key, inner in value.items()
            if not (key == "spans" and inner is None)
        }
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    return list(map(_checked, value)) if isinstance(value, list) else value

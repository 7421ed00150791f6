"""Mentions or documents as JSON lines: an object a line, our own output (schema 1) included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from linker.errors import OnError, stop
from linker.files import Pathlike, parse_json, read_lines
from linker.ids import Identify, not_known, parse_gold
from linker.readers.records import check_mention, parse_each, parse_selection
from linker.types import Document, Gold, Mention, Passage, Span, parse_spans

SCHEMA = 1  # of our own output
_GOLD_KEYS = ("gold", "id", "ids", "concept_id")  # the first that is there counts
_TEXTS = ("title", "abstract", "text")  # of a document, in their order
_OWNERS = ("document_id", "id", "pmid")  # its id, the first that is there
_EXPECTED = '{"mention": "...", "gold": "A|B"}, or of a document {"id": "...", "text": "..."}'


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Document | Mention]:
    """Yield the mention or the document of each line.

    Keys of a mention: `mention`; `gold`, `id`, `ids` or `concept_id` (a string such as `A|B`, or a
    list with a string for each part; absent or null: not annotated); `document_id`; `spans`
    ([[start, end], ...]); `type`; `under`, `not_under`, `types` and `namespaces` (a text or a list
    of texts: the `Selection` that the mention is linked within). An object without `mention` is a
    document, with `title`, `abstract` and `text`, of which one is enough; its id is in
    `document_id`, `id` or `pmid`, else it is the number of its line. Other keys are ignored.

    For `identify` see `linker.ids.split_ids`.
    """

    def parse(number: int, line: str) -> Document | Mention:
        try:
            record = parse_json(line)
        except ValueError as error:
            raise ValueError(f"the line is not JSON ({error})") from None
        if isinstance(record, dict) and "mention" not in record and {*_TEXTS} & {*record}:
            return _document(record, number)
        return from_record(record, identify)

    lines = read_lines(path, limit=None, on_error=on_error)
    remedy = "write one object a line"
    return parse_each(path, lines, parse, on_error, expected=_EXPECTED, remedy=remedy)


def from_record(record: Any, identify: Identify = not_known) -> Mention:
    """Make a mention of an object with the keys that `read` describes.

    Args:
        record: the object.
        identify: see `linker.ids.split_ids`.

    Raises:
        RecordError: the mention is empty or too long.
        ValueError: a value is not of its type; the text says which one.
    """
    text, spans, kind, document = _fields(record)
    gold, within = _gold(record, identify), parse_selection(record)
    return Mention(check_mention(text), spans, gold, kind, document, within=within)


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


def _fields(record: Any) -> tuple[str, tuple[Span, ...], str, str | None]:
    """Check and take apart one object; a ValueError says what is wrong with it."""
    if not isinstance(record, dict):
        raise ValueError("the line is not a JSON object")
    if record.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(
            f"schema {record['schema']!r} is not known; this version reads schema {SCHEMA}"
        )
    text, kind, document = record.get("mention"), record.get("type"), record.get("document_id")
    if not isinstance(text, str):
        raise ValueError("the object has no text under 'mention'")
    if not isinstance(kind, str | None) or not isinstance(document, str | int | None):
        raise ValueError("'type' and 'document_id' must be texts")
    return (
        text,
        _spans(record.get("spans")),
        kind or "",
        None if document is None else str(document),
    )


def _gold(record: Mapping[str, Any], identify: Identify) -> Gold | None:
    ids = next((record[key] for key in _GOLD_KEYS if key in record), None)
    if ids is None:
        return None
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        raise ValueError("the ids are neither a text nor a list of texts")
    return tuple(group for part in ids for group in parse_gold(part, identify))


def _spans(pairs: Any) -> tuple[Span, ...]:
    spans = parse_spans(pairs)
    if any(not 0 <= start < end for start, end in spans):
        raise ValueError("a span does not end behind its start")
    return spans

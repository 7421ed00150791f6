"""PubTator, in the dialects of the NCBI Disease corpus and of BC5CDR.

These metadata are reserved for writing the same lines again:

- `pubtator:id` and `pubtator:parts` of a mention: column 6, and columns 7 and on;
- `pubtator:columns` of a relation: columns 5 and on;
- `pubtator:lines` of a document: the lines that are neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from linker.errors import OnError, RecordError, stop
from linker.files import Pathlike, read_lines
from linker.files.rows import Line
from linker.ids import Identify, curie, not_known, parse_gold
from linker.readers.records import STATES, check_spans, is_guess, parse_each
from linker.types import Document, Mention, Passage, Relation

_TEXT = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_OFFSET = re.compile(r"-?\d{1,9}")
_EXPECTED = "id, start, end, mention, type and ids, separated by tabs"
_KINDS = {"t": "title", "a": "abstract"}

# the seventh column that linker writes beside an answer: confidences, state and decisions
_ANSWER = re.compile(
    r"(?:[01]\.\d{4}|.* \((?:[01]\.\d{4}|-)\))?"
    rf"(?: ?\b({'|'.join(STATES)})(?: \[.*)?)?",
    re.IGNORECASE,
)


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Document]:
    """Yield the documents of a PubTator file, in its order and as often as it holds them.

    Offsets are characters over title, one break and abstract. A document ends at a blank line, or
    where a text line of another document (or a second title) begins. A mention without the column
    of ids is not annotated; an empty one, `-` or `-1` says that it has no concept. Nor is one whose
    ids linker wrote and no person confirmed, see `records.is_guess`.
    """
    for block in _blocks(read_lines(path, limit=None, on_error=on_error)):
        if document := _document(path, block, on_error, identify):
            yield document


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Group the numbered lines by document."""
    block: list[Line] = []
    owner, kinds = "", ""  # of the text lines of this block
    for number, line in lines:
        text = _TEXT.fullmatch(line)
        starts = text is not None and (text[1] != owner or text[2] in kinds)
        if block and (starts or not line.strip()):
            yield block
            block, owner, kinds = [], "", ""
        if line.strip():
            block.append((number, line))
        if text:
            owner, kinds = text[1], kinds + text[2]
    if block:
        yield block


def _document(
    path: Pathlike, block: list[Line], on_error: OnError, identify: Identify
) -> Document | None:
    number, line = block[0]
    if (first := _TEXT.fullmatch(line)) is None:
        expected = "the text of a document first: id|t|title or id|a|abstract"
        error = RecordError("the line stands in no document", line, expected=expected)
        on_error(error.at(path, number))
        return None
    passages, others, offset = list[Passage](), list[Line](), 0
    for number, line in block:
        if text := _TEXT.fullmatch(line):
            passages.append(Passage(text[3], offset, {"type": _KINDS[text[2]]}))
            offset += len(text[3]) + 1
        else:
            others.append((number, line))
    owner = Document(first[1], tuple(passages))
    whole = owner.text
    items = [
        *parse_each(path, others, lambda _, line: _item(line, owner.id, whole, identify), on_error)
    ]
    unknown = "\n".join(item for item in items if isinstance(item, str))
    return replace(
        owner,
        mentions=tuple(item for item in items if isinstance(item, Mention)),
        relations=tuple(item for item in items if isinstance(item, Relation)),
        metadata={"pubtator:lines": unknown} if unknown else {},
    )


def _item(line: str, owner: str, text: str, identify: Identify) -> Mention | Relation | str:
    """The mention or relation of a line; the line itself where it is neither."""
    if not line.startswith((f"{owner}\t", f"{owner}|")):
        problem = f"the line stands in document {owner}, but is not of it"
        remedy = "put a blank line between documents, and each text on one line"
        raise RecordError(problem, line, remedy=remedy)
    columns = line.split("\t")
    if len(columns) > 1 and _OFFSET.fullmatch(columns[1]):
        return _mention(columns, text, identify)
    if len(columns) > 4 and _OFFSET.fullmatch(columns[2]) and re.search("[0-9]", columns[1]):
        raise RecordError("the start of the annotation is not a number", line, expected=_EXPECTED)
    return _relation(columns) if len(columns) > 3 else line


def _mention(columns: list[str], text: str, identify: Identify) -> Mention:
    if len(columns) < 5 or not _OFFSET.fullmatch(columns[2]):
        problem = "the annotation has too few columns, or its end is not a number"
        raise RecordError(problem, "\t".join(columns), expected=_EXPECTED)
    owner, start, end, name, kind = columns[:5]
    spans = ((int(start), int(end)),)
    check_spans(name, spans, text, owner=owner)
    metadata = dict(
        zip(("pubtator:id", "pubtator:parts"), (*columns[5:6], *_joined(columns[6:])), strict=False)
    )
    state = _state_of(columns[6]) if len(columns) > 6 else ""
    is_annotated = len(columns) > 5 and not is_guess(state)
    gold = parse_gold(columns[5], identify, curie) if is_annotated else None
    return Mention(name, spans, gold, kind, owner, metadata=metadata)


def _state_of(column: str) -> str:
    """The state in a seventh column that linker wrote beside an answer; empty for another one."""
    answer = _ANSWER.fullmatch(column) if column else None
    return (answer[1] or "model").lower() if answer else ""  # earlier versions left out model


def _relation(columns: list[str]) -> Relation:
    metadata = dict(zip(("pubtator:columns",), _joined(columns[4:]), strict=False))
    return Relation(columns[1], (("arg1", columns[2]), ("arg2", columns[3])), metadata=metadata)


def _joined(columns: list[str]) -> list[str]:
    return ["\t".join(columns)] if columns else []

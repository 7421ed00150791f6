"""PubTator, in the dialects of the NCBI Disease corpus and of BC5CDR.

These metadata are reserved for writing the same lines again:

- `pubtator:id` and `pubtator:parts` of a mention: column 6, and columns 7 and on;
- `pubtator:columns` of a relation: columns 5 and on;
- `pubtator:lines` of a document: the lines that are neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike, read_lines
from linker.files.rows import Line
from linker.ids import Identify, curie, not_known, parse_gold
from linker.readers.records import STATES, check_spans, is_guess
from linker.types import Document, Mention, Passage, Relation

_TEXT = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_OFFSET = re.compile(r"-?\d{1,9}")
_KINDS = {"t": "title", "a": "abstract"}

# the seventh column that linker writes beside an answer: confidences, state and decisions
_ANSWER = re.compile(
    r"(?:[01]\.\d{4}|.* \((?:[01]\.\d{4}|-)\))?"
    rf"(?: ?\b({'|'.join(STATES)})(?: \[.*)?)?",
    re.IGNORECASE,
)
_START = re.compile(r"([^|\t]+)\|([ta])\|")  # of a text line


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Document]:
    """Yield the documents of a PubTator file, in its order and as often as it holds them.

    Offsets are characters over title, one break and abstract. A document ends at a blank line, or
    where a text line of another document (or a second title) begins. A mention without the column
    of ids is not annotated; an empty one, `-` or `-1` says that it has no concept. Nor is one whose
    ids linker wrote and no person confirmed, see `records.is_guess`.

    A document of which a line of text cannot be read is a bad record: without that text the offsets
    of all that follows would be others.
    """
    unread: set[int] = set()  # lines of text
    for block in _blocks(_lines(path, on_error, unread)):
        if unread.isdisjoint(number for number, _ in block):
            document = _document(path, block, on_error, identify)
            if document is not None:
                yield document


def _lines(path: Pathlike, on_error: OnError, unread: set[int]) -> Iterator[Line]:
    """Yield the lines of a file; of a line of text that cannot be read, only how it begins.

    Args:
        path: the file.
        on_error: what to do with a line that cannot be read.
        unread: is given the numbers of such lines of text.
    """
    starts: list[Line] = []

    def keep(error: InputError) -> None:
        start = _START.match(error.start)
        if start is None or error.line is None:
            on_error(error)
            return
        problem = f"a text of document {start[1]}, which is left out, cannot be read"
        remedy = "mend the line"
        on_error(InputError(path, f"{problem}: {error.problem}", line=error.line, remedy=remedy))
        starts.append((error.line, start[0]))
        unread.add(error.line)

    for line in read_lines(path, limit=None, on_error=keep):
        yield from starts
        starts.clear()
        yield line
    yield from starts


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
    first = _TEXT.fullmatch(line)
    if first is None:
        error = RecordError(
            "the line stands in no document",
            line,
            expected="the text of a document first: id|t|title or id|a|abstract",
            remedy="add the text",
        )
        on_error(error.at(path, number))
        return None
    owner = Document(first[1], _passages(block))
    text = owner.text
    mentions, relations, unknown = [], [], []
    last = max(number for number, line in block if _TEXT.fullmatch(line))
    for number, line in block:
        if number < last and not _is_of(line, owner.id):  # a text on several lines
            on_error(_foreign(line, owner.id).at(path, number))
            return None
        if _TEXT.fullmatch(line):
            continue
        columns = line.split("\t")
        try:
            _check_line(line, owner.id)
            if len(columns) > 1 and _OFFSET.fullmatch(columns[1]):
                mentions.append(_mention(columns, text, identify))
            elif len(columns) > 3:
                relations.append(_relation(columns))
            else:
                unknown.append(line)
        except RecordError as bad:
            on_error(bad.at(path, number))
    metadata = {"pubtator:lines": "\n".join(unknown)} if unknown else {}
    return Document(owner.id, owner.passages, tuple(mentions), tuple(relations), metadata)


def _is_of(line: str, owner: str) -> bool:
    """Whether a line begins as those of a document do."""
    return line.startswith((f"{owner}\t", f"{owner}|"))


def _check_line(line: str, owner: str) -> None:
    """Check that a line is of a document, and no annotation with a damaged start."""
    if not _is_of(line, owner):
        raise _foreign(line, owner)
    columns = line.split("\t")
    if len(columns) < 5 or _OFFSET.fullmatch(columns[1]) or not _OFFSET.fullmatch(columns[2]):
        return
    if re.search("[0-9]", columns[1]):
        problem = "the start of the annotation is not a number"
        raise RecordError(problem, line, expected="id, start, end, mention, type and ids")


def _passages(block: list[Line]) -> tuple[Passage, ...]:
    passages: list[Passage] = []
    offset = 0
    for _, line in block:
        if text := _TEXT.fullmatch(line):
            passages.append(Passage(text[3], offset, {"type": _KINDS[text[2]]}))
            offset += len(text[3]) + 1
    return tuple(passages)


def _foreign(line: str, owner: str) -> RecordError:
    return RecordError(
        f"the line stands in document {owner}, but is not of it",
        line,
        expected=f"lines that begin with its id, {owner}, and a tab or |",
        remedy="put a blank line between documents, and each text on one line",
    )


def _mention(columns: list[str], text: str, identify: Identify) -> Mention:
    if len(columns) < 5 or not _OFFSET.fullmatch(columns[2]):
        raise RecordError(
            f"the annotation has {len(columns)} columns"
            if len(columns) < 5
            else "the end of the annotation is not a number",
            "\t".join(columns),
            expected="id, start, end, mention, type and ids, separated by tabs",
            remedy="mend the line",
        )
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

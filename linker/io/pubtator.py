"""PubTator, in the dialects of the NCBI Disease corpus and of BC5CDR.

These metadata are reserved for writing the same lines again:

- `pubtator:id` and `pubtator:parts` of a mention: column 6, and columns 7 and on;
- `pubtator:columns` of a relation: columns 5 and on;
- `pubtator:lines` of a document: the lines that are neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linker.errors import LinkerError, OnError, RecordError, stop
from linker.ids import Identify, curie, format_gold, not_known, parse_gold
from linker.io.files import LONG_LINE, Line, Pathlike, check_size, read_lines
from linker.io.outputs import (
    BREAKS,
    Layout,
    decimals,
    decisions_text,
    joined_ids,
    paired,
    with_text,
)
from linker.io.parsing import STATES, check_spans, is_guess, parse_each
from linker.records import Document, Mention, Part, Passage, Prediction, Relation

FOOTER = ""
_LINE_BREAKS = str.maketrans("\r\n\0", "   ")  # what cannot stand in a text
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
    for block in _blocks(path, read_lines(path, on_error=on_error)):
        if document := _document(path, block, on_error, identify):
            yield document


def _blocks(path: Pathlike, lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Group the numbered lines by document."""
    block: list[Line] = []
    size = 0
    owner, kinds = "", ""  # of the text lines of this block
    for number, line in lines:
        text = _TEXT.fullmatch(line)
        starts = text is not None and (text[1] != owner or text[2] in kinds)
        if block and (starts or not line.strip()):
            yield block
            block, owner, kinds, size = [], "", "", 0
        if line.strip():
            block.append((number, line))
            size += len(line)
            check_size(path, size, LONG_LINE, "the document")
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


def header(first: Document | None, layout: Layout) -> str:
    """Nothing; see `linker.io.outputs.Writer`."""
    return ""


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A document, each mention with the best id of each part, joined by `|`.

    The id of no concept is -1. A seventh column has the confidence of the mention, or of several
    parts their texts with the confidence of each, joined by `|` (`-`: it has none), then what
    people said of the mention, "model" where nobody did, and what they decided, as JSON:
    "0.9312 model", "breast cancer (0.9312)|ovarian cancer (0.8807) open [{"mention": ...}]". An
    eighth column would be plainer, but other readers of the format refuse it. Whether the text
    denies what it names has no place in the format.
    Mentions without a prediction, relations and lines that were not understood stand as they
    were read. Line breaks and NUL in a text, and bars in an id, become blanks; a discontinuous
    mention is written as the stretch of text that covers it.
    For the arguments see `linker.io.outputs.Writer`.

    Raises:
        LinkerError: there is no document, or it has no text, or a mention has no span.
    """
    document = with_text(document, "pubtator")
    text = document.text.translate(_LINE_BREAKS)
    owner = document.id.translate(BREAKS).replace("|", " ")
    lines = [
        *_text_lines(document, owner, text),
        *("\t".join(_annotation(owner, *each, text)) for each in paired(document, predictions)),
        *("\t".join(_written_relation(owner, relation)) for relation in document.relations),
    ]
    if "pubtator:lines" in document.metadata:
        lines.append(document.metadata["pubtator:lines"])
    return "\n".join(lines) + "\n\n"


def _text_lines(document: Document, owner: str, text: str) -> Iterator[str]:
    """The first passage and the rest; the format puts one character between them."""
    passages = document.passages
    kinds = [passage.metadata.get("type") for passage in passages]
    first, second = "at" if kinds in (["abstract"], ["abstract", "title"]) else "ta"
    end = len(text)  # passages that touch go on one line, so that the offsets hold
    if len(passages) > 1 and passages[1].offset > passages[0].offset + len(passages[0].text):
        end = passages[1].offset - 1
    yield f"{owner}|{first}|{text[:end]}"
    if end < len(text):
        yield f"{owner}|{second}|{text[end + 1 :]}"


def _annotation(
    owner: str, mention: Mention, prediction: Prediction | None, text: str
) -> list[str]:
    if not mention.spans:
        raise LinkerError(
            f"document {owner}: the mention {mention.text!r} has no span, which pubtator needs; "
            "choose bioc or jsonl"
        )
    start, end = min(start for start, _ in mention.spans), max(end for _, end in mention.spans)
    name = mention.text if len(mention.spans) == 1 else text[start:end]
    columns = [owner, str(start), str(end), name.translate(BREAKS), mention.type.translate(BREAKS)]
    if prediction is not None:
        texts = [_confidences(prediction.parts), prediction.written_state]
        if prediction.decisions:
            texts.append(decisions_text(prediction.decisions).translate(BREAKS))
        return [*columns, joined_ids(prediction), " ".join(filter(None, texts))]
    metadata = mention.metadata
    read = [metadata[key] for key in ("pubtator:id", "pubtator:parts") if key in metadata]
    if not read and mention.gold is not None:
        read = [format_gold(mention.gold)]
    return columns + read


def _confidences(parts: Sequence[Part]) -> str:
    """How the seventh column begins; empty for one part without a confidence."""
    shares = [decimals(part.confidence) for part in parts]
    if len(parts) == 1:
        return shares[0]
    texts = [part.text.translate(BREAKS) for part in parts]
    return "|".join(f"{text} ({share or '-'})" for text, share in zip(texts, shares, strict=True))


def _written_relation(owner: str, relation: Relation) -> list[str]:
    arguments = [identifier.translate(BREAKS) for _, identifier in relation.arguments]
    columns = [owner, relation.type.translate(BREAKS), *arguments]
    more = relation.metadata.get("pubtator:columns")
    return columns if more is None else [*columns, more]

"""Predictions as they are written: their fields, and what all formats have in common.

`FIELDS` is the one list of output columns. Tables with a row for each candidate (tsv, Parquet, data
frames), columns beside the mentions of a user's table, and the infons of BioC are made of it. A
format is a module of `linker.io` that `linker.io.formats` names.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol, TextIO, cast

from linker.errors import LinkerError
from linker.ids import OPEN, escaped
from linker.io.formats import FORMATS, PREDICTIONS
from linker.records import Candidate, Decision, Document, Mention, Part, Prediction

Predicted = tuple[Document | None, Iterable[Prediction]]
"""A document with the predictions for its mentions, in their order; None with predictions for loose
mentions. They are gone over once."""
BREAKS = str.maketrans("\t\r\n\0", "    ")  # what cannot stand inside a column
_BREAK = re.compile("[\t\r\n\0]")
NONE = "none"
"""What stands in a set of answers for "none of these"."""
DECISION = "decision"
"""The source of concepts that a person chose or rejected."""


@dataclass(frozen=True, slots=True)
class ObjectSource:
    """What a file of mappings says of the dictionary that its concepts are from."""

    name: str = ""  # the names of its files
    release: str = ""  # of its files
    prefixes: tuple[str, ...] = ()  # of the ids of its concepts, old ones included


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file has beside the best concepts of its mentions."""

    documents: bool = False  # whether a table has columns for ids of documents and for spans
    # whether other vocabularies lent names to the dictionary, or people decided, so that a table
    # has a column for the source of an answer
    sources: bool = False
    decisions: bool = False  # whether decisions of people were applied, for which it has columns
    vocabulary: ObjectSource | None = None  # the dictionary, which files of mappings name
    also: bool = False  # whether ids of other vocabularies were asked for
    sets: bool = False  # whether sets of answers were asked for
    broader: bool = False  # whether mentions without a sure concept can have a broader one
    beside: bool = False  # whether the columns stand beside the mentions of a user's table
    width: int = 80  # of the terminal in columns, for the format `text`

    @property
    def states(self) -> bool:
        """Whether there is a column for the state, which a person may fill in beside a mention."""
        return self.decisions or self.beside


class Cell(NamedTuple):
    """What the value of a field is computed of."""

    document: Document | None
    prediction: Prediction
    part: Part
    candidate: Candidate | None = None  # None: the part has no concept
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A column of what is written of predictions."""

    name: str
    meaning: str
    value: Callable[[Cell], Any]  # None: there is none
    shown: str = ""  # the attribute of `Layout` by which files have it; empty: always
    kind: str = "string"  # in Arrow
    beside: int = 0  # its place among the columns beside a mention; 0: it is none of them
    infon: int = 0  # its place among the infons of BioC; 0: it is none of them
    is_of_mention: bool = False  # what people decided on it; else it is of a part or a candidate

    def is_shown(self, layout: Layout) -> bool:
        """Whether a file of this layout has it."""
        return not self.shown or bool(getattr(layout, self.shown))

    def text(self, cell: Cell) -> str:
        """The value as tables write it: numbers with 4 decimals."""
        value = self.value(cell)
        if self.kind == "float64":
            return decimals(value)
        return "" if value is None else str(value)

    def joined(self, prediction: Prediction, empty: str = "") -> str:
        """The values of all parts, joined by `|`; empty where no part has one.

        The id of an open part is `?`, whatever the model answers.
        """
        cells = [Cell(None, prediction, part, part.best) for part in prediction.parts]
        if self.is_of_mention:
            decided = [cell for cell in cells if not cell.part.is_open]
            return self.text((decided or cells)[0]) if cells else ""
        texts = [self.text(cell) for cell in cells]
        if self.name == "concept_id":
            pairs = zip(texts, prediction.parts, strict=True)
            texts = [OPEN if part.is_open else text for text, part in pairs]
        return "|".join(text or empty for text in texts) if any(texts) else ""


def decimals(value: float | None) -> str:
    """Write a score or a confidence with 4 decimals; empty for None."""
    return "" if value is None else f"{value:.4f}"


def _of_candidate(name: str) -> Callable[[Cell], Any]:
    return lambda cell: getattr(cell.candidate, name) if cell.candidate else None


def _state(cell: Cell) -> str:
    return cell.prediction.written_state


def _decided(place: int) -> Callable[[Cell], Any]:
    """A value of `decision_cells`; none of a part that is open, on which nobody decided."""

    def value(cell: Cell) -> str | None:
        return None if cell.part.is_open else decision_cells(cell.prediction)[place] or None

    return value


def _confidence(cell: Cell) -> float | None:
    return (cell.candidate or cell.part).confidence


def _document_id(cell: Cell) -> str | None:
    return owner_of(cell.document, cell.prediction.mention)


def _spans(cell: Cell) -> str | None:
    return spans_text(cell.prediction.mention) or None


def _assertion(cell: Cell) -> str | None:
    return None if cell.part.assertion == "present" else cell.part.assertion


def _rejected(cell: Cell) -> str | None:
    part = cell.part
    return part.rejected.concept_id if part.rejected and part.best is None else None


def _source(cell: Cell) -> str | None:
    if cell.candidate:
        return cell.candidate.source or None
    rejected = cell.part.rejected
    is_rejected = rejected is not None and rejected.source == DECISION
    is_whole = cell.prediction.state in ("accepted", "no concept")
    is_alone = cell.prediction.has_open_part and not cell.part.is_open
    return DECISION if is_rejected or is_whole or is_alone else None


def _also(cell: Cell) -> str | None:
    others = cell.candidate.also if cell.candidate else ()
    return "; ".join(f"{other.id} {other.predicate}" for other in others) or None


def _set(cell: Cell) -> str | None:
    return " ".join(answer or NONE for answer in cell.part.answers) or None


def _set_size(cell: Cell) -> int | None:
    return len(cell.part.answers) or None


def _of_broader(name: str) -> Callable[[Cell], Any]:
    return lambda cell: cell.part.broader and getattr(cell.part.broader, name)


_REAL = "float64"
FIELDS = (
    Field("mention", "as it was given", lambda cell: cell.prediction.mention.text),
    Field("part", "the part of it", lambda cell: cell.part.text),
    Field("concept_id", "empty: no concept", _of_candidate("concept_id"), beside=1),
    Field("name", "its preferred name", _of_candidate("name"), beside=2),
    Field("score", "how alike the names are", _of_candidate("score"), kind=_REAL, infon=1),
    Field("matched_name", "by which it was found", _of_candidate("matched_name"), beside=3),
    Field("rank", "among the candidates", lambda cell: cell.rank, kind="int32"),
    Field("confidence", "that it is right", _confidence, kind=_REAL, beside=4, infon=3),
    Field("document_id", "of the mention", _document_id, "documents"),
    Field("spans", "where it stands: 0-5;9-12", _spans, "documents"),
    Field("source", "who lent the name, or decided", _source, "sources", beside=8, infon=2),
    Field("rejected", "a concept too unsure, or wrong", _rejected, beside=5, infon=4),
    Field("assertion", "empty: the part is present", _assertion, beside=6, infon=5),
    Field("expanded", "its short forms expanded", lambda cell: cell.part.expanded, "decisions"),
    Field("state", "what people said", _state, "states", beside=7, is_of_mention=True),
    Field("reviewer", "who decided", _decided(1), "decisions", beside=9, is_of_mention=True),
    Field("time", "when last", _decided(2), "decisions", beside=10, is_of_mention=True),
    Field("decisions", "all, as JSON", _decided(3), "decisions", beside=11, is_of_mention=True),
    Field("also", "ids of other vocabularies", _also, "also", beside=12),
    Field("set", "answers, one of which is right", _set, "sets", beside=13),
    Field("set_size", "how many", _set_size, "sets", kind="int32", beside=14),
    Field("broader", "skos:broadMatch", _of_broader("concept_id"), "broader", beside=15, infon=6),
    Field("broader_name", "its name", _of_broader("name"), "broader", beside=16, infon=7),
)
"""All columns, in the order of tables with a row for each candidate."""
BESIDE = sorted((field for field in FIELDS if field.beside), key=lambda field: field.beside)
"""Those beside the mentions of a user's table, and in data frames."""
INFONS = sorted((field for field in FIELDS if field.infon), key=lambda field: field.infon)
"""Those that BioC has."""


def cells_of(document: Document | None, prediction: Prediction) -> Iterator[tuple[bool, Cell]]:
    """Yield what the fields of each row are computed of, the best candidates of a part first.

    A part without a concept has one row. Before each stands whether it has the decisions: of an
    accepted concept, the first candidate alone.
    """
    is_of_first = prediction.has_open_part or prediction.state == "accepted"
    for part in prediction.parts:
        if part.best is None:
            yield True, Cell(document, prediction, part)
        for rank, candidate in enumerate(part.returned, 1):
            has_decisions = rank == 1 or not is_of_first
            yield has_decisions, Cell(document, prediction, part, candidate, rank)


def row_writer(file: TextIO) -> Callable[[Iterable[str]], None]:
    """Return a function that writes a row of fields to a table.

    All our tables are quoted like Python's dialect excel-tab and pandas: a field that holds a
    double quote is put into double quotes, and the quotes inside are doubled. Tabs, line ends and
    NUL become blanks, so that lines can be cut at their tabs.
    """
    writer = csv.writer(file, "excel-tab", lineterminator="\n")

    def write_row(fields: Iterable[str]) -> None:
        row = list(fields)
        if _BREAK.search("".join(row)):  # seldom
            row = [field.translate(BREAKS) for field in row]
        writer.writerow(row)

    return write_row


def text_of(rows: Iterable[Iterable[str]]) -> str:
    """The text of rows of a table."""
    file = io.StringIO()
    write_row = row_writer(file)
    for row in rows:
        write_row(row)
    return file.getvalue()


class Writer(Protocol):
    """The module of a format; a file is a header, items and a footer.

    A format that has an entry for each distinct text, and not for each mention, also has a function
    `gather`, which is given the texts of all items, and yields what stands in their place.
    """

    FOOTER: str

    def header(self, first: Document | None, layout: Layout) -> str:
        """What a file begins with, given the document of its first item, if it has one."""

    def item(
        self, document: Document | None, predictions: Iterable[Prediction], layout: Layout
    ) -> str:
        """The text of an item.

        Raises:
            LinkerError: the format cannot hold it.
        """


def writer_of(name: str) -> Writer:
    """The module that writes a format.

    Raises:
        LinkerError: there is no such format.
    """
    if name not in PREDICTIONS:
        raise LinkerError(
            f"{name!r} is not a format of predictions; choose one of {', '.join(PREDICTIONS)}"
        )
    return cast(Writer, importlib.import_module(FORMATS[name].writer))


_PLAIN = Layout()  # a list of mentions, without decisions


def write(name: str, items: Iterable[Predicted], file: TextIO, layout: Layout = _PLAIN) -> int:
    """Write a file of predictions, and return how many these are.

    Args:
        name: of the format.
        items: what to write, in this order.
        file: where to write.
        layout: what it has beside the concepts.

    Raises:
        LinkerError: there is no such format, or it cannot hold an item.
    """
    writer, items = writer_of(name), iter(items)
    first, count = next(items, None), 0

    def counted(predictions: Iterable[Prediction]) -> Iterator[Prediction]:
        nonlocal count
        for prediction in predictions:
            count += 1
            yield prediction

    def chunks() -> Iterator[tuple[str, str]]:
        yield writer.header(first and first[0], layout), ""
        for document, predictions in chain([first] if first else [], items):
            yield "", writer.item(document, counted(predictions), layout)

    file.writelines(joined(name, chunks()))
    return count


def joined(name: str, chunks: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The text of one file, of whose chunks each has a header and its items; there is one."""
    writer, chunks = writer_of(name), iter(chunks)
    header, first = next(chunks)
    yield header
    yield from getattr(writer, "gather", iter)(chain([first], (items for _, items in chunks)))
    yield writer.FOOTER


OUTCOMES = ("linked", "unsure", "no concept", "empty")
UNSURE = 0.5  # an answer with a lower confidence is a guess


class Outcome(NamedTuple):
    """What became of a mention, roughly, so that many have the same."""

    kind: str  # of `OUTCOMES`
    assertion: str = "present"  # what the text says of it
    confidence: float | None = None  # of the model that it is right; None where people decided
    answers: int = 0  # in its largest set
    weakest: float | None = None  # the least confidence of its parts, which a threshold looks at
    has_broader: bool = False  # whether a part has a broader concept


def is_sure(part: Part) -> bool:
    """Whether a part has a concept, and is no guess."""
    best = part.best
    return best is not None and (best.confidence is None or best.confidence >= UNSURE)


def outcome(prediction: Prediction | None) -> Outcome:
    """What became of a mention; None for no mention.

    It is linked where every part has a concept of which the model is not unsure, or that people
    accepted; it has no concept where no part has one.
    """
    if prediction is None or not prediction.mention.text.strip():
        return Outcome("empty")
    best = [part.best for part in prediction.parts]
    answers = max((len(part.answers) for part in prediction.parts), default=0)
    has_broader = any(part.broader for part in prediction.parts)
    if not any(best):
        return Outcome("no concept", prediction.assertion, None, answers, has_broader=has_broader)
    is_accepted = prediction.state == "accepted"
    are_sure = all(best) if is_accepted else all(map(is_sure, prediction.parts))
    confidence = None if is_accepted else prediction.confidence
    kind = "linked" if are_sure else "unsure"
    if confidence is None:
        return Outcome(kind, prediction.assertion, None, answers, has_broader=has_broader)
    weakest = min(part.confidence or 0.0 for part in prediction.parts)
    rounded = round(confidence, 3), answers, round(weakest, 3)
    return Outcome(kind, prediction.assertion, *rounded, has_broader)


ASSERTED = {
    "absent": "denied",
    "possible": "possible",
    "historical": "past",
    "family": "of a relative",
    "mixed": "mixed",
}
"""What texts say of diseases that are not plainly present, in words; see `types.Assertion`."""


def decision_cells(prediction: Prediction) -> tuple[str, ...]:
    """The state, who decided, when last, and all that was decided.

    Of what was accepted in bulk, which the state says, nobody and no time is named.
    """
    seen = [decision for decision in prediction.decisions if not decision.bulk]
    reviewers = dict.fromkeys(filter(None, (decision.reviewer for decision in seen)))
    last = max((decision.time for decision in seen), default="")
    written = decisions_text(prediction.decisions) if prediction.decisions else ""
    return prediction.written_state, "; ".join(reviewers), last, written


def decisions_text(decisions: Sequence[Decision]) -> str:
    """Decisions as JSON in one line, in ASCII, which every encoding of a table has."""
    return json.dumps([decision.to_dict() for decision in decisions])


def decision_from_json(record: Any) -> Decision:
    """The decision that `Decision.to_dict` wrote; its number, which one store gave, is left out.

    Raises:
        ValueError: the object is none.
    """
    from pydantic import TypeAdapter

    needed = ("mention", "accepted", "scope", "reviewer", "time")
    is_whole = isinstance(record, dict) and record.keys() >= {*needed, "concept_id"}
    if not is_whole or not isinstance(record["accepted"], bool):
        raise ValueError(f"a decision is no object with concept_id, {', '.join(needed)}")
    values = {key: record[key] for key in needed} | {
        "concept_id": "" if record["concept_id"] is None else record["concept_id"],
        "predicate": record.get("predicate", ""),
        "bulk": bool(record.get("bulk", record.get("others"))),  # as it was written before
        "settles": settles_of(record.get("settles", [])),
        "said": record.get("said", ""),
    }
    return TypeAdapter(Decision).validate_python(values)


def settles_of(names: Any) -> tuple[str, ...]:
    """The reviewers whose decisions one settles.

    Raises:
        ValueError: they are no list of texts.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"whom a decision settles is {names!r}; expected a list of reviewers")
    return tuple(names)


def owner_of(document: Document | None, mention: Mention) -> str | None:
    """The id of the document that a mention is of; None where it is of none."""
    return document.id if document is not None else mention.document_id


def spans_text(mention: Mention) -> str:
    """Where a mention stands, as tables write it: "0-5;9-12"."""
    return ";".join(f"{start}-{end}" for start, end in mention.spans)


def joined_ids(prediction: Prediction) -> str:
    """Join the ids of the parts with `|`; -1 is a part, or a whole mention, without a concept, and
    ? a part on which nobody decided while people decided on others."""
    return "|".join(ids_of(prediction)) or "-1"


def ids_of(prediction: Prediction) -> list[str]:
    """The ids of an answer as `split_ids` reads them, one for each part; none without a concept."""
    if not any(part.best or part.is_open for part in prediction.parts):
        return []
    ids = []
    for part in prediction.parts:
        if part.is_open:
            ids.append(OPEN)
        else:
            ids.append(escaped(part.best.concept_id) if part.best else "-1")
    return ids


def paired(
    document: Document, predictions: Iterable[Prediction]
) -> Iterator[tuple[Mention, Prediction | None]]:
    """Yield each mention of a document with its prediction or None, then further predictions."""
    left = iter(predictions)
    following = next(left, None)
    for mention in document.mentions:
        # by identity: two mentions of a document may be equal
        if following is not None and following.mention is mention:
            yield mention, following
            following = next(left, None)
        else:
            yield mention, None
    while following is not None:
        yield following.mention, following
        following = next(left, None)


def with_text(document: Document | None, format: str) -> Document:
    """Return the document of an item for a format that writes whole documents.

    Raises:
        LinkerError: there is none, or it has mentions but no text.
    """
    if document is None:
        raise LinkerError(
            f"the format {format} holds documents, and the input has loose mentions; "
            "choose tsv or jsonl"
        )
    if document.mentions and not document.passages:
        raise LinkerError(
            f"the format {format} holds texts, and document {document.id} has none; "
            "choose tsv or jsonl"
        )
    return document

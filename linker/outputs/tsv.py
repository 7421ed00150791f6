"""Tab-separated predictions: one row a candidate.

All our tables are quoted like Python's dialect excel-tab and pandas: a field that holds a double
quote is put into double quotes, and the quotes inside are doubled. Tabs, line ends and NUL become
blanks, so that lines can be cut at their tabs.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TextIO

from linker.outputs import (
    BREAKS,
    DECISION_COLUMNS,
    Item,
    Vocabulary,
    decimals,
    decision_cells,
    rejected_id,
    source_of,
)
from linker.types import Document, Part, Prediction

COLUMNS = ("mention", "part", "concept_id", "name", "score", "matched_name", "rank", "confidence")
DOCUMENT_COLUMNS = ("document_id", "spans")
SOURCE_COLUMNS = ("source",)
REJECTED_COLUMNS = ("rejected",)


def row_writer(file: TextIO) -> Callable[[Iterable[str]], None]:
    """Return a function that writes a row of fields to a table."""
    writer = csv.writer(file, "excel-tab", lineterminator="\n")

    def write_row(fields: Iterable[str]) -> None:
        writer.writerow([field.translate(BREAKS) for field in fields])

    return write_row


def write(
    items: Iterable[Item],
    file: TextIO,
    *,
    documents: bool | None = None,
    sources: bool = False,
    decisions: bool = False,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Write a header, and a row for each candidate of each part of each mention, best first.

    A part without a concept has one row, of which the columns from `concept_id` to `rank` are
    empty. Where the best candidate was too unsure, its id is in the column `rejected`, and its
    confidence in `confidence`; so is one that a person rejected, which `source` says. Scores and
    confidences have 4 decimals; a confidence is empty where the model has none.

    Args:
        items: documents with their predictions.
        file: where to write.
        documents: whether there are the columns `document_id` and `spans` (`0-5;9-12`); None for
            such columns if the first item is a document, or a mention with a document id.
        sources: whether there is a column `source`: the file that lent the matched name, or
            "decision" where a person chose the concept, or rejected it; empty for the dictionary's
            own names.
        decisions: whether there are the columns `expanded`, the mention with the short forms of its
            document expanded, and `DECISION_COLUMNS`.
        vocabulary: not needed, see `linker.outputs.Writer`.
    """
    items = iter(items)
    first = next(items, None)
    if documents is None:
        documents = first is not None and _has_documents(*first)
    write_row = row_writer(file)
    header = COLUMNS + DOCUMENT_COLUMNS * documents + SOURCE_COLUMNS * sources + REJECTED_COLUMNS
    write_row(header + (("expanded", *DECISION_COLUMNS) if decisions else ()))
    for document, predictions in chain([] if first is None else [first], items):
        for prediction in predictions:
            where = _where(document, prediction) if documents else ()
            decided = decision_cells(prediction) if decisions else ()
            for part in prediction.parts:
                said = (part.expanded or "", *decided) if decisions else ()
                for *row, source in _rows(prediction, part):
                    write_row((*row, *where, *([source] * sources), rejected_id(part), *said))


def _has_documents(document: Document | None, predictions: Sequence[Prediction]) -> bool:
    return document is not None or any(
        prediction.mention.document_id is not None for prediction in predictions
    )


def _where(document: Document | None, prediction: Prediction) -> tuple[str, str]:
    mention = prediction.mention
    identifier = document.id if document is not None else mention.document_id or ""
    return identifier, ";".join(f"{start}-{end}" for start, end in mention.spans)


def _rows(prediction: Prediction, part: Part) -> Iterator[tuple[str, ...]]:
    """The cells of `COLUMNS` for each candidate of a part, and its source."""
    mention = prediction.mention.text
    if part.best is None:
        empty, source = ("",) * 5, source_of(prediction, part)
        yield mention, part.text, *empty, decimals(part.confidence), source
        return
    for rank, candidate in enumerate(part.returned, 1):
        yield (
            mention,
            part.text,
            candidate.concept_id,
            candidate.name,
            decimals(candidate.score),
            candidate.matched_name,
            str(rank),
            decimals(candidate.confidence),
            candidate.source,
        )

"""Tab-separated predictions: one row a candidate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TextIO

from linker.outputs import BREAKS, best
from linker.types import Document, Prediction

COLUMNS = ("mention", "part", "concept_id", "name", "score", "matched_name", "rank")
DOCUMENT_COLUMNS = ("document_id", "spans")


def write(items: Iterable[tuple[Document | None, Sequence[Prediction]]], file: TextIO) -> None:
    """Write a header, and a row for each candidate of each part of each mention, best first.

    A part without a concept has one row, of which the columns from `concept_id` to `rank` are empty. Scores have 4
    decimals. The columns `document_id` and `spans` (`0-5;9-12`) are there when the first item is a document or a
    mention with a document id. Tabs and line breaks inside a field become blanks.
    """
    items = iter(items)
    first = next(items, None)
    documents = first is not None and _has_documents(*first)
    file.write("\t".join(COLUMNS + DOCUMENT_COLUMNS * documents) + "\n")
    for document, predictions in chain([] if first is None else [first], items):
        for prediction in predictions:
            where = _where(document, prediction) if documents else ()
            for row in _rows(prediction):
                file.write("\t".join(field.translate(BREAKS) for field in (*row, *where)) + "\n")


def _has_documents(document: Document | None, predictions: Sequence[Prediction]) -> bool:
    return document is not None or any(prediction.mention.document_id is not None for prediction in predictions)


def _where(document: Document | None, prediction: Prediction) -> tuple[str, str]:
    mention = prediction.mention
    identifier = document.id if document is not None else mention.document_id or ""
    return identifier, ";".join(f"{start}-{end}" for start, end in mention.spans)


def _rows(prediction: Prediction) -> Iterator[tuple[str, ...]]:
    for part in prediction.parts:
        head = (prediction.mention.text, part.text)
        if best(part) is None:
            yield (*head, "", "", "", "", "")
            continue
        for rank, candidate in enumerate(part.candidates, 1):
            yield (*head, candidate.concept_id, candidate.name, f"{candidate.score:.4f}", candidate.matched_name, str(rank))

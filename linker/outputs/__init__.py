"""Writers of predictions, one format a file.

Each has `write(items, file)`: items are pairs of a document and the predictions for its mentions, or of None and the
predictions for loose mentions; they are written as they come, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linker.errors import LinkerError
from linker.types import Candidate, Document, Mention, Part, Prediction

FORMATS = {
    "tsv": "linker.outputs.tsv",
    "jsonl": "linker.outputs.jsonl",
    "pubtator": "linker.outputs.pubtator",
    "bioc": "linker.outputs.bioc",
}
"""The module of each format."""

BREAKS = str.maketrans("\t\r\n\0", "    ")  # what cannot stand inside a column


def best(part: Part) -> Candidate | None:
    """The candidate that a part is linked to; None for a part without a concept."""
    return None if part.nil else part.best


def joined_ids(prediction: Prediction) -> str:
    """Join the ids of the parts with `|`, with -1 for a part without a concept; a lone -1 where no part has one."""
    ids = [candidate.concept_id if (candidate := best(part)) else "-1" for part in prediction.parts]
    return "|".join(ids) if set(ids) - {"-1"} else "-1"


def paired(
    document: Document, predictions: Sequence[Prediction]
) -> Iterator[tuple[Mention, Prediction | None]]:
    """Yield the mentions of a document, each with its prediction where there is one, then predictions for further mentions."""
    found = {
        id(prediction.mention): prediction for prediction in predictions
    }  # mentions may be equal without being one
    for mention in document.mentions:
        yield mention, found.pop(id(mention), None)
    yield from ((prediction.mention, prediction) for prediction in found.values())


def with_text(document: Document | None, format: str) -> Document:
    """Return the document of an item for a format that writes whole documents.

    Raises:
        LinkerError: there is none, or it has mentions but no text.
    """
    if document is None:
        raise LinkerError(
            f"the format {format} holds documents, and the input has loose mentions; choose tsv or jsonl"
        )
    if document.mentions and not document.passages:
        raise LinkerError(
            f"the format {format} holds texts, and document {document.id} has none; choose tsv or jsonl"
        )
    return document

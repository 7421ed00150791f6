"""Predictions as a Parquet file of flat rows: one row a candidate; needs pyarrow.

The file depends on nothing but the predictions and the release of pyarrow: it has no dates, and
its groups of rows have a fixed size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO

from linker.files.arrow import libraries
from linker.outputs import DECISION_COLUMNS, Item, decision_cells, rejected_id, source_of
from linker.types import Document, Mention, Part, Prediction

COLUMNS = (  # with their types in Arrow
    ("number", "int64"),
    ("mention", "string"),
    ("part", "string"),
    ("concept_id", "string"),
    ("name", "string"),
    ("score", "float64"),
    ("matched_name", "string"),
    ("rank", "int32"),
    ("confidence", "float64"),
    ("document_id", "string"),
    ("spans", "string"),
    ("source", "string"),
    ("rejected", "string"),
    ("expanded", "string"),
    *((name, "string") for name in DECISION_COLUMNS),
)
_ROWS = 50_000  # of a group


def write(items: Iterable[Item], file: BinaryIO) -> int:
    """Write a row for each candidate of each part of each mention, best first.

    The columns are those of `linker.outputs.tsv`, all of them always there, with null for what is
    empty there; `number` counts the mentions from 1, so that those with equal texts can be told
    apart. Scores and confidences have all their digits.

    Args:
        items: documents with their predictions.
        file: where to write.

    Returns:
        The number of mentions.
    """
    pyarrow, parquet = libraries("--format parquet")
    schema = pyarrow.schema([(n, pyarrow.type_for_alias(kind)) for n, kind in COLUMNS])
    predictions = ((d, prediction) for d, of_item in items for prediction in of_item)
    count = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal count
        for count, (document, prediction) in enumerate(predictions, 1):
            where = _where(document, prediction.mention)
            said = [cell or None for cell in decision_cells(prediction)]
            for row in chain.from_iterable(_rows(prediction, p) for p in prediction.parts):
                yield (count, prediction.mention.text, *row[:7], *where, *row[7:], *said)

    every = rows()
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(every, _ROWS)):
            columns = map(pyarrow.array, zip(*group, strict=True), schema.types)
            writer.write_table(pyarrow.Table.from_arrays(list(columns), schema=schema), _ROWS)
    return count


def _where(document: Document | None, mention: Mention) -> tuple[str | None, str | None]:
    """The id of the document, and the spans as a table writes them."""
    identifier = document.id if document is not None else mention.document_id
    return identifier, ";".join(f"{start}-{end}" for start, end in mention.spans) or None


def _rows(prediction: Prediction, part: Part) -> Iterator[tuple[Any, ...]]:
    """The values of `part` to `confidence`, `source` to `expanded` for each candidate."""
    rejected, expanded = rejected_id(part) or None, part.expanded
    if part.best is None:
        source = source_of(prediction, part) or None
        yield part.text, None, None, None, None, None, part.confidence, source, rejected, expanded
        return
    for rank, candidate in enumerate(part.returned, 1):
        yield (
            part.text,
            candidate.concept_id,
            candidate.name,
            candidate.score,
            candidate.matched_name,
            rank,
            candidate.confidence,
            candidate.source or None,
            rejected,
            expanded,
        )

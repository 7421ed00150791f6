"""Tables of predictions, tab-separated or in Parquet: one row a candidate.

All our tables are quoted like Python's dialect excel-tab and pandas: a field that holds a double
quote is put into double quotes, and the quotes inside are doubled. Tabs, line ends and NUL become
blanks, so that lines can be cut at their tabs.

A Parquet file, which needs pyarrow, depends on nothing but the predictions and the release of
pyarrow: it has no dates, and its groups of rows have a fixed size.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress, islice
from typing import Any, BinaryIO, TextIO

from linker.files import pyarrow_for
from linker.outputs import (
    BREAKS,
    DECISION_COLUMNS,
    Layout,
    Predicted,
    also_text,
    assertion_of,
    decimals,
    decision_cells,
    owner_of,
    rejected_id,
    source_of,
    spans_text,
)
from linker.types import Document, Prediction

COLUMNS = ("mention", "part", "concept_id", "name", "score", "matched_name", "rank", "confidence")
"""What every table has; by these `linker review import` recognises one: a new one is not here."""
_SHOWN: dict[str, Callable[[Layout], bool]] = {
    **dict.fromkeys(COLUMNS, lambda _: True),
    **dict.fromkeys(("document_id", "spans"), lambda layout: layout.documents),
    "source": lambda layout: layout.sources,
    **dict.fromkeys(("rejected", "assertion"), lambda _: True),
    **dict.fromkeys(("expanded", *DECISION_COLUMNS), lambda layout: layout.decisions),
    "also": lambda layout: layout.also,
}
"""All columns, in their order, and whether a table of a layout has them; `cells` has the values."""
ALL_COLUMNS = tuple(_SHOWN)
FOOTER = ""
_TYPES = {"score": "float64", "confidence": "float64", "rank": "int32"}  # the others are strings
PARQUET_COLUMNS = (
    ("number", "int64"),
    *((name, _TYPES.get(name, "string")) for name in ALL_COLUMNS),
)
"""The columns with their types in Arrow."""
_ROWS = 50_000  # of a group
_NUMBERS = COLUMNS.index("score"), COLUMNS.index("confidence")


def row_writer(file: TextIO) -> Callable[[Iterable[str]], None]:
    """Return a function that writes a row of fields to a table."""
    writer = csv.writer(file, "excel-tab", lineterminator="\n")

    def write_row(fields: Iterable[str]) -> None:
        writer.writerow([field.translate(BREAKS) for field in fields])

    return write_row


def text_of(rows: Iterable[Iterable[str]]) -> str:
    """The text of rows of a table."""
    file = io.StringIO()
    write_row = row_writer(file)
    for row in rows:
        write_row(row)
    return file.getvalue()


def header(first: Document | None, layout: Layout) -> str:
    """The names of the columns; see `linker.outputs.Writer`."""
    return text_of([compress(ALL_COLUMNS, _has_columns(layout))])


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A row for each candidate of each part of each mention, best first.

    A part without a concept has one row, of which the columns from `concept_id` to `rank` are
    empty. Where the best candidate was too unsure, its id is in the column `rejected`, and its
    confidence in `confidence`; so is one that a person rejected, which `source` says. Scores and
    confidences have 4 decimals; a confidence is empty where the model has none. `assertion` is what
    the text says of the part ("absent" of what it denies), and empty where that is present.

    `Layout.documents` adds the columns `document_id` and `spans` (`0-5;9-12`), `Layout.sources`
    the column `source`: the file that lent the matched name, or "decision" where a person chose the
    concept, or rejected it; empty for the dictionary's own names. `Layout.decisions` adds
    `expanded`, the mention with the short forms of its document expanded, and `DECISION_COLUMNS`,
    which are empty for further candidates where a concept was accepted.
    `Layout.also` adds `also`, ids with their predicates ("MONDO:0008840 skos:exactMatch; ...").
    For the arguments see `linker.outputs.Writer`.
    """
    has_columns = _has_columns(layout)

    def fields(row: tuple[Any, ...]) -> Iterator[str]:
        values = (
            decimals(value) if place in _NUMBERS else "" if value is None else str(value)
            for place, value in enumerate(row)
        )
        return compress(values, has_columns)

    rows = chain.from_iterable(cells(document, prediction) for prediction in predictions)
    return text_of(map(fields, rows))


def cells(document: Document | None, prediction: Prediction) -> Iterator[tuple[Any, ...]]:
    """The values of `ALL_COLUMNS` for each candidate of each part; None for what there is not."""
    mention = prediction.mention
    where = owner_of(document, mention), spans_text(mention) or None
    decided = [cell or None for cell in decision_cells(prediction)]
    for part in prediction.parts:
        of_part = rejected_id(part) or None, assertion_of(part) or None, part.expanded
        said = *of_part, *decided
        if part.best is None:
            source = source_of(prediction, part) or None
            empty = (None,) * 5
            yield mention.text, part.text, *empty, part.confidence, *where, source, *said, None
            continue
        for rank, c in enumerate(part.returned, 1):
            values = c.concept_id, c.name, c.score, c.matched_name, rank, c.confidence
            source, also = c.source or None, also_text(c) or None
            if rank > 1 and prediction.state == "accepted":  # which the first one alone is
                said = *of_part, *(None,) * len(decided)
            yield mention.text, part.text, *values, *where, source, *said, also


def table(predictions: Sequence[Prediction]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns, and the rows of all candidates, with the columns that the predictions need."""
    mentions = [prediction.mention for prediction in predictions]
    layout = Layout(
        documents=any(mention.spans or mention.document_id for mention in mentions),
        sources=any(source_of(p, part) for p in predictions for part in p.parts),
        decisions=any(prediction.decisions for prediction in predictions),
        also=any(c.also for p in predictions for part in p.parts for c in part.returned),
    )
    has_columns = _has_columns(layout)
    rows = chain.from_iterable(cells(None, prediction) for prediction in predictions)
    return [*compress(ALL_COLUMNS, has_columns)], [tuple(compress(r, has_columns)) for r in rows]


def _has_columns(layout: Layout) -> list[bool]:
    """Whether a table has each of `ALL_COLUMNS`."""
    return [is_shown(layout) for is_shown in _SHOWN.values()]


def write_parquet(items: Iterable[Predicted], file: BinaryIO, also: bool = False) -> int:
    """Write a row for each candidate of each part of each mention, best first.

    The columns are those of ``header`, all of them always there, with null for what is
    empty there; `number` counts the mentions from 1, so that those with equal texts can be told
    apart. Scores and confidences have all their digits.

    Args:
        items: documents with their predictions.
        file: where to write.
        also: whether there is the last column, `also`.

    Returns:
        The number of mentions.
    """
    pyarrow, parquet = pyarrow_for("--format parquet")
    shown = PARQUET_COLUMNS if also else PARQUET_COLUMNS[:-1]
    schema = pyarrow.schema([(n, pyarrow.type_for_alias(kind)) for n, kind in shown])
    predictions = ((d, prediction) for d, of_item in items for prediction in of_item)
    count = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal count
        for count, (document, prediction) in enumerate(predictions, 1):
            for row in cells(document, prediction):
                yield count, *row

    every = rows()
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(every, _ROWS)):
            columns = map(pyarrow.array, zip(*group, strict=True), schema.types)
            writer.write_table(pyarrow.Table.from_arrays(list(columns), schema=schema), _ROWS)
    return count

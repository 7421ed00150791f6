"""Predictions as a Parquet file of flat rows: one row a candidate; needs pyarrow.

The file depends on nothing but the predictions and the release of pyarrow: it has no dates, and
its groups of rows have a fixed size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from linker.formats import pyarrow_for
from linker.outputs import Predicted
from linker.outputs.tsv import ALL_COLUMNS, cells

_TYPES = {"score": "float64", "confidence": "float64", "rank": "int32"}  # the others are strings
COLUMNS = (("number", "int64"), *((name, _TYPES.get(name, "string")) for name in ALL_COLUMNS))
"""The columns with their types in Arrow."""
_ROWS = 50_000  # of a group


def write(items: Iterable[Predicted], file: BinaryIO, also: bool = False) -> int:
    """Write a row for each candidate of each part of each mention, best first.

    The columns are those of `linker.outputs.tsv`, all of them always there, with null for what is
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
    shown = COLUMNS if also else COLUMNS[:-1]
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

"""Tables of mentions and of predictions, tab-separated; predictions in Parquet, too.

A Parquet file, which needs pyarrow, depends on nothing but the predictions and the release of
pyarrow: it has no dates, and its groups of rows have a fixed size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, BinaryIO

from linker.errors import InputError, OnError, RecordError, stop
from linker.ids import Identify, not_known, parse_gold
from linker.io import sssom
from linker.io.files import Pathlike, pyarrow_for, read_lines
from linker.io.outputs import FIELDS, Cell, Field, Layout, Predicted, cells_of, text_of
from linker.io.parsing import check_mention, parse_each
from linker.io.rows import TableRow, delimiter_of, read_rows, titles_of
from linker.records import PREDICATES, Document, Mention, Prediction

COLUMNS = ("mention", "part", "concept_id", "name", "score", "matched_name", "rank", "confidence")
"""What every table has; by these `linker review import` recognises one: a new one is not here."""
FOOTER = ""
_MENTION = "mention"
_ID_COLUMNS = ("id", "concept_id", "gold")
_ROWS = 50_000  # of a group
_SOURCE = next(field for field in FIELDS if field.name == "source")


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Mention]:
    """Yield the mention of each line with its gold ids; other columns are passed over.

    Ids are `A|B` for parts, `A+B` for ids that are all meant, and -1 or empty for no concept. In
    tables of decisions, rows that say nothing of the mention as a name are passed over: those with
    "false" in a column `accepted`, whose ids are wrong, those with a document in a column `scope`,
    whose ids are right there only, and those whose `predicate` says that the concept is broader,
    narrower or related. Mentions in tables of answers that linker wrote are not annotated: nobody
    said that their ids are right. Nor is a blank mention or line, which keeps its row.

    For `identify` see `linker.ids.split_ids`.
    """

    def unread(error: InputError) -> None:
        (stop if error.line == 1 else on_error)(error)  # the first line may be the header

    lines = read_lines(path, keep_ends=True, on_error=unread)
    first = next(lines, (1, ""))
    titles = _titles(first[1])
    delimiter = delimiter_of(first[1]) if _MENTION in titles and len(titles) > 1 else "\t"
    rows = read_rows(path, chain([first] if first[1] else [], lines), delimiter, on_error)
    columns: list[str] = []  # those that the header names

    def parse(number: int, row: TableRow) -> Mention | None:
        if number == 1 and is_header(row.line):
            columns.extend(titles)
            return None
        return _mention(row, columns, identify)

    yield from parse_each(path, ((row.number, row) for row in rows), parse, on_error)


def _titles(line: str) -> list[str]:
    return [title.lower() for title in titles_of(line)]


def is_header(line: str) -> bool:
    """Whether a first line names a column of mentions, and one of ids."""
    if sssom.recognises("", [line]):
        raise RecordError(
            "holds mappings (SSSOM), not mentions",
            line,
            remedy="take those that people curated with linker review import, and write mentions "
            "to train on with linker review export --format mentions",
        )
    titles = _titles(line)
    if _MENTION in titles and not {*_ID_COLUMNS} & {*titles}:
        expected = f"a column mention and one of {', '.join(_ID_COLUMNS)}"
        raise RecordError("the header is not known", line, expected=expected)
    return _MENTION in titles


def _mention(row: TableRow, columns: list[str], identify: Identify) -> Mention | None:
    """The mention of a row; None where it is no name of its ids that holds everywhere."""
    named = zip(columns or (_MENTION, "id"), row.cells, strict=False)
    cells = dict(reversed([*named]))  # of two columns of a name the first one counts
    ids = next(name for name in _ID_COLUMNS if name in (columns or ["id"]))
    if not any(map(str.strip, row.cells)):
        return Mention("")
    if _MENTION not in cells or ids not in cells:
        raise RecordError(
            f"the line has {len(row.cells)} column{'s' * (len(row.cells) > 1)}",
            row.line,
            expected="mention<TAB>id",
            remedy="add the id (-1 for no concept), or read the file as txt",
        )
    if not columns and len(row.cells) > 2 and cells[_MENTION].strip().isdigit():
        remedy = "put a header line that names the columns, such as document<TAB>mention<TAB>id"
        raise RecordError("the mention is a number", cells[_MENTION], remedy=remedy)
    is_other = cells.get("predicate", "").strip() in PREDICATES[1:]
    if cells.get("accepted") == "false" or cells.get("scope", "").strip() or is_other:
        return None
    text = check_mention(cells[_MENTION])
    is_annotated = text and "matched_name" not in columns
    return Mention(text, gold=parse_gold(cells[ids], identify) if is_annotated else None)


@lru_cache(maxsize=8)
def _shown(layout: Layout) -> list[Field]:
    return [field for field in FIELDS if field.is_shown(layout)]


def header(first: Document | None, layout: Layout) -> str:
    """The names of the columns; see `linker.io.outputs.Writer`."""
    return text_of([[field.name for field in _shown(layout)]])


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A row for each candidate of each part of each mention, best first; see `outputs.FIELDS`.

    A part without a concept has one row. For the arguments see `linker.io.outputs.Writer`.
    """
    shown = _shown(layout)
    rows = chain.from_iterable(cells_of(document, prediction) for prediction in predictions)
    return text_of(
        [field.text(cell) if has or not field.is_of_mention else "" for field in shown]
        for has, cell in rows
    )


def _values(fields: Sequence[Field], has_decisions: bool, cell: Cell) -> tuple[Any, ...]:
    return tuple(f.value(cell) if has_decisions or not f.is_of_mention else None for f in fields)


def table(predictions: Sequence[Prediction]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns, and the rows of all candidates, with the columns that the predictions need."""
    mentions = [prediction.mention for prediction in predictions]
    candidates = [c for p in predictions for part in p.parts for c in part.returned]
    layout = Layout(
        documents=any(mention.spans or mention.document_id for mention in mentions),
        sources=any(_SOURCE.joined(prediction) for prediction in predictions),
        decisions=any(prediction.decisions for prediction in predictions),
        also=any(candidate.also for candidate in candidates),
        sets=any(part.answers for prediction in predictions for part in prediction.parts),
        broader=any(part.broader for prediction in predictions for part in prediction.parts),
    )
    fields = _shown(layout)
    rows = chain.from_iterable(cells_of(None, prediction) for prediction in predictions)
    return [field.name for field in fields], [_values(fields, *row) for row in rows]


def write_parquet(items: Iterable[Predicted], file: BinaryIO, layout: Layout) -> int:
    """Write a row for each candidate of each part of each mention, best first.

    The columns are those of `outputs.FIELDS`, with null for what is empty in a tsv; `number` counts
    the mentions from 1, so that those with equal texts can be told apart. Scores and confidences
    have all their digits.

    Args:
        items: documents with their predictions.
        file: where to write.
        layout: of what is written.

    Returns:
        The number of mentions.
    """
    pyarrow, parquet = pyarrow_for("--format parquet")
    fields = _shown(layout)
    columns = [("number", "int64"), *((field.name, field.kind) for field in fields)]
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in columns])
    predictions = ((d, prediction) for d, of_item in items for prediction in of_item)
    count = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal count
        for count, (document, prediction) in enumerate(predictions, 1):
            for row in cells_of(document, prediction):
                yield count, *_values(fields, *row)

    every = rows()
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(every, _ROWS)):
            arrays = map(pyarrow.array, zip(*group, strict=True), schema.types)
            writer.write_table(pyarrow.Table.from_arrays(list(arrays), schema=schema), _ROWS)
    return count

"""The mentions in a column of a table are linked, and the answers stand beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from linker.files.rows import Added, TableRow
from linker.linking.requests import Linked
from linker.outputs import (
    also_text,
    assertion_of,
    decimals,
    decision_cells,
    rejected_id,
    source_of,
)
from linker.readers.records import MENTION_LIMIT
from linker.types import Candidate, Mention, Prediction

COLUMNS = (
    *("concept_id", "name", "matched_name", "confidence", "rejected", "assertion"),
    *("state", "source", "reviewer", "time", "decisions", "also"),
)


def predicted(
    rows: Iterable[TableRow],
    column: int,
    link: Callable[[Iterable[Mention]], Iterable[Linked]],
    long: list[int],
    size: int = 1024,
) -> Iterator[tuple[TableRow, Prediction | None]]:
    """Yield each row with the prediction for its mention; None for a row without one.

    Args:
        rows: those of a table.
        column: the place of the mentions.
        link: gives the predictions of mentions, in order.
        long: is given the numbers of the rows whose cells are too long for a mention.
        size: rows that are linked together.
    """
    rows = iter(rows)
    while chunk := list(itertools.islice(rows, size)):
        mentions = [mention_of(row, column, long) for row in chunk]
        yield from paired(chunk, mentions, link([mention for mention in mentions if mention]))


def paired(
    rows: Iterable[TableRow], mentions: Iterable[Mention | None], linked: Iterable[Linked]
) -> Iterator[tuple[TableRow, Prediction | None]]:
    """Yield each row with the prediction for its mention; None for a row without one."""
    predictions = itertools.chain.from_iterable(of_item for _, of_item in linked)
    for row, mention in zip(rows, mentions, strict=True):
        yield row, next(predictions) if mention else None


def written(
    rows: Iterable[tuple[TableRow, Prediction | None]],
    sources: bool,
    decisions: bool,
    also: bool = False,
) -> tuple[Sequence[str], Added]:
    """The columns that are added to a table, and the cells of each row.

    Args:
        rows: with their predictions.
        sources: whether other vocabularies lent names, or people decided.
        decisions: whether decisions of people were applied.
        also: whether ids of other vocabularies were asked for.
    """
    names = columns(sources, decisions, also)
    kept = [name in names for name in COLUMNS]
    added = ((row, [*itertools.compress(cells(prediction), kept)]) for row, prediction in rows)
    return names, added


def columns(sources: bool, decisions: bool, also: bool = False) -> Sequence[str]:
    """The columns that are added to a table; for the arguments see `written`."""
    width = COLUMNS.index("also") if decisions else COLUMNS.index("source") + sources
    return COLUMNS[:width] + COLUMNS[-1:] * also


def mention_of(row: TableRow, column: int, long: list[int]) -> Mention | None:
    """The mention of a row; None where its cell is blank, or too long, which `long` is told."""
    text = row.cells[column].strip() if column < len(row.cells) else ""
    if len(text) > MENTION_LIMIT:
        long.append(row.number)
    return Mention(text) if 0 < len(text) <= MENTION_LIMIT else None


def cells(prediction: Prediction | None) -> Sequence[str]:
    """The cells of `COLUMNS`; what stands for several parts is joined by `|`."""
    if prediction is None:
        return [""] * len(COLUMNS)
    parts = prediction.parts
    state, *said = decision_cells(prediction)

    def of(value: Callable[[Candidate], str]) -> str:
        return _joined(value(part.best) if part.best else "" for part in parts)

    return (
        of(lambda answer: answer.concept_id),
        of(lambda answer: answer.name),
        of(lambda answer: answer.matched_name),
        _joined(decimals(part.confidence) for part in parts),
        _joined(map(rejected_id, parts)),
        _joined(map(assertion_of, parts)),
        state,
        _joined(source_of(prediction, part) for part in parts),
        *said,
        of(also_text),
    )


def _joined(cells: Iterable[str]) -> str:
    return "|".join(texts) if any(texts := list(cells)) else ""

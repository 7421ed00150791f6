"""The mentions in a column of a table are linked, and the answers stand beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from linker.io.files import MENTION_LIMIT
from linker.io.outputs import BESIDE, Layout
from linker.io.rows import Added, TableRow
from linker.linking.requests import Linked
from linker.records import Mention, Prediction

_KEPT = 50_000  # predictions, which are not made again
COLUMNS = tuple(field.name for field in BESIDE)


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
    rows, known = iter(rows), dict[Mention, Prediction]()
    while chunk := list(itertools.islice(rows, size)):
        mentions = [mention_of(row, column, long) for row in chunk]
        if len(known) > _KEPT:
            known = {}
        new = [mention for mention in dict.fromkeys(mentions) if mention and mention not in known]
        known |= {prediction.mention: prediction for _, (prediction,) in link(new)}
        for row, mention in zip(chunk, mentions, strict=True):
            yield row, known[mention] if mention else None


def written(
    rows: Iterable[tuple[TableRow, Prediction | None]], layout: Layout
) -> tuple[Sequence[str], Added]:
    """The columns that are added to a table, and the cells of each row.

    Args:
        rows: with their predictions.
        layout: of what stands `beside` mentions.
    """
    names = columns(layout)
    kept = [name in names for name in COLUMNS]
    added = ((row, [*itertools.compress(cells(prediction), kept)]) for row, prediction in rows)
    return names, added


def columns(layout: Layout) -> Sequence[str]:
    """The columns that are added to a table; see `written`."""
    return [field.name for field in BESIDE if field.is_shown(layout)]


def mention_of(row: TableRow, column: int, long: list[int]) -> Mention | None:
    """The mention of a row; None where its cell is blank, or too long, which `long` is told."""
    text = row.cells[column].strip() if column < len(row.cells) else ""
    if len(text) > MENTION_LIMIT:
        long.append(row.number)
    return Mention(text) if 0 < len(text) <= MENTION_LIMIT else None


def cells(prediction: Prediction | None) -> Sequence[str]:
    """The cells of `COLUMNS`; what stands for several parts is joined by `|`."""
    return [field.joined(prediction) if prediction else "" for field in BESIDE]

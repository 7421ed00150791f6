"""linker check: which pairs of an id and a label are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, sheets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from linker.evaluation.pairs import Checked, PairChecker
    from linker.files.rows import Row
    from linker.types import Prediction

_IDS = ("id", "concept_id", "subject_id", "object_id", "identifier", "curie", "code")
_LABELS = ("label", "name", "mention", "subject_label", "object_label", "term", "title")
_VERDICTS = ("right", "obsolete", "mismatched", "unsure", "unknown")


@click.command()
@click.argument("source", metavar="FILE")
@common.model_option
@click.option(
    "--id-column", metavar="NAME", help=f"Column of the ids. [default: {', '.join(_IDS[:3])} ...]"
)
@click.option(
    "--label-column",
    metavar="NAME",
    help=f"Column of the labels. [default: {', '.join(_LABELS[:3])} ...]",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="P",
    default=0.5,
    show_default=True,
    help="Call a pair mismatched where the label means another concept with this confidence.",
)
@common.output_option
@common.on_error_option
@common.logs
def check(
    source: str,
    model: str,
    id_column: str | None,
    label_column: str | None,
    threshold: float,
    output: str,
    on_error: str,
) -> None:
    """Check the ids and labels of FILE, a table (tsv, csv or xlsx), against a model.

    The columns verdict, current_id, better_id, better_name and confidence are added to it. A pair
    is right, obsolete, mismatched, unsure or unknown.
    """
    from linker.cluster import tables as linking
    from linker.evaluation.pairs import COLUMNS, PairChecker
    from linker.files import tables
    from linker.linker import Linker

    handle = common.handler(on_error)
    linker = Linker.load(model)
    ids, labels = [id_column] if id_column else _IDS, [label_column] if label_column else _LABELS
    table = tables.read(source, (*ids, *labels))
    id_place, label_place = tables.first_of(table, ids), tables.first_of(table, labels)
    rows = linking.predicted(source, table.rows(), label_place, linker.link_items, handle)
    counts = Counter[str]()
    checked = _checked(PairChecker(linker, threshold), rows, (id_place, label_place), counts)
    sheets.write(table, output, COLUMNS, checked)
    common.say(", ".join(f"{counts[verdict]:,} {verdict}" for verdict in _VERDICTS))
    common.say_skipped(handle)


def _checked(
    checker: PairChecker,
    rows: Iterable[tuple[Row, Prediction | None]],
    places: tuple[int, int],
    counts: Counter[str],
) -> Iterator[tuple[Row, Checked]]:
    """Yield each row with what is said of it, and count the verdicts."""

    def cell(row: Row, place: int) -> Any:
        return row.cells[place] if place < len(row.cells) else ""

    for row, prediction in rows:
        ids, label = (cell(row, place) for place in places)
        checked = checker.check(ids, label, prediction)
        counts[checked.verdict] += 1
        yield row, checked

"""linker check: which pairs of an id and a label are right."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

from linker.cli import common
from linker.cli import options as o
from linker.errors import InputError

if TYPE_CHECKING:
    from linker.evaluation.pairs import Checked
    from linker.files.rows import TableRow
    from linker.files.tables import Table
    from linker.linking.linker import Linker
    from linker.types import Prediction

_IDS = ("id", "concept_id", "subject_id", "object_id", "identifier", "curie", "code")
_LABELS = ("label", "name", "mention", "subject_label", "object_label", "term", "title")
_VERDICTS = ("right", "obsolete", "mismatched", "unsure", "unknown", "")
_PREDICATE = "predicate_id"  # a column that mappings have
_ONE_OF_SEVERAL = "skos:relatedMatch"  # of a part of a mention
_FIRST = 1_000  # mappings by which their sides are told apart


@o.command(
    source=o.argument("FILE"),
    model=o.MODEL,
    id_column=o.option(f"Column of the ids. [default: {', '.join(_IDS[:3])} ...]", "NAME"),
    label_column=o.option(f"Column of the labels. [default: {', '.join(_LABELS[:3])} ...]", "NAME"),
    threshold=o.option(
        "Call a pair mismatched where the label means another concept with this confidence.",
        "P",
        type=o.PROBABILITY,
        default=0.5,
        show_default=True,
    ),
    output=o.OUTPUT,
    encoding=o.ENCODING,
    on_error=o.ON_ERROR,
)
def check(options: SimpleNamespace) -> None:
    """Check the ids and labels of FILE, a table (tsv, csv or xlsx), against a model.

    Of mappings (SSSOM) the ids and labels of the side are checked that the model's dictionary has.

    The columns verdict, current_id, better_id, better_name and confidence are added to it. A pair
    is right, obsolete, mismatched, unsure or unknown.
    """
    from linker.evaluation.pairs import COLUMNS, PairChecker
    from linker.files import tables
    from linker.jobs import tables as linking
    from linker.linking.linker import Linker
    from linker.readers import sssom

    linker = Linker.load(options.model)
    ids: Sequence[str] = [options.id_column] if options.id_column else _IDS
    labels: Sequence[str] = [options.label_column] if options.label_column else _LABELS
    wanted, long = (*ids, *labels), list[int]()
    table = tables.read(
        options.source, wanted, encoding=options.encoding, on_error=options.on_error
    )
    rows = table.rows()
    titles = [title.strip() for title in table.header]
    predicate = titles.index(_PREDICATE) if _PREDICATE in titles else None
    if predicate is not None and not (options.id_column or options.label_column):
        rows, ids, labels = _side(table, rows, linker)
    id_place, label_place = tables.first_of(table, ids), tables.first_of(table, labels)
    linked = linking.predicted(rows, label_place, linker.link_items, long)
    checker, counts = PairChecker(linker, options.threshold), Counter[str]()

    def checked() -> Iterator[tuple[TableRow, Checked]]:
        """Each row with what is said of it; the verdicts are counted."""
        with common.bar("rows", options.output) as bar:
            for row, prediction in linked:
                identifier, label = _cell(row, id_place), _cell(row, label_place)
                if predicate is not None:
                    identifier = sssom.concept_id(identifier)
                    if prediction and _cell(row, predicate) == _ONE_OF_SEVERAL:
                        prediction = _of_part(prediction, identifier)
                pair = checker.check(identifier, label, prediction)
                counts[pair.verdict] += 1
                yield row, pair
                bar.update()

    common.write_table(table, options.output, COLUMNS, checked())
    verdicts = ", ".join(f"{counts[verdict]:,} {verdict or 'empty'}" for verdict in _VERDICTS)
    common.say(f"{common.counted(sum(counts.values()), 'row')}: {verdicts}")
    common.say_long(long)


def _side(
    table: Table, rows: Iterator[TableRow], linker: Linker
) -> tuple[Iterator[TableRow], Sequence[str], Sequence[str]]:
    """The side of mappings of which the dictionary has more ids: its columns of ids and labels.

    Of a subject without an id, as in what linker writes, the label is the mention.

    Returns:
        The rows again, and the columns.

    Raises:
        InputError: this side has no labels.
    """
    from linker.ids import parse_gold

    titles = [title.strip() for title in table.header]
    sides = [side for side in ("subject", "object") if f"{side}_id" in titles]
    if sides == ["object"]:
        return rows, ["object_id"], ["subject_label"]
    first = list(itertools.islice(rows, _FIRST))
    known = Counter[str]()
    for side in sides:
        place = titles.index(f"{side}_id")
        ids = [parse_gold(row.cells[place]) for row in first if place < len(row.cells)]
        known[side] = sum(any(map(linker.dictionary.rows, g.ids)) for gold in ids for g in gold)
    side = max(sides, key=lambda side: known[side])
    if f"{side}_label" not in titles:
        raise InputError(
            table.path,
            f"the dictionary has ids of {side}_id, and there is no column {side}_label",
            line=table.header_line,
            remedy="name the columns with --id-column and --label-column",
        )
    return itertools.chain(first, rows), [f"{side}_id"], [f"{side}_label"]


def _cell(row: TableRow, place: int) -> str:
    """The text of a cell; a row may end before it."""
    return row.cells[place] if place < len(row.cells) else ""


def _of_part(prediction: Prediction, identifier: str) -> Prediction:
    """A prediction with those parts that are answered with an id; with all where none is."""
    parts = [part for part in prediction.parts if part.best and part.best.concept_id == identifier]
    return dataclasses.replace(prediction, parts=tuple(parts) or prediction.parts)

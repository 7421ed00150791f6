"""linker review check: which pairs of an id and a label are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace

import click

from linker.cli import common
from linker.cli import options as o
from linker.evaluation.pairs import COLUMNS, Checked, PairChecker
from linker.io import rows as tables
from linker.io.rows import TableRow
from linker.jobs import tables as linking
from linker.linking.linker import Linker

_IDS = ("id", "concept_id", "subject_id", "object_id", "identifier", "curie", "code")
_LABELS = ("label", "name", "mention", "subject_label", "object_label", "term", "title")
_VERDICTS = ("right", "obsolete", "mismatched", "unsure", "unknown", "")


@o.command(
    source=o.argument("FILE"),
    model=o.MODEL,
    columns=o.option(
        "Columns of the ids and of the labels. [default: id or a like name; label or a like one]",
        "ID,LABEL",
        flags="--column",
        callback=o.listed,
    ),
    threshold=o.probability("A label with another concept this sure is a mismatch.", default=0.5),
    output=o.OUTPUT,
    encoding=o.ENCODING,
    on_error=o.ON_ERROR,
)
def check(options: SimpleNamespace) -> None:
    """Check the ids and labels of FILE, a table (tsv, csv or xlsx), against a model.

    The columns verdict, current_id, better_id, better_name and confidence are added to it. A pair
    is right, obsolete, mismatched, unsure or unknown. Of mappings (SSSOM) name the side to check:
    --column object_id,object_label; of those that linker wrote object_id,subject_label.
    """
    if len(options.columns) not in (0, 2):
        raise click.UsageError("--column names two columns: of the ids, and of the labels")
    linker = Linker.load(options.model)
    ids, labels = ([name] for name in options.columns) if options.columns else (_IDS, _LABELS)
    wanted, on_error = (*ids, *labels), options.on_error
    table = tables.read(options.source, wanted, encoding=options.encoding, on_error=on_error)
    id_place, label_place = tables.first_of(table, ids), tables.first_of(table, labels)
    checker, counts, long = PairChecker(linker, options.threshold), Counter[str](), list[int]()

    def checked() -> Iterator[tuple[TableRow, Checked]]:
        """Each row with what is said of it; the verdicts are counted."""
        linked = linking.predicted(table.rows(), label_place, linker.link_items, long)
        with common.bar("rows", options.output) as bar:
            for row, prediction in linked:
                identifier, label = ("".join(row.cells[p : p + 1]) for p in (id_place, label_place))
                pair = checker.check(identifier, label, prediction)
                counts[pair.verdict] += 1
                yield row, pair
                bar.update()

    common.write_table(table, options.output, COLUMNS, checked())
    verdicts = ", ".join(f"{counts[verdict]:,} {verdict or 'empty'}" for verdict in _VERDICTS)
    common.say(f"{common.counted(sum(counts.values()), 'row')}: {verdicts}")
    common.say_long(long)

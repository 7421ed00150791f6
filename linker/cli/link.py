"""linker link: mentions in, identifiers out."""

from __future__ import annotations

import dataclasses
import io
import itertools
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import click

from linker.cli import common
from linker.cli import options as o
from linker.cli.progress import InputBar
from linker.errors import UsageError
from linker.io import formats, outputs
from linker.io import mentions as readers
from linker.io import rows as tables
from linker.io.files import OpenFile, Pathlike, as_utf8, watched
from linker.io.rows import FIRST, ColumnNeeded, Table, TableRow
from linker.jobs import linking
from linker.jobs import tables as linked
from linker.jobs.linking import Item, LinkSettings, link_files
from linker.linking.decided import Decided
from linker.linking.tally import Tally
from linker.records import Mention, Prediction, Selection


@o.command(
    source=o.argument("INPUT"),
    model=o.MODEL,
    k=o.number(5, o.ANSWERS, flags="-k"),
    output=o.OUTPUT,
    form=o.choice((*formats.PREDICTIONS, "parquet"), flags="--format"),
    input_format=o.INPUT_FORMAT,
    column=o.option("Column of the mentions in a table, which is written back.", "NAME"),
    mention_type=o.kind("Link only mentions that are annotated with this type, e.g. Disease."),
    batch_size=o.number(1024, "Mentions linked together; 1 answers each line at once."),
    **o.WITHIN,
    also=o.ALSO,
    coverage=o.COVERAGE,
    exact_only=o.EXACT_ONLY,
    threshold=o.probability(
        "Return no concept with a lower confidence; 0: always return one. [default: 0.05, and "
        "none where that is more probable]"
    ),
    field_labels=o.several(
        "Text in front of the names in cells, which is taken off. Repeatable.",
        "TEXT",
        flags="--label",
    ),
    short_forms=o.option("short<TAB>long on each line, for mentions without a text.", "FILE"),
    min_score=o.option("Leave out candidates with a lower score.", "X", type=float),
    device=o.DEVICE,
    decisions=o.DECISIONS,
    encoding=o.ENCODING,
    on_error=o.ON_ERROR,
    workers=o.WORKERS,
    engine=o.choice(("local", "ray"), "What spreads files: processes, or Ray at $RAY_ADDRESS."),
)
def link(options: SimpleNamespace) -> None:
    """Link the mentions of a list, table or documents.

    INPUT is a file; "-" is standard input, one mention a line unless --input-format says otherwise.
    A mention may stand in its place, where there is no such file.

    With --column, a name or number, a table (tsv, csv or xlsx) is written back with more columns;
    it also names the column of the mentions in Parquet files.

    INPUT may be a folder or a pattern such as "data/*.parquet": each file becomes one in the
    folder that -o names, where those that are there already are not made again.
    """
    o.print_for_people(options)
    options.places = places = common.chosen(options)
    settings = o.picked(LinkSettings, options, within=o.picked(Selection, options))
    source, output = options.source, options.output
    if source == "-" and sys.stdin and sys.stdin.isatty():
        settings = dataclasses.replace(settings, batch_size=1)
    if settings.batch_size == 1 and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    kind, form = settings.input_format, settings.form
    if _is_table(source, settings.column, kind):
        _link_table(options, settings)
    elif places.engine == "ray" or form == "parquet" or common.is_job(source, kind):
        if options.encoding is not None:
            raise click.UsageError("--encoding is for a file; the files of a job must be UTF-8")
        if not places.is_this_process:
            common.loaded(settings, places)  # what is wrong is said before any process is started
        common.run_job(source, output, link_files(settings), options.on_error, places)
    else:
        _link_file(options, settings)


def _link_file(options: SimpleNamespace, settings: LinkSettings) -> None:
    """Link one file, or standard input."""
    source, output, on_error = options.source, options.output, options.on_error
    kind = settings.input_format
    if _is_mention(options):
        common.say(f"there is no file {source!r}; it is linked as a mention")
        content: Pathlike = OpenFile(io.BytesIO(os.fsencode(source)), source)
        kind = "txt"
    else:
        content = watched(as_utf8(source, options.encoding)[0])
        kind = readers.detect(source if source == "-" else content) if kind == "auto" else kind
    settings = dataclasses.replace(settings, input_format=kind)
    items = readers.read(content, kind, on_error=on_error, column=settings.column)
    if options.input_format == "auto":
        items = _of_list(content, settings, items)
    linker = common.loaded(settings, options.places)
    items = linking.selectable(items, linker, source, on_error=on_error)
    chunks = linking.chunks(items, settings.batch_size, settings.wanted)
    paths = source, output
    with InputBar("mentions", content, output) as bar:
        chunks = bar.read(chunks)
        tally = common.write_linked(linker, settings, chunks, paths, options.places, bar.done)
    if not tally.outcomes:
        common.say(
            "the documents have no marked mentions, which link wants; linker annotate finds them"
        )
    elif output not in ("-", "/dev/stdout"):
        common.say_tally("mention", tally, linker, settings.coverage)


def _is_mention(options: SimpleNamespace) -> bool:
    """Whether INPUT is a mention: there is no such file, and nothing speaks of one."""
    source, output = options.source, options.output
    is_name = source.strip() and Path(source).name == source != "-"
    is_file = re.search(r"[\t\r\n]|\.\w+$", source)  # or several mentions
    speaks = output != "-" or options.input_format != "auto" or is_file
    return is_name and not speaks and not os.path.exists(source)


def _of_list(path: Pathlike, settings: LinkSettings, items: Iterator[Item]) -> Iterator[Item]:
    """The items of a file, unless it is a table of which a column has to be named.

    A pipe is read only once, and not looked at where each of its lines is answered at once.
    """
    read: list[Item] = []
    lines: list[str] | None = None
    if str(path) == "-" or Path(path).is_fifo():
        read = list(itertools.islice(items, FIRST * (settings.batch_size > 1)))
        lines = [item.text for item in read if isinstance(item, Mention)]
    try:
        readers.check_list(path, settings.input_format, lines)
    except ColumnNeeded as error:
        otherwise = "if it is a list, add --input-format txt, or tsv where ids follow a tab"
        raise UsageError(f"{_named(error)}; {otherwise}") from None
    return itertools.chain(read, items)


def _named(error: ColumnNeeded) -> UsageError:
    """The error of a table without --column, with what is to be typed."""
    return UsageError(f"{error}; add --column {shlex.quote(error.suggested or 'NAME')}")


def _is_table(source: str, column: str | None, input_format: str) -> bool:
    """Whether a table is written back: a workbook, or a tsv or csv of which a column is named."""
    if tables.is_workbook(source):
        return True
    if column is None or common.is_job(source, input_format) or Path(source).is_dir():
        return False
    if input_format != "auto":
        return input_format == "tsv"
    return readers.detect(source) in ("txt", "tsv")


def _link_table(options: SimpleNamespace, settings: LinkSettings) -> None:
    """Link the mentions of a column, and write the answers beside them."""
    source, long = options.source, list[int]()
    wanted = tables.COLUMNS if settings.column is None else [settings.column]
    content = watched(source)
    table = tables.read(content, wanted, encoding=options.encoding, on_error=options.on_error)
    if settings.column is None:
        raise _named(tables.column_needed(table, list(itertools.islice(table.rows(), FIRST))))
    _check_table(table, settings.k)
    place = tables.place_of(table, settings.column)
    linker = settings.load()
    decisions = Decided.of_file(settings.decisions, linker)
    link_mentions = settings.link(linker, decisions)
    tally = Tally()

    def counted() -> Iterator[tuple[TableRow, Prediction | None]]:
        with InputBar("rows", table.path, options.output) as bar:
            rows = bar.read(table.rows())
            for row, prediction in linked.predicted(
                rows, place, link_mentions, long, settings.batch_size
            ):
                tally.outcomes[outputs.outcome(prediction)] += 1
                if prediction:
                    tally.see(prediction)
                yield row, prediction
                bar.done()

    layout = dataclasses.replace(settings.layout(False, linker, decisions), beside=True)
    common.write_table(table, options.output, *linked.written(counted(), layout))
    common.say_tally("row", tally, linker, settings.coverage)
    common.say_long(long)


def _check_table(table: Table, k: int) -> None:
    """Check that no option is given that a table cannot follow; k=1 says what it does."""
    flags = {"form": "--format", "mention_type": "--type"}
    if k != 1:
        flags["k"] = "-k"
    flags |= {name: f"--{name}" for name in ("workers", "engine")}
    if table.is_binary:
        flags |= {"encoding": "--encoding", "input_format": "--input-format"}
    if given := [flag for name, flag in flags.items() if o.is_given(name)]:
        raise click.UsageError(
            "a table with --column keeps its format, has a row for each mention, and is linked by "
            f"one process; leave out {', '.join(given)}"
        )

"""Tables that commands write back with more columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common, machines

if TYPE_CHECKING:
    from linker.files.rows import TableRow
    from linker.files.tables import Added, Table
    from linker.jobs.linking import LinkSettings
    from linker.jobs.machines import Machines
    from linker.types import Prediction


def is_table(source: str, column: str | None, input_format: str) -> bool:
    """Whether a table is written back: a workbook, or a tsv or csv of which a column is named."""
    from linker.files import tables
    from linker.readers import mentions as readers

    if tables.is_workbook(source):
        return True
    if column is None or machines.is_job(source, "", input_format) or Path(source).is_dir():
        return False
    if input_format != "auto":
        return input_format == "tsv"
    return readers.detect(source) in ("txt", "tsv")


def link(
    source: str,
    output: str,
    settings: LinkSettings,
    encoding: str | None,
    on_error: str,
    places: Machines,
) -> None:
    """Link the mentions of a column, and write the answers beside them."""
    from linker import outputs
    from linker.decisions.applying import Decided
    from linker.files import tables
    from linker.jobs import linking
    from linker.jobs import tables as linked

    if settings.column is None:
        raise click.UsageError("name the column of the mentions in the workbook with --column")
    table = tables.read(source, [settings.column], encoding=encoding)
    _check_options(table, settings, encoding, places)
    place = tables.place_of(table, settings.column)
    handle = common.handler(on_error)
    linker = settings.load()
    decisions = Decided.of_file(settings.decisions, linker)
    rows = linked.predicted(
        source,
        table.rows(),
        place,
        settings.link(linker, decisions),
        handle,
        settings.batch_size,
    )
    outcomes = Counter[str]()

    def counted() -> Iterator[tuple[TableRow, Prediction | None]]:
        with common.progress("rows", output) as bar:
            for row, prediction in rows:
                outcomes[outputs.outcome(prediction)] += 1
                yield row, prediction
                bar.update()

    has_decisions = decisions is not None
    sources = has_decisions or linking.lends(linker)
    write(table, output, *linked.written(counted(), sources, has_decisions))
    common.say_outcomes("row", outcomes)
    common.say_skipped(handle)


def _check_options(
    table: Table, settings: LinkSettings, encoding: str | None, places: Machines
) -> None:
    """Check that no option is given that a table cannot follow."""
    is_tabbed = getattr(table, "delimiter", "") == "\t"
    keeps_format = settings.form != "tsv" or (_is_given("form") and not is_tabbed)
    for flag, is_refused, reason in (
        ("--format", keeps_format, "keeps its format"),
        ("-k", _is_given("k") and settings.k > 1, "has a row for each mention, and no candidates"),
        ("--type", settings.mention_type is not None, "has mentions without types"),
        ("--workers", (places.workers or 1) > 1, "is linked by one process"),
        ("--engine", places.engine != "local", "is linked by one process"),
        ("--encoding", table.is_binary and encoding is not None, "is a workbook"),
        ("--input-format", table.is_binary and settings.input_format != "auto", "is a workbook"),
    ):
        if is_refused:
            raise click.UsageError(f"a table with --column {reason}; leave out {flag}")


def _is_given(name: str) -> bool:
    """Whether an option stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def write(table: Table, output: str, names: Sequence[str], added: Added) -> None:
    """Write a table with more columns to a file, or to standard output."""
    from linker import files
    from linker.files.tables import free_names

    names = free_names(table.header, names)
    if not table.is_binary:
        if Path(output).suffix.lower() == ".xlsx":
            raise click.UsageError(f"{output}: the table is a text; name a csv or tsv with -o")
        with common.writing(output, [str(table.path)], table.encoding) as file:
            table.write(file, names, added)
        return
    if Path(output).suffix.lower() != ".xlsx":
        raise click.UsageError("the table is a workbook; name an xlsx file to write with -o")
    common.refuse_input(output, [str(table.path)])
    with files.write_binary_aside(output) as raw:
        table.write(raw, names, added)

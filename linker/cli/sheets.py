"""Tables that commands write back with more columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common, machines

if TYPE_CHECKING:
    from linker.cluster.linking import LinkSettings
    from linker.files.tables import Added, Table


def is_table(source: str, column: str | None, input_format: str) -> bool:
    """Whether a table is written back: a workbook, or a tsv or csv of which a column is named."""
    from linker.files import tables
    from linker.readers import mentions as readers

    if tables.is_workbook(source):
        return True
    if column is None or machines.is_job(source, "", input_format) or Path(source).is_dir():
        return False
    kind = readers.detect(source) if input_format == "auto" else input_format
    return kind in ("txt", "tsv")


def link(source: str, output: str, settings: LinkSettings, on_error: str) -> None:
    """Link the mentions of a column, and write the answers beside them."""
    from linker.cluster import linking
    from linker.cluster import tables as linked
    from linker.files import tables

    if settings.form != "tsv":
        raise click.UsageError("a table with --column keeps its format; leave out --format")
    if settings.column is None:
        raise click.UsageError("name the column of the mentions in the workbook with --column")
    handle = common.handler(on_error)
    linker = settings.load()
    table = tables.read(source, [settings.column])
    place = tables.place_of(table, settings.column)
    rows = linked.predicted(
        source, table.rows(), place, lambda mentions: settings.link(linker, mentions), handle
    )
    width = len(linked.COLUMNS) - (not linking.lends(linker))
    added = ((row, linked.cells(prediction)[:width]) for row, prediction in rows)
    write(table, output, linked.COLUMNS[:width], added)
    common.say_skipped(handle)


def write(table: Table, output: str, names: Sequence[str], added: Added) -> None:
    """Write a table with more columns to a file, or to standard output."""
    from linker import files
    from linker.files.tables import free_names

    names = free_names(table.header, names)
    if not table.is_binary:
        if Path(output).suffix.lower() == ".xlsx":
            raise click.UsageError(f"{output}: the table is a text; name a csv or tsv with -o")
        with common.writing(output, [str(table.path)]) as file:
            table.write(file, names, added)
        return
    if Path(output).suffix.lower() != ".xlsx":
        raise click.UsageError("the table is a workbook; name an xlsx file to write with -o")
    common.refuse_input(output, [str(table.path)])
    with files.write_binary_aside(output) as raw:
        table.write(raw, names, added)

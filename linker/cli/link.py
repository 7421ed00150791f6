"""linker link: mentions in, identifiers out."""

from __future__ import annotations

import dataclasses
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, machines, sheets

if TYPE_CHECKING:
    from linker.jobs.linking import LinkSettings, Written
    from linker.jobs.machines import Machines


@click.command()
@click.argument("source", metavar="INPUT")
@common.model_option
@common.answer_options(5, "parquet")
@common.choice("--input-format", "auto", *common.MENTION_FORMATS)
@machines.column_option
@common.type_option("Link only mentions that are annotated with this type, e.g. Disease.")
@click.option(
    "--batch-size",
    default=1024,
    show_default=True,
    type=click.IntRange(1, common.MOST),
    metavar="N",
    hidden=True,
    help="Mentions linked together; 1 answers each line at once.",
)
@common.selection_options
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="Return no concept where the confidence is lower; 0: return one always. "
    "[default: none where that is the most probable]",
)
@click.option(
    "--min-score",
    type=float,
    metavar="X",
    hidden=True,
    help="Leave out candidates with a lower score.",
)
@common.device_options
@common.decisions_option("Decisions that win over the model; see linker decide.")
@common.encoding_option
@common.on_error_option
@machines.options
@common.logs
def link(
    source: str,
    output: str,
    encoding: str | None,
    on_error: str,
    places: Machines,
    **given: Any,
) -> None:
    """Link the mentions of INPUT ("-": standard input, one mention a line unless --input-format
    says otherwise).

    With --column a table (tsv, csv or xlsx) is written back with more columns.

    INPUT may be a folder or a pattern such as "data/*.parquet": each file becomes one in the
    folder that -o names, where those that are there already are not made again.
    """
    from linker.jobs.linking import LinkSettings

    places = machines.checked(places)
    settings = LinkSettings(**given)  # they are called as its fields
    if source == "-" and sys.stdin.isatty():
        settings = dataclasses.replace(settings, batch_size=1)
    if settings.batch_size == 1 and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    kind, form = settings.input_format, settings.form
    if sheets.is_table(source, settings.column, kind):
        sheets.link(source, output, settings, encoding, on_error, places)
    elif places.engine == "ray" or form == "parquet" or machines.is_job(source, output, kind):
        if encoding is not None:
            raise click.UsageError("--encoding is for a file; the files of a job must be UTF-8")
        _link_parts(source, output, settings, on_error, places)
    else:
        _link_file(source, output, settings, encoding, on_error, places)


def _link_parts(
    source: str, output: str, settings: LinkSettings, on_error: str, places: Machines
) -> None:
    """Link each file into one of its own."""
    from linker.decisions.applying import Decided
    from linker.jobs.linking import link_files

    if not places.is_this_process:
        # what is wrong is said before any process is started
        Decided.of_file(settings.decisions, machines.loaded(settings, places))
    machines.run_job(source, output, link_files(settings), on_error, places)


def _link_file(
    source: str,
    output: str,
    settings: LinkSettings,
    encoding: str | None,
    on_error: str,
    places: Machines,
) -> None:
    """Link one file, or standard input."""
    from linker.files import encodings
    from linker.jobs import linking
    from linker.readers import mentions as readers

    handle = common.handler(on_error)
    linker = machines.loaded(settings, places)
    kind = settings.input_format
    content, _ = encodings.as_utf8(source, encoding)
    kind = readers.detect(source if source == "-" else content) if kind == "auto" else kind
    if kind == "txt" and source.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        common.say(
            f"{source}: is read as one mention a line; for a table, name the column with --column"
        )
    items = readers.read(content, kind, on_error=handle, column=settings.column)
    items = linking.selectable(items, linker, source, on_error=handle)
    chunks = linking.chunks(items, settings.batch_size, settings.wanted)
    watch = partial(_watched, source=source, output=output, mention_type=settings.mention_type)
    documents, paths = linking.has_documents(kind), (source, output)
    machines.write_linked(linker, settings, chunks, documents, paths, places, watch)
    common.say_skipped(handle)


def _watched(
    results: Iterable[Written], source: str, output: str, mention_type: str | None
) -> Iterator[Written]:
    """Count mentions on a terminal; with an output that is named, say at the end what they are.

    Raises:
        InputError: no mention is of the type that is wanted.
    """
    from linker.readers.mentions import no_mentions

    outcomes, types = Counter[str](), set[str]()
    with common.progress("mentions", output) as bar:
        for written in results:
            yield written
            bar.update(written.mentions)
            outcomes += written.outcomes
            types |= written.types
    if mention_type and not outcomes:
        raise no_mentions(source, mention_type, types)
    if not outcomes:
        common.say(
            "the documents have no marked mentions, which link wants; linker annotate finds them"
        )
    elif output not in ("-", "/dev/stdout"):
        common.say_outcomes("mention", outcomes)

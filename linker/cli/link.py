"""linker link: mentions in, identifiers out."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from linker.cli import common, machines, sheets

if TYPE_CHECKING:
    from linker.encoders.base import Device, Precision
    from linker.jobs.linking import LinkSettings, Written
    from linker.jobs.machines import Machines
    from linker.types import Selection


@click.command()
@click.argument("source", metavar="INPUT")
@common.model_option
@common.answer_options(5, "parquet")
@click.option(
    "--input-format",
    type=click.Choice(["auto", *common.MENTION_FORMATS]),
    default="auto",
    show_default=True,
)
@machines.column_option
@click.option(
    "--type", "mention_type", metavar="T", help="Link mentions of this type only, e.g. Disease."
)
@click.option(
    "--batch-size",
    default=1024,
    show_default=True,
    type=click.IntRange(1, common.MOST),
    help="Mentions linked together; 1 answers each line at once.",
)
@common.selection_options
@common.threshold_options
@common.device_options
@common.decisions_option("Decisions that win over the model; see linker decide.")
@common.encoding_option
@common.on_error_option
@machines.options
@common.logs
def link(
    source: str,
    model: str,
    k: int,
    output: str,
    form: str,
    input_format: str,
    column: str | None,
    mention_type: str | None,
    batch_size: int,
    threshold: float | None,
    min_score: float | None,
    within: Selection,
    device: Device,
    precision: Precision,
    decisions: str | None,
    encoding: str | None,
    on_error: str,
    places: Machines,
) -> None:
    """Link the mentions of INPUT ("-": standard input, one mention a line unless --input-format
    says otherwise).

    With --column a table (tsv, csv or xlsx) is written back with more columns.

    INPUT may be a folder or a pattern such as "data/*.parquet": each file becomes one in the
    folder that -o names, where those that are there already are not made again.
    """
    from linker.jobs.linking import LinkSettings

    settings = LinkSettings(
        model=model,
        form=form,
        k=k,
        threshold=threshold,
        min_score=min_score,
        within=within,
        mention_type=mention_type,
        batch_size=1 if source == "-" and sys.stdin.isatty() else batch_size,
        input_format=input_format,
        column=column,
        device=device,
        precision=precision,
        decisions=decisions,
    )
    if settings.batch_size == 1 and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    if sheets.is_table(source, column, input_format):
        sheets.link(source, output, settings, encoding, on_error, places)
    elif (
        places.engine == "ray" or form == "parquet" or machines.is_job(source, output, input_format)
    ):
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
    from linker.jobs.linking import LinkParts

    if not places.is_this_process:
        # what is wrong is said before any process is started
        Decided.of_file(settings.decisions, machines.loaded(settings, places))
    machines.run_job(source, output, LinkParts.of(settings), on_error, places)


def _link_file(
    source: str,
    output: str,
    settings: LinkSettings,
    encoding: str | None,
    on_error: str,
    places: Machines,
) -> None:
    """Link one file, or standard input."""
    from linker import outputs
    from linker.decisions.applying import Decided
    from linker.files import encodings
    from linker.jobs import linking
    from linker.readers import mentions as readers

    handle = common.handler(on_error)
    linker = machines.loaded(settings, places)
    kind = settings.input_format
    content, _ = encodings.as_utf8(source, encoding)
    kind = readers.detect(source if source == "-" else content) if kind == "auto" else kind
    items = readers.read(content, kind, on_error=handle, column=settings.column)
    items = linking.selectable(items, linker, source, on_error=handle)
    documents = linking.has_documents(kind)
    chunks = linking.chunks(items, settings.batch_size, settings.wanted)
    loaded = linker if places.is_this_process else None  # other processes load their own
    if not places.is_this_process:
        Decided.of_file(settings.decisions, linker)  # what is wrong with them is said here
    make = partial(settings.of_chunks, documents, loaded)
    with common.writing(output, [source]) as file, places.run(make, chunks) as results:
        written = _checked(results, source, settings.mention_type)
        texts = ((chunk.header, chunk.text) for chunk in _progress(written, output))
        file.writelines(outputs.joined(settings.form, texts))
    common.say_skipped(handle)


def _checked(
    results: Iterable[Written], source: str, mention_type: str | None
) -> Iterator[Written]:
    """Pass chunks on, and raise an error at the end if none has a mention of the type."""
    from linker.readers.mentions import no_mentions

    count, types = 0, set[str]()
    for written in results:
        count += written.mentions
        types |= written.types
        yield written
    if mention_type and not count:
        raise no_mentions(source, mention_type, types)


def _progress(results: Iterable[Written], output: str) -> Iterator[Written]:
    """Count mentions on a terminal; with an output that is named, say at the end what they are."""
    outcomes = Counter[str]()
    with common.progress("mentions", output) as bar:
        for written in results:
            yield written
            bar.update(written.mentions)
            outcomes += written.outcomes
    if outcomes and output not in ("-", "/dev/stdout"):
        common.say_outcomes("mention", outcomes)
    if not outcomes:
        common.say(
            "the documents have no marked mentions, which link wants; linker annotate finds them"
        )

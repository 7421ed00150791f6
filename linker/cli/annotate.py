"""linker annotate: documents in, their mentions and identifiers out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from linker.cli import common, machines

if TYPE_CHECKING:
    from linker.encoders.base import Device, Precision
    from linker.errors import OnError
    from linker.jobs.linking import LinkSettings, Written
    from linker.jobs.machines import Machines
    from linker.text.find import Overlaps
    from linker.types import Document, Selection

_DOCUMENTS = 100  # that are annotated together; abstracts have some ten mentions each


@click.command()
@click.argument("source", metavar="INPUT")
@common.model_option
@common.answer_options(1)
@click.option(
    "--input-format",
    type=click.Choice(["auto", "text", "pubtator", "bioc"]),
    default="auto",
    show_default=True,
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Leave out mentions found with a lower confidence. [default: chosen in training]",
)
@click.option(
    "--overlaps",
    type=click.Choice(["longest", "all"]),
    default="longest",
    show_default=True,
    help="Which of the names found to keep where they overlap.",
)
@click.option(
    "--mentions-by",
    metavar="SPEC",
    help="Find mentions by spacy:MODEL or gliner:MODEL instead of the dictionary's names.",
)
@common.list_option("--labels", "With --mentions-by: entities with these labels only.")
@click.option(
    "--type",
    "mention_type",
    metavar="T",
    help="Type of the mentions found. [default: the one type of the mentions trained on]",
)
@common.selection_options
@common.device_options
@common.decisions_option("Decisions that win over the model; see linker decide.")
@common.encoding_option
@common.on_error_option
@machines.workers_option
@common.logs
def annotate(
    source: str,
    model: str,
    k: int,
    output: str,
    form: str,
    input_format: str,
    threshold: float | None,
    overlaps: Overlaps,
    mentions_by: str | None,
    labels: tuple[str, ...],
    mention_type: str | None,
    within: Selection,
    device: Device,
    precision: Precision,
    decisions: str | None,
    encoding: str | None,
    on_error: str,
    places: Machines,
) -> None:
    """Find and link the mentions in documents.

    INPUT is a text, a folder of texts (.txt, a document each), PubTator or BioC, or "-" for a text
    on standard input. Mentions that are marked stay; names are found where nothing is marked.
    """
    from linker.jobs.linking import Finding, LinkSettings

    if labels and not mentions_by:
        raise click.UsageError("--labels is for --mentions-by; leave it out, or give that, too")
    handle = common.handler(on_error)
    settings = LinkSettings(
        model=model,
        form=form,
        k=k,
        threshold=threshold,
        mention_type=mention_type,
        within=within,
        device=device,
        precision=precision,
        decisions=decisions,
        finding=Finding(overlaps, mentions_by, labels),
    )
    documents = _documents(source, input_format, encoding, handle)
    _annotate(source, documents, output, settings, handle, places)


def _annotate(
    source: str,
    documents: Iterable[Document],
    output: str,
    settings: LinkSettings,
    handle: OnError,
    places: Machines,
) -> None:
    """Annotate the documents of an input."""
    from linker import outputs
    from linker.decisions.applying import Decided
    from linker.jobs import linking

    linker = machines.loaded(settings, places)
    make = partial(settings.of_chunks, True, linker if places.is_this_process else None)
    if not places.is_this_process:
        Decided.of_file(settings.decisions, linker)  # what is wrong with them is said here
    if settings.finding and not settings.finding.mentions_by and linker.spans is None:
        common.say(
            "the model has learnt from no annotated documents which names are mentions; "
            "rules choose, and the confidence is that of the concept alone"
        )
    documents = linking.selectable(documents, linker, source, on_error=handle)
    chunks = linking.chunks(documents, _DOCUMENTS, lambda _: False)
    with common.writing(output, [source]) as file, places.run(make, chunks) as results:
        texts = ((chunk.header, chunk.text) for chunk in _progress(results, output))
        file.writelines(outputs.joined(settings.form, texts))
    common.say_skipped(handle)


def _documents(
    source: str, input_format: str, encoding: str | None, handle: OnError
) -> Iterator[Document]:
    """Read the documents: PubTator and BioC are recognised, all else is text."""
    from linker import files
    from linker.files import encodings
    from linker.readers import bioc, mentions, pubtator, text

    if files.is_folder(source):
        yield from text.read(source, on_error=handle, encoding=encoding)
        return
    content, _ = encodings.as_utf8(source, encoding)
    readers = {"pubtator": pubtator.read, "bioc": bioc.read}
    kind = mentions.detect(source if source == "-" else content)
    read = readers.get(kind if input_format == "auto" else input_format, text.read)
    yield from read(content, on_error=handle)


def _progress(results: Iterable[Written], output: str) -> Iterator[Written]:
    """Count documents on a terminal."""
    count = 0
    with common.progress("documents", output) as bar:
        for written in results:
            yield written
            bar.update(written.items)
            count += written.mentions
    if not count:
        common.say("no mentions were found")

"""linker annotate: documents in, their mentions and identifiers out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, machines
from linker.jobs.machines import Machines

if TYPE_CHECKING:
    from linker.errors import OnError
    from linker.jobs.linking import Written
    from linker.text.find import Overlaps
    from linker.types import Document

_DOCUMENTS = 100  # that are annotated together; abstracts have some ten mentions each


@click.command()
@click.argument("source", metavar="INPUT")
@common.model_option
@common.answer_options(1)
@common.choice("--input-format", "auto", "text", "pubtator", "bioc")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Leave out mentions found with a lower confidence. [default: chosen in training]",
)
@common.choice(
    "--overlaps",
    *("longest", "all"),
    hidden=True,
    help="Which of the names found to keep where they overlap.",
)
@click.option(
    "--mentions-by",
    metavar="SPEC",
    help="Find mentions by spacy:MODEL or gliner:MODEL instead of the dictionary's names.",
)
@common.list_option("--labels", "With --mentions-by: entities with these labels only.")
@common.type_option(
    "Call the mentions found this type. [default: the one type of the mentions trained on]"
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
    output: str,
    input_format: str,
    overlaps: Overlaps,
    mentions_by: str | None,
    labels: tuple[str, ...],
    encoding: str | None,
    on_error: str,
    workers: int | None,
    **given: Any,
) -> None:
    """Find and link the mentions in documents.

    INPUT is a text, a folder of texts (.txt, a document each), PubTator or BioC, or "-" for a text
    on standard input. Mentions that are marked stay; names are found where nothing is marked.
    """
    from linker.jobs import linking

    places = machines.checked(Machines(workers))
    if labels and not mentions_by:
        raise click.UsageError("--labels is for --mentions-by; leave it out, or give that, too")
    handle = common.handler(on_error)
    finding = linking.Finding(overlaps, mentions_by, labels)
    settings = linking.LinkSettings(finding=finding, **given)  # they are called as its fields
    documents = _documents(source, input_format, encoding, handle)
    linker = machines.loaded(settings, places)
    if not mentions_by and linker.spans is None:
        common.say(
            "the model has learnt from no annotated documents which names are mentions; "
            "rules choose, and the confidence is that of the concept alone"
        )
    documents = linking.selectable(documents, linker, source, on_error=handle)
    chunks = linking.chunks(documents, _DOCUMENTS, lambda _: False)
    watch, paths = partial(_watched, output=output), (source, output)
    machines.write_linked(linker, settings, chunks, True, paths, places, watch)
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


def _watched(results: Iterable[Written], output: str) -> Iterator[Written]:
    """Count documents on a terminal."""
    count, has_marked = 0, False
    with common.progress("documents", output) as bar:
        for written in results:
            yield written
            bar.update(written.items)
            count += written.mentions
            has_marked = has_marked or bool(written.types)
    if not count and has_marked:
        common.say("no mentions were found beside those that are marked with their ids, which stay")
    elif not count:
        common.say("no mentions were found")

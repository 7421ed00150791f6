"""linker annotate: documents in, their mentions and identifiers out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from types import SimpleNamespace

import click

from linker.cli import common
from linker.cli import options as o
from linker.cli.progress import InputBar
from linker.errors import InputError, shorten
from linker.io import (
    bioc,
    files,
    formats,
    jsonl,
    mentions,
    pubtator,
)
from linker.io.files import Pathlike, as_utf8
from linker.jobs import linking
from linker.records import Document, Selection

_DOCUMENTS = 100  # that are annotated together; abstracts have some ten mentions each


@o.command(
    source=o.argument("INPUT"),
    model=o.MODEL,
    k=o.number(1, o.ANSWERS, flags="-k"),
    output=o.OUTPUT,
    form=o.choice((*formats.PREDICTIONS,), flags="--format"),
    read_as=o.choice(("auto", "text", "pubtator", "bioc", "jsonl"), flags="--input-format"),
    threshold=o.probability("Leave out mentions with a lower confidence. [default: learnt]"),
    mentions_by=o.option("Find mentions by spacy:MODEL or gliner:MODEL, not by names.", "SPEC"),
    labels=o.commas("With --mentions-by: entities with these labels only."),
    mention_type=o.kind("Call the mentions found this type. [default: that of the training]"),
    **o.WITHIN,
    also=o.ALSO,
    coverage=o.COVERAGE,
    exact_only=o.EXACT_ONLY,
    device=o.DEVICE,
    decisions=o.DECISIONS,
    encoding=o.ENCODING,
    on_error=o.ON_ERROR,
    workers=o.WORKERS,
)
def annotate(options: SimpleNamespace) -> None:
    """Find and link the mentions in documents.

    INPUT is a text, a folder of texts (.txt, a document each), PubTator or BioC, or "-" for a text
    on standard input. Mentions that are marked stay; names are found where nothing is marked.
    """
    o.print_for_people(options)
    places = common.chosen(options)
    if options.labels and not options.mentions_by:
        raise click.UsageError("--labels is for --mentions-by; leave it out, or give that, too")
    settings = o.picked(
        linking.LinkSettings,
        options,
        within=o.picked(Selection, options),
        finding=o.picked(linking.Finding, options),
    )
    linker = common.loaded(settings, places)
    if not options.mentions_by and linker.spans is None:
        common.say(
            "the model has learnt from no annotated documents which names are mentions; "
            "rules choose, and the confidence is that of the concept alone"
        )
    source = options.source
    output = options.output
    total = None
    content = source
    if files.is_folder(source):
        total = len(mentions.paths_of(source))
    else:
        content = files.watched(as_utf8(source, options.encoding)[0])
    documents = linking.selectable(
        _documents(options, content), linker, source, on_error=options.on_error
    )
    paths = source, output
    with InputBar("documents", content, output, total) as bar:
        batches = bar.read(_batches(documents))
        tally = common.write_linked(linker, settings, batches, paths, places, bar.done)
    if not tally.outcomes:
        common.say("no mentions were found")


def _documents(options: SimpleNamespace, content: Pathlike) -> Iterator[Document]:
    """Read the documents: PubTator, BioC and JSON lines are recognised, all else is text.

    Args:
        options: of the command.
        content: of the input in UTF-8, or its folder.
    """
    source, on_error = options.source, options.on_error
    if files.is_folder(content):
        yield from mentions.read_texts(source, on_error=on_error, encoding=options.encoding)
        return
    kind = mentions.detect(source if source == "-" else content)
    kind = kind if options.read_as == "auto" else options.read_as
    read = {"pubtator": pubtator.read, "bioc": bioc.read, "jsonl": jsonl.read}.get(
        kind, mentions.read_texts
    )
    for item in read(content, on_error=on_error):
        if not isinstance(item, Document):
            what = f"holds mentions, such as {shorten(item.text)!r}, and no texts"
            raise InputError(source, what, remedy="link them with linker link")
        yield item


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents that are annotated together; an empty batch where there are none at all."""
    documents = iter(documents)
    yield list(itertools.islice(documents, _DOCUMENTS))
    while batch := list(itertools.islice(documents, _DOCUMENTS)):
        yield batch

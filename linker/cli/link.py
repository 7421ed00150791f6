"""linker link: mentions in, identifiers out."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from linker.cli import common

if TYPE_CHECKING:
    from linker.linker import Linked
    from linker.types import Selection


@click.command()
@click.argument("source", metavar="INPUT")
@common.model_option
@common.answer_options(5)
@click.option(
    "--input-format",
    type=click.Choice(["auto", *common.MENTION_FORMATS]),
    default="auto",
    show_default=True,
)
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
@common.on_error_option
@common.logs
def link(
    source: str,
    model: str,
    k: int,
    output: str,
    form: str,
    input_format: str,
    mention_type: str | None,
    batch_size: int,
    threshold: float | None,
    min_score: float | None,
    within: Selection,
    on_error: str,
) -> None:
    """Link the mentions of INPUT ("-": standard input, one mention a line unless --input-format
    says otherwise).
    """
    from linker import outputs
    from linker.linker import Linker
    from linker.readers import mentions as readers

    handle = common.handler(on_error)
    linker = Linker.load(model).restricted(within)
    kind = readers.detect(source) if input_format == "auto" else input_format
    items = readers.read(source, kind, on_error=handle)
    items = common.selectable(items, linker, source, on_error=handle)
    # documents keep their other mentions
    wanted = readers.of_type(mention_type) if mention_type else None
    shown = output == "-" and sys.stdout.isatty()
    if source == "-" and sys.stdin.isatty():
        batch_size = 1
    if batch_size == 1 and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    linked = linker.link_items(
        items,
        k=k,
        threshold=threshold,
        min_score=min_score,
        batch_size=batch_size,
        wanted=wanted,
    )
    if mention_type:
        linked = _checked(linked, source, mention_type)
    linked = _progress(linked, hidden=shown or common.is_quiet())
    with common.writing(output, [source]) as file:
        documents, sources = kind not in ("txt", "tsv"), len(linker.dictionary.lent_rows) > 0
        outputs.writer(form)(linked, file, documents=documents, sources=sources)
    common.say_skipped(handle)


def _checked(items: Iterable[Linked], source: str, mention_type: str) -> Iterator[Linked]:
    """Pass items on, and raise an error at the end if none has a mention of the type."""
    from linker.readers.mentions import no_mentions

    count, types = 0, set()
    for document, predictions in items:
        count += len(predictions)
        types |= {mention.type for mention in document.mentions} if document else set()
        yield document, predictions
    if not count:
        raise no_mentions(source, mention_type, types)


def _progress(items: Iterable[Linked], *, hidden: bool) -> Iterator[Linked]:
    """Count mentions on a terminal; `hidden`: not, since the output itself is shown there."""
    from tqdm import tqdm

    count = 0
    with tqdm(unit=" mentions", disable=True if hidden else None, file=sys.stderr) as bar:
        for document, predictions in items:
            yield document, predictions
            bar.update(len(predictions))
            count += len(predictions)
    if not count:
        common.say(
            "the documents have no marked mentions, which link wants; linker annotate finds them"
        )

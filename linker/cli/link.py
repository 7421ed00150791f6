"""linker link: mentions in, identifiers out."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from linker.cli import common

if TYPE_CHECKING:
    from linker.linker import Linked


@click.command()
@click.argument("source", metavar="INPUT")
@common.model_option
@click.option("-k", default=5, show_default=True, type=click.IntRange(min=1), help="Concepts to return for each part of a mention.")
@click.option("-o", "--output", metavar="PATH", default="-", help="Where to write; .gz compresses. [default: standard output]")
@click.option("--format", "form", type=click.Choice(["tsv", "jsonl", "pubtator", "bioc"]), default="tsv", show_default=True)
@click.option("--input-format", type=click.Choice(["auto", *common.MENTION_FORMATS]), default="auto", show_default=True)
@click.option("--type", "mention_type", metavar="T", help="Link mentions of this type only, e.g. Disease.")
@click.option("--threshold", type=float, metavar="X", help="Leave out candidates with a lower score.")
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
    threshold: float | None,
    on_error: str,
) -> None:
    """Link the mentions of INPUT ("-": standard input, one mention a line unless --input-format says otherwise)."""
    from linker import files, outputs
    from linker.linker import Linker
    from linker.readers import mentions as readers

    handle = common.handler(on_error)
    linker = Linker.load(model)
    writer = importlib.import_module(outputs.FORMATS[form])
    items = readers.read(source, None if input_format == "auto" else input_format, type=mention_type, on_error=handle)
    shown = output == "-" and sys.stdout.isatty()
    linked = _progress(linker.link_items(items, k=k, threshold=threshold), hidden=shown or common.is_quiet())
    with files.write_aside(output) if output != "-" else common.stdout() as file:
        writer.write(linked, file)
    common.say_skipped(handle)


def _progress(items: Iterable[Linked], *, hidden: bool) -> Iterator[Linked]:
    """Count mentions on a terminal, unless the output itself is shown there."""
    from tqdm import tqdm

    with tqdm(unit=" mentions", disable=True if hidden else None, file=sys.stderr) as bar:
        for document, predictions in items:
            yield document, predictions
            bar.update(len(predictions))

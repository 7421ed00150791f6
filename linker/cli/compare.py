"""linker compare: whether the difference of two evaluations holds, and which mentions changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.evaluation.compare import Evaluated
    from linker.types import Document, Mention

_KS = (1, 5, 10, 20)  # of models, which are evaluated here


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--mentions",
    metavar="FILE",
    help="Annotated mentions on which models are evaluated, by the protocol strict.",
)
@common.mentions_format_option
@click.option(
    "--type", "mention_type", metavar="T", help="Evaluate mentions of this type only, e.g. Disease."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the comparison is printed.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Where to write a table of the mentions that changed."
)
@common.logs
def compare(
    a: str,
    b: str,
    mentions: str | None,
    mentions_format: str | None,
    mention_type: str | None,
    form: str,
    output: str | None,
) -> None:
    """Compare two evaluations, A and B, of the same mentions.

    Each is a folder that `linker evaluate -o` wrote, or a model folder, which is evaluated on
    --mentions. The difference is B - A; its interval is a paired bootstrap over the mentions.
    """
    from linker.evaluation import compare as comparing
    from linker.evaluation import run
    from linker.readers import mentions as readers

    read = partial(readers.read, mentions, mentions_format, type=mention_type) if mentions else None
    record, changed = comparing.compare(_side(a, read), _side(b, read))
    if output:
        with common.writing(output, [mentions] if mentions else []) as file:
            comparing.write_changed(changed, file)
    show = run.dumps if form == "json" else comparing.table
    with common.stdout() as file:
        file.write(show(record) + "\n")


def _side(path: str, read: Callable[..., Iterator[Document | Mention]] | None) -> Evaluated:
    """Read an evaluation, or evaluate a model on the mentions that `read` reads."""
    from linker.evaluation import compare as comparing
    from linker.linking.linker import Linker

    if comparing.is_evaluation(Path(path)):
        return comparing.read(Path(path))
    if read is None:
        raise LinkerError(
            f"{path}: is no folder that linker evaluate -o wrote (it has no outcomes.tsv and "
            "metrics.json); to compare models, give --mentions"
        )
    linker = Linker.load(path)
    items = list(read(identify=linker.dictionary.identify))
    return comparing.evaluate(path, linker, items, _KS)

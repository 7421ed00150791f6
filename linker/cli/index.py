"""linker index: a new release of the dictionary, corrections, or another index, into a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from linker.cli import common, settings
from linker.cli.reading import Reading, dicts_option, read_annotated, reading_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linker.candidates.index import IndexOptions
    from linker.linking.linker import Linker
    from linker.options import LinkerOptions
    from linker.types import Document, Mention


@click.command()
@common.model_option
@dicts_option()
@reading_options
@click.option(
    "--mentions",
    multiple=True,
    metavar="PATH",
    help="Annotated mentions, such as corrections, which become names; may be given again.",
)
@common.mentions_format_option
@common.type_option("Keep mentions that are annotated with this type, e.g. Disease.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="index.FIELD=VALUE",
    help="How vectors are searched: index.kind=auto, exact or ivf; lists, probes, recall.",
)
@click.option(
    "--int8",
    "int8_dev",
    metavar="PATH",
    help="Prepare a BERT for --precision int8; refused where it loses more than 0.3 points on "
    "these annotated mentions.",
)
@common.on_error_option
@click.option(
    "-o", "--output", metavar="DIR", help="Model folder to write. [default: the one of --model]"
)
@common.logs
def index(
    model: str,
    dicts: tuple[str, ...],
    reading: Reading,
    mentions: tuple[str, ...],
    mentions_format: str | None,
    mention_type: str | None,
    changes: tuple[str, ...],
    int8_dev: str | None,
    on_error: str,
    output: str | None,
) -> None:
    """Take a new release of the dictionary, or corrections, into a model, without training.

    Names that the model has are not encoded again. Without --dict and --mentions the vectors are
    indexed as --set says.
    """
    from linker import persistence
    from linker.linking.linker import Linker

    if not dicts and reading != Reading():
        raise click.UsageError("options of reading are for a dictionary; give --dict, too")
    if not (dicts or mentions or changes or int8_dev):
        text = "nothing to do; give --dict, --mentions, --int8 or --set index.kind=ivf"
        raise click.UsageError(text)
    output = output or model
    persistence.check_replaceable(output)  # before the work, not after it
    handle = common.handler(on_error)
    linker = Linker.load(model)
    options = _index_options(linker.options, changes)
    dictionary = reading.read_and_say(dicts, handle) if dicts else None
    known = dictionary or linker.dictionary

    def annotated(path: str) -> list[Document | Mention]:
        return read_annotated(path, mentions_format, mention_type, handle, known)

    items = [item for path in mentions for item in annotated(path)]
    linker, what_changed = linker.renewed(dictionary, items, index=options)
    if int8_dev:
        _prepare_int8(linker, annotated(int8_dev))
    linker.save(output)
    common.say_skipped(handle)
    if dicts or mentions:
        common.say(what_changed.summary())
    common.say_model(linker, output)


def _prepare_int8(linker: Linker, dev: Sequence[Mention | Document]) -> None:
    """Let the encoder compute in eight bits, and say what that changes."""
    from linker.evaluation.quantization import quantize

    measured = quantize(linker, dev)
    common.say(
        f"int8: strict Acc@1 {measured['int8']:.4f} on {measured['n']:,} annotated mentions, "
        f"in fp32 {measured['fp32']:.4f}"
    )


def _index_options(options: LinkerOptions, changes: tuple[str, ...]) -> IndexOptions:
    """The options of the index, with what --set changes."""
    given = [settings.setting(change) for change in changes]
    for text, option, _ in given:
        if not option.startswith("index."):
            raise click.UsageError(
                f"{text}: a trained model keeps its options; only those of index can be set here"
            )
    return settings.applied(options, given, "").index

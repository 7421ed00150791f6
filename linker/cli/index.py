"""linker index: a new release of the dictionary, corrections, or another index, into a model.
linker verify: every file of a model against its checksum."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from linker.cli import common, reading, settings
from linker.cli import options as o

if TYPE_CHECKING:
    from linker.candidates.index import IndexOptions
    from linker.options import LinkerOptions


@o.command(
    model=o.MODEL,
    dicts=reading.DICTS,
    **reading.READING,
    mentions=o.several(
        "Annotated mentions, such as corrections, which become names; may be given again."
    ),
    mentions_format=o.MENTIONS_FORMAT,
    mention_type=o.ANNOTATED_TYPE,
    changes=o.several(
        "How vectors are searched: index.kind=auto, exact or ivf; index.recall.",
        metavar="index.FIELD=VALUE",
        flags="--set",
    ),
    on_error=o.ON_ERROR,
    output=o.option(
        "Model folder to write. [default: the one of --model]", "DIR", flags="-o --output"
    ),
)
def index(options: SimpleNamespace) -> None:
    """Take a new release of the dictionary, or corrections, into a model, without training.

    Names that the model has are not encoded again. Without --dict and --mentions the vectors are
    indexed as --set says.
    """
    from linker import persistence
    from linker.linking.linker import Linker
    from linker.training.release import update

    dicts, mentions = options.dicts, options.mentions
    if not dicts and reading.given(options):
        raise click.UsageError("options of reading are for a dictionary; give --dict, too")
    if not (dicts or mentions or options.changes):
        raise click.UsageError("nothing to do; give --dict, --mentions or --set index.kind=ivf")
    if common.name_on_hub() and not options.output:
        raise click.UsageError("the model is of the hub; name a folder to write with -o")
    output = options.output or options.model
    persistence.check_replaceable(output)  # before the work, not after it
    linker = Linker.load(options.model)
    index = _index_options(linker.options, options.changes)
    dictionary = reading.read_and_say(dicts, options) if dicts else None
    known = dictionary or linker.dictionary
    linker, what_changed = update(
        linker, dictionary, reading.annotated(mentions, options, known), index=index
    )
    linker.save(output)
    if dicts or mentions:
        common.say(what_changed.summary())
    common.say_model(linker, output)


def _index_options(options: LinkerOptions, changes: tuple[str, ...]) -> IndexOptions:
    """The options of the index, with what --set changes."""
    given = [settings.setting(change) for change in changes]
    for text, option, _ in given:
        if not option.startswith("index."):
            raise click.UsageError(
                f"{text}: a trained model keeps its options; only those of index can be set here"
            )
    return settings.applied(options, given, "").index


@o.command(
    model=o.MODEL,
)
def verify(options: SimpleNamespace) -> None:
    """Check every file of a model folder against its manifest.

    Loading checks a large file when it first sees it, and again when it has changed; this reads
    all of them.
    """
    from linker import persistence

    files, size = persistence.verify(options.model, "model")
    what = f"{files:,} files, {size:,} bytes, all as {persistence.MANIFEST} says"
    common.show(f"{options.model}: {what}")

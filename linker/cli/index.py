"""linker index: a new release of the dictionary, corrections, or another index, into a model."""

from __future__ import annotations

from types import SimpleNamespace

import click

from linker.cli import common
from linker.cli import options as o
from linker.io import persistence
from linker.linking.linker import Linker
from linker.training.release import update


@o.command(
    model=o.MODEL,
    dicts=o.DICTS,
    **o.READING,
    mentions=o.several("Annotated mentions, such as corrections, which become names; repeatable."),
    mention_type=o.ANNOTATED_TYPE,
    changes=o.changes("How vectors are searched: index.kind=auto, exact or ivf."),
    on_error=o.ON_ERROR,
    output=o.folder("Model folder to write. [default: that of --model]"),
)
def index(options: SimpleNamespace) -> None:
    """Take a new release of the dictionary into a model.

    Corrections are taken, too, and nothing is trained. Names that the model has are not encoded
    again. Without --dict and --mentions the vectors are indexed as --set says. A ranker whose
    weights came with an earlier release gets those of this one.
    """
    dicts, mentions = options.dicts, options.mentions
    if not dicts and o.reading_options(options):
        raise click.UsageError("options of reading are for a dictionary; give --dict, too")
    if common.name_on_hub() and not options.output:
        raise click.UsageError("the model is of the hub; name a folder to write with -o")
    output = options.output or options.model
    persistence.check_replaceable(output)  # before the work, not after it
    changes = o.of_group(options.changes, "index")
    linker = Linker.load(options.model, renew=True)
    is_shipped = linker.ranker is not None and bool(linker.ranker.provenance.get("shipped"))
    if not (dicts or mentions or options.changes or is_shipped):
        raise click.UsageError("nothing to do; give --dict, --mentions or --set index.kind=ivf")
    index = o.applied(linker.options, changes, "").index
    dictionary = o.read_and_say(dicts, options) if dicts else None
    known = dictionary or linker.dictionary
    linker, what_changed = update(
        linker, dictionary, o.annotated(mentions, options, known), index=index
    )
    linker.save(output)
    if dicts or mentions:
        common.say(what_changed.summary())
    common.say_model(linker, output)

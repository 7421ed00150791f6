"""linker compare: whether the difference of two evaluations holds, and which mentions changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from linker.cli import common
from linker.cli import options as o
from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.evaluation.compare import Evaluated

_KS = (1, 5, 10, 20)  # of models, which are evaluated here


@o.command(
    a=o.argument("A"),
    b=o.argument("B"),
    mentions=o.option(
        "Annotated mentions on which models are evaluated, by the protocol strict.", "FILE"
    ),
    mentions_format=o.MENTIONS_FORMAT,
    mention_type=o.EVALUATED_TYPE,
    form=o.choice(("text", "json"), "How the comparison is printed.", flags="--format"),
    output=o.option(
        "Where to write a table of the mentions that changed.", "FILE", flags="-o --output"
    ),
)
def compare(options: SimpleNamespace) -> None:
    """Compare two evaluations, A and B, of the same mentions.

    Each is a folder that `linker evaluate -o` wrote, or a model folder, which is evaluated on
    --mentions. The difference is B - A; its interval is a paired bootstrap over the mentions.
    """
    from linker.evaluation import compare as comparing
    from linker.evaluation import run

    record, changed = comparing.compare(_side(options.a, options), _side(options.b, options))
    if options.output:
        inputs = [options.mentions] if options.mentions else []
        with common.writing(options.output, inputs) as file:
            comparing.write_changed(changed, file)
    common.show(run.dumps(record) if options.form == "json" else comparing.table(record))


def _side(path: str, options: SimpleNamespace) -> Evaluated:
    """Read an evaluation, or evaluate a model on the mentions."""
    from linker.evaluation import compare as comparing
    from linker.linking.linker import Linker
    from linker.readers import mentions

    if comparing.is_evaluation(Path(path)):
        return comparing.read(Path(path))
    if options.mentions is None:
        raise LinkerError(
            f"{path}: is no folder that linker evaluate -o wrote (it has no outcomes.tsv and "
            "metrics.json); to compare models, give --mentions"
        )
    linker = Linker.load(path)
    items = mentions.read(
        options.mentions,
        options.mentions_format,
        type=options.mention_type,
        identify=linker.dictionary.identify,
    )
    return comparing.evaluate(path, linker, list(items), _KS)

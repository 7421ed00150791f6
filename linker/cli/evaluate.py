"""linker evaluate: Acc@k of a model, or of somebody's predictions, on annotated mentions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common
from linker.cli import options as o
from linker.errors import LinkerError, shown
from linker.types import SELECTION, Selection

if TYPE_CHECKING:
    from linker.linking.linker import Linker
    from linker.types import Document, Mention


def _ks(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        ks = sorted({int(item) for item in o.listed(context, parameter, value)})
    except ValueError:
        ks = []
    if not ks or not 1 <= ks[0] <= ks[-1] <= o.MOST:
        raise click.BadParameter(
            f"{value!r}; expected whole numbers from 1 to {o.MOST}, e.g. 1,5,10,20"
        )
    return tuple(ks)


@o.command(
    mentions=o.argument("MENTIONS"),
    model=o.MODEL,
    mentions_format=o.MENTIONS_FORMAT,
    protocol=o.choice(("strict", "biosyn", "document"), "How to evaluate."),
    mention_type=o.EVALUATED_TYPE,
    ks=o.option(
        "The k of Acc@k.",
        "K,...",
        default="1,5,10,20",
        show_default=True,
        callback=_ks,
        flags="-k --k",
    ),
    **o.WITHIN,
    threshold=o.option("As in link; protocol strict only.", "P", type=o.PROBABILITY),
    predictions=o.option(
        "Evaluate these predictions (our JSONL, BioSyn's JSON) instead of a model's.", "PATH"
    ),
    device=o.DEVICE,
    precision=o.PRECISION,
    decisions=o.option(
        "Decisions that win over the model, as in link; protocol strict only.", "FILE"
    ),
    output=o.option(
        "Folder for metrics.json, outcomes.tsv and report.html.", "DIR", flags="-o --output"
    ),
    on_error=o.ON_ERROR,
)
def evaluate(options: SimpleNamespace) -> None:
    """Evaluate a model on annotated MENTIONS.

    strict: the model as deployed; k counts concepts, composites need all their ids, and a mention
    without a concept is right only when nothing is returned. biosyn: as in papers; k counts names,
    any shared id is right, composites are split by their gold ids. document: mentions are found in
    the texts as by linker annotate; F1 of spans, of spans with concepts, and of the concepts of
    documents. MRR looks at the first 20 candidates, or at as many as the largest k. With
    --predictions a model is only consulted (for old ids, seen mentions, kinds of error) when
    --model is named.
    """
    from linker import files
    from linker.jobs import linking
    from linker.linking.linker import Linker
    from linker.readers import mentions as readers

    _check(options)
    path, predictions, on_error = options.mentions, options.predictions, options.on_error
    if options.output:  # before the work, not after it
        with files.writing(options.output):
            Path(options.output).mkdir(parents=True, exist_ok=True)
    linker = None
    if o.is_given("model") or not predictions:
        linker = Linker.load(options.model)
        options.precision = linker.use(options.precision, options.device)  # never auto: it is saved
        linker = linker.restricted(o.picked(Selection, options))
    read = readers.read(
        path,
        options.mentions_format,
        type=options.mention_type,
        on_error=on_error,
        identify=linker.dictionary.identify if linker else None,
    )
    items = list(read)
    if linker and not predictions:
        items = list(linking.selectable(items, linker, path, on_error=on_error))
    if linker and options.protocol == "document":
        _evaluate_documents(options, items, linker)
    else:
        _evaluate_mentions(options, items, linker)


def _check(options: SimpleNamespace) -> None:
    """Refuse options that the protocol, or predictions of others, make nothing of."""
    predictions, protocol = options.predictions, options.protocol
    if options.decisions and (protocol != "strict" or predictions):
        raise click.UsageError("--decisions is for a model under --protocol strict; leave it out")
    if protocol == "document":
        if predictions:
            raise click.UsageError("--protocol document is for a model, not for --predictions")
        return
    if options.threshold is not None and (protocol != "strict" or predictions):
        raise click.UsageError("--threshold is for a model under --protocol strict; leave it out")
    names = [name for name in SELECTION if getattr(options, name)]
    names += ["device"] * (options.device != "auto") + ["precision"] * (options.precision != "fp32")
    if predictions and names:
        flag = f"--{names[0].replace('_', '-')}"
        raise click.UsageError(f"{flag} is for a model, not for --predictions; leave it out")


def _evaluate_documents(
    options: SimpleNamespace, items: Sequence[Mention | Document], linker: Linker
) -> None:
    """Find and link the mentions of documents, print the figures, and write them where asked."""
    from linker.evaluation import documents, run

    figures, rows = documents.evaluate(linker, items, options.threshold)
    record = {"protocol": "document"} | figures | _about(options, linker)
    common.show(documents.table(record))
    if options.output:
        folder = Path(options.output)
        run.write_tables(folder, record, "documents.tsv", rows)
        common.say(f"wrote {folder}/metrics.json and {folder}/documents.tsv")


def _evaluate_mentions(
    options: SimpleNamespace, items: Sequence[Mention | Document], linker: Linker | None
) -> None:
    """Judge answers, print the figures and what they do not tell, and write them where asked."""
    from linker.decisions.applying import Decided
    from linker.evaluation import report, run

    evaluation = run.evaluate(
        items,
        linker,
        options.protocol,
        options.ks,
        path=options.predictions,
        threshold=options.threshold,
        decisions=Decided.of_file(options.decisions, linker) if linker else None,
    )
    if not evaluation.outcomes:
        raise LinkerError(
            f"{options.mentions}: holds no annotated mentions; give a file with gold ids, "
            "e.g. a table with the columns mention and id"
        )
    record = evaluation.record | _about(options, linker)
    common.show(report.table(record))
    if evaluation.warning:
        common.say(evaluation.warning)
    if not linker:
        common.say(
            "without --model old ids are not resolved, "
            "and seen mentions and kinds of errors are not told apart"
        )
    if left_out := evaluation.record["left_out"]:
        common.say(
            f"{left_out:,} of {evaluation.mentions:,} mentions were left out: "
            "without annotated concept"
        )
    if options.output:
        folder = Path(options.output)
        run.write(folder, record, evaluation.outcomes, linker, items)
        common.say(f"wrote {folder}/metrics.json, {folder}/outcomes.tsv and {folder}/report.html")


def _about(options: SimpleNamespace, linker: Linker | None) -> dict[str, Any]:
    """The evaluated files and the options, for metrics.json."""
    from linker.evaluation import report
    from linker.options import as_saved

    predictions, decisions = options.predictions, options.decisions
    model = linker and {
        "folder": shown(options.model),
        "encoder": linker.encoder,
        "device": options.device,
        "precision": options.precision,
        "options": as_saved(linker.options, linker.encoder),
    }
    return {
        "mentions": shown(options.mentions),
        "predictions": predictions and shown(predictions),
        "decisions": decisions and shown(decisions),
        **{name: getattr(options, name) or None for name in SELECTION},
        "ties": None if predictions else report.TIES.get(options.protocol),
        "model": model,
        "dictionary": linker and linker.describe_dictionary(),
    }

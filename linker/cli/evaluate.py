"""linker evaluate: Acc@k of a model, or of somebody's predictions, on annotated mentions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common
from linker.errors import LinkerError, OnError, shown
from linker.types import SELECTION, Selection

if TYPE_CHECKING:
    from linker.encoders.base import Device, Precision
    from linker.evaluation.run import Evaluation
    from linker.linking.linker import Linker
    from linker.types import Document, Mention

_COMPUTING = {"device": "auto", "precision": "fp32"}  # options of a model, with their defaults


def _ks(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        ks = sorted({int(item) for item in common.listed(context, parameter, value)})
    except ValueError:
        ks = []
    if not ks or not 1 <= ks[0] <= ks[-1] <= common.MOST:
        raise click.BadParameter(
            f"{value!r}; expected whole numbers from 1 to {common.MOST}, e.g. 1,5,10,20"
        )
    return tuple(ks)


@click.command()
@click.argument("mentions", metavar="MENTIONS")
@common.model_option
@common.mentions_format_option
@click.option(
    "--protocol",
    type=click.Choice(["strict", "biosyn", "document"]),
    default="strict",
    show_default=True,
    help="How to evaluate.",
)
@click.option(
    "--type", "mention_type", metavar="T", help="Evaluate mentions of this type only, e.g. Disease."
)
@click.option(
    "-k",
    "--k",
    "ks",
    default="1,5,10,20",
    show_default=True,
    callback=_ks,
    metavar="K,...",
    help="The k of Acc@k.",
)
@common.selection_options
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="As in link; protocol strict only.",
)
@click.option(
    "--predictions",
    metavar="PATH",
    help="Evaluate these predictions (our JSONL, BioSyn's JSON) instead of a model's.",
)
@common.device_options
@common.decisions_option("Decisions that win over the model, as in link; protocol strict only.")
@click.option(
    "-o", "--output", metavar="DIR", help="Folder for metrics.json, outcomes.tsv and report.html."
)
@common.on_error_option
@common.logs
@click.pass_context
def evaluate(
    context: click.Context,
    mentions: str,
    model: str,
    mentions_format: str | None,
    protocol: str,
    mention_type: str | None,
    ks: tuple[int, ...],
    threshold: float | None,
    within: Selection,
    device: Device,
    precision: Precision,
    predictions: str | None,
    decisions: str | None,
    output: str | None,
    on_error: str,
) -> None:
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
    from linker.decisions.applying import Decided
    from linker.evaluation import report, run
    from linker.jobs import linking
    from linker.linking.linker import Linker
    from linker.readers import mentions as readers

    _check(context.params)
    handle = common.handler(on_error)
    if output:  # before the work, not after it
        with files.writing(output):
            Path(output).mkdir(parents=True, exist_ok=True)
    named = context.get_parameter_source("model") != click.core.ParameterSource.DEFAULT
    linker = Linker.load(model) if named or not predictions else None
    if linker:
        context.params["precision"] = linker.use(precision, device)  # never auto, as it is saved
        linker = linker.restricted(within)
    identify = linker.dictionary.identify if linker else None
    items = list(
        readers.read(
            mentions, mentions_format, type=mention_type, on_error=handle, identify=identify
        )
    )
    if linker and not predictions:
        items = list(linking.selectable(items, linker, mentions, on_error=handle))
    if linker and protocol == "document":
        _evaluate_documents(context.params, items, linker)
        common.say_skipped(handle)
        return
    decided = Decided.of_file(decisions, linker) if linker else None
    evaluation = run.evaluate(
        items, linker, protocol, ks, path=predictions, threshold=threshold, decisions=decided
    )
    if not evaluation.outcomes:
        raise LinkerError(f"{mentions}: holds no annotated mentions; give a file with gold ids")
    record = evaluation.record | _about(context.params, linker)
    with common.stdout() as file:
        file.write(report.table(record) + "\n")
    _say_limits(evaluation, linker, handle)
    if output:
        folder = Path(output)
        run.write(folder, record, evaluation.outcomes, linker, items)
        written = [str(folder / name) for name in ("metrics.json", "outcomes.tsv", "report.html")]
        common.say(f"wrote {', '.join(written[:-1])} and {written[-1]}")


def _check(options: dict[str, Any]) -> None:
    predictions = options["predictions"]
    if options["decisions"] and (options["protocol"] != "strict" or predictions):
        raise click.UsageError("--decisions is for a model under --protocol strict; leave it out")
    if options["protocol"] == "document":
        if predictions:
            raise click.UsageError("--protocol document is for a model, not for --predictions")
        return
    if options["threshold"] is not None and (options["protocol"] != "strict" or predictions):
        raise click.UsageError("--threshold is for a model under --protocol strict; leave it out")
    names = [name for name in SELECTION if options[name]]
    names += [name for name, default in _COMPUTING.items() if options[name] != default]
    if predictions and names:
        flag = f"--{names[0].replace('_', '-')}"
        raise click.UsageError(f"{flag} is for a model, not for --predictions; leave it out")


def _evaluate_documents(
    options: dict[str, Any], items: Sequence[Mention | Document], linker: Linker
) -> None:
    """Find and link the mentions of documents, print the figures, and write them where asked."""
    from linker.evaluation import documents, run

    figures, rows = documents.evaluate(linker, items, options["threshold"])
    record = {"protocol": "document"} | figures | _about(options, linker)
    with common.stdout() as file:
        file.write(documents.table(record) + "\n")
    if output := options["output"]:
        run.write_tables(Path(output), record, "documents.tsv", rows)
        common.say(f"wrote {output}/metrics.json and {output}/documents.tsv")


def _about(options: dict[str, Any], linker: Linker | None) -> dict[str, Any]:
    """The evaluated files and the options, for metrics.json."""
    from linker.evaluation import report
    from linker.options import as_saved

    predictions = options["predictions"]
    model = linker and {
        "folder": shown(options["model"]),
        "encoder": linker.encoder,
        "device": options["device"],
        "precision": options["precision"],
        "options": as_saved(linker.options, linker.encoder),
    }
    return {
        "mentions": shown(options["mentions"]),
        "predictions": predictions and shown(predictions),
        "decisions": options["decisions"] and shown(options["decisions"]),
        **{name: options[name] or None for name in SELECTION},
        "ties": None if predictions else report.TIES.get(options["protocol"]),
        "model": model,
        "dictionary": linker and linker.describe_dictionary(),
    }


def _say_limits(evaluation: Evaluation, linker: Linker | None, on_error: OnError) -> None:
    """Say what the figures do not tell."""
    if evaluation.warning:
        common.say(evaluation.warning)
    if not linker:
        common.say(
            "without --model old ids are not resolved, "
            "and seen mentions and kinds of errors are not told apart"
        )
    common.say_skipped(on_error)
    if left_out := evaluation.record["left_out"]:
        common.say(
            f"{left_out:,} of {evaluation.mentions:,} mentions were left out: "
            "without annotated concept"
        )

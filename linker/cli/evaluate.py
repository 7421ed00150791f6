"""linker evaluate: Acc@k of a model, or of somebody's predictions, on annotated mentions."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common
from linker.errors import LinkerError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linker.evaluation.protocols import Outcome
    from linker.linker import Linker


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
    type=click.Choice(["strict", "biosyn"]),
    default="strict",
    show_default=True,
    help="How to judge.",
)
@click.option(
    "--type", "mention_type", metavar="T", help="Judge mentions of this type only, e.g. Disease."
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
@common.namespaces_option
@click.option("--threshold", type=float, metavar="X", help="As in link; protocol strict only.")
@click.option(
    "--predictions",
    metavar="PATH",
    help="Judge these predictions (our JSONL, BioSyn's JSON) instead of a model's.",
)
@click.option("-o", "--output", metavar="DIR", help="Folder for metrics.json and outcomes.tsv.")
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
    namespaces: tuple[str, ...],
    predictions: str | None,
    output: str | None,
    on_error: str,
) -> None:
    """Judge a model on annotated MENTIONS.

    strict: the model as deployed; k counts concepts, composites need all their ids, and a mention without a concept is right only when
    nothing is returned. biosyn: as in papers; k counts names, any shared id is right, composites are split by their gold ids.
    MRR looks at the first 20 candidates, or at as many as the largest k. With --predictions a model is only consulted (for old ids,
    seen mentions, kinds of error) when --model is named.
    """
    from linker import files
    from linker.evaluation import breakdown, protocols, report
    from linker.evaluation import predictions as theirs
    from linker.linker import Linker
    from linker.readers import mentions as readers

    if threshold is not None and (protocol != "strict" or predictions):
        raise click.UsageError("--threshold is for a model under --protocol strict; leave it out")
    if namespaces and predictions:
        raise click.UsageError("--namespaces is for a model, not for --predictions; leave it out")
    handle = common.handler(on_error)
    if output:
        with files.writing(output):  # before the work, not after it
            Path(output).mkdir(parents=True, exist_ok=True)
    items = list(readers.read(mentions, mentions_format, type=mention_type, on_error=handle))
    named = context.get_parameter_source("model") != click.core.ParameterSource.DEFAULT
    linker = Linker.load(model).restricted(namespaces) if named or not predictions else None
    judged = [mention for mention, _ in readers.flatten(items)]
    unknown = ""
    if predictions:
        resolve = (
            linker.dictionary.resolve if linker else lambda identifier: frozenset((identifier,))
        )
        outcomes = list(theirs.outcomes(predictions, judged, protocol, resolve, max(ks)))
    else:
        assert linker is not None  # noqa: S101 - loaded above where there are no predictions
        unknown = breakdown.unknown(linker, judged)
        depth = max(20, *ks)  # MRR looks this far, whatever the k that are shown
        strict = protocols.strict(linker, items, depth, threshold)
        outcomes = list(strict if protocol == "strict" else protocols.biosyn(linker, items, depth))
    if not outcomes:
        raise LinkerError(f"{mentions}: holds no annotated mentions; give a file with gold ids")
    record = {"protocol": protocol} | report.summary(outcomes, ks, linker)
    record |= {
        "left_out": len(judged) - len(outcomes),
        "mentions": shown(mentions),
        "predictions": predictions and shown(predictions),
    }
    record |= {"namespaces": namespaces or None}
    record |= {"ties": None if predictions else report.TIES[protocol]}
    record |= {
        "model": _model(model, linker),
        "dictionary": linker.describe_dictionary() if linker else None,
    }
    with common.stdout() as file:
        file.write(report.table(record) + "\n")
    if unknown:
        common.say(unknown)
    if not linker:
        common.say(
            "without --model old ids are not resolved, and seen mentions and kinds of errors are not told apart"
        )
    common.say_skipped(handle)
    if record["left_out"]:
        common.say(
            f"{record['left_out']:,} of {len(judged):,} mentions were left out: without annotated concept"
        )
    if output:
        _write(Path(output), record, outcomes, linker)


def _model(folder: str, linker: Linker | None) -> dict[str, Any] | None:
    return (
        {
            "folder": shown(folder),
            "encoder": linker.encoder,
            "options": dataclasses.asdict(linker.options),
        }
        if linker
        else None
    )


def _write(
    folder: Path, record: dict[str, Any], outcomes: Sequence[Outcome], linker: Linker | None
) -> None:
    from linker import files
    from linker.evaluation import breakdown
    from linker.ids import format_gold
    from linker.outputs.tsv import row_writer

    with files.write_aside(folder / "metrics.json") as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    with files.write_aside(folder / "outcomes.tsv") as file:
        write_row = row_writer(file)
        write_row(("document_id", "mention", "gold", "rank", "concept_id", "matched_name", "error"))
        for outcome in outcomes:
            ids = "|".join(part.concept_id if part else "-1" for part in outcome.parts)
            names = "|".join(part.matched_name if part else "" for part in outcome.parts)
            error = (
                breakdown.error(outcome, linker.dictionary, linker.normalize)
                if linker and outcome.rank != 1
                else ""
            )
            mention = outcome.mention
            write_row(
                (
                    mention.document_id or "",
                    mention.text,
                    format_gold(outcome.gold),
                    str(outcome.rank or ""),
                    ids,
                    names,
                    error,
                )
            )
    common.say(f"wrote {folder / 'metrics.json'} and {folder / 'outcomes.tsv'}")

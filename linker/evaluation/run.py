"""An evaluation from annotated mentions to figures and files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linker import files
from linker.errors import LinkerError
from linker.evaluation import breakdown, confidences, predictions, protocols, report
from linker.evaluation.protocols import Outcome
from linker.ids import curie, format_gold
from linker.linking.linker import Linker
from linker.outputs import decimals
from linker.outputs.tsv import row_writer
from linker.readers.mentions import flatten
from linker.types import Document, Mention, Prediction

MRR_DEPTH = 20  # candidates that MRR looks at, whatever the k that are shown
COLUMNS = (
    "document_id",
    "mention",
    "gold",
    "rank",
    "concept_id",
    "matched_name",
    "error",
    "confidence",
    "reading",
    "source",
    "rejected",
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of an evaluation; mentions that the protocol leaves out have no outcome."""

    record: dict[str, Any]  # the figures, as in metrics.json
    outcomes: Sequence[Outcome]
    mentions: int  # all that were given
    warning: str  # which annotated ids the model can never answer with; empty if none


def evaluate(
    items: Sequence[Mention | Document],
    linker: Linker | None,
    protocol: str,
    ks: Sequence[int],
    *,
    path: files.Pathlike | None = None,
    threshold: float | None = None,
) -> Evaluation:
    """Evaluate a model, or the predictions in a file, on annotated mentions.

    Args:
        items: the annotated mentions, or documents that hold them.
        linker: the model; if there are predictions, it only resolves old ids and separates
            seen from unseen mentions and kinds of errors, and may be None.
        protocol: a name of `protocols.PROTOCOLS`.
        ks: the k of Acc@k.
        path: predictions to evaluate instead of the model's, see `predictions.outcomes`.
        threshold: the confidence that an answer of the model needs; None: as `Linker.link` does it;
            protocol strict only.

    Raises:
        LinkerError: there is neither a model nor predictions, the model has none of the annotated
            ids, or the predictions are for other mentions.
    """
    mentions = [mention for mention, _ in flatten(items)]
    if path is not None:
        resolve = linker.dictionary.resolve if linker else lambda i: frozenset((i, curie(i)))
        outcomes = predictions.outcomes(path, mentions, protocol, resolve, max(ks))
        return _evaluation(list(outcomes), linker, protocol, ks, len(mentions))
    if linker is None:
        raise LinkerError("there is nothing to evaluate; give a model, or predictions")
    if protocol == "strict":
        linked = linker.link(items, k=depth(ks), threshold=threshold)
        return evaluate_predictions(items, linker, linked, ks)
    warning = breakdown.unknown(linker, mentions)
    of_names = list(protocols.biosyn(linker, items, depth(ks)))
    return _evaluation(of_names, linker, protocol, ks, len(mentions), warning)


def depth(ks: Sequence[int]) -> int:
    """How many candidates of each part are evaluated for these k."""
    return max(MRR_DEPTH, *ks)


def evaluate_predictions(
    items: Sequence[Mention | Document],
    linker: Linker,
    predictions: Iterable[Prediction],
    ks: Sequence[int],
) -> Evaluation:
    """Evaluate predictions by the protocol strict.

    Args:
        items: the annotated mentions, or documents that hold them.
        linker: the model that made the predictions, maybe with the help of decisions.
        predictions: of all mentions, with `depth(ks)` candidates.
        ks: the k of Acc@k.

    Raises:
        LinkerError: the model has none of the annotated ids.
    """
    mentions = [mention for mention, _ in flatten(items)]
    warning = breakdown.unknown(linker, mentions)
    outcomes = list(protocols.outcomes(predictions, linker))
    return _evaluation(outcomes, linker, "strict", ks, len(mentions), warning)


def _evaluation(
    outcomes: Sequence[Outcome],
    linker: Linker | None,
    protocol: str,
    ks: Sequence[int],
    mentions: int,
    warning: str = "",
) -> Evaluation:
    """The evaluation with the figures of its outcomes; `mentions`: the number that were given."""
    record = {"protocol": protocol} | report.summary(outcomes, ks, linker)
    if protocol == "strict":
        record |= confidences.summary(outcomes)
        record["composites"] = breakdown.composites(outcomes)
    record["left_out"] = mentions - len(outcomes)
    return Evaluation(record, outcomes, mentions, warning)


def write(
    folder: Path,
    record: dict[str, Any],
    outcomes: Sequence[Outcome],
    linker: Linker | None,
    items: Sequence[Mention | Document] = (),
) -> None:
    """Write metrics.json, outcomes.tsv and report.html into a folder.

    Args:
        folder: where to write.
        record: the figures.
        outcomes: the rows of the table.
        linker: the model, which the kinds of errors depend on; None for a column without them.
        items: what was evaluated, so that the report shows the text around mentions.
    """
    from linker.evaluation import page  # Jinja takes its time to import

    kinds = error_kinds(outcomes, linker)
    with files.write_aside(folder / "metrics.json") as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    with files.write_aside(folder / "outcomes.tsv") as file:
        write_row = row_writer(file)
        write_row(COLUMNS)
        for outcome, kind in zip(outcomes, kinds, strict=True):
            write_row(row(outcome, kind))
    with files.write_aside(folder / "report.html") as file:
        file.write(page.render(record, outcomes, kinds, linker, items))


def error_kinds(outcomes: Sequence[Outcome], linker: Linker | None) -> list[str]:
    """The kind of error of each outcome; empty for one that is right, and without a linker."""
    return [
        breakdown.error(outcome, linker.dictionary, linker.normalize)
        if linker and outcome.rank != 1
        else ""
        for outcome in outcomes
    ]


def row(outcome: Outcome, kind: str) -> tuple[str, ...]:
    """The cells of `COLUMNS` for an outcome with its kind of error."""
    sources = [part.source if part else "" for part in outcome.parts]
    rejected = [part.concept_id if part else "" for part in outcome.rejected]
    return (
        outcome.mention.document_id or "",
        outcome.mention.text,
        format_gold(outcome.gold),
        str(outcome.rank or ""),
        "|".join(part.concept_id if part else "-1" for part in outcome.parts),
        "|".join(part.matched_name if part else "" for part in outcome.parts),
        kind,
        decimals(outcome.confidence),
        outcome.reading,
        "|".join(sources) if any(sources) else "",
        "|".join(rejected) if any(rejected) else "",
    )

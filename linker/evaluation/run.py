"""An evaluation from annotated mentions to figures and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linker import files
from linker.errors import LinkerError
from linker.evaluation import breakdown, predictions, protocols, report
from linker.evaluation.protocols import Outcome
from linker.ids import format_gold
from linker.linker import Linker
from linker.outputs.tsv import row_writer
from linker.readers.mentions import flatten
from linker.types import Document, Mention

MRR_DEPTH = 20  # candidates that MRR looks at, whatever the k that are shown
_COLUMNS = ("document_id", "mention", "gold", "rank", "concept_id", "matched_name", "error")


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
        threshold: leave out candidates of the model with a lower score; protocol strict only.

    Raises:
        LinkerError: there is neither a model nor predictions, the model has none of the annotated
            ids, or the predictions are for other mentions.
    """
    mentions = [mention for mention, _ in flatten(items)]
    depth, warning = max(MRR_DEPTH, *ks), ""
    if path is not None:
        resolve = linker.dictionary.resolve if linker else lambda i: frozenset((i,))
        outcomes = list(predictions.outcomes(path, mentions, protocol, resolve, max(ks)))
    elif linker is None:
        raise LinkerError("there is nothing to evaluate; give a model, or predictions")
    else:
        warning = breakdown.unknown(linker, mentions)
        outcomes = list(
            protocols.strict(linker, items, depth, threshold)
            if protocol == "strict"
            else protocols.biosyn(linker, items, depth)
        )
    record = {"protocol": protocol} | report.summary(outcomes, ks, linker)
    record["left_out"] = len(mentions) - len(outcomes)
    return Evaluation(record, outcomes, len(mentions), warning)


def write(
    folder: Path, record: dict[str, Any], outcomes: Sequence[Outcome], linker: Linker | None
) -> None:
    """Write metrics.json and outcomes.tsv into a folder.

    Args:
        folder: where to write.
        record: the figures.
        outcomes: the rows of the table.
        linker: the model, which the kinds of errors depend on; None for a column without them.
    """
    with files.write_aside(folder / "metrics.json") as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    with files.write_aside(folder / "outcomes.tsv") as file:
        write_row = row_writer(file)
        write_row(_COLUMNS)
        for outcome in outcomes:
            write_row(_row(outcome, linker))


def _row(outcome: Outcome, linker: Linker | None) -> tuple[str, ...]:
    error = ""
    if linker and outcome.rank != 1:
        error = breakdown.error(outcome, linker.dictionary, linker.normalize)
    return (
        outcome.mention.document_id or "",
        outcome.mention.text,
        format_gold(outcome.gold),
        str(outcome.rank or ""),
        "|".join(part.concept_id if part else "-1" for part in outcome.parts),
        "|".join(part.matched_name if part else "" for part in outcome.parts),
        error,
    )

"""An evaluation from annotated mentions to figures and files, and beside another one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from linker.arguments import ITEMS, LINKER, Kind, public
from linker.errors import InputError, LinkerError
from linker.evaluation import (
    metrics,
    predictions,
    protocols,
    report,
)
from linker.evaluation.protocols import Outcome
from linker.ids import counted, curie, format_gold, namespace, parse_gold
from linker.io import files
from linker.io.mentions import flatten
from linker.io.outputs import decimals, row_writer
from linker.linking.decided import Decided
from linker.linking.linker import Linker
from linker.linking.requests import LIMITS
from linker.records import Document, Mention

MRR_DEPTH = 20  # candidates that MRR looks at, whatever the k that are shown
Row = Mapping[str, str]
"""A row of a table: the text of each of its columns."""
_MENTION = ("document_id", "mention", "gold")  # columns that tell mentions apart


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """The result of an evaluation, which shows itself as a table.

    Mentions that the protocol leaves out have no outcome.
    """

    record: dict[str, Any]  # the figures, as in metrics.json
    outcomes: Sequence[Outcome]
    mentions: int  # all that were given
    warning: str  # which annotated ids the model can never answer with; empty if none

    def __repr__(self) -> str:
        title = f"<Evaluation: {len(self.outcomes):,} of {self.mentions:,} mentions>"
        return f"{title}\n\n{report.table(self.record)}" if self.outcomes else title

    def _repr_html_(self) -> str:
        return report.table_in_html(self.record) if self.outcomes else repr(self)


@public(
    "linker.evaluate",
    items=ITEMS,
    linker=LINKER,
    protocol=Kind("strict or biosyn", (str,)),
    ks=Kind("whole numbers, such as (1, 5)", (Sequence,)),
    threshold=LIMITS["threshold"],
    decisions=LIMITS["decisions"],
)
def evaluate(
    items: Sequence[Mention | Document],
    linker: Linker,
    protocol: str = "strict",
    ks: Sequence[int] = (1, 5, 10, 20),
    *,
    threshold: float | None = None,
    decisions: Decided | None = None,
) -> Evaluation:
    """Evaluate a model on annotated mentions.

    Args:
        items: the annotated mentions, or documents that hold them.
        linker: the model.
        protocol: a name of `protocols.PROTOCOLS`.
        ks: the k of Acc@k.
        threshold: the confidence that an answer of the model needs; None: as `Linker.link` does it;
            protocol strict only.
        decisions: of people, which win over the model; protocol strict only.

    Raises:
        LinkerError: the model has none of the annotated ids, or there is no such protocol.
    """
    if protocol not in protocols.PROTOCOLS:
        listed = ", ".join(protocols.PROTOCOLS)
        raise LinkerError(f"linker.evaluate: protocol is {protocol!r}; expected one of {listed}")
    mentions = [mention for mention, _ in flatten(items)]
    warning, k = _unknown_ids(linker, mentions), max(MRR_DEPTH, *ks)
    if protocol == "biosyn":
        outcomes = protocols.biosyn(linker, items, k)
    else:
        linked = linker.link(iter(items), k=k, threshold=threshold, decisions=decisions)
        outcomes = protocols.outcomes(linked, linker)
    of_mentions = list(outcomes)
    record = {"protocol": protocol} | report.summary(of_mentions, ks, linker)
    return _evaluation(record, of_mentions, len(mentions), warning)


def evaluate_predictions(
    path: files.Pathlike,
    items: Sequence[Mention | Document],
    linker: Linker | None,
    protocol: str = "strict",
    ks: Sequence[int] = (1, 5, 10, 20),
) -> Evaluation:
    """Evaluate the predictions in a file on annotated mentions.

    Args:
        path: the file, see `predictions.outcomes`.
        items: the annotated mentions, or documents that hold them.
        linker: resolves old ids and tells seen mentions and kinds of errors; None: nothing does.
        protocol: a name of `protocols.PROTOCOLS`.
        ks: the k of Acc@k.

    Raises:
        LinkerError: the predictions are for other mentions, or no predictions.
    """
    mentions = [mention for mention, _ in flatten(items)]
    outcomes = list(predictions.outcomes(path, mentions, protocol, linker))
    record = {"protocol": protocol} | report.summary(outcomes, ks, linker)
    return _evaluation(record, outcomes, len(mentions))


def _evaluation(
    record: dict[str, Any], outcomes: Sequence[Outcome], mentions: int, warning: str = ""
) -> Evaluation:
    """The figures of outcomes with those of confidences, and how many mentions have none."""
    if record["protocol"] == "strict":
        record |= report.of_confidences(outcomes)
    record["left_out"] = mentions - len(outcomes)
    return Evaluation(record, outcomes, mentions, warning)


def _unknown_ids(linker: Linker, mentions: Iterable[Mention]) -> str:
    """Say which annotated ids a linker can never answer with; empty if it can with all.

    Raises:
        LinkerError: it can answer with none of them.
    """
    linkable, dictionary = set(linker.linkable.tolist()), linker.dictionary
    ids = {i for mention in mentions for group in mention.gold or () for i in group.ids}
    missing = [i for i in sorted(ids) if linkable.isdisjoint(dictionary.rows(i))]
    if not missing:
        return ""
    prefixes = counted(namespace(dictionary.ids[row]) for row in linkable)
    count = f"{len(missing):,} of the {len(ids):,} annotated ids"
    of_missing = counted(map(namespace, missing))
    text = f"the model does not have {count} ({of_missing}; it has {prefixes})"
    if len(missing) == len(ids):
        raise LinkerError(f"{text}; name a model that has them, or other --namespaces")
    return f"{text}; --type chooses among the mentions"


def write(folder: Path, record: Mapping[str, Any], outcomes: Sequence[Outcome]) -> None:
    """Write metrics.json, outcomes.tsv with a row for each mention, and report.html."""
    write_tables(folder, record, "outcomes.tsv", [*map(row, outcomes)])
    with files.write_aside(folder / "report.html") as file:
        file.write(report.render(record))


def write_tables(folder: Path, record: Mapping[str, Any], name: str, rows: Sequence[Row]) -> None:
    """Write metrics.json, and a table of the results that the figures are of."""
    with files.write_aside(folder / "metrics.json") as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    with files.write_aside(folder / name) as file:
        write_row = row_writer(file)
        write_row(list(rows[0]))
        for cells in rows:
            write_row(list(cells.values()))


def row(outcome: Outcome) -> Row:
    """The row of outcomes.tsv for an outcome."""
    sources = [part.source if part else "" for part in outcome.parts]
    rejected = [part.concept_id if part else "" for part in outcome.rejected]
    return {
        "document_id": outcome.mention.document_id or "",
        "mention": outcome.mention.text,
        "gold": format_gold(outcome.gold),
        "rank": str(outcome.rank or ""),
        "concept_id": "|".join(part.concept_id if part else "-1" for part in outcome.parts),
        "matched_name": "|".join(part.matched_name if part else "" for part in outcome.parts),
        "error": outcome.error,
        "confidence": decimals(outcome.confidence),
        "reading": outcome.reading,
        "source": "|".join(sources) if any(sources) else "",
        "rejected": "|".join(rejected) if any(rejected) else "",
    }


class Evaluated(NamedTuple):
    """An evaluation as its files have it."""

    folder: Path
    protocol: str
    ks: Sequence[str]
    rows: Sequence[Row]


def compare(
    a: Evaluated, name: str, record: Mapping[str, Any], outcomes: Sequence[Outcome]
) -> dict[str, Any]:
    """Compare an evaluation (B) with one that `linker evaluate -o` wrote (A).

    Args:
        a: A.
        name: of B.
        record: the figures of B.
        outcomes: of the mentions of B.

    Returns:
        Acc@k of both, and the interval of the difference B - A (a paired bootstrap over the
        mentions), for the k that both have.

    Raises:
        LinkerError: the evaluations are of different mentions or protocols, or have no k in common.
    """
    folder, protocol, ks, rows = a
    pairs = list(zip_longest(map(_mention, rows), (_mention(row(one)) for one in outcomes)))
    wrong = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), 0)
    common = [k for k in ks if k in record["acc"]]
    if protocol != record["protocol"] or wrong or not common:
        first = f" (the first that differs is number {wrong:,}: {pairs[wrong - 1]})" * bool(wrong)
        raise LinkerError(
            f"{folder}: is not an evaluation of the same mentions{first}, by the same protocol and "
            f"with the same k as {name}; evaluate both on the same file"
        )
    ranks = [int(cells["rank"] or 0) for cells in rows], [outcome.rank for outcome in outcomes]
    return {
        "a": str(folder),
        "b": name,
        "protocol": protocol,
        "n": len(rows),
        "acc": {k: _difference(*(metrics.hits(of, int(k)) for of in ranks)) for k in common},
    }


def read(folder: Path) -> Evaluated:
    """Read an evaluation that `linker evaluate -o` wrote.

    Raises:
        InputError: a file is damaged, or not of an evaluation.
    """
    path = folder / "metrics.json"
    try:
        record = files.parse_json(files.read_text(path))
        protocol, ks = str(record["protocol"]), list(map(str, record["acc"]))
        path = folder / "outcomes.tsv"
        text = io.StringIO(files.read_text(path), newline="")
        rows: list[Row] = [*csv.DictReader(text, dialect="excel-tab", strict=True)]
        for cells in rows:
            int(cells["rank"] or 0), _mention(cells)
    except (ValueError, LookupError, TypeError, AttributeError, csv.Error) as error:
        problem = f"these are no figures of an evaluation ({error})"
        raise InputError(path, problem, remedy="evaluate again with -o") from None
    return Evaluated(folder, protocol, ks, rows)


def _mention(cells: Row) -> str:
    """What tells a mention apart; only a dictionary that knows a bare id gives it its prefix."""
    *where, gold = (cells[column] for column in _MENTION)
    texts = [*where, format_gold(parse_gold(gold, spell=curie) or ())]
    return " ".join(" ".join(texts).split())  # a table has no tabs in its cells


def _difference(a: metrics.Values, b: metrics.Values) -> dict[str, Any]:
    difference, *interval = map(report.rounded, metrics.paired_difference([b], [a]))
    means = {"a": report.rounded(a.mean()), "b": report.rounded(b.mean())}
    return {**means, "difference": difference, "interval": interval}


def comparison_table(record: Mapping[str, Any]) -> str:
    """A comparison as aligned text."""
    rows = [["", "A", "B", "B - A", "95% interval"]]
    for k, values in record["acc"].items():
        of_both = [decimals(values[name]) for name in ("a", "b")]
        interval = "{:+.4f} to {:+.4f}".format(*values["interval"])
        rows.append([f"Acc@{k}", *of_both, f"{values['difference']:+.4f}", interval])
    return f"A: {record['a']}\nB: {record['b']}\n{record['n']:,} mentions\n\n{report.aligned(rows)}"

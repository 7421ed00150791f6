"""Two evaluations of the same mentions: the figures of both, and whether their difference holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from linker.errors import InputError, LinkerError
from linker.evaluation import metrics
from linker.evaluation.protocols import Outcome
from linker.evaluation.report import aligned, rounded
from linker.evaluation.run import Row, row
from linker.ids import curie, format_gold, parse_gold
from linker.io import files
from linker.io.outputs import decimals

_MENTION = ("document_id", "mention", "gold")  # columns that tell mentions apart


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
    texts = [*where, format_gold(parse_gold(gold, spell=curie))]
    return " ".join(" ".join(texts).split())  # a table has no tabs in its cells


def _difference(a: metrics.Values, b: metrics.Values) -> dict[str, Any]:
    difference, *interval = map(rounded, metrics.paired_difference([b], [a]))
    means = {"a": rounded(a.mean()), "b": rounded(b.mean())}
    return {**means, "difference": difference, "interval": interval}


def table(record: Mapping[str, Any]) -> str:
    """A comparison as aligned text."""
    rows = [["", "A", "B", "B - A", "95% interval"]]
    for k, values in record["acc"].items():
        of_both = [decimals(values[name]) for name in ("a", "b")]
        interval = "{:+.4f} to {:+.4f}".format(*values["interval"])
        rows.append([f"Acc@{k}", *of_both, f"{values['difference']:+.4f}", interval])
    return f"A: {record['a']}\nB: {record['b']}\n{record['n']:,} mentions\n\n{aligned(rows)}"

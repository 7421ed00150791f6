"""Two evaluations of the same mentions: whether their difference holds, and what changed."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from linker import files, metrics
from linker.errors import InputError, LinkerError
from linker.evaluation.report import aligned, rounded
from linker.evaluation.run import Row
from linker.ids import curie, format_gold, parse_gold
from linker.outputs import decimals, row_writer

CHANGES = {
    "right_to_wrong": "right in A, wrong in B",
    "wrong_to_right": "wrong in A, right in B",
    "wrong_to_other_wrong": "wrong in both, with another answer",
    "right_to_other_right": "right in both, with another answer",
}
_SAME = ("document_id", "mention", "gold")  # columns that tell mentions apart
_DIFFERENT = ("rank", "concept_id", "matched_name", "error", "confidence")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluation as its files have it."""

    name: str
    protocol: str
    ks: Sequence[int]
    rows: Sequence[Row]


Changed = tuple[str, Row, Row]
"""A mention that changed: a key of `CHANGES`, the row of A and that of B."""


def read(folder: Path) -> Evaluated:
    """Read an evaluation that `linker evaluate -o` wrote.

    Raises:
        InputError: a file is damaged, or not of an evaluation.
    """
    path = folder / "metrics.json"
    try:
        record = files.parse_json(files.read_text(path))
        protocol, ks = str(record["protocol"]), [int(k) for k in record["acc"]]
        path = folder / "outcomes.tsv"
        text = io.StringIO(files.read_text(path), newline="")
        rows = list(csv.DictReader(text, dialect="excel-tab", strict=True))
        for row in rows:  # of another form a row has too few cells, or too many
            if None in row or None in row.values():
                raise ValueError(f"the row of {row.get('mention')!r} is damaged")
            int(row["rank"] or 0), *(row[name] for name in (*_SAME, "concept_id", "error"))
    except (ValueError, LookupError, TypeError, csv.Error) as error:
        problem = f"these are no figures of an evaluation ({error})"
        raise InputError(path, problem, remedy="evaluate again with -o") from None
    return Evaluated(str(folder), protocol, ks, rows)


def compare(a: Evaluated, b: Evaluated) -> tuple[dict[str, Any], list[Changed]]:
    """Compare two evaluations.

    Returns:
        A record with Acc@k of both and the interval of the difference B - A (a paired bootstrap
        over the mentions), McNemar's exact test of Acc@1, how many mentions changed in each way,
        and by which kinds of error; and the mentions that changed.

    Raises:
        LinkerError: the evaluations are of different mentions or protocols, or have no k in common.
    """
    from scipy import stats  # takes a second to import

    _check_same(a, b)
    pairs = list(zip(a.rows, b.rows, strict=True))
    changed = [(change, *rows) for rows in pairs if (change := _change(*rows))]
    errors: dict[str, Counter[str]] = {change: Counter() for change in CHANGES}
    for change, *rows in changed:
        kinds = [row["error"] or ("right" if row["rank"] == "1" else "wrong") for row in rows]
        errors[change][" -> ".join(kinds)] += 1
    changes = {change: kinds.total() for change, kinds in errors.items()}
    lost, won = changes["right_to_wrong"], changes["wrong_to_right"]
    p = float(stats.binomtest(won, lost + won).pvalue) if lost + won else 1.0
    record = {
        "a": a.name,
        "b": b.name,
        "protocol": a.protocol,
        "n": len(pairs),
        "acc": {str(k): _difference(pairs, k) for k in a.ks if k in b.ks},
        "mcnemar": {"right_to_wrong": lost, "wrong_to_right": won, "p": p},
        "changes": changes,
        "errors": {change: dict(kinds.most_common()) for change, kinds in errors.items() if kinds},
    }
    return record, changed


def _check_same(a: Evaluated, b: Evaluated) -> None:
    if a.protocol != b.protocol:
        raise LinkerError(
            f"{a.name} is by the protocol {a.protocol}, {b.name} by {b.protocol}; "
            "evaluate both by the same"
        )
    if not set(a.ks) & set(b.ks):
        raise LinkerError(f"{a.name} and {b.name} have no k of Acc@k in common; evaluate again")
    for number, rows in enumerate(zip_longest(a.rows, b.rows), 1):
        first, second = (_mention(row) if row else "nothing" for row in rows)
        if first != second:
            raise LinkerError(
                f"{a.name} and {b.name} are of different mentions: the first that differs is "
                f"number {number:,}, {first!r} and {second!r}; evaluate both on the same file"
            )


def _mention(row: Row) -> str:
    """What tells a mention apart; only a dictionary that knows a bare id gives it its prefix."""
    *where, gold = (row[column] for column in _SAME)
    return " ".join(filter(None, [*where, format_gold(parse_gold(gold, spell=curie))]))


def _change(of_a: Row, of_b: Row) -> str:
    """A key of `CHANGES`; empty where the answer at 1 is the same."""
    right = of_a["rank"] == "1", of_b["rank"] == "1"
    if right[0] != right[1]:
        return "right_to_wrong" if right[0] else "wrong_to_right"
    if of_a["concept_id"] == of_b["concept_id"]:
        return ""
    return "right_to_other_right" if right[0] else "wrong_to_other_wrong"


def _difference(pairs: Sequence[tuple[Row, Row]], k: int) -> dict[str, Any]:
    ranks = [[int(row["rank"] or 0) for row in rows] for rows in zip(*pairs, strict=True)]
    a, b = (metrics.hits(of, k) for of in ranks)
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
    changes = [["change at 1", "n", ""]]
    for change, count in record["changes"].items():
        changes.append([change, str(count), CHANGES[change]])
        errors = record["errors"].get(change, {})
        changes += [["  " + kinds, str(number), ""] for kinds, number in errors.items()]
    test = record["mcnemar"]
    return "\n\n".join(
        [
            f"A: {record['a']}\nB: {record['b']}\n{record['n']:,} mentions, "
            f"protocol {record['protocol']}",
            aligned(rows),
            f"McNemar's exact test of Acc@1: p = {test['p']:.3g} ({test['right_to_wrong']:,} "
            f"became wrong, {test['wrong_to_right']:,} became right)",
            aligned(changes),
        ]
    )


def write_changed(changed: Sequence[Changed], file: TextIO) -> None:
    """Write a table of the mentions that changed, with both answers."""
    write_row = row_writer(file)
    write_row([*_SAME, "change", *(f"{column}_{side}" for column in _DIFFERENT for side in "ab")])
    for change, of_a, of_b in changed:
        both = [row.get(column, "") for column in _DIFFERENT for row in (of_a, of_b)]
        write_row([*(of_a[column] for column in _SAME), change, *both])

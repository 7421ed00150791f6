"""Two evaluations of the same mentions: whether their difference holds, and what changed."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from linker import files, metrics
from linker.errors import InputError, LinkerError
from linker.evaluation import run
from linker.evaluation.report import aligned, rounded
from linker.evaluation.run import Row
from linker.ids import curie, format_gold, parse_gold
from linker.linking.linker import Linker
from linker.outputs import decimals
from linker.outputs.tsv import row_writer
from linker.types import Document, Mention

CHANGES = {
    "right_to_wrong": "right in A, wrong in B",
    "wrong_to_right": "wrong in A, right in B",
    "wrong_to_other_wrong": "wrong in both, with another answer",
    "right_to_other_right": "right in both, with another answer",
}
_SAME = ("document_id", "mention", "gold")  # columns that tell mentions apart
_DIFFERENT = ("rank", "concept_id", "matched_name", "error", "confidence")
_NEEDED = {*_SAME, "rank", "concept_id", "error"}
_REMEDY = "evaluate again with -o"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluation as its files have it."""

    name: str
    protocol: str
    ks: tuple[int, ...]
    rows: Sequence[Row]

    @property
    def ranks(self) -> list[int]:
        """The rank of the first right candidate of each mention, 0 for none."""
        return [int(row["rank"] or 0) for row in self.rows]


Changed = tuple[str, Row, Row]
"""A mention that changed: a key of `CHANGES`, the row of A and that of B."""


def is_evaluation(folder: Path) -> bool:
    """Whether a folder holds what `linker evaluate -o` writes."""
    return (folder / "outcomes.tsv").is_file() and (folder / "metrics.json").is_file()


def read(folder: Path) -> Evaluated:
    """Read an evaluation that `linker evaluate -o` wrote.

    Raises:
        InputError: a file is damaged, or not of an evaluation.
    """
    path = folder / "metrics.json"
    try:
        record = files.parse_json(files.read_text(path))
        protocol, ks = str(record["protocol"]), tuple(int(k) for k in record["acc"])
    except (ValueError, LookupError, TypeError) as error:
        problem = f"these are no figures of an evaluation ({error})"
        raise InputError(path, problem, remedy=_REMEDY) from None
    path = folder / "outcomes.tsv"
    return Evaluated(str(folder), protocol, ks, list(_rows(path)))


def _rows(path: Path) -> Iterator[Row]:
    """The rows of an outcomes.tsv, checked."""
    text = io.StringIO(files.read_text(path), newline="")
    reader = csv.DictReader(text, dialect="excel-tab", strict=True)
    if missing := sorted(_NEEDED - set(reader.fieldnames or ())):
        raise InputError(path, f"has no column {missing[0]}", line=1, remedy=_REMEDY)
    try:
        for row in reader:
            if None in row or None in row.values() or not (row["rank"] or "0").isdecimal():
                raise csv.Error("too many or too few cells, or a rank that is no number")
            yield row
    except csv.Error as error:
        problem = f"the row is damaged ({error})"
        raise InputError(path, problem, line=reader.line_num, remedy=_REMEDY) from None


def evaluate(
    name: str, linker: Linker, items: Sequence[Mention | Document], ks: Sequence[int]
) -> Evaluated:
    """Evaluate a model by the protocol strict.

    Args:
        name: what messages and tables call the model.
        linker: the model.
        items: the annotated mentions, or documents that hold them.
        ks: the k of Acc@k.
    """
    outcomes = run.evaluate(items, linker, "strict", ks).outcomes
    return Evaluated(name, "strict", tuple(ks), [*map(run.row, outcomes)])


def compare(a: Evaluated, b: Evaluated) -> tuple[dict[str, Any], list[Changed]]:
    """Compare two evaluations.

    Returns:
        A record with Acc@k of both and the interval of the difference B - A (a paired bootstrap
        over the mentions), McNemar's exact test of Acc@1, how many mentions changed in each way,
        and by which kinds of error; and the mentions that changed.

    Raises:
        LinkerError: the evaluations are of different mentions or protocols, have no k in common, or
            no mentions.
    """
    _check_same(a, b)
    if not a.rows:
        raise LinkerError(f"{a.name} and {b.name} have no annotated mentions to compare")
    changed = [
        (change, of_a, of_b)
        for of_a, of_b in zip(a.rows, b.rows, strict=True)
        if (change := _change(of_a, of_b))
    ]
    errors: dict[str, Counter[str]] = {change: Counter() for change in CHANGES}
    for change, *rows in changed:
        kinds = [row["error"] or ("right" if row["rank"] == "1" else "wrong") for row in rows]
        errors[change][" -> ".join(kinds)] += 1
    changes = {change: kinds.total() for change, kinds in errors.items()}
    record = {
        "a": a.name,
        "b": b.name,
        "protocol": a.protocol,
        "n": len(a.rows),
        "acc": {str(k): _difference(a.ranks, b.ranks, k) for k in a.ks if k in b.ks},
        "mcnemar": _mcnemar(changes["right_to_wrong"], changes["wrong_to_right"]),
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
    for number, (of_a, of_b) in enumerate(zip_longest(a.rows, b.rows), 1):
        keys = [row and _mention(row) for row in (of_a, of_b)]
        if keys[0] != keys[1]:
            shown = [" ".join(filter(None, key)) if key else "nothing" for key in keys]
            raise LinkerError(
                f"{a.name} and {b.name} are of different mentions: the first that differs is "
                f"number {number:,}, {shown[0]!r} and {shown[1]!r}; evaluate both on the same file"
            )


def _mention(row: Row) -> tuple[str, ...]:
    """What tells a mention apart; only a dictionary that knows a bare id gives it its prefix."""
    *where, gold = (row[column] for column in _SAME)
    return *where, format_gold(parse_gold(gold, spell=curie))


def _change(of_a: Row, of_b: Row) -> str:
    """A key of `CHANGES`; empty where the answer at 1 is the same."""
    right = of_a["rank"] == "1", of_b["rank"] == "1"
    if right[0] != right[1]:
        return "right_to_wrong" if right[0] else "wrong_to_right"
    if of_a["concept_id"] == of_b["concept_id"]:
        return ""
    return "right_to_other_right" if right[0] else "wrong_to_other_wrong"


def _difference(of_a: Sequence[int], of_b: Sequence[int], k: int) -> dict[str, Any]:
    hits = [metrics.hits(ranks, k) for ranks in (of_a, of_b)]
    difference, lower, upper = metrics.paired_difference([hits[1]], [hits[0]])
    return {
        "a": rounded(hits[0].mean()),
        "b": rounded(hits[1].mean()),
        "difference": rounded(difference),
        "interval": [rounded(lower), rounded(upper)],
    }


def _mcnemar(lost: int, won: int) -> dict[str, Any]:
    """McNemar's exact test: whether as many mentions became wrong as became right."""
    from scipy import stats  # takes a second to import

    p = float(stats.binomtest(won, lost + won).pvalue) if lost + won else 1.0
    return {"right_to_wrong": lost, "wrong_to_right": won, "p": p}


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

"""Figures of an evaluation as one record, and the same record as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from linker import metrics
from linker.evaluation import breakdown
from linker.evaluation.protocols import Outcome
from linker.linker import Linker

TIES = {  # by protocol
    "strict": "score descending, then kind of the matched name (training, preferred, exact, others), then concept id",
    "biosyn": "score descending, then id of the name's first concept",
}


def summary(
    outcomes: Sequence[Outcome], ks: Sequence[int], linker: Linker | None = None
) -> dict[str, Any]:
    """Acc@k and MRR with 95% bootstrap intervals; with a linker also seen and unseen apart, and errors by kind."""
    record = figures(outcomes, ks)
    if linker is None:
        return record
    record["groups"] = {
        name: figures(members, ks, intervals=False)
        for name, members in breakdown.groups(linker, outcomes).items()
    }
    wrong = [o for o in outcomes if o.rank != 1]
    record["errors"] = dict(
        Counter(
            breakdown.error(o, linker.dictionary, linker.normalize) for o in wrong
        ).most_common()
    )
    return record


def figures(
    outcomes: Sequence[Outcome], ks: Sequence[int], *, intervals: bool = True
) -> dict[str, Any]:
    """The number of mentions, Acc@k and MRR of some outcomes."""
    ranks = [outcome.rank for outcome in outcomes]
    values = {"mrr": metrics.reciprocal_ranks(ranks)} | {str(k): metrics.hits(ranks, k) for k in ks}
    means = {
        name: metrics.mean_interval(column, samples=2000 if intervals else 1)
        for name, column in values.items()
    }
    rounded = {
        name: [round(v, 5) if v == v else None for v in triple] for name, triple in means.items()
    }
    mrr = rounded.pop("mrr")
    record = {
        "n": len(ranks),
        "acc": {name: triple[0] for name, triple in rounded.items()},
        "mrr": mrr[0],
    }
    if intervals:
        record |= {
            "acc_interval": {name: triple[1:] for name, triple in rounded.items()},
            "mrr_interval": mrr[1:],
        }
    return record


def table(record: Mapping[str, Any]) -> str:
    """A summary as aligned text."""
    ks = list(record["acc"])
    head = ["", "n", *(f"Acc@{k}" for k in ks), "MRR"]
    rows = [
        head,
        *(
            _row(name, group)
            for name, group in (("all", record), *record.get("groups", {}).items())
        ),
    ]
    if "acc_interval" in record:
        bounds = (*(record["acc_interval"][k] for k in ks), record["mrr_interval"])
        rows.insert(
            2,
            [
                "95% interval",
                "",
                *(
                    "-".join(f"{v:.3f}" for v in pair) if None not in pair else ""
                    for pair in bounds
                ),
            ],
        )
    lines = list(_aligned(rows))
    if errors := record.get("errors"):
        wrong = [[name, str(count), breakdown.ERRORS[name]] for name, count in errors.items()]
        lines += ["", *_aligned([["error at 1", "n", "what was returned instead"], *wrong])]
    return "\n".join(lines)


def _row(name: str, figures: Mapping[str, Any]) -> list[str]:
    values = (*figures["acc"].values(), figures["mrr"])
    return [
        name.replace("_", " "),
        str(figures["n"]),
        *("" if v is None else f"{v:.4f}" for v in values),
    ]


def _aligned(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )

"""Figures of an evaluation as one record, and the same record as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from linker import metrics
from linker.evaluation import breakdown
from linker.evaluation.protocols import Outcome
from linker.linking.linker import Linker
from linker.outputs import decimals

TIES = {  # by protocol
    "strict": (
        "score descending, then how often the matched name was annotated with the concept, "
        "then own names before lent ones, then kind of the matched name (training, preferred, "
        "exact, others), then concept id"
    ),
    "biosyn": "score descending, then id of the name's first concept",
}


def summary(
    outcomes: Sequence[Outcome], ks: Sequence[int], linker: Linker | None = None
) -> dict[str, Any]:
    """Acc@k and MRR with 95% bootstrap intervals.

    With a linker also the figures of seen and of unseen mentions and concepts, the number of errors
    of each kind, and the figures of each branch of the hierarchy.
    """
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
    record["branches"] = breakdown.branches(linker.dictionary, outcomes)
    return record


def figures(
    outcomes: Sequence[Outcome], ks: Sequence[int], *, intervals: bool = True
) -> dict[str, Any]:
    """The number of mentions, Acc@k and MRR of some outcomes."""
    ranks = [outcome.rank for outcome in outcomes]
    hits = {str(k): metrics.hits(ranks, k) for k in ks}
    reciprocal = metrics.reciprocal_ranks(ranks)
    record: dict[str, Any] = {
        "n": len(ranks),
        "acc": {k: _mean(values) for k, values in hits.items()},
        "mrr": _mean(reciprocal),
    }
    if intervals:
        record["acc_interval"] = {k: _interval(values) for k, values in hits.items()}
        record["mrr_interval"] = _interval(reciprocal)
    return record


def _mean(values: metrics.Values) -> float | None:
    return round(float(values.mean()), 5) if len(values) else None


def _interval(values: metrics.Values) -> list[float | None]:
    _, lower, upper = metrics.mean_interval(values)
    return [round(lower, 5), round(upper, 5)] if len(values) else [None, None]


def table(record: Mapping[str, Any]) -> str:
    """A summary as aligned text."""
    ks = list(record["acc"])
    groups = {"all": record, **record.get("groups", {})}
    rows = [_row(name, group) for name, group in groups.items()]
    if "acc_interval" in record:
        bounds = (*(record["acc_interval"][k] for k in ks), record["mrr_interval"])
        cells = ("" if None in pair else "-".join(f"{v:.3f}" for v in pair) for pair in bounds)
        rows.insert(1, ["95% interval", "", *cells])
    text = _aligned(["", "n", *(f"Acc@{k}" for k in ks), "MRR"], *rows)
    if errors := record.get("errors"):
        wrong = [[name, str(count), breakdown.ERRORS[name]] for name, count in errors.items()]
        text += "\n\n" + _aligned(["error at 1", "n", "what was returned instead"], *wrong)
    if "calibration" in record:
        text += "\n\n" + _aligned(*confidence_rows(record))
    return text


def confidence_rows(record: Mapping[str, Any]) -> Iterator[list[str]]:
    """The figures of confidences, missing answers and composites: each a name and a value."""
    calibration, no_answer, composites = (
        record[key] for key in ("calibration", "no_answer", "composites")
    )
    if calibration is None:
        yield ["confidence", "none: calibration and coverage are left out"]
    else:
        yield ["expected calibration error", _figure(calibration["ece"])]
        yield ["Brier score", _figure(calibration["brier"])]
        yield ["AUROC of right against wrong", _figure(calibration["auroc"])]
        at_80 = record["risk_coverage"]["coverage"]["80"]
        yield ["Acc@1 at 80% coverage", _figure(at_80["acc"])]
        yield ["area under risk-coverage", _figure(record["risk_coverage"]["area"])]
    if no_answer["without_concept"] or no_answer["without_answer"]:
        yield ["no answer: precision", _figure(no_answer["precision"])]
        yield ["no answer: recall", _figure(no_answer["recall"])]
        yield ["no answer: F1", _figure(no_answer["f1"])]
        yield ["AUROC of no concept", _figure(no_answer["auroc"])]
    if composites["composites"]:
        split = f"{composites['split_right']} of {composites['composites']}"
        yield ["composites split right", split]
    yield ["single mentions split", f"{composites['singles_split']} of {composites['singles']}"]


def _row(name: str, figures: Mapping[str, Any]) -> list[str]:
    values = (*figures["acc"].values(), figures["mrr"])
    return [
        name.replace("_", " "),
        str(figures["n"]),
        *("" if v is None else f"{v:.4f}" for v in values),
    ]


def _aligned(*rows: Sequence[str]) -> str:
    return tabulate(rows, tablefmt="plain", disable_numparse=True)


def _figure(value: float | None) -> str:
    return decimals(value) or "-"

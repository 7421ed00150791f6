"""Figures of an evaluation as one record, and the same record as a table and as a page.

The figures of confidences are about the first candidate of each part, whether it was returned or
rejected, so that they do not depend on the threshold. A mention whose answer has no confidence is
left out of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np
from tabulate import tabulate

from linker.errors import shorten, shown
from linker.evaluation import metrics
from linker.evaluation.protocols import ERRORS, Outcome
from linker.io.outputs import decimals
from linker.linking.linker import Linker

COVERAGES = (100, 90, 80, 70, 60, 50, 40, 30, 20, 10)
"""Percent of the mentions that are answered, the most confident ones."""


def summary(
    outcomes: Sequence[Outcome], ks: Sequence[int], linker: Linker | None = None
) -> dict[str, Any]:
    """Acc@k and MRR with 95% bootstrap intervals.

    With a linker also the figures of seen and of unseen mentions and concepts, and the number of
    errors of each kind. Where names are ranked and a ranker orders their concepts, `of_concepts`
    has the figures of that order; the others count names in the order of their scores.
    """
    record = figures(outcomes, ks)
    if any(outcome.rank_of_concepts is not None for outcome in outcomes):
        by_concept = [replace(o, rank=o.rank_of_concepts or 0) for o in outcomes]
        record["of_concepts"] = figures(by_concept, ks)
    if linker is None:
        return record
    record["groups"] = {
        name: figures(members, ks, intervals=False)
        for name, members in groups(linker, outcomes).items()
    }
    errors = Counter(outcome.error for outcome in outcomes if outcome.error)
    record["errors"] = dict(errors.most_common())
    return record


def figures(
    outcomes: Sequence[Outcome], ks: Sequence[int], *, intervals: bool = True
) -> dict[str, Any]:
    """The number of mentions, Acc@k and MRR of some outcomes."""
    ranks = [outcome.rank for outcome in outcomes]
    values = {str(k): metrics.hits(ranks, k) for k in ks} | {"": metrics.reciprocal_ranks(ranks)}
    means = {k: rounded(of.mean()) if len(of) else None for k, of in values.items()}
    mrr = means.pop("")
    record: dict[str, Any] = {"n": len(ranks), "acc": means, "mrr": mrr}
    if intervals:
        ends = {k: [*map(rounded, metrics.mean_interval(of)[1:])] for k, of in values.items()}
        mrr_interval = ends.pop("")
        record |= {"acc_interval": ends, "mrr_interval": mrr_interval}
    return record


def rounded(value: float) -> float | None:
    """A figure with 5 decimals; None for NaN."""
    return None if value != value else round(float(value), 5)


def groups(linker: Linker, outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Group outcomes by whether training had seen them.

    A mention is seen if its normal form was a training mention; its concepts are seen if all of
    them were annotated there. Each outcome is in one group by mention and in one by concept.
    """
    seen, resolve = linker.seen, linker.dictionary.resolve
    names = ("seen_mention", "unseen_mention", "seen_concept", "unseen_concept")
    members: dict[str, list[Outcome]] = {name: [] for name in names}
    for outcome in outcomes:
        ids = [i for group in outcome.gold for i in group.ids]
        is_seen = linker.normalize(outcome.mention.text) in seen.mentions
        members[names[not is_seen]].append(outcome)
        is_seen = bool(ids) and all(not resolve(i).isdisjoint(seen.concepts) for i in ids)
        members[names[2 + (not is_seen)]].append(outcome)
    return members


def of_confidences(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What confidences are worth, and how composites were split.

    Returns:
        The figures of `calibration` and of `risk_coverage`, which are None where no answer has a
        confidence, of `no_answer` and of `composites`.
    """
    known = [outcome for outcome in outcomes if outcome.confidence is not None]
    confidences = np.array([outcome.confidence for outcome in known], np.float64)
    right = np.array([outcome.first_is_right for outcome in known], np.float64)
    counts = {"n": len(known), "without_confidence": len(outcomes) - len(known)}
    return {
        "calibration": counts | calibration(confidences, right) if known else None,
        "risk_coverage": risk_coverage(confidences, right) if known else None,
        "no_answer": no_answer(outcomes),
        "composites": composites(outcomes),
    }


def calibration(confidences: metrics.Values, right: metrics.Values) -> dict[str, Any]:
    """How well confidences agree with the share of right answers.

    Returns:
        The expected calibration error over 15 bins, the Brier score, the AUROC of right against
        wrong answers (None where all are right or all are wrong), and the bins with answers.
    """
    bins = metrics.calibration_bins(confidences, right)
    return {
        "ece": rounded(metrics.calibration_error(confidences, right)),
        "brier": rounded(metrics.squared_errors(confidences, right).mean()),
        "auroc": rounded(metrics.auroc(confidences, right)),
        "bins": [
            {"n": int(count), "confidence": rounded(confidence), "acc": rounded(accuracy)}
            for count, confidence, accuracy in bins
            if count
        ],
    }


def risk_coverage(confidences: metrics.Values, right: metrics.Values) -> dict[str, Any]:
    """The accuracy of the most confident answers, for shares of the mentions.

    Returns:
        For each of `COVERAGES` the accuracy, the number of mentions and the minimum of their
        confidences; and the area under the curve of the risk, 1 - accuracy.
    """
    accuracy = metrics.selective_accuracy(confidences, right)
    descending = np.sort(confidences)[::-1]
    counts = {percent: -(-len(accuracy) * percent // 100) for percent in COVERAGES}
    return {
        "area": rounded((1 - accuracy).mean()),
        "coverage": {
            str(percent): {
                "n": count,
                "acc": rounded(accuracy[count - 1]),
                "confidence": rounded(descending[count - 1]),
            }
            for percent, count in counts.items()
        },
    }


def no_answer(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How well mentions without a concept are recognised.

    A mention has no answer where nothing is returned for any of its parts.

    Returns:
        The numbers of mentions without a concept, without an answer, and without both; precision
        and recall (None without such mentions) and F1 of the missing answers; the AUROC of
        1 - confidence against mentions without a concept.
    """
    expected = sum(not outcome.gold for outcome in outcomes)
    given = sum(not any(outcome.parts) for outcome in outcomes)
    both = sum(not outcome.gold and not any(outcome.parts) for outcome in outcomes)
    known = [o for o in outcomes if o.confidence is not None]
    doubts = [1 - (o.confidence or 0.0) for o in known]
    return {
        "without_concept": expected,
        "without_answer": given,
        "both": both,
        "precision": rounded(both / given) if given else None,
        "recall": rounded(both / expected) if expected else None,
        "f1": rounded(2 * both / (given + expected)) if given + expected else None,
        "auroc": rounded(metrics.auroc(doubts, [not o.gold for o in known])),
    }


def composites(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Count how composite mentions, annotated as A|B, and single ones were split.

    Returns:
        The numbers of composite mentions, and of those `split_right`, into as many parts as they
        have ids; and of single mentions, and of those that were split.
    """
    composite = [outcome for outcome in outcomes if len(outcome.gold) > 1]
    single = [outcome for outcome in outcomes if len(outcome.gold) <= 1]
    return {
        "composites": len(composite),
        "split_right": sum(outcome.is_split_right for outcome in composite),
        "singles": len(single),
        "singles_split": sum(len(o.parts) > 1 and not o.is_split_right for o in single),
    }


def table(record: Mapping[str, Any]) -> str:
    """A summary as aligned text."""
    return "\n\n".join(map(aligned, _tables(record)))


def table_in_html(record: Mapping[str, Any]) -> str:
    """The same summary as tables of HTML, which a notebook shows."""
    return "\n".join(
        tabulate(rows, tablefmt="html", disable_numparse=True) for rows in _tables(record)
    )


def _tables(record: Mapping[str, Any]) -> list[list[list[str]]]:
    """The rows of the tables of a summary; that of confidences has no titles."""
    parts = {"all": record, "of_concepts": record.get("of_concepts"), **record.get("groups", {})}
    rows = [
        [name.replace("_", " "), str(of["n"]), *map(decimals, (*of["acc"].values(), of["mrr"]))]
        for name, of in parts.items()
        if of
    ]
    if "acc_interval" in record:
        bounds = (*record["acc_interval"].values(), record["mrr_interval"])
        cells = ("" if None in pair else "-".join(f"{v:.3f}" for v in pair) for pair in bounds)
        rows.insert(1, ["95% interval", "", *cells])
    tables = [[["", "n", *(f"Acc@{k}" for k in record["acc"]), "MRR"], *rows]]
    if errors := record.get("errors"):
        wrong = [[kind, str(count), ERRORS[kind]] for kind, count in errors.items()]
        tables.append([["error at 1", "n", "what was returned instead"], *wrong])
    if "calibration" in record:
        tables.append([*confidence_rows(record)])
    return tables


def confidence_rows(record: Mapping[str, Any]) -> Iterator[list[str]]:
    """The figures of confidences, missing answers and composites: each a name and a value."""
    none, split = record["no_answer"], record["composites"]
    figures: dict[str, float | None] = {}
    if calibration := record["calibration"]:
        figures = {
            "expected calibration error": calibration["ece"],
            "Brier score": calibration["brier"],
            "AUROC of right against wrong": calibration["auroc"],
            "Acc@1 at 80% coverage": record["risk_coverage"]["coverage"]["80"]["acc"],
            "area under risk-coverage": record["risk_coverage"]["area"],
        }
    else:
        yield ["confidence", "none: calibration and coverage are left out"]
    if none["without_concept"] or none["without_answer"]:
        names = {"precision": "precision", "recall": "recall", "f1": "F1"}
        figures |= {f"no answer: {name}": none[key] for key, name in names.items()}
        figures["AUROC of no concept"] = none["auroc"]
    yield from ([name, decimals(value) or "-"] for name, value in figures.items())
    if split["composites"]:
        yield ["composites split right", f"{split['split_right']} of {split['composites']}"]
    yield ["single mentions split", f"{split['singles_split']} of {split['singles']}"]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as text in columns."""
    return tabulate(rows, tablefmt="plain", disable_numparse=True, preserve_whitespace=True)


def render(record: Mapping[str, Any]) -> str:
    """Make the page report.html of the figures of an evaluation, as in metrics.json.

    It needs no network, and runs no script. The template says what each figure is, draws the charts
    as SVG, and escapes all that comes from the data.
    """
    from jinja2 import Environment, StrictUndefined  # takes its time to import

    environment = Environment(
        autoescape=True,
        finalize=_written,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["shorten"] = shorten
    template = resources.files("linker.evaluation").joinpath("page.html.jinja")
    return environment.from_string(template.read_text("utf-8")).render(
        record=record,
        about=_about(record),
        confidence=[*confidence_rows(record)] if "calibration" in record else [],
        **_rows(record),
    )


def _written(value: Any) -> Any:
    """Write what the template shows: numbers with 4 decimals, intervals, and texts.

    What cannot be printed, such as control characters, is written as escapes.
    """
    if isinstance(value, float):
        return decimals(value)
    if isinstance(value, tuple | list):
        return "{:.3f} to {:.3f}".format(*value)
    return shown(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _about(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    model, dictionary = record.get("model") or {}, record.get("dictionary") or {}
    sources = [f"{s['file']} {s['release']}".strip() for s in dictionary.get("sources", ())]
    of_model = {"model": model.get("folder"), "encoder": model.get("encoder")}
    facts = {**record, **of_model, "dictionary": ", ".join(sources)}
    names = ("mentions", "predictions", "model", "encoder", "dictionary", "protocol")
    return [(name, str(facts[name])) for name in names if facts.get(name)]


def _rows(record: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of the tables, most of which begin with a name or x, a share and its interval."""
    steps = [
        (f"{percent}%", *_share(step["acc"], step["n"]), step["n"], step["confidence"])
        for percent, step in (record.get("risk_coverage") or {}).get("coverage", {}).items()
    ]
    lowest = min((ends[0] for _, _, ends, _, _ in steps), default=0)
    orders = {"": record, ", of concepts": record.get("of_concepts", {"acc": {}})}
    return {
        "accuracy": [
            *(
                (f"Acc@{k}{order}", acc, of["acc_interval"][k])
                for order, of in orders.items()
                for k, acc in of["acc"].items()
            ),
            ("MRR", record["mrr"], record["mrr_interval"]),
        ],
        "groups": [
            (f"{name.replace('_', ' ')} ({group['n']:,})", *_share(group["acc"]["1"], group["n"]))
            for name, group in record.get("groups", {}).items()
            if group["n"] and "1" in group["acc"]
        ],
        "errors": [
            (kind.replace("_", " "), count, ERRORS[kind])
            for kind, count in record.get("errors", {}).items()
        ],
        "bins": [
            (each["confidence"], *_share(each["acc"], each["n"]), each["n"])
            for each in (record.get("calibration") or {}).get("bins", ())
        ],
        "steps": steps,
        # the tenth below all intervals
        "lowest": max(0.0, min(0.9, math.floor(10 * lowest) / 10)),
    }


def _share(share: float, of: int) -> tuple[float, tuple[float, float]]:
    """A share with its interval."""
    return share, metrics.share_interval(round(share * of), of)

"""The page report.html: the figures of an evaluation as charts and tables, in one file.

It needs no network, and runs no script. Everything from the data is escaped: by Jinja in the
template, by ElementTree in the charts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import zip_longest
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from linker import metrics
from linker.errors import shorten, shown
from linker.evaluation import breakdown, report, svg
from linker.evaluation.protocols import Outcome
from linker.evaluation.svg import Bar, Interval, Point, Title
from linker.ids import format_gold
from linker.linking.linker import Linker
from linker.outputs import decimals
from linker.readers.mentions import flatten
from linker.types import Candidate, Document, Mention

_EXAMPLES = 5  # of each kind of error
_AROUND = 80  # characters of text on each side of a mention
_BRANCHES = 25  # that the chart shows


@dataclass(frozen=True, slots=True)
class Example:
    """A mention that was linked wrongly, with the text around it."""

    before: str
    mention: str
    after: str
    gold: str
    answer: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, and the same figures as a table."""

    heading: str
    text: str
    chart: str  # SVG
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def render(
    record: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    kinds: Sequence[str],
    linker: Linker | None,
    items: Sequence[Mention | Document] = (),
) -> str:
    """Make the page.

    Args:
        record: the figures, as in metrics.json.
        outcomes: the result of each mention.
        kinds: the kind of error of each outcome; empty where there is none.
        linker: the model, which knows the names of concepts.
        items: what was evaluated, for the text around mentions.
    """
    environment = Environment(
        autoescape=True,
        finalize=_plain,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    template = resources.files("linker.evaluation").joinpath("page.html.jinja")
    figures = [
        _accuracy(record),
        _groups(record),
        _errors(record),
        _calibration(record),
        _coverage(record),
        _branches(record),
    ]
    return environment.from_string(template.read_text("utf-8")).render(
        record=record,
        about=_about(record),
        figures=[figure for figure in figures if figure],
        confidence=[*report.confidence_rows(record)] if "calibration" in record else [],
        examples=_examples(outcomes, kinds, linker, items),
        meanings=breakdown.ERRORS,
    )


def _plain(value: Any) -> Any:
    """Write what cannot be printed, such as control characters, as escapes."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _about(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    model, dictionary = record.get("model") or {}, record.get("dictionary") or {}
    sources = [f"{s['file']} {s['release']}".strip() for s in dictionary.get("sources", ())]
    rows = {
        "mentions": record.get("mentions"),
        "predictions": record.get("predictions"),
        "model": model.get("folder"),
        "encoder": model.get("encoder"),
        "dictionary": ", ".join(sources),
        "protocol": record["protocol"],
        "ties": record.get("ties"),
    }
    return [(name, str(value)) for name, value in rows.items() if value]


def _accuracy(record: Mapping[str, Any]) -> Figure:
    names = [*(f"Acc@{k}" for k in record["acc"]), "MRR"]
    values = [*record["acc"].values(), record["mrr"]]
    ends = [*record["acc_interval"].values(), record["mrr_interval"]]
    rows = list(zip(names, values, map(_interval, ends), strict=True))
    text = (
        f"{record['n']:,} mentions. Acc@k is the share of mentions whose right concept is among "
        "the first k. Whiskers are 95% intervals, bootstrapped over the mentions."
    )
    return _bars("accuracy", "Accuracy", text, ("", "value", "95% interval"), rows)


def _groups(record: Mapping[str, Any]) -> Figure | None:
    groups = {name: group for name, group in record.get("groups", {}).items() if group["n"]}
    if not groups or "1" not in record["acc"]:
        return None
    rows = [
        (
            f"{name.replace('_', ' ')} ({group['n']:,})",
            group["acc"]["1"],
            _wilson(group["acc"]["1"], group["n"]),
        )
        for name, group in groups.items()
    ]
    text = (
        "Acc@1 of the mentions and concepts that training has seen, and of the others; in brackets "
        "the number of mentions. Whiskers are 95% Wilson intervals."
    )
    return _bars("groups", "Seen and unseen", text, ("", "Acc@1", "95% interval"), rows)


def _bars(
    name: str,
    heading: str,
    text: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, float, Interval | None]],
    shown_rows: int | None = None,
) -> Figure:
    """A chart of shares with their intervals, and its table."""
    charted = [Bar(label, value, f"{value:.3f}", ends) for label, value, ends in rows[:shown_rows]]
    cells = [[label, decimals(value), _written(ends)] for label, value, ends in rows]
    chart = svg.bars(Title(name, heading, text), charted)
    return Figure(heading, text, chart, columns, cells)


def _errors(record: Mapping[str, Any]) -> Figure | None:
    if not (errors := record.get("errors")):
        return None
    text = "What was returned instead of the right concept, and how often."
    charted = [Bar(kind.replace("_", " "), count, f"{count:,}") for kind, count in errors.items()]
    cells = [
        [kind.replace("_", " "), str(count), breakdown.ERRORS[kind]]
        for kind, count in errors.items()
    ]
    chart = svg.bars(Title("errors", "Kinds of errors", text), charted, max(errors.values()))
    return Figure("Kinds of errors", text, chart, ("kind", "n", "meaning"), cells)


def _calibration(record: Mapping[str, Any]) -> Figure | None:
    if not (calibration := record.get("calibration")):
        return None
    bins = calibration["bins"]
    most = max(each["n"] for each in bins)
    ends = [_wilson(each["acc"], each["n"]) for each in bins]
    points = [
        Point(each["confidence"], each["acc"], interval, each["n"] / most)
        for each, interval in zip(bins, ends, strict=True)
    ]
    left_out = calibration["without_confidence"]
    text = (
        f"Expected calibration error {decimals(calibration['ece'])}, Brier score "
        f"{decimals(calibration['brier'])}, AUROC of right against wrong "
        f"{decimals(calibration['auroc']) or 'not defined'}. Each point is a bin of confidences: "
        "on the diagonal, as many answers are right as the confidence says. The bars at the foot "
        "say how many answers a bin has. A rejected answer counts as if it had been returned. "
        "Whiskers are 95% Wilson intervals."
    )
    if left_out:
        text += f" Answers without a confidence are left out: {left_out:,}."
    axes = ("confidence", "share of right answers")
    chart = svg.curve(Title("calibration", "Calibration", text), points, axes, diagonal=True)
    cells = [
        [decimals(each["confidence"]), decimals(each["acc"]), _written(interval), str(each["n"])]
        for each, interval in zip(bins, ends, strict=True)
    ]
    columns = ("mean confidence", "right", "95% interval", "n")
    return Figure("Calibration", text, chart, columns, cells)


def _coverage(record: Mapping[str, Any]) -> Figure | None:
    if not (curve := record.get("risk_coverage")):
        return None
    steps = {int(percent): step for percent, step in curve["coverage"].items()}
    ends = {percent: _wilson(step["acc"], step["n"]) for percent, step in steps.items()}
    points = [
        Point(percent / 100, steps[percent]["acc"], ends[percent]) for percent in sorted(steps)
    ]
    text = (
        "Acc@1 where only the most confident answers are given, and the others withheld. Area "
        f"under the risk-coverage curve: {decimals(curve['area'])}. Whiskers are 95% Wilson "
        "intervals."
    )
    lowest = svg.floor_of([low for low, _ in ends.values()])
    title, axes = Title("coverage", "Accuracy by coverage", text), ("coverage", "Acc@1")
    chart = svg.curve(title, points, axes, lowest=lowest)
    cells = [
        [
            f"{percent}%",
            decimals(step["acc"]),
            _written(ends[percent]),
            str(step["n"]),
            decimals(step["confidence"]),
        ]
        for percent, step in steps.items()
    ]
    columns = ("coverage", "Acc@1", "95% interval", "n", "minimum confidence")
    return Figure("Accuracy by coverage", text, chart, columns, cells)


def _branches(record: Mapping[str, Any]) -> Figure | None:
    if not (branches := record.get("branches")):
        return None
    rows = [
        (f"{branch['name']} ({branch['n']:,})", branch["acc"], _interval(branch["acc_interval"]))
        for branch in branches
    ]
    text = (
        "Acc@1 by branch of the hierarchy that an annotated concept is in; a mention may count in "
        "several. In brackets the number of mentions. Whiskers are 95% Wilson intervals."
    )
    if len(rows) > _BRANCHES:
        text += f" The chart shows the {_BRANCHES} largest."
    columns = ("branch", "Acc@1", "95% interval")
    return _bars("branches", "Branches of the hierarchy", text, columns, rows, _BRANCHES)


def _interval(ends: Sequence[float | None]) -> Interval | None:
    lower, upper = ends
    return None if lower is None or upper is None else (lower, upper)


def _wilson(share: float, of: int) -> Interval:
    return metrics.share_interval(round(share * of), of)


def _written(interval: Interval | None) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else ""


def _examples(
    outcomes: Sequence[Outcome],
    kinds: Sequence[str],
    linker: Linker | None,
    items: Sequence[Mention | Document],
) -> dict[str, list[Example]]:
    """The most confident errors of each kind, the most frequent kind first."""
    owners = {id(mention): document for mention, document in flatten(items)}
    by_kind: dict[str, list[Outcome]] = {}
    for outcome, kind in zip(outcomes, kinds, strict=True):
        if kind:
            by_kind.setdefault(kind, []).append(outcome)
    examples = {}
    for kind, members in sorted(by_kind.items(), key=lambda pair: -len(pair[1])):
        confident = sorted(members, key=lambda outcome: -(outcome.confidence or 0))
        # the same text is often linked in the same way
        distinct = {(outcome.mention.text, outcome.parts): outcome for outcome in confident[::-1]}
        examples[kind] = [
            _example(outcome, linker, owners.get(id(outcome.mention)))
            for outcome in [*distinct.values()][::-1][:_EXAMPLES]
        ]
    return examples


def _example(outcome: Outcome, linker: Linker | None, document: Document | None) -> Example:
    mention, before, after = outcome.mention, "", ""
    if document and document.passages and mention.spans:
        text, start, end = document.text, mention.spans[0][0], mention.spans[-1][1]
        before = "…" * (start > _AROUND) + text[max(0, start - _AROUND) : start]
        after = shorten(text[end:], _AROUND)
    answers = [_answer(*pair) for pair in zip_longest(outcome.parts, outcome.rejected)]
    gold_ids = [i for group in outcome.gold for i in group.ids]
    return Example(
        _one_line(before),
        _one_line(mention.text),
        _one_line(after),
        shorten(" | ".join(_named(i, linker) for i in gold_ids), 300) or format_gold(()),
        shorten(" | ".join(answers), 300) or "no concept",
        decimals(outcome.confidence),
    )


def _answer(best: Candidate | None, rejected: Candidate | None) -> str:
    """The answer for a part in words."""
    if best:
        return f"{best.concept_id} {best.name}"
    if rejected:
        return f"no concept (rejected: {rejected.concept_id} {rejected.name})"
    return "no concept"


def _one_line(text: str) -> str:
    """A text with blanks for white space of any kind, which would be written as escapes."""
    return re.sub(r"\s", " ", text)


def _named(identifier: str, linker: Linker | None) -> str:
    rows = linker.dictionary.rows(identifier) if linker else ()
    names = [linker.dictionary.preferred_name(row) for row in rows] if linker else []
    return " ".join([identifier, *names[:1]])

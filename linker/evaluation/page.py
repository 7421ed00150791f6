"""The page report.html: the figures of an evaluation as charts and tables, in one file.

It needs no network, and runs no script. The template says what each figure is, draws the charts as
SVG, and escapes all that comes from the data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import zip_longest
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from linker import metrics
from linker.errors import shorten, shown
from linker.evaluation import report
from linker.evaluation.protocols import ERRORS, Outcome
from linker.ids import format_gold
from linker.linking.linker import Linker
from linker.outputs import decimals
from linker.readers.mentions import flatten
from linker.types import Candidate, Document, Mention

_EXAMPLES = 5  # of each kind of error
_AROUND = 80  # characters of text on each side of a mention


def render(
    record: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    linker: Linker | None,
    items: Sequence[Mention | Document] = (),
) -> str:
    """Make the page.

    Args:
        record: the figures, as in metrics.json.
        outcomes: the result of each mention.
        linker: the model, which knows the names of concepts.
        items: what was evaluated, for the text around mentions.
    """
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
        confidence=[*report.confidence_rows(record)] if "calibration" in record else [],
        examples=_examples(outcomes, linker, items),
        meanings=ERRORS,
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
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _about(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    model, dictionary = record.get("model") or {}, record.get("dictionary") or {}
    sources = [f"{s['file']} {s['release']}".strip() for s in dictionary.get("sources", ())]
    of_model = {"model": model.get("folder"), "encoder": model.get("encoder")}
    facts = {**record, **of_model, "dictionary": ", ".join(sources)}
    names = ("mentions", "predictions", "model", "encoder", "dictionary", "protocol", "ties")
    return [(name, str(facts[name])) for name in names if facts.get(name)]


def _rows(record: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of the tables, most of which begin with a name or x, a share and its interval."""
    groups = [
        (f"{name.replace('_', ' ')} ({group['n']:,})", *_share(group["acc"]["1"], group["n"]))
        for name, group in record.get("groups", {}).items()
        if group["n"] and "1" in group["acc"]
    ]
    branches = [
        (f"{branch['name']} ({branch['n']:,})", branch["acc"], branch["acc_interval"])
        for branch in record.get("branches", ())
    ]
    bins = [
        (each["confidence"], *_share(each["acc"], each["n"]), each["n"])
        for each in (record.get("calibration") or {}).get("bins", ())
    ]
    steps = [
        (f"{percent}%", *_share(step["acc"], step["n"]), step["n"], step["confidence"])
        for percent, step in (record.get("risk_coverage") or {}).get("coverage", {}).items()
    ]
    lowest = min((ends[0] for _, _, ends, _, _ in steps), default=0)
    return {
        "accuracy": [
            *((f"Acc@{k}", acc, record["acc_interval"][k]) for k, acc in record["acc"].items()),
            ("MRR", record["mrr"], record["mrr_interval"]),
        ],
        "groups": groups,
        "errors": [
            (kind.replace("_", " "), count, ERRORS[kind])
            for kind, count in record.get("errors", {}).items()
        ],
        "bins": bins,
        "steps": steps,
        # the tenth below all intervals
        "lowest": max(0.0, min(0.9, math.floor(10 * lowest) / 10)),
        "branches": branches,
    }


def _share(share: float, of: int) -> tuple[float, tuple[float, float]]:
    """A share with its interval."""
    return share, metrics.share_interval(round(share * of), of)


def _examples(
    outcomes: Sequence[Outcome], linker: Linker | None, items: Sequence[Mention | Document]
) -> dict[str, list[dict[str, str]]]:
    """The most confident errors of each kind, the most frequent kind first."""
    owners = {id(mention): document for mention, document in flatten(items)}
    by_kind: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.error:
            by_kind.setdefault(outcome.error, []).append(outcome)
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


def _example(outcome: Outcome, linker: Linker | None, document: Document | None) -> dict[str, str]:
    """A mention that was linked wrongly, with the text around it."""
    mention, before, after = outcome.mention, "", ""
    if document and document.passages and mention.spans:
        text, start, end = document.text, mention.spans[0][0], mention.spans[-1][1]
        before = "…" * (start > _AROUND) + text[max(0, start - _AROUND) : start]
        after = shorten(text[end:], _AROUND)
    texts = {"before": before, "mention": mention.text, "after": after}
    answers = [_answer(*pair) for pair in zip_longest(outcome.parts, outcome.rejected)]
    gold = [_named(i, linker) for group in outcome.gold for i in group.ids]
    return {
        # white space of other kinds would be written as escapes
        **{name: re.sub(r"\s", " ", text) for name, text in texts.items()},
        "gold": shorten(" | ".join(gold), 300) or format_gold(()),
        "answer": shorten(" | ".join(answers), 300) or "no concept",
        "confidence": decimals(outcome.confidence),
    }


def _answer(best: Candidate | None, rejected: Candidate | None) -> str:
    """The answer for a part in words."""
    if best:
        return f"{best.concept_id} {best.name}"
    if rejected:
        return f"no concept (rejected: {rejected.concept_id} {rejected.name})"
    return "no concept"


def _named(identifier: str, linker: Linker | None) -> str:
    rows = linker.dictionary.rows(identifier) if linker else ()
    names = [linker.dictionary.preferred_name(row) for row in rows] if linker else []
    return " ".join([identifier, *names[:1]])

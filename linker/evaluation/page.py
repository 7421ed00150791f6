"""The page report.html: the figures of an evaluation as charts and tables, in one file.

It needs no network, and runs no script. The template says what each figure is, draws the charts as
SVG, and escapes all that comes from the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from linker.errors import shorten, shown
from linker.evaluation import metrics, report
from linker.evaluation.protocols import ERRORS
from linker.io.outputs import decimals


def render(record: Mapping[str, Any]) -> str:
    """Make the page of the figures of an evaluation, as in metrics.json."""
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

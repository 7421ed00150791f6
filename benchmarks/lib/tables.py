"""What the pages' tables are made of; needs no data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def result(name: str) -> dict[str, Any]:
    """The figures of a benchmark."""
    figures: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))[
        "figures"
    ]
    return figures


def runs(name: str) -> dict[str, Any]:
    """The figures of a benchmark of dense runs, of which there may be none yet."""
    return result(name) if (RESULTS / f"{name}.json").exists() else {"rows": [], "differences": []}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head, rows = list(head), list(rows)
    if not rows:
        return "No runs yet."
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))

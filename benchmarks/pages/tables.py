"""What the tables of the pages are made of; needs no data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.lib import results

Row = dict[str, Any]


def rows(name: str, part: str = "rows") -> list[Row]:
    """The rows of a benchmark; none where it has not run yet."""
    lines: list[Row] = results.figures(name)[part] if results.exists(name) else []
    return lines


def table(head: str, lines: Iterable[Iterable[str]]) -> str:
    """A Markdown table.

    Args:
        head: the titles of the columns, with " | " between them.
        lines: the cells of each row.
    """
    titles, lines = head.split(" | "), [list(line) for line in lines]
    if not lines:
        return "No runs yet."
    every = (titles, ["---"] * len(titles), *lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in every)


def mean(values: Sequence[float]) -> str:
    """A mean with the minimum and the maximum of its runs, where there are several."""
    shown = "{:.3f} ({:.3f}-{:.3f})" if values[1] < values[2] else "{:.3f}"
    return shown.format(*values)


def interval(values: Sequence[float]) -> str:
    """A value with its interval."""
    return "{:.4f} ({:.3f}-{:.3f})".format(*values)


def gain(values: Sequence[float]) -> str:
    """A difference with its interval."""
    return "{:+.4f} ({:+.4f} to {:+.4f})".format(*values)


def starred(names: Iterable[tuple[str, bool]]) -> list[str]:
    """Names, with a star behind those that are right."""
    return [f"{name}{' *' * is_right}".replace("*", "\\*") for name, is_right in names]

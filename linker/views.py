"""Rows of a table as a data frame, and as HTML for notebooks."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from linker.errors import LinkerError, shown


def frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """A data frame of pandas where that is installed, else one of polars.

    Raises:
        LinkerError: neither is installed.
    """
    for package, options in (
        ("pandas", {"columns": columns}),
        ("polars", {"schema": columns, "orient": "row", "infer_schema_length": None}),
    ):
        try:
            library = importlib.import_module(package)
        except ImportError:
            continue
        return library.DataFrame(list(rows), **options)
    raise LinkerError("a data frame needs pandas or polars: pip install pandas")


def html(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, more: int = 0) -> str:
    """A table in HTML, in which all texts are escaped.

    Args:
        columns: its header.
        rows: its cells; floats have 4 decimals, and None is empty.
        more: what is not in the table, which a line below it counts.
    """

    def line(cells: Iterable[Any], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(_text(cell))}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    note = f"<p>and {more:,} more</p>" if more else ""
    return f"<table><thead>{line(columns, 'th')}</thead><tbody>{body}</tbody></table>{note}"


def _text(cell: Any) -> str:
    return shown("" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell))

"""Predictions: the answers for a list of mentions, as a table too."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from tabulate import tabulate

from linker.errors import LinkerError, shown
from linker.io import tsv
from linker.records import Prediction

_SHOWN = 20  # predictions that a notebook shows
_AS_TEXT: dict[str, Any] = {"disable_numparse": True, "preserve_whitespace": True}


class Predictions(list[Prediction]):
    """The answers for a list of mentions, in their order: a list that shows itself as a table."""

    def __getitem__(self, place: Any) -> Any:
        """One answer, or those of a slice."""
        found = super().__getitem__(place)
        return Predictions(found) if isinstance(found, list) else found

    def to_dict(self) -> list[dict[str, Any]]:
        """An object for each answer, see `Prediction.to_dict`."""
        return [prediction.to_dict() for prediction in self]

    def to_frame(self) -> Any:
        """A data frame with the rows of the tsv that `linker link` writes, best candidates first.

        It is one of pandas where that is installed, else one of polars. Columns that a tsv has only
        for documents, lent names and decisions are there where they have a value.

        Raises:
            LinkerError: neither is installed.
        """
        return _frame(*tsv.table(self))

    def __repr__(self) -> str:
        linked = sum(all(part.best for part in prediction.parts) for prediction in self)
        lines = [f"<Predictions: {len(self):,} mentions, {linked:,} linked>"]
        lines += [f"  {prediction}" for prediction in self[:_SHOWN]]
        if more := len(self[_SHOWN:]):
            lines.append(f"  and {more:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns, rows = tsv.table(self[:_SHOWN])
        table = tabulate([list(map(_text, row)) for row in rows], columns, "html", **_AS_TEXT)
        more = len(self[_SHOWN:])
        return str(table) + (f"<p>and {more:,} more</p>" if more else "")


def _frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
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


def _text(cell: Any) -> str:
    return shown("" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell))

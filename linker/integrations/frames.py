"""Linking the mentions in a column of a data frame."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw
from narwhals.exceptions import DuplicateError

from linker.arguments import TEXT, Kind, public
from linker.errors import LinkerError, shorten
from linker.integrations import Model, linker_of
from linker.io.files import MENTION_LIMIT
from linker.io.outputs import Layout, outcome
from linker.jobs import tables
from linker.jobs.linking import lends
from linker.linking.linker import Linker
from linker.linking.requests import LIMITS, Limits
from linker.linking.tally import Tally
from linker.records import Prediction

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Frame = TypeVar("_Frame")
logger = logging.getLogger(__name__)
_AT_ONCE = 1024  # texts that are linked together, so that a bar shows nothing before their end
_MISSING = ("None", "nan", "NaN", "NaT", "<NA>")  # cells that are no text, as they are written


@public(
    "linker.link_column",
    LIMITS,
    model=Kind("a linker, or the folder of one", ("Linker", str, os.PathLike)).or_none(),
    prefix=TEXT,
)
def link_column(
    frame: _Frame,
    column: str,
    model: Model = None,
    *,
    prefix: str = "",
    progress: bool | None = None,
    **limits: Unpack[Limits],
) -> _Frame:
    """Link the mentions in a column of a data frame.

    Rows, index and types stay as they are. Behind them come the columns that `linker link --column`
    adds to a table, where what stands for several parts of a mention is joined by `|`; but
    `confidence` is one number, the product of those of the parts. With k above 1 there is a column
    `candidates`, too: a list of the ids of all candidates, part by part, the best first. A cell
    that is missing, blank, or longer than 1,000 characters has missing answers. Equal texts are
    linked once.

    Args:
        frame: a data frame of pandas or polars, or a table of pyarrow.
        column: of texts.
        model: a linker, or the folder of one; None: $LINKER_MODEL, else ./linker-model. The model
            stays loaded.
        prefix: of the names of the new columns.
        progress: whether to show a bar; None: in a notebook, for more than 1,024 texts.
        limits: as for `Linker.link`; but k is 1 unless it is given.

    Raises:
        LinkerError: the frame is none, or its rows are not there yet; it does not have the column,
            has several columns with one name, or has one of the new columns; a cell is neither a
            text nor missing.
    """
    try:
        table = nw.from_native(frame, pass_through=True)
    except DuplicateError:
        native: Any = frame
        is_of_pyarrow = hasattr(native, "column_names")
        names = Counter(native.column_names if is_of_pyarrow else native.columns)
        twice = ", ".join(repr(name) for name, count in names.items() if count > 1)
        raise LinkerError(
            f"the frame has several columns with the name {shorten(twice, 300)}; rename or drop "
            "all but one"
        ) from None
    if not isinstance(table, nw.DataFrame):
        raise LinkerError(
            f"linker.link_column: a {type(frame).__name__} is no data frame of pandas or polars, "
            "and no table of pyarrow, whose rows are there; give one (in polars frame.collect())"
        )
    if column not in table.columns:
        listed = shorten(", ".join(map(str, table.columns)), 300) or "none"
        raise LinkerError(f"the frame has no column {column!r}; it has: {listed}")
    linker = linker_of(model)
    layout = Layout(
        sources=lends(linker) or limits.get("decisions") is not None,
        decisions=limits.get("decisions") is not None,
        also=bool(limits.get("also")),
        sets=bool(limits.get("coverage")),
        broader=linker.has_broader and not limits.get("exact_only"),
        beside=True,
    )
    dtypes: dict[str, Any] = dict.fromkeys(tables.columns(layout), nw.String)
    dtypes["confidence"] = nw.Float64
    if limits.setdefault("k", 1) > 1:  # pandas has lists in columns of objects alone
        dtypes["candidates"] = None if table.implementation.is_pandas() else nw.List(nw.String)
    if there := [name for name in dtypes if prefix + name in table.columns]:
        raise LinkerError(
            f"the frame has a column {prefix + there[0]} already; drop it, or name the new columns "
            f"otherwise: prefix={f'{column}_'!r}"
        )
    texts = texts_of(table.get_column(column).to_list(), column)
    counts, rows, tally = Counter(filter(None, texts)), dict[str, dict[str, Any]](), Tally()
    if None in texts:
        tally.outcomes[outcome(None)] = texts.count(None)
    with _bar(len(counts), progress) as bar:
        for text, prediction in linked(linker, texts, **limits):
            rows[text] = _row(prediction)
            tally.outcomes[outcome(prediction)] += counts[text]
            tally.see(prediction, counts[text])
            bar.update()
    new = (
        nw.new_series(
            prefix + name,
            [rows[text][name] if text else None for text in texts],
            dtype,
            backend=table.implementation,
        )
        for name, dtype in dtypes.items()
    )
    made = table.with_columns(new).to_native()
    if table.implementation.is_pandas():  # others have no place for it
        made.attrs["linker"] = tally.lines("row", linker.calibration, limits.get("coverage"))
    return made  # type: ignore[no-any-return]


def _bar(count: int, progress: bool | None) -> Any:
    """A bar of tqdm, in a notebook one of its widgets where there are any.

    Args:
        count: how many texts are linked.
        progress: whether it is shown; None: see `link_column`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a notebook has no widgets
        from tqdm.auto import tqdm
    if progress is None:
        progress = count > _AT_ONCE and _is_notebook()
    return tqdm(total=count, unit=" texts", leave=False, disable=not progress)


def _is_notebook() -> bool:
    """Whether this is a kernel of Jupyter."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return "IPKernelApp" in getattr(get_shell(), "config", {})


def texts_of(cells: Iterable[Any], column: object) -> list[str | None]:
    """The texts in cells, None for those that are missing, blank, or too long, which is logged.

    Args:
        cells: of a column.
        column: its name, for messages.

    Raises:
        LinkerError: a cell is something else.
    """
    texts, long = list[str | None](), 0
    for place, cell in enumerate(cells):
        if not isinstance(cell, str) and str(cell) not in _MISSING:
            raise LinkerError(
                f"column {column!r}, row {place} (from 0): {shorten(repr(cell))} is no text; "
                "name a column of texts, or make it one"
            )
        text = cell.strip() if isinstance(cell, str) else ""
        long += len(text) > MENTION_LIMIT
        texts.append(text if 0 < len(text) <= MENTION_LIMIT else None)
    if long:
        said = "column %r: %s of more than %s characters, which have missing answers"
        logger.warning(said, column, f"{long:,} cell{'s' * (long != 1)}", f"{MENTION_LIMIT:,}")
    return texts


def linked(
    linker: Linker, texts: Iterable[str | None], **limits: Unpack[Limits]
) -> Iterator[tuple[str, Prediction]]:
    """Yield each distinct text with its prediction."""
    distinct = list(dict.fromkeys(filter(None, texts)))
    yield from zip(distinct, linker.link(iter(distinct), **limits), strict=True)


def _row(prediction: Prediction) -> dict[str, Any]:
    """The values of all columns for a mention."""
    cells = (cell or None for cell in tables.cells(prediction))
    return {
        **dict(zip(tables.COLUMNS, cells, strict=True)),
        "confidence": prediction.confidence,
        "candidates": [c.concept_id for part in prediction.parts for c in part.returned],
    }

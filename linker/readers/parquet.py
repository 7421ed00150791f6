"""Mentions in a column of a Parquet file; needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike, open_binary, reading
from linker.formats import pyarrow_for
from linker.ids import Identify, not_known
from linker.readers.jsonl import from_record
from linker.types import SELECTION, Mention

_NAMES = ("mention", "text")  # of the column of mentions; the first that is there counts
_OTHERS = ("document_id", "type", "gold", "spans", *SELECTION)
_ROWS = 10_000  # that are in memory at once


def read(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    identify: Identify = not_known,
    column: str | None = None,
) -> Iterator[Mention]:
    """Yield the mention of each row.

    The columns `document_id`, `type`, `gold`, `spans`, `under`, `not_under`, `types` and
    `namespaces` are read where they are, and mean what the keys of a JSON line mean. Spans that
    are no lists are passed over, as are other columns.

    Args:
        path: the file.
        on_error: what to do with a bad row.
        identify: see `linker.ids.split_ids`.
        column: the name of the column of mentions; None for `mention`, else `text`.

    Raises:
        InputError: the file is no valid Parquet, or has no such column of texts.
        LinkerError: pyarrow is not installed.
    """
    arrow, parquet = pyarrow_for(path)
    with open_binary(path) as file, reading(path):
        if not file.peek(1):  # type: ignore[attr-defined]
            return
        is_whole = not file.seekable()
        source = arrow.BufferReader(file.read()) if is_whole else arrow.PythonFile(file, "r")
        number = 0
        try:
            table = parquet.ParquetFile(source)
            column = _column(path, table.schema_arrow, column)
            names = {name: name for name in _read_too(table.schema_arrow)} | {column: "mention"}
            _check_names(path, table.schema_arrow, names)
            for batch in table.iter_batches(_ROWS, columns=list(names), use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    try:
                        mention = from_record({names[key]: row[key] for key in names}, identify)
                    except ValueError as error:
                        on_error(_of_row(f"{path}, row {number}", error))
                    else:
                        yield mention
        except (arrow.ArrowException, LookupError, ValueError, TypeError, AttributeError) as error:
            where = f" after row {number}" if number else ""
            problem = f"is no valid Parquet file{where} ({error})"
            raise InputError(path, problem, remedy="write the file again") from None


def _column(path: Pathlike, schema: Any, column: str | None) -> str:
    """The name of the column of mentions."""
    names = [column] if column else [name for name in _NAMES if name in schema.names]
    if not names or names[0] not in schema.names:
        problem = f"has no column {column}" if column else "has no column mention or text"
        remedy = "name the column of mentions with --column"
        columns = f"one of its columns: {', '.join(schema.names) or 'none'}"
        raise InputError(path, problem, expected=columns, remedy=remedy)
    _check_names(path, schema, names[:1])
    if (kind := str(schema.field(names[0]).type)) not in ("string", "large_string", "string_view"):
        problem = f"the column {names[0]} holds {kind}"
        raise InputError(path, problem, expected="texts", remedy="name another with --column")
    return names[0]


def _check_names(path: Pathlike, schema: Any, names: Iterable[str]) -> None:
    """Check that no two of the columns that are read have the same name."""
    for name in names:
        if (count := schema.names.count(name)) > 1:
            problem = f"has {count} columns of the name {name}"
            raise InputError(path, problem, expected="one", remedy="rename or remove the others")


def _read_too(schema: Any) -> list[str]:
    """The names of the columns that are read beside that of mentions."""
    has_lists = "spans" in schema.names and "list" in str(schema.field("spans").type)
    return [n for n in _OTHERS if n in schema.names and (n != "spans" or has_lists)]


def _of_row(place: str, error: ValueError) -> InputError:
    if isinstance(error, RecordError):
        return error.at(place, None)
    return InputError(place, str(error), expected="a mention", remedy="mend or remove the row")

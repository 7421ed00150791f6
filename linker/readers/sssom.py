"""Mappings between vocabularies in SSSOM's TSV format: which id means the same as which other.

A comment of metadata may stand above the header. The columns `subject_id`, `predicate_id` and
`object_id` are needed; `subject_label`, `object_label`, `predicate_modifier`, `subject_type` and
`object_type` are read where they are there, in any order, and other columns are passed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from linker.errors import InputError, OnError, ignore, stop
from linker.files import Pathlike, read_lines
from linker.ids import normalized
from linker.readers.records import split_csv
from linker.types import IdMapping

_NEEDED = ("subject_id", "predicate_id", "object_id")
_METADATA = ("curie_map:", "mapping_set_id:")  # keys that every comment of metadata has
_VERSION = "mapping_set_version:"
_NOTHING = "sssom:notermfound"  # stands for an id where the other vocabulary has none
_LITERAL = "rdfs literal"  # the type of a subject or object that is a text without an id


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines are metadata of mappings, or name the columns of mappings."""
    comments = [line.lstrip("# ") for line in head if line.startswith("#")]
    header = next((line for line in head if not line.startswith("#")), "")
    return set(_NEEDED) <= set(_columns(header)) or any(
        line.startswith(_METADATA) for line in comments
    )


def release(path: Pathlike) -> str:
    """The version of the mappings that the metadata states; empty where they state none."""
    for _, line in read_lines(path, on_error=ignore):
        text = line.lstrip("# ")
        if not line.startswith("#"):
            break
        if text.startswith(_VERSION):
            return text.removeprefix(_VERSION).strip().strip("\"'")
    return ""


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[IdMapping]:
    """Yield the mappings of a file, in its order.

    Rows that say that two ids do not match, that there is no match, or what a text without an id
    matches, are passed over.

    Raises:
        InputError: there is no header with the columns that are needed, or what `on_error` raises.
    """
    columns: list[str] = []
    number = 0
    for number, line in read_lines(path, on_error=on_error):
        if not columns:
            if not line.startswith("#") and line.strip():
                columns = _checked_columns(path, number, line)
            continue
        if not line.strip():
            continue
        try:
            mapping = _mapping(path, number, line, columns)
        except InputError as error:
            on_error(error)
        else:
            if mapping:
                yield mapping
    if not columns:
        raise _no_columns(path, None, None)


def concept_id(cell: str) -> str:
    """The id in a cell, without the prefix that we give to ids that have none; empty for none."""
    identifier = cell.strip()
    is_nothing = identifier.lower() == _NOTHING
    return "" if is_nothing else unquote(identifier.removeprefix("local:"))


def _columns(line: str) -> list[str]:
    return [name.strip().strip('"') for name in line.split("\t")]


def _checked_columns(path: Pathlike, number: int, line: str) -> list[str]:
    columns = _columns(line)
    if not set(_NEEDED) <= set(columns) or len(set(columns)) < len(columns):
        raise _no_columns(path, number, line)
    return columns


def _no_columns(path: Pathlike, number: int | None, line: str | None) -> InputError:
    return InputError(
        path,
        "no line names the columns of mappings",
        line=number,
        value=line,
        expected=f"{', '.join(_NEEDED)}, each once and with tabs between them",
        remedy="name a file of mappings in SSSOM's TSV format",
    )


def _mapping(path: Pathlike, number: int, line: str, columns: Sequence[str]) -> IdMapping | None:
    """The mapping of a row; None where the row says that there is none."""
    cells = split_csv(path, number, line, "\t")
    if len(cells) != len(columns):
        raise InputError(
            path,
            f"{len(cells)} columns",
            line=number,
            value=line,
            expected=f"{len(columns)}, as in the header",
            remedy="write line ends and tabs inside a cell as blanks",
        )
    row = defaultdict(str, zip(columns, map(str.strip, cells), strict=True))
    if row["predicate_modifier"].lower() == "not" or _LITERAL in (
        row["subject_type"].lower(),
        row["object_type"].lower(),
    ):
        return None
    for name in _NEEDED:
        if not row[name] or row[name].endswith(":"):
            raise InputError(
                path,
                f"the column {name!r} is empty",
                line=number,
                value=line,
                expected="an identifier such as MESH:D001260",
                remedy="give one or remove the line",
            )
    if _NOTHING in (row["subject_id"].lower(), row["object_id"].lower()):
        return None
    return IdMapping(
        normalized(row["subject_id"]),
        row["subject_label"],
        row["predicate_id"],
        normalized(row["object_id"]),
        row["object_label"],
        number,
    )

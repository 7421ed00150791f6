"""MEDIC, the disease vocabulary of CTD (Davis 2012): tsv or csv, the columns named in a comment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from linker.errors import InputError, OnError, ignore, stop
from linker.files import Pathlike, read_lines
from linker.ids import curie, namespace
from linker.readers.records import fault, make_names, split_csv, split_list
from linker.types import Concept

_USED = (
    "DiseaseID",
    "DiseaseName",
    "Synonyms",
    "ParentIDs",
    "AltDiseaseIDs",
    "Definition",
    "SlimMappings",
)
_RELEASE = "Report created:"


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold the comment that names MEDIC's columns."""
    return any(_columns(line) for line in head)


def release(path: Pathlike) -> str:
    """The date after "Report created:", as the file writes it; empty where there is none."""
    for _, line in read_lines(path, on_error=ignore):
        if not line.startswith("#"):
            break
        if _RELEASE in line:
            return line.partition(_RELEASE)[2].strip()
    return ""


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read the concepts of a CTD disease file, in its order; SlimMappings become the types.

    Raises:
        InputError: the comment that names the columns is missing, or what `on_error` raises.
    """
    columns: list[str] = []
    tabs = True
    pick: Callable[[list[str]], tuple[Any, ...]] = tuple
    for number, line in read_lines(path, on_error=on_error):
        if line.startswith("#"):
            if not columns and (columns := _columns(line)):
                tabs, pick = "\t" in line, itemgetter(*(columns.index(name) for name in _USED))
            continue
        if not columns:
            raise _no_columns(path, number, line)
        if not line:
            continue
        try:
            cells = line.split("\t") if tabs else split_csv(path, number, line, ",")
            if len(cells) != len(columns):
                raise _wrong_width(path, number, line, len(cells), columns)
            yield _concept(path, number, pick(cells))
        except InputError as error:
            on_error(error)


def _columns(line: str) -> list[str]:
    """The column names, where `line` is the comment that gives them."""
    text = line.lstrip("# ")
    names = [name.strip() for name in text.split("\t" if "\t" in text else ",")]
    return names if line.startswith("#") and set(_USED) <= set(names) else []


def _concept(path: Pathlike, number: int, cells: Sequence[str]) -> Concept:
    """The concept of a line, whose cells are in the order of `_USED`."""
    identifier, name, synonyms, parents, alt_ids, definition, types = cells
    identifier, name = curie(identifier), name.strip()
    texts = split_list(synonyms)
    if error := fault(path, number, identifier, (name, *texts)):
        raise error
    return Concept(
        identifier,
        name,
        make_names(identifier, name, dict.fromkeys(texts, "exact")),
        parents=tuple(map(curie, split_list(parents))),
        alt_ids=tuple(map(curie, split_list(alt_ids))),
        definition=definition.strip(),
        types=tuple(split_list(types)),
        namespace=namespace(identifier),
        line=number,
    )


def _no_columns(path: Pathlike, number: int, line: str) -> InputError:
    expected = 'first a comment that names the columns ("# DiseaseName", "DiseaseID", …)'
    remedy = "take the file as CTD offers it, comments included"
    return InputError(
        path,
        "no line above names the columns of MEDIC",
        line=number,
        value=line,
        expected=expected,
        remedy=remedy,
    )


def _wrong_width(
    path: Pathlike, number: int, line: str, width: int, columns: list[str]
) -> InputError:
    expected = f"{len(columns)}: {', '.join(columns)}"
    return InputError(
        path,
        f"{width} columns",
        line=number,
        value=line,
        expected=expected,
        remedy="fetch the file again",
    )

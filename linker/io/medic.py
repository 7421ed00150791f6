"""MEDIC, the disease vocabulary of CTD (Davis 2012): tsv or csv, the columns named in a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain

from linker.errors import InputError, OnError, stop
from linker.ids import curie
from linker.io.files import Pathlike, read_lines
from linker.io.parsing import by_column, comments, make_concept, numbered, parse_each
from linker.io.rows import TableRow, delimiter_of, read_rows, titles_of
from linker.records import Concept

_USED = {
    *("DiseaseID", "DiseaseName", "Synonyms", "ParentIDs", "AltDiseaseIDs"),
    *("Definition", "SlimMappings"),
}
# CTD writes: Thu Apr 30 12:42:36 EDT 2026
_RELEASE = re.compile(r"Report created: *\w+ (\w{3}) +(\d+) .*(\d{4})")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold the comment that names MEDIC's columns."""
    return any(map(_names_columns, head))


def release(path: Pathlike) -> str:
    """The day after "Report created:", such as 2026-04-30; empty where there is none."""
    for line in comments(path):
        if date := _RELEASE.search(line):
            return f"{datetime.strptime(' '.join(date.groups()), '%b %d %Y'):%Y-%m-%d}"
    return ""


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read the concepts of a CTD disease file, in its order; SlimMappings become the types.

    Raises:
        InputError: the comment that names the columns is missing, or what `on_error` raises.
    """
    lines = read_lines(path, keep_ends=True, on_error=on_error)
    header, first = "", None
    for first in lines:
        if not first[1].startswith("#"):
            break
        if not header and _names_columns(first[1]):
            header = first[1].lstrip("# ")
    if first is None or first[1].startswith("#"):
        return
    if not header:
        problem, remedy = "no comment names the columns of MEDIC", "take the file as CTD offers it"
        raise InputError(path, problem, line=first[0], value=first[1], remedy=remedy)
    columns = titles_of(header)

    def parse(number: int, row: TableRow) -> Concept:
        return _concept(number, by_column(row, columns))

    data = (line for line in chain([first], lines) if not line[1].startswith("#"))
    rows = read_rows(path, data, delimiter_of(header), on_error)
    yield from parse_each(path, numbered(rows), parse, on_error)


def _names_columns(line: str) -> bool:
    """Whether a line is the comment that names the columns."""
    return line.startswith("#") and set(titles_of(line.lstrip("# "))) >= _USED


def _concept(number: int, row: Mapping[str, str]) -> Concept:
    return make_concept(
        curie(row["DiseaseID"]),
        row["DiseaseName"],
        dict.fromkeys(_list(row["Synonyms"]), "exact"),
        parents=tuple(map(curie, _list(row["ParentIDs"]))),
        alt_ids=tuple(map(curie, _list(row["AltDiseaseIDs"]))),
        definition=row["Definition"],
        types=tuple(_list(row["SlimMappings"])),
        line=number,
    )


def _list(cell: str) -> list[str]:
    """Split a cell at its bars; white space around the parts and blank parts are dropped."""
    return [text for part in cell.split("|") if (text := part.strip())]

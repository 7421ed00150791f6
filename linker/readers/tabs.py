"""Tables between tabs in which a quote is a character, and what several of them say of a concept.

So are the files of OMOP's Athena and of SNOMED CT (RF2).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from linker.errors import InputError, OnError, RecordError
from linker.files import Pathlike, read_lines
from linker.readers.records import parse_each

_Parsed = TypeVar("_Parsed")


def read_table(
    path: Pathlike,
    columns: Sequence[str],
    parse: Callable[..., _Parsed | None],
    on_error: OnError,
) -> Iterator[_Parsed]:
    """Parse the rows of a table, and yield what is not None.

    Args:
        path: the file, with the names of its columns in the first line.
        columns: those that are wanted.
        parse: is given the number of the line, and the cells of these columns one by one.
        on_error: what to do with a bad row.

    Raises:
        InputError: a column is not there, or what `on_error` raises.
    """
    lines = read_lines(path, on_error=on_error)
    _, header = next(lines, (1, ""))
    titles = header.split("\t")
    if missing := [column for column in columns if column not in titles]:
        raise InputError(
            path,
            f"there is no column {missing[0]!r}",
            line=1,
            value=header,
            expected=f"with tabs between them {', '.join(columns)}",
            remedy="take the file as it was published",
        )
    places, width = [titles.index(column) for column in columns], len(titles)

    def of_line(number: int, line: str) -> _Parsed | None:
        cells = line.split("\t")
        if len(cells) != width:
            raise RecordError(f"{len(cells)} columns", line, expected=f"{width}, as in the header")
        return parse(number, *[cells[place] for place in places])

    yield from parse_each(path, lines, of_line, on_error)


def number_of(text: str) -> int:
    """The number that an id is.

    Raises:
        RecordError: it is none, or has more than 18 digits.
    """
    if not text.isdecimal() or len(text) > 18:
        raise RecordError("the id is no number", text, expected="1 to 18 digits")
    return int(text)


class Grouped:
    """Texts on concepts that come in any order, packed and sorted by concept.

    Args:
        rows: the number of a concept, and a text.
    """

    def __init__(self, rows: Iterable[tuple[int, str]]) -> None:
        owners, ends, data = array("q"), array("q", [0]), bytearray()
        for owner, text in rows:
            data += text.encode()
            owners.append(owner)
            ends.append(len(data))
        places = np.frombuffer(ends, np.int64)
        order = np.argsort(np.frombuffer(owners, np.int64), kind="stable")
        self.owners = np.frombuffer(owners, np.int64)[order]
        self._starts, self._stops, self._data = places[order], places[1:][order], data

    def __getitem__(self, owner: int) -> list[str]:
        start, stop = np.searchsorted(self.owners, (owner, owner + 1)).tolist()
        starts, stops = self._starts[start:stop].tolist(), self._stops[start:stop].tolist()
        return [self._data[a:b].decode() for a, b in zip(starts, stops, strict=True)]

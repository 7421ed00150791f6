"""Large tables in which a quote is a character, and what several of them say of a concept.

So are the files of OMOP's Athena, of SNOMED CT (RF2), and of the UMLS (RRF).
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from linker.errors import InputError, LinkerError, OnError, RecordError
from linker.io.files import OpenFile, Pathlike, is_folder, read_lines
from linker.io.languages import Statement
from linker.io.parsing import parse_each

logger = logging.getLogger(__name__)

_Parsed = TypeVar("_Parsed")


def read_table(
    path: Pathlike,
    columns: Sequence[str],
    parse: Callable[..., _Parsed | None],
    on_error: OnError,
    titles: str = "",
) -> Iterator[_Parsed]:
    """Parse the rows of a table, and yield what is not None.

    Args:
        path: the file, with the names of its columns in the first line, and tabs between them.
        columns: those that are wanted.
        parse: is given the number of the line, and the cells of these columns one by one.
        on_error: what to do with a bad row.
        titles: the names of the columns with bars between them, of a file with bars and no names.

    Raises:
        InputError: a column is not there, or what `on_error` raises.
    """
    lines, sign = read_lines(path, on_error=on_error), "|" if titles else "\t"
    named = titles.split(sign) if titles else next(lines, (1, ""))[1].split(sign)
    if missing := [column for column in columns if column not in named]:
        raise InputError(
            path,
            f"there is no column {missing[0]!r}",
            line=1,
            value=sign.join(named),
            expected=f"with tabs between them {', '.join(columns)}",
            remedy="take the file as it was published",
        )
    places, width = [named.index(column) for column in columns], len(named)

    def of_line(number: int, line: str) -> _Parsed | None:
        cells = line.split(sign)
        if len(cells) != width:
            expected = f"{width}, as in {titles or 'the header'}"
            raise RecordError(f"{len(cells)} columns", line, expected=expected)
        return parse(number, *[cells[place] for place in places])

    yield from parse_each(path, lines, of_line, on_error)


def read_beside(
    first: Pathlike,
    name: str,
    lacking: str,
    columns: Sequence[str],
    parse: Callable[..., _Parsed | None],
    on_error: OnError,
    titles: str = "",
) -> Iterator[_Parsed]:
    """Parse the rows of another table, in the folder of the first; see `read_table`.

    Args:
        first: the file of the first table; an open file stands in no folder.
        name: of the other file.
        lacking: what concepts lack without it, as a warning says.
        columns, parse, on_error, titles: as for `read_table`.
    """
    place = first if isinstance(first, OpenFile) else Path(first).parent
    if path := find(place, name):
        yield from read_table(path, columns, parse, on_error, titles)
    else:
        logger.warning("%s: there is no %s, so the concepts have no %s", place, name, lacking)


def first_table(path: Pathlike, name: str) -> Pathlike:
    """The file of this name in a folder; any other path is that of the file.

    Raises:
        LinkerError: the folder has none.
    """
    if not is_folder(path):
        return path
    if file := find(path, name):
        return file
    raise LinkerError(f"{path}: the folder has no {name}; name one with all files of a release")


def find(folder: Pathlike, name: str) -> Path | None:
    """The file of a folder with this name, plain or .gz; an open file stands for no folder."""
    if isinstance(folder, OpenFile):
        return None
    ways = (Path(folder) / f"{name}{end}" for end in ("", ".gz"))
    return next((file for file in ways if file.is_file()), None)


def number_of(text: str) -> int:
    """The number that an id is.

    Raises:
        RecordError: it is none, or has more than 18 digits.
    """
    if not text.isdecimal() or len(text) > 18:
        raise RecordError("the id is no number", text, expected="1 to 18 digits")
    return int(text)


_SIGNS = {  # of the fields of statements, in packed rows
    **{"P": "preferred", "E": "exact", "D": "definition", "^": "parents"},
    **{"=": "alt_ids", ">": "replaced_by", "T": "types"},
}
_SIGN_OF = {field: sign for sign, field in _SIGNS.items()}
Row = tuple[int, Statement]
"""The number of a concept, and what a row says of it."""


class Grouped:
    """What the rows of several tables say of concepts, in any order, packed and sorted by concept.

    Args:
        rows: the statements.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        owners, ends, data = array("q"), array("q", [0]), bytearray()
        for owner, (field, text, language, _) in rows:
            data += f"{_SIGN_OF[field]}{language}\t{text}".encode()
            owners.append(owner)
            ends.append(len(data))
        places = np.frombuffer(ends, np.int64)
        order = np.argsort(np.frombuffer(owners, np.int64), kind="stable")
        self.owners = np.frombuffer(owners, np.int64)[order]
        self._starts, self._stops, self._data = places[order], places[1:][order], data

    def __getitem__(self, owner: int) -> list[Statement]:
        """The distinct statements on a concept."""
        start, stop = np.searchsorted(self.owners, (owner, owner + 1)).tolist()
        starts, stops = self._starts[start:stop].tolist(), self._stops[start:stop].tolist()
        texts = dict.fromkeys(self._data[a:b].decode() for a, b in zip(starts, stops, strict=True))
        cut = ((text[0], *text[1:].partition("\t")) for text in texts)
        return [Statement(_SIGNS[sign], text, language) for sign, language, _, text in cut]

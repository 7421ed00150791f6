"""Mentions with their ids, tab-separated: `mention<TAB>id`, with or without a header line."""

from __future__ import annotations

from collections.abc import Iterator

from linker.errors import InputError, OnError, stop
from linker.files import Pathlike, read_lines
from linker.ids import parse_gold
from linker.readers.checks import check_mention
from linker.types import Mention

_ID_COLUMNS = ("id", "concept_id")


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Mention]:
    """Yield the mention of each line with its gold ids (`A|B`, `A+B`, `-1` or empty for no concept).

    Columns behind the second are ignored.
    """
    for number, line in read_lines(path):
        columns = line.split("\t")
        try:
            if number == 1 and _is_header(path, columns):
                continue
            mention = _mention(path, number, columns)
        except InputError as error:
            on_error(error)
        else:
            yield mention


def _is_header(path: Pathlike, columns: list[str]) -> bool:
    names = [column.strip().lower() for column in columns]
    if names[0] != "mention":
        return False
    if len(names) < 2 or names[1] not in _ID_COLUMNS:
        value = "\t".join(columns)
        raise InputError(
            path, "the header is not known", line=1, value=value, expected="mention<TAB>id", remedy="name the second column id"
        )
    return True


def _mention(path: Pathlike, number: int, columns: list[str]) -> Mention:
    if len(columns) < 2:
        raise InputError(
            path,
            "the line has 1 column",
            line=number,
            value=columns[0],
            expected="mention<TAB>id",
            remedy="add the id (-1 for no concept), or read the file as txt",
        )
    return Mention(check_mention(path, number, columns[0]), gold=parse_gold(columns[1]))

"""Mentions with their ids in columns: `mention<TAB>id`, or a tsv or csv whose header names them.

Between tabs, a field that is quoted as a whole, with the quotes inside doubled, is unquoted: so are
our own tables and those of pandas and spreadsheets. Any other double quote is part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linker.errors import InputError, OnError, stop
from linker.files import Pathlike, read_lines
from linker.ids import Identify, not_known, parse_gold
from linker.readers import sssom
from linker.readers.checks import check_mention
from linker.readers.records import split_csv
from linker.types import Mention

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_ID_COLUMNS = ("id", "concept_id", "gold")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the mention and its ids stand."""

    mention: int = 0
    ids: int = 1
    delimiter: str = "\t"
    accepted: int | None = None  # whether the ids are right
    scope: int | None = None  # the only document in which they are; empty: in all
    are_answers: bool = False  # whether linker wrote the ids, which are no annotations then


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Mention]:
    """Yield the mention of each line with its gold ids; other columns are passed over.

    Ids are `A|B` for parts, `A+B` for ids that are all meant, and -1 or empty for no concept. In
    tables of decisions, rows that say nothing of the mention as a name are passed over: those with
    "false" in a column `accepted`, whose ids are wrong, and those with a document in a column
    `scope`, whose ids are right there only. Mentions in tables of answers that linker wrote are not
    annotated: nobody said that their ids are right.

    For `identify` see `linker.ids.split_ids`.
    """
    where = None

    def unread(error: InputError) -> None:
        (stop if error.line == 1 else on_error)(error)  # the first line may be the header

    for number, line in read_lines(path, on_error=unread):
        try:
            if number == 1 and (where := _header(path, line)):
                continue
            mention = _mention(path, number, line, where, identify)
        except InputError as error:
            on_error(error)
        else:
            if mention is not None:
                yield mention


def _header(path: Pathlike, line: str) -> _Columns | None:
    """The columns that a first line names; None where it names no mention."""
    if sssom.recognises(path, [line]):
        raise InputError(
            path,
            "holds mappings (SSSOM), not mentions",
            line=1,
            value=line,
            remedy="take those that people curated with linker decide, and write mentions to train "
            "on with linker decisions export --format mentions",
        )
    delimiter = next((sign for sign in "\t;," if sign in line), ",")
    names = [cell.strip().strip('"').lower() for cell in line.split(delimiter)]
    if "mention" not in names:
        return None
    ids = next((names.index(name) for name in _ID_COLUMNS if name in names), None)
    if ids is None:
        expected = f"a column mention and one of {', '.join(_ID_COLUMNS)}"
        raise InputError(
            path,
            "the header is not known",
            line=1,
            value=line,
            expected=expected,
            remedy="name the column of the ids id",
        )
    accepted, scope = (
        names.index(name) if name in names else None for name in ("accepted", "scope")
    )
    are_answers = "matched_name" in names
    return _Columns(names.index("mention"), ids, delimiter, accepted, scope, are_answers)


def _mention(
    path: Pathlike, number: int, line: str, where: _Columns | None, identify: Identify
) -> Mention | None:
    """The mention of a row; None for one whose ids are wrong, or right in one document only."""
    named, where = where is not None, where or _Columns()
    cells = (
        unquoted(line.split("\t"))
        if where.delimiter == "\t"
        else split_csv(path, number, line, where.delimiter)
    )
    if len(cells) <= max(where.mention, where.ids):
        problem = f"the line has {len(cells)} column{'s' * (len(cells) > 1)}"
        remedy = "add the id (-1 for no concept), or read the file as txt"
        raise InputError(
            path, problem, line=number, value=line, expected="mention<TAB>id", remedy=remedy
        )
    if not named and len(cells) > 2 and cells[0].strip().isdigit():
        remedy = "put a header line that names the columns, such as document<TAB>mention<TAB>id"
        raise InputError(
            path,
            "the mention is a number",
            line=number,
            value=cells[0],
            expected="mention<TAB>id",
            remedy=remedy,
        )
    if where.accepted is not None and cells[where.accepted :][:1] == ["false"]:
        return None
    if where.scope is not None and any(map(str.strip, cells[where.scope :][:1])):
        return None
    text = check_mention(path, number, cells[where.mention])
    return Mention(text, gold=None if where.are_answers else parse_gold(cells[where.ids], identify))


def unquoted(cells: list[str]) -> list[str]:
    """The cells of a row, those that are quoted as a whole without their quotes."""
    return [
        quoted[1].replace('""', '"') if (quoted := _QUOTED.fullmatch(cell)) else cell
        for cell in cells
    ]

"""Mentions with their ids in columns: `mention<TAB>id`, or a tsv or csv whose header names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike, read_lines
from linker.files.rows import TableRow, delimiter_of, read_rows, titles_of
from linker.ids import Identify, not_known, parse_gold
from linker.readers import sssom
from linker.readers.records import check_mention, parse_each
from linker.types import Mention

_MENTION = "mention"
_ID_COLUMNS = ("id", "concept_id", "gold")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the mention and its ids stand."""

    mention: int = 0
    ids: int = 1
    accepted: int | None = None  # whether the ids are right
    scope: int | None = None  # the only document in which they are; empty: in all
    are_answers: bool = False  # whether linker wrote the ids, which are no annotations then
    are_named: bool = False  # whether a header says so


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

    def unread(error: InputError) -> None:
        (stop if error.line == 1 else on_error)(error)  # the first line may be the header

    lines = read_lines(path, keep_ends=True, on_error=unread)
    first = next(lines, (1, ""))
    titles = _titles(first[1])
    delimiter = delimiter_of(first[1]) if _MENTION in titles and len(titles) > 1 else "\t"
    rows = read_rows(path, chain([first] if first[1] else [], lines), delimiter, on_error)
    where = _Columns()

    def parse(number: int, row: TableRow) -> Mention | None:
        nonlocal where
        if number == 1 and (named := _header(row.line)):
            where = named
            return None
        return _mention(row, where, identify)

    yield from parse_each(path, ((row.number, row) for row in rows), parse, on_error)


def _titles(line: str) -> list[str]:
    return [title.lower() for title in titles_of(line)]


def _header(line: str) -> _Columns | None:
    """The columns that a first line names; None where it names no mention."""
    if sssom.recognises("", [line]):
        raise RecordError(
            "holds mappings (SSSOM), not mentions",
            line,
            remedy="take those that people curated with linker decide, and write mentions to train "
            "on with linker decisions export --format mentions",
        )
    names = _titles(line)
    if _MENTION not in names:
        return None
    places = {name: place for place, name in reversed([*enumerate(names)])}
    ids = next((places[name] for name in _ID_COLUMNS if name in places), None)
    if ids is None:
        raise RecordError(
            "the header is not known",
            line,
            expected=f"a column mention and one of {', '.join(_ID_COLUMNS)}",
            remedy="name the column of the ids id",
        )
    accepted, scope = places.get("accepted"), places.get("scope")
    return _Columns(places[_MENTION], ids, accepted, scope, "matched_name" in places, True)


def _mention(row: TableRow, where: _Columns, identify: Identify) -> Mention | None:
    """The mention of a row; None for one whose ids are wrong, or right in one document only."""
    cells = row.cells
    if len(cells) <= max(where.mention, where.ids):
        raise RecordError(
            f"the line has {len(cells)} column{'s' * (len(cells) > 1)}",
            row.line,
            expected="mention<TAB>id",
            remedy="add the id (-1 for no concept), or read the file as txt",
        )
    if not where.are_named and len(cells) > 2 and cells[0].strip().isdigit():
        raise RecordError(
            "the mention is a number",
            cells[0],
            expected="mention<TAB>id",
            remedy="put a header line that names the columns, such as document<TAB>mention<TAB>id",
        )
    if where.accepted is not None and cells[where.accepted :][:1] == ["false"]:
        return None
    if where.scope is not None and any(map(str.strip, cells[where.scope :][:1])):
        return None
    gold = None if where.are_answers else parse_gold(cells[where.ids], identify)
    return Mention(check_mention(cells[where.mention]), gold=gold)

"""Mentions with their ids in columns: `mention<TAB>id`, or a tsv or csv whose header names them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike, read_lines
from linker.files.rows import TableRow, delimiter_of, read_rows, titles_of
from linker.ids import Identify, not_known, parse_gold
from linker.readers import sssom
from linker.readers.records import check_mention, parse_each
from linker.types import PREDICATES, Mention

_MENTION = "mention"
_ID_COLUMNS = ("id", "concept_id", "gold")


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Mention]:
    """Yield the mention of each line with its gold ids; other columns are passed over.

    Ids are `A|B` for parts, `A+B` for ids that are all meant, and -1 or empty for no concept. In
    tables of decisions, rows that say nothing of the mention as a name are passed over: those with
    "false" in a column `accepted`, whose ids are wrong, those with a document in a column `scope`,
    whose ids are right there only, and those whose `predicate` says that the concept is broader,
    narrower or related. Mentions in tables of answers that linker wrote are not
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
    columns: list[str] = []  # those that the header names

    def parse(number: int, row: TableRow) -> Mention | None:
        if number == 1 and is_header(row.line):
            columns.extend(titles)
            return None
        return _mention(row, columns, identify)

    yield from parse_each(path, ((row.number, row) for row in rows), parse, on_error)


def _titles(line: str) -> list[str]:
    return [title.lower() for title in titles_of(line)]


def is_header(line: str) -> bool:
    """Whether a first line names a column of mentions, and one of ids."""
    if sssom.recognises("", [line]):
        raise RecordError(
            "holds mappings (SSSOM), not mentions",
            line,
            remedy="take those that people curated with linker review import, and write mentions "
            "to train on with linker review export --format mentions",
        )
    titles = _titles(line)
    if _MENTION in titles and not {*_ID_COLUMNS} & {*titles}:
        expected = f"a column mention and one of {', '.join(_ID_COLUMNS)}"
        raise RecordError("the header is not known", line, expected=expected)
    return _MENTION in titles


def _mention(row: TableRow, columns: list[str], identify: Identify) -> Mention | None:
    """The mention of a row; None where it is no name of its ids that holds everywhere."""
    named = zip(columns or (_MENTION, "id"), row.cells, strict=False)
    cells = dict(reversed([*named]))  # of two columns of a name the first one counts
    ids = next(name for name in _ID_COLUMNS if name in (columns or ["id"]))
    if _MENTION not in cells or ids not in cells:
        raise RecordError(
            f"the line has {len(row.cells)} column{'s' * (len(row.cells) > 1)}",
            row.line,
            expected="mention<TAB>id",
            remedy="add the id (-1 for no concept), or read the file as txt",
        )
    if not columns and len(row.cells) > 2 and cells[_MENTION].strip().isdigit():
        remedy = "put a header line that names the columns, such as document<TAB>mention<TAB>id"
        raise RecordError("the mention is a number", cells[_MENTION], remedy=remedy)
    is_other = cells.get("predicate", "").strip() in PREDICATES[1:]
    if cells.get("accepted") == "false" or cells.get("scope", "").strip() or is_other:
        return None
    gold = None if "matched_name" in columns else parse_gold(cells[ids], identify)
    return Mention(check_mention(cells[_MENTION]), gold=gold)

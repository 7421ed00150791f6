"""Decisions out of answers that linker wrote, also after a person went through them.

Linker writes the decisions that it applied beside each answer, as JSON: these are read back. A
person who reviews a table changes the cell `state`: to `accepted` (the ids in `concept_id` are
right), `no concept`, or `rejected` (the id in `concept_id`, or in `rejected`, is wrong). Answers
that nobody touched are no decisions.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import get_args

from linker.decisions.records import parts_of
from linker.errors import InputError, LinkerError, OnError
from linker.files import Pathlike, parse_json
from linker.files.rows import Row as TableRow
from linker.outputs import decision_from_json, jsonl
from linker.readers import mentions
from linker.types import Decision, State

Row = tuple[int | None, str, Decision]
"""A decision, with the number and the text of its (first) line before it."""

FORMATS = ("pubtator", "bioc", "jsonl")
"""Formats of answers that are no tables."""

# the state in the seventh column of PubTator, behind which the decisions stand
_STATE = re.compile(r"(?:\A| )(?:accepted|rejected|open|no concept|disputed) (?=[\[{]|.*mention)")
_Cell = Callable[[str], str]  # gives the cell of a row in a column


def of_answers(path: Pathlike, kind: str, on_error: OnError) -> Iterator[Row]:
    """Yield the decisions beside the answers of a file.

    Args:
        path: the file.
        kind: one of `FORMATS`.
        on_error: what to do with a bad record; returns to skip it.
    """
    if kind == "jsonl":
        for prediction in jsonl.read(path, on_error=on_error):
            yield from ((None, prediction.mention.text, d) for d in prediction.decisions)
        return
    for mention, _ in mentions.flatten(mentions.read(path, kind, on_error=on_error)):
        try:
            decisions = _parsed(mention.metadata.get("decisions", ""))
            decisions += _behind_state(mention.metadata.get("pubtator:parts", ""))
        except ValueError as error:
            where = f"{mention.text!r} in document {mention.document_id}"
            on_error(InputError(path, f"the decisions on {where}: {error}"))
        else:
            yield from ((None, mention.text, decision) for decision in decisions)


def _behind_state(column: str) -> list[Decision]:
    """The decisions in a seventh column of PubTator; texts of parts may look like a state, too.

    Raises:
        ValueError: there is a state, and no decisions stand behind it.
    """
    matches = [*_STATE.finditer(column)]
    for match in matches[:-1]:
        with contextlib.suppress(ValueError):
            return _parsed(column[match.end() :])
    return _parsed(column[matches[-1].end() :]) if matches else []


def of_table(
    path: Pathlike,
    rows: Iterable[TableRow],
    header: Mapping[str, int],
    reviewer: str,
    on_error: OnError,
) -> Iterator[Row]:
    """Yield the decisions in the rows of a table of answers.

    Args:
        path: the file.
        rows: those below the header; several for a mention where they are candidates.
        header: the places of the columns.
        reviewer: who changed the states of rows that had decisions before.
        on_error: what to do with a bad row; returns to skip it.
    """
    for cells in _answers(rows, header):
        first, line = cells[0].number, "\t".join(cells[0].cells)
        parts = [_cell(row, header) for row in cells]
        scope = parts[0]("scope") if "rank" in header else ""  # else it is a column of the user
        try:
            for decision in _said(parts, scope, reviewer):
                yield first, line, decision
        except (LinkerError, ValueError) as error:
            on_error(InputError(path, str(error), line=first, value=line))


def _answers(rows: Iterable[TableRow], header: Mapping[str, int]) -> Iterator[list[TableRow]]:
    """The rows of each mention, without candidates behind the first: one row for each part."""
    if "rank" not in header:
        yield from ([row] for row in rows if any(row.cells))
        return

    def mention(row: TableRow) -> tuple[str, ...]:
        cell = _cell(row, header)
        return cell("mention"), cell("scope"), cell("spans")

    for _, of_mention in itertools.groupby(filter(lambda row: any(row.cells), rows), mention):
        parts: dict[tuple[str, str], TableRow] = {}
        for row in of_mention:
            cell = _cell(row, header)
            if cell("rank") not in ("", "1"):
                continue
            part = cell("part"), cell("concept_id")
            if part in parts:  # the same mention again
                yield [*parts.values()]
                parts.clear()
            parts[part] = row
        if parts:
            yield [*parts.values()]


def _cell(row: TableRow, header: Mapping[str, int]) -> _Cell:
    def cell(name: str) -> str:
        place = header.get(name, len(row.cells))
        return row.cells[place].strip() if place < len(row.cells) else ""

    return cell


def _said(parts: list[_Cell], scope: str, reviewer: str) -> Iterator[Decision]:
    """The decisions on a mention: those that were applied, and what a person changed since.

    Raises:
        LinkerError: the state is unknown, or does not fit the row.
        ValueError: the decisions are no JSON.
    """
    cell = parts[0]
    before = _parsed(cell("decisions"))
    yield from before
    state = cell("state").lower() or "model"
    if state not in get_args(State):
        raise LinkerError(f"the state is {state!r}; expected one of {', '.join(get_args(State))}")
    if state not in ("accepted", "no concept", "rejected"):
        return
    mention = cell("expanded") or cell("mention")
    by = reviewer if before else cell("reviewer")
    if state == "rejected":
        if any(not decision.accepted for decision in before):
            return
        wrong = [
            i for part in parts for i in re.split(r"\|", part("concept_id") or part("rejected"))
        ]
        if not any(wrong):
            raise LinkerError("the state is rejected, and no concept_id says what is wrong")
        yield from (Decision(mention, i, False, scope, by) for i in wrong if i)
        return
    concepts = "|".join(part("concept_id") or "-1" for part in parts) if state == "accepted" else ""
    if state == "accepted" and not concepts.replace("-1", "").strip("|"):
        raise LinkerError("the state is accepted, and there is no concept_id; expected one")
    decision = Decision(mention, concepts, True, scope, by)
    ids = set(parts_of(decision))
    for earlier in filter(lambda d: d.accepted, before):
        known = parts_of(earlier)
        if set(known) == ids or "|".join(i or "-1" for i in known) == concepts:
            return  # ids that hold signs are not split there
    yield decision


def _parsed(text: str) -> list[Decision]:
    """The decisions in a cell; none where it is empty.

    Raises:
        ValueError: it holds something else.
    """
    records = parse_json(text) if text else []
    if not isinstance(records, list):
        raise ValueError("the decisions are no list")
    return list(map(decision_from_json, records))

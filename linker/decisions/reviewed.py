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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from linker.decisions.records import disagree, parts_of
from linker.errors import InputError, LinkerError, OnError
from linker.files import Pathlike, parse_json
from linker.files.rows import TableRow
from linker.ids import escaped
from linker.outputs import decision_from_json, jsonl
from linker.readers import mentions
from linker.types import Decision, State

Row = tuple[int | None, str, Decision]
"""A decision, with the number and the text of its (first) line before it."""

FORMATS = ("pubtator", "bioc", "jsonl")
"""Formats of answers that are no tables."""

# the state in the seventh column of PubTator, behind which the decisions stand
_STATE = re.compile(r"(?:\A| )(?:accepted|rejected|open|no concept|disputed) ")
_MOST_STATES = 20  # words of parts of a mention that look like a state
_NO_ID = "the state is accepted, and there is no concept_id; expected one"
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
    last = column.rfind("mention")
    ends = [match.end() for match in _STATE.finditer(column)]
    ends = [end for end in ends if column[end : end + 1] in ("[", "{") or end <= last]
    for end in ends[:_MOST_STATES]:
        with contextlib.suppress(ValueError):
            return _parsed(column[end:])
    return _parsed(column[ends[0] :]) if ends else []


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
        reviewer: who set the states of rows that name nobody.
        on_error: what to do with a bad row; returns to skip it.
    """
    for of_mention in _mentions(rows, header):
        first = next(iter(of_mention.values()))[0]
        parts = [[_cell(row, header) for row in part] for part in of_mention.values()]
        try:
            for decision in _said(parts, reviewer):
                yield first.number, "\t".join(first.cells), decision
        except (LinkerError, ValueError) as error:
            value = "\t".join(first.cells)
            on_error(InputError(path, str(error), line=first.number, value=value))


def _mentions(
    rows: Iterable[TableRow], header: Mapping[str, int]
) -> Iterator[dict[tuple[str, str], list[TableRow]]]:
    """The rows of each mention, by its parts: the candidates of each, the best first."""
    rows = filter(lambda row: any(row.cells), rows)
    if "rank" not in header:
        yield from ({("", ""): [row]} for row in rows)
        return

    def mention(row: TableRow) -> tuple[str, ...]:
        cell = _cell(row, header)
        return cell("mention"), cell("scope"), cell("spans")

    for _, of_mention in itertools.groupby(rows, mention):
        parts: dict[tuple[str, str], list[TableRow]] = {}
        for row in of_mention:
            cell = _cell(row, header)
            part = cell("part"), cell("concept_id")
            if cell("rank") not in ("", "1") and parts:
                parts[next(reversed(parts))].append(row)
                continue
            if part in parts:  # the same mention again
                yield parts
                parts = {}
            parts[part] = [row]
        yield parts


def _cell(row: TableRow, header: Mapping[str, int]) -> _Cell:
    def cell(name: str) -> str:
        place = header.get(name, len(row.cells))
        return row.cells[place].strip() if place < len(row.cells) else ""

    return cell


def _said(parts: list[list[_Cell]], reviewer: str) -> Iterator[Decision]:
    """The decisions on a mention: those that were applied, and what a person changed since.

    Args:
        parts: the rows of the candidates of each part.
        reviewer: who changed it, where the row does not say.

    Raises:
        LinkerError: a state is unknown, or the states do not fit together or their rows.
        ValueError: the decisions are no JSON.
    """
    cell = parts[0][0]
    before = _parsed(cell("decisions"))
    yield from before
    was_rejected = any(not d.accepted for d in before) and not any(d.accepted for d in before)
    verdicts = [_Verdict.of(candidates, was_rejected) for candidates in parts]
    by = reviewer if before else cell("reviewer") or reviewer
    mention, scope = cell("expanded") or cell("mention"), cell("scope")
    if rejected := [identifier for verdict in verdicts for identifier in verdict.rejected]:
        yield from (Decision(mention, escaped(i), False, scope, by) for i in rejected)
        return
    if all(verdict.accepted is None for verdict in verdicts):
        return
    if all(verdict.is_without_id for verdict in verdicts):
        raise LinkerError(_NO_ID)
    concepts = "|".join(verdict.accepted or "-1" for verdict in verdicts)
    if not disagree(before) and any(_is_same(d, concepts) for d in before if d.accepted):
        return
    if any(verdict.accepted is None for verdict in verdicts):
        raise LinkerError("the state of some parts of the mention is set; set that of all parts")
    if any(verdict.is_without_id for verdict in verdicts):
        raise LinkerError(_NO_ID)
    is_none = not any(verdict.accepted for verdict in verdicts)
    yield Decision(mention, "" if is_none else concepts, True, scope, by)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the states of its candidates say of a part."""

    accepted: str | None = None  # ids; empty for no concept; None: nothing was accepted
    rejected: tuple[str, ...] = ()  # ids
    is_without_id: bool = False  # whether it is accepted, and has no id

    @classmethod
    def of(cls, candidates: Sequence[_Cell], was_rejected: bool) -> _Verdict:
        """Read the states.

        Args:
            candidates: their cells.
            was_rejected: whether linker itself wrote that the mention is rejected.

        Raises:
            LinkerError: a state is unknown, or they do not fit together.
        """
        states = [cell("state").lower() or "model" for cell in candidates]
        for state in states:
            if state not in get_args(State):
                expected = ", ".join(get_args(State))
                raise LinkerError(f"the state is {state!r}; expected one of {expected}")
        of_state = {
            state: [cell for cell, own in zip(candidates, states, strict=True) if own == state]
            for state in ("accepted", "no concept", "rejected")
        }
        accepted, nothing, rejected = of_state.values()
        accepted = accepted[:1] if len(accepted) == len(candidates) else accepted
        if len(accepted) > 1 or (nothing and (accepted or len(nothing) < len(candidates))):
            raise LinkerError(
                "the candidates of a part have states that exclude each other; "
                "set accepted for one of them, or the same state for all"
            )
        if accepted:
            identifier = accepted[0]("concept_id")
            return cls(identifier, is_without_id=not identifier.strip("|"))
        if nothing:
            return cls("")
        if was_rejected:
            return cls()
        wrong = [cell("concept_id") or cell("rejected") for cell in rejected]
        if rejected and not all(wrong):
            raise LinkerError("the state is rejected, and no concept_id says what is wrong")
        if several := [text for text in wrong if "|" in text]:
            raise LinkerError(
                f"the state is rejected, and concept_id has several ids ({several[0]}); "
                "leave only the wrong one"
            )
        return cls(None, tuple(wrong))


def _is_same(decision: Decision, concepts: str) -> bool:
    """Whether a decision accepts these concepts, in whatever order; ids may hold signs."""
    known = parts_of(decision)
    if "|".join(i or "-1" for i in known) == concepts:
        return True
    return set(known) == set(parts_of(Decision("", concepts)))


def _parsed(text: str) -> list[Decision]:
    """The decisions in a cell; none where it is empty.

    Raises:
        ValueError: it holds something else.
    """
    records = parse_json(text) if text else []
    if not isinstance(records, list):
        raise ValueError("the decisions are no list")
    return list(map(decision_from_json, records))

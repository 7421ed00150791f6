"""Steps: what a person did at once, and can undo at once, in the file of decisions."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from linker.decisions.database import now
from linker.errors import LinkerError
from linker.types import Decision

_ADD_STEP = (  # files of schema 2 have roles, which nobody reads
    "INSERT INTO steps (project, reviewer, role, time, words) "
    "VALUES (:project, :reviewer, '', :time, :words)"
)
_LAST_STEP = (
    "SELECT id, project, reviewer, time, words, undone, undone_by FROM steps "
    "WHERE project IS :project AND undone = '' "
    "AND id = coalesce(:of, id) AND person(reviewer) = person(:reviewer) ORDER BY id DESC LIMIT 1"
)
_WITHDRAW_STEP = (
    "INSERT INTO withdrawals (decision, reviewer, time) SELECT decision, :undone_by, :undone "
    "FROM details WHERE step = :id AND decision NOT IN (SELECT decision FROM withdrawals) "
    "ORDER BY decision DESC LIMIT :most"
)
_UNDO = "UPDATE steps SET undone = :undone, undone_by = :undone_by WHERE id = :id"
_READ = {
    "steps": "SELECT s.id, project, s.reviewer, time, words, undone, undone_by, "
    "coalesce(p.name, '') AS name FROM steps s "
    "LEFT JOIN projects p ON p.id = s.project ORDER BY s.id",
    "marks": "SELECT * FROM marks ORDER BY id",
    "remarks": "SELECT * FROM remarks ORDER BY id",
}

Row = Mapping[str, Any]
"""The values of a row of a table by their columns."""


@dataclass(frozen=True, slots=True)
class Step:
    """What somebody did at once, and can undo at once."""

    words: str  # what was done, in words
    reviewer: str
    project: int | None = None  # in which; None: in none
    time: str = ""  # ISO 8601 in UTC; the store fills it where it is empty
    id: int | None = None  # given by the store
    undone: str = ""  # when; empty: it was not
    undone_by: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """A step, and what was done in it; rows are those of the tables of these names."""

    step: Step
    project: str = ""  # its name
    decisions: Sequence[Decision] = ()
    marks: Sequence[Row] = ()
    remarks: Sequence[Row] = ()


def add_step(connection: sqlite3.Connection, step: Step) -> int:
    """Write a step in a transaction, or go on with one that has a number; returns the number.

    Raises:
        LinkerError: it was undone meanwhile.
    """
    if step.id:
        undone = connection.execute("SELECT undone FROM steps WHERE id = ?", [step.id]).fetchone()
        if undone != ("",):
            raise LinkerError(f"{step.words!r} was undone before all of it was kept")
        return step.id
    values = asdict(step) | {"time": step.time or now()}
    return connection.execute(_ADD_STEP, values).lastrowid or 0


def undo(
    connection: sqlite3.Connection,
    project: int | None,
    reviewer: str,
    of: int | None = None,
    most: int = -1,
) -> Step | None:
    """Undo the last step of a reviewer that is not undone yet, and withdraw its decisions.

    Args:
        connection: of a transaction.
        project: in which; None: the last of those that are in none.
        reviewer: whose step it is, who undoes it.
        of: its number, where that is known.
        most: how many decisions to withdraw, the last first; -1: all.

    Returns:
        The step, which is not undone where more of its decisions are in force; None where there is
        none to undo.
    """
    asked = {"project": project, "reviewer": reviewer, "of": of}
    if not (found := _rows(connection, _LAST_STEP, asked)):
        return None
    step = replace(Step(**found[0]), undone=now(), undone_by=reviewer)
    if connection.execute(_WITHDRAW_STEP, asdict(step) | {"most": most}).rowcount == most:
        return replace(step, undone="", undone_by="")
    connection.execute(_UNDO, asdict(step))
    return step


def read(connection: sqlite3.Connection) -> dict[str, Sequence[Row]]:
    """The rows of steps, and of what is done in steps, by the names of their tables."""
    return {name: _rows(connection, statement) for name, statement in _READ.items()}


def joined(
    tables: Mapping[str, Sequence[Row]], decisions: Iterable[Decision], project: int | None
) -> list[Done]:
    """The steps with what was done in each.

    Args:
        tables: see `read`.
        decisions: all of the file.
        project: see `DecisionStore.steps`.
    """
    made, rows = defaultdict[Any, list[Decision]](list), defaultdict[Any, list[Row]](list)
    for decision in decisions:
        made[decision.step].append(decision)
    parts = [name for name in tables if name != "steps"]
    for name in parts:
        for row in tables[name]:
            rows[name, row["step"]].append(row)
    return [
        Done(
            Step(**{name: value for name, value in row.items() if name != "name"}),
            row["name"],
            made[row["id"]],
            **{name: rows[name, row["id"]] for name in parts},
        )
        for row in tables["steps"]
        if project in (None, row["project"])
    ]


def _rows(connection: sqlite3.Connection, statement: str, values: Row | None = None) -> list[Row]:
    """The rows that a statement reads."""
    cursor = connection.execute(statement, values or {})
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]

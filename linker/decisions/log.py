"""The log: who did what when, with what became of it, as a table for people."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import TextIO

from linker.decisions.exchange import COLUMNS as _OF_DECISIONS
from linker.decisions.exchange import cells
from linker.decisions.store import DecisionStore, Past
from linker.outputs.tsv import row_writer

HISTORY = (
    *("state", *_OF_DECISIONS[:2], "concept", *_OF_DECISIONS[3:]),
    *("withdrawn", "withdrawn_by", "step", "project", "words"),
)
"""The columns of decisions. None is named concept_id, so that no reader takes decisions that hold
no more."""
COLUMNS = (*HISTORY, "action", "value")
_STEPS = (
    "SELECT s.id, coalesce(p.name, ''), words FROM steps s LEFT JOIN projects p ON p.id = s.project"
)
_OF_PROJECT = " WHERE :project IS NULL OR s.project = :project"
_OTHERS = (  # marks, remarks, and steps that did nothing else
    "SELECT iif(undone = '', 'done', 'undone') AS state, coalesce(mention, '') AS mention, "
    "coalesce(scope, '') AS scope, s.reviewer, s.time, undone AS withdrawn, "
    "undone_by AS withdrawn_by, s.id AS step, coalesce(p.name, '') AS project, words, "
    "coalesce(action, '') AS action, coalesce(before, ''), coalesce(spans, ''), coalesce(type, '') "
    "FROM steps s LEFT JOIN projects p ON p.id = s.project LEFT JOIN ("
    "SELECT 1 AS kind, id, step, text AS mention, document AS scope, action, before, spans, type "
    "FROM marks UNION ALL SELECT 2, id, step, form, '', kind, value, '', '' FROM remarks"
    f") AS made ON made.step = s.id{_OF_PROJECT} "
    "ORDER BY s.id, made.kind, made.id"
)
_Steps = Mapping[int | None, tuple[str, str, str]]
"""By their numbers: the cells of `HISTORY` that say of a decision in which step it was made."""


def write(store: DecisionStore, file: TextIO, project: int | None = None) -> None:
    """Write all that was done, in order of time: decisions, marks and remarks.

    Args:
        store: has the decisions and the steps.
        file: where to write.
        project: only what was done in this one; None: all.
    """
    past = store.history()
    with store.reading() as connection:
        steps = _steps(connection, project)
        cursor = connection.execute(_OTHERS, {"project": project})
        names = [column[0] for column in cursor.description[:-3]]
        others = cursor.fetchall()
    mine = [p for p in past if project is None or p.decision.step in steps]
    rows = [(*_of_decision(p, steps), "decision", "") for p in mine]
    decided = {p.decision.step for p in past}
    for *row, before, spans, kind in others:
        said = dict(zip(names, map(str, row), strict=True))
        said["value"] = " ".join(filter(None, (before, spans, kind)))
        if said["action"] or row[names.index("step")] not in decided:
            rows.append(tuple(said.get(name, "") for name in COLUMNS))
    write_row = row_writer(file)
    write_row(COLUMNS)
    time = COLUMNS.index("time")
    for cells_of_row in sorted(rows, key=lambda row: row[time]):
        write_row(cells_of_row)


def _steps(connection: sqlite3.Connection, project: int | None) -> _Steps:
    rows = connection.execute(f"{_STEPS}{_OF_PROJECT}", {"project": project}).fetchall()
    return {number: (str(number), name, words) for number, name, words in rows}


def _of_decision(past: Past, steps: _Steps) -> tuple[str, ...]:
    """The cells of `HISTORY`."""
    state = "overruled" if past.is_overruled else "in force" if past.is_in_force else "replaced"
    step = steps.get(past.decision.step, ("", "", ""))
    withdrawn = past.withdrawn, past.withdrawn_by
    return "withdrawn" if past.withdrawn else state, *cells(past.decision), *withdrawn, *step

"""The log: who did what when, with what became of it, as a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from linker.decisions.exchange import COLUMNS as _OF_DECISIONS
from linker.decisions.exchange import cells
from linker.decisions.steps import Done
from linker.decisions.store import DecisionStore, Past
from linker.outputs.tsv import row_writer

HISTORY = (
    *("state", *_OF_DECISIONS[:2], "concept", *_OF_DECISIONS[3:]),
    *("withdrawn", "withdrawn_by", "step", "project", "words"),
)
"""The columns of decisions. None is named concept_id, so that no reader takes decisions that hold
no more."""
COLUMNS = (*HISTORY, "action", "value")
_PLACES = {name: place for place, name in enumerate(COLUMNS)}


def write_history(past: Iterable[Past], steps: Iterable[Done], file: TextIO) -> None:
    """Write decisions with what became of them, in order of entry.

    Args:
        past: the decisions.
        steps: those in which they were made.
        file: where to write.
    """
    write_row = row_writer(file)
    write_row(HISTORY)
    of_numbers = {done.step.id: done for done in steps}
    for p in past:
        write_row(_of_decision(p, of_numbers.get(p.decision.step)))


def write(store: DecisionStore, file: TextIO, project: int | None = None) -> None:
    """Write all that was done, in order of time: decisions, marks and remarks.

    Args:
        store: has the decisions and the steps.
        file: where to write.
        project: only what was done in this one; None: all.
    """
    steps = {done.step.id: done for done in store.steps(project)}
    rows = [
        (*_of_decision(p, steps.get(p.decision.step)), "decision", "")
        for p in store.history()
        if project is None or p.decision.step in steps
    ]
    for done in steps.values():
        rows += _others(done)
    write_row = row_writer(file)
    write_row(COLUMNS)
    for row in sorted(rows, key=lambda row: row[_PLACES["time"]]):
        write_row(row)


def _of_decision(past: Past, done: Done | None) -> tuple[str, ...]:
    """The cells of `HISTORY`."""
    state = "overruled" if past.is_overruled else "in force" if past.is_in_force else "replaced"
    step = (str(done.step.id), done.project, done.step.words) if done else ("", "", "")
    withdrawn = past.withdrawn, past.withdrawn_by
    return "withdrawn" if past.withdrawn else state, *cells(past.decision), *withdrawn, *step


def _others(done: Done) -> Iterator[tuple[str, ...]]:
    """The rows of what is no decision; of a step that did nothing else, one that says so."""

    def row(mention: str, scope: str, action: str, value: str) -> tuple[str, ...]:
        step = done.step
        said = {
            **{"state": "undone" if step.undone else "done", "mention": mention, "scope": scope},
            **{"reviewer": step.reviewer, "time": step.time},
            **{"withdrawn": step.undone, "withdrawn_by": step.undone_by, "step": str(step.id)},
            **{"project": done.project, "words": step.words, "action": action, "value": value},
        }
        return tuple(said.get(name, "") for name in COLUMNS)

    for mark in done.marks:
        value = " ".join(str(mark[name]) for name in ("before", "spans", "type") if mark[name])
        yield row(mark.get("text", ""), str(mark["document"]), mark["action"], value)
    for remark in done.remarks:
        yield row(remark["form"], "", remark["kind"], remark["value"])
    if not (done.decisions or done.marks or done.remarks):
        yield row("", "", "", "")

"""What people change in a project beside decisions: remarks, and what is undone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from linker.decisions import store as decisions
from linker.decisions.store import DecisionStore, Step, add_step
from linker.errors import shorten
from linker.projects import marks
from linker.projects import store as rows
from linker.projects.groups import Member
from linker.projects.store import Project
from linker.types import Decision, Document, parse_spans

Kind = Literal["flag", "note"]
Remark = tuple[str, Kind, str]
"""The form of the mentions that it is on, and its value; an empty one takes the last one away."""
_OF_PROJECT = (
    "SELECT form, kind, value FROM remarks JOIN steps ON steps.id = step WHERE project = ?"
)
_ALL = (  # one row, since others have a turn with each
    "SELECT json_group_array(json_array(form, kind, value)) "
    f"FROM ({_OF_PROJECT} AND undone = '' ORDER BY remarks.id)"
)
_LAST = (
    "SELECT value, reviewer FROM remarks JOIN steps ON steps.id = step "
    "WHERE project = ? AND form = ? AND kind = ? AND undone = '' ORDER BY remarks.id DESC LIMIT 1"
)
_ABOUT = (  # one row, too
    "SELECT json_group_array(mention) FROM (SELECT mention FROM decisions JOIN details "
    "ON decision = id WHERE step = :step UNION ALL SELECT form FROM remarks WHERE step = :step)"
)
_AROUND = 100  # characters of the text before and behind a mention that are shown
_LONGEST_NOTE = 500  # characters of a note that an error repeats
_TOLD = 3  # decisions of a step that its words tell


def told(decisions: Sequence[Decision]) -> str:
    """What decisions say, in words."""
    words = [
        f"{shorten(d.mention)}: {'' if d.accepted else 'not '}{d.concept_id or 'no concept'}"
        for d in decisions[:_TOLD]
    ]
    more = len(decisions) - len(words)
    return "; ".join(words) + (f", and {more:,} more" if more else "")


class Remarked(marks.Outdated):
    """There is another remark by now than the one that was shown.

    Args:
        kind: of the remark.
        value: what it is now.
        reviewer: whose it is.
    """

    def __init__(self, kind: Kind, value: str, reviewer: str) -> None:
        self.value = value
        now = f"{shorten(value, _LONGEST_NOTE)!r}, by {reviewer or 'nobody named'}"
        super().__init__(f"the {kind} is now {now if value else 'gone'}; yours was not kept")


def remarks_of(connection: sqlite3.Connection, project: int) -> dict[tuple[str, str], str]:
    """The last remarks in a project, by their forms and kinds; empty where one was taken away."""
    ((text,),) = connection.execute(_ALL, [project])
    return {(form, kind): value for form, kind, value in json.loads(text)}


def remark(store: DecisionStore, step: Step, new: Remark, before: str | None = None) -> None:
    """Write a remark, as a step.

    Args:
        store: the file.
        step: whose it is, and of which project.
        new: the remark.
        before: what was shown in its place; None: whatever there is.

    Raises:
        Remarked: there is another one than `before`.
    """
    with store.transaction() as connection:
        if before is not None:
            last = connection.execute(_LAST, [step.project, *new[:2]]).fetchone()
            value, reviewer = last or ("", "")
            if value not in (before, new[2]):
                raise Remarked(new[1], value, reviewer)
        _write(connection, step, [new])


def remark_new(store: DecisionStore, step: Step, remarks: Iterable[Remark]) -> int:
    """Write the remarks that the project of a step never had, as a step; how many they are.

    Several on one form become one. Blanks do not count: tables have them instead of line ends.
    """
    with store.transaction() as connection:
        before = connection.execute(_OF_PROJECT, [step.project])
        known = {(form, kind, _plain(value)) for form, kind, value in before}
        new: dict[tuple[str, Kind], dict[str, str]] = {}
        for form, kind, value in remarks:
            if (form, kind, plain := _plain(value)) not in known:
                new.setdefault((form, kind), {})[plain] = value
        joined = ((form, kind, "; ".join(values.values())) for (form, kind), values in new.items())
        unknown = [r for r in joined if (r[0], r[1], _plain(r[2])) not in known]
        if unknown:
            _write(connection, step, unknown)
        return len(unknown)


def _write(connection: sqlite3.Connection, step: Step, remarks: Iterable[Remark]) -> None:
    number = add_step(connection, step)
    statement = "INSERT INTO remarks (step, form, kind, value) VALUES (?, ?, ?, ?)"
    connection.executemany(statement, [(number, *remark) for remark in remarks])


def _plain(value: str) -> str:
    """A remark without its line ends and further blanks."""
    return " ".join(value.split())


def undo(store: DecisionStore, project: int, reviewer: str) -> tuple[Step, list[str]] | None:
    """Undo the last step of a reviewer in a project that is not undone; None: there is none.

    Its decisions are withdrawn, and its remarks and marks count no more.

    Returns:
        The step, and the mentions that it was about, or their forms.
    """
    with store.transaction() as connection:
        if (step := decisions.undo(connection, project, reviewer)) is None:
            return None
        for document in marks.of_step(connection, step.id or 0):
            stored = rows.document(connection, project, document)
            marks.check_undone(connection, project, document, stored.document)
            marks.refresh(connection, project, document, stored.document)
        ((about,),) = connection.execute(_ABOUT, {"step": step.id})
        return step, json.loads(about)


def places(
    connection: sqlite3.Connection, project: Project, members: Sequence[Member]
) -> Iterator[dict[str, Any]]:
    """The places of mentions: the text around each, or the other cells of its row."""
    known: dict[int, Document] = {}
    for number, document, place in members:
        source, text, spans = connection.execute(
            "SELECT source, text, spans FROM mentions WHERE id = ?", [number]
        ).fetchone()
        of: dict[str, Any] = {"document_id": None, "document": None, "row": place, "cells": {}}
        before = after = ""
        if not document:
            of["cells"] = rows.cells(connection, source, place)
        else:
            if document not in known:
                known[document] = rows.document(connection, project.id, document).document
            whole, around = known[document].text, parse_spans(json.loads(spans)) or ((0, 0),)
            start, end = around[0][0], around[-1][1]
            before, after = whole[max(0, start - _AROUND) : start], whole[end : end + _AROUND]
            of |= {"document_id": known[document].id, "document": document, "row": None}
        yield of | {"before": before, "text": text, "after": after}

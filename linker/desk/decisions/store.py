"""DecisionStore: decisions are checked, written into their file, and withdrawn.

What a person did at once is a step, and can be undone at once.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from typing import Any, Protocol, TypeVar

from linker.dictionary import Dictionary
from linker.errors import LinkerError, shorten
from linker.ids import Identify, join_ids, not_known, split_ids
from linker.io.files import MENTION_LIMIT
from linker.linking.decisions import (
    as_said,
    concepts_of,
    in_force,
    opened,
    parts_of,
    place_of,
    standing,
)
from linker.linking.decisions_file import DecisionsFile
from linker.records import PREDICATES, Decision
from linker.text.normalize import person


def inserting(table: str, *columns: str) -> str:
    """The statement that adds rows to a table, given as a JSON array of arrays, in their order.

    It is one step of SQLite: with a step for each row, Python would give way to other threads, and
    wait for its turn, ten thousand times in a transaction that others wait for.
    """
    values = ", ".join(f"json_extract(value, '$[{place}]')" for place in range(len(columns)))
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM json_each(?) ORDER BY key"


_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # what SQLite or UTF-8 cannot hold
_COLUMNS = "mention", "concept_id", "accepted", "scope", "reviewer", "time", "model", "release"
_ADD = inserting("decisions", *_COLUMNS, "form")
_ADD_DETAILS = inserting("details", "decision", "step", "role", "predicate", "bulk", "settles")
_WITHDRAW = (
    "INSERT OR IGNORE INTO withdrawals (decision, reviewer, time) "
    "SELECT id, ?, ? FROM decisions WHERE id = ?"
)
_ADD_STEP = (  # files of schema 2 have roles, which nobody reads
    "INSERT INTO steps (project, reviewer, role, time, words) "
    "VALUES (:project, :reviewer, '', :time, :words)"
)
_LAST_STEP = (
    "SELECT words, reviewer, project, time, id FROM steps WHERE project IS ? "
    "AND undone = '' AND person(reviewer) = person(?) ORDER BY id DESC LIMIT 1"
)
_WITHDRAW_STEP = (
    "INSERT INTO withdrawals (decision, reviewer, time) SELECT decision, ?, ? "
    "FROM details WHERE step = ? AND decision NOT IN (SELECT decision FROM withdrawals)"
)
_UNDO = "UPDATE steps SET undone_by = ?, undone = ? WHERE id = ?"


_Result = TypeVar("_Result")


class Write(Protocol):
    """Calls a function that writes, and gives what it returns; between two calls others write."""

    def __call__(self, function: Callable[..., _Result], *arguments: Any) -> _Result: ...


def directly(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call what writes at once."""
    return function(*arguments)


@dataclass(frozen=True, slots=True)
class Step:
    """What somebody did at once, and can undo at once."""

    words: str  # what was done, in words
    reviewer: str
    project: int | None = None  # in which; None: in none
    time: str = ""  # ISO 8601 in UTC; the store fills it where it is empty
    id: int | None = None  # given by the store


class DecisionStore(DecisionsFile):
    """A file of decisions that many threads and processes write to; see `DecisionsFile`."""

    def add(self, decisions: Iterable[Decision], step: Step | None = None) -> list[Decision]:
        """Write decisions in one transaction, and return them with their ids and times.

        They are on the disk when this returns.

        Args:
            decisions: what was said.
            step: what they are made together as, so that they are undone together; one that has a
                number is continued. None: nothing.

        Raises:
            LinkerError: one of them cannot be kept (see `checked`), or the file cannot be written.
        """
        rows = list(map(checked, decisions))
        with self.transaction() as connection:
            return insert(connection, rows, step)

    def withdraw(self, ids: Iterable[int], reviewer: str = "") -> int:
        """Take decisions out of force, which stay in the history.

        What they replaced is in force again.

        Returns:
            How many were in the store and had not been withdrawn.
        """
        with self.transaction() as connection:
            rows = ((reviewer, now(), identifier) for identifier in ids)
            return connection.executemany(_WITHDRAW, rows).rowcount


def now() -> str:
    """The time in UTC, as ISO 8601 has it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def insert(
    connection: sqlite3.Connection, decisions: Iterable[Decision], step: Step | None
) -> list[Decision]:
    """Write decisions in a transaction; see `DecisionStore.add`.

    Args:
        connection: of the transaction.
        decisions: what was said, as `checked` gives it.
        step: what they are made together as.
    """
    moment = now()
    rows = [replace(d, time=d.time or moment) for d in decisions]
    values = [
        [*(getattr(d, name) for name in _COLUMNS), place_of(d.mention, d.scope)[0]] for d in rows
    ]
    number = None if step is None else add_step(connection, step)
    connection.execute(_ADD, [json.dumps(values)])
    ((last,),) = connection.execute("SELECT last_insert_rowid()")
    first = last - len(rows) + 1  # without gaps, since nobody else writes
    added = [replace(d, id=of, step=number) for of, d in enumerate(rows, first)]
    details = [[d.id, number, "", d.predicate, int(d.bulk), [*d.settles]] for d in added]
    connection.execute(_ADD_DETAILS, [json.dumps(details)])
    return added


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


def last_step(connection: sqlite3.Connection, project: int | None, reviewer: str) -> Step | None:
    """The step that `undo` would undo; None where there is none."""
    row = connection.execute(_LAST_STEP, [project, reviewer]).fetchone()
    return Step(*row) if row else None


def undo(connection: sqlite3.Connection, project: int | None, reviewer: str) -> Step | None:
    """Undo the last step of a reviewer that is not undone yet, and withdraw its decisions.

    Args:
        connection: of a transaction.
        project: in which; None: the last of those that are in none.
        reviewer: whose step it is, who undoes it.

    Returns:
        The step; None where there is none to undo.
    """
    step = last_step(connection, project, reviewer)
    if step is None:
        return None
    for statement in (_WITHDRAW_STEP, _UNDO):
        connection.execute(statement, [reviewer, now(), step.id])
    return step


def checked(decision: Decision, identify: Identify = not_known) -> Decision:
    """The decision as it is stored: its ids split and joined, its texts without blanks around.

    Args:
        decision: as it was given.
        identify: see `linker.ids.split_ids`.

    Raises:
        LinkerError: the mention is blank or too long, a text cannot be written as UTF-8, no part is
            decided, a rejection does not name one concept, or a predicate is unknown or of none
            accepted.
    """
    decision = as_said(decision)
    parts = split_ids(decision.concept_id, identify)
    ids = join_ids(parts) if any(parts) or None in parts else ""
    mention, settles = decision.mention.strip(), tuple(map(str.strip, decision.settles))
    reviewer, given = decision.reviewer.strip(), decision.concept_id
    decision = replace(
        decision, mention=mention, concept_id=ids, reviewer=reviewer, settles=settles
    )
    problem = ""
    if not 1 <= len(mention) <= MENTION_LIMIT:
        problem = f"has {len(mention):,} characters; expected 1 to {MENTION_LIMIT:,}"
    elif not ids and re.fullmatch(r"[\s|,;+]+", given):
        problem = f"has the concept {given!r}; expected an id, or -1 for no concept"
    elif all(part is None for part in parts):
        problem = rf"has only open parts, {given!r}; expected an id (one that is ? is written \?)"
    elif not decision.accepted and not len(concepts_of(decision)) == len(parts_of(decision)) == 1:
        problem = f"is rejected for {ids or 'no concept'}; expected one concept"
    elif decision.predicate not in PREDICATES or (
        decision.predicate and not (decision.accepted and concepts_of(decision))
    ):
        expected = ", ".join(filter(None, PREDICATES))
        problem = (
            f"has the predicate {shorten(decision.predicate)}; expected one of {expected}, "
            "and an accepted concept"
        )
    elif _NO_TEXT.search("".join([*(str(getattr(decision, of)) for of in _COLUMNS), *settles])):
        problem = "holds what is no text"
    if problem:
        raise LinkerError(f"the mention {shorten(ascii(mention))} of a decision {problem}")
    return decision


def identified(decision: Decision, dictionary: Dictionary) -> Decision:
    """The decision as it is stored, with ids as the dictionary has them.

    Raises:
        LinkerError: an id stands for no concept, or for several, or see `checked`.
    """
    decision = checked(decision, dictionary.identify)
    for identifier in concepts_of(decision):
        if not (rows := dictionary.rows(identifier)):
            raise LinkerError(f"the dictionary has no concept {identifier}")
        if len(rows) > 1:
            ids = ", ".join(dictionary.ids[row] for row in rows)
            raise LinkerError(f"{identifier} stands for several concepts ({ids}); name one")
    return decision


def releases(dictionary: Dictionary) -> str:
    """The releases of the files of a dictionary; their checksums where they state none."""
    return "; ".join(source.release or source.sha256[:12] for source in dictionary.sources)


def replaced(before: Sequence[Decision], added: Sequence[Decision]) -> list[Decision]:
    """The decisions that hold no more since the same reviewer said the contrary.

    One that holds on for some of its parts is given with the others alone.

    Args:
        before: the decisions that were in force, with their numbers.
        added: those that were added to them, in order of entry.
    """
    claims_in_force: set[_Claim] = set()
    for of_mention in in_force([*before, *added]).values():
        for decision in standing(of_mention):
            claims_in_force.update(_claims(decision))
    reviewers = {person(d.reviewer) for d in added}
    lost = []
    for decision in (*before, *added):
        if person(decision.reviewer) not in reviewers:
            continue
        kept: set[int] = set()
        for claim, place, part in _claims(decision):
            if (claim, place, part) in claims_in_force:
                kept.add(place)
        if gone := opened(decision, kept):
            lost.append(gone)
    return lost


_Claim = tuple[tuple[str | bool | int, ...], int, str | None]


def _claims(d: Decision) -> list[_Claim]:
    """What a decision says of each part, and who says it."""
    parts = parts_of(d)
    claim = person(d.reviewer), *place_of(d.mention, d.scope), d.accepted, d.predicate, len(parts)
    return [(claim, place, part) for place, part in enumerate(parts)]

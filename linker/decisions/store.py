"""DecisionStore: decisions in an SQLite file that many threads and processes write to.

The file is a log: a decision is never changed, and one that was withdrawn stays, with who withdrew
it and when. The order of entry, which the ids give, says what is later; clocks may go backwards.
What a person did at once is a step, and can be undone at once.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from linker.decisions.database import DAMAGED, connect, inserting, now, problem, until_free
from linker.decisions.records import (
    checked,
    form_everywhere,
    form_of,
    in_force,
    place_of,
    standing,
)
from linker.errors import LinkerError, shorten, shown
from linker.files import Pathlike, parse_json
from linker.outputs import settles_of
from linker.text.people import person
from linker.types import Decision

APPLICATION = 0x4C4E4B44  # "LNKD", by which SQLite files of this program are known
SCHEMA = 4
PATIENCE = 60.0  # seconds to wait for other writers

_TABLES = """
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    mention TEXT NOT NULL, concept_id TEXT NOT NULL, accepted INTEGER NOT NULL,
    scope TEXT NOT NULL, reviewer TEXT NOT NULL, time TEXT NOT NULL,
    model TEXT NOT NULL, release TEXT NOT NULL
);
CREATE TABLE withdrawals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    decision INTEGER NOT NULL UNIQUE REFERENCES decisions (id),
    reviewer TEXT NOT NULL, time TEXT NOT NULL
);
"""
_MORE_TABLES = """
CREATE TABLE steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER REFERENCES projects (id),
    reviewer TEXT NOT NULL, role TEXT NOT NULL, time TEXT NOT NULL, words TEXT NOT NULL,
    undone TEXT NOT NULL DEFAULT '', undone_by TEXT NOT NULL DEFAULT ''
);
CREATE TABLE details (
    decision INTEGER PRIMARY KEY REFERENCES decisions (id),
    role TEXT NOT NULL, predicate TEXT NOT NULL, step INTEGER REFERENCES steps (id),
    others INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX details_of_step ON details (step);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    options TEXT NOT NULL, created TEXT NOT NULL, reviewer TEXT NOT NULL,
    model TEXT NOT NULL, release TEXT NOT NULL
);
CREATE TABLE sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL, format TEXT NOT NULL, encoding TEXT NOT NULL, place TEXT NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE documents (
    project INTEGER NOT NULL REFERENCES projects (id), number INTEGER NOT NULL,
    source INTEGER NOT NULL REFERENCES sources (id), id TEXT NOT NULL, record TEXT NOT NULL,
    searched INTEGER NOT NULL, PRIMARY KEY (project, number)
);
CREATE TABLE cells (
    source INTEGER NOT NULL REFERENCES sources (id), row INTEGER NOT NULL, cells TEXT NOT NULL,
    PRIMARY KEY (source, row)
);
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    ids TEXT NOT NULL, shown TEXT NOT NULL, confidence REAL, prediction BLOB NOT NULL
);
CREATE TABLE mentions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    source INTEGER NOT NULL REFERENCES sources (id), document INTEGER, place INTEGER NOT NULL,
    text TEXT NOT NULL, spans TEXT NOT NULL, type TEXT NOT NULL,
    form TEXT NOT NULL, expanded TEXT NOT NULL DEFAULT '', answer INTEGER REFERENCES answers (id)
);
CREATE INDEX mentions_by_text ON mentions (project, text);
CREATE INDEX mentions_by_answer ON mentions (project, answer, type);
CREATE INDEX mentions_of_document ON mentions (project, document) WHERE document IS NOT NULL;
CREATE INDEX answers_of_project ON answers (project);
CREATE TABLE marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES steps (id),
    document INTEGER NOT NULL, action TEXT NOT NULL,
    before TEXT NOT NULL, spans TEXT NOT NULL, type TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX marks_of_step ON marks (step);
CREATE TABLE remarks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES steps (id),
    form TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL
);
"""
_CHANGES = """
ALTER TABLE details RENAME COLUMN others TO bulk;
UPDATE details SET bulk = bulk > 0;
ALTER TABLE details ADD COLUMN settles TEXT NOT NULL DEFAULT '[]';
UPDATE details SET settles = (
    SELECT json_group_array(DISTINCT reviewer) FROM decisions WHERE id < details.decision
) WHERE role = 'adjudicator';
"""
_FORMS = """
ALTER TABLE decisions ADD COLUMN form TEXT NOT NULL DEFAULT '';
CREATE INDEX decisions_by_form ON decisions (form);
"""
_SINCE = {1: _TABLES, 2: _MORE_TABLES, 3: _CHANGES, 4: _FORMS}
"""What each schema added; a file of an older one is given it."""
_FILLED = """
UPDATE decisions SET form = form(mention, scope);
UPDATE mentions SET form = form(iif(expanded = '', text, expanded), '');
DELETE FROM sources WHERE substr(content, 1, 1) <> x'78'
    OR project IN (SELECT id FROM projects WHERE created = '');
DELETE FROM cells WHERE source NOT IN (SELECT id FROM sources);
DELETE FROM mentions WHERE source NOT IN (SELECT id FROM sources);
DELETE FROM documents WHERE source NOT IN (SELECT id FROM sources);
DELETE FROM answers WHERE project IN (SELECT id FROM projects WHERE created = '');
UPDATE steps SET project = NULL
    WHERE project IN (SELECT id FROM projects WHERE created = '');
DELETE FROM projects WHERE created = ''
"""
"""What a file of a schema before 4 gets: the forms; and what was left of files and projects that
were not stored to their end, or deleted, goes. Content that is whole begins as zlib's does."""
_LEFT = ("proposals",)
"""Tables that only files of schema 2 have, which nobody reads."""
_COLUMNS = "mention", "concept_id", "accepted", "scope", "reviewer", "time", "model", "release"
_PAST = (
    f"SELECT {', '.join(f'd.{name}' for name in _COLUMNS)}, d.id, "
    "coalesce(predicate, '') AS predicate, coalesce(step, 0) AS step, coalesce(bulk, 0) AS bulk, "
    "coalesce(settles, '[]') AS settles, "
    "coalesce(w.time, '') AS withdrawn, coalesce(w.reviewer, '') AS withdrawn_by "
    "FROM decisions d LEFT JOIN withdrawals w ON w.decision = d.id "
    "LEFT JOIN details ON details.decision = d.id"
)
_ADD = inserting("decisions", *_COLUMNS, "form")
_ADD_DETAILS = inserting("details", "decision", "step", "role", "predicate", "bulk", "settles")
_LAST = (
    "SELECT (SELECT coalesce(max(id), 0) FROM decisions), "
    "(SELECT coalesce(max(id), 0) FROM withdrawals)"
)
_NEW_FORMS = (
    "SELECT form FROM decisions WHERE id > ? UNION SELECT form FROM decisions WHERE id IN "
    "(SELECT decision FROM withdrawals WHERE id > ?)"
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

_SCHEMA = "SELECT type, name, sql FROM sqlite_master"
_NUMBERS = ("accepted", "id", "step", "bulk")  # columns that are no texts


@dataclass(frozen=True, slots=True)
class Past:
    """A decision, and what became of it."""

    decision: Decision
    withdrawn: str = ""  # when; empty: it was not
    withdrawn_by: str = ""
    is_in_force: bool = False  # False: it was withdrawn, or a later one replaced it
    is_overruled: bool = False  # whether it is in force, and another one stands above it


@dataclass(frozen=True, slots=True)
class Step:
    """What somebody did at once, and can undo at once."""

    words: str  # what was done, in words
    reviewer: str
    project: int | None = None  # in which; None: in none
    time: str = ""  # ISO 8601 in UTC; the store fills it where it is empty
    id: int | None = None  # given by the store


Seen = tuple[int, int]
"""The numbers of the last decision, and of the last withdrawal, that somebody read."""


class DecisionStore:
    """Decisions in an SQLite file; a context manager.

    Many threads may use one store, and many processes a store each on the same file.

    Args:
        path: the file; it is made if it is not there.
        read_only: whether nothing is written; the file must be there.
        patience: seconds to wait for other writers.

    Raises:
        LinkerError: the file is something else, damaged, locked, or cannot be opened.
    """

    def __init__(
        self, path: Pathlike, *, read_only: bool = False, patience: float = PATIENCE
    ) -> None:
        self.path, self._read_only, self._patience = Path(path), read_only, patience
        self._writing = threading.RLock()
        if read_only and not self.path.is_file():
            raise LinkerError(f"{shown(path)}: there is no file of decisions")
        with self._reporting(), contextlib.ExitStack() as opened:
            self._writer = connect(self.path, read_only, patience)
            opened.callback(self.close)
            self._open()
            opened.pop_all()  # it stays open

    def _open(self) -> None:
        """Make the tables of a new or older file, and refuse a file of something else."""
        is_new = self._number("SELECT count(*) FROM sqlite_master") == 0 and not self._read_only
        if not is_new and self._number("PRAGMA application_id") != APPLICATION:
            raise LinkerError(
                f"{shown(self.path)}: is an SQLite file of something else; "
                "name a file of decisions, or one that is not there yet"
            )
        schema = self._number("PRAGMA user_version")
        if not is_new and not 1 <= schema <= SCHEMA:
            raise LinkerError(
                f"{shown(self.path)}: has decisions of schema {schema}; "
                f"this version of linker reads schema 1 to {SCHEMA}"
            )
        if not is_new:
            self._check(schema)
        if schema < SCHEMA and self._read_only:
            DecisionStore(self.path, patience=self._patience).close()  # which brings it up to date
        elif schema < SCHEMA:
            self._make_tables(is_new)

    def _make_tables(self, is_new: bool) -> None:
        """Make the tables that the file does not have yet."""
        if is_new:
            until_free(self._writer, "PRAGMA journal_mode = WAL", self._patience)
        with self.transaction() as connection:
            there = self._number("PRAGMA user_version")  # perhaps somebody was faster
            for schema in range(there + 1, SCHEMA + 1):
                for statement in _SINCE[schema].split(";"):
                    connection.execute(statement)
            for statement in _FILLED.split(";") if there < 4 else ():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _check(self, schema: int) -> None:
        """Refuse a file with more or other tables than ours, or whose pages are damaged."""
        with contextlib.closing(sqlite3.connect(":memory:")) as empty:
            for version in range(1, schema + 1):
                empty.executescript(_SINCE[version])
            ours = empty.execute(_SCHEMA).fetchall()
        there = self._writer.execute(_SCHEMA).fetchall()
        for kind, name, _ in (row for row in there if row not in ours and row[1] not in _LEFT):
            raise LinkerError(
                f"{shown(self.path)}: holds the {kind} {shorten(repr(name))}, which linker did "
                "not make like this; take the file from a backup, or from an export"
            )
        if not {*ours} <= {*there}:
            raise self._damage("a table is missing")
        ((found,),) = self._writer.execute("PRAGMA integrity_check(1)")
        if found != "ok":
            raise self._damage(shorten(str(found).splitlines()[-1]))
        if lost := self._writer.execute("PRAGMA foreign_key_check").fetchone():
            raise self._damage(f"row {lost[1]} of {lost[0]} is of a row that is not there")

    def _number(self, statement: str) -> int:
        return int(self._writer.execute(statement).fetchone()[0])

    def _damage(self, what: str) -> LinkerError:
        """What is wrong with a damaged file, and what to do."""
        return LinkerError(f"{shown(self.path)}: {DAMAGED.format(f' ({shown(what)})')}")

    def add(self, decisions: Iterable[Decision], step: Step | None = None) -> list[Decision]:
        """Write decisions in one transaction, and return them with their ids and times.

        They are on the disk when this returns.

        Args:
            decisions: what was said.
            step: what they are made together as, so that they are undone together; one that has a
                number is continued. None: nothing.

        Raises:
            LinkerError: one of them cannot be kept (see `records.checked`), or the file cannot be
                written.
        """
        moment = now()
        rows = [replace(d, time=d.time or moment) for d in map(checked, decisions)]
        forms = [place_of(d.mention, d.scope)[0] for d in rows]
        values = [[getattr(d, name) for name in _COLUMNS] for d in rows]
        values = [[*value, form] for value, form in zip(values, forms, strict=True)]
        with self.transaction() as connection:
            number = None if step is None else add_step(connection, step)
            connection.execute(_ADD, [json.dumps(values)])
            ((last,),) = connection.execute("SELECT last_insert_rowid()")
            first = last - len(rows) + 1  # without gaps, since nobody else writes
            added = [replace(d, id=of, step=number) for of, d in enumerate(rows, first)]
            details = [
                [d.id, number, "", d.predicate, int(d.bulk), json.dumps(d.settles)] for d in added
            ]
            connection.execute(_ADD_DETAILS, [json.dumps(details)])
        return added

    def withdraw(self, ids: Iterable[int], reviewer: str = "") -> int:
        """Take decisions out of force, which stay in the history.

        What they replaced is in force again.

        Returns:
            How many were in the store and had not been withdrawn.
        """
        statement = (
            "INSERT OR IGNORE INTO withdrawals (decision, reviewer, time) "
            "SELECT id, ?, ? FROM decisions WHERE id = ?"
        )
        moment = now()
        with self.transaction() as connection:
            return sum(
                connection.execute(statement, (reviewer, moment, identifier)).rowcount
                for identifier in ids
            )

    def list(
        self, *, mention: str | None = None, scope: str | None = None, reviewer: str | None = None
    ) -> list[Decision]:
        """The decisions in force, in order of entry (see `records.in_force`).

        Args:
            mention: only those on this mention.
            scope: only those that hold in this document; empty: those that hold everywhere.
            reviewer: only those of this person.
        """
        past = self.history(mention=mention, scope=scope, reviewer=reviewer)
        return [p.decision for p in past if p.is_in_force]

    def history(
        self, *, mention: str | None = None, scope: str | None = None, reviewer: str | None = None
    ) -> Sequence[Past]:
        """All decisions in order of entry, and what became of each.

        Args:
            mention, scope, reviewer: as for `list`.
        """
        forms = [] if mention is None else [form_of(mention), form_everywhere(mention)]
        with self.reading() as connection:
            past = self._read(connection, " WHERE form IN (?, ?)" if forms else "", forms)
        places = in_force(p.decision for p in past if not p.withdrawn)
        ids = {decision.id for of_place in places.values() for decision in of_place}
        stand = {decision.id for of_place in places.values() for decision in standing(of_place)}
        return [
            replace(p, is_in_force=p.decision.id in ids, is_overruled=p.decision.id in ids - stand)
            for p in past
            if scope in (None, p.decision.scope)
            and (reviewer is None or person(reviewer) == person(p.decision.reviewer))
        ]

    def since(self, seen: Seen) -> tuple[Seen, Collection[str], Sequence[Decision]]:
        """What came after something was seen, also by other processes; after (0, 0): all.

        Returns:
            Up to where the file was read now; the forms on which something came; and all decisions
            on these that were not withdrawn, in order of entry.
        """
        with self.reading() as connection:
            last = connection.execute(_LAST).fetchone()
            if last == seen:
                return seen, (), ()
            new = f"SELECT json_group_array(form) FROM ({_NEW_FORMS})"  # at once: see `inserting`
            ((forms,),) = connection.execute(new, seen)
            past = self._read(connection, f" WHERE w.id IS NULL AND form IN ({_NEW_FORMS})", seen)
        return last, {*json.loads(forms)}, [p.decision for p in past]

    @property
    def version(self) -> int:
        """A number that grows with every write, also with those of other processes."""
        with self.reading() as connection:
            return sum(connection.execute(_LAST).fetchone())

    def _read(
        self, connection: sqlite3.Connection, where: str, values: Sequence[Any]
    ) -> Sequence[Past]:
        """Decisions in order of entry; `is_in_force` is not yet known."""
        cursor = connection.execute(f"{_PAST}{where} ORDER BY d.id", values)
        names = [column[0] for column in cursor.description[:-2]]
        kinds = [*(int if name in _NUMBERS else str for name in names), str, str]
        past = []
        for row in cursor.fetchall():
            if list(map(type, row)) != kinds:
                raise self._damage(f"a value of decision {row[len(_COLUMNS)]} is of another kind")
            said = dict(zip(names, row, strict=False))
            try:
                settles = () if said["settles"] == "[]" else settles_of(parse_json(said["settles"]))
            except ValueError as error:
                raise self._damage(str(error)) from None
            said |= {"accepted": bool(said["accepted"]), "bulk": bool(said["bulk"])}
            decision = Decision(**said | {"step": said["step"] or None, "settles": settles})
            past.append(Past(decision, *row[-2:]))
        return past

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own that reads the file as it is now, and holds up nobody."""
        with (
            self._reporting(),
            contextlib.closing(connect(self.path, True, self._patience)) as connection,
        ):
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes; its changes are written together or not at all.

        Raises:
            LinkerError: threads and processes had it for longer than the patience, together.
        """
        deadline = time.monotonic() + self._patience
        with self._reporting(), contextlib.ExitStack() as held:
            if not self._writing.acquire(timeout=self._patience):
                raise sqlite3.OperationalError("database is locked")
            held.callback(self._writing.release)
            left = max(0.0, deadline - time.monotonic())
            self._writer.execute(f"PRAGMA busy_timeout = {1000 * left:.0f}")
            with self._writer:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Errors of SQLite become messages."""
        try:
            yield
        except UnicodeDecodeError:  # of a message of SQLite, which quotes a damaged schema
            raise self._damage("what its schema says is no text") from None
        except sqlite3.Error as error:
            raise LinkerError(f"{shown(self.path)}: {problem(error, self._patience)}") from None

    def close(self) -> None:
        """Close the file."""
        with self._writing:
            self._writer.close()

    def __enter__(self) -> DecisionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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


def undo(connection: sqlite3.Connection, project: int | None, reviewer: str) -> Step | None:
    """Undo the last step of a reviewer that is not undone yet, and withdraw its decisions.

    Args:
        connection: of a transaction.
        project: in which; None: the last of those that are in none.
        reviewer: whose step it is, who undoes it.

    Returns:
        The step; None where there is none to undo.
    """
    if not (found := connection.execute(_LAST_STEP, [project, reviewer]).fetchone()):
        return None
    step = Step(*found)
    for statement in (_WITHDRAW_STEP, _UNDO):
        connection.execute(statement, [reviewer, now(), step.id])
    return step

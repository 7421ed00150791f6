"""DecisionStore: decisions in an SQLite file that many threads and processes write to.

The file is a log: a decision is never changed, and one that was withdrawn stays, with who withdrew
it and when. The order of entry, which the ids give, says what is later; clocks may go backwards.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from linker.decisions import steps
from linker.decisions.database import DAMAGED, connect, inserting, now, problem, until_free
from linker.decisions.records import checked, conflicts, form_of, in_force, standing
from linker.decisions.steps import Done, Step, add_step
from linker.errors import LinkerError, shorten, shown
from linker.files import Pathlike, parse_json
from linker.outputs import settles_of
from linker.text.people import person
from linker.types import Decision

APPLICATION = 0x4C4E4B44  # "LNKD", by which SQLite files of this program are known
SCHEMA = 3
PATIENCE = 60.0  # seconds to wait for other writers
_RESERVE = 6 << 20  # bytes, of which SQLite keeps two millions in memory

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
_SINCE = {1: _TABLES, 2: _MORE_TABLES, 3: _CHANGES}
"""What each schema added; a file of an older one is given it."""
_LEFT = ("proposals",)
"""Tables that only files of schema 2 have, which nobody reads."""
_ALL = (
    "SELECT coalesce(w.time, '') AS withdrawn, coalesce(w.reviewer, '') AS withdrawn_by, "
    "d.mention, concept_id, accepted, scope, d.reviewer, d.time, model, release, d.id, "
    "coalesce(predicate, '') AS predicate, step, coalesce(bulk, 0) AS bulk, "
    "coalesce(settles, '[]') AS settles "
    "FROM decisions d LEFT JOIN withdrawals w ON w.decision = d.id "
    "LEFT JOIN details ON details.decision = d.id WHERE d.id > ? ORDER BY d.id"
)
_COLUMNS = "mention", "concept_id", "accepted", "scope", "reviewer", "time", "model", "release"
_ADD = inserting("decisions", *_COLUMNS)
_DETAILS = "predicate", "bulk", "settles"
_ADD_DETAILS = inserting("details", "decision", "step", "role", *_DETAILS)
_WITHDRAWN = (
    "SELECT w.id, d.id, mention, scope FROM withdrawals w JOIN decisions d ON d.id = w.decision "
    "WHERE w.id > ? ORDER BY w.id"
)
_VERSION = (
    "SELECT (SELECT coalesce(max(id), 0) FROM decisions) "
    "+ (SELECT coalesce(max(id), 0) FROM withdrawals)"
)

_SCHEMA = "SELECT type, name, sql FROM sqlite_master"
_Decisions = list[Decision]  # the method `list` hides the class
_FIELDS = [field.name for field in fields(Decision)]
_TYPES = {"accepted": int, "id": int, "step": int, "bulk": int}  # of columns that are no texts


@dataclass(frozen=True, slots=True)
class Past:
    """A decision, and what became of it."""

    decision: Decision
    is_in_force: bool  # False: it was withdrawn, or a later one replaced it
    withdrawn: str = ""  # when; empty: it was not
    withdrawn_by: str = ""
    is_overruled: bool = False  # whether it is in force, and another one stands above it


Seen = tuple[int, int]
"""The numbers of the last decision, and of the last withdrawal, that somebody read."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What came to a file since somebody read it."""

    decisions: Sequence[Decision]  # in order of entry, without those that were withdrawn
    withdrawn: Sequence[Decision]  # with their mentions and scopes alone
    seen: Seen  # up to where it was read now


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
        self._writing, self._reading = threading.RLock(), threading.RLock()
        if read_only and not self.path.is_file():
            raise LinkerError(f"{shown(path)}: there is no file of decisions")
        with self._reporting(), contextlib.ExitStack() as opened:
            self._reader = connect(self.path, read_only, patience)
            self._writer = self._reader
            opened.callback(self.close)
            if not read_only:  # reading does not wait until another process has written
                self._writer = connect(self.path, read_only, patience)
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
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _check(self, schema: int) -> None:
        """Refuse a file with more or other tables than ours, or whose pages are damaged."""
        with contextlib.closing(sqlite3.connect(":memory:")) as empty:
            for version in range(1, schema + 1):
                empty.executescript(_SINCE[version])
            ours = empty.execute(_SCHEMA).fetchall()
        with self._reading:
            there = self._reader.execute(_SCHEMA).fetchall()
            for kind, name, _ in (row for row in there if row not in ours and row[1] not in _LEFT):
                raise LinkerError(
                    f"{shown(self.path)}: holds the {kind} {shorten(repr(name))}, which linker did "
                    "not make like this; take the file from a backup, or from an export"
                )
            if not {*ours} <= {*there}:
                raise self._damage("a table is missing")
            ((found,),) = self._reader.execute("PRAGMA integrity_check(1)")
            if found != "ok":
                self._all()  # which says of which decision a value is damaged
                raise self._damage(shorten(str(found).splitlines()[-1]))
            if lost := self._reader.execute("PRAGMA foreign_key_check").fetchone():
                raise self._damage(f"row {lost[1]} of {lost[0]} is of a row that is not there")

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
        moment, rows = now(), list(map(_values, map(checked, decisions)))
        for row in rows:
            row["time"] = row["time"] or moment
        added = json.dumps([[row[name] for name in _COLUMNS] for row in rows])
        detailed = [n for n, row in enumerate(rows) if step or any(row[name] for name in _DETAILS)]
        with self.transaction() as connection:
            number = None if step is None else add_step(connection, step)
            connection.execute(_ADD, [added])
            ((last,),) = connection.execute("SELECT last_insert_rowid()")
            first = last - len(rows) + 1  # without gaps, since nobody else writes
            details = [
                [
                    first + n,
                    number,
                    "",
                    row["predicate"],
                    int(row["bulk"]),
                    json.dumps(row["settles"]),
                ]
                for n, row in ((n, rows[n]) for n in detailed)
            ]
            connection.execute(_ADD_DETAILS, [json.dumps(details)])
        ids = enumerate(rows, first)
        return [Decision(**row | {"id": of, "step": number}) for of, row in ids]

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

    def steps(self, project: int | None = None) -> Sequence[Done]:
        """The steps, also those that were undone, in order of entry, with what was done in each.

        Args:
            project: only those in this project; None: all.
        """
        with self._reporting(), self._reading:
            tables = steps.read(self._reader)
        for table, row in ((table, row) for table, rows in tables.items() for row in rows):
            if wrong := [name for name, value in row.items() if isinstance(value, bytes)]:
                raise self._damage(f"{wrong[0]} of row {row['id']} of {table} is no text")
        return steps.joined(tables, [past.decision for past in self._all()], project)

    def list(
        self, *, mention: str | None = None, scope: str | None = None, reviewer: str | None = None
    ) -> list[Decision]:
        """The decisions in force, in order of entry (see `records.in_force`).

        Args:
            mention: only those on this mention; see `records.form_of`.
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
        past = self._all()
        places = in_force(p.decision for p in past if not p.withdrawn)
        ids = {decision.id for of_place in places.values() for decision in of_place}
        stand = {decision.id for of_place in places.values() for decision in standing(of_place)}
        form = None if mention is None else form_of(mention)
        return [
            replace(p, is_in_force=p.decision.id in ids, is_overruled=p.decision.id in ids - stand)
            for p in past
            if scope in (None, p.decision.scope)
            and (reviewer is None or person(reviewer) == person(p.decision.reviewer))
            and form in (None, form_of(p.decision.mention))
        ]

    def since(self, seen: Seen) -> Changes:
        """What came after something was seen, also by other processes; after (0, 0): all."""
        past = self._all(seen[0])  # first, with their withdrawals, so that none is missed
        with self._reporting(), self._reading:
            rows = self._reader.execute(_WITHDRAWN, [seen[1]]).fetchall()
        last = max([seen[0], *(p.decision.id or 0 for p in past[-1:])])
        return Changes(
            [p.decision for p in past if not p.withdrawn],
            [Decision(mention, "", scope=scope, id=number) for _, number, mention, scope in rows],
            (last, max([seen[1], *(row[0] for row in rows[-1:])])),
        )

    def _all(self, after: int = 0) -> Sequence[Past]:
        """The decisions after a number, in order of entry; `is_in_force` is not yet known."""
        with self._reporting(), self._apart() as connection:
            cursor = connection.execute(_ALL, [after])
            names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        kinds = [_TYPES.get(name, str) for name in names]
        of_accepted, of_step = names.index("accepted"), names.index("step")
        for row in rows:
            found = list(map(type, row))
            found[of_step] = int if row[of_step] is None else found[of_step]
            if found != kinds or row[of_accepted] not in (0, 1):
                raise self._damage(_wrong(dict(zip(names, row, strict=True))))
        return [
            Past(
                Decision(mention, concept, bool(accepted), *self._typed(*rest)),
                is_in_force=False,
                withdrawn=withdrawn,
                withdrawn_by=by,
            )
            for withdrawn, by, mention, concept, accepted, *rest in rows
        ]

    def _typed(self, *values: Any) -> Sequence[Any]:
        """The last values of a row as a decision has them: also the flag, and whom it settles."""
        *texts, bulk, names = values
        try:
            settles = () if names == "[]" else settles_of(parse_json(names))
            return *texts, bool(bulk), settles
        except ValueError as error:
            raise self._damage(str(error)) from None

    def conflicts(self) -> Sequence[_Decisions]:
        """The mentions on which reviewers disagree, each with the decisions in force on it."""
        return conflicts(in_force(p.decision for p in self._all() if not p.withdrawn))

    @property
    def version(self) -> int:
        """A number that grows with every write, also with those of other processes."""
        with self._reporting():
            return self._number(_VERSION)

    def _number(self, statement: str) -> int:
        with self._reading:
            return int(self._reader.execute(statement).fetchone()[0])

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own that reads the file as it is now, and holds up nobody."""
        with (
            self._reporting(),
            self._apart() as connection,
        ):
            connection.text_factory = str  # fast; a text that is damaged is an error
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def _apart(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own to read much; who asks for the version does not wait for it."""
        with contextlib.closing(connect(self.path, True, self._patience)) as connection:
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

    def reserve(self) -> None:
        """Take space for some changes before the disk is full, such as that a project is deleted.

        What is rolled back leaves it to the log in which SQLite puts all changes first.
        """
        with contextlib.suppress(sqlite3.Error), self._writing:
            self._writer.execute("PRAGMA busy_timeout = 0")  # who writes now has taken space
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                self._writer.execute(f"CREATE TABLE reserve AS SELECT zeroblob({_RESERVE})")
            finally:
                self._writer.execute("ROLLBACK")

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Errors of SQLite become messages."""
        try:
            yield
        except UnicodeDecodeError:  # of a message of SQLite, which quotes a damaged schema
            raise self._damage("what its schema says is no text") from None
        except sqlite3.Error as error:
            raise LinkerError(
                f"{shown(self.path)}: {problem(error, self.path, self._patience)}"
            ) from None

    def close(self) -> None:
        """Close the file."""
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()

    def __enter__(self) -> DecisionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _values(decision: Decision) -> dict[str, Any]:
    """The fields of a decision; `dataclasses.asdict` takes ten times as long."""
    return {name: getattr(decision, name) for name in _FIELDS}


def _wrong(row: Mapping[str, Any]) -> str:
    """What is wrong with the values of a decision."""
    expected = {str: "a text", int: "a number"}
    for name, value in row.items():
        kind = _TYPES.get(name, str)
        what = "0 or 1" if name == "accepted" else expected[kind]
        is_wrong = type(value) is not kind and not (name == "step" and value is None)
        if is_wrong or (name == "accepted" and value not in (0, 1)):
            return f"{name} of decision {row['id']} is {shorten(repr(value))}, expected {what}"
    raise AssertionError("nothing is wrong with the decision")

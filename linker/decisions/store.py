"""DecisionStore: decisions in an SQLite file that many threads and processes write to.

The file is a log: a decision is never changed, and one that was withdrawn stays, with who withdrew
it and when. The order of entry, which the ids give, says what is later; clocks may go backwards.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from linker.decisions.records import checked, conflicts, form_of, in_force
from linker.errors import LinkerError, shorten, shown
from linker.files import Pathlike
from linker.types import Decision

APPLICATION = 0x4C4E4B44  # "LNKD", by which SQLite files of this program are known
SCHEMA = 1
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
_ALL = (
    "SELECT coalesce(w.time, '') AS withdrawn, coalesce(w.reviewer, '') AS withdrawn_by, "
    "d.mention, concept_id, accepted, scope, d.reviewer, d.time, model, release, d.id "
    "FROM decisions d LEFT JOIN withdrawals w ON w.decision = d.id ORDER BY d.id"
)
_ADD = (
    "INSERT INTO decisions (mention, concept_id, accepted, scope, reviewer, time, model, release) "
    "VALUES (:mention, :concept_id, :accepted, :scope, :reviewer, :time, :model, :release)"
)
_VERSION = (
    "SELECT (SELECT coalesce(max(id), 0) FROM decisions) "
    "+ (SELECT coalesce(max(id), 0) FROM withdrawals)"
)

_SCHEMA = "SELECT type, name, sql FROM sqlite_master"
_DAMAGED = "the file of decisions is damaged{}; take it from a backup, or from an export"

_Decisions = list[Decision]  # the method `list` hides the class


@dataclass(frozen=True, slots=True)
class Past:
    """A decision, and what became of it."""

    decision: Decision
    is_in_force: bool  # False: it was withdrawn, or a later one replaced it
    withdrawn: str = ""  # when; empty: it was not
    withdrawn_by: str = ""


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
            self._reader = _connection(self.path, read_only, patience)
            self._writer = self._reader
            opened.callback(self.close)
            if not read_only:  # reading does not wait until another process has written
                self._writer = _connection(self.path, read_only, patience)
            self._open()
            opened.pop_all()  # it stays open

    def _open(self) -> None:
        """Make the tables of a new file, and refuse a file of something else."""
        tables = "SELECT count(*) FROM sqlite_master"
        if not self._read_only and self._number(tables) == 0:
            _until_free(self._writer, "PRAGMA journal_mode = WAL", self._patience)
            with self._transaction() as connection:
                if self._number(tables) == 0:  # nobody was faster
                    for statement in _TABLES.split(";"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA}")
        if self._number("PRAGMA application_id") != APPLICATION:
            raise LinkerError(
                f"{shown(self.path)}: is an SQLite file of something else; "
                "name a file of decisions, or one that is not there yet"
            )
        if (schema := self._number("PRAGMA user_version")) != SCHEMA:
            raise LinkerError(
                f"{shown(self.path)}: has decisions of schema {schema}; "
                f"this version of linker reads schema {SCHEMA}"
            )
        self._check()

    def _check(self) -> None:
        """Refuse a file with more or other tables than ours, or whose pages are damaged."""
        with contextlib.closing(sqlite3.connect(":memory:")) as empty:
            empty.executescript(_TABLES)
            ours = empty.execute(_SCHEMA).fetchall()
        with self._reading:
            there = self._reader.execute(_SCHEMA).fetchall()
            for kind, name, _ in (row for row in there if row not in ours):
                raise LinkerError(
                    f"{shown(self.path)}: holds the {kind} {shorten(repr(name))}, which linker did "
                    "not make like this; take the file from a backup, or from an export"
                )
            if len(there) < len(ours):
                raise self._damage("a table is missing")
            ((found,),) = self._reader.execute("PRAGMA integrity_check(1)")
            if found != "ok":
                self._all()  # which says of which decision a value is damaged
                raise self._damage(shorten(str(found).splitlines()[-1]))
            if lost := self._reader.execute("PRAGMA foreign_key_check").fetchone():
                raise self._damage(f"withdrawal {lost[1]} is of a decision that is not there")

    def _damage(self, what: str) -> LinkerError:
        """What is wrong with a damaged file, and what to do."""
        return LinkerError(f"{shown(self.path)}: {_DAMAGED.format(f' ({shown(what)})')}")

    def add(self, decisions: Iterable[Decision]) -> list[Decision]:
        """Write decisions in one transaction, and return them with their ids and times.

        They are on the disk when this returns.

        Raises:
            LinkerError: one of them cannot be kept (see `records.checked`), or the file cannot be
                written.
        """
        now = _now()
        added = [replace(d, time=d.time or now) for d in map(checked, decisions)]
        with self._transaction() as connection:
            for number, decision in enumerate(added):
                row = connection.execute(_ADD, asdict(decision)).lastrowid
                added[number] = replace(decision, id=row)
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
        now = _now()
        with self._transaction() as connection:
            return sum(
                connection.execute(statement, (reviewer, now, identifier)).rowcount
                for identifier in ids
            )

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
        form = None if mention is None else form_of(mention)
        return [
            replace(p, is_in_force=p.decision.id in ids)
            for p in past
            if scope in (None, p.decision.scope)
            and reviewer in (None, p.decision.reviewer)
            and form in (None, form_of(p.decision.mention))
        ]

    def _all(self) -> Sequence[Past]:
        """All decisions in order of entry; `is_in_force` is not yet known."""
        with self._reporting(), self._reading:
            cursor = self._reader.execute(_ALL)
            names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        for row in rows:
            for name, value in zip(names, row, strict=True):
                kind = int if name in ("accepted", "id") else str
                if type(value) is not kind or (name == "accepted" and value not in (0, 1)):
                    wrong = f"{name} of decision {row[-1]} is {shorten(repr(value))}"
                    raise self._damage(f"{wrong}, expected {'a text' if kind is str else '0 or 1'}")
        return [
            Past(Decision(mention, concept, bool(accepted), *texts), False, withdrawn, by)
            for withdrawn, by, mention, concept, accepted, *texts in rows
        ]

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
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes; its changes are written together or not at all."""
        with self._reporting(), self._writing, self._writer:
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
            raise LinkerError(f"{shown(self.path)}: {_problem(error, self._patience)}") from None

    def close(self) -> None:
        """Close the file."""
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()

    def __enter__(self) -> DecisionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connection(path: Path, read_only: bool, patience: float) -> sqlite3.Connection:
    """A connection that makes each transaction durable."""
    mode = "mode=ro" if read_only else "mode=rwc"
    has_log = path.with_name(f"{path.name}-wal").exists()
    if read_only and not has_log and not os.access(path.parent, os.W_OK):
        mode = "immutable=1"  # SQLite cannot make its files beside it, as can nobody who writes
    uri = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(
        uri, timeout=patience, isolation_level=None, check_same_thread=False, uri=True
    )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA trusted_schema = OFF")  # of a file that somebody else may have made
    connection.execute("PRAGMA cell_size_check = ON")
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str | bytes:
    """A text of the file; the bytes themselves where it is damaged."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _until_free(connection: sqlite3.Connection, statement: str, patience: float) -> None:
    """Execute what SQLite refuses at once, without waiting, while another process writes."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _problem(error: sqlite3.Error, patience: float) -> str:
    """What an error of SQLite says, and what to do."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"another process has kept it locked for {patience:.0f} seconds; try again later"
    if "readonly" in text:
        return "it can be read, but not written; name a file of decisions that can be written"
    if "not a database" in text:
        return "is no file of decisions (SQLite); name another one"
    if "malformed" in text:
        return _DAMAGED.format("")
    return f"the file of decisions cannot be used ({text})"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")

"""DecisionsFile: the SQLite file of decisions and projects is opened, checked and read.

The file is a log: a decision is never changed, and one that was withdrawn stays, with who withdrew
it and when. The order of entry, which the ids give, says what is later; clocks may go backwards.
`linker.desk.decisions.store` writes it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from linker.errors import LinkerError, shorten, shown
from linker.io.files import Pathlike, parse_json
from linker.io.outputs import settles_of
from linker.linking.decisions import (
    form_everywhere,
    form_of,
    in_force,
    number_of,
    place_of,
    standing,
)
from linker.records import Decision
from linker.text.normalize import person

APPLICATION = 0x4C4E4B44  # "LNKD", by which SQLite files of this program are known
PATIENCE = 60.0  # seconds to wait for other writers
_TEXT = Path(__file__).with_name("decisions.sql").read_text("utf-8")
SCHEMAS = [text.split(";") for text in re.split(r"^-- \d+: .*$", _TEXT, flags=re.MULTILINE)[1:]]
"""The statements by which each schema makes a file out of one of the schema before."""
_LEFT = ("proposals",)  # tables that only files of schema 2 have, which nobody reads
_SCHEMA = "SELECT type, name, sql FROM sqlite_master"
_TEXTS = "mention", "concept_id", "scope", "reviewer", "time", "model", "release"
_DECISIONS = (
    "SELECT mention, concept_id, scope, d.reviewer, d.time, model, release, "
    "coalesce(predicate, ''), coalesce(settles, '[]'), coalesce(w.time, ''), "
    "coalesce(w.reviewer, ''), d.id, accepted, coalesce(step, 0), coalesce(bulk, 0) "
    "FROM decisions d LEFT JOIN withdrawals w ON w.decision = d.id "
    "LEFT JOIN details ON details.decision = d.id"
)
_KINDS = [*[str] * (len(_TEXTS) + 4), *[int] * 4]  # of these columns
_LAST = (
    "SELECT (SELECT coalesce(max(id), 0) FROM decisions), "
    "(SELECT coalesce(max(id), 0) FROM withdrawals)"
)
_NEW_FORMS = (
    "SELECT form FROM decisions WHERE id > ? UNION SELECT form FROM decisions WHERE id IN "
    "(SELECT decision FROM withdrawals WHERE id > ?)"
)

Seen = tuple[int, int]
"""The numbers of the last decision, and of the last withdrawal, that somebody read."""
_Self = TypeVar("_Self", bound="DecisionsFile")


@dataclass(frozen=True, slots=True)
class Past:
    """A decision, and what became of it: a later one replaced it, or one stands above it."""

    decision: Decision
    state: Literal["in force", "overruled", "replaced", "withdrawn"]
    withdrawn: str = ""  # when
    withdrawn_by: str = ""


class DecisionsFile:
    """A file of decisions; a context manager.

    Many threads may use one, and many processes one each on the same file. One of an older schema
    is brought up to date.

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
        with self._reporting(), contextlib.ExitStack() as stack:
            self._writer = self._connect(read_only)
            stack.callback(self.close)
            self._open()
            stack.pop_all()  # it stays open

    def _connect(self, read_only: bool) -> sqlite3.Connection:
        """A connection that makes each transaction durable."""
        mode = "mode=ro" if read_only else "mode=rwc"
        log = self.path.with_name(f"{self.path.name}-wal")  # the latest changes of a file in use
        if read_only and not log.exists() and not os.access(self.path.parent, os.W_OK):
            mode = "immutable=1"  # SQLite cannot make its files beside it, as can nobody who writes
        uri = f"{self.path.absolute().as_uri()}?{mode}"
        connection = sqlite3.connect(
            uri, timeout=self._patience, isolation_level=None, check_same_thread=False, uri=True
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")  # somebody else may have made the file
        connection.execute("PRAGMA cell_size_check = ON")
        return _with_functions(connection)

    def _open(self) -> None:
        """Make the tables of a new or older file, and refuse a file of something else."""
        schema = self._number("PRAGMA user_version")
        is_new = not self._read_only and self._number("SELECT count(*) FROM sqlite_master") == 0
        if not is_new:
            if self._number("PRAGMA application_id") != APPLICATION:
                raise self._refused("is an SQLite file of something else")
            if not 1 <= schema <= len(SCHEMAS):
                raise self._refused(f"has decisions of schema {schema}, of a later linker")
            self._check(schema)
        if not self._read_only:
            with contextlib.suppress(sqlite3.OperationalError):  # another process does it now
                self._writer.execute("PRAGMA journal_mode = WAL")  # readers wait for no writer
        if schema == len(SCHEMAS):
            return
        if self._read_only:
            DecisionsFile(self.path, patience=self._patience).close()  # brings it up to date
            return
        with self.transaction() as connection:
            schema = self._number("PRAGMA user_version")  # perhaps somebody was faster
            for statement in (each for statements in SCHEMAS[schema:] for each in statements):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(SCHEMAS)}")

    def _check(self, schema: int) -> None:
        """Refuse a file with more or other tables than ours, or whose pages are damaged."""
        with contextlib.closing(_with_functions(sqlite3.connect(":memory:"))) as empty:
            for statements in SCHEMAS[:schema]:
                empty.executescript(";".join(statements))
            ours = {*empty.execute(_SCHEMA)}
        there = {*self._writer.execute(_SCHEMA)}
        for kind, name, _ in sorted(there ^ ours, key=repr):
            if name not in _LEFT:
                raise self._refused(f"its {kind} {shorten(repr(name))} is not as linker makes it")
        for pragma, expected in (("integrity_check(1)", [("ok",)]), ("foreign_key_check", [])):
            if (problems := self._writer.execute(f"PRAGMA {pragma}").fetchall()) != expected:
                raise self._refused(f"is damaged ({shown(shorten(str(problems[0])))})")

    def _number(self, statement: str) -> int:
        return int(self._writer.execute(statement).fetchone()[0])

    def _refused(self, what: str) -> LinkerError:
        """What is wrong with a file, and what to do."""
        remedy = "name another file, or take this one from a backup, or from an export"
        return LinkerError(f"{shown(self.path)}: {what}; {remedy}")

    # reading

    def list(self, mention: str | None = None) -> list[Decision]:
        """The decisions in force, or those on a mention, in order of entry; see `in_force`."""
        with self.reading() as connection:
            rows = self._on(connection, _forms_of(mention))
        places = in_force(decision for decision, withdrawn, _ in rows if not withdrawn)
        return sorted(itertools.chain.from_iterable(places.values()), key=number_of)

    def history(self, mention: str | None = None) -> Sequence[Past]:
        """All decisions, or those on a mention, in order of entry, and what became of each."""
        with self.reading() as connection:
            return self.history_in(connection, _forms_of(mention))

    def history_in(
        self, connection: sqlite3.Connection, forms: Iterable[str] | None
    ) -> Sequence[Past]:
        """What `history` says, by a connection, be it of a transaction.

        Args:
            connection: of `reading` or `transaction`.
            forms: on which mentions, see `place_of`; None: on all.
        """
        rows = self._on(connection, forms)
        states: dict[int | None, Any] = {}
        for of_place in in_force(d for d, withdrawn, _ in rows if not withdrawn).values():
            states |= {decision.id: "overruled" for decision in of_place}
            states |= {decision.id: "in force" for decision in standing(of_place)}
        return [
            Past(d, states.get(d.id, "withdrawn" if withdrawn else "replaced"), withdrawn, by)
            for d, withdrawn, by in rows
        ]

    def _on(
        self, connection: sqlite3.Connection, forms: Iterable[str] | None
    ) -> Sequence[tuple[Decision, str, str]]:
        """The decisions on mentions of some forms, or all; see `_read`."""
        if forms is None:
            return self._read(connection, "", [])
        wanted = " WHERE form IN (SELECT value FROM json_each(?))"
        return self._read(connection, wanted, [json.dumps(list(forms))])

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
            forms = {form for (form,) in connection.execute(_NEW_FORMS, seen)}
            where = f" WHERE w.id IS NULL AND form IN ({_NEW_FORMS})"
            return last, forms, [d for d, *_ in self._read(connection, where, seen)]

    def _read(
        self, connection: sqlite3.Connection, where: str, values: Sequence[Any]
    ) -> Sequence[tuple[Decision, str, str]]:
        """Decisions in order of entry, with when they were withdrawn, and by whom."""
        rows = []
        for row in connection.execute(f"{_DECISIONS}{where} ORDER BY d.id", values).fetchall():
            *texts, predicate, settles, withdrawn, by, number, accepted, step, bulk = row
            try:
                if list(map(type, row)) != _KINDS:
                    raise ValueError("it holds a value of another kind")
                names = () if settles == "[]" else settles_of(parse_json(settles))
            except ValueError as error:
                raise self._refused(f"is damaged (decision {number}: {error})") from None
            fields: dict[str, Any] = dict(zip(_TEXTS, texts, strict=True))
            fields |= {"accepted": bool(accepted), "id": number, "predicate": predicate}
            fields |= {"step": step or None, "bulk": bool(bulk), "settles": names}
            rows.append((Decision(**fields), withdrawn, by))
        return rows

    def connect(self) -> sqlite3.Connection:
        """A connection for one who reads often, and closes it; see `reading`."""
        return self._connect(read_only=True)

    @contextlib.contextmanager
    def reading(self, kept: sqlite3.Connection | None = None) -> Iterator[sqlite3.Connection]:
        """A connection that reads the file as it is now, and holds up nobody.

        Args:
            kept: one of `connect`; None: one that is closed then.
        """
        with self._reporting(), contextlib.ExitStack() as stack:
            if kept:
                stack.callback(kept.commit)
            else:
                kept = stack.enter_context(contextlib.closing(self._connect(read_only=True)))
            kept.execute("BEGIN")
            yield kept

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes; its changes are written together or not at all.

        Raises:
            LinkerError: other threads, or other processes, had it for longer than the patience.
        """
        with self._reporting():
            if not self._writing.acquire(timeout=self._patience):
                raise sqlite3.OperationalError("database is locked")
            try:
                with self._writer:
                    self._writer.execute("BEGIN IMMEDIATE")
                    yield self._writer
            finally:
                self._writing.release()

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Errors of SQLite become messages."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # which quotes a damaged schema
            raise LinkerError(
                f"{shown(self.path)}: the file of decisions cannot be used ({error}); try again "
                "later, or, where it is damaged, take it from a backup, or from an export"
            ) from None

    def close(self) -> None:
        """Close the file."""
        with self._writing:
            self._writer.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _forms_of(mention: str | None) -> set[str] | None:
    """The forms by which decisions on a mention are found; None: all."""
    return None if mention is None else {form_of(mention), form_everywhere(mention)}


def _with_functions(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The connection, with which statements of SQL know people and forms."""
    connection.create_function("person", 1, person, deterministic=True)
    connection.create_function("form", 2, lambda *place: place_of(*place)[0], deterministic=True)
    return connection

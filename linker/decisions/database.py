"""SQLite: connections that make what they write durable, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import datetime, timezone
from pathlib import Path

from linker.decisions.records import place_of
from linker.text.people import person

DAMAGED = "the file of decisions is damaged{}; take it from a backup, or from an export"


def connect(path: Path, read_only: bool, patience: float) -> sqlite3.Connection:
    """A connection that makes each transaction durable."""
    mode = "mode=ro" if read_only else "mode=rwc"
    log = path.with_name(f"{path.name}-wal")  # the latest changes of a file that is open
    if read_only and not log.exists() and not os.access(path.parent, os.W_OK):
        mode = "immutable=1"  # SQLite cannot make its files beside it, as can nobody who writes
    uri = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(
        uri, timeout=patience, isolation_level=None, check_same_thread=False, uri=True
    )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA trusted_schema = OFF")  # of a file that somebody else may have made
    connection.execute("PRAGMA cell_size_check = ON")
    connection.create_function("person", 1, person, deterministic=True)
    connection.create_function("form", 2, lambda *place: place_of(*place)[0], deterministic=True)
    return connection


def inserting(table: str, *columns: str) -> str:
    """The statement that adds rows to a table, given as a JSON array of arrays, in their order.

    It is one step of SQLite: with a step for each row, Python would give way to other threads, and
    wait for its turn, ten thousand times in a transaction that others wait for.
    """
    values = ", ".join(f"json_extract(value, '$[{place}]')" for place in range(len(columns)))
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM json_each(?) ORDER BY key"


def until_free(connection: sqlite3.Connection, statement: str, patience: float) -> None:
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


def problem(error: sqlite3.Error, patience: float) -> str:
    """What an error of SQLite says of a file, and what to do."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"another process has kept it locked for {patience:.0f} seconds; try again later"
    if "readonly" in text:
        return "it can be read, but not written; name a file of decisions that can be written"
    if "not a database" in text:
        return "is no file of decisions (SQLite); name another one"
    if "full" in text:
        return "there is no space left where it is; free some, and try again"
    if "malformed" in text or "decode" in text:
        return DAMAGED.format("")
    return f"the file of decisions cannot be used ({text})"


def now() -> str:
    """The time in UTC, as ISO 8601 has it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")

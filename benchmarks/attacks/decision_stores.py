"""Files of decisions with other bytes, types, triggers, views and tables than they should have."""

from __future__ import annotations

import contextlib
import csv
import io
import random
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .core import Failed
from .decisions import DECIDED, Shared, ran
from .judgements import Said, check_claims, check_mappings, claims, expect, selected
from .mutate import mutated

_AGAIN = (
    "ALTER TABLE decisions RENAME TO old; CREATE TABLE decisions (id, mention, concept_id, "
    "accepted, scope, reviewer, time, model, release); INSERT INTO decisions SELECT * FROM old; "
)
_SCRIPTS = (
    "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN UPDATE decisions SET concept_id = "
    "'OMIM:208900' WHERE id = new.id; END",
    "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN DELETE FROM decisions WHERE id < new.id; END",
    "CREATE TRIGGER t BEFORE INSERT ON decisions BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t AFTER INSERT ON withdrawals BEGIN DELETE FROM withdrawals; END",
    "UPDATE decisions SET {column} = {value} WHERE id = {id}",
    "UPDATE decisions SET accepted = {value} WHERE id = {id}",
    "UPDATE decisions SET mention = {value} WHERE id = {id}",
    "UPDATE decisions SET concept_id = {value} WHERE id = {id}",
    "INSERT INTO withdrawals (decision, reviewer, time) VALUES ({value}, 'x', {value})",
    "ALTER TABLE decisions RENAME COLUMN scope TO place",
    "ALTER TABLE decisions ADD COLUMN extra TEXT",
    "ALTER TABLE decisions DROP COLUMN model",
    "ALTER TABLE decisions RENAME TO old; CREATE VIEW decisions AS SELECT id, mention, "
    "'OMIM:208900' AS concept_id, 1 AS accepted, scope, reviewer, time, model, release FROM old",
    "DROP TABLE withdrawals",
    "DROP TABLE decisions",
    "ALTER TABLE withdrawals RENAME TO old; CREATE TABLE withdrawals (id, decision, reviewer, "
    "time); INSERT INTO withdrawals VALUES (1, 1, '', NULL), (2, 1, '', 'x')",
    _AGAIN + "UPDATE decisions SET {column} = {value} WHERE id = {id}",
    _AGAIN + "INSERT INTO decisions SELECT * FROM old",
    "PRAGMA user_version = {number}",
    "PRAGMA application_id = {number}",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "PRAGMA encoding = 'UTF-16'; VACUUM",
    "PRAGMA auto_vacuum = 2; VACUUM",
    "PRAGMA journal_mode = DELETE",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO "
    "decisions SELECT i + 100, 'breast cancer', 'X:' || i, 0, '', 'Ada', 't', '', '' FROM n",
)
_VALUES = (
    "'false'", "'true'", "2", "-1", "0.5", "x'ff00'", "x'00'", "''", "'1'", "9223372036854775807",
    "'a' || char(0) || 'b'", "CAST(x'c328' AS TEXT)", "CAST(x'eda080' AS TEXT)", "1e400", "0",
    "NULL", "'[]'", "char(10) || 'x'", "replace(hex(zeroblob(100000)), '0', 'x')",
    "-9223372036854775808",
)  # fmt: skip
_COLUMNS = (
    "mention", "concept_id", "accepted", "scope", "reviewer", "time", "model", "release", "id",
)  # fmt: skip
_COMMANDS = (
    "list", "list", "export", "sssom", "mentions", "check", "withdraw", "link", "link", "decide",
    "import",
)  # fmt: skip
_READ = (
    "SELECT id, mention, concept_id, accepted, typeof(mention), typeof(concept_id), "
    "typeof(accepted) FROM decisions"
)
_Rows = Sequence[tuple[Any, ...]]


def attack(rng: random.Random, folder: Path, shared: Shared) -> None:
    """A hostile file of decisions, through a command that reads or changes it."""
    path, data = folder / "store.sqlite", shared.files["store.sqlite"]
    is_damaged = rng.random() < 0.4
    path.write_bytes(_damaged(rng, data) if is_damaged else data)
    if not is_damaged:
        _change_tables(rng, path)
    before, command, options = selected(path, _READ), rng.choice(_COMMANDS), ["--decisions", path]
    if command in ("decide", "import"):
        _add_to(path, command, shared, before)
    elif command == "withdraw":
        result = ran(["decisions", "withdraw", *options, "--id", 1])
        gone = selected(path, "SELECT 1 FROM withdrawals WHERE decision = 1")
        if result.code == 0 and not gone:
            raise Failed("a decision is in force that was said to be withdrawn: 1")
    elif command == "link":
        form = rng.choice(("jsonl", "pubtator", "bioc"))
        source = shared.folder / "document.txt"
        result = ran(["link", source, *shared.model, *options, "--format", form])
        if result.code == 0:
            check_claims(claims(form, result.out.decode()), _good(before), shared.dictionary)
    elif command == "check":
        ran(["decisions", "check", *options, "--dict", shared.folder / "dict.tsv"])
    elif command == "list":
        is_past = rng.random() < 0.5
        result = ran(["decisions", "list", *options, *["--history"] * is_past])
        if result.code == 0:
            _check_listed(result.out.decode(), before, is_past)
    else:
        form = command.replace("export", "tsv")
        result = ran(["decisions", "export", *options, "--format", form])
        if result.code == 0 and form == "tsv":
            _check_listed(result.out.decode(), before, False)
        elif result.code == 0 and form == "sssom":
            check_mappings(result.out.decode(), _good(before), shared.dictionary)


def _damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes of a database that differ: anywhere, in its head, its schema, or a page of rows."""
    start, end = rng.choice(((0, 0), (0, 100), (100, 4096), (4096, len(data))))
    if not end:
        return mutated(rng, data)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(start, end)
        if changed[at] or rng.random() < 0.2:  # most of a page is empty
            changed[at] = rng.randrange(256)
    return bytes(changed)


def _change_tables(rng: random.Random, path: Path) -> None:
    """Change a database in one or two of the ways in which others would."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for _ in range(rng.choice((1, 1, 2))):
            script = rng.choice(_SCRIPTS).format(
                value=rng.choice(_VALUES),
                id=rng.randint(1, len(DECIDED)),
                column=rng.choice(_COLUMNS),
                number=rng.choice((0, 2, 1, 99, -1, 2**31 - 1)),
            )
            with contextlib.suppress(sqlite3.Error):
                connection.executescript(script)
                connection.commit()


def _good(rows: Iterable[tuple[Any, ...]]) -> list[Said]:
    """What the rows say that are of the right types."""
    return [
        Said.of(mention, concept, bool(accepted))
        for _, mention, concept, accepted, *types in rows
        if types == ["text", "text", "integer"] and accepted in (0, 1)
    ]


def _check_listed(text: str, rows: _Rows, is_past: bool) -> None:
    listed = list(csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"))
    concept = "concept" if is_past else "concept_id"
    said = [Said.of(row["mention"], row[concept], row["accepted"] == "true") for row in listed]
    expect(said, (), _good(rows))
    if is_past and len(listed) != len(rows):
        raise Failed(f"decisions were lost: {len(rows)} in the file, {len(listed)} listed")


def _add_to(path: Path, command: str, shared: Shared, before: _Rows) -> None:
    """Add a decision to a hostile file: it stands there as given, and so do those before it."""
    given = path.with_name("given.tsv")
    row = "mention\tconcept_id\treviewer\nnew mention\tMESH:D010051\tEve\n"
    given.write_text(row, encoding="utf-8")
    words = ["decide", *shared.model] if command == "decide" else ["decisions", "import"]
    if ran([*words, given, "--decisions", path]).code:
        return
    after = selected(path, _READ)
    if Said.of("new mention", "MESH:D010051") not in _good(after):
        raise Failed(
            f"a decision was lost: it was said to be taken, and is not there, {after[-1:]}"
        )
    if lost := [row for row in before if row not in after]:
        raise Failed(f"decisions were lost: {lost}")

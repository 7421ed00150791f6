"""The rows of projects in the file of decisions."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker.desk.decisions import exchange
from linker.desk.decisions.store import DecisionStore, Step, add_step
from linker.desk.projects import sources
from linker.desk.projects import store as rows
from linker.desk.projects.store import Missing, Origin, Taken
from linker.errors import Cancelled, LinkerError
from linker.records import Decision


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DecisionStore]:
    with DecisionStore(tmp_path / "decisions.sqlite") as store:
        yield store


def texts(first: int, count: int = 60) -> sources.Content:
    """Documents whose ids are numbers, with a mention each."""
    content = "".join(
        f"{n}|t|Gout {n}\n{n}|a|\n{n}\t0\t4\tGout\tDisease\n\n" for n in range(first, first + count)
    )
    return sources.read(content.encode(), f"{first}.txt", None, None, 100_000)


def documents(store: DecisionStore) -> list[tuple[int, str]]:
    with store.reading() as connection:
        return [(d.number, d.document.id) for d in rows.documents(connection, 1)]


def mentions(store: DecisionStore) -> int:
    with store.reading() as connection:
        return int(connection.execute("SELECT count(*) FROM mentions").fetchone()[0])


def test_a_further_file_is_there_once(store: DecisionStore) -> None:
    rows.create(store, "p", texts(1, 1), "", "ann", Origin("", ""))
    rows.add(store, 1, texts(100))
    found = documents(store)
    assert found == [(1, "1"), *enumerate(map(str, range(100, 160)), 2)]
    with pytest.raises(Taken):
        rows.add(store, 1, texts(100))
    assert (documents(store), mentions(store)) == (found, 61)


def test_a_project_goes_with_all_that_it_holds_and_decisions_stay(store: DecisionStore) -> None:
    for name in ("p", "q"):
        rows.create(store, name, texts(1, 2), "", "ann", Origin("", ""))
    store.add([Decision("x", "A")], Step("said", "ann", 1))
    rows.delete(store, 1)
    log = io.StringIO()
    exchange.write_log(store, log)
    (row,) = csv.DictReader(io.StringIO(log.getvalue()), delimiter="\t")
    assert (row["project"], row["words"]) == ("", "said")
    rows.remove_unfinished(store)
    tables = ("projects", "sources", "documents", "mentions", "decisions", "steps")
    with store.reading() as connection:
        counts = [connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables]
        assert [project.name for project in rows.projects(connection)] == ["q"]
        assert connection.execute("SELECT project FROM steps").fetchall() == [(None,)]
    assert counts == [1, 1, 2, 2, 1, 1]
    rows.create(store, "p", texts(1, 1), "", "ann", Origin("", ""))  # its name is free again


def test_others_write_between_the_batches_in_which_a_project_goes(store: DecisionStore) -> None:
    rows.create(store, "p", names(1_250), "", "ann", Origin("", ""))
    rows.add(store, 1, sources.read(b"asthma\n" * 3, "b.txt", None, None, 100))
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO answers (project, ids, shown, prediction) "
            "SELECT project, '', '', '' FROM mentions"
        )
        step = add_step(connection, Step("marked", "ann", 1))
        for table in ("marks", "remarks"):
            columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            empty = ", ".join("''" for _ in columns[2:])
            statement = f"INSERT INTO {table} ({', '.join(columns[1:])}) SELECT ?, {empty}"
            connection.execute(f"{statement} FROM mentions", [step])
    tables = ("mentions", "answers", "marks", "remarks")
    counts = list[list[int]]()

    def count() -> list[int]:
        with store.reading() as connection:
            assert rows.projects(connection) == []
            with pytest.raises(Missing):
                rows.project(connection, 1)
            return [connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables]

    def write(function: Any, *arguments: Any) -> Any:
        store.add([Decision(f"x {len(counts)}", "A")])
        counts.append(count())
        return function(*arguments)

    rows.delete(store, 1)
    rows.remove_unfinished(store, write)
    mentions, *others = zip(*counts, strict=True)
    assert mentions[:4] == (1_253, 753, 253, 3)
    for removed in (mentions, *others):
        assert max(before - after for before, after in itertools.pairwise(removed)) == 500
    assert count() == [0, 0, 0, 0]
    assert (left(store), len(store.list())) == ([0, 0, 0, 0, 0], len(counts))


def test_what_is_left_of_a_deleted_project_goes_after_a_stop(store: DecisionStore) -> None:
    rows.create(store, "p", names(1_250), "", "ann", Origin("", ""))
    rows.delete(store, 1)

    def write(function: Any, *arguments: Any) -> Any:
        if mentions(store) < 1_250:
            raise Cancelled
        return function(*arguments)

    with pytest.raises(Cancelled):
        rows.remove_unfinished(store, write)
    assert mentions(store) == 750
    rows.create(store, "p", names(2), "", "ann", Origin("", ""))  # its name is free
    rows.remove_unfinished(store)
    assert left(store) == [1, 1, 0, 0, 2]


def test_what_was_half_stored_before_goes_with_the_next_schema(tmp_path: Path) -> None:
    """Files of schema 3 held the time in the place of the content until it was whole."""
    path = tmp_path / "3.sqlite"
    with DecisionStore(path) as store:
        for name in ("whole", "half", "hidden"):
            rows.create(store, name, texts(1, 2), "", "ann", Origin("", ""))
        store.add([Decision("x (AB)", "A")], Step("said", "ann", 3))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "UPDATE sources SET content = CAST('2026-01-01' AS BLOB) WHERE project = 2;"
            "UPDATE projects SET created = '', name = char(10) WHERE id = 3;"
            "UPDATE mentions SET form = '';"
            "DROP INDEX decisions_by_form; ALTER TABLE decisions DROP COLUMN form;"
            "ALTER TABLE mentions DROP COLUMN written;"
            "ALTER TABLE answers DROP COLUMN assertion;"
            "PRAGMA user_version = 3;"
        )
    with DecisionStore(path) as store:
        with store.reading() as connection:
            assert [project.name for project in rows.projects(connection)] == ["whole", "half"]
            assert [source.name for source in rows.sources(connection, 1)] == ["1.txt"]
            assert rows.sources(connection, 2) == []
            forms = connection.execute("SELECT DISTINCT project, form FROM mentions").fetchall()
        assert forms == [(1, "gout")]
        assert [decision.mention for decision in store.list(mention="X AB")] == ["x (AB)"]


def test_a_full_disk_keeps_nothing_by_half(store: DecisionStore) -> None:
    rows.create(store, "p", texts(1, 1), "", "ann", Origin("", ""))
    with store.transaction() as connection:
        ((pages,),) = connection.execute("PRAGMA page_count")
    store._writer.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(LinkerError):
        rows.add(store, 1, texts(100, 400))
    with pytest.raises(LinkerError):
        store.add([Decision("x" * 400, "A")] * 50, Step("said", "ann", 1))
    with store.reading() as connection:
        assert [source.name for source in rows.sources(connection, 1)] == ["1.txt"]
    assert store.list() == []
    store._writer.execute("PRAGMA max_page_count = 1000000")
    rows.add(store, 1, texts(100))
    store.add([Decision("x", "A")], Step("said", "ann", 1))
    assert (len(store.list()), mentions(store)) == (1, 61)


def names(count: int) -> sources.Content:
    """A list of names."""
    text = "".join(f"gout {number}\n" for number in range(count))
    return sources.read(text.encode(), "names.txt", None, None, 10**6)


def left(store: DecisionStore) -> list[int]:
    """How many projects, sources, cells, documents and mentions there are in all."""
    tables = ("projects", "sources", "cells", "documents", "mentions")
    with store.reading() as connection:
        return [connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables]


def test_others_write_between_the_batches_of_a_file(store: DecisionStore) -> None:
    seen = list[int]()

    def write(function: Any, *arguments: Any) -> Any:
        store.add([Decision(f"x {len(seen)}", "A")])
        with store.reading() as connection:
            assert rows.projects(connection) == []  # none is shown that is not whole
        seen.append(mentions(store))
        return function(*arguments)

    number = rows.create(store, "p", names(1_250), "", "ann", Origin("", ""), write)
    assert (number, seen) == (1, [0, 0, 500, 1_000, 1_250])
    with store.reading() as connection:
        assert [project.name for project in rows.projects(connection)] == ["p"]
    assert (left(store), len(store.list())) == ([1, 1, 0, 0, 1_250], 5)


def in_new_project(store: DecisionStore, write: Any) -> None:
    rows.create(store, "q", names(2_500), "", "ann", Origin("", ""), write)


def in_old_project(store: DecisionStore, write: Any) -> None:
    rows.add(store, 1, names(2_500), write)


@pytest.mark.parametrize("take", [in_new_project, in_old_project])
def test_what_fails_leaves_nothing(store: DecisionStore, take: Any) -> None:
    rows.create(store, "p", names(3), "", "ann", Origin("", ""))
    calls = 0

    def write(function: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise LinkerError("the disk is full")
        return function(*arguments)

    with pytest.raises(LinkerError):
        take(store, write)
    assert left(store) == [1, 1, 0, 0, 3]


@pytest.mark.parametrize("take", [in_new_project, in_old_project])
def test_what_a_killed_process_left_is_not_shown_and_goes(
    store: DecisionStore, monkeypatch: pytest.MonkeyPatch, take: Any
) -> None:
    rows.create(store, "p", names(3), "", "ann", Origin("", ""))
    calls = 0

    def write(function: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Cancelled
        return function(*arguments)

    with pytest.raises(Cancelled):
        take(store, write)
    with store.reading() as connection:
        assert [project.name for project in rows.projects(connection)] == ["p"]
        assert len(rows.sources(connection, 1)) == 1
    rows.remove_unfinished(store)  # another process may be at it
    assert left(store)[4] == 503
    monkeypatch.setattr(rows, "STALE", -1.0)
    rows.remove_unfinished(store)
    assert left(store) == [1, 1, 0, 0, 3]
    rows.create(store, "q", names(5), "", "ann", Origin("", ""))  # its name is free


def test_a_project_that_is_deleted_meanwhile_gets_no_more_rows(store: DecisionStore) -> None:
    rows.create(store, "p", names(3), "", "ann", Origin("", ""))
    calls = 0

    def write(function: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            rows.delete(store, 1)
        return function(*arguments)

    with pytest.raises(Missing):
        rows.add(store, 1, names(2_500), write)
    rows.remove_unfinished(store)
    assert left(store) == [0, 0, 0, 0, 0]


def written(store: DecisionStore, file: sources.Content) -> list[int]:
    """How many rows or documents are stored together of a file that becomes a project."""
    counts = list[int]()

    def write(function: Any, *arguments: Any) -> Any:
        if function in (rows._add_rows, rows._add_documents):
            counts.append(len(arguments[2]))
        return function(*arguments)

    rows.create(store, "p", file, "", "ann", Origin("", ""), write)
    return counts


def test_long_texts_are_stored_in_batches_of_few(store: DecisionStore) -> None:
    text = "No gout was seen here. " * 5_000
    lines = [json.dumps({"id": str(number), "text": text}) for number in range(30)]
    file = sources.read("\n".join(lines).encode(), "a.jsonl", None, None, 10**8)
    counts = written(store, file)
    assert (sum(counts), max(counts) * len(text) < 1_200_000) == (30, True)


def test_rows_with_long_cells_are_stored_in_batches_of_few(store: DecisionStore) -> None:
    note = "seen " * 20_000
    table = "mention,note\n" + f"gout,{note}\n" * 30
    counts = written(store, sources.read(table.encode(), "a.csv", None, None, 10**8))
    assert (sum(counts), max(counts) * len(note) < 1_200_000) == (30, True)

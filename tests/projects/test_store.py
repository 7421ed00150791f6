"""Files of projects: those that come at the same time, and those that are not stored to their end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from linker.decisions.steps import Step
from linker.decisions.store import DecisionStore
from linker.errors import LinkerError
from linker.projects import sources
from linker.projects import store as rows
from linker.projects.store import Origin, Taken
from linker.types import Decision


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


def test_files_that_come_at_the_same_time_are_both_there(store: DecisionStore) -> None:
    list(rows.created(store, "p", texts(1, 1), {}, "ann", Origin("", "")))
    one, other = rows.added(store, 1, texts(100)), rows.added(store, 1, texts(200))
    next(one), next(other)
    list(other)
    list(one)
    found = documents(store)
    assert [number for number, _ in found] == list(range(1, 122))
    expected = {"1", *map(str, range(100, 160)), *map(str, range(200, 260))}
    assert {name for _, name in found} == expected
    assert mentions(store) == 121


def test_a_file_that_comes_twice_at_the_same_time_is_there_once(store: DecisionStore) -> None:
    list(rows.created(store, "p", texts(1, 1), {}, "ann", Origin("", "")))
    one, other = rows.added(store, 1, texts(100)), rows.added(store, 1, texts(100))
    next(one), next(other)
    list(other)
    with pytest.raises(Taken, match=r"100.txt: is in the project already, as 100.txt"):
        list(one)
    assert (len(documents(store)), mentions(store)) == (61, 61)


def test_a_file_that_was_removed_is_not_stored_further(store: DecisionStore) -> None:
    list(rows.created(store, "p", texts(1, 1), {}, "ann", Origin("", "")))
    going = rows.added(store, 1, texts(100))
    next(going), next(going)
    with store.reading() as connection:
        (whole,) = rows.sources(connection, 1)
    list(rows.removed(store, whole.id + 1))
    with pytest.raises(rows.Missing, match="was removed while it was stored"):
        list(going)
    assert mentions(store) == 1


def test_a_file_that_was_not_stored_to_its_end_is_removed(
    store: DecisionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(rows.created(store, "p", texts(1, 1), {}, "ann", Origin("", "")))
    going = rows.added(store, 1, texts(100))
    while mentions(store) == 1:
        next(going)
    going.close()
    with store.reading() as connection:
        assert [source.name for source in rows.sources(connection, 1)] == ["1.txt"]
        assert rows.unfinished(connection) == []  # it may be going on
        monkeypatch.setattr(rows, "SILENT", timedelta(seconds=-1))
        (source,) = rows.unfinished(connection)
    list(rows.removed(store, source))
    assert (documents(store), mentions(store)) == ([(1, "1")], 1)
    list(rows.added(store, 1, texts(100)))  # which is not there already
    assert len(documents(store)) == 61
    with store.reading() as connection:
        assert rows.unfinished(connection) == []


def test_the_last_project_is_that_in_which_somebody_decided(store: DecisionStore) -> None:
    def last() -> str | None:
        with store.reading() as connection:
            project = rows.last(connection)
        return project and project.name

    assert last() is None
    for name in ("a", "b", "c"):
        list(rows.created(store, name, texts(1, 1), {}, "ann", Origin("", "")))
    assert last() == "c"
    store.add([Decision("x", "A")], Step("said", "ann", 2))
    assert last() == "b"


def test_a_full_disk_keeps_nothing_by_half(store: DecisionStore) -> None:
    list(rows.created(store, "p", texts(1, 1), {}, "ann", Origin("", "")))
    with store.transaction() as connection:
        ((pages,),) = connection.execute("PRAGMA page_count")
    store._writer.execute(f"PRAGMA max_page_count = {pages + 2}")
    going = rows.added(store, 1, texts(100, 400))
    with pytest.raises(LinkerError, match="there is no space left where it is; free some"):
        list(going)
    with pytest.raises(LinkerError, match="there is no space left"):
        store.add([Decision("x" * 400, "A")] * 50, Step("said", "ann", 1))
    with store.reading() as connection:
        assert [source.name for source in rows.sources(connection, 1)] == ["1.txt"]
    assert store.list() == []
    store._writer.execute("PRAGMA max_page_count = 1000000")
    list(rows.added(store, 1, texts(100)))
    store.add([Decision("x", "A")], Step("said", "ann", 1))
    assert (len(store.list()), len(store.steps())) == (1, 1)

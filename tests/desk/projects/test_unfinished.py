"""Files that are being stored: nobody sees them, they are removed or sent again without loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from linker.desk.decisions.store import Step, directly
from linker.desk.projects import documents, intake, linking, marks, sources
from linker.desk.projects import store as rows
from linker.desk.projects.marks import Mark, Place
from linker.desk.projects.queue import decided_mentions
from linker.desk.projects.store import Missing, Taken
from linker.errors import Cancelled
from linker.records import Decision

from .conftest import Desk


def texts(*numbers: int) -> sources.Content:
    """Documents whose ids are numbers, with a mention each."""
    lines = (
        f"{n}|t|Gout {n}\n{n}|a|\n{n}\t0\t{5 + len(str(n))}\tGout {n}\tDisease\n" for n in numbers
    )
    content = "\n".join(lines).encode()
    return sources.read(content, f"{numbers[0]}.txt", None, None, 10**6)


def names(count: int) -> sources.Content:
    """A list of names."""
    content = "".join(f"gout {number}\n" for number in range(count)).encode()
    return sources.read(content, "names.txt", None, None, 10**6)


def made(desk: Desk, file: sources.Content) -> int:
    number = intake.create(desk.store, file, None, desk.session, "p", None).number
    assert list(linking.link(desk.store, number, desk.linker))[-1] == 1
    return number


def killed_before_the_end(function: Any, *arguments: Any) -> Any:
    """Writes all batches of a file, and not that it is whole."""
    if function is rows._finish:
        raise Cancelled
    return function(*arguments)


def add(desk: Desk, number: int, file: sources.Content, write: Any = directly) -> list[str]:
    return list(intake.add(desk.store, number, file, None, "Ada", write=write).notes)


def document_ids(desk: Desk, number: int) -> dict[int, str]:
    with desk.store.reading() as connection:
        return {d.number: d.document.id for d in rows.documents(connection, number)}


def seen(desk: Desk, number: int) -> Any:
    """All that is told of a project."""
    desk.store.add([Decision("gout 11", "MESH:D006073")])
    with desk.reading(number) as queue:
        project = queue.project
        connection = queue.connection
        figures = queue.summary() | {"version": 0}
        listed = documents.listed(queue)
        waiting = linking.pending(connection, project, desk.linker)
        mentioned = linking.mentioned(connection, number)
        counted = linking.counted(connection, project)
        decided = decided_mentions(connection, number, desk.decided.places)
        done = linking.share(connection, project)
    page = desk.rows(number)
    return page, figures, listed, waiting, mentioned, counted, decided, done


@pytest.mark.parametrize(("file", "further"), [(texts(1, 2), texts(11, 12)), (names(2), names(20))])
def test_nobody_sees_what_is_not_whole(
    desk: Desk, file: sources.Content, further: sources.Content
) -> None:
    number = made(desk, file)
    before = seen(desk, number)
    with pytest.raises(Cancelled):
        add(desk, number, further, killed_before_the_end)
    assert seen(desk, number) == before
    with desk.store.reading() as connection, pytest.raises(Missing):
        rows.document(connection, number, 3)
    with pytest.raises(Missing):
        marks.add(desk.store, Step("", "Ada", number), 3, [Mark("done")], "0")


def test_documents_are_sent_again_after_a_stop(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    number = made(desk, texts(1, 2))
    with pytest.raises(Cancelled):
        add(desk, number, texts(10, 11, 12), killed_before_the_end)
    assert add(desk, number, texts(10, 11, 12)) == []
    monkeypatch.setattr(rows, "STALE", -1.0)
    rows.remove_unfinished(desk.store)
    assert [*document_ids(desk, number).values()] == ["1", "2", "10", "11", "12"]
    assert add(desk, number, texts(12, 13)) == [
        "documents that the project has already, which were not added: 1"
    ]


def test_documents_that_two_files_bring_at_once_are_there_once(desk: Desk) -> None:
    number = made(desk, texts(1))

    def overtaken(function: Any, *arguments: Any) -> Any:
        if function is rows._finish:
            add(desk, number, texts(3, 4))
        return function(*arguments)

    with pytest.raises(Taken):
        add(desk, number, texts(2, 3), overtaken)
    assert sorted(document_ids(desk, number).values()) == ["1", "3", "4"]
    add(desk, number, texts(2, 3))
    assert sorted(document_ids(desk, number).values()) == ["1", "2", "3", "4"]


def test_files_with_other_documents_are_stored_at_once(desk: Desk) -> None:
    number = made(desk, texts(1))

    def overtaken(function: Any, *arguments: Any) -> Any:
        if function is rows._finish:
            add(desk, number, texts(4))
        return function(*arguments)

    add(desk, number, texts(2, 3), overtaken)
    assert sorted(document_ids(desk, number).values()) == ["1", "2", "3", "4"]


def test_a_mark_stays_with_its_document(desk: Desk) -> None:
    """Marks that an earlier linker left behind, whose document is gone, are on no other one."""
    number = made(desk, texts(1, 2))
    mark = Mark("delete", Place(((0, 6),), "Disease"))
    marks.add(desk.store, Step("", "Ada", number), 2, [mark], "0")
    with desk.store.transaction() as connection:
        connection.execute("DELETE FROM documents WHERE number = 2")
        connection.execute("DELETE FROM mentions WHERE document = 2")
    add(desk, number, texts(7))
    assert document_ids(desk, number) == {1: "1", 3: "7"}
    with desk.store.reading() as connection:
        assert marks.of_document(connection, number, 3) == []


Cleaner = Iterator[None]


def cleaning(desk: Desk) -> Callable[..., Any]:
    """Gives a step of the cleaning by another process at each call, to which all is stale."""

    def steps() -> Cleaner:
        calls: list[tuple[Any, ...]] = []

        def write(*call: Any) -> bool:
            calls.append(call)
            return False

        rows.remove_unfinished(desk.store, write)
        yield
        for function, *arguments in calls:
            while function(*arguments):
                yield

    going = steps()
    return lambda: next(going, None)


def test_cleaning_leaves_a_file_that_went_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a suspension: a source was stale when the other process looked."""
    clock = 1_000.0
    monkeypatch.setattr(rows.time, "time", lambda: clock)
    clean = cleaning(desk)

    def write(function: Any, *arguments: Any) -> Any:
        nonlocal clock
        if function is rows._finish:
            clock += rows.STALE + 1
            clean()
        return function(*arguments)

    number = rows.create(desk.store, "p", names(2_000), "", "Ada", desk.session.origin, write)
    for _ in range(10):
        clean()
    with desk.store.reading() as connection:
        assert [source.name for source in rows.sources(connection, number)] == ["names.txt"]
        ((count,),) = connection.execute("SELECT count(*) FROM mentions")
    assert count == 2_000


def test_who_stores_a_file_is_told_that_some_of_it_was_removed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 1_000.0
    monkeypatch.setattr(rows.time, "time", lambda: clock)
    clean = cleaning(desk)

    def write(function: Any, *arguments: Any) -> Any:
        nonlocal clock
        if function is rows._finish:
            clock += rows.STALE + 1
            clean()
            clean()  # a batch goes
        return function(*arguments)

    with pytest.raises(Missing):
        rows.create(desk.store, "p", names(2_000), "", "Ada", desk.session.origin, write)
    with desk.store.reading() as connection:
        for table in ("projects", "sources", "mentions"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)

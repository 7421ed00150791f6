"""The rows of projects in the file of decisions."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import sqlite3
import time
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter

from linker.desk.decisions.store import DecisionStore, Write, directly, inserting, now
from linker.desk.projects.sources import Content, Kind, Row
from linker.errors import Cancelled, LinkerError, check_wanted
from linker.linking.decisions import form_everywhere, form_of
from linker.linking.requests import FoundSpan
from linker.records import Document, Mention

_PROJECTS = (
    "SELECT id, name, kind, options, created, model, release FROM projects WHERE created <> ''"
)
_ADD_PROJECT = (
    "INSERT INTO projects (name, kind, options, created, reviewer, model, release) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_ADD_SOURCE = (
    "INSERT INTO sources (project, name, format, encoding, place, content) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_ADD_CELLS = inserting("cells", "source", "row", "cells")
_ADD_DOCUMENTS = inserting("documents", "project", "number", "source", "id", "record", "searched")
_ADD_MENTIONS = inserting(
    "mentions",
    *("project", "source", "document", "place", "text", "spans", "type", "form", "written"),
)
_IS_WHOLE = "typeof(content) = 'blob'"
"""Whether all of a source is stored. Before, its content is the time (seconds since 1970) at which
more of it was, or 0 where it is being removed; and the project that is made of it has no time at
which it was created."""
_OF_WHOLE = f"""
NOT EXISTS (SELECT 1 FROM sources WHERE NOT {_IS_WHOLE})
OR source NOT IN (SELECT id FROM sources WHERE NOT {_IS_WHOLE})
"""
"""Whether a row is of a whole source. Nearly always all are, and then no row is looked at, so that
an index alone is read where it has all that is asked."""
MENTIONS = f"(SELECT * FROM mentions WHERE {_OF_WHOLE})"
"""The mentions of whole sources, which are all that there are for those who read."""
DOCUMENTS = f"(SELECT * FROM documents WHERE {_OF_WHOLE})"
"""The documents of whole sources."""
_IS_LAST = """
SELECT count(*) = 1 AND NOT EXISTS (SELECT 1 FROM projects WHERE id = :project AND created <> '')
FROM sources WHERE project = :project
"""
"""Whether a project that is not shown has one source."""
_BATCH = 500  # rows, or mentions of documents, that are stored together
_CHARACTERS = 2_000  # of a row or document that cost as much as a row: a batch has a million
STALE = 60.0  # seconds after which nobody stores a source any more that is not whole
_OF_SOURCE = {
    "mentions": "source = :source AND project = :project",
    "documents": "source = :source AND project = :project",
    "cells": "source = :source",
}
"""Tables whose rows go with their source, and which rows go."""
_OF_STEPS = "step IN (SELECT id FROM steps WHERE project = :project)"
_OF_PROJECT = {"answers": "project = :project", "marks": _OF_STEPS, "remarks": _OF_STEPS}
"""The same of tables whose rows go with their project."""


class Missing(LinkerError):
    """There is no such project, document or group."""


class Taken(LinkerError):
    """There is a project of this name, or with this file, already."""


class OtherKind(Taken):
    """A file is of another kind than those of the project."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What answers were made by: a model, and the releases of its dictionary."""

    model: str  # its fingerprint
    release: str


@dataclass(frozen=True, slots=True)
class Project:
    """What somebody reviews, by a name."""

    id: int
    name: str
    kind: Kind
    type: str  # of the mentions that are linked; empty: all are
    created: str  # ISO 8601 in UTC
    origin: Origin


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a project, without its content."""

    id: int
    name: str
    format: str
    encoding: str
    column: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A document as it is kept: nothing changes it once its mentions are found."""

    document: Document  # with the mentions of its file and those that were found
    found: tuple[FoundSpan | None, ...]  # of each mention where it was found; None: by the file


@dataclass(frozen=True, slots=True)
class StoredDocument(Kept):
    """A document of a project."""

    number: int  # in the project, from 1
    source: int
    is_searched: bool  # whether its mentions are known


RECORD = TypeAdapter(Kept)
_Item = TypeVar("_Item")


def projects(connection: sqlite3.Connection) -> list[Project]:
    """The projects, in the order in which they were made."""
    rows = connection.execute(f"{_PROJECTS} ORDER BY id")
    return [
        Project(number, name, kind, json.loads(options).get("type", ""), created, Origin(*origin))
        for number, name, kind, options, created, *origin in rows
    ]


def project(connection: sqlite3.Connection, number: int) -> Project:
    """A project.

    Raises:
        Missing: there is none.
    """
    for one in projects(connection):
        if one.id == number:
            return one
    raise Missing(f"there is no project {number}; see the list of projects")


def named(connection: sqlite3.Connection, name: str) -> Project:
    """The project of a name, or with this number.

    Raises:
        Missing: there is none.
    """
    there = projects(connection)
    for one in there:
        if name in (one.name, str(one.id)):
            return one
    names = ", ".join(repr(one.name) for one in there) or "none"
    raise Missing(f"there is no project {name!r}; there are: {names}")


def sources(connection: sqlite3.Connection, number: int) -> list[Source]:
    """The files of a project, in the order in which they came."""
    statement = (
        "SELECT id, name, format, encoding, place FROM sources "
        f"WHERE project = ? AND {_IS_WHOLE} ORDER BY id"
    )
    return [Source(*row) for row in connection.execute(statement, [number])]


def content(connection: sqlite3.Connection, source: int) -> bytes:
    """The bytes of a file, as they came in."""
    row = connection.execute("SELECT content FROM sources WHERE id = ?", [source]).fetchone()
    return zlib.decompress(row[0])


def count_mentions(connection: sqlite3.Connection, number: int) -> int:
    """The number of mentions of a project."""
    statement = f"SELECT count(*) FROM {MENTIONS} WHERE project = ?"
    ((count,),) = connection.execute(statement, [number])
    return int(count)


def made_of(connection: sqlite3.Connection, name: str, file: Content) -> int:
    """The number of the project of a name that has a file; 0: there is none."""
    statement = (
        "SELECT projects.id FROM projects JOIN sources ON project = projects.id "
        "WHERE projects.name = ? AND content = ?"
    )
    row = connection.execute(statement, [name, file.packed]).fetchone()
    return row[0] if row else 0


def documents(connection: sqlite3.Connection, number: int) -> Iterator[StoredDocument]:
    """The documents of a project, in their order."""
    return _documents(connection, "project = ? ORDER BY number", [number])


def document(connection: sqlite3.Connection, number: int, of: int) -> StoredDocument:
    """A document of a project.

    Args:
        connection: to the file.
        number: of the project.
        of: the number of the document in it.

    Raises:
        Missing: there is none.
    """
    for stored in _documents(connection, "project = ? AND number = ?", [number, of]):
        return stored
    raise Missing(f"project {number} has no document {of}")


def unsearched(connection: sqlite3.Connection, number: int, most: int) -> list[StoredDocument]:
    """The next documents of a project whose mentions are to be found."""
    where = "project = ? AND searched = 0 ORDER BY number LIMIT ?"
    return list(_documents(connection, where, [number, most]))


def _documents(
    connection: sqlite3.Connection, where: str, values: Sequence[int]
) -> Iterator[StoredDocument]:
    statement = f"SELECT number, source, searched, record FROM {DOCUMENTS} WHERE {where}"
    for number, source, searched, record in connection.execute(statement, values):
        kept = RECORD.validate_json(record)
        yield StoredDocument(kept.document, kept.found, number, source, bool(searched))


def cells(connection: sqlite3.Connection, source: int, row: int) -> dict[str, str]:
    """The cells of a row of a table by its columns, without blank ones."""
    statement = "SELECT cells FROM cells WHERE source = ? AND row = ?"
    of_rows = [connection.execute(statement, [source, place]).fetchone() for place in (0, row)]
    header, texts = (json.loads(of_row[0]) if of_row else [] for of_row in of_rows)
    pairs = itertools.zip_longest(header, texts, fillvalue="")
    return {title: text for title, text in pairs if text.strip()}


# taking files


@dataclass(frozen=True, slots=True)
class Begun:
    """A source that is not whole yet."""

    project: int
    source: int
    name: str = ""  # of the project that is made of it; empty: it is there
    others: Collection[int] = ()  # the whole sources of the project when it was begun
    marked: int = 0  # the highest number of a document of the project that was marked


def create(
    store: DecisionStore,
    name: str,
    file: Content,
    kind: str,
    reviewer: str,
    origin: Origin,
    write: Write = directly,
) -> int:
    """Make a project of a file, and return its number.

    Args:
        store: the file of decisions.
        name: of the project.
        file: its first source.
        kind: the type of the mentions that are linked; empty: all are.
        reviewer: who makes it.
        origin: of the answers that are to come.
        write: calls what writes, a batch at a time.

    Raises:
        Taken: there is one of this name.
    """
    options = json.dumps({"type": kind})
    # another name until all of it is there, since a process may end before
    values = (uuid.uuid4().hex, file.kind, options, "", reviewer, origin.model, origin.release)

    def begin() -> Begun:
        with store.transaction() as connection:
            _check_free(connection, name)
            number = connection.execute(_ADD_PROJECT, values).lastrowid or 0
            return Begun(number, _add_source(connection, number, file), name)

    return _store(store, write(begin), file, write)


def _check_free(connection: sqlite3.Connection, name: str) -> None:
    """Check that no project has a name."""
    if connection.execute("SELECT 1 FROM projects WHERE name = ?", [name]).fetchone():
        raise Taken(f"there is a project {name!r} already; choose another name")


def check_kind(project: Project, kind: Kind, name: str) -> None:
    """Check that a file is of the kind that a project has.

    Raises:
        OtherKind: it is not.
    """
    if kind != project.kind:
        what = {"table": "is a table", "list": "is a list of names"}.get(kind, "holds documents")
        raise OtherKind(
            f"{name or 'the file'}: {what}, and the project has others; make another one"
        )


def check_new(connection: sqlite3.Connection, number: int, file: Content) -> None:
    """Check that a project does not have a file.

    Raises:
        Taken: it has.
    """
    same = "SELECT name FROM sources WHERE project = ? AND content = ?"
    for (name,) in connection.execute(same, [number, file.packed]):
        raise Taken(f"{file.name or 'the file'}: is in the project already, as {name}")


def add(
    store: DecisionStore,
    number: int,
    file: Content,
    write: Write = directly,
    others: Collection[int] | None = None,
) -> None:
    """Add a file of its kind to a project; see `create`.

    Args:
        store: the file of decisions.
        number: of the project.
        file: what is added.
        write: calls what writes, a batch at a time.
        others: the sources whose documents the file leaves out; None: all that are whole.

    Raises:
        Missing: there is no such project.
        Taken: the project has the same file already, or got some of its documents meanwhile.
    """

    def begin() -> Begun:
        with store.transaction() as connection:
            project(connection, number)
            check_new(connection, number, file)
            known = others
            if known is None:
                known = [source.id for source in sources(connection, number)]
            source = _add_source(connection, number, file)
            return Begun(number, source, others=known, marked=_last_marked(connection, number))

    _store(store, write(begin), file, write)


def _last_marked(connection: sqlite3.Connection, number: int) -> int:
    """The highest number of a document of a project that somebody marked; 0: none."""
    statement = (
        "SELECT coalesce(max(document), 0) FROM marks JOIN steps ON steps.id = step "
        "WHERE project = ?"
    )
    ((last,),) = connection.execute(statement, [number])
    return int(last)


def _add_source(connection: sqlite3.Connection, number: int, file: Content) -> int:
    """Add a source that is not whole yet; its number."""
    about = [number, file.name, file.format, file.encoding, file.column, time.time()]
    source = connection.execute(_ADD_SOURCE, about).lastrowid or 0
    if file.header:
        header = json.dumps(file.header, ensure_ascii=False)
        connection.execute(_ADD_CELLS, [json.dumps([(source, 0, header)])])
    return source


def _store(store: DecisionStore, begun: Begun, file: Content, write: Write) -> int:
    """Store what is in a file, in batches between which others write; the number of the project.

    Where that fails, nothing is left. Where the process is to end, what is there is not shown, and
    is removed by the next one.
    """
    try:
        for rows in batches(file.rows, _cost_of_row):
            write(_add_rows, store, begun, rows)
        for documents in batches(file.new_documents, cost_of_document):
            write(_add_documents, store, begun, documents, file.is_marked)
        write(_finish, store, begun, file)
    except Cancelled:
        raise
    except BaseException:
        with contextlib.suppress(Exception):  # of which the first one is told
            while write(_remove_some, store, begun.source, math.inf):
                pass
        raise
    return begun.project


def _cost_of_row(row: Row) -> int:
    """What a row counts for in a batch."""
    return 1 + (len(row.text) + sum(map(len, row.cells))) // _CHARACTERS


def cost_of_document(document: Document) -> int:
    """What a document counts for in a batch."""
    characters = sum(len(passage.text) for passage in document.passages)
    return 1 + len(document.mentions) + characters // _CHARACTERS


def batches(items: Iterable[_Item], cost: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Yield items that are stored together, by what they cost.

    Raises:
        Cancelled: nobody wants them any more.
    """
    batch = list[_Item]()
    costs = 0
    for item in items:
        batch.append(item)
        costs += cost(item)
        if costs >= _BATCH:
            check_wanted()
            yield batch
            batch = []
            costs = 0
    if batch:
        yield batch


def _going_on(connection: sqlite3.Connection, begun: Begun) -> None:
    """Note that a source is still being stored.

    Raises:
        Missing: its project was deleted, or it is being removed, since nothing of it came for long.
    """
    statement = f"UPDATE sources SET content = ? WHERE id = ? AND NOT {_IS_WHOLE} AND content > 0"
    if not connection.execute(statement, [time.time(), begun.source]).rowcount:
        raise Missing(
            "the project was deleted while the file was read, or nothing of the file was stored "
            f"for {STALE:.0f} seconds; nothing of it was kept, send it again"
        )


def _add_rows(store: DecisionStore, begun: Begun, batch: Sequence[Row]) -> None:
    """Write rows of a table or list."""
    cells = [
        (begun.source, row.place, json.dumps(row.cells, ensure_ascii=False))
        for row in batch
        if row.cells
    ]
    mentions = [(None, row.place, Mention(row.text, type=row.type)) for row in batch]
    with store.transaction() as connection:
        _going_on(connection, begun)
        connection.execute(_ADD_CELLS, [json.dumps(cells)])
        add_mentions(connection, begun.project, begun.source, mentions)


def _add_documents(
    store: DecisionStore, begun: Begun, batch: Sequence[Document], is_marked: bool
) -> None:
    """Write documents; where a file marks no mention, they are to be found."""
    last = "SELECT coalesce(max(number), 0) FROM documents WHERE project = ?"
    project = begun.project
    source = begun.source
    with store.transaction() as connection:
        _going_on(connection, begun)
        ((before,),) = connection.execute(last, [project])
        # marks stay with a number, also where its document is gone
        documents = list(enumerate(batch, max(before, begun.marked) + 1))
        records = [
            (project, number, source, d.id, _packed(d, [None] * len(d.mentions)), int(is_marked))
            for number, d in documents
        ]
        connection.execute(_ADD_DOCUMENTS, [json.dumps(records)])
        for number, document in documents:
            mentions = [(number, start_of(m), m) for m in document.mentions]
            add_mentions(connection, project, source, mentions)


def _finish(store: DecisionStore, begun: Begun, file: Content) -> None:
    """Note that all of a source is stored, and give its project its name.

    Raises:
        Missing: its project was deleted.
        Taken: meanwhile the project has the same file or some of its documents, or another one has
            the name.
    """
    with store.transaction() as connection:
        _going_on(connection, begun)
        check_new(connection, begun.project, file)
        _check_documents(connection, begun, file)
        values = [file.packed, begun.source]
        connection.execute("UPDATE sources SET content = ? WHERE id = ?", values)
        if begun.name:
            _check_free(connection, begun.name)
            connection.execute(
                "UPDATE projects SET name = ?, created = ? WHERE id = ?",
                [begun.name, now(), begun.project],
            )


def _check_documents(connection: sqlite3.Connection, begun: Begun, file: Content) -> None:
    """Check that no file brought documents of a source to its project while it was stored.

    Raises:
        Taken: one did.
    """
    later = {source.id for source in sources(connection, begun.project)} - {*begun.others}
    if file.kind != "documents" or not later:
        return
    statement = (
        "SELECT id FROM documents WHERE project = :project AND source = :source "
        "INTERSECT SELECT id FROM documents WHERE project = :project "
        "AND source IN (SELECT value FROM json_each(:later)) LIMIT 1"
    )
    values = {"project": begun.project, "source": begun.source, "later": json.dumps([*later])}
    for (identifier,) in connection.execute(statement, values):
        raise Taken(
            f"{file.name or 'the file'}: while it was stored, another file brought the document "
            f"{identifier!r}; send it again, and what the project has by now is left out"
        )


def remove_unfinished(store: DecisionStore, write: Write = directly) -> None:
    """Remove what is left of projects that were deleted, and of files that a process was storing
    when it was killed; in batches, between which others write.

    Raises:
        Cancelled: nobody wants it any more.
    """
    statement = f"SELECT id FROM sources WHERE NOT {_IS_WHOLE} AND content < ?"
    limit = time.time() - STALE
    with store.reading() as connection:
        left = connection.execute(statement, [limit]).fetchall()
    for (source,) in left:
        while write(_remove_some, store, source, limit):
            check_wanted()


def _remove_some(store: DecisionStore, source: int, limit: float) -> bool:
    """Remove some of what is there of a source that is not whole; whether more of it is there.

    With the last source of a project that is not shown the project goes.

    Args:
        store: the file of decisions.
        source: its number.
        limit: the time since which nothing more of it was stored; else it stays.
    """
    with store.transaction() as connection:
        left = f"SELECT project FROM sources WHERE id = ? AND NOT {_IS_WHOLE} AND content < ?"
        row = connection.execute(left, [source, limit]).fetchone()
        if row is None:
            return False
        (number,) = row
        connection.execute("UPDATE sources SET content = 0 WHERE id = ?", [source])
        of_source = {"source": source, "project": number}
        if _remove_batch(connection, _OF_SOURCE, of_source):
            return True
        ((is_last,),) = connection.execute(_IS_LAST, of_source)
        if is_last and _remove_batch(connection, _OF_PROJECT, of_source):
            return True
        connection.execute("DELETE FROM sources WHERE id = ?", [source])
        if is_last:
            connection.execute("UPDATE steps SET project = NULL WHERE project = ?", [number])
            connection.execute("DELETE FROM projects WHERE id = ?", [number])
        return True


def _remove_batch(
    connection: sqlite3.Connection, tables: Mapping[str, str], of: Mapping[str, int]
) -> int:
    """Remove a batch of the rows of each table; how many they are.

    Args:
        connection: of a transaction.
        tables: the condition for the rows that go, by the names of the tables.
        of: the parameters of the conditions.
    """
    removed = 0
    for table, where in tables.items():
        some = f"SELECT rowid FROM {table} WHERE {where} LIMIT {_BATCH}"
        statement = f"DELETE FROM {table} WHERE rowid IN ({some})"
        removed += connection.execute(statement, of).rowcount
    return removed


def keep_found(store: DecisionStore, number: int, found: Sequence[StoredDocument]) -> None:
    """Write the mentions that were found in documents of a project."""
    statement = (
        "UPDATE documents SET record = ?, searched = 1 "
        "WHERE project = ? AND number = ? AND searched = 0"
    )
    with store.transaction() as connection:
        for stored in found:
            record = _packed(stored.document, stored.found)
            if connection.execute(statement, [record, number, stored.number]).rowcount:
                mentions = [(stored.number, start_of(m), m) for m in stored.document.mentions]
                add_mentions(connection, number, stored.source, mentions)


def add_mentions(
    connection: sqlite3.Connection,
    number: int,
    source: int,
    mentions: Iterable[tuple[int | None, int, Mention]],
) -> None:
    """Write mentions of a project, in a transaction.

    Args:
        connection: of the transaction.
        number: of the project.
        source: their file.
        mentions: each with its document and its place there; or None, and its row.
    """
    rows: list[tuple[Any, ...]] = []
    for document, place, m in mentions:
        text = m.text.replace("\0", " ")  # SQLite's JSON would end a text at a NUL
        written = "" if document is None else form_of(text)  # what is decided in a document is on
        forms = form_everywhere(text), written
        spans = json.dumps(m.spans)
        rows.append((number, source, document, place, text, spans, m.type, *forms))
    connection.execute(_ADD_MENTIONS, [json.dumps(rows)])


def start_of(mention: Mention) -> int:
    """The place of a mention in its document."""
    return mention.spans[0][0] if mention.spans else 0


def _packed(document: Document, found: Sequence[FoundSpan | None]) -> str:
    return RECORD.dump_json(Kept(document, tuple(found))).decode()


def rename(store: DecisionStore, number: int, name: str) -> None:
    """Give a project another name.

    Raises:
        Missing: there is no such project.
        Taken: there is one of this name.
    """
    with store.transaction() as connection:
        if project(connection, number).name != name:
            _check_free(connection, name)
            connection.execute("UPDATE projects SET name = ? WHERE id = ?", [name, number])


def relink(store: DecisionStore, number: int, origin: Origin) -> None:
    """Forget the answers of a project, so that it is linked anew by another model.

    Raises:
        Missing: there is no such project.
    """
    with store.transaction() as connection:
        project(connection, number)
        connection.execute(
            "UPDATE projects SET model = ?, release = ? WHERE id = ?",
            [origin.model, origin.release, number],
        )
        connection.execute("UPDATE mentions SET answer = NULL WHERE project = ?", [number])
        connection.execute("DELETE FROM answers WHERE project = ?", [number])


def delete(store: DecisionStore, number: int) -> None:
    """Delete a project with its marks, flags and notes; decisions stay, and the steps in which they
    were made, which are of no project from then on.

    From now on nobody sees it, and its name is free; `remove_unfinished` removes what it holds.

    Raises:
        Missing: there is no such project.
    """
    hidden = [uuid.uuid4().hex, number]
    with store.transaction() as connection:
        project(connection, number)
        connection.execute("UPDATE projects SET name = ?, created = '' WHERE id = ?", hidden)
        connection.execute("UPDATE sources SET content = 0 WHERE project = ?", [number])

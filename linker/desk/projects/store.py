"""The rows of projects in the file of decisions."""

from __future__ import annotations

import itertools
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from linker.desk.decisions.store import DecisionStore, inserting, now
from linker.desk.projects.sources import Content, Kind
from linker.errors import LinkerError
from linker.linking.decisions import form_everywhere, form_of
from linker.linking.requests import FoundSpan
from linker.records import Document, Mention

_PROJECTS = "SELECT id, name, kind, options, created, model, release FROM projects"
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
_OF_PROJECT = ("mentions", "answers", "documents", "sources")
"""Tables whose rows go with their project, in this order: those before name those behind."""


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
        "SELECT id, name, format, encoding, place FROM sources WHERE project = ? ORDER BY id"
    )
    return [Source(*row) for row in connection.execute(statement, [number])]


def content(connection: sqlite3.Connection, source: int) -> bytes:
    """The bytes of a file, as they came in."""
    row = connection.execute("SELECT content FROM sources WHERE id = ?", [source]).fetchone()
    return zlib.decompress(row[0])


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
    statement = f"SELECT number, source, searched, record FROM documents WHERE {where}"
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


def create(
    store: DecisionStore, name: str, file: Content, kind: str, reviewer: str, origin: Origin
) -> int:
    """Make a project of a file, and return its number.

    Args:
        store: the file of decisions.
        name: of the project.
        file: its first source.
        kind: the type of the mentions that are linked; empty: all are.
        reviewer: who makes it.
        origin: of the answers that are to come.

    Raises:
        Taken: there is one of this name.
    """
    options = json.dumps({"type": kind})
    values = (name, file.kind, options, now(), reviewer, origin.model, origin.release)
    with store.transaction() as connection:
        _check_free(connection, name)
        number = connection.execute(_ADD_PROJECT, values).lastrowid or 0
        _add(connection, number, file)
    return number


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


def add(store: DecisionStore, number: int, file: Content) -> None:
    """Add a file of its kind to a project.

    Raises:
        Missing: there is no such project.
        Taken: the project has the same file already.
    """
    with store.transaction() as connection:
        project(connection, number)
        check_new(connection, number, file)
        _add(connection, number, file)


def _add(connection: sqlite3.Connection, number: int, file: Content) -> None:
    """Write a file of a project, in a transaction."""
    about = [number, file.name, file.format, file.encoding, file.column, file.packed]
    source = connection.execute(_ADD_SOURCE, about).lastrowid or 0
    cells = [(0, file.header), *((r.place, r.cells) for r in file.rows)]
    written = [
        (source, row, json.dumps(texts, ensure_ascii=False)) for row, texts in cells if texts
    ]
    connection.execute(_ADD_CELLS, [json.dumps(written)])
    mentions = [(None, r.place, Mention(r.text, type=r.type)) for r in file.rows]
    add_mentions(connection, number, source, mentions)
    # where a file marks no mention, they are to be found
    is_marked = any(document.mentions for document in file.documents)
    last = "SELECT coalesce(max(number), 0) FROM documents WHERE project = ?"
    ((before,),) = connection.execute(last, [number])
    documents = list(enumerate(file.documents, before + 1))
    records = [
        (number, of, source, d.id, _packed(d, [None] * len(d.mentions)), int(is_marked))
        for of, d in documents
    ]
    connection.execute(_ADD_DOCUMENTS, [json.dumps(records)])
    if is_marked:
        found = [(of, start_of(m), m) for of, d in documents for m in d.mentions]
        add_mentions(connection, number, source, found)


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

    Raises:
        Missing: there is no such project.
    """
    of_steps = "step IN (SELECT id FROM steps WHERE project = ?)"
    with store.transaction() as connection:
        project(connection, number)
        for statement in (
            *(f"DELETE FROM {table} WHERE {of_steps}" for table in ("marks", "remarks")),
            "UPDATE steps SET project = NULL WHERE project = ?",
            "DELETE FROM cells WHERE source IN (SELECT id FROM sources WHERE project = ?)",
            *(f"DELETE FROM {table} WHERE project = ?" for table in _OF_PROJECT),
            "DELETE FROM projects WHERE id = ?",
        ):
            connection.execute(statement, [number])

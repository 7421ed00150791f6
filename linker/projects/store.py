"""The rows of projects in the file of decisions."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from linker.decisions.store import DecisionStore, inserting, now
from linker.errors import LinkerError
from linker.files import parse_json
from linker.linking.decisions import form_everywhere
from linker.linking.requests import FoundSpan
from linker.projects.sources import Content, Kind
from linker.types import Document, Mention

_A = {"table": "is a table", "list": "is a list of names", "documents": "holds documents"}

_PROJECTS = "SELECT id, name, kind, options, created, model, release FROM projects"
_CELLS = inserting("cells", "source", "row", "cells")
_DOCUMENTS = inserting("documents", "project", "number", "source", "id", "record", "searched")
_MENTIONS = inserting(
    "mentions", *("project", "source", "document", "place", "text", "spans", "type", "form")
)
_SAME = "SELECT name FROM sources WHERE project = ? AND content = ?"
_READ = "decisions are read from tables (format tsv) and SSSOM alone"
_LAST = "SELECT coalesce(max(number), 0) FROM documents WHERE project = ?"
_DECIDED_IN_GONE = (
    "SELECT 1 FROM decisions WHERE scope = :id AND id NOT IN (SELECT decision FROM withdrawals) "
    "AND NOT EXISTS (SELECT 1 FROM documents WHERE id = :id) LIMIT 1"
)
_OF_PROJECT = ("mentions", "answers", "documents", "sources")
"""Tables whose rows go with their project, in this order: those before name those behind."""


class Missing(LinkerError):
    """There is no such project, document or group."""


class Taken(LinkerError):
    """There is a project of this name, or with this file, already."""


class OtherKind(LinkerError):
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

    document: Document
    found: tuple[FoundSpan | None, ...]  # of each mention where it was found; None: by the file


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of a project."""

    number: int  # in the project, from 1
    source: int
    is_searched: bool  # whether its mentions are known
    document: Document  # with the mentions of its file and those that were found
    found: Sequence[FoundSpan | None]  # of each mention where it was found; None: by the file


_RECORD = TypeAdapter(Kept)


def projects(connection: sqlite3.Connection) -> list[Project]:
    """The projects, in the order in which they were made."""
    rows = connection.execute(f"{_PROJECTS} ORDER BY id")
    return [_project(row) for row in rows]


def project(connection: sqlite3.Connection, number: int) -> Project:
    """A project.

    Raises:
        Missing: there is none.
    """
    rows = connection.execute(f"{_PROJECTS} WHERE id = ?", [number])
    for row in rows:
        return _project(row)
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


def _project(row: Sequence[Any]) -> Project:
    number, name, kind, options, created, *origin = row
    return Project(
        number, name, kind, json.loads(options).get("type", ""), created, Origin(*origin)
    )


def sources(connection: sqlite3.Connection, number: int) -> list[Source]:
    """The files of a project, in the order in which they came."""
    statement = (
        "SELECT id, name, format, encoding, place FROM sources WHERE project = ? ORDER BY id"
    )
    return [Source(*row) for row in connection.execute(statement, [number])]


def tables(connection: sqlite3.Connection, number: int) -> list[tuple[list[str], str]]:
    """The headers of the tables of a project, and their columns with the mentions."""
    statement = "SELECT cells FROM cells WHERE source = ? AND row = 0"
    there = ((s.column, connection.execute(statement, [s.id])) for s in sources(connection, number))
    return [(json.loads(header), column) for column, rows in there for (header,) in rows]


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
        kept = _RECORD.validate_json(record)
        yield StoredDocument(number, source, bool(searched), kept.document, kept.found)


def cells(connection: sqlite3.Connection, source: int, row: int) -> dict[str, str]:
    """The cells of a row of a table by its columns, without blank ones."""
    statement = "SELECT cells FROM cells WHERE source = ? AND row = ?"
    of_rows = [connection.execute(statement, [source, place]).fetchone() for place in (0, row)]
    header, texts = (json.loads(of_row[0]) if of_row else [] for of_row in of_rows)
    pairs = itertools.zip_longest(header, texts, fillvalue="")
    return {title: text for title, text in pairs if text.strip()}


def created(
    store: DecisionStore,
    name: str,
    file: Content,
    kind: str,
    reviewer: str,
    origin: Origin,
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
        number = (
            connection.execute(
                "INSERT INTO projects (name, kind, options, created, reviewer, model, release) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            ).lastrowid
            or 0
        )
        _add(connection, number, file)
    return number


def _check_free(connection: sqlite3.Connection, name: str) -> None:
    """Check that no project has a name.

    Raises:
        Taken: one has it.
    """
    if connection.execute("SELECT 1 FROM projects WHERE name = ?", [name]).fetchone():
        raise Taken(f"there is a project {name!r} already; choose another name")


def check_kind(project: Project, kind: Kind, name: str) -> None:
    """Check that a file is of the kind that a project has.

    Raises:
        OtherKind: it is not.
    """
    if kind != project.kind:
        name = name or "the file"
        raise OtherKind(f"{name}: {_A[kind]}, and the project has others; make another one")


def beside(connection: sqlite3.Connection, file: Content) -> tuple[Content, list[str]]:
    """Compare a file with those of all projects; what is odd is said in sentences.

    A decision for one document alone holds in every document of the same id. A text has the name of
    its file as its id; where another text has that id, too, it gets another one. Ids that stand in
    a file stay, and the other documents of these ids are told.

    Returns:
        The file, with another id where its text needs one, and the sentences.
    """
    rows = connection.execute(
        "SELECT p.name, s.name FROM sources s JOIN projects p ON p.id = s.project "
        "WHERE length(s.content) = ? AND s.content = ? ORDER BY p.id",
        [len(file.packed), file.packed],
    )
    told = [f"the project {name!r} has the same file, as {source}" for name, source in rows]
    others = _namesakes(connection, file)
    if file.format == "txt" and file.documents:
        (text,) = file.documents
        if why := _why_other_id(connection, text, others):
            text = replace(text, id=f"{text.id}-{zlib.crc32(text.text.encode()):08x}")
            told.append(f"{why}; this one has the id {text.id!r}")
        return replace(file, documents=(text,)), told
    told += [
        f"the project {name!r} has other texts with ids of {len(ids):,} of these documents, "
        f"such as {ids[0]!r}; what is decided for such a document alone holds in both"
        for name, ids in others.items()
    ]
    return file, told


def _why_other_id(
    connection: sqlite3.Connection, text: Document, others: Mapping[str, Sequence[str]]
) -> str:
    """Why a text needs another id than its name; empty where it does not."""
    if others:
        return f"the project {next(iter(others))!r} has another text of this name"
    if connection.execute(_DECIDED_IN_GONE, {"id": text.id}).fetchone():
        return "decisions were made in a text of this name that is gone, perhaps another one"
    return ""


def _namesakes(connection: sqlite3.Connection, file: Content) -> dict[str, list[str]]:
    """The ids of documents of a file that other texts have, too, by the names of projects."""
    texts = {document.id: document.text for document in file.documents}
    found = connection.execute(
        "SELECT p.name, d.id, d.record FROM documents d JOIN projects p ON p.id = d.project "
        "WHERE d.id IN (SELECT value FROM json_each(?)) ORDER BY p.id, number",
        [json.dumps(list(texts))],
    )
    others: dict[str, list[str]] = {}
    for name, of, record in found:
        if _RECORD.validate_json(record).document.text != texts[of]:
            others.setdefault(name, []).append(of)
    return others


def to_add(
    connection: sqlite3.Connection, project: Project, file: Content, is_reviewed: bool
) -> tuple[Content | None, list[str]]:
    """What of a file a project does not have yet.

    Args:
        connection: to the file of decisions.
        project: to which it is to be added.
        file: the file.
        is_reviewed: whether it is a table that linker wrote, of which the decisions are taken.

    Returns:
        What is to be added, as `beside` gives it, and what is odd about it; None for nothing.

    Raises:
        OtherKind: it is of another kind than the project.
        Taken: the project has all of it, and it is no table that was reviewed.
    """
    if is_reviewed:
        return None, []
    check_kind(project, file.kind, file.name)
    if there := connection.execute(_SAME, [project.id, file.packed]).fetchone():
        raise Taken(_there(file, *there))
    name = file.name or "the file"
    if file.format == "jsonl" and _holds_answers(file.content):
        raise Taken(f"{name}: holds answers of linker; {_READ}")
    new = tuple(_without_known(connection, project, file.documents))
    if not (known := len(file.documents) - len(new)):
        return beside(connection, file)
    told = [f"documents that the project has already, which were not added: {known:,}"]
    if new:
        file, further = beside(connection, replace(file, documents=new))
        return file, [*told, *further]
    raise Taken(f"{name}: the project has all its documents; {_READ}")


def _holds_answers(content: bytes) -> bool:
    """Whether the first line of JSON lines is an answer that linker wrote."""
    with contextlib.suppress(ValueError):  # in another encoding it is none
        first = parse_json(content.split(b"\n", 1)[0].decode("utf-8-sig"))
        return isinstance(first, dict) and {"schema", "parts"} <= first.keys()
    return False


def _without_known(
    connection: sqlite3.Connection,
    project: Project,
    documents: Sequence[Document],
) -> Iterator[Document]:
    """The documents that a project does not have: none of this id has this text, apart from line
    ends, which PubTator does not keep."""

    def known_by(document: Document) -> tuple[str, str]:
        return document.id, " ".join(document.text.split())

    ids = json.dumps([document.id for document in documents])
    there = connection.execute(
        "SELECT record FROM documents WHERE project = ? AND id IN (SELECT value FROM json_each(?))",
        [project.id, ids],
    )
    stored = (_RECORD.validate_json(record).document for (record,) in there)
    known = set(map(known_by, stored))
    return (document for document in documents if known_by(document) not in known)


def added(store: DecisionStore, number: int, file: Content) -> None:
    """Add a file to a project.

    Args:
        store: the file of decisions.
        number: of the project.
        file: of its kind.

    Raises:
        Missing: there is no such project.
        Taken: the project has the same file already.
    """
    with store.transaction() as connection:
        project(connection, number)
        if there := connection.execute(_SAME, [number, file.packed]).fetchone():
            raise Taken(_there(file, *there))
        _add(connection, number, file)


def _add(connection: sqlite3.Connection, number: int, file: Content) -> None:
    """Write a file of a project, in a transaction."""
    source = (
        connection.execute(
            "INSERT INTO sources (project, name, format, encoding, place, content) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [number, file.name, file.format, file.encoding, file.column, file.packed],
        ).lastrowid
        or 0
    )
    cells = [(0, file.header), *((r.place, r.cells) for r in file.rows)]
    written = [(source, row, _json(texts)) for row, texts in cells if texts]
    connection.execute(_CELLS, [json.dumps(written)])
    mentions = [(number, source, None, r.place, Mention(r.text, type=r.type)) for r in file.rows]
    _add_mentions(connection, mentions)
    # where a file marks no mention, they are to be found
    is_marked = any(document.mentions for document in file.documents)
    first = connection.execute(_LAST, [number]).fetchone()[0] + 1
    documents = list(enumerate(file.documents, first))
    records = [
        (number, of, source, d.id, _packed(d, (None,) * len(d.mentions)), int(is_marked))
        for of, d in documents
    ]
    connection.execute(_DOCUMENTS, [json.dumps(records)])
    if is_marked:
        found = ((of, m) for of, d in documents for m in d.mentions)
        _add_mentions(connection, [(number, source, of, _start(m), m) for of, m in found])


def keep_found(
    connection: sqlite3.Connection, number: int, found: Sequence[StoredDocument]
) -> None:
    """Write the mentions that were found in documents of a project, in a transaction."""
    for stored in found:
        searched = connection.execute(
            "UPDATE documents SET record = ?, searched = 1 "
            "WHERE project = ? AND number = ? AND searched = 0",
            [_packed(stored.document, stored.found), number, stored.number],
        )
        if searched.rowcount:
            mentions = stored.document.mentions
            of = number, stored.source, stored.number
            _add_mentions(connection, [(*of, _start(m), m) for m in mentions])


def _add_mentions(
    connection: sqlite3.Connection, mentions: Iterable[tuple[int, int, int | None, int, Mention]]
) -> None:
    """Write mentions of a project, a source and a document, at their places."""
    rows = [
        # SQLite's JSON would end a text at a NUL
        (*of, m.text.replace("\0", " "), json.dumps(m.spans), m.type, form_everywhere(m.text))
        for *of, m in mentions
    ]
    connection.execute(_MENTIONS, [json.dumps(rows)])


def _start(mention: Mention) -> int:
    return mention.spans[0][0] if mention.spans else 0


def _packed(document: Document, found: Sequence[FoundSpan | None]) -> str:
    return _RECORD.dump_json(Kept(document, tuple(found))).decode()


def _there(file: Content, name: str) -> str:
    return f"{file.name or 'the file'}: is in the project already, as {name}"


def _json(texts: Sequence[str]) -> str:
    return json.dumps(texts, ensure_ascii=False)


def renamed(store: DecisionStore, number: int, name: str) -> None:
    """Give a project another name.

    Raises:
        Missing: there is no such project.
        Taken: there is one of this name.
    """
    with store.transaction() as connection:
        if project(connection, number).name != name:
            _check_free(connection, name)
            connection.execute("UPDATE projects SET name = ? WHERE id = ?", [name, number])


def renewed(store: DecisionStore, number: int, origin: Origin) -> None:
    """Forget the answers of a project, so that it is linked anew by another model."""
    with store.transaction() as connection:
        project(connection, number)
        connection.execute(
            "UPDATE projects SET model = ?, release = ? WHERE id = ?",
            [origin.model, origin.release, number],
        )
        connection.execute("UPDATE mentions SET answer = NULL WHERE project = ?", [number])
        connection.execute("DELETE FROM answers WHERE project = ?", [number])


def deleted(store: DecisionStore, number: int) -> None:
    """Delete a project with its marks, flags and notes; decisions stay, and the steps in which they
    were made, which are of no project from then on."""
    of_steps = "step IN (SELECT id FROM steps WHERE project = ?)"
    with store.transaction() as connection:
        for statement in (
            *(f"DELETE FROM {table} WHERE {of_steps}" for table in ("marks", "remarks")),
            "UPDATE steps SET project = NULL WHERE project = ?",
            "DELETE FROM cells WHERE source IN (SELECT id FROM sources WHERE project = ?)",
            *(f"DELETE FROM {table} WHERE project = ?" for table in _OF_PROJECT),
            "DELETE FROM projects WHERE id = ?",
        ):
            connection.execute(statement, [number])

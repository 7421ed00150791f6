"""/projects: what somebody reviews by a name: files in and out, and its queue."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import IO, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from linker.desk.projects import intake, linking, sources
from linker.desk.projects import store as rows
from linker.desk.projects.exporting import AnyForm, Export, Exporter
from linker.desk.projects.filters import Sort
from linker.desk.projects.intake import Reviewed, Session, Stored
from linker.desk.projects.queue import Queue, decided_mentions
from linker.desk.service.callers import ReviewerName, may_say
from linker.desk.service.errors import ERRORS, Failure
from linker.desk.service.reviewing import Number, WantedRows
from linker.desk.service.workbench import Desk, Workbench
from linker.io import files
from linker.io.files import SpooledFile
from linker.io.rows import ColumnNeeded

routes = APIRouter(prefix="/projects", tags=["projects"], responses=ERRORS)

_LONGEST_NAME = 200  # of a project
_BLOCK = 1 << 18  # bytes of a file that are sent at a time
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file: txt, tsv, csv, xlsx, jsonl, PubTator or BioC.",
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary"},
                "example": "mention,ward\nbreast cancer,3\n",
            }
        },
    }
}


class WantedPage(WantedRows):
    """Which page of a queue is wanted."""

    sort: Sort = "doubt"
    offset: Annotated[int, Field(ge=0, le=2**53)] = 0
    limit: Annotated[int, Field(ge=0, le=1_000)] = 100
    find: Annotated[str, Field(max_length=50, description="The key of a row to be placed.")] = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that a request sends as its body, and what it says of it."""

    file: SpooledFile
    size: int  # in bytes
    name: str
    column: str | None
    encoding: str | None
    read_as: sources.Kind | None

    async def read(self, desk: Workbench, known: Sequence[str] = ()) -> sources.Content:
        """What is in it; see `sources.read`."""
        about = self.file, self.name, self.column, self.encoding
        limits = desk.service.limits
        read = partial(sources.read, read_as=self.read_as, most_rows=limits.rows)
        return await desk.service.run_until_end(read, *about, limits.file, known)


async def _upload(
    request: Request,
    file: Annotated[str, Query(max_length=1_000, examples=["list.csv"])] = "",
    column: Annotated[str | None, Query(max_length=1_000, examples=["mention"])] = None,
    encoding: Annotated[
        str | None,
        Query(max_length=100, description="Of a text; null: UTF-8, or UTF-16 by its mark."),
    ] = None,
    read_as: Annotated[
        sources.Kind | None, Query(description="What the file is; null: what it looks like.")
    ] = None,
) -> Upload:
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise Failure(415, "the body is a form; send the file itself as the body", "body")
    upload = SpooledFile(files.temporary(), file or "upload")
    size = 0
    async for part in request.stream():
        size += upload.spool.write(part)
    return Upload(upload, size, file, column, encoding, read_as)


Uploaded = Annotated[Upload, Depends(_upload)]
Again = Annotated[
    bool, Query(description="Whether decisions of before are taken that hold no more.")
]


@routes.get("")
async def listed(desk: Desk) -> dict[str, Any]:
    """All projects, with how far they are."""
    decided = await desk.decided()

    def read(connection: sqlite3.Connection) -> list[dict[str, Any]]:
        return [
            desk.described(project)
            | {
                "mentions": linking.counted(connection, project)[0],
                "decided": decided_mentions(connection, project.id, decided.places),
                "linked": linking.share(connection, project),
            }
            for project in rows.projects(connection)
        ]

    return {"projects": await desk.read(read)}


@routes.post("", status_code=201, openapi_extra=_FILE)
async def create(
    desk: Desk,
    upload: Uploaded,
    reviewer: ReviewerName,
    name: Annotated[str, Query(max_length=_LONGEST_NAME)] = "",
    type: Annotated[
        str | None, Query(max_length=200, description="Of the mentions to link; empty: all.")
    ] = None,
    again: Again = False,
) -> dict[str, Any]:
    """Keep a file as a project; its mentions are linked from now on, as time allows."""
    async with desk.turn(upload.file, upload.size):
        read = await upload.read(desk)
        session = Session(desk.service.linker, desk.origin, reviewer)
        said = await _reviewed_in(desk, read, session)
        name = name.strip() or PurePath(upload.name).stem or "project"
        take = partial(intake.create, again=again)
        stored = await desk.take_file(take, desk.store, read, said, session, name, type)
    return await _answer(desk, stored)


@routes.post("/preview", openapi_extra=_FILE)
async def preview(
    desk: Desk,
    upload: Uploaded,
    project: Annotated[
        int | None,
        Query(ge=1, le=2**53, description="To which it is to be added; null: a new one."),
    ] = None,
) -> dict[str, Any]:
    """Say what a file would be read as, and how it begins; nothing is kept.

    `kind` is list, table or documents, `kinds` are those that it may be read as (`read_as`),
    `count` is the number of its rows or documents, and `rows` has the first three. Of a table there
    are its `columns`, and `column` holds the mentions; where it is null, somebody has to name it,
    and one may be `suggested`.
    """
    known = await _columns(desk, project) if project else ()
    async with desk.turn(upload.file, upload.size):
        try:
            return sources.preview(await upload.read(desk, known), upload.file)
        except ColumnNeeded as needed:
            return sources.preview(needed, upload.file)


@routes.post("/{number}/sources", status_code=201, openapi_extra=_FILE)
async def add(
    desk: Desk, number: Number, upload: Uploaded, reviewer: ReviewerName, again: Again = False
) -> dict[str, Any]:
    """Add a further file to a project; of one that linker wrote, the decisions are taken.

    Of documents, those are added that the project does not have.
    Such a table needs no column, which the project knows. `imported` is how many decisions are
    new, `repeated` how many were passed over that were made before and hold no more.
    """
    project = await desk.read(lambda connection: rows.project(connection, number))
    known = await _columns(desk, number)
    async with desk.turn(upload.file, upload.size):
        try:
            read = await upload.read(desk, known)
        except ColumnNeeded:
            rows.check_kind(project, "table", upload.name)
            raise
        session = Session(desk.service.linker, desk.origin, reviewer)
        said = await _reviewed_in(desk, read, session)
        take = partial(intake.add, again=again)
        stored = await desk.take_file(take, desk.store, number, read, said, reviewer)
    return await _answer(desk, stored)


async def _columns(desk: Workbench, number: int) -> Sequence[str]:
    """The columns with the mentions of a project."""
    there = await desk.read(lambda connection: rows.sources(connection, number))
    return [source.column for source in there]


async def _reviewed_in(desk: Workbench, file: sources.Content, session: Session) -> Reviewed | None:
    """What is decided in a file, as far as the caller may say it."""
    said = await desk.service.run_until_end(intake.reviewed_in, file, session)
    said = said and said.limited(may_say)
    if said and not session.reviewer and not all(decision.reviewer for decision in said.decisions):
        why = f"{file.name}: has decisions that name nobody; give the reviewer who made them"
        raise Failure(422, why, "reviewer")
    return said


async def _answer(desk: Workbench, stored: Stored) -> dict[str, Any]:
    """The project to which a file came, and what there is to tell."""
    said: dict[str, Any] = {"notes": stored.notes}
    if stored.imported is not None:
        said |= {"imported": stored.imported, "repeated": stored.repeated}
    return await desk.summary(stored.number) | said


@routes.post("/{number}/name")
async def rename(
    desk: Desk,
    number: Number,
    name: Annotated[str, Query(max_length=_LONGEST_NAME, pattern=r"\S")],
) -> dict[str, Any]:
    """Give a project another name."""
    await desk.service.write(rows.rename, desk.store, number, name.strip())
    return await desk.summary(number)


@routes.delete("/{number}")
async def delete(desk: Desk, number: Number) -> dict[str, bool]:
    """Delete a project; what was decided in it stays."""
    await desk.delete(number)
    return {"deleted": True}


@routes.post("/{number}/relink")
async def relink(desk: Desk, number: Number) -> dict[str, Any]:
    """Link a project anew, by the model of the service; decisions stay."""
    await desk.take(rows.relink, desk.store, number, desk.origin)
    return await desk.summary(number)


@routes.get("/{number}")
async def summary(desk: Desk, number: Number) -> dict[str, Any]:
    """How far a project is."""
    return await desk.summary(number)


@routes.get("/{number}/queue")
async def queue(
    desk: Desk, number: Number, wanted: Annotated[WantedPage, Query()]
) -> dict[str, Any]:
    """A page of the rows of a project."""
    asked = wanted.filter, wanted.sort, wanted.offset, wanted.limit, wanted.find
    return await desk.ask(number, lambda queue: queue.page(*asked))


@routes.get("/{number}/accept")
async def acceptable(
    desk: Desk, number: Number, wanted: Annotated[WantedRows, Query()]
) -> dict[str, Any]:
    """How many answers could be accepted in bulk, and how many of them may be wrong."""

    def read(queue: Queue) -> dict[str, Any]:
        return queue.acceptable_figures(wanted.filter) | {"version": queue.version}

    return await desk.ask(number, read)


@routes.get("/{number}/disagreements")
async def disagreements(desk: Desk, number: Number) -> dict[str, Any]:
    """The rows on which reviewers do not agree, with what each said."""
    return {"rows": await desk.ask(number, Queue.disputed)}


@routes.get("/{number}/failures")
async def failures(desk: Desk, number: Number) -> dict[str, Any]:
    """Why rows have no sure answer, and what would help, each kind with examples."""
    return await desk.ask(number, Queue.failed)


@routes.get("/{number}/groups/{key}")
async def group(desk: Desk, number: Number, key: str) -> Response:
    """A row with the candidates of its answer, and the places of its mentions."""
    text = await desk.ask(number, lambda queue: json.dumps(queue.shown(key)))
    return Response(text, media_type="application/json")


@routes.get("/{number}/export", response_class=Response)
async def export(
    desk: Desk, number: Number, form: Annotated[AnyForm, Query(alias="format")] = "own"
) -> Response:
    """All of a project as a file: as it came in with what became of it, or in another format.

    `decisions` are those in force on its mentions, and `log` is all that was done in it.
    """
    decided, linker = await desk.decided(), desk.service.linker

    def write() -> tuple[Export, IO[bytes]]:
        with desk.store.reading() as connection:
            project = rows.project(connection, number)
            exporter = Exporter(project, connection, desk.store, decided, linker)
            exported = exporter.described(form)
            file = tempfile.TemporaryFile()  # noqa: SIM115 - which is closed when it was sent
            try:
                exporter.write(exported, file)
            except BaseException:
                file.close()
                raise
        file.seek(0)
        return exported, file

    exported, file = await asyncio.to_thread(write)
    media = exported.media_type
    headers = {
        "Content-Type": f"{media}; charset={exported.encoding}" if exported.encoding else media,
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(exported.name)}",
    }

    def sent() -> Iterator[bytes]:
        with file:
            while block := file.read(_BLOCK):
                yield block

    return StreamingResponse(sent(), headers=headers)

"""/projects: what somebody reviews by a name: files in and out, and its queue."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath
from typing import IO, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from linker.desk.projects import intake, linking, sources
from linker.desk.projects import store as rows
from linker.desk.projects.exporting import AnyForm, Export, Exporter
from linker.desk.projects.filters import Sort
from linker.desk.projects.intake import Reviewed, Stored
from linker.desk.projects.queue import Queue, decided_mentions
from linker.desk.service.callers import ReviewerName, may_say
from linker.desk.service.errors import ERRORS, Failure
from linker.desk.service.reviewing import Number, WantedRows
from linker.desk.service.state import Service
from linker.desk.service.uploads import FILE_BODY, Column, Encoding, Name, content_of
from linker.desk.service.workbench import Workbench
from linker.io.rows import ColumnNeeded

_LONGEST_NAME = 200  # of a project
_BLOCK = 1 << 18  # bytes of a file that are sent at a time


class WantedPage(WantedRows):
    """Which page of a queue is wanted."""

    sort: Sort = "doubt"
    offset: Annotated[int, Field(ge=0, le=2**53)] = 0
    limit: Annotated[int, Field(ge=0, le=1_000)] = 100
    find: Annotated[str, Field(max_length=50, description="The key of a row to be placed.")] = ""


def router(service: Service, workbench: Workbench) -> APIRouter:
    """The routes of projects."""
    routes = APIRouter(prefix="/projects", tags=["projects"], responses=ERRORS)
    _add_files(routes, service, workbench)
    _add_queue(routes, service, workbench)
    return routes


def _add_files(routes: APIRouter, service: Service, workbench: Workbench) -> None:
    """The routes by which projects come and go."""
    store = workbench.store

    async def reviewed_in(file: sources.Content, reviewer: str) -> Reviewed | None:
        """What is decided in a file, as far as the caller may say it."""
        about = file, service.linker, reviewer, workbench.origin
        said = await asyncio.to_thread(intake.reviewed_in, *about)
        said = said and said.limited(may_say)
        if said and not reviewer and not all(decision.reviewer for decision in said.decisions):
            why = f"{file.name}: has decisions that name nobody; give the reviewer who made them"
            raise Failure(422, why, "reviewer")
        return said

    async def answer(stored: Stored) -> dict[str, Any]:
        """The project to which a file came, and what there is to tell."""
        imported = {} if stored.imported is None else {"imported": stored.imported}
        return await workbench.summary(stored.number) | {"notes": stored.notes} | imported

    @routes.get("")
    async def listed() -> dict[str, Any]:
        """All projects, with how far they are."""
        decided = await workbench.decided()

        def read(connection: sqlite3.Connection) -> list[dict[str, Any]]:
            return [
                workbench.described(project)
                | {
                    "mentions": linking.counted(connection, project)[0],
                    "decided": decided_mentions(connection, project.id, decided.places),
                    "linked": linking.share(connection, project),
                }
                for project in rows.projects(connection)
            ]

        return {"projects": await workbench.read(read)}

    @routes.post("", status_code=201, openapi_extra=FILE_BODY)
    async def create(
        request: Request,
        reviewer: ReviewerName,
        name: Annotated[str, Query(max_length=_LONGEST_NAME)] = "",
        file: Name = "",
        column: Column | None = None,
        encoding: Encoding = None,
        type: Annotated[
            str | None,
            Query(max_length=200, description="Of the mentions to link; empty: all."),
        ] = None,
    ) -> dict[str, Any]:
        """Keep a file as a project; its mentions are linked from now on, as time allows."""
        about = await content_of(request), file, column, encoding, service.limits.file
        read = await asyncio.to_thread(sources.read, *about)
        make = partial(
            intake.create,
            name=name.strip() or PurePath(file).stem or "project",
            kind=type,
            linker=service.linker,
            reviewer=reviewer,
            origin=workbench.origin,
        )
        said = await reviewed_in(read, reviewer)
        return await answer(await workbench.take(make, store, read, said))

    @routes.post("/{number}/sources", status_code=201, openapi_extra=FILE_BODY)
    async def add(
        number: Number,
        request: Request,
        reviewer: ReviewerName,
        file: Name = "",
        column: Column | None = None,
        encoding: Encoding = None,
    ) -> dict[str, Any]:
        """Add a further file to a project; of one that linker wrote, the decisions are taken.

        Of documents, those are added that the project does not have.
        Such a table needs no column, which the project knows. `imported` is how many decisions are
        new.
        """
        project = await workbench.read(lambda connection: rows.project(connection, number))
        there = await workbench.read(lambda connection: rows.sources(connection, number))
        known = [source.column for source in there]
        about = await content_of(request), file, column, encoding, service.limits.file, known
        try:
            read = await asyncio.to_thread(sources.read, *about)
        except ColumnNeeded:
            rows.check_kind(project, "table", file)
            raise
        said = await reviewed_in(read, reviewer)
        return await answer(await workbench.take(intake.add, store, number, read, said, reviewer))

    @routes.post("/{number}/name")
    async def rename(
        number: Number, name: Annotated[str, Query(max_length=_LONGEST_NAME, pattern=r"\S")]
    ) -> dict[str, Any]:
        """Give a project another name."""
        await service.write(rows.rename, store, number, name.strip())
        return await workbench.summary(number)

    @routes.delete("/{number}")
    async def delete(number: Number) -> dict[str, bool]:
        """Delete a project; what was decided in it stays."""
        await service.write(rows.delete, store, number)
        return {"deleted": True}

    @routes.post("/{number}/relink")
    async def relink(number: Number) -> dict[str, Any]:
        """Link a project anew, by the model of the service; decisions stay."""
        await workbench.take(rows.relink, store, number, workbench.origin)
        return await workbench.summary(number)


def _add_queue(routes: APIRouter, service: Service, workbench: Workbench) -> None:
    """The routes that show a project."""

    @routes.get("/{number}")
    async def summary(number: Number) -> dict[str, Any]:
        """How far a project is."""
        return await workbench.summary(number)

    @routes.get("/{number}/queue")
    async def queue(number: Number, wanted: Annotated[WantedPage, Query()]) -> dict[str, Any]:
        """A page of the rows of a project."""
        asked = wanted.filter, wanted.sort, wanted.offset, wanted.limit, wanted.find
        return await workbench.ask(number, lambda queue: queue.page(*asked))

    @routes.get("/{number}/accept")
    async def acceptable(number: Number, wanted: Annotated[WantedRows, Query()]) -> dict[str, Any]:
        """How many answers could be accepted in bulk, and how many of them may be wrong."""

        def read(queue: Queue) -> dict[str, Any]:
            return queue.acceptable_figures(wanted.filter) | {"version": queue.version}

        return await workbench.ask(number, read)

    @routes.get("/{number}/disagreements")
    async def disagreements(number: Number) -> dict[str, Any]:
        """The rows on which reviewers do not agree, with what each said."""
        return {"rows": await workbench.ask(number, Queue.disputed)}

    @routes.get("/{number}/groups/{key}")
    async def group(number: Number, key: str) -> Response:
        """A row with the candidates of its answer, and the places of its mentions."""
        text = await workbench.ask(number, lambda queue: json.dumps(queue.shown(key)))
        return Response(text, media_type="application/json")

    @routes.get("/{number}/export", response_class=Response)
    async def export(
        number: Number, form: Annotated[AnyForm, Query(alias="format")] = "own"
    ) -> Response:
        """All of a project as a file: as it came in with what became of it, or in another format.

        `decisions` are those in force on its mentions, and `log` is all that was done in it.
        """
        decided, linker = await workbench.decided(), service.linker

        def write() -> tuple[Export, IO[bytes]]:
            with workbench.store.reading() as connection:
                project = rows.project(connection, number)
                exporter = Exporter(project, connection, workbench.store, decided, linker)
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

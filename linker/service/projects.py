"""/projects: what somebody reviews by a name: files in, a queue, decisions at once, undo."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from linker.files.tables import ColumnNeeded
from linker.linking.decided import Decided
from linker.projects import changes, linking, reviewed, sources
from linker.projects import store as rows
from linker.projects.exporting import AnyForm, Export, Exporter
from linker.projects.groups import Sort
from linker.projects.queue import Queue, decided_mentions
from linker.projects.reviewed import Reviewed
from linker.projects.store import Project
from linker.service.callers import ReviewerName, may_say
from linker.service.errors import ERRORS, Failure
from linker.service.reviewing import Number, WantedRows
from linker.service.state import Service
from linker.service.uploads import FILE_BODY, Column, Encoding, Name, content_of
from linker.service.workbench import Workbench

_LONGEST_NAME = 200  # of a project
_BLOCK = 1 << 18  # bytes of a file that are sent at a time
_PLACES = 50  # of the mentions of a group that are shown


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

    async def said_in(file: sources.Content, reviewer: str) -> Reviewed | None:
        """What is decided in a file that linker wrote; None for another one."""
        if not reviewed.is_reviewed(file):
            reviewed.check_new(file)
            return None
        about = file, service.linker, reviewer, workbench.origin
        said = (await asyncio.to_thread(reviewed.read, *about)).limited(may_say)
        if not reviewer and not all(decision.reviewer for decision in said.decisions):
            why = f"{file.name}: has decisions that name nobody; give the reviewer who made them"
            raise Failure(422, why, "reviewer")
        return said

    async def keep(
        number: int, said: Reviewed | None, file: sources.Content, reviewer: str, told: list[str]
    ) -> dict[str, Any]:
        """Keep what is decided in a file; the project, and what there is to tell."""
        of_file: dict[str, Any] = {"notes": [*file.notes, *told]}
        if said is not None:
            about = workbench.store, number, said, file.name, reviewer
            async with workbench.importing:
                added, remarked = await service.write(reviewed.keep, *about)
            of_file["imported"] = added
            of_file["notes"] += reviewed.told(said, added, remarked)
        return await workbench.summary(number) | of_file

    @routes.get("")
    async def listed() -> dict[str, Any]:
        """All projects, with how far they are."""
        decided = await workbench.decided()

        def read(connection: sqlite3.Connection) -> list[tuple[Project, dict[str, Any]]]:
            return [
                (project, _figures(connection, project, decided))
                for project in rows.projects(connection)
            ]

        projects = await workbench.read(read)
        return {"projects": [workbench.described(p) | figures for p, figures in projects]}

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
        content, linker = await content_of(request), service.linker
        most = service.limits.file
        read = await asyncio.to_thread(sources.read, content, file, column, encoding, most)
        said = await said_in(read, reviewer)
        name = name.strip() or PurePath(file).stem or "project"
        kind = linking.type_for(read, linker) if type is None else type.strip()
        told = linking.told_of_type(read, kind)
        read, further = await workbench.read(lambda connection: rows.beside(connection, read))
        about = workbench.store, name, read, kind, reviewer, workbench.origin
        number = await workbench.take(rows.created, *about)
        return await keep(number, said, read, reviewer, [*told, *further])

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
        content, most = await content_of(request), service.limits.file
        project = await workbench.read(lambda connection: rows.project(connection, number))
        known = await workbench.read(lambda connection: rows.tables(connection, number))
        about = content, file, column, encoding, most, known
        try:
            read = await asyncio.to_thread(sources.read, *about)
        except ColumnNeeded:
            rows.check_kind(project, "table", file)
            raise
        said = await said_in(read, reviewer)
        new, told = await workbench.read(lambda c: rows.to_add(c, project, read, said is not None))
        if new:
            await workbench.take(rows.added, workbench.store, number, new)
        elif said:
            of_file = said
            said = await workbench.read(lambda connection: of_file.on(connection, number))
        return await keep(number, said, read, reviewer, told)

    @routes.post("/{number}/name")
    async def rename(
        number: Number, name: Annotated[str, Query(max_length=_LONGEST_NAME, pattern=r"\S")]
    ) -> dict[str, Any]:
        """Give a project another name."""
        await service.write(rows.renamed, workbench.store, number, name.strip())
        return await workbench.summary(number)

    @routes.delete("/{number}")
    async def delete(number: Number) -> dict[str, bool]:
        """Delete a project; what was decided in it stays."""
        await workbench.read(lambda connection: rows.project(connection, number))
        await service.write(rows.deleted, workbench.store, number)
        return {"deleted": True}

    @routes.post("/{number}/relink")
    async def relink(number: Number) -> dict[str, Any]:
        """Link a project anew, by the model of the service; decisions stay."""
        await workbench.read(lambda connection: rows.project(connection, number))
        await service.write(rows.renewed, workbench.store, number, workbench.origin)
        workbench.wake()
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
        return await workbench.ask(number, lambda queue, _: queue.page(*asked))

    @routes.get("/{number}/accept")
    async def acceptable(number: Number, wanted: Annotated[WantedRows, Query()]) -> dict[str, Any]:
        """How many answers could be accepted in bulk, and how many of them may be wrong."""

        def read(queue: Queue, _: sqlite3.Connection) -> dict[str, Any]:
            return queue.figures(queue.acceptable(wanted.filter)) | {"version": queue.number}

        return await workbench.ask(number, read)

    @routes.get("/{number}/disagreements")
    async def disagreements(number: Number) -> dict[str, Any]:
        """How far reviewers agree, and the rows on which they do not, with what each said."""
        return await workbench.ask(number, lambda queue, _: queue.disagreements())

    @routes.get("/{number}/groups/{key}")
    async def group(number: Number, key: str) -> Response:
        """A row with the candidates of its answer, and the places of its mentions."""

        def read(queue: Queue, connection: sqlite3.Connection) -> str:
            row = queue.row(key)
            prediction = None
            if row.state != "not linked":
                prediction = queue.prediction(connection, row).to_dict()
            remarks = {
                kind: value
                for (form, kind), value in queue.remarks.items()
                if form == row.group.form
            }
            places = list(changes.places(connection, queue.project, row.members[:_PLACES]))
            return json.dumps(
                {
                    "row": queue.to_dict(row),
                    "prediction": prediction,
                    "file": queue.said_by_file(row),
                    "places": places,
                    "remarks": remarks,
                }
            )

        return Response(await workbench.ask(number, read), media_type="application/json")

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


def _figures(connection: sqlite3.Connection, project: Project, decided: Decided) -> dict[str, Any]:
    """How far a project is, without its queue."""
    return {
        "mentions": linking.counted(connection, project)[0],
        "decided": decided_mentions(connection, project.id, decided.places),
        "linked": linking.share(connection, project),
    }

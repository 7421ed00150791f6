"""/projects: what somebody reviews by a name: files in, a queue, decisions at once, undo."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import IO, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Body, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from linker.decisions.applying import Decided
from linker.decisions.records import identified, releases, replaced
from linker.decisions.steps import Step
from linker.errors import LinkerError
from linker.projects import changes, linking, marks, reviewed, sources
from linker.projects import store as rows
from linker.projects.exporting import AnyForm, Export, Exporter, Snapshot
from linker.projects.filtering import Filter, Show, Sort
from linker.projects.groups import Row
from linker.projects.queue import Queue, decided_mentions
from linker.projects.store import Project, Taken
from linker.service.callers import ReviewerName, RoleName, may_say
from linker.service.errors import ERRORS, Failure
from linker.service.schemas import Body as Strict
from linker.service.schemas import Confidence
from linker.service.state import Service
from linker.service.uploads import Column, Encoding, Name, body_of_file, content_of
from linker.service.workbench import Workbench
from linker.types import Decision, Predicate

Number = Annotated[int, Path(ge=1, le=2**53)]
_Text = Annotated[str, Field(max_length=1_000)]
_Id = Annotated[str, Field(min_length=1, max_length=1_000)]
_LONGEST_NAME = 200  # of a project
_BLOCK = 1 << 18  # bytes of a file that are sent at a time
_PLACES = 50  # of the mentions of a group that are shown


class GroupDecision(Strict):
    """What a reviewer says of the mentions of a row."""

    key: Annotated[str, Field(max_length=50)]
    concept_id: _Id | None = Field(description='null: no concept; "A|B": of each part.')
    accepted: bool = Field(True, description="false: this concept is rejected.")
    predicate: Predicate = Field("", description="What the concept is to the mention.")
    here: bool = Field(False, description="In this document only; of a table, everywhere.")
    document: int | None = Field(None, description="The number of the document; null: the first.")
    as_written: bool = Field(False, description="Of the short form itself, in this document only.")


class Reviewed(Strict):
    """Who does something."""

    reviewer: ReviewerName
    role: RoleName


class GroupDecisions(Reviewed):
    """Decisions that are one step."""

    decisions: Annotated[list[GroupDecision], Field(min_length=1, max_length=10_000)]


class WantedRows(Strict):
    """Which rows of a queue are wanted; as the queue's own query."""

    show: Show = "all"
    below: Confidence | None = None
    above: Confidence | None = None
    under: Annotated[str, Field(max_length=200)] = ""
    type: Annotated[str, Field(max_length=200)] = ""
    q: Annotated[str, Field(max_length=1_000)] = ""
    document: Annotated[int, Field(ge=0, le=2**53)] = 0

    @property
    def filter(self) -> Filter:
        """The filter of a queue."""
        return Filter(**self.model_dump(include={f.name for f in dataclasses.fields(Filter)}))


class WantedPage(WantedRows):
    """Which page of a queue is wanted."""

    sort: Sort = "doubt"
    offset: Annotated[int, Field(ge=0, le=2**53)] = 0
    limit: Annotated[int, Field(ge=0, le=1_000)] = 100
    find: Annotated[str, Field(max_length=50, description="The key of a row to be placed.")] = ""


class Accept(Reviewed):
    """The present answers of all undecided rows of a filter are accepted."""

    filter: WantedRows = WantedRows()
    version: int | None = Field(None, description="Of the queue when its numbers were read.")


class Remark(Reviewed):
    """A flag ("1", or "" to take it away) or a note on the mentions of a row."""

    key: Annotated[str, Field(max_length=50)]
    kind: changes.Kind
    value: Annotated[str, Field(max_length=10_000)]


def router(service: Service, workbench: Workbench) -> APIRouter:
    """The routes of projects."""
    routes = APIRouter(prefix="/projects", tags=["projects"], responses=ERRORS)
    for add in (_add_files, _add_queue, _add_changes):
        add(routes, service, workbench)
    return routes


def _add_files(routes: APIRouter, service: Service, workbench: Workbench) -> None:
    """The routes by which projects come and go."""

    async def take(number: int, file: sources.Content, reviewer: str) -> dict[str, Any]:
        """Take the decisions in a file that linker wrote."""
        about = file, service.linker.dictionary, reviewer, workbench.origin
        read = (await asyncio.to_thread(reviewed.read, *about)).limited(may_say)
        added = await workbench.write(
            reviewed.keep, workbench.store, number, read, file.name, reviewer
        )
        return {"imported": added, "notes": [*file.notes, *reviewed.told(read, added)]}

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
        return {"projects": [_head(workbench, p) | figures for p, figures in projects]}

    @routes.post("", status_code=201, openapi_extra=body_of_file("any that /parse takes"))
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
        name = name.strip() or PurePath(file).stem or "project"
        kind = linking.type_for(read, linker) if type is None else type.strip()
        making = rows.created(
            workbench.store, name, read, {"type": kind}, reviewer, workbench.origin
        )
        number = await workbench.write_all(making)
        workbench.wake()
        said = await take(number, read, reviewer) if reviewed.is_reviewed(read) else {}
        return await _summary(workbench, number) | {"notes": read.notes} | said

    @routes.post("/{number}/sources", status_code=201, openapi_extra=body_of_file("as before"))
    async def add(
        number: Number,
        request: Request,
        reviewer: ReviewerName,
        file: Name = "",
        column: Column | None = None,
        encoding: Encoding = None,
    ) -> dict[str, Any]:
        """Add a further file to a project; of one that linker wrote, the decisions are taken.

        `imported` is how many of these are new.
        """
        content, most = await content_of(request), service.limits.file
        project = await workbench.read(lambda connection: rows.project(connection, number))
        read = await asyncio.to_thread(sources.read, content, file, column, encoding, most)
        if reviewed.is_reviewed(read):
            said = await take(number, read, reviewer)
            return await _summary(workbench, number) | said
        rows.check_kind(project, read)
        await workbench.write_all(rows.added(workbench.store, number, read))
        workbench.wake()
        return await _summary(workbench, number) | {"notes": read.notes}

    @routes.delete("/{number}")
    async def delete(number: Number) -> dict[str, bool]:
        """Delete a project; what was decided in it stays."""
        await workbench.read(lambda connection: rows.project(connection, number))
        await workbench.write_all(rows.deleted(workbench.store, number))
        return {"deleted": True}

    @routes.post("/{number}/relink")
    async def relink(number: Number) -> dict[str, Any]:
        """Link a project anew, by the model of the service; decisions stay."""
        await workbench.read(lambda connection: rows.project(connection, number))
        await workbench.write(rows.renewed, workbench.store, number, workbench.origin)
        workbench.wake()
        return await _summary(workbench, number)


def _add_queue(routes: APIRouter, service: Service, workbench: Workbench) -> None:
    """The routes that show a project."""

    @routes.get("/{number}")
    async def summary(number: Number) -> dict[str, Any]:
        """How far a project is."""
        return await _summary(workbench, number)

    @routes.get("/{number}/queue")
    async def queue(number: Number, wanted: Annotated[WantedPage, Query()]) -> dict[str, Any]:
        """A page of the rows of a project."""
        asked = wanted.filter, wanted.sort, wanted.offset, wanted.limit, wanted.find
        return await workbench.ask(number, lambda queue, _: queue.page(*asked))

    @routes.get("/{number}/accept")
    async def acceptable(number: Number, wanted: Annotated[WantedRows, Query()]) -> dict[str, Any]:
        """How many answers could be accepted at once, and how many of them may be wrong."""

        def read(queue: Queue, _: sqlite3.Connection) -> dict[str, Any]:
            return queue.figures(queue.acceptable(wanted.filter)) | {"version": queue.number}

        return await workbench.ask(number, read)

    @routes.get("/{number}/disagreements")
    async def disagreements(number: Number) -> dict[str, Any]:
        """How far reviewers agree, and the rows on which they do not, with what each said."""
        decided = await workbench.decided()
        return await workbench.ask(number, lambda queue, _: queue.disagreements(decided))

    @routes.get("/{number}/groups/{key}")
    async def group(number: Number, key: str) -> Response:
        """A row with the candidates of its answer, and the places of its mentions."""
        decided = await workbench.decided()

        def read(queue: Queue, connection: sqlite3.Connection) -> str:
            row = queue.row(key)
            prediction = None
            if row.group.answer:
                prediction = queue.prediction(connection, decided, row).to_dict()
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
        snapshot = await workbench.ask(number, lambda queue, _: Snapshot.of(queue))
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile())

            def write() -> Export:
                with workbench.store.reading() as connection:
                    exporter = Exporter(snapshot, connection, workbench.store, decided, linker)
                    exporter.write(exported := exporter.described(form), file)
                file.seek(0)
                return exported

            exported = await asyncio.to_thread(write)
            sent = _blocks(file, stack.pop_all())
        media = exported.media_type
        headers = {
            "Content-Type": f"{media}; charset={exported.encoding}" if exported.encoding else media,
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(exported.name)}",
        }
        return StreamingResponse(sent, headers=headers)


def _add_changes(routes: APIRouter, service: Service, workbench: Workbench) -> None:
    """The routes by which people change a project."""

    async def answered(number: int, forms: Sequence[str], said: dict[str, Any]) -> dict[str, Any]:
        """What was done, the rows that it changed, and how far the project is now."""

        def read(queue: Queue, connection: sqlite3.Connection) -> dict[str, Any]:
            changed = queue.rows_on(forms)[:1_000]
            return said | {
                "rows": [queue.to_dict(row) for row in changed],
                "summary": _summed(workbench, queue, connection),
            }

        return await workbench.ask(number, read)

    @routes.post("/{number}/decisions", status_code=201)
    async def decide(number: Number, body: Annotated[GroupDecisions, Body()]) -> dict[str, Any]:
        """Store what a reviewer says of rows, as one step; it is on the disk when this answers."""

        def read(queue: Queue, _: sqlite3.Connection) -> list[tuple[GroupDecision, Row, str]]:
            of_rows = [(new, queue.row(new.key)) for new in body.decisions]
            return [(new, row, _scope(queue, row, new)) for new, row in of_rows]

        dictionary, decisions, forms = service.linker.dictionary, list[Decision](), list[str]()
        for place, (new, row, scope) in enumerate(await workbench.ask(number, read)):
            text = row.group.mention if new.as_written else row.group.text
            decision = _decision(service, body, text, new.concept_id, scope)
            decision = dataclasses.replace(decision, accepted=new.accepted, predicate=new.predicate)
            try:
                decisions.append(identified(decision, dictionary))
            except LinkerError as error:
                raise Failure(422, str(error), f"decisions.{place}") from None
            forms += [row.group.form, linking.form_in(service.linker, text)]
        before = await workbench.decided()
        step = Step(changes.told(decisions), body.reviewer, number, body.role)
        added = await workbench.write(workbench.store.add, decisions, step)
        on = [d for new in added for d in before.on(new.mention, new.scope)]
        earlier = {d.id: d for d in on}
        contrary = [d for d in replaced([*earlier.values()], added) if d.id in earlier]
        said = {
            "step": added[0].step,
            "decisions": [_json(decision) for decision in added],
            "replaced": [_json(decision) for decision in contrary],
        }
        return await answered(number, forms, said)

    @routes.post("/{number}/accept", status_code=201)
    async def accept(number: Number, body: Annotated[Accept, Body()]) -> dict[str, Any]:
        """Accept the present answers of all undecided rows of a filter, as one step."""

        def read(queue: Queue, _: sqlite3.Connection) -> tuple[dict[str, Any], list[Decision]]:
            if body.version not in (None, queue.number):
                raise Taken("the queue has changed meanwhile; look at the numbers again")
            wanted = queue.acceptable(body.filter.filter)
            decisions: dict[tuple[str, str], Decision] = {}
            for row in wanted:
                decision = _decision(service, body, row.group.text, row.ids, row.scope)
                decisions.setdefault((row.group.form, row.scope), decision)
            others = len(decisions) - 1
            at_once = [dataclasses.replace(d, others=others) for d in decisions.values()]
            return queue.figures(wanted), at_once

        figures, decisions = await workbench.ask(number, read)
        if not decisions:
            raise Failure(
                422, "no row of the filter has an answer that nobody decided on", "filter"
            )
        words = f"accepted {len(decisions):,} answers at once"
        step = Step(words, body.reviewer, number, body.role)
        added = await workbench.write(workbench.store.add, decisions, step)
        said = figures | {"step": added[0].step, "accepted": figures["groups"]}
        return await answered(number, [], said)

    @routes.post("/{number}/undo")
    async def undo(number: Number, body: Annotated[Reviewed, Body()]) -> dict[str, Any]:
        """Undo the last step of a reviewer in a project."""
        await workbench.read(lambda connection: rows.project(connection, number))
        undone = await workbench.write(changes.undo, workbench.store, number, body.reviewer)
        if undone is None:
            raise Failure(404, "there is nothing to undo")
        step, about = undone
        marked = await workbench.read(lambda connection: marks.of_step(connection, step.id or 0))
        for document in marked:
            await workbench.link_document(number, document)
        forms = [linking.form_in(service.linker, text) for text in about]
        return await answered(number, forms, {"words": step.words})

    @routes.post("/{number}/remarks", status_code=201)
    async def remark(number: Number, body: Annotated[Remark, Body()]) -> dict[str, Any]:
        """Flag the mentions of a row, or note something about them."""
        form = await workbench.ask(number, lambda queue, _: queue.row(body.key).group.form)
        said = "flagged" if body.kind == "flag" else "noted something about"
        step = Step(f"{said} {form!r}", body.reviewer, number, body.role)
        await workbench.write(changes.remark, workbench.store, step, form, body.kind, body.value)
        return await answered(number, [form], {})


def _blocks(file: IO[bytes], opened: contextlib.ExitStack) -> Iterator[bytes]:
    """Yield the bytes of a file, which is closed at the end."""
    with opened:
        while block := file.read(_BLOCK):
            yield block


async def _summary(workbench: Workbench, number: int) -> dict[str, Any]:
    """How far a project is."""
    return await workbench.ask(
        number, lambda queue, connection: _summed(workbench, queue, connection)
    )


def _summed(workbench: Workbench, queue: Queue, connection: sqlite3.Connection) -> dict[str, Any]:
    linked = linking.share(connection, queue.project)
    return _head(workbench, queue.project) | queue.summary() | {"linked": linked}


def _head(workbench: Workbench, project: Project) -> dict[str, Any]:
    """What a project is, without its figures."""
    return {
        "id": project.id,
        "name": project.name,
        "kind": project.kind,
        "type": project.type,
        "created": project.created,
        "problem": workbench.problem(project),
    }


def _figures(connection: sqlite3.Connection, project: Project, decided: Decided) -> dict[str, Any]:
    """How far a project is, without its queue."""
    return {
        "mentions": linking.counted(connection, project)[0],
        "decided": decided_mentions(connection, project.id, decided.places),
        "linked": linking.share(connection, project),
    }


def _scope(queue: Queue, row: Row, new: GroupDecision) -> str:
    """The id of the document in which a decision holds; empty: everywhere."""
    if not (new.here or new.as_written):
        return ""
    number = new.document or row.members[0][1]
    return queue.documents.get(number, "")


def _decision(
    service: Service, by: Reviewed, mention: str, concepts: str | None, scope: str
) -> Decision:
    """An accepting decision of a reviewer."""
    return Decision(
        mention,
        concepts or "",
        scope=scope,
        reviewer=by.reviewer,
        model=service.model.fingerprint,
        release=releases(service.linker.dictionary),
        role=by.role,
    )


def _json(decision: Decision) -> dict[str, Any]:
    return dataclasses.asdict(decision) | {"concept_id": decision.concept_id or None}

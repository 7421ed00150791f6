"""What people change in a project: decisions, all answers at once, undo, remarks, and marks."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import Field

from linker.decisions.store import Step, identified
from linker.errors import LinkerError
from linker.linking.decisions import Place, form_everywhere, form_of
from linker.projects import changes, documents, marks
from linker.projects import store as rows
from linker.projects.documents import DocumentSort
from linker.projects.groups import Filter, Row, Show
from linker.projects.marks import Mark, Outdated
from linker.projects.queue import Queue
from linker.projects.store import Missing, Taken
from linker.service.callers import ReviewerName, Settled
from linker.service.decisions import contrary_to, decision_of, written
from linker.service.errors import ERRORS, Failure
from linker.service.schemas import Body as Strict
from linker.service.schemas import Confidence, Many
from linker.service.state import FEW, Service, aside
from linker.service.workbench import Workbench
from linker.types import Decision, Predicate

Number = Annotated[int, Path(ge=1, le=2**53)]
"""Of a project."""
_Id = Annotated[str, Field(min_length=1, max_length=1_000)]


class GroupDecision(Strict):
    """What a reviewer says of the mentions of a row."""

    key: Annotated[str, Field(max_length=50)]
    concept_id: _Id | None = Field(description='null: no concept; "A|B": of each part.')
    accepted: bool = Field(True, description="false: this concept is rejected.")
    predicate: Predicate = Field("", description="What the concept is to the mention.")
    here: bool = Field(False, description="In this document only; of a table, everywhere.")
    document: int | None = Field(None, description="The number of the document; null: the first.")
    as_written: bool = Field(False, description="Of the short form itself, in this document only.")
    settles: Settled


class Reviewed(Strict):
    """Who does something."""

    reviewer: ReviewerName


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


class Accept(Reviewed):
    """The present answers of all undecided rows of a filter are accepted."""

    filter: WantedRows = WantedRows()
    version: int | None = Field(None, description="Of the queue when its numbers were read.")


class Remark(Reviewed):
    """A flag ("1", or "" to take it away) or a note on the mentions of a row."""

    key: Annotated[str, Field(max_length=50)]
    kind: changes.Kind
    value: Annotated[str, Field(max_length=10_000)]
    before: str | None = Field(
        None,
        max_length=10_000,
        description="What was shown in its place; 409 where that is another one by now.",
    )


class NewMark(Strict):
    """What is done to one mention, or said of its document."""

    action: marks.Action
    before: marks.Place | None = Field(None, description="The mention, to change or delete it.")
    after: marks.Place | None = Field(None, description="What to add, or what it becomes.")


class NewMarks(Reviewed):
    """Marks that are one step."""

    marks: Annotated[Many[NewMark], Field(min_length=1, max_length=1_000)]
    version: str = Field(description="`marks_version` of the document that was looked at.")


def router(service: Service, workbench: Workbench) -> APIRouter:
    """The routes by which people change a project."""
    routes = APIRouter(prefix="/projects", tags=["projects"], responses=ERRORS)

    async def answered(number: int, forms: Sequence[str], said: dict[str, Any]) -> dict[str, Any]:
        """What was done, the rows that it changed, and how far the project is now."""

        def read(queue: Queue, connection: sqlite3.Connection) -> dict[str, Any]:
            changed = queue.rows_on(forms)[:1_000]
            return said | {
                "rows": [queue.to_dict(row) for row in changed],
                "summary": workbench.summed(queue, connection),
            }

        return await workbench.ask(number, read, is_hurried=bool(forms))

    @routes.post("/{number}/decisions", status_code=201)
    async def decide(number: Number, body: Annotated[GroupDecisions, Body()]) -> dict[str, Any]:
        """Store what a reviewer says of rows, as one step; it is on the disk when this answers."""

        def read(queue: Queue, _: sqlite3.Connection) -> list[tuple[GroupDecision, Row, str]]:
            of_rows = [(new, queue.row(new.key)) for new in body.decisions]
            return [(new, row, _scope(queue, row, new)) for new, row in of_rows]

        rows_of = await workbench.ask(number, read, is_hurried=True)
        dictionary, decisions, forms = service.linker.dictionary, list[Decision](), list[str]()
        for place, (new, row, scope) in enumerate(rows_of):
            text = row.group.mention if new.as_written else row.group.text
            said = new.model_dump(include={"concept_id", "accepted", "predicate", "settles"})
            decision = decision_of(
                service, mention=text, scope=scope, reviewer=body.reviewer, **said
            )
            try:
                decisions.append(identified(decision, dictionary))
            except LinkerError as error:
                raise Failure(422, str(error), f"decisions.{place}") from None
            forms += [row.group.form, form_of(text)]
        before = await workbench.decided()
        step = Step(changes.told(decisions), body.reviewer, number)
        added = await service.add(workbench.store, decisions, step)
        replaced = written(contrary_to(added, before))
        told = {"step": added[0].step, "decisions": written(added), "replaced": replaced}
        return await answered(number, forms, told)

    @routes.post("/{number}/accept", status_code=201)
    async def accept(number: Number, body: Annotated[Accept, Body()]) -> dict[str, Any]:
        """Accept the present answers of all undecided rows of a filter, as one step."""

        def read(
            queue: Queue, _: sqlite3.Connection
        ) -> tuple[dict[str, Any], dict[Place, tuple[str, str]]]:
            if body.version not in (None, queue.number):
                raise Taken("the queue has changed meanwhile; look at the numbers again")
            there = queue.acceptable(body.filter.filter)
            wanted: dict[Place, tuple[str, str]] = {}
            for row in there:
                wanted.setdefault((row.group.form, row.scope), (row.group.text, row.ids))
            return queue.figures(there), wanted

        figures, wanted = await workbench.ask(number, read)

        who = {"reviewer": body.reviewer}

        def made() -> list[Decision]:
            return [
                decision_of(service, ids, mention=text, scope=scope, bulk=True, **who)
                for (_, scope), (text, ids) in wanted.items()
            ]

        decisions = await aside(wanted, made)
        if not decisions:
            raise Failure(
                422, "no row of the filter has an answer that nobody decided on", "filter"
            )
        words = f"accepted {figures['mentions']:,} mentions in {figures['groups']:,} rows in bulk"
        step = Step(words, body.reviewer, number)
        added = await service.add(workbench.store, decisions, step)
        said = figures | {"step": added[0].step, "accepted": figures["groups"]}
        return await answered(number, [], said)

    @routes.post("/{number}/undo")
    async def undo(number: Number, body: Annotated[Reviewed, Body()]) -> dict[str, Any]:
        """Undo the last step of a reviewer in a project; of a large one `rows` is empty."""
        await workbench.read(lambda connection: rows.project(connection, number))
        undone = await service.write(changes.undo, workbench.store, number, body.reviewer)
        if undone is None:
            raise Failure(404, "there is nothing to undo")
        step, about = undone
        marked = await workbench.read(lambda connection: marks.of_step(connection, step.id or 0))
        for document in marked:
            await workbench.link_document(number, document)
        few = about if len(about) <= FEW else []
        forms = [form(text) for text in few for form in (form_of, form_everywhere)]
        return await answered(number, forms, {"words": step.words})

    @routes.post("/{number}/remarks", status_code=201)
    async def remark(number: Number, body: Annotated[Remark, Body()]) -> dict[str, Any]:
        """Flag the mentions of a row, or note something about them."""
        form = await workbench.ask(number, lambda queue, _: queue.row(body.key).group.form)
        said = "flagged" if body.kind == "flag" else "noted something about"
        step = Step(f"{said} {form!r}", body.reviewer, number)
        new = form, body.kind, body.value
        await service.write(changes.remark, workbench.store, step, new, body.before)
        return await answered(number, [form], {})

    async def shown(number: int, of: int) -> dict[str, Any]:
        return await workbench.ask(
            number, lambda queue, connection: documents.shown(queue, connection, of)
        )

    @routes.get("/{number}/documents")
    async def listed(number: Number, sort: DocumentSort = "number") -> dict[str, Any]:
        """The documents of a project, in their order or those first that are worth most."""
        return {
            "documents": await workbench.ask(
                number, lambda queue, connection: documents.listed(queue, connection, sort)
            )
        }

    @routes.get("/{number}/documents/{of}")
    async def document(number: Number, of: Number) -> dict[str, Any]:
        """A document with its mentions and their answers."""
        return await shown(number, of)

    @routes.post("/{number}/documents/{of}/marks", status_code=201)
    async def mark(number: Number, of: Number, body: Annotated[NewMarks, Body()]) -> dict[str, Any]:
        """Add, change and delete mentions as one step; those that are new are linked.

        409 where the text or its marks have changed since they were looked at.
        """

        def write() -> None:
            step = Step("", body.reviewer, number)
            with workbench.store.transaction() as connection:
                rows.project(connection, number)
                stored = rows.document(connection, number, of)
                if not stored.is_searched:
                    raise Outdated("the mentions of this document are still looked for; wait a bit")
                given = [Mark(new.action, new.before, new.after) for new in body.marks]
                marks.add(connection, step, of, stored.document, given, body.version)
                marks.refresh(connection, number, of, stored.document)

        await service.write(write)
        await workbench.link_document(number, of)
        return await shown(number, of)

    return routes


def _scope(queue: Queue, row: Row, new: GroupDecision) -> str:
    """The id of the document in which a decision holds; empty: everywhere."""
    if not (new.here or new.as_written):
        return ""
    number = new.document or row.members[0][1]
    if new.document and number not in queue.documents:
        raise Missing(f"there is no document {number} in the project")
    return queue.documents.get(number, "")

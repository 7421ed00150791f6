"""What people change in a project: decisions, all answers at once, undo, remarks, and marks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import Field

from linker.desk.decisions.store import Step
from linker.desk.projects import changes, documents, marks
from linker.desk.projects.documents import DocumentSort
from linker.desk.projects.filters import Filter, Show
from linker.desk.projects.marks import Mark
from linker.desk.projects.queue import Queue, RemarkKind
from linker.desk.projects.store import Missing
from linker.desk.service.callers import ReviewerName, Settled
from linker.desk.service.decisions import contrary_to, written
from linker.desk.service.errors import ERRORS, Failure
from linker.desk.service.schemas import Body as Strict
from linker.desk.service.schemas import Confidence, Many
from linker.desk.service.state import FEW, Service
from linker.desk.service.workbench import Workbench
from linker.errors import LinkerError
from linker.linking.decisions import form_everywhere, form_of
from linker.records import Decision, Predicate

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
    kind: RemarkKind
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
    _add_decisions(routes, service, workbench)
    _add_documents(routes, service, workbench)
    return routes


def _add_decisions(routes: APIRouter, service: Service, workbench: Workbench) -> None:
    """The routes that change rows."""
    store = workbench.store

    async def answered(number: int, about: Sequence[str], said: dict[str, Any]) -> dict[str, Any]:
        """What was done, the rows that it changed, and how far the project is now.

        Args:
            number: of the project.
            about: the mentions that it was about.
            said: what was done.
        """
        forms = [form(text) for text in about for form in (form_of, form_everywhere)]

        def read(queue: Queue) -> dict[str, Any]:
            changed = list(map(queue.to_dict, queue.rows_on(forms)))
            return said | {"rows": changed, "summary": workbench.summed(queue)}

        return await workbench.ask(number, read, is_hurried=bool(forms))

    @routes.post("/{number}/decisions", status_code=201)
    async def decide(number: Number, body: Annotated[GroupDecisions, Body()]) -> dict[str, Any]:
        """Store what a reviewer says of rows, as one step; it is on the disk when this answers."""
        about = {"reviewer": body.reviewer, "origin": workbench.origin}

        def read(queue: Queue) -> list[Decision]:
            decisions = []
            for place, new in enumerate(body.decisions):
                try:
                    said = dict(new) | about
                    decisions.append(
                        changes.decision_on(queue, **said, dictionary=service.linker.dictionary)
                    )
                except Missing:
                    raise
                except LinkerError as error:
                    raise Failure(422, str(error), f"decisions.{place}") from None
            return decisions

        decisions = await workbench.ask(number, read, is_hurried=True)
        before = await workbench.decided()
        step = Step(changes.words_of(decisions), body.reviewer, number)
        added = await service.add(store, decisions, step)
        replaced = written(contrary_to(added, before))
        told = {"step": added[0].step, "decisions": written(added), "replaced": replaced}
        return await answered(number, [d.mention for d in added], told)

    @routes.post("/{number}/accept", status_code=201)
    async def accept(number: Number, body: Annotated[Accept, Body()]) -> dict[str, Any]:
        """Accept the present answers of all undecided rows of a filter, as one step."""
        about = body.filter.filter, body.version, body.reviewer, workbench.origin
        figures, decisions = await workbench.ask(
            number, lambda queue: changes.acceptance(queue, *about)
        )
        words = f"accepted {figures['mentions']:,} mentions in {figures['groups']:,} rows in bulk"
        added = await service.add(store, decisions, Step(words, body.reviewer, number))
        said = figures | {"step": added[0].step, "accepted": figures["groups"]}
        return await answered(number, [], said)

    @routes.post("/{number}/undo")
    async def undo(number: Number, body: Annotated[Reviewed, Body()]) -> dict[str, Any]:
        """Undo the last step of a reviewer in a project; of a large one `rows` is empty."""
        step, about, marked = await service.write(changes.undo, store, number, body.reviewer)
        for document in marked:
            await workbench.link_document(number, document)
        return await answered(number, about if len(about) <= FEW else [], {"words": step.words})

    @routes.post("/{number}/remarks", status_code=201)
    async def remark(number: Number, body: Annotated[Remark, Body()]) -> dict[str, Any]:
        """Flag the mentions of a row, or note something about them."""
        form = await workbench.ask(number, lambda queue: queue.row(body.key).form)
        said = "flagged" if body.kind == "flag" else "noted something about"
        step = Step(f"{said} {form!r}", body.reviewer, number)
        new = form, body.kind, body.value
        await service.write(changes.remark, store, step, new, body.before)
        return await answered(number, [form], {})


def _add_documents(routes: APIRouter, service: Service, workbench: Workbench) -> None:
    """The routes that show documents, and change their mentions."""

    def shown(of: int) -> Callable[[Queue], dict[str, Any]]:
        return lambda queue: documents.shown(queue, of)

    @routes.get("/{number}/documents")
    async def listed(number: Number, sort: DocumentSort = "number") -> dict[str, Any]:
        """The documents of a project, in their order or the most doubtful ones first."""
        there = await workbench.ask(number, lambda queue: documents.listed(queue, sort))
        return {"documents": there}

    @routes.get("/{number}/documents/{of}")
    async def document(number: Number, of: Number) -> dict[str, Any]:
        """A document with its mentions and their answers."""
        return await workbench.ask(number, shown(of))

    @routes.post("/{number}/documents/{of}/marks", status_code=201)
    async def mark(number: Number, of: Number, body: Annotated[NewMarks, Body()]) -> dict[str, Any]:
        """Add, change and delete mentions as one step; those that are new are linked.

        409 where the text or its marks have changed since they were looked at.
        """
        step = Step("", body.reviewer, number)
        new = [Mark(of.action, of.before, of.after) for of in body.marks]
        await service.write(marks.add, workbench.store, step, of, new, body.version)
        await workbench.link_document(number, of)
        return await workbench.ask(number, shown(of))

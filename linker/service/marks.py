"""/projects/{id}/documents: the documents of a project, and marks by hand in them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import Field

from linker.decisions.store import Step
from linker.projects import documents, marks
from linker.projects import store as rows
from linker.projects.documents import DocumentSort
from linker.projects.marks import Action, Mark, Outdated, Place
from linker.service.errors import ERRORS
from linker.service.reviewing import Number, Reviewed
from linker.service.schemas import Body as Strict
from linker.service.schemas import Label, Many, Offset
from linker.service.workbench import Workbench


class MarkedPlace(Strict):
    """What tells a mention from the others of its document."""

    spans: Annotated[list[tuple[Offset, Offset]], Field(min_length=1, max_length=100)]
    type: Label = ""

    @property
    def place(self) -> Place:
        """The place of the mention."""
        return Place(tuple(self.spans), self.type)


class NewMark(Strict):
    """What is done to one mention, or said of its document."""

    action: Action
    before: MarkedPlace | None = Field(None, description="The mention, to change or delete it.")
    after: MarkedPlace | None = Field(None, description="What to add, or what it becomes.")

    @property
    def mark(self) -> Mark:
        """The mark, whose text is not yet known."""
        before, after = (given.place if given else None for given in (self.before, self.after))
        return Mark(self.action, before, after)


class NewMarks(Reviewed):
    """Marks that are one step."""

    marks: Annotated[Many[NewMark], Field(min_length=1, max_length=1_000)]
    version: str = Field(description="`marks_version` of the document that was looked at.")


def router(workbench: Workbench) -> APIRouter:
    """The routes of the documents of projects."""
    routes = APIRouter(prefix="/projects/{number}/documents", tags=["projects"], responses=ERRORS)

    async def shown(number: int, of: int) -> dict[str, Any]:
        return await workbench.ask(
            number, lambda queue, connection: documents.shown(queue, connection, of)
        )

    @routes.get("")
    async def listed(number: Number, sort: DocumentSort = "number") -> dict[str, Any]:
        """The documents of a project, in their order or those first that are worth most."""
        return {
            "documents": await workbench.ask(
                number, lambda queue, connection: documents.listed(queue, connection, sort)
            )
        }

    @routes.get("/{of}")
    async def document(number: Number, of: Number) -> dict[str, Any]:
        """A document with its mentions and their answers."""
        return await shown(number, of)

    @routes.post("/{of}/marks", status_code=201)
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
                given = [new.mark for new in body.marks]
                marks.add(connection, step, of, stored.document, given, body.version)
                marks.refresh(connection, number, of, stored.document)

        await workbench.write(write)
        await workbench.link_document(number, of)
        return await shown(number, of)

    return routes

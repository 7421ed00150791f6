"""What people change in a project: decisions, all answers at once, undo, remarks, and marks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import Field

from linker.desk.decisions.store import Step
from linker.desk.projects import changes, documents, marks
from linker.desk.projects.documents import DocumentSort
from linker.desk.projects.filters import Filter, Show
from linker.desk.projects.marks import Mark
from linker.desk.projects.queue import Queue, RemarkKind
from linker.desk.projects.store import Missing, Origin, Taken
from linker.desk.service.callers import ReviewerName, Settled
from linker.desk.service.decisions import contrary_to, written
from linker.desk.service.errors import ERRORS, Failure
from linker.desk.service.schemas import Body as Strict
from linker.desk.service.schemas import Confidence, Many
from linker.desk.service.state import FEW
from linker.desk.service.workbench import Desk, Workbench
from linker.errors import LinkerError
from linker.linking.decisions import form_everywhere, form_of
from linker.records import Decision, Predicate

routes = APIRouter(prefix="/projects", tags=["projects"], responses=ERRORS)

Number = Annotated[int, Path(ge=1, le=2**53)]
"""Of a project."""
_PartText = Annotated[str, Field(max_length=100_000)]
_Id = Annotated[str, Field(min_length=1, max_length=1_000)]


class GroupDecision(Strict):
    """What a reviewer says of the mentions of a row."""

    key: Annotated[str, Field(max_length=50)]
    concept_id: _Id | None = Field(
        description='null: no concept; "A|B": of each part; "A|?": one is left open.'
    )
    accepted: bool = Field(True, description="false: this concept is rejected.")
    predicate: Predicate = Field("", description="What the concept is to the mention.")
    here: bool = Field(False, description="In this document only; of a table, everywhere.")
    document: int | None = Field(None, description="The number of the document; null: the first.")
    as_written: bool = Field(False, description="Of the short form itself, in this document only.")
    part_texts: Annotated[list[_PartText], Field(max_length=100)] | None = Field(
        None,
        description="Of a decision with an open part: the texts of the parts that were shown; 409 "
        "where the mention is read in others by now.",
    )
    settles: Settled

    def on(self, queue: Queue, reviewer: str, origin: Origin) -> Decision:
        """The decision; see `changes.decision_on`."""
        said = Decision(
            "",
            self.concept_id or "",
            accepted=self.accepted,
            predicate=self.predicate,
            settles=self.settles,
            reviewer=reviewer,
            model=origin.model,
            release=origin.release,
        )
        where = self.here, self.document, self.as_written, self.part_texts
        return changes.decision_on(queue, self.key, said, *where)


class Reviewed(Strict):
    """Who does something."""

    reviewer: ReviewerName


class Undo(Reviewed):
    """Whose last step is undone."""

    step: int | None = Field(
        None,
        ge=1,
        le=2**53,
        description="Of `GET /undo`; 409 where another one is the last by now. null: the last.",
    )


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


@routes.post("/{number}/decisions", status_code=201)
async def decide(
    desk: Desk, number: Number, body: Annotated[GroupDecisions, Body()]
) -> dict[str, Any]:
    """Store what a reviewer says of rows, as one step; it is on the disk when this answers.

    409 where a mention is read in other parts by now than in `part_texts`.
    """
    origin = desk.origin

    def read(queue: Queue) -> list[Decision]:
        decisions = []
        for place, new in enumerate(body.decisions):
            try:
                decisions.append(new.on(queue, body.reviewer, origin))
            except (Missing, Taken):
                raise
            except LinkerError as error:
                raise Failure(422, str(error), f"decisions.{place}") from None
        return decisions

    decisions = await desk.ask(number, read, is_hurried=True)
    before = await desk.decided()
    step = Step(changes.words_of(decisions), body.reviewer, number)
    added = await desk.service.add(desk.store, decisions, step)
    replaced = written(contrary_to(added, before))
    said = {"step": added[0].step, "decisions": written(added), "replaced": replaced}
    return await _answer(desk, number, [d.mention for d in added], said)


@routes.post("/{number}/accept", status_code=201)
async def accept(desk: Desk, number: Number, body: Annotated[Accept, Body()]) -> dict[str, Any]:
    """Accept the present answers of all undecided rows of a filter, as one step."""
    about = body.filter.filter, body.version, body.reviewer, desk.origin
    figures, decisions = await desk.ask(number, lambda queue: changes.acceptance(queue, *about))
    words = f"accepted {figures['mentions']:,} mentions in {figures['groups']:,} rows in bulk"
    added = await desk.service.add(desk.store, decisions, Step(words, body.reviewer, number))
    said = figures | {"step": added[0].step, "accepted": figures["groups"]}
    return await _answer(desk, number, [], said)


@routes.get("/{number}/undo")
async def undoable(desk: Desk, number: Number, reviewer: ReviewerName) -> dict[str, Any]:
    """What an undo would take back: the last step of a reviewer, and how much it `changes`.

    `step` is null where there is none.
    """
    return await desk.read(lambda connection: changes.undoable(connection, number, reviewer))


@routes.post("/{number}/undo")
async def undo(desk: Desk, number: Number, body: Annotated[Undo, Body()]) -> dict[str, Any]:
    """Undo the last step of a reviewer in a project; of a large one `rows` is empty."""
    step, about, marked = await desk.service.write(
        changes.undo, desk.store, number, body.reviewer, body.step
    )
    for document in marked:
        await desk.link_document(number, document)
    return await _answer(desk, number, about if len(about) <= FEW else [], {"words": step.words})


@routes.post("/{number}/remarks", status_code=201)
async def remark(desk: Desk, number: Number, body: Annotated[Remark, Body()]) -> dict[str, Any]:
    """Flag the mentions of a row, or note something about them."""
    form = await desk.ask(number, lambda queue: queue.row(body.key).form)
    did = "flagged" if body.kind == "flag" else "noted something about"
    step = Step(f"{did} {form!r}", body.reviewer, number)
    new = form, body.kind, body.value
    await desk.service.write(changes.remark, desk.store, step, new, body.before)
    return await _answer(desk, number, [form], {})


async def _answer(
    desk: Workbench, number: int, about: Sequence[str], said: dict[str, Any]
) -> dict[str, Any]:
    """What was done, the rows that it changed, and how far the project is now.

    Args:
        desk: the workbench.
        number: of the project.
        about: the mentions that it was about.
        said: what was done.
    """
    forms = [form(text) for text in about for form in (form_of, form_everywhere)]

    def read(queue: Queue) -> dict[str, Any]:
        changed = list(map(queue.to_dict, queue.rows_on(forms)))
        return said | {"rows": changed, "summary": desk.summed(queue)}

    return await desk.ask(number, read, is_hurried=bool(forms))


@routes.get("/{number}/documents")
async def listed(desk: Desk, number: Number, sort: DocumentSort = "number") -> dict[str, Any]:
    """The documents of a project, in their order or the most doubtful ones first."""
    return {"documents": await desk.ask(number, lambda queue: documents.listed(queue, sort))}


@routes.get("/{number}/documents/{of}")
async def document(desk: Desk, number: Number, of: Number) -> dict[str, Any]:
    """A document with its mentions and their answers."""
    return await desk.ask(number, lambda queue: documents.shown(queue, of))


@routes.post("/{number}/documents/{of}/marks", status_code=201)
async def mark(
    desk: Desk, number: Number, of: Number, body: Annotated[NewMarks, Body()]
) -> dict[str, Any]:
    """Add, change and delete mentions as one step; those that are new are linked.

    409 where the text or its marks have changed since they were looked at.
    """
    step = Step("", body.reviewer, number)
    new = [Mark(each.action, each.before, each.after) for each in body.marks]
    await desk.service.write(marks.add, desk.store, step, of, new, body.version)
    await desk.link_document(number, of)
    return await document(desk, number, of)

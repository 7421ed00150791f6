"""GET and POST /decisions/changes: what a new release does to decisions, and what is accepted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Response
from pydantic import Field

from linker.desk.decisions import updating
from linker.desk.decisions.store import Step
from linker.desk.projects.changes import words_of
from linker.desk.service.decisions import written
from linker.desk.service.errors import ERRORS, Failure
from linker.desk.service.reviewing import Reviewed
from linker.desk.service.workbench import Desk
from linker.dictionary import Dictionary
from linker.linking.decisions import concepts_of
from linker.records import Decision

routes = APIRouter(prefix="/decisions", tags=["decisions"], responses=ERRORS)

_Word = Annotated[int, Field(ge=1, le=2**53)] | Annotated[str, Field(max_length=20)]
"""The number of a decision, or a kind, which is accepted in bulk."""


class Acceptance(Reviewed):
    """Changes that are accepted, as one step."""

    accept: Annotated[list[_Word], Field(min_length=1, max_length=10_000, fail_fast=True)]
    count: int | None = Field(None, description="Of the decisions to be made, as it was shown.")
    project: int | None = Field(None, description="Whose undo takes the step back.")


@routes.get("/changes")
async def changed(desk: Desk) -> Response:
    """What the dictionary changes of decisions that were made with the one of `--before`."""
    service = desk.service

    def read() -> str:
        kept = desk.store.list()
        names = service.model.names
        old_names = service.before
        found = updating.changes(kept, names, old_names)
        counts = updating.counted(kept, found)
        by_kind = {kind: len(updating.chosen(found, [kind])) for kind in updating.ACCEPTABLE}
        kinds = [
            {"kind": k, "words": words, "count": counts[k], "acceptable": by_kind.get(k, 0)}
            for k, words in updating.KINDS.items()
        ]
        changes = [
            written([change.decision])[0]
            | {"kind": change.kind, "acceptable": change.kind in updating.BY_NUMBER}
            | {"one_by_one": change.one_by_one}
            | {"before": _named(concepts_of(change.decision), old_names.dictionary)}
            | {"now": _named(change.now, names.dictionary)}
            for change in found
        ]
        return json.dumps({"current": counts["current"], "kinds": kinds, "changes": changes})

    return Response(await desk.service.run(read), media_type="application/json")


@routes.post("/changes", status_code=201)
async def accept(desk: Desk, body: Annotated[Acceptance, Body()]) -> dict[str, Any]:
    """Let what the dictionary says take the place of decisions, as one step.

    Of a kind no decision is taken whose `one_by_one` says why somebody has to look at it. 409 where
    it would make none, or not as many as `count`, or somebody made them meanwhile.
    """
    service = desk.service
    if body.project is not None:
        await desk.summary(body.project)  # it is there

    def new() -> list[Decision]:
        names = service.model.names
        found = updating.changes(desk.store.list(), names, service.before)
        try:
            wanted = updating.chosen(found, map(str, body.accept))
        except ValueError as error:
            reason = f"{error} is no kind that can be accepted, and no decision that needs one"
            raise Failure(422, reason, "accept") from None
        return [
            updating.accepted(c, names.dictionary, body.reviewer, bulk=bulk) for c, bulk in wanted
        ]

    decisions = await service.run(new)
    if not decisions or body.count not in (None, len(decisions)):
        raise Failure(409, f"it would make {len(decisions):,} decisions; look at them again")
    step = Step(words_of(decisions), body.reviewer, body.project)
    added = await service.write(updating.take, desk.store, decisions, step)
    if not added:
        raise Failure(409, "these decisions were made meanwhile; look at them again")
    return {"decisions": written(added)}


def _named(ids: Iterable[str], of: Dictionary) -> list[dict[str, str]]:
    """Ids with the names of the concepts that they stand for; empty for those of none."""
    return [{"concept_id": i, "name": " / ".join(map(of.preferred_name, of.rows(i)))} for i in ids]

"""GET, POST and DELETE /decisions: what reviewers said of mentions."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from linker.desk.decisions import exchange
from linker.desk.decisions.store import DecisionStore, identified, releases, replaced
from linker.desk.service.callers import ReviewerName, Settled
from linker.desk.service.errors import ERRORS, Failure
from linker.desk.service.schemas import EXAMPLES
from linker.desk.service.schemas import Body as Strict
from linker.desk.service.state import Asked, Service, aside
from linker.errors import LinkerError
from linker.linking.decided import Decided
from linker.linking.decisions import conflicts, in_force
from linker.records import Decision, Predicate

routes = APIRouter(prefix="/decisions", tags=["decisions"], responses=ERRORS)

_FIELDS = [field.name for field in dataclasses.fields(Decision)]
_Text = Annotated[str, Field(max_length=1_000)]


class NewDecision(Strict):
    """What a reviewer says of a mention."""

    mention: Annotated[str, Field(min_length=1, max_length=1_000)]
    concept_id: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        description='null: no concept; "A|B": of each part; "A|?": one is left open.'
    )
    accepted: bool = Field(True, description="false: this concept is rejected.")
    predicate: Predicate = Field(
        "",
        description='What an accepted concept is to the mention; empty: exactly it; "broad": '
        "broader than it.",
    )
    scope: _Text = Field("", description="The id of a document; empty: everywhere.")
    reviewer: ReviewerName
    settles: Settled


class NewDecisions(Strict):
    """Decisions that are stored together."""

    decisions: Annotated[list[NewDecision], Field(min_length=1, max_length=10_000, fail_fast=True)]


@routes.get("")
async def listed(service: Asked, mention: _Text | None = None) -> Response:
    """The decisions in force, or those on a mention, and those on which reviewers disagree."""
    store, dictionary = store_of(service), service.linker.dictionary

    def read() -> str:
        kept = store.list(mention)
        disputed = [
            {"mention": d.mention, "scope": d.scope, "decisions": written([d, *others])}
            for d, *others in conflicts(in_force(kept, dictionary))
        ]
        return json.dumps({"decisions": written(kept), "conflicts": disputed})

    return Response(await service.run(read), media_type="application/json")


@routes.post("", status_code=201)
async def add(
    service: Asked,
    body: Annotated[NewDecisions, Body(openapi_examples=EXAMPLES["decisions"])],
) -> Response:
    """Store decisions; they are on the disk when this answers, and hold from now on.

    `replaced` are earlier decisions of the same reviewer that said the contrary.
    """
    store, dictionary = store_of(service), service.linker.dictionary

    def known() -> list[Decision]:
        decisions = []
        for number, new in enumerate(body.decisions):
            try:
                decisions.append(identified(_decision_of(service, **dict(new)), dictionary))
            except LinkerError as error:
                raise Failure(422, str(error), f"decisions.{number}") from None
        return decisions

    decisions = await aside(body.decisions, known)
    decided = await service.decided()
    added = await service.add(store, decisions)

    def answer() -> str:
        contrary = contrary_to(added, decided) if decided else []
        return json.dumps({"decisions": written(added), "replaced": written(contrary)})

    return Response(await aside(added, answer), 201, media_type="application/json")


@routes.delete("/{number}")
async def withdraw(
    service: Asked, number: Annotated[int, Path(ge=1, le=2**53)], reviewer: ReviewerName
) -> dict[str, int]:
    """Withdraw a decision, which stays in the history."""
    count = await service.write(store_of(service).withdraw, [number], reviewer)
    if not count:
        raise Failure(404, "no decision in force has this id", "number")
    return {"withdrawn": count}


@routes.get("/export", response_class=Response)
async def export(
    service: Asked,
    form: Annotated[exchange.Form | Literal["log"], Query(alias="format")] = "tsv",
) -> Response:
    """The decisions in force as a file: a table, SSSOM, or annotated mentions to train on; or
    all that was done, as a log."""
    store, dictionary = store_of(service), service.linker.dictionary

    def exported() -> str:
        file = io.StringIO()
        if form == "log":
            exchange.write_log(store, file)
        else:
            exchange.export(store.list(), form, file, dictionary)
        return file.getvalue()

    text = await service.run(exported)
    return Response(text, media_type="text/tab-separated-values")


def store_of(service: Service) -> DecisionStore:
    """The decisions of a service.

    Raises:
        Failure: it keeps none.
    """
    if service.store is None:
        raise Failure(409, "no decisions are kept; start linker serve with --decisions FILE")
    return service.store


def _decision_of(service: Service, concept_id: str | None, **fields: Any) -> Decision:
    """A decision of a request, beside the answers of the model that is shown now."""
    model, release = service.model.fingerprint, releases(service.linker.dictionary)
    return Decision(concept_id=concept_id or "", model=model, release=release, **fields)


def contrary_to(added: Sequence[Decision], before: Decided) -> list[Decision]:
    """Earlier decisions of the same reviewers that said the contrary."""
    earlier = {d.id: d for new in added for d in before.on(new.mention, new.scope)}
    return [d for d in replaced([*earlier.values()], added) if d.id in earlier]


def written(decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Decisions as objects that `json` can write; no concept is null."""
    objects = [{name: getattr(d, name) for name in _FIELDS} for d in decisions]
    return [fields | {"concept_id": fields["concept_id"] or None} for fields in objects]

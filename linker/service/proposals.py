"""GET, POST and DELETE /proposals: new terms that reviewers miss in the dictionary."""

from __future__ import annotations

import asyncio
import io
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import Field

from linker.decisions import proposals
from linker.decisions.exchange import name_of
from linker.decisions.proposals import Proposal
from linker.errors import LinkerError
from linker.service.callers import ReviewerName
from linker.service.decisions import store_of, stored
from linker.service.errors import ERRORS, Failure
from linker.service.schemas import Body, Label
from linker.service.state import Service

_Words = Annotated[str, Field(max_length=10_000)]


class NewProposal(Body):
    """A term that a reviewer misses."""

    label: Annotated[str, Field(min_length=1, max_length=1_000)]
    mention: Label = Field("", description="For which it is missed.")
    definition: _Words = ""
    parent: Label = Field("", description="The id of the concept below which it belongs.")
    synonyms: list[Label] = Field([], max_length=100)
    note: _Words = ""
    reviewer: ReviewerName


def router(service: Service) -> APIRouter:
    """The routes of proposals."""
    routes = APIRouter(prefix="/proposals", tags=["decisions"], responses=ERRORS)

    @routes.get("")
    async def listed() -> dict[str, Any]:
        """The proposals that were not withdrawn."""
        found = await asyncio.to_thread(proposals.listed, store_of(service))
        return {"proposals": [*map(asdict, found)]}

    @routes.post("", status_code=201)
    async def add(body: NewProposal) -> dict[str, Any]:
        """Keep a proposal; it is on the disk when this answers."""
        store, dictionary = store_of(service), service.linker.dictionary
        record = body.model_dump() | {"synonyms": tuple(body.synonyms)}
        try:
            proposal = proposals.identified(Proposal(**record), dictionary)
        except LinkerError as error:
            raise Failure(422, str(error)) from None
        return asdict(await stored(service, proposals.add, store, proposal))

    @routes.delete("/{number}")
    async def withdraw(
        number: Annotated[int, Path(ge=1, le=2**53)], reviewer: ReviewerName
    ) -> dict[str, int]:
        """Withdraw a proposal, which stays in the file."""
        if not await stored(service, proposals.withdraw, store_of(service), number, reviewer):
            raise Failure(404, "no proposal has this id, or it was withdrawn", "number")
        return {"withdrawn": 1}

    @routes.get("/export", response_class=Response)
    async def export() -> Response:
        """The proposals as a table, which is a template of ROBOT."""
        store, name = store_of(service), partial(name_of, service.linker.dictionary)

        def exported() -> str:
            file = io.StringIO()
            proposals.write(proposals.listed(store), file, name)
            return file.getvalue()

        text = await asyncio.to_thread(exported)
        return Response(text, media_type="text/tab-separated-values")

    return routes

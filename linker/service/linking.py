"""POST /link, /annotate and /explain: mentions are linked, found, and explained."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Response

from linker.formats import FORMATS, PREDICTIONS
from linker.jobs.linking import layout_of
from linker.linking.linker import Linker
from linker.linking.requests import Linked
from linker.outputs import writing
from linker.service.errors import ERRORS, check_mention
from linker.service.schemas import (
    EXAMPLES,
    AnnotateBody,
    ExplainBody,
    Format,
    LinkBody,
    to_documents,
)
from linker.service.state import Service, aside

_MEDIA = {
    "json": "application/json",
    **{name: FORMATS[name].media_type for name in PREDICTIONS},
}
_PREDICTIONS = {
    "description": "The predictions, or a file of them.",
    "content": {
        "application/json": {"example": EXAMPLES["predictions"]},
        **{media: {} for media in _MEDIA.values() if media != "application/json"},
    },
}
_EXPLANATION = {"description": "What linker explain --format json writes."}
AsFormat = Annotated[
    Format, Query(alias="format", description="json, or the text of a file in this format.")
]


def router(service: Service) -> APIRouter:
    """The routes that link."""
    routes = APIRouter(tags=["linking"], responses=ERRORS)

    async def answered(linked: list[Linked], form: Format, linker: Linker, also: bool) -> Response:
        """Predictions as a response."""
        has = service.store is not None, also
        predictions = [p for _, of_item in linked for p in of_item]
        text = await aside(predictions, partial(_text, linked, form, linker, *has))
        return Response(text, media_type=_MEDIA[form])

    @routes.post("/link", responses={200: _PREDICTIONS})
    async def link(
        body: Annotated[LinkBody, Body(openapi_examples=EXAMPLES["link"])], form: AsFormat = "json"
    ) -> Response:
        """Link loose mentions, or those that are marked in documents."""
        model = service.model
        asked = body.mentions or body.documents or ()
        requests = await aside(asked, lambda: body.requests(body.items(service.limits)))
        linked = await service.answer(model, requests)
        return await answered(linked, form, model.linker, bool(body.also))

    @routes.post("/annotate", responses={200: _PREDICTIONS})
    async def annotate(
        body: Annotated[AnnotateBody, Body(openapi_examples=EXAMPLES["annotate"])],
        form: AsFormat = "json",
    ) -> Response:
        """Find the mentions in documents, and link them; mentions that are marked stay."""
        model, limits, asked = service.model, service.limits, body.documents
        requests = await aside(asked, lambda: body.requests(to_documents(asked, limits)))
        linked = await service.annotate(model, requests)
        return await answered(linked, form, model.linker, bool(body.also))

    @routes.post("/explain", responses={200: _EXPLANATION})
    async def explain(
        body: Annotated[ExplainBody, Body(openapi_examples=EXAMPLES["explain"])],
    ) -> Response:
        """Say why a mention is answered as it is, and why a concept is not the answer."""
        check_mention(body.mention, service.limits, "mention")
        (document,) = to_documents([body.document], service.limits) if body.document else (None,)

        decided, linker = await service.decided(), service.linker

        def explained() -> str:
            explain, within = (decided or linker).explain, body.within
            explained = explain(
                body.mention, concept=body.concept, document=document, k=body.k, within=within
            )
            return explained.to_json()

        return Response(await service.run(explained), media_type="application/json")

    return routes


def _text(
    linked: list[Linked], form: Format, linker: Linker, has_decisions: bool, also: bool
) -> str:
    if form == "json":
        predictions: list[Any] = [p.to_dict() for _, of_item in linked for p in of_item]
        # one by one, since other threads wait for each call
        return f'{{"predictions": [{", ".join(map(json.dumps, predictions))}]}}'
    file, documents = io.StringIO(), any(document is not None for document, _ in linked)
    writing.write(form, linked, file, layout_of(form, documents, linker, has_decisions, also))
    return file.getvalue()

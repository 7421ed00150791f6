"""What the model is asked: mentions are linked, found and explained, and concepts looked up.

POST /link, /annotate and /explain; GET /concepts/{id} and /search.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response

from linker.desk.service.errors import ERRORS, Failure, check_mention
from linker.desk.service.schemas import (
    EXAMPLES,
    AnnotateBody,
    ExplainBody,
    Format,
    LinkBody,
    Options,
    to_documents,
)
from linker.desk.service.state import Asked, Model, Service, aside
from linker.dictionary import lookup
from linker.io import outputs
from linker.io.files import MENTION_LIMIT
from linker.io.formats import FORMATS, PREDICTIONS
from linker.jobs.linking import layout_of
from linker.linking.linker import Linker
from linker.linking.requests import Linked, Request

_MEDIA = {
    "json": "application/json",
    **{name: FORMATS[name].media_type for name in PREDICTIONS},
}
_PREDICTIONS = {
    "description": "The predictions, or a file of them.",
    "content": {
        **{media: {} for media in _MEDIA.values()},
        "application/json": {"example": EXAMPLES["predictions"]},
    },
}
_SIMILAR = 10  # concepts that a linker adds to those whose names fit
_EXPLANATION = {"description": "What linker explain --format json writes."}
AsFormat = Annotated[
    Format, Query(alias="format", description="json, or the text of a file in this format.")
]


routes = APIRouter(responses=ERRORS)


@routes.post("/link", tags=["linking"], responses={200: _PREDICTIONS})
async def link(
    service: Asked,
    body: Annotated[LinkBody, Body(openapi_examples=EXAMPLES["link"])],
    form: AsFormat = "json",
) -> Response:
    """Link loose mentions, or those that are marked in documents."""
    model = service.model
    asked = body.mentions or body.documents or ()
    requests = await aside(asked, lambda: body.requests(body.items(service.limits)))
    linked = await service.answer(model, requests)
    return await _respond(service, linked, form, model, body)


@routes.post("/annotate", tags=["linking"], responses={200: _PREDICTIONS})
async def annotate(
    service: Asked,
    body: Annotated[AnnotateBody, Body(openapi_examples=EXAMPLES["annotate"])],
    form: AsFormat = "json",
) -> Response:
    """Find the mentions in documents, and link them; mentions that are marked stay."""
    model, limits, asked = service.model, service.limits, body.documents
    requests = await aside(asked, lambda: body.requests(to_documents(asked, limits)))
    linked = await service.annotate(model, requests)
    return await _respond(service, linked, form, model, body)


async def _respond(
    service: Service, linked: list[Linked], form: Format, model: Model, body: Options
) -> Response:
    """Predictions as a response."""

    def write() -> str:
        if form == "json":
            # one by one, since other threads wait for each call
            texts = (json.dumps(prediction.to_dict()) for prediction in predictions)
            return f'{{"predictions": [{", ".join(texts)}]}}'
        file, has_documents = io.StringIO(), any(document for document, _ in linked)
        asked = bool(body.also), bool(body.coverage), body.exact_only
        layout = layout_of(form, has_documents, model.linker, service.store is not None, *asked)
        outputs.write(form, linked, file, layout)
        return file.getvalue()

    predictions = [p for _, of_item in linked for p in of_item]
    model.see(predictions)
    return Response(await aside(predictions, write), media_type=_MEDIA[form])


@routes.post("/explain", tags=["linking"], responses={200: _EXPLANATION})
async def explain(
    service: Asked,
    body: Annotated[ExplainBody, Body(openapi_examples=EXAMPLES["explain"])],
) -> Response:
    """Say why a mention is answered as it is, and why a concept is not the answer."""
    check_mention(body.mention, service.limits, "mention")
    (document,) = to_documents([body.document], service.limits) if body.document else (None,)
    decided, linker = await service.decided(), service.linker

    def explained() -> str:
        explanation = linker.explain(
            body.mention,
            concept=body.concept,
            document=document,
            k=body.k,
            within=body.within,
            decisions=decided,
        )
        return explanation.to_json()

    return Response(await service.run(explained), media_type="application/json")


@routes.get("/concepts/{id:path}", tags=["dictionary"])
async def concept(
    service: Asked,
    asked: Annotated[
        str, Path(alias="id", min_length=1, max_length=200, examples=["MESH:D001943"])
    ],
) -> dict[str, Any]:
    """A concept by its id, or an old or alternative one; an id alone is one of MeSH or OMIM."""
    record = await asyncio.to_thread(lookup.described, service.linker.dictionary, asked)
    if record is None:
        raise Failure(404, "no concept has this id", "id")
    return record


@routes.get("/search", tags=["dictionary"])
async def search(
    service: Asked,
    q: Annotated[str, Query(min_length=1, max_length=MENTION_LIMIT, examples=["parkinsn"])],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> dict[str, Any]:
    """Concepts by an id, or by a name, of which words may be begun, misspelt, or left out."""
    model = service.model
    linked = await service.answer(model, [similar(q)])
    hits = await asyncio.to_thread(searched, model.linker, q, linked, limit)
    dictionary = model.linker.dictionary
    concepts = [
        lookup.reference(dictionary, hit.row)
        | {"matched_name": hit.matched_name, "score": hit.score}
        for hit in hits
    ]
    return {"concepts": concepts}


def similar(text: str) -> Request:
    """What the linker is asked for a search; its candidates are those of `searched`."""
    return Request(text[:MENTION_LIMIT], _SIMILAR, 0.0)


def searched(
    linker: Linker, text: str, linked: Sequence[Linked], limit: int | None = None
) -> list[lookup.Hit]:
    """Find concepts by an id or a name, the best first; see `lookup.search`."""
    predictions = (prediction for _, of_item in linked for prediction in of_item)
    table, form = linker.generator.table, linker.normalize
    hits = lookup.search(linker.dictionary, table, form, text, predictions)
    return [*itertools.islice(hits, limit)]

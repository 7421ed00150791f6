"""The routes of the protocol, under /reconcile, and the queries that clients send to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel
from pydantic import Json as FromJson

from linker.linking.requests import Request as LinkRequest
from linker.service import concepts
from linker.service.errors import ERRORS, check
from linker.service.reconciliation import lookups
from linker.service.reconciliation.candidates import BATCH, CellQuery, Reconciliation
from linker.service.reconciliation.vocabulary import Json, Vocabulary
from linker.service.state import Model, Service
from linker.version import VERSION

# its ids lead from any usual CURIE to the page of its vocabulary
_MANIFEST = Path(__file__).with_name("manifest.json")
_ENTITIES = 1_000  # concepts in a request for data extension
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Requested-With",
}
_CARD_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_SUMMARY = "Manifest, reconciliation (`queries`) and data extension (`extend`)"

_What = Literal["entity", "type", "property"]


class _Asked(BaseModel):
    """The parameters of a request, in its URL or in a form."""

    queries: FromJson[dict[str, CellQuery]] | None = None
    extend: FromJson[lookups.ExtensionQuery] | None = None


def router(service: Service) -> APIRouter:
    """The routes of a service."""
    routes = APIRouter(prefix="/reconcile", tags=["OpenRefine"], responses=ERRORS)

    @routes.get("", summary=_SUMMARY)
    async def get(request: Request, asked: Annotated[_Asked, Query()]) -> Json:
        """Answer what the query of a URL asks for."""
        return await answer(request, asked)

    @routes.post("", summary=_SUMMARY)
    async def post(request: Request, asked: Annotated[_Asked, Form()]) -> Json:
        """Answer what a form asks for."""
        return await answer(request, asked)

    async def answer(request: Request, asked: _Asked) -> Json:
        model = service.model
        if (batch := asked.queries) is not None:
            check("queries in a batch", len(batch), BATCH, "queries")
            results = await _reconciled(service, model, [*batch.values()])
            return dict(zip(batch, results, strict=True))
        if (query := asked.extend) is not None:
            check("ids to extend", len(query.ids), _ENTITIES, "extend")
            return await service.run(lookups.extend, model.vocabulary, query)
        url = str(request.base_url.replace(path=f"{service.settings.root_path}/reconcile"))
        return await service.run(_manifest, model.vocabulary, url)

    @routes.get("/suggest/{what}", summary="Suggest as one types")
    async def suggest(
        what: _What, prefix: str = "", cursor: Annotated[int, Query(ge=0, le=10**9)] = 0
    ) -> Json:
        """Suggest entities, types or properties."""
        model = service.model
        similar = [concepts.similar(prefix)] if what == "entity" else []
        linked = await service.answer(model, similar)
        return await service.run(lookups.suggest, model.vocabulary, what, prefix, cursor, linked)

    @routes.get("/flyout/{what}", summary="A card beside a suggestion")
    async def flyout(what: _What, id: str = "") -> Json:
        """Describe an entity, type or property in a few words."""
        card = await service.run(lookups.card, service.model.vocabulary, what, id)
        return {"id": id, "html": card}

    @routes.get("/properties", summary="Properties to extend by")
    async def properties(
        type: str = "", limit: Annotated[int | None, Query(ge=0, le=10**9)] = None
    ) -> Json:
        """Propose properties of a type."""
        return lookups.proposals(type, limit)

    @routes.get("/preview", summary="A card of a concept, as HTML")
    async def preview(id: str = "") -> Response:
        """Show a concept in a small page."""
        card = await service.run(lookups.card, service.model.vocabulary, "entity", id)
        page = lookups.page(id, card)
        return HTMLResponse(page, 200 if card else 404, headers=_CARD_POLICY)

    @routes.options("{path:path}", include_in_schema=False)
    async def preflight() -> Response:
        """Tell a browser that pages of other sites may send requests here."""
        return Response(status_code=204, headers=_PREFLIGHT)

    return routes


async def _reconciled(service: Service, model: Model, batch: Sequence[CellQuery]) -> list[Json]:
    """The results of queries, whose requests are linked together."""

    def asked() -> list[tuple[Reconciliation, list[LinkRequest]]]:
        cells = [Reconciliation(model.vocabulary, query) for query in batch]
        return [(cell, cell.requests()) for cell in cells]

    cells = await service.run(asked)
    linked = iter(await service.answer(model, [r for _, requests in cells for r in requests]))
    return await service.run(
        lambda: [{"result": cell.result([*islice(linked, len(n))])} for cell, n in cells]
    )


def _manifest(vocabulary: Vocabulary, url: str) -> Json:
    """What the service at a URL is, and which parts of the protocol it has."""
    manifest: Json = json.loads(_MANIFEST.read_bytes())
    manifest["preview"]["url"] = url + manifest["preview"]["url"]
    for part in (*manifest["suggest"].values(), manifest["extend"]["propose_properties"]):
        part.update({name: url for name in part if name.endswith("service_url")})
    sources = [source.namespace for source in vocabulary.dictionary.sources if source.namespace]
    if not sources:
        manifest["view"]["url"] = manifest["preview"]["url"]
    types = [entry.reference for entry in vocabulary.types.values() if not entry.is_semantic]
    return manifest | {
        "name": " ".join(["linker", *dict.fromkeys(sources)]),
        "serviceVersion": VERSION,
        "defaultTypes": types,
        "batchSize": BATCH,
    }

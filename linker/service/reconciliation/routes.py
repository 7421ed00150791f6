"""The routes of the protocol, under /reconcile, and the queries that clients send to them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import TypeAdapter, ValidationError

from linker.linking.requests import Request as LinkRequest
from linker.service import concepts
from linker.service.errors import ERRORS, Failure, check, problem
from linker.service.reconciliation import lookups
from linker.service.reconciliation.candidates import BATCH, CellQuery, Reconciliation
from linker.service.reconciliation.vocabulary import Json, Vocabulary
from linker.service.state import Model, Service
from linker.version import VERSION

# its ids lead from any usual CURIE to the page of its vocabulary
_MANIFEST = Path(__file__).with_name("manifest.json")
_BATCH_VALUES = 5_000  # of all properties of a batch
_ENTITIES = 1_000  # concepts in a request for data extension
_CALLBACK = re.compile(r"(?=.{1,200}\Z)[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", re.ASCII)
_LONGEST_FIELD = 2**31  # bytes; the service bounds the whole body
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Requested-With",
}
_CARD_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_SUMMARY = "Manifest, reconciliation (`queries`) and data extension (`extend`)"

_Read = TypeVar("_Read")


async def _parameters(request: Request) -> dict[str, str]:
    """The parameters of a request, in its URL or in a form.

    Raises:
        Failure: the form cannot be read, or the callback could be more than a function's name.
    """
    parameters = dict(request.query_params)
    if request.method == "POST":
        try:
            form = await request.form(max_part_size=_LONGEST_FIELD)
        except UnicodeError:  # of a codec that Python has, but no text
            raise Failure(400, "the form is in no known charset", "query") from None
        parameters |= {name: text for name, text in form.items() if isinstance(text, str)}
    if not _CALLBACK.fullmatch(parameters.get("callback", "none")):
        raise Failure(400, "callback is no name of a function", "callback")
    return parameters


Parameters = Annotated[dict[str, str], Depends(_parameters)]


def router(service: Service) -> APIRouter:
    """The routes of a service."""
    routes = APIRouter(prefix="/reconcile", tags=["OpenRefine"], responses=ERRORS)

    async def endpoint(request: Request, parameters: Parameters) -> Response:
        """Answer what the parameters ask for, in the query of a URL or in a form."""
        model = service.model
        if (text := parameters.get("queries")) is not None:
            batch = _batch(text)
            results = await _reconciled(service, model, [*batch.values()])
            return _reply(dict(zip(batch, results, strict=True)), parameters)
        if (text := parameters.get("query")) is not None:
            return _reply((await _reconciled(service, model, [_single(text)]))[0], parameters)
        if (text := parameters.get("extend")) is not None:
            query = _read(lookups.ExtensionQuery, text, "extend")
            check("ids to extend", len(query.ids), _ENTITIES, "query")
            return _reply(await service.run(lookups.extend, model.vocabulary, query), parameters)
        url = str(request.base_url.replace(path=f"{service.settings.root_path}/reconcile"))
        return _reply(await service.run(_manifest, model.vocabulary, url), parameters)

    for method in ("GET", "POST"):  # one by one, for each needs an operation id of its own
        routes.add_api_route("", endpoint, methods=[method], summary=_SUMMARY)

    @routes.get("/suggest/{what}", summary="Suggest as one types")
    async def suggest(parameters: Parameters, what: str) -> Response:
        """Suggest entities, types or properties."""
        prefix, cursor = parameters.get("prefix", ""), _number(parameters, "cursor") or 0
        model, similar = service.model, [concepts.similar(prefix)]
        linked = await service.answer(model, similar) if _known(what) == "entity" else []
        asked = model.vocabulary, what, prefix, cursor, linked
        return _reply(await service.run(lookups.suggest, *asked), parameters)

    @routes.get("/flyout/{what}", summary="A card beside a suggestion")
    async def flyout(parameters: Parameters, what: str) -> Response:
        """Describe an entity, type or property in a few words."""
        vocabulary, identifier = service.model.vocabulary, parameters.get("id", "")
        card = await service.run(lookups.card, vocabulary, _known(what), identifier)
        return _reply({"id": identifier, "html": card}, parameters)

    @routes.get("/properties", summary="Properties to extend by")
    async def properties(parameters: Parameters) -> Response:
        """Propose properties of a type."""
        limit = _number(parameters, "limit")
        return _reply(lookups.proposals(parameters.get("type", ""), limit), parameters)

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


def _reply(content: Json, parameters: Mapping[str, str]) -> Response:
    """An answer in JSON, or in JavaScript where the client names a callback."""
    if "callback" not in parameters:
        return Response(json.dumps(content), media_type="application/json")
    text = f"/**/{parameters['callback']}({json.dumps(content)});"
    return Response(text, media_type="application/javascript")


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


def _batch(text: str) -> dict[str, CellQuery]:
    """Read the parameter `queries`."""
    queries = _read(dict[str, CellQuery], text, "queries")
    check("queries in a batch", len(queries), BATCH, "query")
    values = sum(len(w.texts) for query in queries.values() for w in query.properties)
    check("values of properties", values, _BATCH_VALUES, "query")
    return queries


def _single(text: str) -> CellQuery:
    """Read the parameter `query` of version 0.1: a query, or its text alone."""
    if text.lstrip().startswith("{"):
        return _read(CellQuery, text, "query")
    return CellQuery.model_validate({"query": text})


def _read(kind: type[_Read], text: str, parameter: str) -> _Read:
    """Read the JSON of a parameter, and check it."""
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        mistake: Any = error.errors()[0]
        reason = problem(mistake, ".".join([parameter, *map(str, mistake["loc"])]))
        raise Failure(400, reason, "query") from None


def _number(parameters: Mapping[str, str], name: str) -> int | None:
    """A parameter that is a whole number; None where it is not given."""
    if not (text := parameters.get(name)):
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Failure(400, f"{name} is {text[:20]!r}; expected: a whole number", "query")
    return int(text)


def _known(what: str) -> str:
    if what not in ("entity", "type", "property"):
        reason = f"{what[:20]!r} is not suggested; expected: entity, type or property"
        raise Failure(404, reason, "query")
    return what


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

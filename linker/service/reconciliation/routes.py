"""The routes of the protocol, under /reconcile, and the queries that clients send to them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import TypeAdapter, ValidationError

from linker.service.errors import ERRORS, Failure
from linker.service.reconciliation import candidates, extension, suggestions
from linker.service.reconciliation.candidates import BATCH, Query
from linker.service.reconciliation.vocabulary import Json, Vocabulary
from linker.service.state import Model, Service
from linker.version import VERSION

_PROTOCOLS = ("0.1", "0.2")
_IDS = "https://bioregistry.io/"  # leads from any usual CURIE to the page of its vocabulary
_SCHEMA = "http://www.w3.org/2004/02/skos/core#Concept"
_WIDTH, _HEIGHT = 430, 200  # of a preview, in pixels
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


def router(service: Service) -> APIRouter:
    """The routes of a service."""
    routes = APIRouter(prefix="/reconcile", tags=["OpenRefine"], responses=ERRORS)

    async def endpoint(request: Request) -> Response:
        """Answer what the parameters ask for, in the query of a URL or in a form."""
        parameters, model = await _parameters(request), service.model
        if (text := parameters.get("queries")) is not None:
            batch = _batch(text)
            results = await _reconciled(service, model, [*batch.values()])
            return _written(dict(zip(batch, results, strict=True)), parameters)
        if (text := parameters.get("query")) is not None:
            return _written((await _reconciled(service, model, [_single(text)]))[0], parameters)
        if (text := parameters.get("extend")) is not None:
            query = _read(extension.ExtensionQuery, text, "extend")
            _bound(len(query.ids), "ids to extend", _ENTITIES)
            answer = await service.run(extension.extend, model.vocabulary, query)
            return _written(answer, parameters)
        url = str(request.base_url).rstrip("/") + "/reconcile"
        return _written(await service.run(_manifest, model.vocabulary, url), parameters)

    for method in ("GET", "POST"):  # one by one, for each needs an operation id of its own
        routes.add_api_route("", endpoint, methods=[method], summary=_SUMMARY)

    @routes.get("/suggest/{what}", summary="Suggest as one types")
    async def suggest(request: Request, what: str) -> Response:
        """Suggest entities, types or properties."""
        parameters, model = await _parameters(request), service.model
        prefix, cursor = parameters.get("prefix", ""), _number(parameters, "cursor") or 0
        if _known(what) == "property":
            return _written(suggestions.properties(prefix, cursor), parameters)
        asked = model.vocabulary, prefix, cursor
        if what == "type":
            return _written(await service.run(suggestions.types, *asked), parameters)
        linked = await service.answer(model, suggestions.similar(prefix))
        return _written(await service.run(suggestions.entities, *asked, linked), parameters)

    @routes.get("/flyout/{what}", summary="A card beside a suggestion")
    async def flyout(request: Request, what: str) -> Response:
        """Describe an entity, type or property in a few words."""
        parameters = await _parameters(request)
        asked = _known(what), parameters.get("id", "")
        card = await service.run(suggestions.card, service.model.vocabulary, *asked)
        return _written({"id": asked[1], "html": card}, parameters)

    @routes.get("/properties", summary="Properties to extend by")
    async def properties(request: Request) -> Response:
        """Propose properties of a type."""
        parameters = await _parameters(request)
        limit = _number(parameters, "limit")
        return _written(extension.proposals(parameters.get("type", ""), limit), parameters)

    @routes.get("/preview", summary="A card of a concept, as HTML")
    async def preview(id: str = "") -> Response:
        """Show a concept in a small page."""
        card = await service.run(suggestions.card, service.model.vocabulary, "entity", id)
        page = suggestions.page(id, card)
        return HTMLResponse(page, 200 if card else 404, headers=_CARD_POLICY)

    @routes.options("{path:path}", include_in_schema=False)
    async def preflight() -> Response:
        """Tell a browser that pages of other sites may send requests here."""
        return Response(status_code=204, headers=_PREFLIGHT)

    return routes


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


def _written(content: Json, parameters: Mapping[str, str]) -> Response:
    """An answer in JSON, or in JavaScript where the client names a callback."""
    if "callback" not in parameters:
        return Response(json.dumps(content), media_type="application/json")
    text = f"/**/{parameters['callback']}({json.dumps(content)});"
    return Response(text, media_type="application/javascript")


async def _reconciled(service: Service, model: Model, batch: Sequence[Query]) -> list[Json]:
    """The results of queries, whose requests are linked together."""
    words = model.vocabulary
    groups = await service.run(lambda: [candidates.requests(words, query) for query in batch])
    linked = await service.answer(model, list(chain.from_iterable(groups)))

    def results() -> list[Json]:
        answers = iter(linked)
        of_queries = [[next(answers) for _ in group] for group in groups]
        return [
            {"result": candidates.result(words, query, of_query)}
            for query, of_query in zip(batch, of_queries, strict=True)
        ]

    return await service.run(results)


def _batch(text: str) -> dict[str, Query]:
    """Read the parameter `queries`."""
    queries = _read(dict[str, Query], text, "queries")
    _bound(len(queries), "queries in a batch", BATCH)
    values = sum(len(w.texts) for query in queries.values() for w in query.properties)
    _bound(values, "values of properties", _BATCH_VALUES)
    return queries


def _single(text: str) -> Query:
    """Read the parameter `query` of version 0.1: a query, or its text alone."""
    if text.lstrip().startswith("{"):
        return _read(Query, text, "query")
    return Query.model_validate({"query": text})


def _bound(number: int, what: str, limit: int) -> None:
    if number > limit:
        raise Failure(413, f"{number} {what}; the service takes at most {limit}", "query")


def _read(kind: type[_Read], text: str, parameter: str) -> _Read:
    """Read the JSON of a parameter, and check it."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # which half of a surrogate pair is not in
        return TypeAdapter(kind).validate_python(value)
    except UnicodeEncodeError as error:
        reason = f" has {error.object[error.start]!r}, which is half of a character"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f": {place or 'the object'}: {first['msg']}"
    except (ValueError, RecursionError) as error:
        reason = f" is no JSON: {error}"
    raise Failure(400, f"{parameter}{reason}", "query")


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
    sources = [source for source in vocabulary.dictionary.sources if source.namespace]
    preview = f"{url}/preview?id={{{{id}}}}"
    return {
        "versions": [*_PROTOCOLS],
        "name": " ".join(["linker", *dict.fromkeys(source.namespace for source in sources)]),
        "identifierSpace": _IDS,
        "schemaSpace": _SCHEMA,
        "serviceVersion": VERSION,
        "defaultTypes": [
            entry.reference for entry in vocabulary.types.values() if not entry.is_semantic
        ],
        "view": {"url": f"{_IDS}{{{{id}}}}" if sources else preview},
        "preview": {"url": preview, "width": _WIDTH, "height": _HEIGHT},
        "suggest": {
            what: {
                "service_url": url,
                "service_path": f"/suggest/{what}",
                "flyout_service_url": url,
                "flyout_service_path": f"/flyout/{what}?id=${{id}}",
            }
            for what in ("entity", "type", "property")
        },
        "extend": {
            "propose_properties": {"service_url": url, "service_path": "/properties"},
            "property_settings": extension.SETTINGS,
        },
        "batchSize": BATCH,
    }

"""The routes of the protocol, under /reconcile."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from linker.errors import LinkerError
from linker.linking.requests import Linked
from linker.linking.requests import Request as LinkRequest
from linker.service import examples
from linker.service.reconciliation import candidates, extension, queries, suggest
from linker.service.reconciliation.manifest import manifest
from linker.service.reconciliation.queries import Bad, Query
from linker.service.reconciliation.vocabulary import Json, Vocabulary
from linker.service.state import Model

_CALLBACK = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", re.ASCII)
_LONGEST_CALLBACK = 200
_LONGEST_FIELD = 2**31  # bytes; the service bounds the whole body
_HEADERS = {"Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Requested-With",
}
_CARD_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}

_Result = TypeVar("_Result")


class Answering(Protocol):
    """The part of a service that the routes use."""

    @property
    def model(self) -> Model: ...

    async def answer(self, model: Model, requests: Sequence[LinkRequest]) -> list[Linked]: ...

    async def run(self, function: Callable[..., _Result], *args: Any) -> _Result: ...


def router(service: Answering) -> APIRouter:
    """The routes of a service."""
    routes = APIRouter(prefix="/reconcile", tags=["OpenRefine"], responses=examples.ERRORS)
    handlers = _Handlers(service)
    for method in ("GET", "POST"):  # one by one, for each needs an operation id of its own
        routes.add_api_route("", handlers.endpoint, methods=[method], summary=_SUMMARY)
    routes.add_api_route("/suggest/{what}", handlers.suggest, summary="Suggest as one types")
    routes.add_api_route("/flyout/{what}", handlers.flyout, summary="A card beside a suggestion")
    routes.add_api_route("/properties", handlers.properties, summary="Properties to extend by")
    routes.add_api_route("/preview", handlers.preview, summary="A card of a concept, as HTML")
    routes.add_api_route("{path:path}", _preflight, methods=["OPTIONS"], include_in_schema=False)
    return routes


_SUMMARY = "Manifest, reconciliation (`queries`) and data extension (`extend`)"


class _Handlers:
    """Answers requests by HTTP.

    Args:
        service: what links.
    """

    def __init__(self, service: Answering) -> None:
        self._service = service

    async def endpoint(self, request: Request) -> Response:
        """Answer what the parameters ask for, in the query of a URL or in a form."""
        return await _answered(request, self._asked)

    async def suggest(self, request: Request, what: str) -> Response:
        """Suggest entities, types or properties."""

        async def answer(parameters: Mapping[str, str]) -> Json:
            prefix = parameters.get("prefix", "")
            cursor = _number(parameters, "cursor") or 0
            if what == "property":
                return suggest.properties(prefix, cursor)
            model = self._service.model
            if what == "type":
                return await self._service.run(suggest.types, model.vocabulary, prefix, cursor)
            _known(what)
            linked = await self._service.answer(model, suggest.similar(prefix))
            return await self._service.run(
                suggest.entities, model.vocabulary, prefix, cursor, linked
            )

        return await _answered(request, answer)

    async def flyout(self, request: Request, what: str) -> Response:
        """Describe an entity, type or property in a few words."""

        async def answer(parameters: Mapping[str, str]) -> Json:
            identifier = parameters.get("id", "")
            return {"id": identifier, "html": await self._card(_known(what), identifier)}

        return await _answered(request, answer)

    async def properties(self, request: Request) -> Response:
        """Propose properties of a type."""

        async def answer(parameters: Mapping[str, str]) -> Json:
            return extension.proposals(parameters.get("type", ""), _number(parameters, "limit"))

        return await _answered(request, answer)

    async def preview(self, id: str = "") -> Response:
        """Show a concept in a small page."""
        card = await self._card("entity", id)
        status = 200 if card else 404
        return HTMLResponse(suggest.page(id, card), status, headers={**_HEADERS, **_CARD_POLICY})

    async def _card(self, what: str, identifier: str) -> str:
        if what == "property":
            return suggest.property_card(identifier)
        card = suggest.type_card if what == "type" else suggest.entity_card
        return await self._service.run(card, self._service.model.vocabulary, identifier)

    async def _asked(self, parameters: Mapping[str, str]) -> Json:
        """The answer of the endpoint."""
        model = self._service.model
        if (text := parameters.get("queries")) is not None:
            batch = queries.batch(text)
            results = await self._reconciled(model, [*batch.values()])
            return dict(zip(batch, results, strict=True))
        if (text := parameters.get("query")) is not None:
            return (await self._reconciled(model, [queries.single(text)]))[0]
        words = model.vocabulary
        if (text := parameters.get("extend")) is not None:
            return await self._service.run(extension.extend, words, queries.extension(text))
        return await self._service.run(manifest, words, parameters["url"])

    async def _reconciled(self, model: Model, batch: Sequence[Query]) -> list[Json]:
        """The results of queries, whose requests are linked together."""
        words = model.vocabulary
        groups = await self._service.run(_requests, words, batch)
        requests = [request for group in groups for request in group]
        linked = await self._service.answer(model, requests)
        return await self._service.run(_results, words, batch, groups, linked)


def _requests(words: Vocabulary, batch: Sequence[Query]) -> list[list[LinkRequest]]:
    """What the linker is asked for each query."""
    return [candidates.requests(words, query) for query in batch]


def _results(
    words: Vocabulary,
    batch: Sequence[Query],
    groups: Sequence[Sequence[LinkRequest]],
    linked: Sequence[Linked],
) -> list[Json]:
    """The result of each query, given the answers to the requests of all."""
    answers = iter(linked)
    of_queries = [[next(answers) for _ in group] for group in groups]
    return [
        {"result": candidates.result(words, query, of_query)}
        for query, of_query in zip(batch, of_queries, strict=True)
    ]


async def _answered(
    request: Request, answer: Callable[[Mapping[str, str]], Awaitable[Json]]
) -> Response:
    """Answer in JSON, or in JavaScript where the client names a callback; errors say why."""
    parameters = {name: str(value) for name, value in request.query_params.items()}
    if request.method == "POST":
        try:
            form = await request.form(max_part_size=_LONGEST_FIELD)
        except UnicodeError:  # of a codec that Python has, but no text
            return _json({"error": "the form is in no known charset", "where": "query"}, 400)
        parameters |= {name: text for name, text in form.items() if isinstance(text, str)}
    parameters["url"] = str(request.base_url).rstrip("/") + "/reconcile"
    callback = parameters.get("callback")
    if callback is not None and not _is_name(callback):
        return _json({"error": "callback is no name of a function", "where": "callback"}, 400)
    try:
        content = await answer(parameters)
    except LinkerError as error:
        status = error.status if isinstance(error, Bad) else 400
        return _json({"error": str(error), "where": "query"}, status)
    if callback is None:
        return _json(content)
    text = f"/**/{callback}({json.dumps(content)});"
    return Response(text, media_type="application/javascript", headers=_HEADERS)


async def _preflight() -> Response:
    """Tell a browser that pages of other sites may send requests here."""
    return Response(status_code=204, headers=_HEADERS | _PREFLIGHT)


def _json(content: Json, status: int = 200) -> Response:
    return Response(
        json.dumps(content), status, media_type="application/json", headers={**_HEADERS}
    )


def _is_name(callback: str) -> bool:
    return len(callback) <= _LONGEST_CALLBACK and _CALLBACK.fullmatch(callback) is not None


def _number(parameters: Mapping[str, str], name: str) -> int | None:
    """A parameter that is a whole number; None where it is not given."""
    text = parameters.get(name)
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Bad(f"{name} is {text[:20]!r}; expected: a whole number")
    return int(text)


def _known(what: str) -> str:
    if what not in ("entity", "type", "property"):
        raise Bad(f"{what[:20]!r} is not suggested; expected: entity, type or property", 404)
    return what

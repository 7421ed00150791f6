"""The routes of the protocol, under /reconcile, and the queries that clients send to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel, Field
from pydantic import Json as FromJson

from linker.dictionary.lookup import Hit, reference
from linker.errors import shorten
from linker.linking.requests import Linked
from linker.linking.requests import Request as LinkRequest
from linker.service.errors import ERRORS, check
from linker.service.linking import searched, similar
from linker.service.reconciliation.candidates import BATCH, CellQuery, Reconciliation
from linker.service.reconciliation.vocabulary import (
    ANY,
    MOST_PROPERTIES,
    PROPERTIES,
    Entry,
    Json,
    Vocabulary,
)
from linker.service.state import Model, Service
from linker.version import VERSION

# its ids lead from any usual CURIE to the page of its vocabulary
_MANIFEST = Path(__file__).with_name("manifest.json")
_ENTITIES = 1_000  # concepts in a request for data extension
_PAGE = 20  # suggestions in an answer
_DESCRIPTION = 120  # characters of that of a suggestion
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Requested-With",
}
_CARD_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_SUMMARY = "Manifest, reconciliation (`queries`) and data extension (`extend`)"

_What = Literal["entity", "type", "property"]
_Suggestion = TypeVar("_Suggestion", Hit, Entry)


class Column(BaseModel):
    """A property to fetch."""

    id: str


class Extension(BaseModel):
    """What is to be fetched of which concepts."""

    ids: list[str]
    properties: list[Column] = Field(max_length=MOST_PROPERTIES)


class _Asked(BaseModel):
    """The parameters of a request, in its URL or in a form."""

    queries: FromJson[dict[str, CellQuery]] | None = None
    extend: FromJson[Extension] | None = None


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
            return await service.run(_extended, model.vocabulary, query)
        url = str(request.base_url.replace(path=f"{service.settings.root_path}/reconcile"))
        return await service.run(_manifest, model.vocabulary, url)

    @routes.get("/suggest/{what}", summary="Suggest as one types")
    async def suggest(
        what: _What, prefix: str = "", cursor: Annotated[int, Query(ge=0, le=10**9)] = 0
    ) -> Json:
        """Suggest entities, types or properties."""
        model = service.model
        linked = await service.answer(model, [similar(prefix)] if what == "entity" else [])
        return await service.run(_suggested, model.vocabulary, what, prefix, cursor, linked)

    @routes.get("/flyout/entity", summary="A card beside a suggestion")
    async def flyout(id: str = "") -> Json:
        """Describe a concept in a few words."""
        card = await service.run(_card, service.model.vocabulary, id)
        return {"id": id, "html": card}

    @routes.get("/properties", summary="Properties to extend by")
    async def properties(
        type: str = "", limit: Annotated[int | None, Query(ge=0, le=10**9)] = None
    ) -> Json:
        """Propose properties, which are the same for all types."""
        entries = [entry.described for entry in PROPERTIES.values()][:limit]
        answer: Json = {"properties": entries, "type": type}
        return answer if limit is None else answer | {"limit": limit}

    @routes.get("/preview", summary="A card of a concept, as HTML")
    async def preview(id: str = "") -> Response:
        """Show a concept in a small page."""
        card = await service.run(_card, service.model.vocabulary, id)
        page = _TEMPLATES.get_template("page.html.jinja").render(
            title=id, card=card or "Unknown id"
        )
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


def _extended(vocabulary: Vocabulary, query: Extension) -> Json:
    """Answer a query for data extension; ids and properties that are unknown have no values."""

    def values(rows: Sequence[int], entry: Entry | None) -> list[Json]:
        if entry is None or len(rows) != 1:
            return []
        return [
            {"str": value} if isinstance(value, str) else reference(vocabulary.dictionary, value)
            for value in entry.values(vocabulary, rows[0])
        ]

    def meta(identifier: str, entry: Entry | None) -> Json:
        meta: Json = {"id": identifier, "name": entry.name if entry else identifier}
        return meta | {"type": ANY.reference} if entry and entry.has_concepts else meta

    wanted = {column.id: PROPERTIES.get(column.id) for column in query.properties}
    rows = {identifier: vocabulary.rows(identifier) for identifier in query.ids}
    return {
        "meta": [meta(name, entry) for name, entry in wanted.items()],
        "rows": {
            identifier: {name: values(named, entry) for name, entry in wanted.items()}
            for identifier, named in rows.items()
        },
    }


def _suggested(
    vocabulary: Vocabulary, what: str, prefix: str, cursor: int, linked: Sequence[Linked]
) -> Json:
    """Suggest entities, types or properties.

    Entities are the concepts that an id names, then those that a search finds. Types are those that
    are offered, then any of these concepts with others below it.

    Args:
        vocabulary: of the dictionary.
        what: "entity", "type" or "property".
        prefix: what was typed.
        cursor: how many suggestions to skip.
        linked: what the linker says of the prefix, see `similar`; for entities.
    """
    if what == "property":
        return _page(_starting(PROPERTIES.values(), prefix), cursor, lambda entry: entry.described)
    hits = _found(vocabulary, prefix, linked)
    if what == "type":
        above = (hit.row for hit in hits if vocabulary.near(hit.row, "children"))
        offered = _starting(vocabulary.types.values(), prefix)
        return _page(
            chain(offered, map(vocabulary.branch, above)), cursor, lambda entry: entry.described
        )
    return _page(hits, cursor, partial(_entity, vocabulary))


def _found(vocabulary: Vocabulary, prefix: str, linked: Sequence[Linked]) -> Iterator[Hit]:
    """The concepts that an id or a cross-reference names, then those that a search finds."""
    named = vocabulary.rows(prefix.strip())
    yield from (Hit(row, prefix.strip(), 1.0) for row in named)
    yield from (h for h in searched(vocabulary.linker, prefix, linked) if h.row not in named)


def _starting(entries: Iterable[Entry], prefix: str) -> Iterator[Entry]:
    """The entries whose id, or a word of whose name, starts with a text."""
    prefix = prefix.strip().casefold()
    for entry in entries:
        name = f" {entry.name.casefold()}"
        if entry.id.casefold().startswith(prefix) or f" {prefix}" in name:
            yield entry


def _page(
    entries: Iterable[_Suggestion], cursor: int, written: Callable[[_Suggestion], Json]
) -> Json:
    """A page of suggestions, with the cursor of the next one where there are more.

    Args:
        entries: all suggestions, of which repeats are left out.
        cursor: how many to skip.
        written: a suggestion as the protocol writes it.
    """
    end, distinct = cursor + _PAGE, dict[_Suggestion, None]()
    for entry in entries:
        distinct[entry] = None
        if len(distinct) > end:
            break
    answer: Json = {"result": [written(entry) for entry in islice(distinct, cursor, end)]}
    return answer | {"cursor": end} if len(distinct) > end else answer


def _entity(vocabulary: Vocabulary, hit: Hit) -> Json:
    """A concept as it is suggested; where another name was found, its description begins so."""
    concept = reference(vocabulary.dictionary, hit.row)
    definition = shorten(vocabulary.dictionary.columns.definitions[hit.row], _DESCRIPTION)
    about = definition or _listed(vocabulary.synonyms(hit.row), 3)
    if hit.matched_name.casefold() != concept["name"].casefold():
        about = f"{hit.matched_name} · {about}" if about else hit.matched_name
    return concept | {
        "description": about,
        # ids alone: OpenRefine writes them as they are into all cells that are matched at once
        "notable": [entry.id for entry in vocabulary.types_of(hit.row)[1:]],
    }


def _card(vocabulary: Vocabulary, identifier: str) -> str:
    """A concept as HTML; empty for an unknown id."""
    rows = vocabulary.rows(identifier)
    if len(rows) != 1:
        return ""
    concept, name = vocabulary.dictionary.concept(rows[0]), vocabulary.dictionary.preferred_name
    return _TEMPLATES.get_template("card.html.jinja").render(
        entry=concept,
        synonyms=_listed(vocabulary.synonyms(rows[0]), 5),
        parents=_listed([name(row) for row in vocabulary.near(rows[0], "parents")], 5),
        types=_listed(concept.types, 5),
        definition=shorten(concept.definition, 400),
    )


def _listed(texts: Sequence[str], number: int) -> str:
    """The first texts of a list in one line."""
    return "; ".join([*texts[:number], *(["…"] if len(texts) > number else [])])

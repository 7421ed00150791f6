"""The reconciliation protocol (0.2), under /reconcile: cells of a table are matched to concepts."""

from __future__ import annotations

import html
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic import Json as FromJson

from linker.desk.projects.linking import COVERAGE
from linker.desk.service.errors import ERRORS, check
from linker.desk.service.linking import searched, similar
from linker.desk.service.state import Asked, Model, Service
from linker.dictionary.columns import XREF_SEPARATOR
from linker.dictionary.lookup import doubt, reference
from linker.errors import shorten
from linker.ids import curie, normalized
from linker.io.files import MENTION_LIMIT
from linker.io.outputs import DECISION
from linker.linking.linker import Linker
from linker.linking.requests import Linked
from linker.linking.requests import Request as LinkRequest
from linker.records import NAME_KINDS, Assertion, Prediction, Selection
from linker.version import VERSION

SURE = 0.8
"""The confidence that a match needs.

It is a choice: of development mentions 19 of 20 matches were right with it, 7 of 8 with one half.
"""
BATCH = 100  # queries in a batch, and at most as many answers to each
_MANIFEST = Path(__file__).with_name("manifest.json")
_ENTITIES = 1_000  # concepts in a request for data extension
_PROPERTIES = 20  # in a query, or in a request for data extension
_VALUES = 100  # of a property in a query
_LIMIT = 5  # answers to a query that names no limit
_UNNAMED = 0.99  # the best score beside a concept that an id names
_BRANCHES = 100  # concepts without others above them, more of which are not offered as types
_LISTED = 5  # synonyms, and concepts above, on a card
_PAGE = 20  # suggestions in an answer
_DESCRIPTION = 200  # characters
_ASSERTED: dict[Assertion, str] = {
    "absent": "denied in the cell. ",
    "possible": "only possible, says the cell. ",
    "historical": "past, says the cell. ",
    "family": "of a relative, says the cell. ",
}
"""What stands before the definition of a concept that the cell does not plainly say is present."""
_CARD_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_SUMMARY = "Manifest, reconciliation (`queries`) and data extension (`extend`)"

Json = dict[str, Any]
ANY = {"id": "concept", "name": "Any concept"}  # the type of all concepts


def _to_texts(value: Any) -> list[str]:
    """The values of a property as texts; a reconciled cell is its id."""
    values = value if isinstance(value, list) else [value]
    return [str(v["id"] if isinstance(v, dict) and "id" in v else v) for v in values]


class Wanted(BaseModel):
    """What a query says of a property."""

    pid: str
    texts: Annotated[list[str], BeforeValidator(_to_texts)] = Field(alias="v", max_length=_VALUES)


class CellQuery(BaseModel):
    """A query: a text, or a property; an empty cell, whose text may be null, has no answers."""

    model_config = ConfigDict(extra="forbid")

    query: str | None = None
    type: str | list[str] | None = None
    limit: int | None = Field(None, ge=0)  # some clients write 0 for "as many as usual"
    properties: list[Wanted] = Field([], max_length=_PROPERTIES)
    type_strict: Literal["any", "should"] | None = None

    @model_validator(mode="after")
    def _asks(self) -> CellQuery:
        if "query" not in self.model_fields_set and not self.properties:
            raise ValueError("query, or properties, are expected")
        return self

    @property
    def types(self) -> list[str]:
        """The ids of the wanted types."""
        types = [self.type] if isinstance(self.type, str) else self.type or []
        return [text for text in types if text]

    @property
    def k(self) -> int:
        """How many candidates are wanted."""
        return min(self.limit or _LIMIT, BATCH)


class Column(BaseModel):
    """A property to fetch."""

    id: str


class Extension(BaseModel):
    """What is to be fetched of which concepts."""

    ids: Annotated[list[str], Field(max_length=_ENTITIES)]
    properties: list[Column] = Field(max_length=_PROPERTIES)


class _Query(BaseModel):
    """The parameters of a request, in its URL or in a form."""

    queries: FromJson[dict[str, CellQuery]] | None = None
    extend: FromJson[Extension] | None = None


routes = APIRouter(prefix="/reconcile", tags=["OpenRefine"], responses=ERRORS)


@routes.get("", summary=_SUMMARY)
async def get(service: Asked, request: Request, asked: Annotated[_Query, Query()]) -> Json:
    """Answer what the query of a URL asks for."""
    return await _answer(service, request, asked)


@routes.post("", summary=_SUMMARY)
async def post(service: Asked, request: Request, asked: Annotated[_Query, Form()]) -> Json:
    """Answer what a form asks for."""
    return await _answer(service, request, asked)


async def _answer(service: Service, request: Request, asked: _Query) -> Json:
    model = service.model
    vocabulary = await service.run(Vocabulary.of, model)
    if (batch := asked.queries) is not None:
        check("queries in a batch", len(batch), BATCH, "queries")
        asks = await service.run(lambda: [*map(vocabulary.requests, batch.values())])
        linked = iter(await service.answer(model, [r for of_cell in asks for r in of_cell]))

        def results() -> Json:
            of_cells = zip(batch.items(), asks, strict=True)
            return {
                name: {"result": vocabulary.result(query, [*islice(linked, len(requests))])}
                for (name, query), requests in of_cells
            }

        return await service.run(results)
    if (query := asked.extend) is not None:
        return await service.run(_extend, vocabulary, query)
    url = str(request.base_url.replace(path=f"{service.settings.root_path}/reconcile"))
    return await service.run(_manifest, vocabulary, url)


@routes.get("/suggest/{what}", summary="Suggest as one types")
async def suggest(
    service: Asked, what: Literal["entity", "type", "property"], prefix: str = ""
) -> Json:
    """Suggest entities, types or properties."""
    model = service.model
    linked = await service.answer(model, [similar(prefix)] if what == "entity" else [])
    vocabulary = await service.run(Vocabulary.of, model)
    return await service.run(_suggest, vocabulary, what, prefix, linked)


@routes.get("/flyout/entity", summary="A card beside a suggestion")
async def flyout(service: Asked, id: str = "") -> Json:
    """Describe a concept in a few words."""
    return {"id": id, "html": await service.run(_card, service.model, id)}


@routes.get("/properties", summary="Properties to extend by")
async def properties(type: str = "") -> Json:
    """Propose properties, which are the same for all types."""
    return {"properties": _PROPOSED, "type": type}


@routes.get("/preview", summary="A card of a concept, as HTML")
async def preview(service: Asked, id: str = "") -> Response:
    """Show a concept in a small page."""
    card = await service.run(_card, service.model, id)
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
    page = f"{head}<title>{html.escape(id)}</title>{card or 'Unknown id'}"
    return HTMLResponse(page, 200 if card else 404, headers=_CARD_POLICY)


@dataclass(frozen=True, slots=True)
class _Scored:
    """A candidate of a query."""

    row: int
    score: float  # 0 to 1
    is_certain: bool = False  # whether an id, or a person's decision, names it
    # False: it was asked for by a short form, which may mean another one, or the model answers with
    # no concept, and this is what might be meant
    may_match: bool = True
    assertion: Assertion = "present"  # what the cell says of it
    in_set: bool | None = (
        None  # whether it is in the set of `COVERAGE`; None: nothing calibrates it
    )

    @property
    def points(self) -> float:
        """The score as the protocol writes it."""
        return round(100 * self.score, 2)


class Vocabulary:
    """The dictionary of a linker as the protocol asks for it.

    A type is all concepts, a branch of the hierarchy, whose id is that of its highest concept, or a
    semantic type as it is written. Types restrict the concepts before they are ranked; of several a
    concept needs one.
    """

    def __init__(self, linker: Linker) -> None:
        self.linker, self.dictionary = linker, linker.dictionary
        columns, labels = self.dictionary.columns, self.dictionary.labels
        hierarchy = self.dictionary.hierarchy
        rows = hierarchy.roots.tolist()
        if len(rows) == 1:
            rows = hierarchy.children(rows)[0].tolist()
        rows = rows if len(rows) <= _BRANCHES else []
        self.branches = sorted(rows, key=self.dictionary.preferred_name)
        self.labels = sorted({labels[label] for label in columns.types.indices})
        by_xref: dict[str, dict[int, None]] = defaultdict(dict)
        for row, texts in enumerate(columns.xrefs):
            for text in texts.split(XREF_SEPARATOR) if texts else ():
                by_xref[normalized(text)][row] = None
        self._by_xref = {xref: tuple(of_xref) for xref, of_xref in by_xref.items()}

    @classmethod
    def of(cls, model: Model) -> Vocabulary:
        """The vocabulary of a model, which is made when it is first asked for."""
        vocabulary: Vocabulary = model.vocabulary or cls(model.linker)
        model.vocabulary = vocabulary
        return vocabulary

    # what the dictionary has

    def rows(self, identifier: str) -> tuple[int, ...]:
        """The rows of the concepts that an id, or else a cross-reference, stands for."""
        if rows := self.dictionary.rows(identifier):
            return rows
        texts = (normalized(identifier), curie(identifier))
        return next((self._by_xref[text] for text in texts if text in self._by_xref), ())

    def near(self, row: int, way: Literal["parents", "children", "ancestors"]) -> list[int]:
        """The rows of the concepts above or below one."""
        rows: list[int] = getattr(self.dictionary.hierarchy, way)([row])[0].tolist()
        return rows

    def types_of(self, row: int) -> list[Json]:
        """The offered types that a concept belongs to, without that of all."""
        above = {row, *self.near(row, "ancestors")}
        branches = [reference(self.dictionary, b) for b in self.branches if b in above]
        return branches + [{"id": text, "name": text} for text in self.dictionary.types(row)]

    def synonyms(self, row: int) -> list[str]:
        """The names of a concept beside the preferred one, without annotated mentions."""
        dictionary, training = self.dictionary, NAME_KINDS.index("training")
        names = dictionary.name_rows(row).tolist()
        texts = [dictionary.names[n] for n in names if dictionary.name_kind[n] != training]
        return [text for text in dict.fromkeys(texts) if text != dictionary.preferred_name(row)]

    def definition(self, row: int, most: int | None = _DESCRIPTION) -> str:
        """The definition of a concept, cut to this many characters."""
        text: str = self.dictionary.columns.definitions[row]
        return shorten(text, most) if most else text

    # a query becomes requests to the linker, whose answers become its result

    def requests(self, query: CellQuery) -> list[LinkRequest]:
        """What the linker is asked for a query; nothing where only ids can answer."""
        text, types, parts = query.query or "", query.types, [Selection()]
        if not text.strip() or len(text) > MENTION_LIMIT:
            return []
        if types and ANY["id"] not in types:
            labels = tuple(text for text in types if text in self.labels)
            rows = [self.dictionary.rows(text) for text in types if text not in labels]
            branches = tuple(self.dictionary.ids[of_id[0]] for of_id in rows if len(of_id) == 1)
            parts = [part for part in (Selection(branches), Selection(types=labels)) if part]
        more: Any = {"coverage": COVERAGE} if self.linker.has_sets else {}
        k = max(query.k, 2)
        return [LinkRequest(text, k, 0.0, within=part or None, **more) for part in parts]

    def _has_type(self, row: int, types: Sequence[str]) -> bool:
        """Whether a concept has one of the types of a query; an unknown type has no concepts."""
        above, labels = {row, *self.near(row, "ancestors")}, self.dictionary.types(row)
        return (
            not types
            or ANY["id"] in types
            or any(t in labels or not above.isdisjoint(self.dictionary.rows(t)) for t in types)
        )

    def result(self, query: CellQuery, linked: Sequence[Linked]) -> list[Json]:
        """The candidates of a query, the best first; `linked`: the answers to its requests."""
        predictions = [prediction for _, of_text in linked for prediction in of_text]
        scored = [entry for p in predictions for entry in self._score(p)]
        of_row = {entry.row: entry for entry in sorted(scored, key=lambda entry: entry.score)}
        if named := self._named(query, predictions):
            of_row = {row: replace(e, score=min(e.score, _UNNAMED)) for row, e in of_row.items()}
        for row in named:
            of_row[row] = replace(of_row.get(row, _Scored(row, 1.0)), score=1.0, is_certain=True)
        ranked = sorted(
            (entry for entry in of_row.values() if self._has_type(entry.row, query.types)),
            key=lambda entry: (-entry.score, not entry.is_certain),
        )
        is_whole = bool(named) or all(len(p.parts) == 1 for p in predictions)
        is_present = all(p.assertion == "present" for p in predictions)
        matched = is_present and is_whole and self._is_match(ranked)
        return [self._json(e, matched and e is ranked[0]) for e in ranked[: query.k]]

    def _score(self, prediction: Prediction) -> Iterator[_Scored]:
        """The candidates of all parts of a mention."""
        for part in prediction.parts:
            candidates = part.returned if prediction.state == "no concept" else part.candidates
            for candidate in candidates:
                score = candidate.confidence
                if score is None:
                    score = min(max(0.0, candidate.score), 1.0)
                for row in self.dictionary.rows(candidate.concept_id)[:1]:
                    yield _Scored(
                        row,
                        score,
                        candidate.source == DECISION,
                        part.best is not None and doubt(self.dictionary, part.text, row) is None,
                        part.assertion,
                        candidate.concept_id in part.answers if part.answers else None,
                    )

    def _named(self, query: CellQuery, predictions: Sequence[Prediction]) -> list[int]:
        """The rows of the concepts that ids in the query name: its properties, or else its text.

        Where a person decided what the text means, no id in it counts.
        """
        ids = [text for w in query.properties if w.pid in ("id", "xrefs") for text in w.texts]
        rows = [row for text in ids for row in self.rows(text)]
        if not rows and {p.state for p in predictions} <= {"model", "disputed"}:
            rows = [*self.rows(query.query or "")]
        return [*dict.fromkeys(rows)]

    def _is_match(self, ranked: Sequence[_Scored]) -> bool:
        """Whether the first candidate is taken without asking a person.

        The cell names one thing only, and denies or doubts nothing, which `result` checks. An id or
        a decision names the concept and no other; or the cell is no short form, the concept is the
        model's answer, no other concept has the score, and the model is sure; one without
        confidence never is.
        """
        if not ranked:
            return False
        first, others = ranked[0], ranked[1:]
        if first.is_certain:
            return not any(entry.is_certain for entry in others)
        if not first.may_match or (others and first.points == others[0].points):
            return False
        return self.linker.ranker is not None and first.score >= SURE

    def _json(self, entry: _Scored, matched: bool) -> Json:
        """A candidate as the protocol writes it."""
        in_set = [] if entry.in_set is None else [{"id": "in_set", "value": entry.in_set}]
        return reference(self.dictionary, entry.row) | {
            "features": in_set,
            "description": _ASSERTED.get(entry.assertion, "") + self.definition(entry.row),
            "type": [ANY, *self.types_of(entry.row)],
            "score": entry.points,
            "match": matched,
        }


_Values = Callable[[Vocabulary, int], Sequence[str | int]]
"""What a concept has of a property: texts, or rows of other concepts."""
_CONCEPTS: dict[str, tuple[str, _Values]] = {  # properties whose values are concepts
    "parents": ("Parents", lambda v, row: v.near(row, "parents")),
    "ancestors": ("Ancestors", lambda v, row: v.near(row, "ancestors")),
    "children": ("Children", lambda v, row: v.near(row, "children")),
}
PROPERTIES: dict[str, tuple[str, _Values]] = {
    "id": ("Id", lambda v, row: [v.dictionary.ids[row]]),
    "name": ("Preferred name", lambda v, row: [v.dictionary.preferred_name(row)]),
    "synonyms": ("Synonyms", Vocabulary.synonyms),
    "definition": ("Definition", lambda v, row: [*filter(None, [v.definition(row, None)])]),
    "xrefs": (
        "Cross-references",
        lambda v, row: [*v.dictionary.alternative_ids(row), *v.dictionary.concept(row).xrefs],
    ),
    "types": ("Types", lambda v, row: [entry["name"] for entry in v.types_of(row)]),
    **_CONCEPTS,
}
_PROPOSED = [{"id": id, "name": name} for id, (name, _) in PROPERTIES.items()]


def _manifest(vocabulary: Vocabulary, url: str) -> Json:
    """What the service at a URL is, and which parts of the protocol it has."""
    manifest: Json = json.loads(_MANIFEST.read_text("utf-8").replace("URL", url))
    dictionary = vocabulary.dictionary
    sources = [source.namespace for source in dictionary.sources if source.namespace]
    if not sources:  # whose ids no public page would know
        manifest["view"] = {"url": manifest["preview"]["url"]}
    types = [ANY, *(reference(dictionary, row) for row in vocabulary.branches)]
    name = " ".join(["linker", *dict.fromkeys(sources)])
    return manifest | {"name": name, "serviceVersion": VERSION, "defaultTypes": types}


def _extend(vocabulary: Vocabulary, query: Extension) -> Json:
    """Answer a query for data extension; ids and properties that are unknown have no values."""
    dictionary = vocabulary.dictionary
    meta, rows = [], {identifier: dict[str, Any]() for identifier in query.ids}
    for column in query.properties:
        name, values = PROPERTIES.get(column.id, (column.id, lambda *_: ()))
        type = {"type": ANY} if column.id in _CONCEPTS else {}
        meta.append({"id": column.id, "name": name} | type)
        for identifier, cells in rows.items():
            named = vocabulary.rows(identifier)
            cells[column.id] = [
                {"str": value} if isinstance(value, str) else reference(dictionary, value)
                for value in (values(vocabulary, named[0]) if len(named) == 1 else ())
            ]
    return {"meta": meta, "rows": rows}


def _suggest(vocabulary: Vocabulary, what: str, prefix: str, linked: Sequence[Linked]) -> Json:
    """Suggest entities, types or properties.

    Entities are the concepts that an id or a cross-reference names, then those that a search finds.
    Types are those that are offered, then any of these concepts with others below it.

    Args:
        vocabulary: of the dictionary.
        what: "entity", "type" or "property".
        prefix: what was typed.
        linked: what the linker says of the prefix, see `similar`; for entities.
    """
    if what == "property":
        return {"result": _starting(_PROPOSED, prefix)}
    dictionary, text = vocabulary.dictionary, prefix.strip()
    hits = dict.fromkeys(vocabulary.rows(text), text)
    for hit in searched(vocabulary.linker, prefix, linked):
        hits.setdefault(hit.row, hit.matched_name)
    if what == "entity":
        return {"result": [_entity(vocabulary, *hit) for hit in islice(hits.items(), _PAGE)]}
    offered = [ANY, *(reference(dictionary, row) for row in vocabulary.branches)]
    offered += [{"id": label, "name": label} for label in vocabulary.labels]
    above = [reference(dictionary, row) for row in hits if vocabulary.near(row, "children")]
    types = {entry["id"]: entry for entry in [*_starting(offered, prefix), *above]}
    return {"result": [*types.values()][:_PAGE]}


def _starting(entries: Iterable[Json], prefix: str) -> list[Json]:
    """The entries whose id, or a word of whose name, starts with a text."""
    prefix = prefix.strip().casefold()
    return [
        entry
        for entry in entries
        if entry["id"].casefold().startswith(prefix)
        or f" {prefix}" in f" {entry['name'].casefold()}"
    ]


def _entity(vocabulary: Vocabulary, row: int, matched_name: str) -> Json:
    """A concept as it is suggested; where another name was found, its description begins so."""
    concept, about = reference(vocabulary.dictionary, row), vocabulary.definition(row)
    if matched_name.casefold() != concept["name"].casefold():
        about = " · ".join(filter(None, (matched_name, about)))
    # ids alone: OpenRefine writes them as they are into all cells that are matched at once
    notable = [entry["id"] for entry in vocabulary.types_of(row)]
    return concept | {"description": about, "notable": notable}


def _card(model: Model, identifier: str) -> str:
    """A concept as HTML; empty for an unknown id."""
    vocabulary = Vocabulary.of(model)
    if len(rows := vocabulary.rows(identifier)) != 1:
        return ""
    (row,), name = rows, vocabulary.dictionary.preferred_name
    concept = reference(vocabulary.dictionary, row)
    lists = {
        "Also: ": vocabulary.synonyms(row)[:_LISTED],
        "Under: ": [name(parent) for parent in vocabulary.near(row, "parents")[:_LISTED]],
        "Types: ": vocabulary.dictionary.types(row),
        "": [vocabulary.definition(row)],
    }
    lines = [label + "; ".join(texts) for label, texts in lists.items() if any(texts)]
    return (
        '<div style="font: 13px/1.4 sans-serif; color: #222; background: #fff; padding: 4px">'
        f"<b>{html.escape(concept['name'])}</b> {html.escape(concept['id'])}"
        + "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        + "</div>"
    )

"""Lookups: suggestions while somebody types, cards beside them, and values for matched cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel, BeforeValidator, Field

from linker.dictionary.lookup import Hit, reference
from linker.errors import shorten
from linker.linking.requests import Linked
from linker.service.concepts import searched
from linker.service.reconciliation.vocabulary import (
    ANY,
    MOST_PROPERTIES,
    PROPERTIES,
    Entry,
    Json,
    Value,
    Vocabulary,
)

_PAGE = 20  # suggestions in an answer
_DESCRIPTION = 120  # characters
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_Suggested = TypeVar("_Suggested", Hit, Entry)


class ExtensionSettings(BaseModel):
    """How the values of a property are fetched; manifest.json offers these settings."""

    # of a field that is empty OpenRefine sends an empty text
    limit: Annotated[int, BeforeValidator(lambda value: value or 0), Field(ge=0)] = 0
    content: Annotated[
        Literal["concept", "id", "name"], BeforeValidator(lambda value: value or "concept")
    ] = "concept"


class Column(BaseModel):
    """A property to fetch."""

    id: str
    settings: Annotated[ExtensionSettings, BeforeValidator(lambda value: value or {})] = (
        ExtensionSettings()
    )

    @property
    def meta(self) -> Json:
        """What an answer says of the property itself."""
        known = PROPERTIES.get(self.id)
        meta: Json = {"id": self.id, "name": known.name if known else self.id}
        if known and known.has_concepts and self.settings.content == "concept":
            meta["type"] = ANY.reference
        return meta


class ExtensionQuery(BaseModel):
    """What is to be fetched of which concepts."""

    ids: list[str]
    properties: list[Column] = Field(max_length=MOST_PROPERTIES)


def extend(vocabulary: Vocabulary, query: ExtensionQuery) -> Json:
    """Answer a query for data extension; ids and properties that are unknown have no values."""

    def values(rows: Sequence[int], column: Column) -> list[Json]:
        entry = PROPERTIES.get(column.id)
        if entry is None or len(rows) != 1:
            return []
        found = entry.values(vocabulary, rows[0])[: column.settings.limit or None]
        return [_value(vocabulary, value, column.settings.content) for value in found]

    rows = {identifier: vocabulary.rows(identifier) for identifier in query.ids}
    return {
        "meta": [column.meta for column in query.properties],
        "rows": {
            identifier: {column.id: values(named, column) for column in query.properties}
            for identifier, named in rows.items()
        },
    }


def _value(vocabulary: Vocabulary, value: Value, content: str) -> Json:
    """A value as the protocol writes it."""
    if isinstance(value, str):
        return {"str": value}
    concept = reference(vocabulary.dictionary, value)
    return concept if content == "concept" else {"str": concept[content]}


def proposals(identifier: str, limit: int | None) -> Json:
    """The properties that may be fetched for concepts of a type, which are the same for all.

    Args:
        identifier: of the type.
        limit: the largest number of properties; None: all.
    """
    entries = [entry.described for entry in PROPERTIES.values()][:limit]
    answer: Json = {"properties": entries, "type": identifier}
    return answer if limit is None else answer | {"limit": limit}


def suggest(
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
        linked: what the linker says of the prefix, see `concepts.similar`; for entities.
    """
    if what == "property":
        return _page(_starting(PROPERTIES.values(), prefix), cursor, _described)
    hits = _found(vocabulary, prefix, linked)
    if what == "type":
        branches = (vocabulary.branch(h.row) for h in hits if vocabulary.children(h.row))
        offered = _starting(vocabulary.types.values(), prefix)
        return _page(chain(offered, branches), cursor, _described)
    return _page(hits, cursor, partial(_entity, vocabulary))


def _described(entry: Entry) -> Json:
    return entry.described


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
    entries: Iterable[_Suggested], cursor: int, written: Callable[[_Suggested], Json]
) -> Json:
    """A page of suggestions, with the cursor of the next one where there are more.

    Args:
        entries: all suggestions, of which repeats are left out.
        cursor: how many to skip.
        written: a suggestion as the protocol writes it.
    """
    end, distinct = cursor + _PAGE, dict[_Suggested, None]()
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


def card(vocabulary: Vocabulary, what: str, identifier: str) -> str:
    """An entity, a type or a property as HTML; empty for an unknown id."""
    if what != "entity":
        known: Entry | None = PROPERTIES.get(identifier)
        entry = known if what == "property" else vocabulary.type(identifier)
        return _rendered("card", entry=entry, definition=entry.description) if entry else ""
    rows = vocabulary.rows(identifier)
    if len(rows) != 1:
        return ""
    concept, name = vocabulary.dictionary.concept(rows[0]), vocabulary.dictionary.preferred_name
    return _rendered(
        "card",
        entry=concept,
        synonyms=_listed(vocabulary.synonyms(rows[0]), 5),
        parents=_listed([name(row) for row in vocabulary.parents(rows[0])], 5),
        types=_listed(concept.types, 5),
        definition=shorten(concept.definition, 400),
    )


def page(title: str, card: str) -> str:
    """A card as a page of its own."""
    return _rendered("page", title=title, card=card or "Unknown id")


def _rendered(template: str, **values: object) -> str:
    return _TEMPLATES.get_template(f"{template}.html.jinja").render(values)


def _listed(texts: Sequence[str], number: int) -> str:
    """The first texts of a list in one line."""
    return "; ".join([*texts[:number], *(["…"] if len(texts) > number else [])])

"""Data extension: values of properties for concepts that were reconciled."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from linker.service.errors import Failure
from linker.service.reconciliation.vocabulary import ANY, PROPERTIES, Json, Value, Vocabulary

MOST_PROPERTIES = 20  # in a query, or in a request for data extension
SETTINGS: list[Json] = [
    {
        "name": "limit",
        "label": "Limit",
        "type": "number",
        "default": 0,
        "help_text": "The largest number of values for each row (0: all)",
    },
    {
        "name": "content",
        "label": "Concepts as",
        "type": "select",
        "default": "concept",
        "help_text": "What is written for values that are concepts",
        "choices": [
            {"value": "concept", "name": "reconciled cells"},
            {"value": "id", "name": "ids"},
            {"value": "name", "name": "names"},
        ],
    },
]


class ExtensionProperty(BaseModel):
    """A property to fetch."""

    id: str
    settings: dict[str, Any] | None = None


class ExtensionQuery(BaseModel):
    """What is to be fetched of which concepts."""

    ids: list[str]
    properties: list[ExtensionProperty] = Field(max_length=MOST_PROPERTIES)


def extend(vocabulary: Vocabulary, query: ExtensionQuery) -> Json:
    """Answer a query for data extension; ids and properties that are unknown have no values."""
    columns = [(entry.id, *_settings(entry)) for entry in query.properties]
    rows = {}
    for identifier in query.ids:
        named = vocabulary.rows(identifier)
        rows[identifier] = {
            name: [
                _written(vocabulary, value, content)
                for row in (named if len(named) == 1 and name in PROPERTIES else ())
                for value in PROPERTIES[name].values(vocabulary, row)[: limit or None]
            ]
            for name, limit, content in columns
        }
    return {"meta": [_meta(name, content) for name, _, content in columns], "rows": rows}


def proposals(identifier: str, limit: int | None) -> Json:
    """The properties that may be fetched for concepts of a type, which are the same for all.

    Args:
        identifier: of the type.
        limit: the largest number of properties; None: all.
    """
    entries = [entry.reference for entry in PROPERTIES.values()][:limit]
    answer: Json = {"properties": entries, "type": identifier}
    return answer if limit is None else answer | {"limit": limit}


def _settings(entry: ExtensionProperty) -> tuple[int, str]:
    """How many values of a property are wanted, and what is written for concepts."""
    settings = entry.settings or {}
    content = settings.get("content") or "concept"
    if content not in ("concept", "id", "name"):
        reason = f"content of {entry.id} is {content!r}; expected: concept, id or name"
        raise Failure(400, reason, "query")
    try:
        limit = int(settings.get("limit") or 0)  # OpenRefine sends the text of a field
    except (TypeError, ValueError, OverflowError):
        reason = f"limit of {entry.id} is no number: {settings['limit']!r}"
        raise Failure(400, reason, "query") from None
    if limit < 0:
        reason = f"limit of {entry.id} is {limit}; expected: 0 or more"
        raise Failure(400, reason, "query")
    return limit, content


def _written(vocabulary: Vocabulary, value: Value, content: str) -> Json:
    """A value as the protocol writes it."""
    if isinstance(value, str):
        return {"str": value}
    dictionary = vocabulary.dictionary
    concept = {"id": dictionary.ids[value], "name": dictionary.preferred_name(value)}
    return concept if content == "concept" else {"str": concept[content]}


def _meta(identifier: str, content: str) -> Json:
    """What an answer says of a property itself."""
    entry = PROPERTIES.get(identifier)
    meta: Json = {"id": identifier, "name": entry.name if entry else identifier}
    if entry and entry.has_concepts and content == "concept":
        meta["type"] = ANY.reference
    return meta

"""Data extension: values of properties for concepts that were reconciled."""

from __future__ import annotations

from linker.service.reconciliation.properties import PROPERTIES, Property, Value
from linker.service.reconciliation.queries import Bad, ExtensionProperty, ExtensionQuery
from linker.service.reconciliation.vocabulary import ANY, Json, Vocabulary

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


def extend(vocabulary: Vocabulary, query: ExtensionQuery) -> Json:
    """Answer a query for data extension; ids and properties that are unknown have no values."""
    columns = [(entry.id, *_settings(entry)) for entry in query.properties]
    rows = {}
    for identifier in query.ids:
        named = vocabulary.rows(identifier)
        row = named[0] if len(named) == 1 else None
        rows[identifier] = {
            name: _values(vocabulary, name, row, limit, content) for name, limit, content in columns
        }
    return {"meta": [_meta(name, content) for name, _, content in columns], "rows": rows}


def proposals(identifier: str, limit: int | None) -> Json:
    """The properties that may be fetched for concepts of a type, which are the same for all.

    Args:
        identifier: of the type.
        limit: the largest number of properties; None: all.
    """
    entries = [described(entry) for entry in PROPERTIES.values()]
    if limit is None:
        return {"properties": entries, "type": identifier}
    return {"properties": entries[: max(0, limit)], "type": identifier, "limit": limit}


def described(entry: Property) -> Json:
    """A property as the protocol writes it."""
    return {"id": entry.id, "name": entry.name, "description": entry.description}


def _settings(entry: ExtensionProperty) -> tuple[int, str]:
    """How many values of a property are wanted, and what is written for concepts."""
    settings = entry.settings or {}
    content = settings.get("content") or "concept"
    if content not in ("concept", "id", "name"):
        raise Bad(f"content of {entry.id} is {content!r}; expected: concept, id or name")
    try:
        limit = int(settings.get("limit") or 0)  # OpenRefine sends the text of a field
    except (TypeError, ValueError, OverflowError):
        raise Bad(f"limit of {entry.id} is no number: {settings['limit']!r}") from None
    if limit < 0:
        raise Bad(f"limit of {entry.id} is {limit}; expected: 0 or more")
    return limit, content


def _values(
    vocabulary: Vocabulary, identifier: str, row: int | None, limit: int, content: str
) -> list[Json]:
    """The values of a property of a concept."""
    entry = PROPERTIES.get(identifier)
    if entry is None or row is None:
        return []
    values = entry.values(vocabulary, row)
    return [_value(vocabulary, value, content) for value in values[: limit or None]]


def _value(vocabulary: Vocabulary, value: Value, content: str) -> Json:
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

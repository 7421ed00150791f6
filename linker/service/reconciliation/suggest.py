"""Suggestions while somebody types, and the small cards that are shown beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from jinja2 import Environment

from linker.errors import shorten
from linker.linking.requests import Linked, Request
from linker.readers.records import MENTION_LIMIT
from linker.service.reconciliation.extension import described
from linker.service.reconciliation.properties import PROPERTIES
from linker.service.reconciliation.vocabulary import Json, Type, Vocabulary

_Entry = TypeVar("_Entry", bound=Hashable)

PAGE = 20  # suggestions in an answer
_SIMILAR = 10  # concepts with a similar name, which follow those whose name starts with the prefix
_DESCRIPTION = 120  # characters

_CARD = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
    """<div style="font: 13px/1.4 sans-serif; color: #222; background: #fff; padding: 4px">
<b>{{ name }}</b> <span style="color: #555">{{ id }}</span>
{% if synonyms %}
<div>Also: {{ synonyms }}</div>
{% endif %}
{% if parents %}
<div>Under: {{ parents }}</div>
{% endif %}
{% if types %}
<div>Types: {{ types }}</div>
{% endif %}
{% if definition %}
<div>{{ definition }}</div>
{% endif %}
</div>"""
)
_PAGE = Environment(autoescape=True).from_string(
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title></head>'
    '<body style="margin: 0">{{ card | safe }}</body></html>\n'
)


def similar(prefix: str) -> list[Request]:
    """What the linker is asked for names that are like the text that was typed."""
    if not prefix.strip() or len(prefix) > MENTION_LIMIT:
        return []
    return [Request(prefix, _SIMILAR, 0.0)]


def entities(vocabulary: Vocabulary, prefix: str, cursor: int, linked: Sequence[Linked]) -> Json:
    """Suggest concepts: those that an id names, that a name starts with, that are similar.

    Args:
        vocabulary: of the dictionary.
        prefix: what was typed.
        cursor: how many suggestions to skip.
        linked: the answers to `similar`.
    """
    prefix, dictionary = prefix.strip(), vocabulary.dictionary
    names = vocabulary.starting_with(prefix) if prefix else iter(())
    ids = (
        candidate.concept_id
        for _, predictions in linked
        for part in predictions[0].parts
        for candidate in part.candidates
    )
    like = (row for identifier in ids for row in dictionary.rows(identifier)[:1])
    rows = _distinct(itertools.chain(vocabulary.rows(prefix), names, like))
    return _page(rows, cursor, partial(_entity, vocabulary))


def types(vocabulary: Vocabulary, prefix: str, cursor: int) -> Json:
    """Suggest types: those that are offered, then any concept with others below it."""
    named = vocabulary.rows(prefix)
    prefix = prefix.strip().casefold()
    offered = (t for t in vocabulary.types.values() if _fits(prefix, t.id, t.name))
    children = vocabulary.dictionary.hierarchy.children
    rows = itertools.chain(named, vocabulary.starting_with(prefix) if prefix else ())
    branches = (vocabulary.branch(row) for row in rows if len(children([row])[0]))
    entries = _distinct(itertools.chain(offered, branches))
    return _page(entries, cursor, _type)


def properties(prefix: str, cursor: int) -> Json:
    """Suggest properties."""
    prefix = prefix.strip().casefold()
    entries = (entry for entry in PROPERTIES.values() if _fits(prefix, entry.id, entry.name))
    return _page(entries, cursor, described)


def entity_card(vocabulary: Vocabulary, identifier: str) -> str:
    """A concept as HTML; empty for an unknown id."""
    rows = vocabulary.rows(identifier)
    if len(rows) != 1:
        return ""
    concept = vocabulary.dictionary.concept(rows[0])
    parents = vocabulary.dictionary.hierarchy.parents(rows)[0].tolist()
    return _CARD.render(
        id=concept.id,
        name=concept.name,
        synonyms=_listed(vocabulary.synonyms(rows[0]), 5),
        parents=_listed([vocabulary.dictionary.preferred_name(row) for row in parents], 5),
        types=_listed(concept.types, 5),
        definition=shorten(concept.definition, 400),
    )


def type_card(vocabulary: Vocabulary, identifier: str) -> str:
    """A type as HTML; empty for an unknown id."""
    entry = vocabulary.type(identifier)
    return _CARD.render(id=entry.id, name=entry.name, definition=entry.description) if entry else ""


def property_card(identifier: str) -> str:
    """A property as HTML; empty for an unknown id."""
    entry = PROPERTIES.get(identifier)
    return _CARD.render(id=entry.id, name=entry.name, definition=entry.description) if entry else ""


def page(title: str, card: str) -> str:
    """A card as a page of its own."""
    return _PAGE.render(title=title, card=card or "Unknown id")


def _entity(vocabulary: Vocabulary, row: int) -> Json:
    dictionary = vocabulary.dictionary
    return {
        "id": dictionary.ids[row],
        "name": dictionary.preferred_name(row),
        "description": shorten(dictionary.columns.definitions[row], _DESCRIPTION)
        or _listed(vocabulary.synonyms(row), 3),
        # ids alone: OpenRefine writes them as they are into all cells that are matched at once
        "notable": [entry.id for entry in vocabulary.types_of(row)[1:]],
    }


def _type(entry: Type) -> Json:
    return {**entry.reference, "description": entry.description}


def _fits(prefix: str, identifier: str, name: str) -> bool:
    """Whether an id, or a word of a name, starts with a text in lower case."""
    name = name.casefold()
    return identifier.casefold().startswith(prefix) or f" {name}".find(f" {prefix}") >= 0


def _distinct(entries: Iterable[_Entry]) -> Iterator[_Entry]:
    """The entries without repeats."""
    seen: set[_Entry] = set()
    for entry in entries:
        if entry not in seen:
            seen.add(entry)
            yield entry


def _page(entries: Iterable[_Entry], cursor: int, written: Callable[[_Entry], Json]) -> Json:
    """A page of suggestions, with the cursor of the next one where there are more.

    Args:
        entries: all suggestions.
        cursor: how many to skip.
        written: a suggestion as the protocol writes it.
    """
    entries = [*itertools.islice(entries, cursor, cursor + PAGE + 1)]
    answer: Json = {"result": [written(entry) for entry in entries[:PAGE]]}
    return answer | {"cursor": cursor + PAGE} if len(entries) > PAGE else answer


def _listed(texts: Sequence[str], number: int) -> str:
    """The first texts of a list in one line."""
    return "; ".join([*texts[:number], *(["…"] if len(texts) > number else [])])

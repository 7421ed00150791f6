"""Suggestions while somebody types, and the small cards that are shown beside them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader

from linker.errors import shorten
from linker.linking.requests import Linked, Request
from linker.readers.records import MENTION_LIMIT
from linker.service.concepts import names_starting_with
from linker.service.reconciliation.vocabulary import PROPERTIES, Json, Vocabulary

_Entry = TypeVar("_Entry", bound=Hashable)

PAGE = 20  # suggestions in an answer
_SIMILAR = 10  # concepts with a similar name, which follow those whose name starts with the prefix
_DESCRIPTION = 120  # characters

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
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
    similar_ids = (
        candidate.concept_id
        for _, predictions in linked
        for part in predictions[0].parts
        for candidate in part.candidates
    )
    similar_rows = (vocabulary.dictionary.rows(identifier)[:1] for identifier in similar_ids)
    rows = chain(_named(vocabulary, prefix), chain.from_iterable(similar_rows))
    return _page(rows, cursor, partial(_entity, vocabulary))


def types(vocabulary: Vocabulary, prefix: str, cursor: int) -> Json:
    """Suggest types: those that are offered, then any concept with others below it."""
    lowered = prefix.strip().casefold()
    offered = (t for t in vocabulary.types.values() if _fits(lowered, t.id, t.name))
    rows = (row for row in _named(vocabulary, prefix) if vocabulary.children(row))
    entries = chain(offered, map(vocabulary.branch, rows))
    return _page(entries, cursor, lambda t: t.reference | {"description": t.description})


def _named(vocabulary: Vocabulary, prefix: str) -> Iterator[int]:
    """The rows of the concepts that an id names, then of those with a name that starts with it."""
    yield from vocabulary.rows(prefix.strip())
    linker = vocabulary.linker
    if wanted := linker.normalize(prefix):
        for name in names_starting_with(linker, wanted):
            yield from linker.generator.table.concepts_of(name).tolist()


def properties(prefix: str, cursor: int) -> Json:
    """Suggest properties."""
    prefix = prefix.strip().casefold()
    entries = (entry for entry in PROPERTIES.values() if _fits(prefix, entry.id, entry.name))
    return _page(entries, cursor, lambda entry: entry.reference)


def card(vocabulary: Vocabulary, what: str, identifier: str) -> str:
    """An entity, a type or a property as HTML; empty for an unknown id."""
    if what != "entity":
        entry = PROPERTIES.get(identifier) if what == "property" else vocabulary.type(identifier)
        if entry is None:
            return ""
        return _rendered("card", id=entry.id, name=entry.name, definition=entry.description)
    rows = vocabulary.rows(identifier)
    if len(rows) != 1:
        return ""
    concept, name = vocabulary.dictionary.concept(rows[0]), vocabulary.dictionary.preferred_name
    return _rendered(
        "card",
        id=concept.id,
        name=concept.name,
        synonyms=_listed(vocabulary.synonyms(rows[0]), 5),
        parents=_listed([name(row) for row in vocabulary.parents(rows[0])], 5),
        types=_listed(concept.types, 5),
        definition=shorten(concept.definition, 400),
    )


def page(title: str, card: str) -> str:
    """A card as a page of its own."""
    return _rendered("page", title=title, card=card or "Unknown id")


def _rendered(template: str, **texts: str) -> str:
    return _TEMPLATES.get_template(f"{template}.html.jinja").render(texts)


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


def _fits(prefix: str, identifier: str, name: str) -> bool:
    """Whether an id, or a word of a name, starts with a text in lower case."""
    name = name.casefold()
    return identifier.casefold().startswith(prefix) or f" {name}".find(f" {prefix}") >= 0


def _page(entries: Iterable[_Entry], cursor: int, written: Callable[[_Entry], Json]) -> Json:
    """A page of suggestions, with the cursor of the next one where there are more.

    Args:
        entries: all suggestions, of which repeats are left out.
        cursor: how many to skip.
        written: a suggestion as the protocol writes it.
    """
    distinct: dict[_Entry, None] = {}
    for entry in entries:
        distinct[entry] = None
        if len(distinct) > cursor + PAGE:
            break
    page = [written(entry) for entry in [*distinct][cursor : cursor + PAGE]]
    answer: Json = {"result": page}
    return answer | {"cursor": cursor + PAGE} if len(distinct) > cursor + PAGE else answer


def _listed(texts: Sequence[str], number: int) -> str:
    """The first texts of a list in one line."""
    return "; ".join([*texts[:number], *(["…"] if len(texts) > number else [])])

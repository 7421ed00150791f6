"""Properties of concepts: what data extension fetches, and what queries are narrowed by."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from linker.ids import curie, normalized
from linker.service.reconciliation.vocabulary import Vocabulary

Value = int | str
"""A value of a property: the row of a concept, or a text."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of concepts."""

    id: str
    name: str
    description: str
    values: Callable[[Vocabulary, int], Sequence[Value]]  # of the concept with a row
    has_concepts: bool = False  # whether its values are concepts
    # what queries are compared with, where it is more than the values
    compared: Callable[[Vocabulary, int], Sequence[Value]] | None = None


def _definition(vocabulary: Vocabulary, row: int) -> list[str]:
    text = vocabulary.dictionary.columns.definitions[row]
    return [text] if text else []


def _xrefs(vocabulary: Vocabulary, row: int) -> list[str]:
    dictionary = vocabulary.dictionary
    return [*dictionary.alternative_ids(row), *dictionary.concept(row).xrefs]


def _parents(vocabulary: Vocabulary, row: int) -> list[Value]:
    return [*vocabulary.dictionary.hierarchy.parents([row])[0].tolist()]


def _children(vocabulary: Vocabulary, row: int) -> list[Value]:
    return [*vocabulary.dictionary.hierarchy.children([row])[0].tolist()]


def _ancestors(vocabulary: Vocabulary, row: int) -> list[Value]:
    return [*vocabulary.ancestors(row)]


def _types(vocabulary: Vocabulary, row: int) -> list[str]:
    return [entry.name for entry in vocabulary.types_of(row)[1:]]


_ALL = (
    Property("id", "Id", "The id of the concept", lambda v, row: [v.dictionary.ids[row]]),
    Property(
        "name",
        "Preferred name",
        "The name that the dictionary prefers",
        lambda v, row: [v.dictionary.preferred_name(row)],
    ),
    Property("synonyms", "Synonyms", "Its other names", lambda v, row: v.synonyms(row)),
    Property("definition", "Definition", "What the dictionary says that it is", _definition),
    Property("xrefs", "Cross-references", "Ids of other vocabularies and former ids", _xrefs),
    Property("types", "Types", "Branches and semantic types that it belongs to", _types),
    Property("parents", "Parents", "The concepts directly above it", _parents, True, _ancestors),
    Property("ancestors", "Ancestors", "All concepts above it", _ancestors, True),
    Property("children", "Children", "The concepts directly below it", _children, True),
)
PROPERTIES: Mapping[str, Property] = {entry.id: entry for entry in _ALL}

IDENTIFYING = ("id", "xrefs")
"""Properties whose value names the concept itself."""


def fit(vocabulary: Vocabulary, entry: Property, wanted: Sequence[str]) -> Callable[[int], float]:
    """How well the concept of a row fits what a query says of a property.

    Args:
        vocabulary: of the dictionary.
        entry: the property.
        wanted: values that the query gives.

    Returns:
        Gives 1 where one of the wanted values is a value of the property: the same id, or a name of
        that concept, or the same text in normal form; of a definition the share of the words that
        are in it; else 0.
    """
    values = partial(entry.compared or entry.values, vocabulary)
    if entry.id == "definition":
        texts = [_words(text) for text in wanted]

        def share(row: int) -> float:
            there = {word for text in values(row) for word in _words(str(text))}
            return max((len(words & there) / max(1, len(words)) for words in texts), default=0.0)

        return share
    if entry.has_concepts:
        rows = {row for text in wanted for row in vocabulary.meant(text)}
        return lambda row: float(not rows.isdisjoint(values(row)))
    normalize = vocabulary.linker.normalize
    forms = {spell(text) for text in wanted for spell in (normalized, curie, normalize)}

    def is_there(row: int) -> float:
        texts = map(str, values(row))
        return float(any(normalized(t) in forms or normalize(t) in forms for t in texts))

    return is_there


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))

"""Vocabulary: what the protocol asks about the dictionary of a linker: ids, types, properties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from linker.dictionary.columns import XREF_SEPARATOR
from linker.ids import curie, normalized
from linker.linking.linker import Linker
from linker.types import NAME_KINDS

MOST_PROPERTIES = 20  # in a query, or in a request for data extension
_BRANCHES = 100  # the largest number of roots that are offered as types

Json = dict[str, Any]
Value = int | str
"""A value of a property: the row of a concept, or a text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What has an id of its own in the protocol: a type, or a property.

    A type is all concepts, a branch of the hierarchy, whose id is that of its highest concept, or a
    semantic type as it is written.
    """

    id: str
    name: str
    description: str
    values: Callable[[Vocabulary, int], Sequence[Value]] = lambda *_: ()  # of the concept of a row
    has_concepts: bool = False  # whether these are concepts
    is_semantic: bool = False  # a semantic type

    @property
    def reference(self) -> Json:
        """The entry as candidates name it."""
        return {"id": self.id, "name": self.name}

    @property
    def described(self) -> Json:
        """The entry as it is suggested."""
        return self.reference | {"description": self.description}


ANY = Entry("concept", "Any concept", "All concepts of the dictionary")


class Vocabulary:
    """The types, ids and names of a linker's dictionary, as the protocol asks for them.

    Args:
        linker: the linker.
    """

    def __init__(self, linker: Linker) -> None:
        self.linker, self.dictionary = linker, linker.dictionary

    @cached_property
    def types(self) -> Mapping[str, Entry]:
        """The types that are offered, by id: all concepts, branches, semantic types."""
        labels = self.dictionary.labels
        branches = (self.branch(row) for row in self._branches)
        semantic = sorted({labels[label] for label in self.dictionary.columns.types.indices})
        types = [
            ANY,
            *branches,
            *(Entry(text, text, "A semantic type", is_semantic=True) for text in semantic),
        ]
        return {entry.id: entry for entry in types}

    @cached_property
    def _branches(self) -> tuple[int, ...]:
        """The rows of the highest concepts of branches, in the order of their names."""
        hierarchy = self.dictionary.hierarchy
        rows = hierarchy.roots.tolist()
        if len(rows) == 1:
            rows = hierarchy.children(rows)[0].tolist()
        if len(rows) > _BRANCHES:
            sizes = map(len, hierarchy.children(rows))
            order = sorted(zip(rows, sizes, strict=True), key=lambda pair: -pair[1])
            rows = [row for row, _ in order[:_BRANCHES]]
        return tuple(sorted(rows, key=self.dictionary.preferred_name))

    def branch(self, row: int) -> Entry:
        """A concept and all below it, as a type."""
        return Entry(
            self.dictionary.ids[row], self.dictionary.preferred_name(row), "A branch of concepts"
        )

    def type(self, identifier: str) -> Entry | None:
        """The type with an id, which may be the id of any concept; None for an unknown one."""
        if identifier in self.types:
            return self.types[identifier]
        rows = self.dictionary.rows(identifier)
        return self.branch(rows[0]) if len(rows) == 1 else None

    def types_of(self, row: int) -> list[Entry]:
        """The offered types that a concept belongs to."""
        above = {row, *self.near(row, "ancestors")}
        branches = (self.branch(branch) for branch in self._branches if branch in above)
        return [ANY, *branches, *(self.types[text] for text in self.dictionary.types(row))]

    def has_type(self, row: int, entry: Entry) -> bool:
        """Whether a concept belongs to a type."""
        if entry is ANY or entry.id in self.dictionary.types(row):
            return True
        return any(branch in (row, *self.near(row, "ancestors")) for branch in self.rows(entry.id))

    def near(self, row: int, way: Literal["parents", "children", "ancestors"]) -> list[int]:
        """The rows of the concepts above or below one."""
        rows: list[int] = getattr(self.dictionary.hierarchy, way)([row])[0].tolist()
        return rows

    def rows(self, identifier: str) -> tuple[int, ...]:
        """The rows of the concepts that an id, or else a cross-reference, stands for."""
        if rows := self.dictionary.rows(identifier):
            return rows
        texts = (normalized(identifier), curie(identifier))
        return next((self._by_xref[text] for text in texts if text in self._by_xref), ())

    @cached_property
    def _by_xref(self) -> Mapping[str, tuple[int, ...]]:
        """The rows of the concepts with each cross-reference."""
        rows: dict[str, list[int]] = defaultdict(list)
        for row, texts in enumerate(self.dictionary.columns.xrefs):
            for text in texts.split(XREF_SEPARATOR) if texts else ():
                rows[normalized(text)].append(row)
        return {xref: tuple(dict.fromkeys(of_xref)) for xref, of_xref in rows.items()}

    def synonyms(self, row: int) -> list[str]:
        """The names of a concept beside the preferred one, without annotated mentions."""
        dictionary, training = self.dictionary, NAME_KINDS.index("training")
        names = dictionary.name_rows(row).tolist()
        texts = [dictionary.names[n] for n in names if dictionary.name_kind[n] != training]
        return [text for text in dict.fromkeys(texts) if text != dictionary.preferred_name(row)]


_ALL = (
    Entry("id", "Id", "The id of the concept", lambda v, row: [v.dictionary.ids[row]]),
    Entry(
        *("name", "Preferred name", "The name that the dictionary prefers"),
        lambda v, row: [v.dictionary.preferred_name(row)],
    ),
    Entry("synonyms", "Synonyms", "Its other names", Vocabulary.synonyms),
    Entry(
        *("definition", "Definition", "What the dictionary says that it is"),
        lambda v, row: [*filter(None, [v.dictionary.columns.definitions[row]])],
    ),
    Entry(
        *("xrefs", "Cross-references", "Ids of other vocabularies and former ids"),
        lambda v, row: [*v.dictionary.alternative_ids(row), *v.dictionary.concept(row).xrefs],
    ),
    Entry(
        *("types", "Types", "Branches and semantic types that it belongs to"),
        lambda v, row: [entry.name for entry in v.types_of(row)[1:]],  # without that of all
    ),
    Entry(
        *("parents", "Parents", "The concepts directly above it"),
        *(lambda v, row: v.near(row, "parents"), True),
    ),
    Entry(
        *("ancestors", "Ancestors", "All concepts above it"),
        *(lambda v, row: v.near(row, "ancestors"), True),
    ),
    Entry(
        *("children", "Children", "The concepts directly below it"),
        *(lambda v, row: v.near(row, "children"), True),
    ),
)
PROPERTIES: Mapping[str, Entry] = {entry.id: entry for entry in _ALL}

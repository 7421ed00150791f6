"""Vocabulary: what the protocol asks about the dictionary of a linker."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linker.dictionary.columns import XREF_SEPARATOR
from linker.ids import curie, normalized
from linker.linking.linker import Linker
from linker.types import NAME_KINDS

_BRANCHES = 100  # the largest number of roots that are offered as types

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Type:
    """A category of concepts: all of them, a branch of the hierarchy, or a semantic type."""

    id: str  # the id of the highest concept of a branch, or a semantic type as it is written
    name: str
    description: str = ""
    is_semantic: bool = False

    @property
    def reference(self) -> Json:
        """The type as candidates name it."""
        return {"id": self.id, "name": self.name}


ANY = Type("concept", "Any concept", "All concepts of the dictionary")


class Vocabulary:
    """The types, ids and names of a linker's dictionary, as the protocol asks for them.

    Args:
        linker: the linker.
    """

    def __init__(self, linker: Linker) -> None:
        self.linker, self.dictionary = linker, linker.dictionary

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The types that are offered, by id: all concepts, branches, semantic types."""
        labels = self.dictionary.labels
        branches = (self.branch(row) for row in self._branches)
        semantic = sorted({labels[label] for label in self.dictionary.columns.types.indices})
        types = [ANY, *branches, *(Type(text, text, "A semantic type", True) for text in semantic)]
        return {entry.id: entry for entry in types}

    @cached_property
    def _branches(self) -> tuple[int, ...]:
        """The rows of the highest concepts of branches, in the order of their names."""
        hierarchy = self.dictionary.hierarchy
        rows = hierarchy.roots.tolist()
        if len(rows) == 1:
            rows = hierarchy.children(rows)[0].tolist()
        if len(rows) > _BRANCHES:
            children = hierarchy.children(rows)
            order = sorted(range(len(rows)), key=lambda place: (-len(children[place]), place))
            rows = [rows[place] for place in order[:_BRANCHES]]
        return tuple(sorted(rows, key=self.dictionary.preferred_name))

    def branch(self, row: int) -> Type:
        """A concept and all below it, as a type."""
        return Type(
            self.dictionary.ids[row], self.dictionary.preferred_name(row), "A branch of concepts"
        )

    def type(self, identifier: str) -> Type | None:
        """The type with an id, which may be the id of any concept; None for an unknown one."""
        if identifier in self.types:
            return self.types[identifier]
        rows = self.dictionary.rows(identifier)
        return self.branch(rows[0]) if len(rows) == 1 else None

    def types_of(self, row: int) -> list[Type]:
        """The offered types that a concept belongs to."""
        above = {row, *self.ancestors(row)}
        branches = (self.branch(branch) for branch in self._branches if branch in above)
        return [ANY, *branches, *(self.types[text] for text in self.dictionary.types(row))]

    def has_type(self, row: int, entry: Type) -> bool:
        """Whether a concept belongs to a type."""
        if entry is ANY or entry.id in self.dictionary.types(row):
            return True
        return any(branch in (row, *self.ancestors(row)) for branch in self.rows(entry.id))

    def ancestors(self, row: int) -> list[int]:
        """The rows of all concepts above one."""
        rows: list[int] = self.dictionary.hierarchy.ancestors([row])[0].tolist()
        return rows

    def rows(self, identifier: str) -> tuple[int, ...]:
        """The rows of the concepts that an id, or else a cross-reference, stands for."""
        if rows := self.dictionary.rows(identifier):
            return rows
        texts = (normalized(identifier), curie(identifier))
        return next((self._by_xref[text] for text in texts if text in self._by_xref), ())

    def meant(self, text: str) -> list[int]:
        """The rows of the concepts that an id or a name stands for."""
        table = self.linker.generator.table
        name = table.row(self.linker.normalize(text))
        named = table.concepts_of(name).tolist() if name >= 0 else []
        return [*self.rows(text), *named]

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

    def starting_with(self, prefix: str) -> Iterator[int]:
        """The rows of the concepts with a name that starts with a text, in the order of names."""
        prefix = prefix.casefold()
        place = bisect.bisect_left(self._sorted_names, (prefix, -1))
        seen: set[int] = set()
        while place < len(self._sorted_names) and self._sorted_names[place][0].startswith(prefix):
            row = self._sorted_names[place][1]
            if row not in seen:
                seen.add(row)
                yield row
            place += 1

    @cached_property
    def _sorted_names(self) -> list[tuple[str, int]]:
        """All names in lower case, each with the row of its concept, in order."""
        concepts = self.dictionary.name_concept.tolist()
        return sorted(
            (text.casefold(), row)
            for text, row in zip(self.dictionary.names, concepts, strict=True)
        )

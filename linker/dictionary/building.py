"""Making a dictionary's columns out of the concepts of its sources.

Here is also checked what only all concepts together show: repeated ids, and parents that no source
holds.
"""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.columns import (
    ALTERNATIVE,
    MERGED,
    NAME_DTYPES,
    OBSOLETE,
    XREF_SEPARATOR,
    Columns,
    NameColumns,
    RaggedArray,
)
from linker.dictionary.hierarchy import parent_lists
from linker.errors import InputError, LinkerError, OnError, shown
from linker.ids import counted, prefixes
from linker.io import files
from linker.io.persistence import Strings, StringsBuilder
from linker.records import NAME_KINDS, Concept, Name, NameKind, Source

logger = logging.getLogger(__name__)

_KIND = {kind: number for number, kind in enumerate(NAME_KINDS)}
_STATUS = {"obsolete": OBSOLETE, "merged": MERGED}
_SAYS = ("itself", "a current concept", "a concept that is not current")


class Builder:
    """Collects the concepts of one or more sources.

    A concept id that two sources share is one concept with the names, parents and alternative ids
    of both; an id twice in one source is an error, and so is a parent that no source holds.

    Args:
        namespaces: prefixes of the concepts to keep; all where empty.
        types: semantic types of the concepts to keep; all where empty.
        on_error: what to do with a bad record; returns to skip it.
    """

    def __init__(
        self, namespaces: frozenset[str], types: frozenset[str], on_error: OnError
    ) -> None:
        self._namespaces = prefixes(namespaces)
        self._types, self._on_error = types, on_error
        self._row: dict[str, int] = {}  # of each concept, by id; as collected until `build`
        self._labels: dict[str, int] = {"": 0}
        self._definitions, self._xrefs = StringsBuilder(), StringsBuilder()
        self._texts = StringsBuilder()  # of the names; the columns beside them are in `_names`
        self._names = {column: array("i") for column in NAME_DTYPES}
        self._preferred, self._type_rows, self._type_labels = array("i"), array("i"), array("i")
        self._waiting: list[tuple[Concept, str]] = []  # with their file; see `_wanted`
        self._nameless: dict[str, tuple[str, ...]] = {}  # id -> parents, which stand in for it
        self._merged: list[tuple[int, Name]] = []  # names that a later source adds to a concept
        self._parents: list[tuple[int, str, str, int | None]] = []  # row, parent id, file, line
        self._old: dict[str, list[str]] = {}  # old id -> ids that replace it
        # of each old id, who says what it is (the first of `_SAYS` counts), and its status
        self._old_status: dict[str, tuple[int, int]] = {}
        self._left_out: set[str] = set()  # ids that the filters exclude
        self._prefixes: Counter[str] = Counter()  # of all concepts, before the filters
        self._sources: list[Source] = []

    def add(
        self, concepts: Iterable[Concept], path: files.Pathlike, kind: str, release: str
    ) -> None:
        """Take all concepts of one source.

        Args:
            concepts: what a reader yields.
            path: the file or folder that is read.
            kind: the name of its format.
            release: the release that it states.
        """
        prefixes: Counter[str] = Counter()
        seen: set[str] = set()
        for concept in self._wanted(concepts, str(path)):
            if concept.id in seen:
                self._on_error(
                    InputError(
                        path,
                        "the concept id occurs a second time",
                        line=concept.line,
                        value=concept.id,
                        expected="one record for each id",
                        remedy="merge the records",
                    )
                )
                continue
            seen.add(concept.id)
            prefixes[concept.namespace] += 1
            self._add(concept, str(path))
        self._sources.append(source_of(path, kind, release, prefixes, len(seen)))
        if not seen and not self._waiting:
            logger.warning("%s: holds no concept that the filters keep", path)

    def _wanted(self, concepts: Iterable[Concept], path: str) -> Iterator[Concept]:
        """The concepts that the filters keep; those that are no longer current become old ids.

        A record without names, or without types, as in a list of a user's synonyms, is kept where
        another source keeps its id, which is known at the end only.
        """
        for concept in concepts:
            self._prefixes[concept.namespace] += 1
            in_namespaces = not self._namespaces or concept.namespace.upper() in self._namespaces
            of_types = not self._types or not self._types.isdisjoint(concept.types)
            if concept.status != "current":
                self._add_old(concept, _STATUS[concept.status])
            elif not concept.names:
                self._nameless[concept.id] = concept.parents
                self._waiting.append((concept, path))
            elif in_namespaces and of_types:
                yield concept
            elif in_namespaces and not concept.types:
                self._waiting.append((concept, path))
            else:
                self._left_out.update((concept.id, *concept.alt_ids))

    def _add_old(self, concept: Concept, status: int) -> None:
        # OBO files list a merged id at both its old and its new term
        self._replace(concept.id, (_SAYS.index("itself"), status), concept.replaced_by)
        for alternative in concept.alt_ids:
            says = _SAYS.index("a concept that is not current"), status
            self._replace(alternative, says, concept.replaced_by)

    def _replace(self, old: str, says: tuple[int, int], ids: Sequence[str]) -> None:
        """Note what became of an old id; the order in which this is said does not count."""
        self._old.setdefault(old, []).extend(ids)
        self._old_status[old] = min(says, self._old_status.get(old, says))

    def _add(self, concept: Concept, path: str) -> None:
        row = self._row.setdefault(concept.id, len(self._row))
        if row == len(self._preferred):  # a new concept
            self._definitions.append(concept.definition)
            self._xrefs.append(XREF_SEPARATOR.join(concept.xrefs))
            self._preferred.append(len(self._names["concept"]))
            for name in concept.names:
                self._add_name(row, name, name.kind)
        else:
            self._merged += [(row, name) for name in concept.names]
        for label in map(self._label, concept.types):
            self._type_rows.append(row)
            self._type_labels.append(label)
        self._parents += [(row, parent, path, concept.line) for parent in concept.parents]
        for alternative in concept.alt_ids:
            says = _SAYS.index("a current concept"), ALTERNATIVE
            self._replace(alternative, says, [concept.id])

    def _add_name(self, row: int, name: Name, kind: NameKind) -> None:
        self._texts.append(name.text)
        values = (
            row,
            _KIND[kind],
            self._label(name.source),
            self._label(name.language),
            int(name.case_sensitive),
        )
        for column, value in zip(self._names.values(), values, strict=True):
            column.append(value)

    def _merge(self) -> None:
        """Add what later sources say of concepts that are kept: names that are new to them."""
        for concept, path in self._waiting:
            if concept.id in self._row:
                self._add(concept, path)
            else:
                self._left_out.update((concept.id, *concept.alt_ids))
        if not self._merged:
            return
        texts: dict[int, set[str]] = {row: set() for row, _ in self._merged}
        for row, text in zip(self._names["concept"], self._texts.build(), strict=True):
            if row in texts:
                texts[row].add(text)
        for row, name in self._merged:
            if name.text not in texts[row]:
                texts[row].add(name.text)
                self._add_name(row, name, "exact" if name.kind == "preferred" else name.kind)

    def _label(self, text: str) -> int:
        return self._labels.setdefault(text, len(self._labels))

    def build(self) -> tuple[Columns, list[str], list[Source]]:
        """The columns, labels and sources of a `Dictionary`.

        Raises:
            LinkerError: the filters keep no concept.
            InputError: a parent is in no source (or `on_error` decides otherwise, and the edge is
                dropped).
        """
        self._merge()
        if not self._row:
            names = ", ".join(source.file for source in self._sources)
            raise LinkerError(
                f"{names}: holds no concept that the filters keep; check --types and --namespaces "
                f"(there are: {counted(self._prefixes)})"
            )
        order = np.argsort(np.array(list(self._row), object))  # that of ids, not that of files
        place = np.argsort(order)
        self._row = {identifier: row for row, identifier in enumerate(sorted(self._row))}
        names_in_order = self._names_in_order(place)
        # an id that is current is no old id
        old_ids = [identifier for identifier in sorted(self._old) if identifier not in self._row]
        columns = Columns(
            ids=Strings.of(self._row),
            id_rank=np.arange(len(order), dtype=np.int32),
            preferred=np.searchsorted(names_in_order.concept, np.arange(len(order))).astype(
                np.int32
            ),
            definitions=self._definitions.build().take(order),
            xrefs=self._xrefs.build().take(order),
            types=RaggedArray.grouped(
                len(order), place[np.array(self._type_rows, np.int64)], self._type_labels
            ),
            parents=parent_lists(len(order), self._edges(place)),
            names=names_in_order,
            old_ids=Strings.of(old_ids),
            old_status=np.array([self._old_status[old][1] for old in old_ids], np.uint8),
            old_concepts=RaggedArray.of([sorted(self._current_rows(old)) for old in old_ids]),
        )
        return columns, list(self._labels), self._sources

    def _names_in_order(self, place: NDArray[np.int64]) -> NameColumns:
        """The names, those of a concept behind those of the one before.

        Of a concept its preferred name comes first, then names of the better kind, then shorter
        ones, then they are ordered by code points. The order of a file counts only where nothing
        but it says which name is preferred.

        Args:
            place: the row of each concept, in the order in which concepts were collected.
        """
        columns: dict[str, Any] = {
            name: np.array(self._names[name], dtype) for name, dtype in NAME_DTYPES.items()
        }
        names = NameColumns(self._texts.build(), **columns)
        names = replace(names, concept=place[names.concept].astype(np.int32))
        is_other = np.ones(len(names.texts), bool)
        is_other[np.array(self._preferred, np.int64)] = False
        keys = (names.texts.lengths, names.kind, is_other, names.concept)
        order = np.lexsort(keys)
        labels = list(self._labels)

        def spelling(row: int) -> tuple[str, str, str, bool]:
            source = labels[names.source[row]]
            language = labels[names.language[row]]
            return names.texts[row], source, language, bool(names.case[row])

        is_same = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
        starts = np.flatnonzero(np.concatenate([[True], ~is_same]))
        ends = np.append(starts[1:], len(order))
        is_several = ends - starts > 1
        for start, end in zip(starts[is_several].tolist(), ends[is_several].tolist(), strict=True):
            order[start:end] = sorted(order[start:end].tolist(), key=spelling)
        return names.take(order)

    def _current_rows(
        self, identifier: str, instead: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> list[int]:
        """The rows of the current concepts that an id leads to, through chains of replacements.

        Args:
            identifier: the id.
            instead: ids of which other ids take the place.
        """
        rows: list[int] = []
        seen: set[str] = set()
        waiting = [identifier]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            if current in self._row:
                rows.append(self._row[current])
            elif current in self._old:
                waiting += reversed(self._old[current])
            else:
                waiting += reversed(instead.get(current, ()))
        return rows

    def _edges(self, place: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """The (child row, parent row) pairs; a parent that is an old id is what replaced it.

        Args:
            place: the row of each concept, in the order in which concepts were collected.
        """
        for collected, parent, path, line in self._parents:
            if above := self._current_rows(parent, self._nameless):
                yield from ((int(place[collected]), parent_row) for parent_row in above)
            elif parent not in self._left_out:
                self._on_error(
                    InputError(
                        path,
                        "a parent is not there",
                        line=line,
                        value=parent,
                        expected="the id of a concept",
                        remedy="add the parent, or give the file that holds it as another --dict",
                    )
                )


def source_of(
    path: files.Pathlike, format: str, release: str, prefixes: Mapping[str, int], concepts: int
) -> Source:
    """The record of a file or folder that was read.

    Args:
        path: the file or folder; it has no checksum where there is neither.
        format: the name of its format.
        release: the release that it states.
        prefixes: how many of its concepts have each prefix.
        concepts: how many were taken from it.
    """
    is_there = Path(path).is_dir() or Path(path).is_file()
    checksum = files.fingerprint(path) if is_there else ""
    most = max(prefixes, key=prefixes.__getitem__, default="")
    return Source(shown(Path(path).name), format, most, release, checksum, concepts)


def refuse_pipes(paths: Sequence[files.Pathlike]) -> None:
    """Raise LinkerError where a path is one that can be read only once."""
    for path in paths:
        if str(path) == "-" or Path(path).is_fifo():
            named = "standard input" if str(path) == "-" else f"a pipe ({path})"
            raise LinkerError(f"a dictionary cannot be read from {named}; name a file")

"""Making a dictionary's columns out of the concepts that readers yield, and checking what only the whole can show."""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker import files
from linker.dictionary.hierarchy import Hierarchy
from linker.errors import InputError, LinkerError, OnError, shown
from linker.ids import counted, prefixes
from linker.persistence import StringsBuilder
from linker.types import NAME_KINDS, Concept, Name, NameKind, Source

logger = logging.getLogger(__name__)

_KIND = {kind: i for i, kind in enumerate(NAME_KINDS)}
_STATUS = {"alternative": 0, "obsolete": 1, "merged": 2}

XREF_SEPARATOR = "\x1f"  # a reference may hold any visible sign

Columns = dict[str, NDArray[Any]]


class Builder:
    """Collects concepts of one or more sources.

    A concept id that two sources share is one concept with the names, parents and alternative ids of both; an id twice in one
    source is an error, and so is a parent that no source holds.
    """

    def __init__(
        self, namespaces: frozenset[str], types: frozenset[str], on_error: OnError
    ) -> None:
        self._namespaces = prefixes(namespaces)
        self._types, self._on_error = types, on_error
        self._row: dict[str, int] = {}
        self._labels: dict[str, int] = {"": 0}
        self._strings = {
            column: StringsBuilder() for column in ("id", "name", "definition", "xrefs")
        }
        self._names = {
            column: array("i") for column in ("concept", "kind", "source", "language", "case")
        }
        self._preferred, self._type_rows, self._type_labels = array("i"), array("i"), array("i")
        self._untyped: list[
            tuple[Concept, str]
        ] = []  # with their file; kept if another source keeps the id
        self._merged: list[tuple[int, Name]] = []  # names that a later source adds to a concept
        self._parents: list[tuple[int, str, str, int | None]] = []  # row, parent id, file, line
        self._old: dict[str, tuple[int, list[str]]] = {}  # old id -> status, ids that replace it
        self._left_out: set[str] = set()
        self._prefixes: Counter[str] = Counter()  # of all concepts, before the filters
        self._sources: list[Source] = []

    def add(
        self, concepts: Iterable[Concept], path: files.Pathlike, kind: str, release: str
    ) -> None:
        """Take all concepts of one source."""
        prefixes: Counter[str] = Counter()
        here: set[str] = set()
        for concept in self._wanted(concepts, str(path)):
            if concept.id in here:
                expected = "one record for each id"
                problem = "the concept id occurs a second time"
                self._on_error(
                    InputError(
                        path,
                        problem,
                        line=concept.line,
                        value=concept.id,
                        expected=expected,
                        remedy="merge the records",
                    )
                )
                continue
            here.add(concept.id)
            prefixes[concept.namespace] += 1
            self._add(concept, str(path))
        common = prefixes.most_common(1)[0][0] if prefixes else ""
        checksum = (
            files.sha256_of_folder(path)
            if Path(path).is_dir()
            else files.sha256(path)
            if Path(path).is_file()
            else ""
        )
        self._sources.append(
            Source(shown(Path(path).name), kind, common, release, checksum, len(here))
        )
        if not here and not self._untyped:
            logger.warning("%s: holds no concept that the filters keep", path)

    def _wanted(self, concepts: Iterable[Concept], path: str) -> Iterator[Concept]:
        """Drop concepts that the filters exclude, and turn those that are no longer current into old ids.

        A record without types, of own synonyms say, is judged by those of other sources, at the end.
        """
        for concept in concepts:
            self._prefixes[concept.namespace] += 1
            if concept.status != "current":
                status = _STATUS[concept.status]
                known = self._old.get(concept.id, (status, []))[
                    1
                ]  # OBO files list a merged id at both its old and its new term
                self._old[concept.id] = (status, [*known, *concept.replaced_by])
                for alternative in concept.alt_ids:
                    self._old.setdefault(alternative, (status, []))[1].extend(concept.replaced_by)
            elif self._keeps(concept):
                yield concept
            elif self._in_namespaces(concept) and not concept.types:
                self._untyped.append((concept, path))
            else:
                self._left_out.update((concept.id, *concept.alt_ids))

    def _keeps(self, concept: Concept) -> bool:
        return self._in_namespaces(concept) and (
            not self._types or not self._types.isdisjoint(concept.types)
        )

    def _in_namespaces(self, concept: Concept) -> bool:
        return not self._namespaces or concept.namespace.upper() in self._namespaces

    def _add(self, concept: Concept, path: str) -> None:
        row = self._row.setdefault(concept.id, len(self._row))
        known = row < len(self._preferred)
        if not known:
            self._strings["id"].append(concept.id)
            self._strings["definition"].append(concept.definition)
            self._strings["xrefs"].append(XREF_SEPARATOR.join(concept.xrefs))
            self._preferred.append(len(self._names["concept"]))
            for name in concept.names:
                self._add_name(row, name, name.kind)
        else:
            self._merged += [(row, name) for name in concept.names]
        for label in concept.types:
            self._type_rows.append(row)
            self._type_labels.append(self._label(label))
        self._parents += [(row, parent, path, concept.line) for parent in concept.parents]
        for alternative in concept.alt_ids:
            self._old.setdefault(alternative, (0, []))[1].append(concept.id)

    def _add_name(self, row: int, name: Name, kind: NameKind) -> None:
        self._strings["name"].append(name.text)
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
        for concept, path in self._untyped:
            if concept.id in self._row:
                self._add(concept, path)
            else:
                self._left_out.update((concept.id, *concept.alt_ids))
        texts: dict[int, set[str]] = {row: set() for row, _ in self._merged}
        for row, text in zip(self._names["concept"], self._strings["name"].build(), strict=True):
            if row in texts:
                texts[row].add(text)
        for row, name in self._merged:
            if name.text not in texts[row]:
                texts[row].add(name.text)
                self._add_name(row, name, "exact" if name.kind == "preferred" else name.kind)

    def _types_by_row(self) -> Columns:
        rows, labels = np.array(self._type_rows, np.int64), np.array(self._type_labels, np.int32)
        _, first = np.unique(rows * len(self._labels) + labels, return_index=True)
        first.sort()
        order = first[np.argsort(rows[first], kind="stable")]
        return {
            "types.indptr": np.searchsorted(rows[order], np.arange(len(self._row) + 1)),
            "types.indices": labels[order],
        }

    def _label(self, text: str) -> int:
        return self._labels.setdefault(text, len(self._labels))

    def build(self) -> tuple[Columns, list[str], list[Source]]:
        """The columns, labels and sources of a `Dictionary`.

        Raises:
            InputError: a parent is in no source (or `on_error` decides otherwise, and the edge is dropped).
        """
        self._merge()
        if not self._row:
            names = ", ".join(source.file for source in self._sources)
            there = counted(self._prefixes)
            raise LinkerError(
                f"{names}: holds no concept that the filters keep; check --types and --namespaces (there are: {there})"
            )
        old = self._old_ids()
        columns = self._types_by_row()
        for column, builder in (*self._strings.items(), ("old", _strings(old))):
            columns |= builder.build().arrays(column)
        dtypes = {
            "concept": np.int32,
            "kind": np.uint8,
            "source": np.int32,
            "language": np.int32,
            "case": bool,
        }
        columns |= {f"name.{c}": np.array(values, dtypes[c]) for c, values in self._names.items()}
        columns["id.rank"] = np.argsort(np.argsort(np.array(list(self._row), object))).astype(
            np.int32
        )
        columns["preferred"] = np.array(self._preferred, np.int32)
        columns["old.status"] = np.array([status for status, _ in old.values()], np.uint8)
        columns["old.indptr"] = np.cumsum([0, *(len(rows) for _, rows in old.values())]).astype(
            np.int64
        )
        columns["old.indices"] = np.array(
            [row for _, rows in old.values() for row in rows], np.int32
        )
        columns |= Hierarchy.of(len(self._row), self._edges(old)).arrays()
        return columns, list(self._labels), self._sources

    def _old_ids(self) -> dict[str, tuple[int, list[int]]]:
        """Old ids with the rows they stand for, through chains of replacements; an id that is current stands for itself only."""

        def rows(identifier: str) -> list[int]:
            found, seen, waiting = [], set(), [identifier]
            while waiting:
                i = waiting.pop()
                if i not in seen:
                    seen.add(i)
                    found += [self._row[i]] if i in self._row else []
                    waiting += reversed(
                        self._old[i][1] if i in self._old and i not in self._row else []
                    )
            return found

        return {i: (status, rows(i)) for i, (status, _) in self._old.items() if i not in self._row}

    def _edges(self, old: dict[str, tuple[int, list[int]]]) -> Iterator[tuple[int, int]]:
        for row, parent, path, line in self._parents:
            if self._row.get(parent) == row:
                logger.warning(
                    "%s: %s is its own parent; the edge is dropped",
                    path if line is None else f"{path}, line {line}",
                    parent,
                )
            elif parent in self._row:
                yield row, self._row[parent]
            elif parent in old and old[parent][1]:
                yield from ((row, above) for above in old[parent][1])
            elif parent not in self._left_out:
                remedy = "add the parent, or give the file that holds it as another --dict"
                self._on_error(
                    InputError(
                        path,
                        "a parent is not there",
                        line=line,
                        value=parent,
                        expected="the id of a concept",
                        remedy=remedy,
                    )
                )


def _strings(texts: Iterable[str]) -> StringsBuilder:
    builder = StringsBuilder()
    for text in texts:
        builder.append(text)
    return builder

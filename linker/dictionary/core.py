"""Dictionary: the names, ids and hierarchy of one or more sources, in columns."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from linker import files, persistence
from linker.dictionary.building import XREF_SEPARATOR, Builder
from linker.dictionary.hierarchy import Hierarchy
from linker.dictionary.names import NameTable
from linker.errors import LinkerError, OnError, stop
from linker.persistence import Strings
from linker.readers import dictionaries
from linker.types import NAME_KINDS, Concept, Name, Source, Status

_FIRST = (
    "training",
    "preferred",
    "exact",
)  # of names with equal scores; what annotators meant by a name beats what it is called
_KIND_ORDER = np.array(
    [_FIRST.index(kind) if kind in _FIRST else len(_FIRST) for kind in NAME_KINDS], np.int32
)

_ANNOTATED = "name.annotated"  # column: how often mentions of a name's form were annotated with its concept; absent where none were added
_NAME_COLUMNS = frozenset(
    {"name.concept", "name.kind", "name.source", "name.language", "name.case", _ANNOTATED}
)

logger = logging.getLogger(__name__)


class Dictionary:
    """Concepts with their names, old ids and hierarchy. Rows of concepts and names are stable; nothing is changed in place.

    Args:
        columns: arrays by name, as `building.Builder` makes them and `save` writes them.
        labels: the strings that the small integer columns (types, sources, languages) stand for.
        sources: the files it was made of.
    """

    def __init__(
        self, columns: Mapping[str, NDArray[Any]], labels: Sequence[str], sources: Sequence[Source]
    ) -> None:
        self.columns, self.labels, self.sources = dict(columns), list(labels), tuple(sources)
        self.ids = Strings.from_arrays(columns, "id")
        self.names = Strings.from_arrays(columns, "name")
        self.name_concept: NDArray[np.int32] = columns["name.concept"]
        self.name_kind: NDArray[np.uint8] = columns["name.kind"]
        self.preferred: NDArray[np.int32] = columns["preferred"]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def read(
        cls,
        *paths: files.Pathlike,
        format: str | None = None,
        hierarchy: files.Pathlike | None = None,
        namespaces: Sequence[str] = (),
        types: Sequence[str] = (),
        languages: Sequence[str] = ("ENG",),
        sources: Sequence[str] = (),
        on_error: OnError = stop,
    ) -> Dictionary:
        """Read one or more dictionary files into one dictionary.

        Args:
            paths: files (or a UMLS folder); the format is recognised from the content.
            format: a name of `readers.dictionaries.FORMATS`, for all paths, where recognition fails.
            hierarchy: another dictionary file that lends its parents, joined by id or alternative id.
            namespaces: keep only concepts with these CURIE prefixes (all where empty).
            types: keep only concepts with one of these semantic types (all where empty).
            languages, sources: filters of UMLS names.
            on_error: what to do with a bad record; returns to skip it.

        Raises:
            LinkerError: a file cannot be read, is no dictionary, or holds a bad record and `on_error` raises.
        """
        builder = Builder(frozenset(namespaces), frozenset(types), on_error)
        if pipe := next((path for path in paths if str(path) == "-" or Path(path).is_fifo()), None):
            named = "standard input" if str(pipe) == "-" else f"a pipe ({pipe})"
            raise LinkerError(f"a dictionary cannot be read from {named}; name a file")
        kinds = [format or dictionaries.detect(path) for path in paths]
        for path, kind in zip(paths, kinds, strict=True):
            filters = (
                {"languages": languages, "sources": sources}
                if kind == "rrf" or "rrf" not in kinds
                else {}
            )
            concepts = dictionaries.read(path, kind, on_error=on_error, **filters)
            builder.add(concepts, path, kind, dictionaries.release(path, kind))
        dictionary = cls(*builder.build())
        return (
            dictionary
            if hierarchy is None
            else dictionary.with_parents(cls.read(hierarchy, on_error=on_error))
        )

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The parents of the concepts."""
        return Hierarchy.from_arrays(
            self.columns["parents.indptr"], self.columns["parents.indices"]
        )

    @cached_property
    def _row(self) -> dict[str, int]:
        return {identifier: row for row, identifier in enumerate(self.ids)}

    @cached_property
    def old_ids(self) -> dict[str, tuple[int, ...]]:
        """Alternative, obsolete and merged ids, each with the rows of the current concepts that it stands for."""
        indptr, rows = self.columns["old.indptr"].tolist(), self.columns["old.indices"].tolist()
        old = Strings.from_arrays(self.columns, "old")
        return {
            identifier: tuple(rows[a:b])
            for identifier, (a, b) in zip(old, itertools.pairwise(indptr), strict=True)
        }

    def rows(self, identifier: str) -> tuple[int, ...]:
        """The concept rows that a CURIE stands for: its own, else those of an old or alternative id; empty when unknown."""
        row = self._row.get(identifier)
        return self.old_ids.get(identifier, ()) if row is None else (row,)

    def resolve(self, identifier: str) -> frozenset[str]:
        """The current ids that a CURIE stands for; the id itself where the dictionary does not know it (see `matching`)."""
        if identifier not in self._row and identifier not in self.old_ids:
            return frozenset((identifier,))
        return frozenset(self.ids[row] for row in self.rows(identifier))

    @property
    def id_rank(self) -> NDArray[np.int32]:
        """The place of each concept in the order of ids, (n,): what decides between equal scores last."""
        return self.columns["id.rank"]

    @cached_property
    def entry_rank(self) -> NDArray[np.int32]:
        """How names rank where scores are equal, (names,), lower first: by how often they were annotated, then by kind."""
        kinds = _KIND_ORDER[self.name_kind]
        if (times := self.columns.get(_ANNOTATED)) is None:
            return kinds
        return np.asarray(kinds - times * np.int32(len(_FIRST) + 1), np.int32)

    @cached_property
    def _names_by_concept(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.name_concept, kind="stable")
        return order, np.searchsorted(self.name_concept[order], np.arange(len(self) + 1))

    def name_rows(self, row: int) -> NDArray[np.int64]:
        """The rows of all names of a concept."""
        order, starts = self._names_by_concept
        return order[starts[row] : starts[row + 1]]

    def preferred_name(self, row: int) -> str:
        """The preferred name of a concept."""
        return self.names[int(self.preferred[row])]

    def name(self, row: int) -> Name:
        """One name as a record."""
        label = {
            part: self.labels[self.columns[f"name.{part}"][row]] for part in ("source", "language")
        }
        kind, case = NAME_KINDS[self.name_kind[row]], bool(self.columns["name.case"][row])
        return Name(
            self.names[row],
            self.ids[int(self.name_concept[row])],
            kind,
            label["language"],
            label["source"],
            case,
        )

    def types(self, row: int) -> tuple[str, ...]:
        """The semantic types of a concept."""
        start, end = self.columns["types.indptr"][row : row + 2]
        return tuple(self.labels[i] for i in self.columns["types.indices"][start:end])

    @cached_property
    def _alternatives(self) -> dict[int, list[str]]:
        status = self.columns["old.status"]
        alternatives: dict[int, list[str]] = {}
        for i, (identifier, rows) in enumerate(self.old_ids.items()):
            for row in rows if status[i] == 0 else ():
                alternatives.setdefault(row, []).append(identifier)
        return alternatives

    def alternative_ids(self, row: int) -> list[str]:
        """The alternative ids of a concept."""
        return self._alternatives.get(row, [])

    def concept(self, row: int) -> Concept:
        """One concept as a record."""
        xrefs = Strings.from_arrays(self.columns, "xrefs")[row]
        identifier = self.ids[row]
        names = sorted(self.name_rows(row).tolist(), key=lambda r: r != self.preferred[row])
        return Concept(
            identifier,
            self.preferred_name(row),
            tuple(map(self.name, names)),
            tuple(self.ids[p] for p in self.hierarchy.parents([row])[0]),
            tuple(self.alternative_ids(row)),
            Strings.from_arrays(self.columns, "definition")[row],
            self.types(row),
            identifier.partition(":")[0] if ":" in identifier else "",
            xrefs=tuple(xrefs.split(XREF_SEPARATOR)) if xrefs else (),
        )

    def with_parents(self, lender: Dictionary) -> Dictionary:
        """Take the parents of another dictionary, joined by id or alternative id.

        A parent that is unknown here, or the concept itself under another id, gives its own parents. Concepts that the other
        dictionary does not know keep theirs.
        """
        pairs = set()
        for row in range(len(self)):
            lenders = _matches(self, row, lender)
            pairs |= (
                set() if lenders else {(row, p) for p in self.hierarchy.parents([row])[0].tolist()}
            )
            for theirs in lenders:
                seen, above = {theirs}, lender.hierarchy.parents([theirs])[0].tolist()
                while above:
                    parent = above.pop()
                    if parent in seen:
                        continue
                    seen.add(parent)
                    ours = [o for o in _matches(lender, parent, self) if o != row]
                    pairs |= {(row, o) for o in ours}
                    above += () if ours else lender.hierarchy.parents([parent])[0].tolist()
        hierarchy = Hierarchy.of(len(self), pairs)
        lent = (
            dataclasses.replace(source, format=f"{source.format}, parents only")
            for source in lender.sources
        )
        return Dictionary(self.columns | hierarchy.arrays(), self.labels, (*self.sources, *lent))

    def add(
        self, names: Iterable[tuple[str, Sequence[str]]], form: Callable[[str], str] = str
    ) -> Dictionary:
        """A dictionary that also holds annotated mentions, as names of kind `training`; the original is untouched.

        Args:
            names: (mention, CURIEs) pairs, one for each annotation; a mention with several ids becomes a name of each. Unknown ids are
                left out. Each name remembers how often a mention of its form was annotated with its concept.
            form: the normal form of a name.
        """
        annotated = Counter(
            (text, row) for text, curies in names for i in curies for row in self.rows(i)
        )
        known = set(zip(self.names, self.name_concept.tolist(), strict=True))
        new = [pair for pair in annotated if pair not in known]
        if not annotated:
            return self
        columns = self.columns | Strings.of([*self.names, *(text for text, _ in new)]).arrays(
            "name"
        )
        filler = {
            "name.concept": [row for _, row in new],
            "name.kind": NAME_KINDS.index("training"),
            "name.source": 0,
            "name.language": 0,
        }
        for column, value in (filler | {"name.case": False}).items():
            old = self.columns[column]
            columns[column] = np.concatenate([old, np.full(len(new), value, old.dtype)])
        added = Dictionary(columns, self.labels, self.sources)
        times: Counter[tuple[str, int]] = Counter()
        for (text, row), count in annotated.items():
            times[form(text), row] += count
        before = self.columns.get(_ANNOTATED, np.empty(0, np.int32))
        columns[_ANNOTATED] = np.pad(before, (0, len(added.names) - len(before)))
        for name in np.flatnonzero(
            np.isin(added.name_concept, [row for _, row in annotated])
        ).tolist():
            columns[_ANNOTATED][name] += times[
                form(added.names[name]), int(added.name_concept[name])
            ]
        return Dictionary(columns, self.labels, self.sources)

    def without(self, names: NDArray[np.int64]) -> Dictionary:
        """A dictionary without some names, given by their rows; preferred names cannot be left out.

        Raises:
            ValueError: one of them is a preferred name.
        """
        kept = np.ones(len(self.names), bool)
        kept[names] = False
        if not kept[self.preferred].all():
            raise ValueError("a preferred name cannot be left out")
        columns = self.columns | {
            name: values[kept] for name, values in self.columns.items() if name in _NAME_COLUMNS
        }
        columns |= Strings.of(itertools.compress(self.names, kept.tolist())).arrays("name")
        columns["preferred"] = (np.cumsum(kept) - 1)[self.preferred].astype(np.int32)
        return Dictionary(columns, self.labels, self.sources)

    def table(self, normalize: Callable[[str], str]) -> NameTable:
        """The distinct normalised names, each with its concepts."""
        row_of: dict[str, int] = {}
        rows = np.array(
            [row_of.setdefault(normalize(text), len(row_of)) for text in self.names], np.int64
        )
        empty = row_of.get("", -1)
        if empty >= 0:
            logger.warning(
                "%d names are empty once normalised and cannot be found", int((rows == empty).sum())
            )
        order = np.argsort(
            self.entry_rank, kind="stable"
        )  # of a concept's names with one form, the first by kind is its entry
        key, found = np.unique((rows * len(self) + self.name_concept)[order], return_index=True)
        kept = key // len(self) != empty
        concepts, entries = (
            (key % len(self))[kept].astype(np.int32),
            order[found[kept]].astype(np.int32),
        )
        starts = np.searchsorted((key // len(self))[kept], np.arange(len(row_of) + 1))
        return NameTable(Strings.of(row_of), starts, concepts, entries)

    def save(self, folder: files.Pathlike) -> None:
        """Write the dictionary to a folder of its own."""
        with persistence.saving(folder, "dictionary", {}) as aside:
            self.write(aside)

    def write(self, folder: Path) -> None:
        """Write the arrays into a folder that is being saved."""
        persistence.save_arrays(folder, self.columns)
        persistence.save_json(folder / "labels.json", self.labels)
        persistence.save_json(
            folder / "sources.json", [dataclasses.asdict(s) for s in self.sources]
        )

    @classmethod
    def load(cls, folder: files.Pathlike) -> Dictionary:
        """Memory-map a saved dictionary."""
        return persistence.load(folder, "dictionary", lambda path, _: cls.open(path))

    @classmethod
    def open(cls, folder: Path) -> Dictionary:
        """Memory-map the arrays of a folder that was checked already."""
        columns, labels = (
            persistence.load_arrays(folder),
            persistence.load_json(folder / "labels.json"),
        )
        try:  # what was signed is as its maker wrote it, and may be no dictionary
            _check(columns, labels)
            return cls(
                columns,
                labels,
                [Source(**source) for source in persistence.load_json(folder / "sources.json")],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise LinkerError(
                f"{folder}: holds no dictionary as linker writes it ({error}); make it again"
            ) from None


def _check(columns: Mapping[str, NDArray[Any]], labels: Any) -> None:
    """Raise KeyError or ValueError where columns do not fit together, or name rows that are not there."""
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ValueError("the labels are no list of texts")
    texts = {
        name: Strings.from_arrays(columns, name)
        for name in ("id", "name", "definition", "xrefs", "old")
    }
    for column in texts.values():
        column.check()
    concepts, names, old = (len(texts[name]) for name in ("id", "name", "old"))
    limits = {
        "name.concept": concepts,
        "name.kind": len(NAME_KINDS),
        "name.source": len(labels),
        "name.language": len(labels),
    }
    rows = {name: (names, limit) for name, limit in limits.items()}
    rows |= {
        "preferred": (concepts, names),
        "id.rank": (concepts, concepts),
        "old.status": (old, len(get_args(Status))),
    }
    for name, (count, limit) in rows.items():
        persistence.check_lists(np.array([0, count]), columns[name], 1, limit)
    for name, (count, limit) in {
        "types": (concepts, len(labels)),
        "parents": (concepts, concepts),
        "old": (old, concepts),
    }.items():
        persistence.check_lists(columns[f"{name}.indptr"], columns[f"{name}.indices"], count, limit)
    flags = {"name.case": "b", _ANNOTATED: "i"}
    for name, kind in flags.items():
        if name in columns and (
            columns[name].shape != (names,) or columns[name].dtype.kind != kind
        ):
            raise ValueError(f"{name} does not fit the names")
    if columns["name.case"].shape != (names,) or any(
        len(texts[name]) != concepts for name in ("definition", "xrefs")
    ):
        raise ValueError("there are not as many texts as concepts")


def _matches(dictionary: Dictionary, row: int, other: Dictionary) -> tuple[int, ...]:
    """The rows of `other` that stand for a concept of `dictionary`, by id, else by alternative id."""
    candidates = (dictionary.ids[row], *dictionary.alternative_ids(row))
    return next((rows for identifier in candidates if (rows := other.rows(identifier))), ())

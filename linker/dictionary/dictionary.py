"""Dictionary: the names, ids and hierarchy of one or more sources, in columns."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from linker.arguments import PATH, TEXT, Kind, public
from linker.dictionary import lending
from linker.dictionary.building import Builder, refuse_pipes
from linker.dictionary.columns import (
    ALTERNATIVE,
    XREF_SEPARATOR,
    Columns,
    RaggedArray,
    add_annotations,
)
from linker.dictionary.hierarchy import Hierarchy, borrowed_parents
from linker.dictionary.lending import ALTERNATIVE_ID, XREF, Lending, key, vocabulary
from linker.dictionary.names import NameTable
from linker.errors import LinkerError, OnError, stop
from linker.ids import curie, namespace, normalized, prefixes_of, respelled
from linker.io import dictionaries, files, persistence
from linker.io.mesh import Part
from linker.io.outputs import ObjectSource
from linker.io.parsing import ENGLISH, Languages
from linker.io.persistence import Strings
from linker.records import NAME_KINDS, Concept, Name, Reference, Source
from linker.text.normalize import normalize

if TYPE_CHECKING:
    from typing_extensions import Unpack

Rule = Literal["probability", "score", "words", "annotations", "lent", "kind", "spelling", "id"]
"""What puts a candidate before another one, in the order in which it counts.

Its probability by the ranker; its score; how many words of its name stand in the order of the
mention; how often its name was annotated with it; that no other vocabulary lent the name; the kind
of the name; that the name is shorter, or comes first by its letters; its id.
"""

# Of names with equal scores, what annotators meant by a name beats what sources say of it.
_FIRST_KINDS = ("training", "preferred", "exact")
_KIND_ORDER = np.array([(*_FIRST_KINDS, kind).index(kind) for kind in NAME_KINDS], np.int32)
LENT_RANK = len(_FIRST_KINDS) + 1  # of the best lent name, behind all kinds of own names
_SAMPLE = 2000  # names that tell whether a dictionary is in capitals


class Choices(TypedDict, total=False):
    """What readers of some formats leave out; see `linker.io.dictionaries.takes`."""

    languages: Sequence[str]  # keep only names in these, as "en", "ENG" or "en-US"; () keeps all
    sources: Sequence[str]  # keep only names of these vocabularies (UMLS), or concepts (OMOP)
    prefix: str  # of the ids that have none, of tables; also those of `hierarchy`
    under: Sequence[str]  # keep what is under these tree numbers or ids (MeSH), or "all"


_SEVERAL = Kind('a list of texts, such as ["en"]', (Sequence,))
_CHOICES = {"languages": _SEVERAL, "sources": _SEVERAL, "prefix": TEXT, "under": _SEVERAL}


class Dictionary:
    """Concepts with their names, old ids and hierarchy.

    A concept and a name are known by the number of their row, which never changes: nothing is
    changed in place, and the methods that add or leave out something return a new dictionary.

    Args:
        columns: the arrays.
        labels: the semantic types, sources and languages that numbers in the columns stand for.
        sources: the files that the dictionary was made of.

    Attributes:
        lending: the account of the names that `lend` considered, until something else is added.
    """

    lending: Lending = Lending()

    def __init__(self, columns: Columns, labels: Sequence[str], sources: Sequence[Source]) -> None:
        self.columns, self.labels, self.sources = columns, list(labels), tuple(sources)
        self.ids, self.preferred = columns.ids, columns.preferred
        self.id_rank = columns.id_rank  # place of each concept in the order of ids, as tie-breaker
        self.names = columns.names.texts
        self.name_concept, self.name_kind = columns.names.concept, columns.names.kind

    def __len__(self) -> int:
        return len(self.ids)

    def _with(self, **columns: Any) -> Dictionary:
        """The dictionary with other arrays in the place of some columns."""
        return Dictionary(dataclasses.replace(self.columns, **columns), self.labels, self.sources)

    def __repr__(self) -> str:
        files = ", ".join(f"{source.file} ({source.format})" for source in self.sources)
        return f"<Dictionary: {len(self):,} concepts, {len(self.names):,} names, of {files}>"

    @classmethod
    @public("linker.Dictionary.read", _CHOICES, paths=PATH, hierarchy=PATH.or_none())
    def read(
        cls,
        *paths: files.Pathlike,
        format: str | None = None,
        hierarchy: files.Pathlike | None = None,
        namespaces: Sequence[str] = (),
        types: Sequence[str] = (),
        on_error: OnError = stop,
        **choices: Unpack[Choices],
    ) -> Dictionary:
        """Read one or more dictionary files into one dictionary.

        Args:
            paths: files, UMLS folders, or names of `linker.io.dictionaries.KNOWN`, which are
                fetched; the format is recognised from the content.
            format: a name of `linker.io.formats.DICTIONARIES`, for all paths, where they are not
                recognised.
            hierarchy: another dictionary file that lends its parents, joined by id or alternative
                id.
            namespaces: keep only concepts with these CURIE prefixes (all where empty).
            types: keep only concepts with one of these semantic types (all where empty).
            on_error: what to do with a bad record; returns to skip it.
            choices: for the formats that have them.

        Raises:
            LinkerError: a file cannot be read, is no dictionary, or holds a bad record and
                `on_error` raises.
        """
        paths = tuple(map(dictionaries.located, paths))
        refuse_pipes(paths)
        builder = Builder(frozenset(namespaces), frozenset(types), on_error)
        formats = [format or dictionaries.detect(path) for path in paths]
        chosen, under = Languages(choices.get("languages", ENGLISH)), choices.get("under", ())
        given = {"sources": (), "prefix": "", **choices, "languages": chosen, "under": Part(under)}
        for path, name in zip(paths, formats, strict=True):
            options = dictionaries.options_of(name, formats, given)
            concepts = dictionaries.read(path, name, on_error=on_error, **options)
            builder.add(concepts, path, name, dictionaries.release(path, name))
        if any(dictionaries.takes(name, "languages") for name in formats):
            chosen.check(", ".join(map(str, paths)))
        dictionary = cls(*builder.build())
        if hierarchy is None:
            return dictionary
        hierarchy = dictionaries.located(hierarchy)
        name = dictionaries.detect(hierarchy)
        # names of the hierarchy are not used
        of_hierarchy = {"languages": (), "prefix": choices.get("prefix", ""), "under": under}
        taken: Any = {o: v for o, v in of_hierarchy.items() if dictionaries.takes(name, o)}
        return dictionary.with_parents(cls.read(hierarchy, on_error=on_error, **taken))

    @cached_property
    def vocabulary(self) -> ObjectSource:
        """What files of mappings say of it; files that only lent parents or names are not named."""
        own = [source for source in self.sources if ", " not in source.format]
        releases = [source.release or f"sha256:{source.sha256}" for source in own]
        return ObjectSource(
            "+".join(source.file for source in own),
            "; ".join(releases),
            tuple(sorted(set(map(namespace, itertools.chain(self.ids, self.old_ids))) - {""})),
        )

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The parents of the concepts, and the concepts below and above them."""
        return Hierarchy(self.columns.parents)

    @cached_property
    def _row(self) -> dict[str, int]:
        return {identifier: row for row, identifier in enumerate(self.ids)}

    @cached_property
    def old_ids(self) -> dict[str, tuple[int, ...]]:
        """Alternative, obsolete and merged ids, with the rows of the concepts they stand for."""
        concepts = map(tuple, self.columns.old_concepts.tolist())
        return dict(zip(self.columns.old_ids, concepts, strict=True))

    def identify(self, text: str) -> str | None:
        """The id that a text stands for, which may be an old one; None for an unknown one.

        An id is looked up as it is written, then as `linker.ids.normalized` writes it. Only where
        that is no id of the dictionary, a bare id stands for the one with the prefix that its form
        suggests, as "D001260" for "MESH:D001260"; then prefixes of one vocabulary are equal, as
        "ORPHA:558" and "Orphanet:558" are.
        """
        for spell in (str.strip, normalized, curie, self._respelled):
            if (identifier := spell(text)) in self._row or identifier in self.old_ids:
                return identifier
        return None

    def _respelled(self, text: str) -> str:
        return respelled(text, self._prefixes)

    @cached_property
    def _prefixes(self) -> dict[str, str]:
        return prefixes_of(self.ids)

    def rows(self, identifier: str) -> tuple[int, ...]:
        """The rows of the concepts that an id stands for (see `identify`); none for an unknown one.

        The id of a concept stands for it alone, an old or alternative id for one or more.
        """
        if (known := self.identify(identifier)) is None:
            return ()
        row = self._row.get(known)
        return self.old_ids[known] if row is None else (row,)

    def resolve(self, identifier: str) -> frozenset[str]:
        """The current ids that an id stands for, as `matching` asks for them.

        An id that the dictionary does not know stands for itself.
        """
        if self.identify(identifier) is None:
            return frozenset((identifier,))
        return frozenset(self.ids[row] for row in self.rows(identifier))

    @cached_property
    def entry_rank(self) -> NDArray[np.int32]:
        """The rank of each name where scores are equal, (names,), the lowest first.

        Names that were annotated more often come first, then the dictionary's own names before lent
        ones, then those of the better kind. A lent name that was never annotated has `LENT_RANK` or
        more, any other name less.
        """
        names = self.columns.names
        ranks, range_of_ranks = _KIND_ORDER[self.name_kind], LENT_RANK
        if names.lent is not None:
            ranks, range_of_ranks = ranks + LENT_RANK * names.lent, 2 * LENT_RANK
        if names.annotated is not None:
            ranks = ranks - range_of_ranks * names.annotated
        return np.asarray(ranks, np.int32)

    def tie_rule(self, first: int, second: int) -> Rule | None:
        """What puts one of two names before the other by `entry_rank`; None: nothing does."""
        names = self.columns.names
        if names.annotated is not None and names.annotated[first] != names.annotated[second]:
            return "annotations"
        if names.lent is not None and names.lent[first] != names.lent[second]:
            return "lent"
        return "kind" if self.entry_rank[first] != self.entry_rank[second] else None

    @cached_property
    def _names_by_concept(self) -> RaggedArray:
        order = np.argsort(self.name_concept, kind="stable").astype(np.int32)
        return RaggedArray(
            np.searchsorted(self.name_concept[order], np.arange(len(self) + 1)), order
        )

    def name_rows(self, row: int) -> NDArray[np.int32]:
        """The rows of all names of a concept."""
        return self._names_by_concept[row]

    @cached_property
    def is_in_capitals(self) -> bool:
        """Whether most names of several words are in capitals, so that case tells nothing.

        A sample of the names is looked at.
        """
        step = max(1, len(self.names) // _SAMPLE)
        names = (self.names[row] for row in range(0, len(self.names), step))
        several = [name.isupper() for name in names if " " in name]
        return 2 * sum(several) > len(several)

    def preferred_name(self, row: int) -> str:
        """The preferred name of a concept."""
        return self.names[int(self.preferred[row])]

    def name(self, row: int) -> Name:
        """One name as a record."""
        names = self.columns.names
        return Name(
            names.texts[row],
            self.ids[int(names.concept[row])],
            NAME_KINDS[names.kind[row]],
            self.labels[names.language[row]],
            self.labels[names.source[row]],
            bool(names.case[row]),
        )

    def lender(self, row: int) -> str:
        """The file that lent a name; empty for the dictionary's own names."""
        names = self.columns.names
        return "" if names.lent is None or not names.lent[row] else self.labels[names.source[row]]

    @property
    def lent_rows(self) -> NDArray[np.int64]:
        """The rows of the names that other vocabularies lent."""
        lent = self.columns.names.lent
        return np.empty(0, np.int64) if lent is None else np.flatnonzero(lent)

    def types(self, row: int) -> tuple[str, ...]:
        """The semantic types of a concept."""
        return tuple(self.labels[label] for label in self.columns.types[row])

    @cached_property
    def _alternatives(self) -> dict[int, list[str]]:
        """The alternative ids of each concept that has some."""
        alternatives: dict[int, list[str]] = {}
        is_alternative = self.columns.old_status == ALTERNATIVE
        for identifier, rows in itertools.compress(self.old_ids.items(), is_alternative):
            for row in rows:
                alternatives.setdefault(row, []).append(identifier)
        return alternatives

    def alternative_ids(self, row: int) -> list[str]:
        """The alternative ids of a concept."""
        return self._alternatives.get(row, [])

    def also(self, row: int, vocabularies: Sequence[str]) -> tuple[Reference, ...]:
        """The ids that some other vocabularies have for a concept, each once; see `references`.

        Args:
            row: of the concept.
            vocabularies: by their prefixes, as `check_also` takes them.
        """
        wanted = {vocabulary(f"{name}:") for name in vocabularies} - {vocabulary(self.ids[row])}
        return tuple(r for r in self.references(row) if vocabulary(r.id) in wanted)

    def references(self, row: int) -> Sequence[Reference]:
        """All other ids of a concept, each once, the best first.

        What lent files say comes first, then cross-references, then alternative ids, which are
        weaker, as they are often those of broader concepts.
        """
        lent, file = self.columns.also, self.vocabulary.name
        cells = iter(lent[row].split(XREF_SEPARATOR) if lent is not None and lent[row] else ())
        xrefs = filter(None, self.columns.xrefs[row].split(XREF_SEPARATOR))
        found: dict[str, Reference] = {}
        for reference in itertools.chain(
            map(Reference, cells, cells, cells),
            (Reference(normalized(xref), XREF, file) for xref in xrefs),
            (Reference(other, ALTERNATIVE_ID, file) for other in self.alternative_ids(row)),
        ):
            found.setdefault(key(reference.id), reference)
        return tuple(found.values())

    @cached_property
    def references_within(self) -> NDArray[np.int64]:
        """The pairs of concepts of which the first refers to the second, (pairs, 2) rows."""
        xrefs = self.columns.xrefs
        pairs = [
            (row, other)
            for row in np.flatnonzero(np.diff(xrefs.offsets)).tolist()
            for xref in filter(None, xrefs[row].split(XREF_SEPARATOR))
            for other in self.rows(xref)
        ]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def check_also(self, vocabularies: Sequence[str]) -> None:
        """Check that there are references to each of some vocabularies.

        Raises:
            LinkerError: no concept has one.
        """
        missing = [v for v in vocabularies if vocabulary(f"{v}:") not in self._referred]
        if missing:
            there = ", ".join(sorted(self._referred)) or "no vocabulary"
            raise LinkerError(
                f"no concept has a reference to {missing[0]!r}, but to {there}; name one of these, "
                "or train with --lend and a file of mappings (SSSOM) to it"
            )

    @cached_property
    def _referred(self) -> frozenset[str]:
        """The vocabularies that there are references to."""
        every = itertools.chain.from_iterable(map(self.references, range(len(self))))
        return frozenset(filter(None, {vocabulary(reference.id) for reference in every}))

    def concept(self, row: int) -> Concept:
        """One concept as a record."""
        identifier, xrefs = self.ids[row], self.columns.xrefs[row]
        names = sorted(self.name_rows(row).tolist(), key=lambda r: r != self.preferred[row])
        return Concept(
            identifier,
            self.preferred_name(row),
            tuple(map(self.name, names)),
            tuple(self.ids[parent] for parent in self.hierarchy.parents([row])[0]),
            tuple(self.alternative_ids(row)),
            self.columns.definitions[row],
            self.types(row),
            namespace(identifier),
            xrefs=tuple(xrefs.split(XREF_SEPARATOR)) if xrefs else (),
        )

    def with_parents(self, lender: Dictionary) -> Dictionary:
        """A dictionary with the parents that another one gives the same concepts.

        Concepts are the same where they share their id, else an alternative id. A parent that is
        not known here is replaced by its own parents. Concepts that the other dictionary does not
        know keep their parents.
        """
        parents = borrowed_parents(
            self.columns.parents,
            lender.columns.parents,
            partial(_same_concept, self, lender),
            partial(_same_concept, lender, self),
        )
        lent = (
            dataclasses.replace(source, format=f"{source.format}, parents only")
            for source in lender.sources
        )
        columns = dataclasses.replace(self.columns, parents=parents)
        return Dictionary(columns, self.labels, (*self.sources, *lent))

    def lend(
        self,
        *paths: files.Pathlike,
        form: Callable[[str], str] = normalize,
        on_error: OnError = stop,
    ) -> Dictionary:
        """A dictionary that also holds names of other vocabularies, for the same concepts.

        `linker.dictionary.lending.consider` says what becomes of each name.

        Args:
            paths: dictionary files, whose concepts are joined by ids and cross-references, and
                SSSOM files of mappings, which join them too and whose labels are names.
            form: the normal form of a name.
            on_error: what to do with a bad record; returns to skip it.

        Raises:
            LinkerError: a file cannot be read, or none of its concepts joins one of ours.
        """
        lenders = [lending.read(path, on_error=on_error) for path in paths]
        return self.with_lent_names(lending.consider(self.columns, lenders, form))

    def with_lent_names(self, lending: Lending) -> Dictionary:
        """A dictionary that also holds the names and references that other vocabularies lend.

        Lent names keep their kind, but a preferred one is exact here.

        Args:
            lending: the account of the names, made for this dictionary.
        """
        columns, labels = self.columns, self.labels
        lent = [
            (considered, identifier)
            for considered in lending.names
            if considered.outcome == "lent"
            for identifier in considered.concepts
        ]
        if lent:
            place = {label: number for number, label in enumerate(self.labels)}
            kinds = (considered.name.kind for considered, _ in lent)
            names = columns.names.append(
                [considered.name.text for considered, _ in lent],
                [self._row[identifier] for _, identifier in lent],
                [NAME_KINDS.index("exact" if kind == "preferred" else kind) for kind in kinds],
                [place.setdefault(considered.file, len(place)) for considered, _ in lent],
                lent=True,
            )
            columns, labels = dataclasses.replace(columns, names=names), list(place)
        sources = [report.source for report in lending.lenders]
        if sources:  # what these say stands behind what earlier lenders said
            cells = list(columns.also) if columns.also is not None else [""] * len(self)
            for row, references in lending.references.items():
                said = itertools.chain(*map(dataclasses.astuple, references))
                cells[row] = XREF_SEPARATOR.join([*filter(None, [cells[row]]), *said])
            columns = dataclasses.replace(columns, also=Strings.of(cells))
        borrower = Dictionary(columns, labels, (*self.sources, *sources))
        borrower.lending = lending
        return borrower

    def add(
        self, names: Iterable[tuple[str, Sequence[str]]], form: Callable[[str], str] = str
    ) -> Dictionary:
        """A dictionary that also holds annotated mentions, as names of kind `training`.

        Each name remembers how often a mention of its form was annotated with its concept.

        Args:
            names: (mention, CURIEs) pairs, one for each annotation. A mention with several ids
                becomes a name of each. Unknown ids are left out.
            form: the normal form of a name.
        """
        annotated = Counter(
            (text, row) for text, curies in names for curie in curies for row in self.rows(curie)
        )
        if not annotated:
            return self
        return self._with(names=add_annotations(self.columns.names, annotated, form))

    def without(self, names: NDArray[np.int64]) -> Dictionary:
        """A dictionary without some names, given by their rows.

        Raises:
            ValueError: one of them is a preferred name, which cannot be left out.
        """
        kept = np.ones(len(self.names), bool)
        kept[names] = False
        if not kept[self.preferred].all():
            raise ValueError("a preferred name cannot be left out")
        preferred = (np.cumsum(kept) - 1)[self.preferred].astype(np.int32)
        return self._with(names=self.columns.names.take(np.flatnonzero(kept)), preferred=preferred)

    def table(self, normalize: Callable[[str], str]) -> NameTable:
        """The distinct normalised names, each with its concepts."""
        return NameTable.of(map(normalize, self.names), self.name_concept, self.entry_rank)

    def save(self, folder: files.Pathlike) -> None:
        """Write the dictionary to a folder of its own."""
        with persistence.saving(folder, "dictionary", {}, self.open) as aside:
            self.write(aside)

    def write(self, folder: Path) -> None:
        """Write the arrays into a folder that is being saved."""
        persistence.save_arrays(folder, self.columns.arrays())
        persistence.save_json(folder / "labels.json", self.labels)
        persistence.save_json(
            folder / "sources.json", [dataclasses.asdict(s) for s in self.sources]
        )

    @classmethod
    def load(cls, folder: files.Pathlike) -> Dictionary:
        """Memory-map a saved dictionary, or that of a saved model."""
        is_model = (Path(folder) / "dictionary").is_dir()
        kind, part = ("model", "dictionary") if is_model else ("dictionary", "")
        return persistence.load(folder, kind, lambda saved, _: cls.open(saved / part))

    @classmethod
    def open(cls, folder: Path, _config: object = None) -> Dictionary:
        """Memory-map the arrays of a folder that was checked already."""
        arrays = persistence.load_arrays(folder)
        labels = persistence.load_json(folder / "labels.json")
        # what was signed is as its maker wrote it, and may be no dictionary
        if not isinstance(labels, list) or not all(isinstance(text, str) for text in labels):
            raise ValueError("the labels are no list of texts")
        columns = Columns.from_arrays(arrays)
        columns.check(len(labels))
        sources = persistence.load_json(folder / "sources.json")
        return cls(columns, labels, [Source(**source) for source in sources])


def _same_concept(dictionary: Dictionary, other: Dictionary, row: int) -> tuple[int, ...]:
    """The rows of `other` for a concept of `dictionary`, by its id, else by an alternative id."""
    ids = (dictionary.ids[row], *dictionary.alternative_ids(row))
    return next((rows for identifier in ids if (rows := other.rows(identifier))), ())

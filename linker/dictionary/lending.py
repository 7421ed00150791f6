"""Names that other vocabularies lend to the concepts of a dictionary, and what becomes of each.

A vocabulary's concept lends its names where it joins exactly one concept of the dictionary: by ids,
cross-references and mappings. It lends none where its names are those of another concept. A name
is left out where the dictionary has it already, under any concept, or where it would come to
several.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Literal

from linker.dictionary.building import refuse_pipes, source_of
from linker.dictionary.columns import XREF_SEPARATOR, Columns
from linker.errors import LinkerError, OnError, ignore, stop
from linker.ids import counted, namespace, normalized, of_prefix
from linker.io import dictionaries, files, sssom
from linker.records import NAME_KINDS, Concept, IdMapping, Name, NameKind, Reference, Source
from linker.text.normalize import normalize

logger = logging.getLogger(__name__)

Outcome = Literal[
    "lent",
    "lent already",
    "known already",
    "comes to several concepts",
    "kind not lent",
    "names are of another concept",
    "concept joins several",
    "concept joins none",
    "concept is obsolete",
]
Joined = tuple[Concept, tuple[int, ...]]
"""A concept of a lender, and the rows of the dictionary's concepts that it joins."""

PREDICATES = frozenset(("skos:exactMatch", "owl:equivalentClass"))
"""The predicates whose two ids mean the same."""
XREF, ALTERNATIVE_ID = "oboInOwl:hasDbXref", "oboInOwl:hasAlternativeId"
_INVERSE = {  # what the object of a mapping is to its subject; of other predicates nobody says it
    **{same: same for same in (*PREDICATES, XREF, "skos:closeMatch", "skos:relatedMatch")},
    "skos:broadMatch": "skos:narrowMatch",
    "skos:narrowMatch": "skos:broadMatch",
}
_STEPS = 2  # from id to id between two concepts, at most
_OBSOLETE = "obsolete "  # how the label of an obsolete term begins in OBO ontologies

KINDS: Sequence[NameKind] = ("preferred", "exact")
"""The kinds of names, in their own vocabulary, that were best to lend on development data."""


@dataclass(frozen=True, slots=True)
class Lender:
    """A file that lends names.

    The concepts of a file of mappings are its ids; those with a label have it as their name, and a
    text that is mapped to one is another name of it.
    """

    path: str
    source: Source  # in which no concept is counted yet
    concepts: Sequence[Concept]  # obsolete ones included
    mappings: Sequence[IdMapping] = ()
    is_mappings: bool = False  # whether it is a file of mappings


@dataclass(frozen=True, slots=True)
class ConsideredName:
    """A name of a lender, and what became of it."""

    name: Name  # as the lender has it, with the lender's id
    file: str  # of the lender
    concepts: tuple[str, ...]  # ids of our concepts that the lender's concept joins
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class LenderReport:
    """How many concepts and names of a lender were used."""

    source: Source
    joined: int  # concepts that join exactly one of ours
    contradicted: int  # of these, as their names are those of another one
    ambiguous: int  # that join several
    not_joined: int
    unused_mappings: int  # mappings whose predicate does not say that two ids mean the same
    names: Mapping[Outcome, int]  # how many names had each outcome

    def summary(self) -> str:
        """The counts in words, the names by what became of them: the lent ones first."""
        counts = {"lent": 0, **self.names}
        names = ", ".join(f"{outcome} {count:,}" for outcome, count in counts.items())
        text = f"concepts: joined {self.joined:,}"
        if self.contradicted:
            text += f" ({self.contradicted:,} whose names are of another concept)"
        text += f", ambiguous {self.ambiguous:,}, not joined {self.not_joined:,}; names: {names}"
        if self.unused_mappings:
            text += f"; {self.unused_mappings:,} mappings with other predicates not used"
        return text


@dataclass(frozen=True, slots=True)
class Lending:
    """The account of all names that were considered; `Dictionary.with_lent_names` adds the lent."""

    names: Sequence[ConsideredName] = ()
    lenders: Sequence[LenderReport] = ()
    references: Mapping[int, Sequence[Reference]] = field(default_factory=dict)  # of the rows


def read(path: files.Pathlike, *, on_error: OnError = stop) -> Lender:
    """Read a dictionary file or an SSSOM file of mappings, whichever it is by its content.

    Raises:
        LinkerError: the file cannot be read, is neither, or what `on_error` raises.
    """
    path = dictionaries.located(path)
    refuse_pipes([path])
    mappings: list[IdMapping] = []
    start = [] if files.is_folder(path) else files.head(path, on_error=ignore)
    if is_mappings := sssom.recognises(path, start):
        format, release = "sssom", sssom.release(path)
        mappings = list(sssom.read(path, on_error=on_error))
        concepts = _labelled(m for m in mappings if m.predicate_id in PREDICATES)
    else:
        format = dictionaries.detect(path)
        release = dictionaries.release(path, format)
        read_concepts = dictionaries.read(path, format, on_error=on_error)
        # the first name of a form is lent: which one that is does not depend on the file's order
        concepts = sorted(map(_with_names_in_order, read_concepts), key=lambda c: c.id)
    prefixes = Counter(concept.namespace for concept in concepts)
    source = source_of(path, f"{format}, names only", release, prefixes, 0)
    return Lender(str(path), source, concepts, mappings, is_mappings)


def _labelled(mappings: Iterable[IdMapping]) -> list[Concept]:
    """The ids of mappings as concepts, with their labels, and texts mapped to them, as names."""
    labels: dict[str, dict[str, None]] = {}
    literals: dict[str, dict[str, None]] = defaultdict(dict)
    for mapping in mappings:
        if mapping.subject_id:
            labels.setdefault(mapping.subject_id, {})[mapping.subject_label] = None
        else:
            literals[mapping.object_id][mapping.subject_label] = None
        if mapping.object_id:
            labels.setdefault(mapping.object_id, {})[mapping.object_label] = None
        else:
            literals[mapping.subject_id][mapping.object_label] = None
    concepts = []
    for identifier, texts in sorted(labels.items()):
        preferred = [Name(text, identifier, "preferred") for text in sorted(texts) if text]
        others = sorted(literals[identifier].keys() - texts.keys())
        exact = [Name(text, identifier) for text in others]
        names = (*preferred, *exact)
        first = names[0].text if names else ""
        concept = Concept(identifier, first, names, namespace=namespace(identifier))
        is_obsolete = bool(preferred) and first.startswith(_OBSOLETE)
        concepts.append(replace(concept, status="obsolete") if is_obsolete else concept)
    return concepts


def _with_names_in_order(concept: Concept) -> Concept:
    """A concept whose names stand by kind, shorter ones first, then by code points."""

    def place(name: Name) -> tuple[int, int, str]:
        return NAME_KINDS.index(name.kind), len(name.text), name.text

    return replace(concept, names=tuple(sorted(concept.names, key=place)))


@lru_cache(maxsize=1 << 16)
def key(identifier: str) -> str:
    """Write a CURIE as it is compared: with one prefix, for each vocabulary.

    >>> key("ORDO:558"), key("Orphanet:558"), key("SNOMEDCT_US_2023_03_01:19346006")
    ('Orphanet:558', 'Orphanet:558', 'SNOMEDCT:19346006')
    """
    prefix, colon, local = normalized(identifier).partition(":")
    return f"{of_prefix(prefix).prefix}:{local}" if colon else identifier


def vocabulary(identifier: str) -> str:
    """The vocabulary of an id, as ids are compared; empty for one without a prefix."""
    return namespace(key(identifier))


class Joins:
    """Finds the concepts of a dictionary that are the same as a concept of another vocabulary.

    A cross-reference or a mapping is a step from one id to another: a DOID that refers to a MeSH id
    is one step from it, and two where MONDO maps to both. One step wins over two, and there may
    be no more. Where no steps
    lead to the dictionary, a concept joins those that have its id as an alternative one, which is
    weaker, as it is often the id of a broader concept: MEDIC has the DOID of hereditary breast and
    ovarian cancer on susceptibilities to it, while this DOID refers to the right id of MeSH.

    Args:
        columns: the arrays of the dictionary.
        mappings: between ids of any vocabularies that mean the same, used in both directions.
    """

    def __init__(self, columns: Columns, mappings: Iterable[IdMapping]) -> None:
        self._own = {key(i): [row] for row, i in enumerate(columns.ids)}
        self._any = dict(zip(map(key, columns.old_ids), columns.old_concepts.tolist(), strict=True))
        self._any |= self._own
        self._next: dict[str, set[str]] = defaultdict(set)  # the ids one step away
        for identifier, xrefs in zip(columns.ids, columns.xrefs, strict=True):
            for xref in filter(None, xrefs.split(XREF_SEPARATOR)):
                self._next[key(xref)].add(key(identifier))
        self.prefixes = Counter(map(namespace, {*self._any, *self._next}))
        for mapping in mappings:
            subject, target = key(mapping.subject_id), key(mapping.object_id)
            self._next[subject].add(target)
            self._next[target].add(subject)

    def rows(self, concept: Concept) -> tuple[int, ...]:
        """The rows of the dictionary's concepts that are the same as a concept, in order."""
        ids = {key(identifier) for identifier in (concept.id, *concept.alt_ids)}
        reached, seen, known = ids, set[str](), self._own
        xrefs = set(map(key, concept.xrefs))
        for _ in range(_STEPS + 1):
            if rows := {row for i in reached for row in known.get(i, ())}:
                break
            seen |= reached
            reached = xrefs.union(*(self._next.get(i, ()) for i in reached)) - seen
            xrefs, known = set(), self._any
        return tuple(sorted(rows or {row for i in ids for row in self._any.get(i, ())}))


def consider(
    columns: Columns, lenders: Sequence[Lender], form: Callable[[str], str] = normalize
) -> Lending:
    """Decide which names are lent to the concepts of a dictionary.

    Args:
        columns: the arrays of the dictionary.
        lenders: the files that lend, in the order in which they lend a name that several have.
        form: the normal form of a name, by which names are the same.

    Raises:
        LinkerError: no concept of a dictionary that lends joins one of ours, or no id in any file
            of mappings, where nothing else lends.
    """
    mappings: list[IdMapping] = []
    for lender in lenders:
        for mapping in lender.mappings:
            if mapping.predicate_id in PREDICATES and not mapping.is_literal:
                mappings.append(mapping)
    joins = Joins(columns, mappings)
    joined = [[(c, joins.rows(c)) for c in lender.concepts] for lender in lenders]
    names = _considered(columns, lenders, joined, form)
    reports = [_report(*of_lender) for of_lender in zip(lenders, joined, names, strict=True)]
    join_any = any(report.joined + report.ambiguous for report in reports)
    for lender, report in zip(lenders, reports, strict=True):
        problem = ""
        if not report.joined + report.ambiguous:
            ids = (i for concept in lender.concepts for i in (concept.id, *concept.xrefs))
            problem = (
                f"{lender.path}: joins no concept of the dictionary; it has ids and references of "
                f"{counted(Counter(map(vocabulary, ids))) or 'no vocabulary'}, and "
                f"{counted(joins.prefixes)} are wanted; give another file with --lend, "
                "or also a file of mappings (SSSOM) between the two"
            )
            if not (lender.is_mappings and join_any):
                raise LinkerError(problem)
        # a file of mappings without labels joins the concepts of other files, and lends nothing
        elif not report.source.concepts and any(concept.names for concept in lender.concepts):
            problem = f"{lender.path}: lends no name ({report.summary()})"
        if problem:
            logger.warning("%s", problem)
    considered = [name for of_lender in names for name in of_lender]
    return Lending(considered, reports, references(columns, lenders))


def references(columns: Columns, lenders: Iterable[Lender]) -> dict[int, list[Reference]]:
    """What lenders say of the ids of the dictionary's concepts and of ids of other vocabularies.

    These are the mappings of files of mappings, with any predicate, and the cross-references of
    dictionaries. Only what one file says of both ids is taken, and not of alternative ids: nobody
    vouches for chains. What a lender knows as obsolete is left out.

    Returns:
        The references by the rows of the concepts, in the order of the lenders.
    """
    row_of = {key(identifier): row for row, identifier in enumerate(columns.ids)}
    found: dict[int, list[Reference]] = defaultdict(list)
    for lender in lenders:
        obsolete = {concept.id for concept in lender.concepts if concept.status != "current"}
        said = [
            (mapping.subject_id, mapping.predicate_id, mapping.object_id)
            for mapping in lender.mappings
            if not mapping.is_literal
        ]
        if not lender.is_mappings:
            said = [(concept.id, XREF, x) for concept in lender.concepts for x in concept.xrefs]
        inverse = [(b, _INVERSE[predicate], a) for a, predicate, b in said if predicate in _INVERSE]
        for own, predicate, other in (*said, *inverse):
            if (row := row_of.get(key(own))) is not None and not {own, other} & obsolete:
                texts = normalized(other), predicate, lender.source.file
                found[row].append(Reference(*(t.replace(XREF_SEPARATOR, " ") for t in texts)))
    return found


def _considered(
    columns: Columns,
    lenders: Sequence[Lender],
    joined: Sequence[Sequence[Joined]],
    form: Callable[[str], str],
) -> list[list[ConsideredName]]:
    """The names of each lender, in their order, with what becomes of each."""
    every = [one for of_lender in joined for one in of_lender]
    forms = {text: form(text) for text in {name.text for c, _ in every for name in c.names}}
    wanted, owners = {*forms.values()}, defaultdict[str, set[int]](set)
    for text, row in zip(columns.names.texts, columns.names.concept.tolist(), strict=True):
        if (text := form(text)) in wanted:
            owners[text].add(row)
    refusals = [[_refusal(c, rows, owners, forms) for c, rows in one] for one in joined]
    rows_of: dict[str, set[tuple[int, ...]]] = defaultdict(set)  # where names of a form come to
    for (concept, rows), refusal in zip(every, chain.from_iterable(refusals), strict=True):
        for name in concept.names:
            if refusal is None and name.kind in KINDS:
                rows_of[forms[name.text]].add(rows)
    lent: set[str] = set()

    def outcome(name: Name, refusal: Outcome | None) -> Outcome:
        text = forms[name.text]
        if refusal or name.kind not in KINDS:
            return refusal or "kind not lent"
        if not text or text in owners:  # what has no form cannot be found
            return "known already"
        if len(rows_of[text]) > 1:
            return "comes to several concepts"
        is_lent = text in lent
        lent.add(text)
        return "lent already" if is_lent else "lent"

    return [
        [
            ConsideredName(
                name,
                lender.source.file,
                tuple(columns.ids[row] for row in rows),
                outcome(name, refusal),
            )
            for (concept, rows), refusal in zip(of_lender, its_refusals, strict=True)
            for name in concept.names
        ]
        for lender, of_lender, its_refusals in zip(lenders, joined, refusals, strict=True)
    ]


def _refusal(
    concept: Concept,
    rows: tuple[int, ...],
    owners: Mapping[str, Collection[int]],
    forms: Mapping[str, str],
) -> Outcome | None:
    """Why a concept of a lender lends none of its names; None where it may lend them.

    Args:
        concept: of a lender.
        rows: of the dictionary's concepts that it joins.
        owners: the rows of the concepts that have a name in the dictionary, by its form.
        forms: of the lender's names.
    """
    if concept.status != "current":
        return "concept is obsolete"
    if len(rows) != 1:
        return "concept joins several" if rows else "concept joins none"
    return "names are of another concept" if is_another(concept, rows[0], owners, forms) else None


def is_another(
    concept: Concept, row: int, owners: Mapping[str, Collection[int]], forms: Mapping[str, str]
) -> bool:
    """Whether a concept is another one than it joins, by the names that the dictionary has, too.

    Its preferred name is that of another concept, and of its exact names at least as many are those
    of others as of the one that it joins. Arguments as for `_refusal`.
    """
    preferred = {forms[name.text] for name in concept.names if name.kind == "preferred"}
    exact = {forms[name.text] for name in concept.names if name.kind in KINDS}
    known = exact & owners.keys()
    others = {text for text in known if row not in owners[text]}
    return not preferred.isdisjoint(others) and 2 * len(others) >= len(known)


def _report(
    lender: Lender, joined: Sequence[Joined], names: Sequence[ConsideredName]
) -> LenderReport:
    ids: dict[Outcome, set[str]] = defaultdict(set)
    for considered in names:
        ids[considered.outcome].add(considered.name.concept_id)
    sizes = [len(rows) for concept, rows in joined if concept.status == "current"]
    return LenderReport(
        replace(lender.source, concepts=len(ids["lent"])),
        sizes.count(1),
        len(ids["names are of another concept"]),
        sum(size > 1 for size in sizes),
        sizes.count(0),
        sum(mapping.predicate_id not in PREDICATES for mapping in lender.mappings),
        dict(Counter(considered.outcome for considered in names).most_common()),
    )

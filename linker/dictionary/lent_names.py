"""Names that other vocabularies lend to the concepts of a dictionary, and what became of each.

A vocabulary's concept lends its names where it joins exactly one concept of the borrower. A name is
left out where the borrower has it already, under any concept, or where it would come to several.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from linker.dictionary.joins import PREDICATES, Joins, key
from linker.dictionary.lenders import Lender
from linker.errors import LinkerError, UsageError
from linker.ids import counted, namespace
from linker.text.normalize import normalize
from linker.types import NAME_KINDS, Concept, Name, NameKind, Source

if TYPE_CHECKING:
    from linker.dictionary.dictionary import Dictionary

logger = logging.getLogger(__name__)

Outcome = Literal[
    "lent",
    "lent already",
    "known already",
    "comes to several concepts",
    "kind not lent",
    "concept joins several",
    "concept joins none",
    "concept is obsolete",
]


@dataclass(frozen=True, slots=True)
class LendingOptions:
    """Which names are lent; the defaults are what was best on development data."""

    kinds: tuple[NameKind, ...] = ("preferred", "exact")  # of the names in their own vocabulary
    steps: int = 2  # cross-references and mappings between two concepts; 2: over a third vocabulary
    one_to_many: bool = False  # whether a concept that joins several lends its names to all of them


RULE = LendingOptions()
_NONE = "no cross-references"
_KINDS = tuple(kind for kind in NAME_KINDS if kind != "training")


def options(kinds: Sequence[str]) -> LendingOptions:
    """The rule with other kinds of names; those of the rule where none is given.

    Raises:
        UsageError: one is not a kind of names that dictionaries have.
    """
    if unknown := [kind for kind in kinds if kind not in _KINDS]:
        known = ", ".join(_KINDS)
        raise UsageError(f"{unknown[0]!r} is no kind of names to lend; choose of {known}")
    return LendingOptions(tuple(kind for kind in _KINDS if kind in kinds)) if kinds else RULE


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
    ambiguous: int  # that join several
    not_joined: int
    unused_mappings: int  # mappings whose predicate does not say that two ids mean the same
    names: Mapping[Outcome, int]  # how many names had each outcome

    def summary(self) -> str:
        """The counts in words, the names by what became of them: the lent ones first."""
        counts = {"lent": 0, **self.names}
        names = ", ".join(f"{outcome} {count:,}" for outcome, count in counts.items())
        unused = (
            f"; {self.unused_mappings:,} mappings with other predicates not used"
            if self.unused_mappings
            else ""
        )
        return (
            f"concepts: joined {self.joined:,}, ambiguous {self.ambiguous:,}, "
            f"not joined {self.not_joined:,}; names: {names}{unused}"
        )


@dataclass(frozen=True, slots=True)
class Lending:
    """A dictionary with lent names, and the account of all names that were considered."""

    dictionary: Dictionary
    names: tuple[ConsideredName, ...] = ()
    lenders: tuple[LenderReport, ...] = ()


@dataclass(frozen=True, slots=True)
class _Match:
    """A concept of a lender, with the rows of our concepts that it joins."""

    lender: int  # place of the lender
    concept: Concept
    rows: tuple[int, ...]


def lend(
    borrower: Dictionary,
    lenders: Sequence[Lender],
    options: LendingOptions = RULE,
    form: Callable[[str], str] = normalize,
) -> Lending:
    """Lend names to the concepts of a dictionary.

    Lent names keep their kind, but a preferred one is exact for the borrower.

    Args:
        borrower: the dictionary; it is not changed.
        lenders: the files that lend, in the order in which they lend a name that several have.
        options: which names are lent.
        form: the normal form of a name, by which names are the same.

    Raises:
        LinkerError: no concept of a dictionary that lends joins one of the borrower, or no id in
            any file of mappings, where nothing else lends.
    """
    mappings = itertools.chain.from_iterable(lender.mappings for lender in lenders)
    joins = Joins(borrower, mappings, options.steps)
    matches = [
        _Match(place, concept, joins.rows(concept))
        for place, lender in enumerate(lenders)
        for concept in lender.concepts
    ]
    names = _considered(borrower, lenders, matches, options, form)
    lent = [
        Name(n.name.text, identifier, _lent_kind(n.name.kind), n.name.language, n.file)
        for n in names
        if n.outcome == "lent"
        for identifier in n.concepts
    ]
    reports = _reports(lenders, matches, names)
    _check(joins, borrower, lenders, reports)
    dictionary = borrower.with_lent_names(lent, [report.source for report in reports])
    return Lending(dictionary, tuple(names), reports)


def _lent_kind(kind: NameKind) -> NameKind:
    return "exact" if kind == "preferred" else kind


def _considered(
    borrower: Dictionary,
    lenders: Sequence[Lender],
    matches: Sequence[_Match],
    options: LendingOptions,
    form: Callable[[str], str],
) -> list[ConsideredName]:
    """All names of the lenders, in their order, with what becomes of each."""
    known = {"", *map(form, borrower.names)}  # a name of which nothing is left cannot be found
    outcomes = [
        (match, name, _outcome_by_concept(match, name, options))
        for match in matches
        for name in match.concept.names
    ]
    rows_of: dict[str, set[tuple[int, ...]]] = defaultdict(set)  # where the names of a form come to
    for match, name, outcome in outcomes:
        if outcome == "lent":
            rows_of[form(name.text)].add(match.rows)
    lent: set[str] = set()
    names = []
    for match, name, outcome in outcomes:
        if outcome == "lent":
            text = form(name.text)
            if text in known:
                outcome = "known already"
            elif len(rows_of[text]) > 1:
                outcome = "comes to several concepts"
            elif text in lent:
                outcome = "lent already"
            lent.add(text)
        ids = tuple(borrower.ids[row] for row in match.rows)
        names.append(ConsideredName(name, lenders[match.lender].source.file, ids, outcome))
    return names


def _outcome_by_concept(match: _Match, name: Name, options: LendingOptions) -> Outcome:
    """What becomes of a name, as far as its concept and kind decide."""
    if match.concept.status != "current":
        return "concept is obsolete"
    if not match.rows:
        return "concept joins none"
    if len(match.rows) > 1 and not options.one_to_many:
        return "concept joins several"
    return "lent" if name.kind in options.kinds else "kind not lent"


def _reports(
    lenders: Sequence[Lender], matches: Sequence[_Match], names: Sequence[ConsideredName]
) -> tuple[LenderReport, ...]:
    reports = []
    considered = iter(names)
    for place, lender in enumerate(lenders):
        concepts = [match for match in matches if match.lender == place]
        outcomes: Counter[Outcome] = Counter()
        lending = 0
        for match in concepts:
            names_of_concept = itertools.islice(considered, len(match.concept.names))
            counts = Counter(name.outcome for name in names_of_concept)
            outcomes.update(counts)
            lending += counts["lent"] > 0
        sizes = [len(match.rows) for match in concepts if match.concept.status == "current"]
        reports.append(
            LenderReport(
                replace(lender.source, concepts=lending),
                sizes.count(1),
                sum(size > 1 for size in sizes),
                sizes.count(0),
                lender.unused,
                dict(outcomes.most_common()),
            )
        )
    return tuple(reports)


def _check(
    joins: Joins, borrower: Dictionary, lenders: Sequence[Lender], reports: Sequence[LenderReport]
) -> None:
    """Warn of lenders that lend nothing, and raise LinkerError for those that join nothing."""
    join = [report.joined + report.ambiguous > 0 for report in reports]
    for lender, report, joins_some in zip(lenders, reports, join, strict=True):
        if not joins_some:
            problem = _why_not_joined(joins, lender)
            if not lender.is_mappings or not any(join):
                raise LinkerError(problem)
            logger.warning("%s", problem)
        elif not report.source.concepts and not _maps_only(lender):
            same = any(source.sha256 == report.source.sha256 for source in borrower.sources)
            why = "it is a file of the dictionary itself" if same else report.summary()
            logger.warning("%s: lends no name (%s)", lender.path, why)


def _maps_only(lender: Lender) -> bool:
    """Whether a file of mappings has no labels, so that it joins the concepts of other files."""
    return lender.is_mappings and not any(concept.names for concept in lender.concepts)


def _why_not_joined(joins: Joins, lender: Lender) -> str:
    ids = Counter(concept.namespace for concept in lender.concepts)
    xrefs = Counter(namespace(key(x)) for concept in lender.concepts for x in concept.xrefs)
    kind, has = "ids", f"{counted(ids)} ids"
    if not lender.is_mappings:
        kind, has = "concepts", f"{has} and {f'references to {counted(xrefs)}' if xrefs else _NONE}"
    elif not lender.concepts:
        has = f"no mapping with {' or '.join(sorted(PREDICATES))}, but {lender.unused:,} others"
    return (
        f"{lender.path}: none of its {kind} joins a concept of the dictionary; it has {has}, "
        f"and {counted(joins.prefixes)} are wanted; give another file with --lend, "
        "or also a file of mappings (SSSOM) between the two"
    )

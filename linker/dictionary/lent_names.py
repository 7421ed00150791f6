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

from linker.dictionary.joins import Joins
from linker.dictionary.lenders import Lender
from linker.text.normalize import normalize
from linker.types import Concept, Name, NameKind, Source

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


@dataclass(frozen=True, slots=True)
class Lending:
    """A dictionary with lent names, and the account of all names that were considered."""

    dictionary: Dictionary
    names: tuple[ConsideredName, ...] = ()
    lenders: tuple[LenderReport, ...] = ()


@dataclass(frozen=True, slots=True)
class _Joined:
    """A concept of a lender with the rows of our concepts that it joins."""

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
        LinkerError: no concept of a lender joins one of the borrower.
    """
    mappings = itertools.chain.from_iterable(lender.mappings for lender in lenders)
    joins = Joins(borrower, mappings, options.steps)
    joined = [
        _Joined(place, concept, joins.rows(concept))
        for place, lender in enumerate(lenders)
        for concept in lender.concepts
    ]
    names = _considered(borrower, lenders, joined, options, form)
    lent = [
        Name(n.name.text, identifier, _lent_kind(n.name.kind), n.name.language, n.file)
        for n in names
        if n.outcome == "lent"
        for identifier in n.concepts
    ]
    reports = _reports(lenders, joined, names)
    dictionary = borrower.with_lent_names(lent, [report.source for report in reports])
    return Lending(dictionary, tuple(names), reports)


def _lent_kind(kind: NameKind) -> NameKind:
    return "exact" if kind == "preferred" else kind


def _considered(
    borrower: Dictionary,
    lenders: Sequence[Lender],
    joined: Sequence[_Joined],
    options: LendingOptions,
    form: Callable[[str], str],
) -> list[ConsideredName]:
    """All names of the lenders, in their order, with what becomes of each."""
    known = {"", *map(form, borrower.names)}  # a name of which nothing is left cannot be found
    outcomes = [
        (one, name, _outcome_by_concept(one, name, options))
        for one in joined
        for name in one.concept.names
    ]
    rows_of: dict[str, set[tuple[int, ...]]] = defaultdict(set)  # where the names of a form come to
    for one, name, outcome in outcomes:
        if outcome == "lent":
            rows_of[form(name.text)].add(one.rows)
    lent: set[str] = set()
    names = []
    for one, name, outcome in outcomes:
        if outcome == "lent":
            text = form(name.text)
            if text in known:
                outcome = "known already"
            elif len(rows_of[text]) > 1:
                outcome = "comes to several concepts"
            elif text in lent:
                outcome = "lent already"
            lent.add(text)
        ids = tuple(borrower.ids[row] for row in one.rows)
        names.append(ConsideredName(name, lenders[one.lender].source.file, ids, outcome))
    return names


def _outcome_by_concept(joined: _Joined, name: Name, options: LendingOptions) -> Outcome:
    """What becomes of a name, as far as its concept and kind decide."""
    if joined.concept.status != "current":
        return "concept is obsolete"
    if not joined.rows:
        return "concept joins none"
    if len(joined.rows) > 1 and not options.one_to_many:
        return "concept joins several"
    return "lent" if name.kind in options.kinds else "kind not lent"


def _reports(
    lenders: Sequence[Lender], joined: Sequence[_Joined], names: Sequence[ConsideredName]
) -> tuple[LenderReport, ...]:
    reports = []
    considered = iter(names)
    for place, lender in enumerate(lenders):
        concepts = [one for one in joined if one.lender == place]
        outcomes: Counter[Outcome] = Counter()
        lending = 0
        for one in concepts:
            own = [name.outcome for name in itertools.islice(considered, len(one.concept.names))]
            outcomes.update(own)
            lending += "lent" in own
        sizes = [len(one.rows) for one in concepts if one.concept.status == "current"]
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

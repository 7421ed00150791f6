"""Which concepts of two vocabularies are the same: by ids, cross-references and mappings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from linker.dictionary.columns import XREF_SEPARATOR
from linker.ids import namespace, normalized
from linker.types import Concept, IdMapping

if TYPE_CHECKING:
    from linker.dictionary.dictionary import Dictionary

PREDICATES = frozenset(("skos:exactMatch", "owl:equivalentClass"))
"""The predicates whose two ids mean the same."""

# Prefixes of one vocabulary that `normalized` leaves apart, since users see them on output.
_SAME = {
    "ORDO": "ORPHANET",
    "ORPHA": "ORPHANET",
    "NCI": "NCIT",
    "SNOMEDCT": "SNOMEDCT_US",
    "SNOMED": "SNOMEDCT_US",
    "SCTID": "SNOMEDCT_US",
    "ICD-10": "ICD10",
    "ICD-9": "ICD9",
    "ICD-O": "ICDO",
}
_RowsOf = dict[str, tuple[int, ...]]  # id -> rows of concepts
_RELEASE = re.compile(r"_\d{4}_\d\d_\d\d\Z")  # DOID writes SNOMEDCT_US_2023_03_01


@lru_cache(maxsize=1 << 16)
def key(identifier: str) -> str:
    """Write a CURIE as it is compared: with one prefix, in upper case, for each vocabulary.

    >>> key("ORDO:558"), key("Orphanet:558"), key("SNOMEDCT_US_2023_03_01:19346006")
    ('ORPHANET:558', 'ORPHANET:558', 'SNOMEDCT_US:19346006')
    """
    prefix, colon, local = normalized(identifier).partition(":")
    prefix = _RELEASE.sub("", prefix.upper())
    return f"{_SAME.get(prefix, prefix)}:{local}" if colon else identifier


class Joins:
    """Finds the concepts of a dictionary that are the same as a concept of another vocabulary.

    A cross-reference or a mapping is a step from one id to another: a DOID that refers to a MeSH id
    is one step from it, and two where MONDO maps to both. The fewest steps decide. Where no steps
    lead to the dictionary, a concept joins those that have its id as an alternative one, which is
    weaker, as it is often the id of a broader concept: MEDIC has the DOID of hereditary breast and
    ovarian cancer on susceptibilities to it, while this DOID refers to the right id of MeSH.

    Args:
        borrower: the dictionary.
        mappings: between ids of any vocabularies, used in both directions; those whose predicate
            is not one of `PREDICATES` are not used.
        steps: how many steps may lie between two concepts.

    Attributes:
        prefixes: how many ids and cross-references of each vocabulary the dictionary has.
    """

    def __init__(self, borrower: Dictionary, mappings: Iterable[IdMapping], steps: int) -> None:
        self._steps = steps
        self._own: _RowsOf = {key(i): (row,) for row, i in enumerate(borrower.ids)}
        self._any: _RowsOf = {key(i): rows for i, rows in borrower.old_ids.items()} | self._own
        self._next: dict[str, set[str]] = defaultdict(set)  # the ids one step away
        for identifier, xrefs in zip(borrower.ids, borrower.columns.xrefs, strict=True):
            for xref in filter(None, xrefs.split(XREF_SEPARATOR)):
                self._next[key(xref)].add(key(identifier))
        self.prefixes = Counter(map(namespace, {*self._any, *self._next}))
        for mapping in filter(is_used, mappings):
            subject, target = key(mapping.subject_id), key(mapping.object_id)
            self._next[subject].add(target)
            self._next[target].add(subject)

    def rows(self, concept: Concept) -> tuple[int, ...]:
        """The rows of the dictionary's concepts that are the same as a concept, in order."""
        ids = {key(identifier) for identifier in (concept.id, *concept.alt_ids)}
        seen: set[str] = set()
        reached, rows = ids, _rows(ids, self._own)
        for step in range(self._steps):
            if rows:
                break
            seen |= reached
            xrefs = map(key, concept.xrefs) if step == 0 else ()
            reached = set(xrefs).union(*(self._next.get(i, ()) for i in reached)) - seen
            rows = _rows(reached, self._any)
        return tuple(sorted(rows or _rows(ids, self._any)))


def _rows(identifiers: Iterable[str], rows_of: _RowsOf) -> set[int]:
    return {row for identifier in identifiers for row in rows_of.get(identifier, ())}


def is_used(mapping: IdMapping) -> bool:
    """Whether the two ids of a mapping mean the same."""
    return mapping.predicate_id in PREDICATES

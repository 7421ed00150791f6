"""Taking the parents of concepts from another dictionary, which knows them by the same ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from linker.dictionary.hierarchy import Hierarchy

if TYPE_CHECKING:
    from linker.dictionary.dictionary import Dictionary


def lend_parents(borrower: Dictionary, lender: Dictionary) -> Hierarchy:
    """The hierarchy of `borrower` with the parents that `lender` gives its concepts.

    Concepts are the same where they share their id, else an alternative id. A parent that the
    borrower does not know, or that is the concept itself under another id, is replaced by its own
    parents. A concept that the lender does not know keeps its parents.
    """
    pairs: set[tuple[int, int]] = set()
    for row in range(len(borrower)):
        lender_rows = _matches(borrower, row, lender)
        for lender_row in lender_rows:
            pairs.update((row, parent) for parent in _lent(borrower, row, lender, lender_row))
        if not lender_rows:
            pairs.update((row, parent) for parent in _parents(borrower, row))
    return Hierarchy.of(len(borrower), pairs)


def _lent(borrower: Dictionary, row: int, lender: Dictionary, lender_row: int) -> Iterator[int]:
    """The borrower's rows of the nearest known ancestors of a concept, other than itself."""
    seen, waiting = {lender_row}, _parents(lender, lender_row)
    while waiting:
        parent = waiting.pop()
        if parent in seen:
            continue
        seen.add(parent)
        known = [match for match in _matches(lender, parent, borrower) if match != row]
        yield from known
        if not known:
            waiting += _parents(lender, parent)


def _parents(dictionary: Dictionary, row: int) -> list[int]:
    rows: list[int] = dictionary.hierarchy.parents([row])[0].tolist()
    return rows


def _matches(dictionary: Dictionary, row: int, other: Dictionary) -> tuple[int, ...]:
    """The rows of `other` for a concept of `dictionary`, by its id, else by an alternative id."""
    ids = (dictionary.ids[row], *dictionary.alternative_ids(row))
    return next((rows for identifier in ids if (rows := other.rows(identifier))), ())

"""Inspection of dictionaries: figures, and the changes between two releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linker import ids
from linker.dictionary import Dictionary
from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.text.normalize import normalize


def stats(dictionary: Dictionary) -> dict[str, Any]:
    """Count what a dictionary holds; names are compared once normalised."""
    table, hierarchy = dictionary.table(normalize), dictionary.hierarchy
    concepts = np.diff(table.indptr)
    statuses = Counter(dictionary.columns.old_status.tolist())
    lent = Counter(dictionary.lender(row) for row in dictionary.lent_rows.tolist())
    return {
        "sources": [asdict(source) for source in dictionary.sources],
        "concepts": len(dictionary),
        "namespaces": dict(Counter(map(ids.namespace, dictionary.ids)).most_common()),
        "names": len(dictionary.names),
        **({"lent_names": dict(lent.most_common())} if lent else {}),
        "distinct_names": int((concepts > 0).sum()),
        "ambiguous_names": int((concepts > 1).sum()),
        "alternative_ids": statuses[ALTERNATIVE],
        "obsolete_ids": statuses[OBSOLETE],
        "merged_ids": statuses[MERGED],
        "parent_edges": hierarchy.edges,
        "roots": [dictionary.ids[r] for r in hierarchy.roots[:10]],
        "depth": int(hierarchy.depth.max()),
        "cycles": [[dictionary.ids[r] for r in cycle] for cycle in hierarchy.cycles()],
    }


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two releases."""

    what: str  # for example "concept added"
    concept_id: str
    name: str  # the preferred name of the concept
    details: tuple[str, ...] = ()  # the names or ids that were added or removed


def diff(old: Dictionary, new: Dictionary) -> Iterator[Change]:
    """Compare two releases of a dictionary.

    Yields:
        Concepts that were removed or moved to another id, concepts that were added, and what
        changed in the others: names, parents and alternative ids.
    """
    before, after = ({identifier: row for row, identifier in enumerate(d.ids)} for d in (old, new))
    for identifier, row in before.items():
        if identifier not in after:
            successors = tuple(new.ids[r] for r in new.rows(identifier))
            yield Change(
                "concept moved" if successors else "concept removed",
                identifier,
                old.preferred_name(row),
                successors,
            )
    for identifier, row in after.items():
        if identifier not in before:
            yield Change("concept added", identifier, new.preferred_name(row))
    for identifier, row in after.items():
        if identifier in before:
            yield from _changes(old, before[identifier], new, row)


def _changes(old: Dictionary, before: int, new: Dictionary, after: int) -> Iterator[Change]:
    """The changes in one concept."""
    identifier, name = new.ids[after], new.preferred_name(after)
    if old.preferred_name(before) != name:
        yield Change("preferred name changed", identifier, name, (old.preferred_name(before),))
    was, now = _lists(old, before), _lists(new, after)
    for field in was:
        removed, added = was[field] - now[field], now[field] - was[field]
        for verb, changed in (("removed", removed), ("added", added)):
            if changed:
                yield Change(f"{field} {verb}", identifier, name, tuple(sorted(changed)))


def _lists(dictionary: Dictionary, row: int) -> dict[str, set[str]]:
    """What a concept has of several kinds, in texts."""
    return {
        "names": {dictionary.names[name] for name in dictionary.name_rows(row).tolist()},
        "parents": {dictionary.ids[parent] for parent in dictionary.columns.parents[row].tolist()},
        "alternative ids": set(dictionary.alternative_ids(row)),
    }

"""From the names that were found for queries to their concepts, for a whole batch at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.candidates.index import Floats, Hits, Integers
from linker.dictionary import NameTable


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best concepts of several queries; arrays but `indptr` and `own` have a number for each.

    Those of query i are the places `indptr[i]` to `indptr[i + 1]`, best first. `names`, `entries`,
    `scores`, `sparse` and `dense` are of the best name of each concept.
    """

    indptr: NDArray[np.int64]  # (queries + 1,)
    concepts: Integers  # rows of the dictionary
    names: Integers  # rows of the name table
    entries: Integers  # rows of `Dictionary.names`
    scores: Floats
    sparse: Floats | None  # the parts of the scores, as in `Hits`
    dense: Floats | None
    matches: Integers  # how many names of the concept were among the hits of the query
    second: Floats  # the score of the second best of these; the best one's where it is alone
    own: Floats | None = None  # (queries,) as in `Hits`

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def queries(self) -> NDArray[np.int64]:
        """The number of the query that each candidate is of, (candidates,)."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def take(self, queries: NDArray[np.int64]) -> Candidates:
        """The candidates of some queries, given their numbers, any number of times."""
        counts = np.diff(self.indptr)[queries]
        rows = ranges(self.indptr[queries], counts)
        columns = {name: getattr(self, name) for name in _COLUMNS}
        taken: dict[str, Any] = {
            name: None if column is None else column[rows] for name, column in columns.items()
        }
        own = None if self.own is None else self.own[queries]
        return Candidates(ends(counts), **taken, own=own)

    @staticmethod
    def joined(parts: Sequence[Candidates], numbers: Sequence[int]) -> Candidates:
        """The candidates of several batches, in the order of their queries.

        Args:
            parts: the batches, one at least.
            numbers: of the queries, those of one batch behind those of another.
        """
        counts = np.concatenate([np.diff(part.indptr) for part in parts])
        place = np.argsort(np.asarray(numbers, np.int64))
        starts, indptr = np.cumsum(counts) - counts, ends(counts[place])
        order = ranges(starts[place], counts[place])
        columns: dict[str, Any] = {}
        for name in _COLUMNS:
            some = [getattr(part, name) for part in parts]
            columns[name] = None if some[0] is None else np.concatenate(some)[order]
        own = None if parts[0].own is None else np.concatenate([p.own for p in parts])[place]
        return Candidates(indptr, **columns, own=own)


_COLUMNS = tuple(field.name for field in dataclasses.fields(Candidates))[1:-1]


def by_concept(
    hits: Hits, k: int, table: NameTable, id_rank: Integers, entry_rank: Integers
) -> Candidates:
    """The k best concepts of each query, given the names that were found for it.

    Args:
        hits: the names, each with its score.
        k: concepts of each query.
        table: of the names.
        id_rank: (concepts,) the place of each concept in the order of ids.
        entry_rank: (names of the dictionary,) how names rank where scores are equal.
    """
    hit, pick = concepts_of(table, hits.rows)
    concepts, entries = table.concepts[pick], table.entries[pick]
    scores, query = hits.scores[hit], hits.queries[hit]
    ranks = entry_rank[entries]
    order = np.lexsort((entries, ranks, -scores, concepts, query))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(query[order]) != 0) | (np.diff(concepts[order]) != 0)
    first = np.flatnonzero(is_first)
    counts = np.diff(np.append(first, len(order)))
    best, second = order[first], scores[order[first + (counts > 1)]]
    place = np.lexsort((id_rank[concepts[best]], ranks[best], -scores[best], query[best]))
    place = place[np.arange(len(place)) - np.searchsorted(query[best], query[best]) < k]
    best = best[place]
    return Candidates(
        np.searchsorted(query[best], np.arange(len(hits.indptr))),
        concepts[best],
        hits.rows[hit[best]],
        entries[best],
        scores[best],
        None if hits.sparse is None else hits.sparse[hit[best]],
        None if hits.dense is None else hits.dense[hit[best]],
        counts[place].astype(np.int32),
        second[place],
        hits.own,
    )


def concepts_of(table: NameTable, rows: Integers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The concepts of several names: the place in `rows` and in `table.concepts` of each."""
    starts = table.indptr[rows]
    counts = table.indptr[rows + 1] - starts
    return np.repeat(np.arange(len(rows)), counts), ranges(starts, counts)


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct keys, rising; numpy's own way by hashes takes several times as long."""
    keys = np.sort(keys)
    is_first = np.ones(len(keys), bool)
    is_first[1:] = keys[1:] != keys[:-1]
    return keys[is_first]


def ranges(starts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.int64]:
    """The numbers of several ranges, one range behind another."""
    shift: NDArray[np.int64] = np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
    return np.arange(sizes.sum()) + shift


def ends(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Where ranges of some sizes begin, one behind another; the last number is where all end."""
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def looked_up(
    keys: NDArray[np.int64], values: NDArray[Any], wanted: NDArray[np.int64]
) -> NDArray[Any]:
    """The value of each wanted key, given rising keys with their values; 0 for any other."""
    if not len(keys):
        return np.zeros(len(wanted), values.dtype)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], values.dtype.type(0))

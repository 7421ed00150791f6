"""What was found for queries, in columns; from names to concepts, for a whole batch at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.candidates.index import Floats, Hits, Integers, is_first
from linker.dictionary import NameTable
from linker.dictionary.dictionary import LENT_RANK


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best concepts of several queries; arrays but `indptr` and `own` have a number for each.

    Those of query i are the places `indptr[i]` to `indptr[i + 1]`, best first. `names`, `entries`,
    `scores`, `sparse` and `dense` are of the best name of each concept. Where names are ranked,
    `concepts` holds the first concept of each by id, and `entries` one way to write it.
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
        own = None if self.own is None else self.own[queries]
        return Candidates(ends(counts), **at(self, _COLUMNS, rows), own=own)

    def only(self, places: slice | NDArray[np.int64]) -> Candidates:
        """Some candidates, in the order given, as those of one query."""
        columns = at(self, _COLUMNS, places)
        return Candidates(np.array([0, len(columns["scores"])]), **columns)

    def followed_by(self, other: Candidates) -> Candidates:
        """Those of one query, and behind them the concepts of another list that this one lacks."""
        behind = other.only(np.flatnonzero(~np.isin(other.concepts, self.concepts)))
        return Candidates.joined([self, behind], np.arange(2)).only(slice(None))

    @staticmethod
    def joined(parts: Sequence[Candidates], numbers: NDArray[np.int64]) -> Candidates:
        """The candidates of several batches, in the order of their queries.

        Args:
            parts: the batches, one at least; the queries of each stand in order.
            numbers: of the queries, those of one batch behind those of another.
        """
        if len(parts) == 1:
            return parts[0]
        counts = np.concatenate([np.diff(part.indptr) for part in parts])
        columns: dict[str, Any] = {}
        for name in (*_COLUMNS, "own"):
            of_parts = [getattr(part, name) for part in parts]
            columns[name] = None if of_parts[0] is None else np.concatenate(of_parts)
        return Candidates(ends(counts), **columns).take(np.argsort(numbers))


_COLUMNS = tuple(field.name for field in dataclasses.fields(Candidates))[1:-1]


def at(record: Any, columns: Iterable[str], rows: Any) -> dict[str, Any]:
    """Some rows of the columns of a record; None for a column that it lacks."""
    values = {name: getattr(record, name) for name in columns}
    return {name: None if column is None else column[rows] for name, column in values.items()}


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
    scores, query, ranks = hits.scores[hit], hits.queries[hit], entry_rank[entries]
    order = np.lexsort((entries, ranks, -scores, concepts, query))
    is_best = np.ones(len(order), bool)
    is_best[1:] = (np.diff(query[order]) != 0) | (np.diff(concepts[order]) != 0)
    first = np.flatnonzero(is_best)
    counts = np.diff(np.append(first, len(order)))
    best, second = order[first], scores[order[first + (counts > 1)]]
    place = np.lexsort((id_rank[concepts[best]], ranks[best], -scores[best], query[best]))
    place = place[is_first(query[best], k)]  # sorted by query, before and after
    best = best[place]
    return Candidates(
        indptr=np.searchsorted(query[best], np.arange(len(hits.indptr))),
        concepts=concepts[best],
        names=hits.rows[hit[best]],
        entries=entries[best],
        scores=scores[best],
        **at(hits, ("sparse", "dense"), hit[best]),
        matches=counts[place].astype(np.int32),
        second=second[place],
        own=hits.own,
    )


def by_name(hits: Hits, table: NameTable, id_rank: Integers, entry_rank: Integers) -> Candidates:
    """The names that were found for each query, best first, each with its first concept by id.

    Of names with equal scores the dictionary's own come before lent ones, then they are ordered by
    the id of the first concept, then by row. The arguments are those of `by_concept`.
    """
    hit, pick = concepts_of(table, hits.rows)
    named, first = np.unique(hit, return_index=True)  # a name without a concept is no answer
    rank = np.minimum.reduceat(id_rank[table.concepts[pick]], first)
    is_lent = np.minimum.reduceat(entry_rank[table.entries[pick]], first) >= LENT_RANK
    rows, scores, query = hits.rows[named], hits.scores[named], hits.queries[named]
    order = np.lexsort((rows, rank, is_lent, -scores, query))
    rows, scores = rows[order], scores[order]
    return Candidates(
        indptr=np.searchsorted(query[order], np.arange(len(hits.indptr))),
        concepts=np.argsort(id_rank)[rank[order]].astype(np.int32),
        names=rows,
        entries=table.entries[table.indptr[rows]],
        scores=scores,
        **at(hits, ("sparse", "dense"), named[order]),
        matches=np.ones(len(rows), np.int32),
        second=scores,
        own=hits.own,
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

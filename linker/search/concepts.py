"""Candidates: what is found for queries, from names to concepts, and who generates it.

`Generator` is the base class of candidate generators, which also decides ties.
"""

from __future__ import annotations

import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import NameTable
from linker.dictionary.columns import ranges as ranges
from linker.errors import LinkerError, check_wanted
from linker.search.index import (
    EncodedTexts,
    Floats,
    Hits,
    Integers,
    is_finite,
    is_first,
    lowest_equal,
    most,
)

_OVERFETCH = 5  # names fetched for each concept to rank
_GROWTH = 4  # times as many hits in the next round, where a list may change
_CELLS = 500_000  # hits in memory at once, 4 MB
_WORDS = 12  # of a text, whose order is looked at

Rows = NDArray[np.int64]

Unit = Literal["names", "concepts"]
"""The unit of a ranking: distinct names, or concepts, each scored by its best name."""


class PairScores(NamedTuple):
    """The scores of pairs of a text and a name, (pairs,), and their parts, as in `Hits`."""

    scores: Floats
    sparse: Floats
    dense: Floats | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best concepts of several queries; all arrays but `indptr` have a number for each.

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
    encoded: EncodedTexts | None = None  # the queries

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
        encoded = self.encoded and self.encoded.take(queries)
        return Candidates(ends(counts), **at(self, _COLUMNS, rows), encoded=encoded)

    def only(self, places: slice | NDArray[np.int64]) -> Candidates:
        """Some candidates, in the order given, as those of one query."""
        columns = at(self, _COLUMNS, places)
        return Candidates(np.array([0, len(columns["scores"])]), **columns)

    def kept(self, wanted: NDArray[np.bool_]) -> Candidates:
        """The candidates that are wanted, (candidates,), of the same queries."""
        counts = np.bincount(self.queries[wanted], minlength=len(self.indptr) - 1)
        return Candidates(ends(counts), **at(self, _COLUMNS, wanted), encoded=self.encoded)

    def with_scores(self, found: PairScores) -> Candidates:
        """The same candidates, each found by one name that has these scores."""
        return dataclasses.replace(
            self, scores=found.scores, sparse=found.sparse, dense=found.dense, second=found.scores
        )

    def followed_by(self, others: Candidates) -> Candidates:
        """These candidates, and behind those of each query the concepts that it lacks of others.

        Args:
            others: candidates of the same queries.
        """
        own, more = self.queries, others.queries
        size = np.int64(1 + max(self.concepts.max(initial=0), others.concepts.max(initial=0)))
        is_new = ~np.isin(more * size + others.concepts, own * size + self.concepts)
        query = np.concatenate([own, more[is_new]])
        order = np.argsort(query, kind="stable")
        columns: dict[str, Any] = {}
        for name in _COLUMNS:
            first, behind = getattr(self, name), getattr(others, name)
            columns[name] = (
                None if first is None else np.concatenate([first, behind[is_new]])[order]
            )
        counts = np.bincount(query, minlength=len(self.indptr) - 1)
        return Candidates(ends(counts), **columns, encoded=self.encoded)

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
        for name in _COLUMNS:
            of_parts = [getattr(part, name) for part in parts]
            columns[name] = None if of_parts[0] is None else np.concatenate(of_parts)
        encoded = [part.encoded for part in parts if part.encoded is not None]
        columns["encoded"] = EncodedTexts.joined(encoded) if encoded else None
        return Candidates(ends(counts), **columns).take(np.argsort(numbers))


_COLUMNS = tuple(field.name for field in dataclasses.fields(Candidates))[1:-1]


def at(record: Any, columns: Iterable[str], rows: Any) -> dict[str, Any]:
    """Some rows of the columns of a record; None for a column that it lacks."""
    values = {name: getattr(record, name) for name in columns}
    return {name: None if column is None else column[rows] for name, column in values.items()}


@dataclass(frozen=True)
class NameOrder:
    """The names of a dictionary, and which of those that tie comes first.

    Names whose words stand in the order of the query's come first; then those that were annotated
    more often, own ones before lent ones and those of the better kind (`Dictionary.entry_rank`);
    then shorter ones, then by code points, then by the id of the concept.

    Args:
        table: the normalised names.
        id_rank: (concepts,) the place of each concept in the order of ids.
        entry_rank: (names of the dictionary,) how names rank where scores are equal.
    """

    table: NameTable
    id_rank: Integers
    entry_rank: Integers

    def places(
        self,
        queries: Sequence[str],
        query: Rows,
        run: Rows,
        rows: Integers,
        entries: Integers,
        concepts: Integers,
    ) -> Rows:
        """The place of each of some names among those that it ties with, (names,).

        The places rise from the first of these on; they may have gaps.

        Args:
            queries: in normal form.
            query: the number of the query that each name was found for.
            run: the same number for names that tie.
            rows: of the names in the table.
            entries: of the names in the dictionary.
            concepts: of the names.
        """
        distinct, number = np.unique(rows, return_inverse=True)
        texts = self.table.texts.take(distinct.astype(np.int64))[:]  # much faster than one by one
        disorder = -_pairs_in_order(queries, query, texts, number)
        by_kind = self.entry_rank[entries]
        order = np.lexsort((by_kind, disorder, run))
        is_same = np.diff(run[order]) == 0
        is_same &= np.diff(disorder[order]) == 0
        is_same &= np.diff(by_kind[order]) == 0
        is_tied = np.zeros(len(order), bool)  # only their texts are compared, which takes long
        is_tied[order[1:][is_same]] = True
        is_tied[order[:-1][is_same]] = True
        tied = number[is_tied]
        by_text = sorted(set(tied.tolist()), key=lambda i: (len(texts[i]), texts[i]))
        rank_of_text = np.zeros(len(texts), np.int64)
        rank_of_text[by_text] = np.arange(len(by_text))
        by_id = self.id_rank[concepts]
        return inverse(np.lexsort((by_id, rank_of_text[number], by_kind, disorder)))


def _pairs_in_order(
    queries: Sequence[str], query: Rows, texts: Sequence[str], number: Rows
) -> Rows:
    """How many pairs of words of each name stand in the order of its query, (names,).

    Args:
        queries: in normal form.
        query: the number of the query of each name.
        texts: in normal form.
        number: the number of the text of each name.
    """
    pairs_of = {
        query_number: word_pairs(queries[query_number]) for query_number in set(query.tolist())
    }
    words_of = {
        query_number: set(itertools.chain.from_iterable(pairs))
        for query_number, pairs in pairs_of.items()
    }
    first_words = [_first_words(text) for text in texts]
    counts = np.zeros(len(query), np.int64)
    for place, (query_number, text_number) in enumerate(
        zip(query.tolist(), number.tolist(), strict=True)
    ):
        words = words_of[query_number]
        if not words:
            continue
        shared = [word for word in first_words[text_number] if word in words]
        if len(shared) > 1:
            pairs = itertools.combinations(shared, 2)
            counts[place] = len(pairs_of[query_number].intersection(pairs))
    return counts


def by_concept(hits: Hits, k: int, queries: Sequence[str], names: NameOrder) -> Candidates:
    """The k best concepts of each query, given the names that were found for it.

    Args:
        hits: the names, each with its score.
        k: concepts of each query.
        queries: in normal form.
        names: the names of the dictionary, and their order where scores are equal.
    """
    table = names.table
    hit, pick = concepts_of(table, hits.rows)
    concepts, entries = table.concepts[pick], table.entries[pick]
    scores = hits.scores[hit]
    query = hits.queries[hit]
    order = np.lexsort((-scores, concepts, query))
    is_best = np.ones(len(order), bool)
    is_best[1:] = (np.diff(query[order]) != 0) | (np.diff(concepts[order]) != 0)
    first = np.flatnonzero(is_best)
    counts = np.diff(np.append(first, len(order)))
    best = scores[order[first]]
    second = scores[order[first + (counts > 1)]]
    run = _runs(query[order[first]], best)
    is_wanted = _is_first_run(query[order[first]], run, k)
    # all names of these concepts that are as good as the best one
    owner = np.repeat(np.arange(len(first)), counts)
    is_near = is_wanted[owner] & (scores[order] >= lowest_equal(best)[owner])
    near = order[is_near]
    owner = owner[is_near]
    is_tied = np.bincount(run[owner])[run[owner]] > 1
    tied = near[is_tied]
    rows = hits.rows[hit[tied]]
    places = np.zeros(len(near), np.int64)
    places[is_tied] = names.places(
        queries, query[tied], run[owner[is_tied]], rows, entries[tied], concepts[tied]
    )
    in_order = np.lexsort((places, run[owner]))  # runs rise with their queries
    _, chosen = np.unique(owner[in_order], return_index=True)  # of each concept its first name
    chosen = in_order[np.sort(chosen)]
    chosen = chosen[is_first(query[near[chosen]], k)]
    name = near[chosen]
    concept = owner[chosen]
    return Candidates(
        indptr=np.searchsorted(query[name], np.arange(len(hits.indptr))),
        concepts=concepts[name],
        names=hits.rows[hit[name]],
        entries=entries[name],
        scores=scores[name],
        **at(hits, ("sparse", "dense"), hit[name]),
        matches=counts[concept].astype(np.int32),
        second=second[concept],
        encoded=hits.encoded,
    )


def by_name(hits: Hits, queries: Sequence[str], names: NameOrder) -> Candidates:
    """The names that were found for each query, best first, each with its first concept by id.

    The arguments are those of `by_concept`.
    """
    table = names.table
    hit, pick = concepts_of(table, hits.rows)
    ranks = names.entry_rank[table.entries[pick]]
    ids = names.id_rank[table.concepts[pick]]
    best = pick[np.lexsort((ids, ranks, hit))]
    named, first = np.unique(hit, return_index=True)  # a name without a concept is no answer
    best = best[first]
    rows, scores, query = hits.rows[named], hits.scores[named], hits.queries[named]
    run = _runs(query, scores)
    is_tied = np.bincount(run)[run] > 1
    tied = best[is_tied]
    places = np.zeros(len(named), np.int64)
    places[is_tied] = names.places(
        queries,
        query[is_tied],
        run[is_tied],
        rows[is_tied],
        table.entries[tied],
        table.concepts[tied],
    )
    order = np.lexsort((places, run))  # runs rise with their queries
    rows = rows[order]
    scores = scores[order]
    of_first = np.minimum.reduceat(ids, first) if len(first) else ids
    return Candidates(
        indptr=np.searchsorted(query[order], np.arange(len(hits.indptr))),
        concepts=np.argsort(names.id_rank)[of_first[order]].astype(np.int32),
        names=rows,
        entries=table.entries[table.indptr[rows]],
        scores=scores,
        **at(hits, ("sparse", "dense"), named[order]),
        matches=np.ones(len(rows), np.int32),
        second=scores,
        encoded=hits.encoded,
    )


def _runs(query: Rows, scores: Floats) -> Rows:
    """A number for each score that equal ones of a query share, rising from the best one on.

    Args:
        query: the number of the query of each score, rising.
        scores: in any order for each query; those that rounding may have made different are equal.
    """
    order = np.lexsort((-scores, query))
    query = query[order]
    scores = scores[order]
    is_other = np.zeros(len(order), bool)
    is_other[1:] = (query[1:] != query[:-1]) | (scores[1:] < lowest_equal(scores[:-1]))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(is_other)
    return numbers


def _is_first_run(query: Rows, run: Rows, k: int) -> NDArray[np.bool_]:
    """Whether each score is among the k best of its query, or ties with the last of these.

    Args:
        query: the number of the query of each score, rising.
        run: as `_runs` numbers them.
        k: scores of each query.
    """
    rising = np.sort(run)  # the queries stay as they are
    starts = np.searchsorted(query, query)
    ends = np.searchsorted(query, query, "right")
    is_first: NDArray[np.bool_] = run <= rising[np.minimum(starts + k, ends) - 1]
    return is_first


def word_pairs(text: str) -> frozenset[tuple[str, str]]:
    """All pairs of words of a normalised text, each in the order in which they stand there."""
    return frozenset(itertools.combinations(_first_words(text), 2))


def _first_words(text: str) -> list[str]:
    """The words of a normalised text whose order is looked at."""
    return text.split()[:_WORDS]


def inverse(order: Rows) -> Rows:
    """The place of each number in an order, (numbers,)."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


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


class Generator(ABC):
    """Ranks the names or the concepts of a dictionary for texts, and decides ties.

    Names and concepts with equal scores are ordered by `NameOrder`.

    Args:
        table: the normalised names of the dictionary.
        id_rank: (concepts,) the place of each concept in the order of ids.
        entry_rank: (names of the dictionary,) how names rank where scores are equal.
    """

    def __init__(self, table: NameTable, id_rank: Integers, entry_rank: Integers) -> None:
        self.table, self._id_rank, self._entry_rank = table, id_rank, entry_rank
        self.name_order = NameOrder(table, id_rank, entry_rank)
        self._is_named = np.diff(table.indptr) > 0  # the empty name stands for no concept

    @abstractmethod
    def score(self, queries: Sequence[str], k: int) -> Hits:
        """Find the k best names of each query, in any order; fewer where there are no more.

        Those that tie with the last one may be among the hits, `most(k)` of all at most.
        """

    @abstractmethod
    def score_pairs(
        self, encoded: EncodedTexts, query: NDArray[np.int64], rows: Integers
    ) -> PairScores:
        """Score pairs of a text and a name as `score` does, without a search.

        Args:
            encoded: texts, as `score` gives them.
            query: the number of the text of each pair.
            rows: of the names.
        """

    @abstractmethod
    def among(self, concepts: NDArray[np.bool_]) -> Generator:
        """The generator that ranks some concepts only, with the scores of this one.

        Args:
            concepts: which ones, (concepts of the dictionary,).
        """

    @abstractmethod
    def without(self, pairs: NDArray[np.bool_]) -> Generator:
        """The generator that does not know some concepts of some names.

        Args:
            pairs: which of `NameTable.concepts` are left out.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the encoders and vectors that it ranks with into a folder that is being saved."""

    def rank(self, texts: Sequence[str], k: int, unit: Unit) -> list[Candidates]:
        """Rank the k best names or concepts of each normalised text; fewer if there are no more."""
        queries = list(dict.fromkeys(texts))
        is_names = unit == "names"
        found = self._complete(queries, k + 1) if is_names else self.candidates(queries, k)
        bounds = itertools.pairwise(found.indptr.tolist())
        rankings = (found.only(slice(a, min(a + k, b))) for a, b in bounds)
        of_query = dict(zip(queries, rankings, strict=True))
        return [of_query[text] for text in texts]

    def candidates(self, queries: Sequence[str], k: int) -> Candidates:
        """Find the k best concepts of each query; fewer where there are no more.

        Args:
            queries: texts in normal form, distinct: one that occurs twice is searched for twice.
            k: concepts of each query.
        """
        k = min(k, len(self._id_rank))  # a larger one is more than arrays can count to
        return self._complete(queries, _OVERFETCH * k, k)

    def _complete(self, queries: Sequence[str], fetch: int, concepts: int = 0) -> Candidates:
        """The best concepts of each query, or the names that were found for it, in order.

        More names are fetched where those that were fetched do not decide the best.

        Args:
            queries: in normal form.
            fetch: the number of names to begin with.
            concepts: how many are ranked; 0: names are, of which all but the last are certain.
        """
        numbers, closed = np.arange(len(queries)), []
        parts: list[Candidates] = []
        while len(numbers) or not parts:
            fetch = min(fetch, len(self.table))
            step, still_open = max(1, _CELLS // max(1, fetch)), [numbers[:0]]
            for batch in (numbers[i : i + step] for i in range(0, max(1, len(numbers)), step)):
                check_wanted()
                texts = [queries[i] for i in batch]
                hits = self.score(texts, fetch)
                if not is_finite(hits.scores):
                    raise LinkerError(
                        "the encoder gives scores that are not finite; its weights are damaged "
                        "or too large, train again"
                    )
                if concepts:
                    part = by_concept(hits, concepts, texts, self.name_order)
                else:
                    part = by_name(hits, texts, self.name_order)
                is_open = self._is_open(hits, part, fetch, concepts or fetch - 1)
                still_open.append(batch[is_open])
                closed.append(batch[~is_open])
                parts.append(part.take(np.flatnonzero(~is_open)) if is_open.any() else part)
            numbers = np.concatenate(still_open)
            fetch *= _GROWTH
        return Candidates.joined(parts, np.concatenate(closed))

    def _is_open(self, hits: Hits, part: Candidates, fetch: int, wanted: int) -> NDArray[np.bool_]:
        """Whether a query must fetch more names before its best are certain, (queries,).

        Args:
            hits: of each query.
            part: the names or the concepts of the hits. Those with the score of the last hit are
                uncertain, as a name with this score may not be there, unless the hits are more than
                were asked for, but no more than are given.
            fetch: the number of hits that were asked for.
            wanted: as many names or concepts are to be certain.
        """
        counts = np.diff(hits.indptr)
        if fetch == len(self.table):
            return np.zeros(len(counts), bool)
        last = np.full(len(counts), np.inf)
        np.minimum.at(last, hits.queries, hits.scores)
        last[(counts > fetch) & (counts < most(fetch))] = -np.inf
        certain = part.queries[part.scores > last[part.queries]]
        is_open: NDArray[np.bool_] = np.bincount(certain, minlength=len(counts)) < wanted
        is_open &= counts >= fetch
        return is_open

"""Names of a batch brought to concepts, by figures worked out by hand."""

from __future__ import annotations

import dataclasses

import numpy as np

from linker.dictionary import NameTable
from linker.io.persistence import Strings
from linker.search.concepts import Candidates, by_concept
from linker.search.index import Hits

# the names 0 to 4 and their concepts; entries are numbered in this order
TABLE = NameTable(
    Strings.of("abcde"),
    np.array([0, 2, 3, 4, 6, 7]),
    np.array([0, 1, 0, 2, 0, 2, 1], np.int32),
    np.arange(7, dtype=np.int32),
)
ID_RANK, ENTRY_RANK = np.array([2, 1, 0], np.int32), np.array([1, 1, 0, 0, 0, 5, 0], np.int32)
HITS = Hits(
    np.array([0, 4, 4, 7]),
    np.array([2, 0, 3, 1, 4, 1, 3], np.int32),
    np.array([6, 9, 8, 9, 1, 4, 4], np.float32),
    sparse=np.arange(7, dtype=np.float32),
)


def grouped(hits: Hits, k: int) -> Candidates:
    return by_concept(hits, k, TABLE, ID_RANK, ENTRY_RANK)


def test_each_concept_stands_at_the_place_of_its_best_name() -> None:
    found = grouped(HITS, 9)
    # first query: concept 0 by the names 1, 0 and 3, of which 1 has the better entry; concept 1 by
    # name 0, which scores alike and has the worse entry; concept 2 by the names 3 and 2
    assert found.indptr.tolist() == [0, 3, 3, 6]
    assert found.queries.tolist() == [0, 0, 0, 2, 2, 2]
    assert found.concepts.tolist() == [0, 1, 2, 0, 2, 1]
    assert found.names.tolist() == [1, 0, 3, 1, 3, 4]
    assert found.entries.tolist() == [2, 1, 5, 2, 5, 6]
    assert found.scores.tolist() == [9, 9, 8, 4, 4, 1]
    assert found.matches.tolist() == [3, 1, 2, 2, 1, 1]
    assert found.second.tolist() == [9, 9, 6, 4, 4, 1]
    assert found.sparse is not None
    assert found.sparse.tolist() == [3, 1, 2, 5, 6, 4]
    assert found.dense is None


def test_batches_are_put_in_the_order_of_their_queries() -> None:
    whole = grouped(dataclasses.replace(HITS, own=np.array([4, 5, 6], np.float32)), 2)
    parts = [whole.take(np.array([1, 2])), whole.take(np.array([0]))]
    assert parts[0].own.tolist() == [5, 6]  # type: ignore[union-attr]
    joined = Candidates.joined(parts, np.array([1, 2, 0]))
    for field in dataclasses.fields(Candidates):
        column = getattr(whole, field.name)
        assert np.array_equal(getattr(joined, field.name), column)
        assert (field.name == "dense") == (column is None)
    again = whole.take(np.array([2, 0, 2]))
    assert again.own.tolist() == [6, 4, 6]  # type: ignore[union-attr]
    assert again.concepts.tolist() == [0, 2, 0, 1, 0, 2]
    assert grouped(HITS, 2).own is None


def test_a_ranking_followed_by_the_concepts_that_it_lacks() -> None:
    def ranked(concepts: list[int]) -> Candidates:
        rows = np.array(concepts, np.int32)
        scores = rows.astype(np.float32) / 8
        columns = rows, rows + 10, rows + 20, scores, scores, None, rows, scores
        return Candidates(np.array([0, len(rows)]), *columns)

    both = ranked([3, 1]).followed_by(ranked([1, 5, 3, 0]))
    assert both.concepts.tolist() == [3, 1, 5, 0]
    assert both.names.tolist() == [13, 11, 15, 10]
    assert both.scores.tolist() == both.sparse.tolist() == [3 / 8, 1 / 8, 5 / 8, 0]  # type: ignore[union-attr]
    assert both.dense is None
    assert len(ranked([2]).followed_by(ranked([2]))) == 1

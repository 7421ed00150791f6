"""Names of a batch brought to concepts, by figures worked out by hand."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
from scipy.sparse import csr_matrix

from linker.dictionary import NameTable
from linker.io.persistence import Strings
from linker.search.concepts import Candidates, NameOrder, by_concept, by_name
from linker.search.index import EncodedTexts, Hits, most

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
    return by_concept(hits, k, ["a", "b", "c"], NameOrder(TABLE, ID_RANK, ENTRY_RANK))


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
    vectors = np.array([[2, 0], [1, 2], [1, 1]], np.float32)
    encoded = EncodedTexts(csr_matrix(vectors * 2), vectors)
    whole = grouped(dataclasses.replace(HITS, encoded=encoded), 2)
    parts = [whole.take(np.array([1, 2])), whole.take(np.array([0]))]
    assert squares(parts[0]) == [5, 2]
    joined = Candidates.joined(parts, np.array([1, 2, 0]))
    assert squares(joined) == [4, 5, 2]
    assert joined.encoded is not None
    assert np.array_equal(joined.encoded.sparse.toarray(), vectors * 2)
    for field in dataclasses.fields(Candidates)[:-1]:
        column = getattr(whole, field.name)
        assert np.array_equal(getattr(joined, field.name), column)
        assert (field.name == "dense") == (column is None)
    again = whole.take(np.array([2, 0, 2]))
    assert squares(again) == [2, 4, 2]
    assert again.concepts.tolist() == [0, 2, 0, 1, 0, 2]
    assert grouped(HITS, 2).encoded is None


def squares(found: Candidates) -> list[float]:
    assert found.encoded is not None
    assert found.encoded.squares is not None
    return found.encoded.squares.tolist()


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


def order_of(query: str, names: list[str], concepts: list[int], kinds: list[int]) -> list[str]:
    """Names with equal scores, as concepts with these numbers are ordered by them."""
    rows = np.arange(len(names))
    table = NameTable(
        Strings.of(names),
        np.append(rows, len(names)),
        np.array(concepts, np.int32),
        rows.astype(np.int32),
    )
    id_rank = np.arange(max(concepts) + 1, dtype=np.int32)
    order = NameOrder(table, id_rank, np.array(kinds, np.int32))
    scores = 1 + 1e-7 * np.arange(len(names))  # what rounding makes of equal ones
    hits = Hits(np.array([0, len(names)]), rows.astype(np.int32), scores.astype(np.float32))
    by_concepts = by_concept(hits, len(names), [query], order)
    if len(set(concepts)) == len(concepts):
        assert by_name(hits, [query], order).names.tolist() == by_concepts.names.tolist()
    return [names[row] for row in by_concepts.names.tolist()]


def test_equal_scores_go_by_words_kind_length_letters_and_id() -> None:
    query = "familial ovarian cancer"
    by_words = ["cancer ovarian", "ovarian cancer"]
    assert order_of(query, by_words, [0, 1], [0, 1]) == by_words[::-1]
    assert order_of(query, by_words, [0, 0], [0, 1]) == ["ovarian cancer"]
    assert order_of("cancer ovarian", by_words, [0, 0], [0, 1]) == ["cancer ovarian"]
    assert order_of(query, ["cancer a", "cancer bb"], [0, 1], [1, 0]) == ["cancer bb", "cancer a"]
    assert order_of(query, ["cancer bb", "cancer c"], [0, 1], [0, 0]) == ["cancer c", "cancer bb"]
    assert order_of(query, ["cancer b", "cancer a"], [0, 1], [0, 0]) == ["cancer a", "cancer b"]
    for ids in ([0, 1], [1, 0]):
        ranked = NameOrder(
            NameTable(
                Strings.of(["a"]), np.array([0, 2]), np.array([0, 1], np.int32), np.array([0, 1])
            ),
            np.array(ids, np.int32),
            np.zeros(2, np.int32),
        )
        hits = Hits(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32))
        assert by_concept(hits, 2, ["a"], ranked).concepts.tolist() == ids


def test_concepts_that_tie_with_the_last_one_are_chosen_by_their_order() -> None:
    names = ["cancer a", "cancer ovarian", "ovarian cancer"]
    table = NameTable(
        Strings.of(names), np.arange(4), np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32)
    )
    order = NameOrder(table, np.arange(3, dtype=np.int32), np.zeros(3, np.int32))
    hits = Hits(np.array([0, 3]), np.arange(3, dtype=np.int32), np.array([2, 1, 1], np.float32))
    assert by_concept(hits, 2, ["ovarian cancer"], order).concepts.tolist() == [0, 2]
    elsewhere = pickle.loads(pickle.dumps(order))
    assert by_concept(hits, 2, ["ovarian cancer"], elsewhere).concepts.tolist() == [0, 2]


def test_all_names_that_tie_with_the_last_one_are_hits_up_to_a_bound() -> None:
    k, query = 2, np.zeros(9, np.int64)
    above = np.nextafter(np.float32(2), np.float32(3))  # by what rounding makes of 2
    scores = np.array([3, 1, 2, 2, 2, above, 1, 2, 0], np.float32)
    hits, places = Hits.best_with_ties(1, k, query, np.arange(9), scores)
    assert hits.rows.tolist() == places.tolist() == [0, 5, 2, 3, 4, 7]
    many = np.ones(1000, np.float32)
    hits, _ = Hits.best_with_ties(1, k, np.zeros(1000, np.int64), np.arange(1000), many)
    assert hits.rows.tolist() == list(range(most(k)))
    assert hits.first(k).rows.tolist() == [0, 1]

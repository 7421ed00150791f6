"""Small names, concepts and vectors, and what a ranking is by a full sort."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from linker import Dictionary
from linker.dictionary import NameTable
from linker.io.persistence import Strings
from linker.search.concepts import Candidates, Generator
from linker.search.index import Hits, VectorIndex, most

Matrix = NDArray[np.float32]
Found = tuple[list[list[int]], list[list[float]]]
TieKey = tuple[int, int, int, str, int]

# few letters make many ties
WORD = st.text("ab ", min_size=1, max_size=5).map(lambda text: " ".join(text.split())).filter(bool)


def table(names: Sequence[str], concepts: Sequence[Sequence[int]]) -> NameTable:
    """A table whose name i has the concepts `concepts[i]`; entries are numbered in this order."""
    rows = np.array([c for of_name in concepts for c in of_name], np.int32)
    indptr = np.cumsum([0, *map(len, concepts)]).astype(np.int64)
    return NameTable(Strings.of(names), indptr, rows, np.arange(len(rows), dtype=np.int32))


def draw_names(data: st.DataObject, concepts: int) -> tuple[list[str], list[list[int]], list[int]]:
    """Names, the concepts of each, and the kind of each entry."""
    names = data.draw(st.lists(WORD, min_size=1, max_size=25, unique=True))
    some = st.sets(st.integers(0, concepts - 1), min_size=1, max_size=3).map(sorted)
    of_names = [data.draw(some) for _ in names]
    return names, of_names, [data.draw(st.integers(0, 2)) for of_name in of_names for _ in of_name]


def read(folder: Path, *lines: str) -> Dictionary:
    path = folder / "small.tsv"
    rows = (line if line.count("\t") == 2 else f"{line}\t" for line in lines)
    path.write_text("\n".join(["id\tname\tsynonyms", *rows]) + "\n", encoding="utf-8")
    return Dictionary.read(path)


def names_of(
    made: Generator, queries: Sequence[str], k: int
) -> list[tuple[list[int], list[float]]]:
    """The rows and scores of the best names."""
    ranked = made.rank(queries, k, "names")
    return [(of_one.names.tolist(), of_one.scores.tolist()) for of_one in ranked]


def concepts_of(made: Generator, queries: Sequence[str], k: int) -> list[Candidates]:
    return made.rank(queries, k, "concepts")


def answers(ranked: Candidates) -> list[tuple[int, int, float]]:
    """The concept, the entry and the score of each answer."""
    columns = ranked.concepts, ranked.entries, ranked.scores
    return list(zip(*(column.tolist() for column in columns), strict=True))


def check_scores(
    made: Generator, query: str, scores: dict[int, float], k: int
) -> tuple[list[int], Candidates]:
    """Check the ranking of one query against a full sort, given the score of each name to rank.

    Returns:
        The best names and the best concepts.
    """
    owned = [(row, c) for row in scores for c in made.table.concepts_of(row).tolist()]
    place = places_by_score(scores.values())
    of_names = {
        row: min(tie_key(made, query, row, c) for owner, c in owned if owner == row)
        for row in scores
    }
    [(rows, scores_of_names)] = names_of(made, [query], k)
    assert rows == sorted(scores, key=lambda row: (place[scores[row]], of_names[row]))[:k]
    assert scores_of_names == [scores[row] for row in rows]
    best: dict[int, tuple[int, TieKey, int]] = {}
    for row, c in owned:
        key = place[scores[row]], tie_key(made, query, row, c), row
        best[c] = min(best.get(c, key), key)
    [ranked] = concepts_of(made, [query], k)
    order = sorted(best, key=best.__getitem__)[:k]
    assert answers(ranked) == [
        (c, entry_of(made, best[c][2], c), scores[best[c][2]]) for c in order
    ]
    return rows, ranked


def places_by_score(scores: Iterable[float]) -> dict[float, int]:
    """The place of each score, the best first; what only rounding parts shares one."""
    places: dict[float, int] = {}
    last, place = np.inf, 0
    for score in sorted({*scores}, reverse=True):
        place += score < last - 1e-6 * max(1, abs(last))
        places[score] = place
        last = score
    return places


def entry_of(made: Generator, row: int, concept: int) -> int:
    """The row in the dictionary of a name of a concept."""
    at = made.table.indptr[row] + made.table.concepts_of(row).tolist().index(concept)
    return int(made.table.entries[at])


def tie_key(made: Generator, query: str, row: int, concept: int) -> TieKey:
    """What orders a name of a concept among names with the same score, as it is documented."""
    asked, name = query.split(), made.table.texts[row]
    in_order = {
        (first, second)
        for i, first in enumerate(name.split())
        for second in name.split()[i + 1 :]
        if any(first == one and second in asked[j + 1 :] for j, one in enumerate(asked))
    }
    rank = int(made._entry_rank[entry_of(made, row, concept)])
    return -len(in_order), rank, len(name), name, int(made._id_rank[concept])


def check_part(made: Generator, wanted: set[int], queries: Sequence[str], k: int) -> None:
    """Check that some concepts rank as all do without the others."""
    every = len(made._id_rank)
    part = made.among(np.isin(np.arange(every), sorted(wanted)))
    for of_all, of_part in zip(
        concepts_of(made, queries, every), concepts_of(part, queries, k), strict=True
    ):
        assert answers(of_part) == [row for row in answers(of_all) if row[0] in wanted][:k]
    for query, names, (rows, scores) in zip(
        queries,
        names_of(made, queries, len(made.table)),
        names_of(part, queries, k),
        strict=True,
    ):
        place = places_by_score(names[1])
        own = [
            (place[score], min(tie_key(made, query, row, c) for c in concepts), row, score)
            for row, score in zip(*names, strict=True)
            if (concepts := wanted & set(made.table.concepts_of(row).tolist()))
        ]
        assert [
            (part.table.texts[row], score) for row, score in zip(rows, scores, strict=True)
        ] == [(made.table.texts[row], score) for _, _, row, score in sorted(own)[:k]]


def matrix(rows: st.SearchStrategy[int], dim: int) -> st.SearchStrategy[Matrix]:
    """Small whole numbers, whose products are exact and often equal."""
    return rows.flatmap(
        lambda n: arrays.arrays(np.float32, (n, dim), elements=st.integers(-2, 2).map(float))
    )


def sorted_fully(
    queries: Matrix, names: Matrix, k: int, among: NDArray[np.int64] | None = None
) -> Found:
    """The rows and the products of the k best names of each query; equal products by row.

    With those that tie with the last one, unless the query is nothing, with which all tie.
    """
    rows = np.arange(len(names)) if among is None else among
    found_rows, found_scores = [], []
    for query, scores in zip(queries, queries @ names[rows].T, strict=True):
        order = np.argsort(-scores, kind="stable")
        count = min(k, len(rows))
        while 0 < count < min(len(rows), most(k)) and query.any():
            if scores[order[count]] < scores[order[k - 1]]:
                break
            count += 1
        found_rows.append(rows[order[:count]].tolist())
        found_scores.append(scores[order[:count]].tolist())
    return found_rows, found_scores


def found(hits: Hits) -> Found:
    """The rows and the scores of the hits of each query."""
    assert (hits.rows.dtype, hits.scores.dtype) == (np.int32, np.float32)
    bounds = list(itertools.pairwise(hits.indptr.tolist()))
    columns: Any = hits.rows, hits.scores
    return tuple([column[a:b].tolist() for a, b in bounds] for column in columns)  # type: ignore[return-value]


def check_batches(make: Callable[[Matrix], VectorIndex], data: st.DataObject) -> None:
    """Check that any batch finds, of many equal vectors, those that products in turn find first."""
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    dim, names = data.draw(st.sampled_from([1, 24, 130])), data.draw(st.integers(1, 400))
    distinct = random.standard_normal((data.draw(st.integers(1, 60)), dim)).astype(np.float32)
    vectors = distinct[random.integers(0, len(distinct), names)]
    queries = random.standard_normal((100, dim)).astype(np.float32)
    queries[::9] = 0
    k, among = data.draw(st.integers(1, 50)), None
    if data.draw(st.booleans()):
        among = np.flatnonzero(random.random(names) < 0.7)
    made, rows = make(vectors), np.arange(names) if among is None else among
    pairs = np.repeat(np.arange(100), len(rows)), np.tile(rows, 100)
    products = made.products(queries, *pairs).reshape(100, len(rows))
    order = np.argsort(-products, axis=1, kind="stable")
    first: list[list[int] | None] = []
    for query, in_turn, scores in zip(queries, order, products, strict=True):
        count = min(k, len(rows))
        if query.any() and count:
            least = scores[in_turn[count - 1]]
            rounding = 1e-6 * max(1, abs(least))
            below = least - scores
            count = min(most(k), int((below <= rounding).sum()))
            if ((below > rounding / 4) & (below < rounding * 4)).any():
                first.append(None)  # whether these tie, rounding in a batch decides
                continue
        first.append(np.sort(rows[in_turn[:count]]).tolist())
    sizes = data.draw(st.lists(st.integers(1, 60), max_size=6))
    for part in np.split(np.arange(100), np.cumsum(sizes).clip(0, 100)):
        found_rows, _ = found(made.search(queries[part], k, among))
        for one, i in zip(found_rows, part.tolist(), strict=True):
            assert first[i] is None or sorted(one) == first[i]

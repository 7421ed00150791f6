"""Small names, concepts and vectors, and what a ranking is by a full sort."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
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
from linker.search.index import Hits, VectorIndex

Matrix = NDArray[np.float32]
Found = tuple[list[list[int]], list[list[float]]]

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
    entries = {
        (row, int(made.table.concepts[at])): int(made.table.entries[at])
        for row in scores
        for at in range(made.table.indptr[row], made.table.indptr[row + 1])
    }
    first = {row: min(made._id_rank[c] for owner, c in owned if owner == row) for row in scores}
    [(rows, of_names)] = names_of(made, [query], k)
    assert rows == sorted(scores, key=lambda row: (-scores[row], first[row], row))[:k]
    assert of_names == [scores[row] for row in rows]
    best: dict[int, tuple[float, int, int]] = {}
    for row, c in owned:
        entry = entries[row, c]
        rank = -scores[row], int(made._entry_rank[entry]), entry
        best[c] = min(best.get(c, rank), rank)
    [ranked] = concepts_of(made, [query], k)
    order = sorted(best, key=lambda c: (*best[c][:2], made._id_rank[c]))[:k]
    assert answers(ranked) == [(c, best[c][2], -best[c][0]) for c in order]
    return rows, ranked


def check_part(made: Generator, wanted: set[int], queries: Sequence[str], k: int) -> None:
    """Check that some concepts rank as all do without the others."""
    every = len(made._id_rank)
    part = made.among(np.isin(np.arange(every), sorted(wanted)))
    for of_all, of_part in zip(
        concepts_of(made, queries, every), concepts_of(part, queries, k), strict=True
    ):
        assert answers(of_part) == [row for row in answers(of_all) if row[0] in wanted][:k]
    for names, (rows, scores) in zip(
        names_of(made, queries, len(made.table)), names_of(part, queries, k), strict=True
    ):
        own = [
            (-score, min(made._id_rank[c] for c in concepts), row)
            for row, score in zip(*names, strict=True)
            if (concepts := wanted & set(made.table.concepts_of(row).tolist()))
        ]
        assert [
            (part.table.texts[row], score) for row, score in zip(rows, scores, strict=True)
        ] == [(made.table.texts[row], -score) for score, _, row in sorted(own)[:k]]


def matrix(rows: st.SearchStrategy[int], dim: int) -> st.SearchStrategy[Matrix]:
    """Small whole numbers, whose products are exact and often equal."""
    return rows.flatmap(
        lambda n: arrays.arrays(np.float32, (n, dim), elements=st.integers(-2, 2).map(float))
    )


def sorted_fully(
    queries: Matrix, names: Matrix, k: int, among: NDArray[np.int64] | None = None
) -> Found:
    """The rows and the products of the k best names of each query; equal products by row."""
    rows = np.arange(len(names)) if among is None else among
    scores = queries @ names[rows].T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return rows[order].tolist(), np.take_along_axis(scores, order, axis=1).tolist()


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
    first = rows[np.argsort(-products, axis=1, kind="stable")[:, :k]]
    sizes = data.draw(st.lists(st.integers(1, 60), max_size=6))
    for part in np.split(np.arange(100), np.cumsum(sizes).clip(0, 100)):
        found_rows, _ = found(made.search(queries[part], k, among))
        assert [sorted(one) for one in found_rows] == np.sort(first[part]).tolist()

"""Rankings of names and concepts against brute force, whatever a generator does with ties at its cut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linker.dictionary import NameTable
from linker.search import concepts as generating
from linker.search.concepts import Generator, PairScores
from linker.search.index import EncodedTexts, Hits, Integers

from .small import check_scores, concepts_of, names_of, table


def backwards(names: Sequence[Sequence[int]]) -> NameTable:
    """A table whose name i has the concepts `names[i]`, with entries in another order than rows."""
    made = table([f"n{i}" for i in range(len(names))], names)
    return NameTable(made.texts, made.indptr, made.concepts, made.entries[::-1].copy())


class Fixed(Generator):
    """Returns fixed scores; which of equal names it cuts off is given by `luck`. Queries are row numbers.

    The parts of a score tell the name: the sparse one is its row, the dense one its row below zero.
    """

    def __init__(
        self,
        names: Sequence[Sequence[int]],
        scores: list[list[int]],
        id_rank: Sequence[int] | None = None,
        luck: Sequence[int] | None = None,
        kinds: Sequence[int] | None = None,
    ) -> None:
        made = backwards(names)
        count = 1 + int(made.concepts.max())
        super().__init__(
            made,
            np.array(range(count) if id_rank is None else id_rank, np.int32),
            np.array(kinds or [0] * len(made.entries), np.int32),
        )
        self.scores, self.luck = scores, luck or range(len(names))
        self.asked: list[tuple[list[str], int]] = []

    def score(self, queries: Sequence[str], k: int) -> Hits:
        self.asked.append((list(queries), k))
        rows: list[int] = []
        scores: list[int] = []
        indptr = [0]
        for query in queries:
            own = self.scores[int(query)]
            named = [row for row, score in enumerate(own) if score > 0]
            best = sorted(named, key=lambda row: (-own[row], self.luck[row]))[:k]
            rows += sorted(best, key=lambda row: self.luck[row])  # in any order
            scores += [own[row] for row in rows[indptr[-1] :]]
            indptr.append(len(rows))
        hits = np.array(rows, np.int32)
        parts = hits.astype(np.float32), -hits.astype(np.float32)
        return Hits(np.array(indptr), hits, np.array(scores, np.float32), *parts)

    def score_pairs(
        self, encoded: EncodedTexts, query: NDArray[np.int64], rows: Integers
    ) -> PairScores:
        raise NotImplementedError

    def without(self, pairs: NDArray[np.bool_]) -> Fixed:
        raise NotImplementedError

    def among(self, concepts: NDArray[np.bool_]) -> Fixed:
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def check(generator: Fixed, k: int) -> None:
    for query, own in enumerate(generator.scores):
        scores = {row: float(score) for row, score in enumerate(own) if score > 0}
        _, ranked = check_scores(generator, str(query), scores, k)
        assert ranked.sparse.tolist() == ranked.names.tolist()  # type: ignore[union-attr]
        assert ranked.dense.tolist() == (-ranked.names).tolist()  # type: ignore[union-attr]


@given(st.data())
@settings(max_examples=70)
def test_rankings_are_those_of_brute_force(data: st.DataObject) -> None:
    concepts, size = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 25))
    some = st.sets(st.integers(0, concepts - 1), min_size=1, max_size=3).map(sorted)
    names = data.draw(st.lists(some, min_size=size, max_size=size))
    row = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    id_rank, luck = (data.draw(st.permutations(range(count))) for count in (concepts, size))
    kinds = [data.draw(st.integers(0, 3)) for of_name in names for _ in of_name]
    generator = Fixed(names, data.draw(st.lists(row, max_size=3)), id_rank, luck, kinds)
    cells = data.draw(st.sampled_from([1, 9, generating._CELLS]))
    with mock.patch.multiple(generating, _OVERFETCH=data.draw(st.integers(1, 3)), _CELLS=cells):
        check(generator, data.draw(st.integers(1, 7)))


def test_only_lists_that_are_open_are_fetched_again() -> None:
    clear, tied = list(range(30, 0, -1)), [7] * 30
    generator = Fixed([[i] for i in range(30)], [clear, tied, [0] * 30])
    names_of(generator, ["0", "1", "2"], 3)
    assert generator.asked == [(["0", "1", "2"], 4), (["1"], 16), (["1"], 30)]
    generator.asked.clear()
    concepts_of(generator, ["0", "1", "2"], 2)
    assert generator.asked == [(["0", "1", "2"], 10), (["1"], 30)]

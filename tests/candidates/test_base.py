"""Rankings of names and concepts against brute force, whatever a generator does with ties at its cut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from linker.candidates import base
from linker.candidates.base import Generator, Ranked
from linker.candidates.index import Hits
from linker.dictionary import NameTable
from linker.persistence import Strings
from linker.types import Lookup


def table(names: Sequence[Sequence[int]]) -> NameTable:
    """A table whose name i has the concepts `names[i]`; entries count down, so that they are in another order than the rows."""
    indptr = np.cumsum([0, *map(len, names)]).astype(np.int64)
    concepts = np.array([c for name in names for c in name], np.int32)
    entries = np.arange(len(concepts), dtype=np.int32)[::-1].copy()
    return NameTable(Strings.of(f"n{i}" for i in range(len(names))), indptr, concepts, entries)


class Fixed(Generator):
    """Returns fixed scores; which of equal names it cuts off is given by `luck`. Queries are row numbers.

    The parts of a score tell the name: the sparse one is its row, the dense one its row below zero.
    """

    def __init__(
        self,
        names: NameTable,
        id_rank: list[int],
        scores: list[list[int]],
        luck: list[int],
        kinds: list[int] | None = None,
    ) -> None:
        super().__init__(
            names,
            np.array(id_rank, np.int32),
            np.array(kinds or [0] * len(names.entries), np.int32),
        )
        self.scores, self.luck, self.asked = scores, luck, []  # type: ignore[var-annotated]

    def score(self, queries: Sequence[str], k: int) -> Hits:
        self.asked.append((list(queries), k))
        rows = []
        for query in queries:
            scores = self.scores[int(query)]
            best = sorted(
                (r for r, s in enumerate(scores) if s > 0), key=lambda r: (-scores[r], self.luck[r])
            )[:k]
            rows.append(sorted(best, key=lambda r: self.luck[r]))  # in any order
        found = [
            (r, self.scores[int(q)][r]) for q, some in zip(queries, rows, strict=True) for r in some
        ]
        indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        hits = np.array([r for r, _ in found], np.int32)
        return Hits(
            indptr,
            hits,
            np.array([s for _, s in found], np.float32),
            hits.astype(np.float32),
            -hits.astype(np.float32),
        )

    def without(self, pairs: NDArray[np.bool_]) -> Fixed:
        raise NotImplementedError

    def among(self, concepts: NDArray[np.bool_]) -> Fixed:
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def lookups(queries: Sequence[str]) -> list[Lookup]:
    return [Lookup.of(query) for query in queries]


def names_of(made: Generator, queries: Sequence[str], k: int) -> list[tuple[Any, Any]]:
    """The rows and scores of the best names."""
    return [(r.names, r.scores) for r in made.rank(lookups(queries), k, "names")]


def concepts_of(made: Generator, queries: Sequence[str], k: int) -> list[Ranked]:
    return made.rank(lookups(queries), k, "concepts")


def brute_names(generator: Fixed, query: int, k: int) -> list[tuple[int, float]]:
    names, scores = generator.table, generator.scores[query]
    first = [
        min(generator._id_rank[names.concepts[a:b]], default=0)
        for a, b in zip(names.indptr[:-1], names.indptr[1:], strict=True)
    ]
    order = sorted(
        (r for r, s in enumerate(scores) if s > 0), key=lambda r: (-scores[r], first[r], r)
    )
    return [(r, float(scores[r])) for r in order[:k]]


def brute_concepts(generator: Fixed, query: int, k: int) -> list[tuple[int, int, float]]:
    names = generator.table
    best: dict[int, tuple[float, int, int]] = {}
    for row, score in enumerate(generator.scores[query]):
        for at in range(names.indptr[row], names.indptr[row + 1]) if score > 0 else ():
            concept, entry = int(names.concepts[at]), int(names.entries[at])
            best[concept] = min(
                best.get(concept, (0.0, 0, 0)),
                (-float(score), int(generator._entry_rank[entry]), entry),
            )
    order = sorted(best, key=lambda c: (*best[c][:2], generator._id_rank[c]))
    return [(c, best[c][2], -best[c][0]) for c in order[:k]]


def check(generator: Fixed, k: int) -> None:
    queries = [str(i) for i in range(len(generator.scores))]
    owner = np.zeros(len(generator.table.entries), int)  # the name of each entry
    owner[generator.table.entries] = np.repeat(
        np.arange(len(generator.table)), np.diff(generator.table.indptr)
    )
    for i, (rows, scores) in enumerate(names_of(generator, queries, k)):
        assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == brute_names(
            generator, i, k
        )
    for i, ranked in enumerate(concepts_of(generator, queries, k)):
        found = zip(
            ranked.concepts.tolist(), ranked.entries.tolist(), ranked.scores.tolist(), strict=True
        )
        assert list(found) == brute_concepts(generator, i, k)
        rows = owner[ranked.entries]
        assert ranked.sparse is not None
        assert ranked.sparse.tolist() == rows.tolist()
        assert ranked.dense is not None
        assert ranked.dense.tolist() == (-rows).tolist()


@given(st.data())
@settings(deadline=None, max_examples=70)
def test_rankings_are_those_of_brute_force(data: st.DataObject) -> None:
    concepts, size = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 25))
    names = data.draw(
        st.lists(
            st.sets(st.integers(0, concepts - 1), min_size=1, max_size=3).map(sorted),
            min_size=size,
            max_size=size,
        )
    )
    scores = data.draw(
        st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), max_size=3)
    )
    id_rank, luck = (
        data.draw(st.permutations(range(concepts))),
        data.draw(st.permutations(range(size))),
    )
    entries = sum(map(len, names))
    kinds = data.draw(st.lists(st.integers(0, 3), min_size=entries, max_size=entries))
    cells = data.draw(st.sampled_from([1, 9, base._CELLS]))
    with mock.patch.multiple(base, _OVERFETCH=data.draw(st.integers(1, 3)), _CELLS=cells):
        check(Fixed(table(names), id_rank, scores, luck, kinds), data.draw(st.integers(1, 7)))


def test_all_names_tie() -> None:
    generator = Fixed(
        table([[i] for i in range(60)]), list(range(60))[::-1], [[5] * 60], list(range(60))
    )
    assert names_of(generator, ["0"], 3)[0][0].tolist() == [59, 58, 57]
    assert concepts_of(generator, ["0"], 3)[0].concepts.tolist() == [59, 58, 57]


def test_a_concept_with_many_names_hides_no_other() -> None:
    names = [[0]] * 50 + [[1]]
    generator = Fixed(table(names), [0, 1], [[9] * 50 + [1]], list(range(51)))
    ranked = concepts_of(generator, ["0"], 2)[0]
    assert (ranked.concepts.tolist(), ranked.scores.tolist()) == ([0, 1], [9.0, 1.0])


def test_an_ambiguous_name_gives_all_its_concepts_in_the_order_of_ids() -> None:
    generator = Fixed(table([[0, 1, 2], [1]]), [2, 0, 1], [[3, 2]], [0, 1])
    assert concepts_of(generator, ["0"], 2)[0].concepts.tolist() == [1, 2]
    assert names_of(generator, ["0"], 5)[0][0].tolist() == [0, 1]


def test_equal_scores_are_ordered_by_kind_of_name_then_by_id() -> None:
    kinds = [3, 0, 1, 1]  # of the entries 0 to 3, which are those of the names 3 to 0
    generator = Fixed(
        table([[0], [1], [2], [3]]), [0, 1, 2, 3], [[5, 5, 5, 5], [4, 5, 5, 6]], [0, 1, 2, 3], kinds
    )
    assert concepts_of(generator, ["0"], 4)[0].concepts.tolist() == [2, 0, 1, 3]
    assert concepts_of(generator, ["1"], 4)[0].concepts.tolist() == [
        3,
        2,
        1,
        0,
    ]  # the score comes first
    assert names_of(generator, ["0"], 4)[0][0].tolist() == [
        0,
        1,
        2,
        3,
    ]  # names have no kind of their own


def test_of_names_with_equal_scores_the_kind_chooses_the_one_that_is_shown() -> None:
    generator = Fixed(table([[0], [0], [0]]), [0], [[5, 5, 5]], [0, 1, 2], [2, 1, 1])
    ranked = concepts_of(generator, ["0"], 1)[0]
    assert ranked.entries.tolist() == [1]  # of the two of the least kind the first as written


def test_a_better_kind_beyond_the_cut_is_found() -> None:
    kinds = [0] + [2] * 59  # entry 0 is that of name 59, the last that luck lets through
    generator = Fixed(
        table([[i] for i in range(60)]), list(range(60)), [[5] * 60], list(range(60)), kinds
    )
    assert concepts_of(generator, ["0"], 2)[0].concepts.tolist() == [59, 0]


def test_small_batches_give_what_large_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [[i % 7, 7 + i % 3] for i in range(40)]
    scores = [[(i * j) % 5 for i in range(40)] for j in range(11)]
    generator = Fixed(
        table(names), list(range(10)), scores, list(range(40)), [i % 4 for i in range(80)]
    )
    queries = [str(i) for i in range(11)]
    whole = [ranked.concepts.tolist() for ranked in concepts_of(generator, queries, 2)]
    assert generator.asked[0] == (queries, 10)
    for cells in (1, 50, 100):
        monkeypatch.setattr(base, "_CELLS", cells)
        generator.asked.clear()
        assert [ranked.concepts.tolist() for ranked in concepts_of(generator, queries, 2)] == whole
        assert all(len(batch) * k <= cells or len(batch) == 1 for batch, k in generator.asked)
        assert [query for batch, k in generator.asked if k == 10 for query in batch] == queries
        check(generator, 3)


def test_only_lists_that_are_open_are_fetched_again() -> None:
    clear, tied = list(range(30, 0, -1)), [7] * 30
    generator = Fixed(
        table([[i] for i in range(30)]), list(range(30)), [clear, tied, [0] * 30], list(range(30))
    )
    names_of(generator, ["0", "1", "2"], 3)
    assert generator.asked == [(["0", "1", "2"], 4), (["1"], 16), (["1"], 30)]
    generator.asked.clear()
    concepts_of(generator, ["0", "1", "2"], 2)
    assert generator.asked == [(["0", "1", "2"], 10), (["1"], 30)]


def test_names_without_concepts_are_passed_over() -> None:
    generator = Fixed(table([[], [0], [], [1], []]), [1, 0], [[0, 2, 0, 2, 0]], [0, 1, 2, 3, 4])
    assert names_of(generator, ["0"], 2)[0][0].tolist() == [3, 1]
    assert concepts_of(generator, ["0"], 2)[0].concepts.tolist() == [1, 0]


def test_parts_that_a_generator_does_not_have_stay_absent() -> None:
    generator = Fixed(table([[0], [1]]), [0, 1], [[1, 2]], [0, 1])
    bare = mock.Mock(
        side_effect=lambda queries, k: Hits(
            np.array([0, 2]), np.array([0, 1], np.int32), np.array([1, 2], np.float32)
        )
    )
    with mock.patch.object(generator, "score", bare):
        ranked = concepts_of(generator, ["0"], 2)[0]
    assert (ranked.concepts.tolist(), ranked.sparse, ranked.dense) == ([1, 0], None, None)


@pytest.mark.parametrize("k", [1, 10])
def test_no_query_and_no_hit(k: int) -> None:
    generator = Fixed(table([[0], [1]]), [0, 1], [[0, 0]], [0, 1])
    assert names_of(generator, [], k) == []
    assert concepts_of(generator, [], k) == []
    assert names_of(generator, ["0"], k)[0][0].tolist() == []
    assert concepts_of(generator, ["0"], k)[0].concepts.tolist() == []

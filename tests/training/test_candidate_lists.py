"""Training lists worked out by hand on a small dictionary, and against a second slow way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary
from linker.dictionary import NameTable
from linker.linking.options import TrainingOptions
from linker.search.concepts import Generator
from linker.search.index import Floats, Hits, Integers
from linker.search.sparse import SparseGenerator
from linker.training.data import TrainingQuery
from linker.training.listwise import ListMaker
from linker.training.sampling import Stream, rng

BY_ROW = [
    "disease",
    "illness",
    "tumor",
    "mass",
    "growth",
    "lymphoma",
    "lymphoid mass",
    "burkitt",
    "burkitt tumor",
    "viral disease",
]
BY_ROW += ["fever", "pyrexia"]
OF = {
    name: {f"D:{c}"} for name, c in zip(BY_ROW, [0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5], strict=True)
} | {"growth": {"D:1", "D:2"}}
CONCEPTS = [f"D:{i}" for i in range(6)]
PARENTS = {"D:1": {"D:0"}, "D:2": {"D:1"}, "D:3": {"D:2", "D:4"}, "D:4": {"D:0"}, "D:5": {"D:0"}}

Scores = Mapping[str, Mapping[str, float]]  # query -> name -> sparse score


class Fixed(SparseGenerator):
    """Knows the sparse scores of each query; names that are not among them have none."""

    def __init__(self, table: NameTable, dictionary: Dictionary, scores: Scores) -> None:
        Generator.__init__(self, table, dictionary.id_rank, dictionary.entry_rank)
        self.scores, self.asked = scores, 0

    def score(self, queries: Sequence[str], k: int) -> Hits:
        self.asked += 1
        found = [
            sorted(((s, BY_ROW.index(n)) for n, s in self.scores.get(q, {}).items()), reverse=True)[
                :k
            ]
            for q in queries
        ]
        flat = [hit for hits in found for hit in hits]
        indptr = np.cumsum([0, *map(len, found)]).astype(np.int64)
        return Hits(
            indptr,
            np.array([row for _, row in flat], np.int32),
            np.array([score for score, _ in flat], np.float32),
        )

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    def similarity(self, queries: Sequence[str], rows: Integers) -> Floats:
        cells = [
            [self.scores.get(q, {}).get(BY_ROW[r], 0.0) if r >= 0 else 0.0 for r in row]
            for q, row in zip(queries, rows.tolist(), strict=True)
        ]
        return np.array(cells, np.float32).reshape(rows.shape)


Small = tuple[NameTable, Dictionary]


@pytest.fixture(scope="module")
def small(aged: Dictionary) -> Small:
    table = aged.table(str)
    assert list(table.texts) == BY_ROW
    return table, aged


def query(text: str, *right: str) -> TrainingQuery:
    return TrainingQuery(text, frozenset(right))


def maker(
    small: Small,
    queries: Sequence[TrainingQuery],
    scores: Scores,
    *,
    exclude_own: bool = False,
    **options: float,
) -> ListMaker:
    sparse = Fixed(*small, scores)
    chosen = TrainingOptions(**{"top_k": 4, **options})  # type: ignore[arg-type]
    return ListMaker(queries, small[1], sparse, chosen, exclude_own=exclude_own)


def rows(*lists: Iterable[str], width: int = 0) -> Integers:
    """Names as rows, padded with -1 to `width` or the longest list."""
    found = [[BY_ROW.index(name) for name in names] for names in lists]
    width = max(width, *map(len, found)) if found else width
    return np.array([[*some, *[-1] * (width - len(some))] for some in found], np.int32).reshape(
        len(found), width
    )


def hypernyms(made: ListMaker, epoch: int, seed: int = 0) -> Integers:
    return made.hypernym_names(rng(seed, Stream.HYPERNYMS, epoch))


def names(row: Iterable[int]) -> list[str]:
    return [BY_ROW[r] for r in row if r >= 0]


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        (["D:3"], {"lymphoma", "lymphoid mass", "growth", "viral disease"}),
        (["D:2"], {"tumor", "mass"}),  # growth is right too
        # an alternative id leads to the parents; `accepted` adds D:2 itself
        (["O:2"], {"tumor", "mass", "growth"}),
        (["D:2", "D:3"], {"tumor", "mass", "viral disease"}),  # D:2 is right: no hypernym
        (["Z:1"], set()),
    ],
)
def test_hypernyms_are_names_above_the_right_concepts(
    small: Small, right: list[str], expected: set[str]
) -> None:
    made = maker(small, [query("q", *right)], {}, top_k=12)
    drawn = names(hypernyms(made, 0)[0])
    assert (set(drawn), len(drawn)) == (expected, len(expected))
    lists = made.make(np.arange(12, dtype=np.int32)[None])
    assert set(names(lists.rows[0][lists.relevance[0] == 1])) == expected


def above(right: set[str]) -> set[str]:
    """The hypernym ids by the definition: direct parents."""
    return {p for c in right for p in PARENTS.get(c, ())} - right - {"D:0"}


@given(st.data())
@settings(max_examples=80)
def test_lists_the_slow_way(small: Small, data: st.DataObject) -> None:
    top_k, exclude_own = data.draw(st.integers(2, 7)), data.draw(st.booleans())
    dense_ratio, seed = data.draw(st.sampled_from([0, 0.3, 0.5, 1])), data.draw(st.integers(0, 9))
    texts = st.one_of(st.sampled_from(BY_ROW), st.just("no name"))
    rights = st.sets(st.sampled_from(CONCEPTS), min_size=1, max_size=2)
    queries = [
        query(text, *right)
        for text, right in data.draw(st.lists(st.tuples(texts, rights), max_size=4))
    ]
    ranking = st.permutations(BY_ROW).map(
        lambda order: {name: 1 - 0.05 * i for i, name in enumerate(order)}
    )
    scores = {
        q.text: dict(list(data.draw(ranking).items())[: data.draw(st.integers(0, 12))])
        for q in queries
    }
    options = {"top_k": top_k, "dense_ratio": dense_ratio}
    made = maker(small, queries, scores, exclude_own=exclude_own, **options)
    dense = [data.draw(st.permutations(range(12)))[: made.width + 1] for _ in queries]
    lists = made.make(np.array(dense, np.int32).reshape(len(queries), made.width + 1))

    n_sparse = top_k - int(top_k * dense_ratio)
    for i, q in enumerate(queries):
        own = {q.text} if exclude_own else set()
        expected = [
            name
            for name in sorted(scores[q.text], key=lambda n: -scores[q.text][n])
            if name not in own
        ][:n_sparse]
        for row in dense[i]:
            if len(expected) < top_k and BY_ROW[row] not in {*expected, *own}:
                expected.append(BY_ROW[row])
        assert names(lists.rows[i]) == expected
        assert len(expected) == len(set(expected)) == top_k  # `width` + 1 is enough
        for name, grade, score in zip(
            expected, lists.relevance[i].tolist(), lists.sparse[i].tolist(), strict=True
        ):
            assert grade == (
                2 if OF[name] & q.right else 1 if OF[name] & above(set(q.right)) else 0
            )
            assert score == pytest.approx(scores[q.text].get(name, 0))
        drawn = names(hypernyms(made, data.draw(st.integers(0, 3)), seed)[i])
        pool = {name for name, ids in OF.items() if ids & above(set(q.right)) and not ids & q.right}
        assert len(drawn) == len(set(drawn)) == min(10, len(pool))
        assert set(drawn) <= pool
        assert not {"disease", "illness"} & set(drawn)

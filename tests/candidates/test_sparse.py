"""The sparse generator against the full table of scores that it avoids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary, persistence
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import NameTable
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions
from linker.persistence import Strings
from linker.text.normalize import normalize

WORD = st.text("ab ", min_size=1, max_size=5).map(lambda text: " ".join(text.split())).filter(bool)  # few letters make many ties
UNKNOWN = st.sampled_from(["", "ΩΩ", "z", "日本 𝒳"])


def generator(names: list[str], concepts: list[list[int]], id_rank: list[int], threads: int = 0) -> SparseGenerator:
    indptr = np.cumsum([0, *map(len, concepts)]).astype(np.int64)
    rows = np.array([c for some in concepts for c in some], np.int32)
    table = NameTable(Strings.of(names), indptr, rows, np.arange(len(rows), dtype=np.int32))
    encoder = TfidfEncoder(TfidfOptions("char", 1, 2))
    encoder.fit(names)
    made = SparseGenerator.index(table, np.array(id_rank, np.int32), encoder)
    return SparseGenerator(table, np.array(id_rank, np.int32), encoder, made._postings, threads)


def full(made: SparseGenerator, queries: list[str]) -> np.ndarray:
    """All scores (queries, names), in float64 out of the float32 vectors."""
    encoder, names = made._encoder, list(made.table.texts)
    return encoder.encode(queries).astype(np.float64).toarray() @ encoder.encode(names).astype(np.float64).toarray().T


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_rankings_are_those_of_brute_force(data: st.DataObject) -> None:
    names = data.draw(st.lists(WORD, min_size=1, max_size=25, unique=True))
    number = data.draw(st.integers(1, 5))
    concepts = data.draw(st.lists(st.sets(st.integers(0, number - 1), min_size=1).map(sorted), min_size=len(names), max_size=len(names)))
    queries = data.draw(st.lists(WORD | UNKNOWN, max_size=4))
    k = data.draw(st.integers(1, 6))
    made = generator(names, concepts, data.draw(st.permutations(range(number))), data.draw(st.integers(1, 2)))
    scores = full(made, queries)
    every = made.score(queries, len(names))  # its own float32 scores, uncut, so that ties are its ties
    own = np.zeros((len(queries), len(names)), np.float32)
    own[np.repeat(np.arange(len(queries)), np.diff(every.indptr)), every.rows] = every.scores
    assert own == pytest.approx(scores, abs=1e-6)
    rank = made._id_rank
    for i, ((rows, found), ranked) in enumerate(zip(made.names(queries, k), made.concepts(queries, k), strict=True)):
        expected = sorted(np.flatnonzero(own[i]).tolist(), key=lambda r: (-own[i, r], min(rank[concepts[r]]), r))[:k]
        assert rows.tolist() == expected
        assert found.tolist() == own[i, expected].tolist()
        best = {c: max(own[i, r] for r, some in enumerate(concepts) if c in some) for some in concepts for c in some}
        order = sorted((c for c in best if best[c] > 0), key=lambda c: (-best[c], rank[c]))[:k]
        assert ranked.concepts.tolist() == order
        assert ranked.scores.tolist() == [best[c] for c in order]


def test_a_query_without_known_characters_finds_nothing() -> None:
    made = generator(["fever", "flu"], [[0], [1]], [0, 1])
    for query in ("", "ΩΩ", "日本"):
        assert made.concepts([query, "flu"], 5)[0].concepts.tolist() == []
        assert made.names([query, "flu"], 5)[0][0].tolist() == []
    assert made.concepts(["", "flu"], 5)[1].concepts.tolist()[0] == 1


def test_the_name_itself_scores_one() -> None:
    made = generator(["fever", "swine flu", "flu"], [[0], [1], [2]], [0, 1, 2])
    for row, name in enumerate(made.table.texts):
        ranked = made.concepts([name], 1)[0]
        assert ranked.concepts.tolist() == [row]
        assert ranked.scores[0] == pytest.approx(1, abs=1e-6)


def test_the_number_of_threads_changes_nothing(sample: Path) -> None:
    dictionary = Dictionary.read(sample)
    table = dictionary.table(normalize)
    encoder = TfidfEncoder()
    encoder.fit(list(table.texts))
    one = SparseGenerator.index(table, dictionary.id_rank, encoder)
    two, four = (SparseGenerator(table, dictionary.id_rank, encoder, one._postings, threads) for threads in (1, 4))
    queries = list(table.texts)[:200]
    for a, b, c in zip(one.concepts(queries, 5), two.concepts(queries, 5), four.concepts(queries, 5), strict=True):
        assert a.concepts.tolist() == b.concepts.tolist() == c.concepts.tolist()
        assert a.scores.tolist() == b.scores.tolist() == c.scores.tolist()


def test_every_name_of_the_sample_finds_its_concepts(sample: Path) -> None:
    dictionary = Dictionary.read(sample)
    table = dictionary.table(normalize)
    encoder = TfidfEncoder(TfidfOptions("char", 1, 3))
    encoder.fit(list(table.texts))
    made = SparseGenerator.index(table, dictionary.id_rank, encoder)
    for row, ranked in enumerate(made.concepts(list(table.texts), 10)):
        own = set(table.concepts[table.indptr[row] : table.indptr[row + 1]].tolist())
        first = {c for c, score in zip(ranked.concepts.tolist(), ranked.scores, strict=True) if score > 1 - 1e-5}
        assert own <= first


def test_saving_and_loading(tmp_path: Path) -> None:
    made = generator(["fever", "swine flu", "flu", "β"], [[0], [1], [0, 2], [2]], [2, 0, 1])
    with persistence.saving(tmp_path / "m", "generator", {}) as folder:
        made.save(folder)
    loaded = SparseGenerator.load(tmp_path / "m", np.array([2, 0, 1], np.int32), TfidfEncoder)
    array = loaded._postings.data
    while isinstance(array.base, np.ndarray):
        array = array.base
    assert isinstance(array, np.memmap)
    queries = ["flu", "fever β", ""]
    for a, b in zip(made.concepts(queries, 3), loaded.concepts(queries, 3), strict=True):
        assert (a.concepts.tolist(), a.entries.tolist(), a.scores.tolist()) == (b.concepts.tolist(), b.entries.tolist(), b.scores.tolist())

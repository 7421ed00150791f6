"""Lists of words: what they find, how they are read, and their files."""

from __future__ import annotations

import itertools
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from linker import Dictionary, LinkerError, persistence
from linker.candidates import sparse, sparse_index
from linker.candidates.index import IndexOptions
from linker.candidates.sparse import SparseGenerator
from linker.candidates.sparse_index import ExactPostings, WordLists, WordSearch, encoded
from linker.encoders.tfidf import TfidfEncoder
from linker.text.normalize import normalize

from .small import answers, concepts_of

ALL = WordSearch(words=10_000, postings=1_000_000, candidates=10_000)


@pytest.fixture(scope="module")
def generators(sample: Path) -> tuple[SparseGenerator, SparseGenerator]:
    """The sample dictionary, searched exactly and by lists of words."""
    dictionary = Dictionary.read(sample)
    table, encoder = dictionary.table(normalize), TfidfEncoder()
    encoder.fit(table.texts)
    exact = SparseGenerator.index(table, dictionary, encoder)
    with mock.patch.object(sparse, "LARGE", 1):
        return exact, SparseGenerator.index(table, dictionary, encoder)


def test_large_dictionaries_may_be_searched_exactly(sample: Path) -> None:
    dictionary = Dictionary.read(sample)
    table, encoder = dictionary.table(normalize), TfidfEncoder()
    encoder.fit(table.texts)
    with mock.patch.object(sparse, "LARGE", 1):
        made = SparseGenerator.index(table, dictionary, encoder, IndexOptions(kind="exact"))
    assert isinstance(made.names, ExactPostings)


def lists_of(generator: SparseGenerator) -> WordLists:
    assert isinstance(generator.names, WordLists)
    return generator.names


def test_entries_are_products_of_words_and_names() -> None:
    encoder, texts = TfidfEncoder(), ["lung cancer", "cancer", "lung lung", "colitis"]
    encoder.fit(texts)
    vectors = encoded(encoder, texts)
    made = WordLists.build(vectors, texts, encoder, 0.97)
    words = ["lung", "cancer", "colitis"]
    slow = (encoder.encode(words) @ vectors.T).toarray()
    has = np.array([[word in text.split() for text in texts] for word in words])
    assert made.starts.tolist() == [0, 1, 2, 3]  # a block for each word
    assert made.lists.toarray()[:, :4] == pytest.approx(np.where(has, slow, 0), abs=1e-6)
    assert made.bounds == pytest.approx(np.where(has, slow, 0).max(axis=1), abs=1e-6)


@pytest.mark.parametrize("part", [3, 100])
def test_lists_are_in_blocks_by_impact(part: int) -> None:
    """Word 0 has 5 names in blocks of 2, 2 and 1; word 1 none; word 2 one."""
    word = np.array([0, 0, 0, 0, 0, 2], np.int32)
    name = np.array([0, 1, 2, 3, 4, 4], np.int32)
    impact = np.array([0.1, 0.9, 0.5, 0.7, 0.3, 0.2], np.float32)
    with mock.patch.multiple(sparse_index, _FIRST=2, _PART=part):
        made = WordLists._of(csr_matrix((5, 1)), csr_matrix((1, 3)), (word, name, impact), ALL)
        again = made.among(np.array([0, 1, 3, 4]))
    assert made.starts.tolist() == [0, 3, 3, 4]
    assert made.bounds == pytest.approx([0.9, 0.5, 0.1, 0.2])
    assert made._sizes.tolist() == [2, 2, 1, 1]
    found = {}
    for number, rows in enumerate(made._parts):
        entries = rows.tocoo()
        for block, column in zip(entries.row.tolist(), entries.col.tolist(), strict=True):
            found.setdefault(block, set()).add(part * number + column)
    assert found == {0: {1, 3}, 1: {2, 4}, 2: {0}, 3: {4}}
    assert again.bounds == pytest.approx([0.9, 0.3, 0.2])  # of 0.9, 0.7 | 0.3, 0.1 | 0.2


def test_the_widest_search_is_exact(generators: tuple[SparseGenerator, SparseGenerator]) -> None:
    exact, by_words = generators
    made = lists_of(by_words)
    widest = WordLists(made.vectors, made.words, made.lists, made.starts, made.bounds, ALL)
    queries = exact.encoder.encode(["lung cancers", "hepatitis b", "oesophageal", "", "ΩΩ"])
    for k in (1, 7, 50):
        found, wanted = widest.search(queries, k), exact.names.search(queries, k)
        assert found.indptr.tolist() == wanted.indptr.tolist()
        best = np.lexsort((-wanted.scores, wanted.queries))
        assert found.scores == pytest.approx(wanted.scores[best], abs=1e-6)
        slow = (queries @ made.vectors.T).toarray()
        assert found.scores == pytest.approx(slow[found.queries, found.rows], abs=1e-6)


def test_blocks_with_the_largest_bounds_are_read() -> None:
    """Word 0 has blocks of 3 and 4 entries with bounds 0.9 and 0.5, word 1 one of 2 with 0.8."""
    sizes, starts = [3, 4, 2], np.array([0, 2, 3])
    rows = np.concatenate([np.arange(n) for n in sizes])
    lists = csr_matrix((np.ones(9), rows, np.cumsum([0, *sizes])), shape=(3, 9))
    how = WordSearch(words=2, postings=5, candidates=1)
    bounds = np.array([0.9, 0.5, 0.8], np.float32)
    made = WordLists(csr_matrix((9, 1)), csr_matrix((1, 2)), lists, starts, bounds, how)
    words = csr_matrix(np.array([[1.0, 0.5], [0.1, 0.9], [0, 0], [0.5, 0]]))
    read = made._read(words)
    # bounds: 0.9, 0.5 and 0.4; 0.72, 0.09 and 0.05; none; 0.45 and 0.25
    assert [read.indices[a:b].tolist() for a, b in itertools.pairwise(read.indptr)] == [
        [0],
        [2, 0],
        [],
        [0],
    ]
    assert read.data.tolist() == [1.0, 0.9, 0.1, 0.5]
    # too small for any block: the first one is read
    first = WordLists(made.vectors, made.words, lists, starts, bounds, WordSearch(2, 1, 1))
    assert first._read(words).indices.tolist() == [0, 2, 0]


def test_too_little_recall_is_refused(
    generators: tuple[SparseGenerator, SparseGenerator], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_words = generators[1]
    monkeypatch.setattr(sparse_index, "_SETTINGS", [(1, 0.0001, 1)])
    monkeypatch.setattr(sparse_index, "_FEWEST", 1)
    monkeypatch.setattr(sparse_index, "_OF_PART", 1)
    message = r"finds .*% of the best names, and index.recall is 0.97.*index.kind=exact"
    with pytest.raises(LinkerError, match=message):
        WordLists.build(by_words.by_name, by_words.table.texts, by_words.encoder, 0.97)


def test_saved_and_loaded(
    generators: tuple[SparseGenerator, SparseGenerator], tmp_path: Path, sample: Path
) -> None:
    by_words = generators[1]
    by_words.save(tmp_path)
    loaded = SparseGenerator.load(tmp_path, Dictionary.read(sample), TfidfEncoder)
    assert lists_of(loaded).how == lists_of(by_words).how
    queries = ["lung cancers", "hepatitis b"]
    before, after = (concepts_of(made, queries, 5) for made in (by_words, loaded))
    assert list(map(answers, before)) == list(map(answers, after))


@pytest.mark.parametrize(
    "file", ["lists/indices.npy", "words/indices.npy", "vectors/indices.npy", "blocks/starts.npy"]
)
def test_a_row_that_is_not_there_is_refused(
    file: str, generators: tuple[SparseGenerator, SparseGenerator], tmp_path: Path, sample: Path
) -> None:
    generators[1].save(tmp_path)
    values = np.load(tmp_path / file)
    values[0] = 10**8
    np.save(tmp_path / file, values)
    with pytest.raises((LookupError, TypeError, ValueError)):
        SparseGenerator.load(tmp_path, Dictionary.read(sample), TfidfEncoder)


def test_numbers_of_the_search_are_checked(
    generators: tuple[SparseGenerator, SparseGenerator], tmp_path: Path, sample: Path
) -> None:
    generators[1].save(tmp_path)
    record = persistence.load_json(tmp_path / "word_lists.json")
    persistence.save_json(tmp_path / "word_lists.json", {**record, "words": 0})
    with pytest.raises((LookupError, TypeError, ValueError)):
        SparseGenerator.load(tmp_path, Dictionary.read(sample), TfidfEncoder)


def test_a_part_of_the_names(
    generators: tuple[SparseGenerator, SparseGenerator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small part is searched exactly, a large one by its lists; both have the same scores."""
    exact, by_words = generators
    concepts = np.zeros(int(exact.table.concepts.max()) + 1, bool)
    concepts[::2] = True
    (wanted,) = concepts_of(exact.among(concepts), ["lung cancer"], 3)
    small = by_words.among(concepts)
    assert isinstance(small.names, ExactPostings)
    monkeypatch.setattr(sparse, "LARGE", 1)
    large = by_words.among(concepts)
    assert isinstance(large.names, WordLists)
    for part in (small, large):
        (ranked,) = concepts_of(part, ["lung cancer"], 3)
        assert ranked.concepts.tolist() == wanted.concepts.tolist()
        assert ranked.scores == pytest.approx(wanted.scores, abs=1e-6)

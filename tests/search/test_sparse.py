"""The sparse generator against the full table of scores that it avoids."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker import Dictionary
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions
from linker.io import files, persistence
from linker.search import sparse
from linker.search.sparse import Postings, SparseGenerator
from linker.text.normalize import normalize

from .small import (
    WORD,
    answers,
    check_part,
    check_scores,
    concepts_of,
    draw_names,
    read,
    table,
)

QUERY = WORD | st.sampled_from(["", "ΩΩ", "z", "日本 𝒳"])


def generator(
    names: list[str],
    concepts: list[list[int]],
    id_rank: Sequence[int],
    kinds: list[int] | None = None,
) -> SparseGenerator:
    made, encoder = table(names, concepts), TfidfEncoder(TfidfOptions("char", 1, 2))
    encoder.fit(names)
    entry_rank = np.array(kinds or [0] * len(made.entries), np.int32)
    postings = Postings.of(encoder.encode(names))
    return SparseGenerator(made, np.array(id_rank, np.int32), entry_rank, encoder, postings)


def indexed(dictionary: Dictionary, options: TfidfOptions | None = None) -> SparseGenerator:
    names = dictionary.table(normalize)
    encoder = TfidfEncoder(options or TfidfOptions("char", 1, 2))
    encoder.fit(list(names.texts))
    return SparseGenerator.index(names, dictionary, encoder)


def full(made: SparseGenerator, queries: list[str]) -> NDArray[np.float64]:
    """All scores (queries, names), in float64 out of the float32 vectors."""
    asked, names = (made.encoder.encode(t).astype(float) for t in (queries, list(made.table.texts)))
    return asked.toarray() @ names.toarray().T  # type: ignore[no-any-return]


@given(st.data())
@settings(max_examples=30)
def test_rankings_are_those_of_brute_force(data: st.DataObject) -> None:
    number, k = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    names, concepts, kinds = draw_names(data, number)
    queries = data.draw(st.lists(QUERY, max_size=4))
    made = generator(names, concepts, data.draw(st.permutations(range(number))), kinds)
    with mock.patch.dict("os.environ", OMP_NUM_THREADS=data.draw(st.sampled_from(["1", "2"]))):
        every = made.score(queries, len(names))  # its float32 scores, so that ties are its ties
        own = np.zeros((len(queries), len(names)), np.float32)
        own[every.queries, every.rows] = every.scores
        assert own == pytest.approx(full(made, queries), abs=1e-6)
        assert every.encoded is not None
        pairs = made.score_pairs(every.encoded, every.queries, every.rows)
        assert pairs.scores == pytest.approx(every.scores, abs=1e-6)
        for query, scores in zip(queries, own.tolist(), strict=True):
            named = {row: score for row, score in enumerate(scores) if score > 0}
            _, ranked = check_scores(made, query, named, k)
            assert ranked.sparse.tolist() == ranked.scores.tolist()  # type: ignore[union-attr]
            assert ranked.dense is None


@given(st.data())
@settings(max_examples=30)
def test_some_concepts_rank_as_all_do_without_the_others(data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 6))
    names, concepts, kinds = draw_names(data, number)
    made = generator(names, concepts, data.draw(st.permutations(range(number))), kinds)
    queries = data.draw(st.lists(QUERY, min_size=1, max_size=4))
    there = sorted({c for of_name in concepts for c in of_name})
    wanted = data.draw(st.sets(st.sampled_from(there), min_size=1))
    check_part(made, wanted, queries, data.draw(st.integers(1, 6)))


@pytest.fixture
def four(tmp_path: Path) -> Dictionary:
    """Four names of three concepts, "flu" being that of two: 5 rows of concepts in the table."""
    return read(tmp_path, "A:3\tfever\tflu", "A:1\tswine flu", "A:2\tβ\tFlu")


@pytest.fixture
def saved(tmp_path: Path, four: Dictionary) -> Path:
    with persistence.saving(tmp_path / "m", "generator", {}, lambda *_: None) as folder:
        indexed(four).save(folder)
    return tmp_path / "m"


@pytest.mark.parametrize("large", [1, 100])
def test_large_and_small_ones_are_saved_and_loaded(
    four: Dictionary, tmp_path: Path, large: int
) -> None:
    with mock.patch.object(sparse, "LARGE", large):
        saved = indexed(four)
    saved.save(tmp_path)
    loaded = SparseGenerator.load(tmp_path, four, TfidfEncoder)
    assert loaded.names.is_exact == (large == 100)
    before, after = (concepts_of(made, ["flu", "β"], 3) for made in (saved, loaded))
    assert list(map(answers, before)) == list(map(answers, after))


def put(values: NDArray[Any], at: int, value: int) -> NDArray[Any]:
    changed = values.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("postings/indices", lambda v: put(v, 0, 4)),  # the names are rows 0 to 3
        ("postings/indices", lambda v: put(v, -1, -1)),
        ("postings/indices", lambda v: v[:-1]),
        ("postings/indptr", lambda v: put(v, 1, 10_000)),
        ("postings/indptr", lambda v: put(put(v, 1, 2**31 - 1), 2, -2)),  # no difference is below 0
        ("postings/indptr", lambda v: v[:-1]),
        ("postings/data", lambda v: v[:-1]),
        ("postings/data", lambda v: put(v, 0, np.inf)),  # type: ignore[arg-type]
        ("names/concepts", lambda v: put(v, 0, 3)),  # the concepts are 0 to 2
        ("names/entries", lambda v: put(v, 0, 5)),  # the dictionary has the names 0 to 4
        ("names/indptr", lambda v: put(v, -1, 99)),
        ("names/indptr", lambda v: v[:-1]),
        ("names/text.offsets", lambda v: v[:-1]),
    ],
)
def test_loading_refuses_arrays_that_do_not_fit(
    four: Dictionary, saved: Path, file: str, change: Callable[[NDArray[Any]], NDArray[Any]]
) -> None:
    path = saved / f"{file}.npy"
    np.save(path, change(np.load(path)))
    manifest = persistence.load_json(saved / "manifest.json")
    manifest["sha256"][f"{file}.npy"] = files.sha256(path)
    (saved / "manifest.json").write_text(json.dumps(manifest))
    persistence.load(saved, "generator", lambda folder, _: folder)  # the checksums fit
    with pytest.raises((LookupError, TypeError, ValueError)):
        SparseGenerator.load(saved, four, TfidfEncoder)


@pytest.mark.parametrize("is_exact", [True, False])
def test_names_in_parts_are_found_as_those_in_one(sample: Path, is_exact: bool) -> None:
    exact = indexed(Dictionary.read(sample), TfidfOptions())
    queries = exact.encoder.encode(["lung cancers", "hepatitis b", "oesophageal", "", "ΩΩ"])
    with mock.patch.multiple(sparse, _PART=7, _TELLING=1.0, _PROPOSED=10_000):
        parts = Postings.of(exact.by_name, is_exact)
        assert len(parts._parts) > 20
        for k in (1, 7, 50):
            found, wanted = parts.search(queries, k), exact.names.search(queries, k)
            assert found.indptr.tolist() == wanted.indptr.tolist()
            best, own = (np.lexsort((-hits.scores, hits.queries)) for hits in (wanted, found))
            assert found.scores[own] == pytest.approx(wanted.scores[best], abs=1e-6)
            slow = (queries @ exact.by_name.T).toarray()
            assert found.scores == pytest.approx(slow[found.queries, found.rows], abs=1e-6)


def test_the_rarest_terms_propose() -> None:
    """Of terms in 1, 2 and 3 names with squares of 0.5, 0.35 and 0.15, the first two are enough."""
    has = np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]], np.float32)
    postings = Postings.of(csr_matrix(has), is_exact=False)
    asked = csr_matrix(np.sqrt(np.array([[0.5, 0.35, 0.15], [0, 0, 1], [0, 0.9, 0.1], [0, 0, 0]])))
    telling = postings._telling(asked.astype(np.float32))
    kept = [row.nonzero()[0].tolist() for row in telling.toarray()]
    assert kept == [[0, 1], [2], [1], []]
    assert telling.data == pytest.approx(np.sqrt([0.5, 0.35, 1, 0.9]))

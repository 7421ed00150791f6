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

from linker import Dictionary, LinkerError, files, persistence
from linker.candidates import base, postings
from linker.candidates.base import Generator, Ranked
from linker.candidates.postings import ExactPostings
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import NameTable
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions
from linker.persistence import Strings
from linker.text.normalize import normalize
from linker.types import Lookup

WORD = (
    st.text("ab ", min_size=1, max_size=5).map(lambda text: " ".join(text.split())).filter(bool)
)  # few letters make many ties
UNKNOWN = st.sampled_from(["", "ΩΩ", "z", "日本 𝒳"])


def generator(
    names: list[str],
    concepts: list[list[int]],
    id_rank: list[int],
    threads: int = 0,
    kinds: list[int] | None = None,
) -> SparseGenerator:
    indptr = np.cumsum([0, *map(len, concepts)]).astype(np.int64)
    rows = np.array([c for some in concepts for c in some], np.int32)
    table = NameTable(Strings.of(names), indptr, rows, np.arange(len(rows), dtype=np.int32))
    encoder = TfidfEncoder(TfidfOptions("char", 1, 2))
    encoder.fit(names)
    entry_rank = np.array(kinds or [0] * len(rows), np.int32)
    return SparseGenerator(
        table,
        np.array(id_rank, np.int32),
        entry_rank,
        encoder,
        ExactPostings(csr_matrix(encoder.encode(names).T)),
        threads,
    )


def indexed(dictionary: Dictionary) -> SparseGenerator:
    """All names of a dictionary, normalised; those that are empty are not fitted."""
    table = dictionary.table(normalize)
    encoder = TfidfEncoder(TfidfOptions("char", 1, 2))
    encoder.fit(list(table.texts))
    return SparseGenerator.index(table, dictionary, encoder)


def read(folder: Path, *lines: str) -> Dictionary:
    path = folder / "small.tsv"
    rows = (line if line.count("\t") == 2 else f"{line}\t" for line in lines)
    path.write_text("\n".join(["id\tname\tsynonyms", *rows]) + "\n", encoding="utf-8")
    return Dictionary.read(path)


def full(made: SparseGenerator, queries: list[str]) -> np.ndarray:
    """All scores (queries, names), in float64 out of the float32 vectors."""
    encoder, names = made.encoder, list(made.table.texts)
    return (
        encoder.encode(queries).astype(np.float64).toarray()
        @ encoder.encode(names).astype(np.float64).toarray().T
    )


def lookups(queries: Sequence[str]) -> list[Lookup]:
    return [Lookup.of(query) for query in queries]


def names_of(made: Generator, queries: Sequence[str], k: int) -> list[tuple[Any, Any]]:
    """The rows and scores of the best names."""
    return [(r.names, r.scores) for r in made.rank(lookups(queries), k, "names")]


def concepts_of(made: Generator, queries: Sequence[str], k: int) -> list[Ranked]:
    return made.rank(lookups(queries), k, "concepts")


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_rankings_are_those_of_brute_force(data: st.DataObject) -> None:
    names = data.draw(st.lists(WORD, min_size=1, max_size=25, unique=True))
    number = data.draw(st.integers(1, 5))
    concepts = data.draw(
        st.lists(
            st.sets(st.integers(0, number - 1), min_size=1).map(sorted),
            min_size=len(names),
            max_size=len(names),
        )
    )
    queries = data.draw(st.lists(WORD | UNKNOWN, max_size=4))
    k = data.draw(st.integers(1, 6))
    entries = sum(map(len, concepts))
    kinds = data.draw(st.lists(st.integers(0, 2), min_size=entries, max_size=entries))
    made = generator(
        names,
        concepts,
        data.draw(st.permutations(range(number))),
        data.draw(st.integers(1, 2)),
        kinds,
    )
    scores = full(made, queries)
    every = made.score(
        queries, len(names)
    )  # its own float32 scores, uncut, so that ties are its ties
    own = np.zeros((len(queries), len(names)), np.float32)
    own[np.repeat(np.arange(len(queries)), np.diff(every.indptr)), every.rows] = every.scores
    assert own == pytest.approx(scores, abs=1e-6)
    rank = made._id_rank
    for i, ((rows, found), ranked) in enumerate(
        zip(names_of(made, queries, k), concepts_of(made, queries, k), strict=True)
    ):
        expected = sorted(
            np.flatnonzero(own[i]).tolist(), key=lambda r: (-own[i, r], min(rank[concepts[r]]), r)
        )[:k]
        assert rows.tolist() == expected
        assert found.tolist() == own[i, expected].tolist()
        owned = [(r, c) for r, some in enumerate(concepts) for c in some]  # entry by entry
        best: dict[int, tuple[float, int, int]] = {}
        for entry, (r, c) in enumerate(owned):
            best[c] = min(best.get(c, (0.0, 0, 0)), (-float(own[i, r]), kinds[entry], entry))
        order = sorted((c for c in best if best[c][0] < 0), key=lambda c: (*best[c][:2], rank[c]))[
            :k
        ]
        assert ranked.concepts.tolist() == order
        assert ranked.entries.tolist() == [best[c][2] for c in order]
        assert ranked.scores.tolist() == [-best[c][0] for c in order]


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_given_names_score_as_in_the_full_table(data: st.DataObject) -> None:
    names = data.draw(st.lists(WORD, min_size=1, max_size=10, unique=True))
    queries = data.draw(st.lists(WORD | UNKNOWN, max_size=4))
    width = data.draw(st.integers(0, 4))
    row = st.lists(st.integers(-1, len(names) - 1), min_size=width, max_size=width)
    rows = np.array([data.draw(row) for _ in queries], np.int32).reshape(len(queries), width)
    made = generator(names, [[0]] * len(names), [0])
    expected = np.take_along_axis(full(made, queries), np.maximum(rows, 0), axis=1)
    with mock.patch.object(postings, "_PAIRS", data.draw(st.integers(1, 20))):
        scores = made.similarity(queries, rows)
    assert scores.dtype == np.float32
    assert scores == pytest.approx(np.where(rows < 0, 0, expected), abs=1e-6)


def test_the_score_is_its_sparse_part() -> None:
    ranked = concepts_of(generator(["fever", "flu"], [[0], [1]], [0, 1]), ["flu"], 2)[0]
    assert ranked.sparse is not None
    assert ranked.sparse.tolist() == ranked.scores.tolist()
    assert ranked.dense is None


def test_a_query_without_known_characters_finds_nothing() -> None:
    made = generator(["fever", "flu"], [[0], [1]], [0, 1])
    for query in ("", "ΩΩ", "日本"):
        assert concepts_of(made, [query, "flu"], 5)[0].concepts.tolist() == []
        assert names_of(made, [query, "flu"], 5)[0][0].tolist() == []
    assert concepts_of(made, ["", "flu"], 5)[1].concepts.tolist()[0] == 1


def test_the_name_itself_scores_one() -> None:
    made = generator(["fever", "swine flu", "flu"], [[0], [1], [2]], [0, 1, 2])
    for row, name in enumerate(made.table.texts):
        ranked = concepts_of(made, [name], 1)[0]
        assert ranked.concepts.tolist() == [row]
        assert ranked.scores[0] == pytest.approx(1, abs=1e-6)


def test_a_preferred_name_beats_a_synonym_and_a_training_name_beats_both(tmp_path: Path) -> None:
    for owner, other in (("A:1", "A:2"), ("A:2", "A:1")):
        dictionary = read(
            tmp_path, f"{other}\theat\tFEVER", f"{owner}\tFever\tpyrexia", "A:3\tglow", "A:0\tchill"
        )
        ranked = concepts_of(indexed(dictionary), ["fever"], 2)[0]
        assert [dictionary.ids[c] for c in ranked.concepts] == [owner, other]
        assert ranked.scores[0] == ranked.scores[1]
        assert [dictionary.names[e] for e in ranked.entries] == ["Fever", "FEVER"]
        trained = dictionary.add([("fever", ["A:3"])])
        ranked = concepts_of(indexed(trained), ["fever"], 3)[0]
        assert [trained.ids[c] for c in ranked.concepts] == ["A:3", owner, other]
        assert [trained.names[e] for e in ranked.entries] == ["fever", "Fever", "FEVER"]


def test_names_of_the_same_kind_are_ordered_by_id(tmp_path: Path) -> None:
    dictionary = read(tmp_path, "A:9\theat\tfever", "A:10\tglow\tfever", "A:2\tchill\tfever")
    ranked = concepts_of(indexed(dictionary), ["fever"], 3)[0]
    assert [dictionary.ids[c] for c in ranked.concepts] == sorted(dictionary.ids)


def test_small_batches_give_what_large_ones_do(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = indexed(Dictionary.read(sample))
    queries = list(made.table.texts)[:50]
    concepts, names = concepts_of(made, queries, 3), names_of(made, queries, 3)
    monkeypatch.setattr(base, "_CELLS", 100)
    for a, b in zip(concepts, concepts_of(made, queries, 3), strict=True):
        assert (a.concepts.tolist(), a.entries.tolist(), a.scores.tolist()) == (
            b.concepts.tolist(),
            b.entries.tolist(),
            b.scores.tolist(),
        )
    for (rows, scores), (again, same) in zip(names, names_of(made, queries, 3), strict=True):
        assert (rows.tolist(), scores.tolist()) == (again.tolist(), same.tolist())


def test_the_number_of_threads_changes_nothing(sample: Path) -> None:
    dictionary = Dictionary.read(sample)
    table = dictionary.table(normalize)
    encoder = TfidfEncoder()
    encoder.fit(list(table.texts))
    one = SparseGenerator.index(table, dictionary, encoder)
    ranks = dictionary.id_rank, dictionary.entry_rank
    two, four = (SparseGenerator(table, *ranks, encoder, one.names, threads) for threads in (1, 4))
    queries = list(table.texts)[:200]
    for a, b, c in zip(
        concepts_of(one, queries, 5),
        concepts_of(two, queries, 5),
        concepts_of(four, queries, 5),
        strict=True,
    ):
        assert a.concepts.tolist() == b.concepts.tolist() == c.concepts.tolist()
        assert a.scores.tolist() == b.scores.tolist() == c.scores.tolist()


def test_every_name_of_the_sample_finds_its_concepts(sample: Path) -> None:
    dictionary = Dictionary.read(sample)
    table = dictionary.table(normalize)
    encoder = TfidfEncoder(TfidfOptions("char", 1, 3))
    encoder.fit(list(table.texts))
    made = SparseGenerator.index(table, dictionary, encoder)
    for row, ranked in enumerate(concepts_of(made, list(table.texts), 10)):
        own = set(table.concepts[table.indptr[row] : table.indptr[row + 1]].tolist())
        first = {
            c
            for c, score in zip(ranked.concepts.tolist(), ranked.scores, strict=True)
            if score > 1 - 1e-5
        }
        assert own <= first


@pytest.fixture
def four(tmp_path: Path) -> Dictionary:
    """Four names of three concepts, "flu" being that of two: 5 rows of concepts in the table."""
    return read(tmp_path, "A:3\tfever\tflu", "A:1\tswine flu", "A:2\tβ\tFlu")


@pytest.fixture
def saved(tmp_path: Path, four: Dictionary) -> Path:
    with persistence.saving(tmp_path / "m", "generator", {}, lambda *_: None) as folder:
        indexed(four).save(folder)
    return tmp_path / "m"


def test_saving_and_loading(four: Dictionary, saved: Path) -> None:
    made, loaded = indexed(four), SparseGenerator.load(saved, four, TfidfEncoder)
    array = loaded.names.postings.data
    while isinstance(array.base, np.ndarray):
        array = array.base
    assert isinstance(array, np.memmap)
    queries = ["flu", "fever β", ""]
    for a, b in zip(concepts_of(made, queries, 3), concepts_of(loaded, queries, 3), strict=True):
        assert (a.concepts.tolist(), a.entries.tolist(), a.scores.tolist()) == (
            b.concepts.tolist(),
            b.entries.tolist(),
            b.scores.tolist(),
        )


def put(values: NDArray[Any], at: int, value: int) -> NDArray[Any]:
    changed = values.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("postings/indices", lambda v: put(v, 0, 4)),  # the names are rows 0 to 3
        ("postings/indices", lambda v: put(v, 0, 2**31 - 1)),
        ("postings/indices", lambda v: put(v, -1, -1)),
        ("postings/indices", lambda v: v[:-1]),
        ("postings/indices", lambda v: v.reshape(1, -1)),
        ("postings/indptr", lambda v: put(v, 1, 10_000)),
        ("postings/indptr", lambda v: put(v, -1, 10_000)),
        ("postings/indptr", lambda v: put(v, 0, -1)),
        ("postings/indptr", lambda v: v[:-1]),
        ("postings/data", lambda v: v[:-1]),
        ("postings/data", lambda v: v.reshape(-1, 1)),
        ("names/concepts", lambda v: put(v, 0, 3)),  # the concepts are 0 to 2
        ("names/concepts", lambda v: put(v, 0, -1)),
        ("names/concepts", lambda v: v[:-1]),
        ("names/concepts", lambda v: v[:0]),
        ("names/entries", lambda v: put(v, 0, 5)),  # the dictionary has the names 0 to 4
        ("names/entries", lambda v: put(v, 0, -1)),
        ("names/entries", lambda v: v[:-1]),
        ("names/indptr", lambda v: put(v, 1, 4)),
        ("names/indptr", lambda v: put(v, -1, 99)),
        ("names/indptr", lambda v: put(v, 0, 1)),
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
    with pytest.raises(
        LinkerError, match=r"the names and their vectors do not fit together \(.*\); train again"
    ):
        SparseGenerator.load(saved, four, TfidfEncoder)


def test_loading_refuses_another_dictionary(tmp_path: Path, saved: Path) -> None:
    with pytest.raises(LinkerError, match="a list names a row that is not there"):
        SparseGenerator.load(saved, read(tmp_path, "A:1\tfever", "A:2\tflu"), TfidfEncoder)


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_some_concepts_rank_as_all_do_without_the_others(data: st.DataObject) -> None:
    names = data.draw(st.lists(WORD, min_size=1, max_size=25, unique=True))
    number = data.draw(st.integers(1, 6))
    concepts = data.draw(
        st.lists(
            st.sets(st.integers(0, number - 1), min_size=1).map(sorted),
            min_size=len(names),
            max_size=len(names),
        )
    )
    entries = sum(map(len, concepts))
    kinds = data.draw(st.lists(st.integers(0, 2), min_size=entries, max_size=entries))
    queries = data.draw(st.lists(WORD | UNKNOWN, min_size=1, max_size=4))
    made = generator(names, concepts, data.draw(st.permutations(range(number))), 1, kinds)
    wanted = data.draw(
        st.sets(st.sampled_from(sorted({c for some in concepts for c in some})), min_size=1)
    )
    k = data.draw(st.integers(1, 6))
    some = made.among(np.isin(np.arange(number), sorted(wanted)))
    for every, ranked in zip(
        concepts_of(made, queries, number), concepts_of(some, queries, k), strict=True
    ):
        kept = [
            row
            for row in zip(
                every.concepts.tolist(), every.entries.tolist(), every.scores.tolist(), strict=True
            )
            if row[0] in wanted
        ]
        assert (
            list(
                zip(
                    ranked.concepts.tolist(),
                    ranked.entries.tolist(),
                    ranked.scores.tolist(),
                    strict=True,
                )
            )
            == kept[:k]
        )
    for every_name, (rows, scores) in zip(
        names_of(made, queries, len(names)), names_of(some, queries, k), strict=True
    ):
        own = [
            (row, score)
            for row, score in zip(every_name[0].tolist(), every_name[1].tolist(), strict=True)
            if wanted & set(concepts[row])
        ]
        own.sort(
            key=lambda hit: (
                -hit[1],
                min(made._id_rank[c] for c in wanted & set(concepts[hit[0]])),
                hit[0],
            )
        )
        assert [
            (some.table.texts[row], score)
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ] == [(names[row], score) for row, score in own[:k]]

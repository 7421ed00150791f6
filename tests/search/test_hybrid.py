"""The hybrid generator against the full table of scores that it avoids; what pieces give to scores."""

from __future__ import annotations

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
from linker.encoders.base import Encoder, SparseEncoder
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions
from linker.errors import LinkerError
from linker.io import persistence
from linker.search import concepts as generating
from linker.search import hybrid, index
from linker.search.hybrid import HybridGenerator, NameVectors, encode_names
from linker.search.sparse import Postings, SparseGenerator
from linker.text.normalize import normalize

from .small import (
    WORD,
    answers,
    check_part,
    check_scores,
    concepts_of,
    draw_names,
    names_of,
    read,
    table,
)

# what `persistence.load` turns into a message
DAMAGED = (LookupError, TypeError, ValueError)
QUERY = WORD | st.sampled_from(["", "z", "zb"])


class Letters(SparseEncoder):
    """Counts "a" and "b": whole numbers, so that all sums are exact."""

    def fit(self, names: Sequence[str]) -> None: ...

    def encode(self, names: Sequence[str]) -> csr_matrix:
        return csr_matrix(
            np.array([[name.count("a"), name.count("b")] for name in names], np.float32).reshape(
                len(names), 2
            )
        )

    def save(self, folder: Path) -> None: ...

    @classmethod
    def load(cls, folder: Path) -> Letters:
        return cls()


class Endings(Encoder):
    """Three small whole numbers out of the length, the first and the last character."""

    def __init__(self, dim: int = 3) -> None:
        self._dim, self.asked = dim, []  # type: ignore[var-annotated]

    @property
    def dim(self) -> int:
        return self._dim

    def encode(
        self, names: Sequence[str], *, batch_size: int = 256, progress: bool = False
    ) -> NDArray[np.float32]:
        self.asked.append(list(names))
        whole = [
            [len(name) - 3, ord(name[0]) - ord("b"), 98 - ord(name[-1])] if name else [9, 9, 9]
            for name in names
        ]
        return np.array(whole, np.float32).reshape(-1, 3)[:, : self.dim] % 5 - 2

    def save(self, folder: Path) -> None:
        folder.mkdir()
        persistence.save_json(folder / "endings.json", {"dim": self.dim})

    @classmethod
    def load(cls, folder: Path) -> Endings:
        return cls(persistence.load_json(folder / "endings.json")["dim"])


def generator(
    names: Sequence[str],
    concepts: Sequence[Sequence[int]],
    weight: float,
    kinds: Any = 0,
    bias: Any = None,
) -> HybridGenerator:
    encoder, made = Letters(), table(names, concepts)
    number = 1 + max(c for some in concepts for c in some)
    entry_rank = np.broadcast_to(np.array(kinds, np.int32), len(made.entries))
    postings = Postings.of(encoder.encode(names))
    id_rank = np.arange(number, dtype=np.int32)[::-1]
    sparse = SparseGenerator(made, id_rank, entry_rank, encoder, postings)
    return encoded_names(sparse, Endings(), weight, bias)


def encoded_names(
    sparse: SparseGenerator, encoder: Any, weight: float, bias: Any = None
) -> HybridGenerator:
    vectors = encode_names(encoder, list(sparse.table.texts))
    return HybridGenerator(sparse, encoder, vectors, weight, bias)


def with_vectors(
    made: HybridGenerator, vectors: NDArray[np.float32], weight: float
) -> HybridGenerator:
    return HybridGenerator(made.sparse, made.encoder, vectors, weight)


def full(made: HybridGenerator, query: str) -> dict[int, tuple[float, float, float]]:
    """Of each name that has a concept z and its sparse and dense parts; of the empty query none."""
    (letters,), (ending,) = Letters().encode([query]).toarray(), Endings().encode([query])
    found = {}
    for row, name in enumerate(made.table.texts):
        if name and query:
            sparse = float(letters @ Letters().encode([name]).toarray()[0])
            near = float(ending @ made.vectors[row])
            found[row] = near + made.sparse_weight * sparse + float(made.bias[row]), sparse, near
    return found


def check(made: HybridGenerator, query: str, k: int) -> None:
    parts = full(made, query)
    _, ranked = check_scores(made, query, {row: part[0] for row, part in parts.items()}, k)
    columns: Any = ranked.scores, ranked.sparse, ranked.dense
    found = zip(*(column.tolist() for column in columns), strict=True)
    assert list(found) == [parts[row] for row in ranked.names.tolist()]


def check_some(made: HybridGenerator, queries: list[str], k: int) -> None:
    """Whatever names are found, their scores are right, and the best come first."""
    for query, (rows, scores) in zip(queries, names_of(made, queries, k), strict=True):
        parts = full(made, query)
        assert len(set(rows)) == len(rows) <= min(k, len(parts))
        assert scores == sorted((parts[row][0] for row in rows), reverse=True)


@given(st.data())
@settings(max_examples=60)
def test_rankings_are_those_of_brute_force_whatever_the_blocks(data: st.DataObject) -> None:
    """Where as many names are wanted as there are, so that none is missed."""
    names, concepts, kinds = draw_names(data, 5)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(names)))
        names.insert(at, "")
        concepts.insert(at, [])
    weight = data.draw(st.sampled_from([0, 0.5, 3, -3, -0.25]))
    cells = data.draw(st.sampled_from([1, 10, 10**6]))
    bias = np.array([data.draw(st.sampled_from([0, 1, 7, -2])) for _ in names], np.float32)
    with (
        mock.patch.multiple(index, _CELLS=cells, _PAIRS=data.draw(st.sampled_from([1, 3, 1000]))),
        mock.patch.multiple(generating, _OVERFETCH=30, _CELLS=cells),
        mock.patch.multiple(hybrid, _SILENT=data.draw(st.sampled_from([-99, 0.75, 99]))),
    ):
        made = generator(names, concepts, weight, kinds, bias)
        queries = data.draw(st.lists(QUERY, max_size=5))
        if "" not in names:  # an empty one takes the place of another where all are wanted
            for query in queries:
                check(made, query, 30)
        check_some(made, queries, data.draw(st.sampled_from([1, 2, 4])))


@given(st.data())
@settings(max_examples=30)
def test_some_concepts_rank_as_all_do_without_the_others(data: st.DataObject) -> None:
    names, concepts, kinds = draw_names(data, data.draw(st.integers(1, 6)))
    weight, bias = data.draw(st.sampled_from([0.0, 0.5, -1.0])), np.arange(len(names)) % 3
    made = generator(names, concepts, weight, kinds, bias.astype(np.float32))
    queries = data.draw(st.lists(QUERY, min_size=1, max_size=4))
    there = sorted({c for of_name in concepts for c in of_name})
    wanted = data.draw(st.sets(st.sampled_from(there), min_size=1))
    with mock.patch.object(generating, "_OVERFETCH", 30):  # all: of fewer any that are as near
        check_part(made, wanted, queries, 30)


class Vowels(Endings):
    """The second encoder: counts vowels and other letters, by turns more or less than four."""

    def encode(self, names: Sequence[str], **_: Any) -> NDArray[np.float32]:
        self.asked.append(list(names))
        counts = [[sum(c in "aeiou" for c in n), len(n), ord(n[:1] or "a") % 7] for n in names]
        return np.array(counts, np.float32).reshape(-1, 3) - 4


@given(st.data())
@settings(max_examples=40)
def test_a_second_encoder_adds_the_concepts_whose_names_it_finds_nearest(
    data: st.DataObject,
) -> None:
    names, concepts, kinds = draw_names(data, 5)
    weight, bias = data.draw(st.sampled_from([0, 0.5, -3])), np.arange(len(names), dtype=np.float32)
    alone = generator(names, concepts, weight, kinds, bias)
    made = alone.with_second(NameVectors.of(Vowels(), alone.table))
    there = sorted({c for of_name in concepts for c in of_name})
    wanted = np.isin(
        np.arange(max(there) + 1), data.draw(st.sets(st.sampled_from(there), min_size=1))
    )
    queries = data.draw(st.lists(QUERY, unique=True, max_size=5))
    with (
        mock.patch.multiple(hybrid, _OTHERS=2, _NEAREST=99),
        mock.patch.object(generating, "_OVERFETCH", 30),
    ):
        for first, both in ((alone, made), (alone.among(wanted), made.among(wanted))):
            found, more = first.candidates(queries, 1), both.candidates(queries, 1)
            for i, query in enumerate(queries):
                own = found.concepts[slice(*found.indptr[i : i + 2])].tolist()
                rows = slice(*more.indptr[i : i + 2])
                concepts_, scores = more.concepts[rows].tolist(), more.scores[rows].tolist()
                assert concepts_[: len(own)] == own
                added = concepts_[len(own) :]
                assert len(added) == len({*added} - {*own}) <= 2
                (vector,) = Vowels().encode([query])
                near: dict[int, float] = {}
                for row, name in enumerate(both.table.texts):
                    product = float(vector @ Vowels().encode([name])[0])
                    for concept in both.table.concepts_of(row).tolist() if name and query else ():
                        near[concept] = max(near.get(concept, -1e9), product)
                best = sorted(near.values(), reverse=True)[:2]
                assert all(near[concept] >= best[-1] for concept in added)
                ahead = {concept for concept, product in near.items() if product > best[-1]}
                assert ahead <= {*own, *added}
                parts = full(both, query)
                for name, score in zip(more.names[rows].tolist(), scores, strict=True):
                    assert score == parts[name][0]


def test_the_vectors_of_names_and_of_the_latest_texts_are_not_made_again() -> None:
    made = generator(["ab", "abe", "ba"], [[0], [1], [2]], 1.0)
    second = NameVectors.of(Vowels(), made.table)
    asked = second.encoder.asked  # type: ignore[attr-defined]
    assert asked == [["ab", "abe", "ba"]]
    texts = ["zz", "abe", "", "zz"]
    for some in (second, second, second.among(made.table, np.arange(3))):
        assert some.encode(texts).tolist() == Vowels().encode(texts).tolist()
    assert asked[1:] == [["zz", ""]]
    with pytest.raises(ValueError, match="second encoder"):
        NameVectors(Endings(2), made.table, second.index)


@pytest.mark.parametrize("weight", [0.0, 0.7, -0.7, 30.0, -30.0])
def test_the_nearest_names_and_those_with_the_same_letters_where_none_is_near(
    sample: Path, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_CELLS", 20 * 50)
    made = encoded_names(indexed(Dictionary.read(sample), TfidfEncoder()), Endings(), weight)
    random = np.random.default_rng(0)
    vectors = random.standard_normal((len(made.table), 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made, queries = with_vectors(made, vectors, weight), list(made.table.texts)[:20]
    monkeypatch.setattr(Endings, "covers_characters", True)
    asked = random.standard_normal((20, 3)).astype(np.float32)  # the longest are near to no name
    monkeypatch.setattr(made.encoder, "encode", lambda names: asked)
    encode = made.sparse.encoder.encode
    sparse = (encode(queries) @ encode(list(made.table.texts)).T).toarray().astype(np.float64)
    dense = asked.astype(np.float64) @ vectors.astype(np.float64).T
    z = dense + weight * sparse
    own = np.linalg.norm(asked, axis=1) ** 2
    silent = dense.max(axis=1) <= 0.75 * own
    assert 0 < silent.sum() < 20
    hits = made.score(queries, 9)
    assert hits.indptr.tolist() == list(range(0, 181, 9))
    assert hits.encoded is not None
    assert hits.encoded.squares == pytest.approx(own, rel=1e-5)
    for i in range(20):
        found = slice(9 * i, 9 * i + 9)
        rows = hits.rows[found]
        assert hits.scores[found] == pytest.approx(z[i, rows], abs=1e-4)
        assert len(set(rows.tolist())) == 9
        pool = {*np.argsort(-dense[i])[:9].tolist(), i}  # the name that is the query, always
        if silent[i]:  # of names that are as good by characters any may be found
            ninth = np.sort(sparse[i])[-9]
            above = np.flatnonzero(sparse[i] > ninth + 1e-6).tolist()
            equal = np.flatnonzero(abs(sparse[i] - ninth) <= 1e-6).tolist()
            if ninth > 0 and len(above) + len(equal) > 9:
                continue
            pool |= {*above, *(equal if ninth > 0 else [])}
            assert queries[i] not in made.table.texts or i in pool
        best = np.sort(z[i, sorted(pool)])[-9:]
        assert sorted(hits.scores[found]) == pytest.approx(best, abs=1e-4)


def test_a_text_that_shares_nothing_with_a_name_has_no_candidates(sample: Path) -> None:
    class Unlike(Endings):
        """Gives texts that are no names of the sample no vector."""

        def encode(self, names: Sequence[str]) -> NDArray[np.float32]:
            is_latin = np.array([[name.isascii()] for name in names])
            return super().encode(names) * is_latin

    made = encoded_names(indexed(Dictionary.read(sample), TfidfEncoder()), Unlike(), 1)
    with mock.patch.object(made, "score", wraps=made.score) as score:
        assert len(made.candidates(["\u0648\u062c\u0639 \u0631\u0623\u0633"], 5)) == 0
    assert score.call_count == 1
    assert len(made.candidates(["fever"], 5)) == 5


def indexed(dictionary: Dictionary, encoder: TfidfEncoder) -> SparseGenerator:
    names = dictionary.table(normalize)
    encoder.fit([text for text in names.texts if text])
    return SparseGenerator.index(names, dictionary, encoder)


@pytest.fixture
def four(tmp_path: Path) -> Dictionary:
    return read(tmp_path, "A:3\tfever\tflu", "A:1\tswine flu", "A:2\tβ\tFlu")


@pytest.fixture
def made(four: Dictionary) -> HybridGenerator:
    bias = np.array([0, 1, 2, 3], np.float32)
    return encoded_names(
        indexed(four, TfidfEncoder(TfidfOptions("char", 1, 2))), Endings(), -0.5, bias
    )


@pytest.mark.parametrize("wanted", [[True, True, True], [True, False, True]])
def test_pairs_have_the_scores_that_a_search_gives_them(
    made: HybridGenerator, wanted: list[bool]
) -> None:
    some = made.among(np.array(wanted))
    found = some.candidates(["swine", "fevers", "flu"], 3)
    assert found.encoded is not None
    assert len(set(found.queries.tolist())) == 3
    pairs = some.score_pairs(found.encoded, found.queries, found.names)
    for own, searched in zip(pairs, (found.scores, found.sparse, found.dense), strict=True):
        assert own == pytest.approx(searched, abs=1e-6)


@pytest.fixture
def saved(tmp_path: Path, made: HybridGenerator) -> Path:
    with persistence.saving(tmp_path / "m", "generator", {}, lambda *_: None) as folder:
        made.save(folder)
    return tmp_path / "m"


def test_a_second_encoder_whose_vectors_are_no_numbers(made: HybridGenerator) -> None:
    class Broken(Vowels):
        def encode(self, names: Sequence[str], **options: Any) -> NDArray[np.float32]:
            return super().encode(names, **options) * np.float32(np.nan)

    with pytest.raises(LinkerError, match="not finite"):
        NameVectors.of(Broken(), made.table)


def test_saving_and_loading_two_encoders(
    tmp_path: Path, four: Dictionary, made: HybridGenerator
) -> None:
    both = made.with_second(NameVectors.of(Vowels(), made.table))
    with persistence.saving(tmp_path / "two", "generator", {}, lambda *_: None) as folder:
        both.save(folder)
    loaded = HybridGenerator.load(tmp_path / "two", four, TfidfEncoder, Endings, Vowels)
    assert [type(encoder) for encoder in loaded.encoders] == [Endings, Vowels]
    queries = ["flu", "fever β", "", "zz"]
    assert answers(loaded.candidates(queries, 1)) == answers(both.candidates(queries, 1))
    vectors = tmp_path / "two" / "second" / "vectors.npy"
    np.save(vectors, np.load(vectors)[:-1])
    with pytest.raises(DAMAGED):
        HybridGenerator.load(tmp_path / "two", four, TfidfEncoder, Endings, Vowels)


def test_saving_and_loading(four: Dictionary, made: HybridGenerator, saved: Path) -> None:
    loaded = HybridGenerator.load(saved, four, TfidfEncoder, Endings)
    assert (loaded.sparse_weight, loaded.bias.tolist()) == (-0.5, [0, 1, 2, 3])
    queries = ["flu", "fever β", "", "zz"]
    before, after = (concepts_of(of, queries, 3) for of in (made, loaded))
    assert list(map(answers, before)) == list(map(answers, after))
    with persistence.saving(saved, "generator", {}, lambda *_: None) as folder:
        loaded.save(folder)  # over the folder that it was loaded from
    again = HybridGenerator.load(saved, four, TfidfEncoder, Endings)
    assert again.vectors.tolist() == made.vectors.tolist()


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("vectors", lambda v: v[:-1]),
        ("vectors", lambda v: v[:, :-1]),
        ("vectors", lambda v: v.astype(">f4")),
        ("bias", lambda v: v[:-1]),
        ("bias", lambda v: v * np.float32(np.nan)),
    ],
)
def test_loading_refuses_arrays_that_do_not_fit(
    four: Dictionary, saved: Path, file: str, change: Callable[[NDArray[Any]], NDArray[Any]]
) -> None:
    path = saved / "dense_names" / f"{file}.npy"
    np.save(path, change(np.load(path)))
    with pytest.raises(DAMAGED):
        HybridGenerator.load(saved, four, TfidfEncoder, Endings)

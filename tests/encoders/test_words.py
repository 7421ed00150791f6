"""Word vectors: cut, hashed, read, trained, saved, pruned."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.encoders.words import (
    CONCEPT,
    NAME,
    Subwords,
    WordsOptions,
    WordVectors,
    marked,
    train,
)
from linker.errors import LinkerError

pytest.importorskip("gensim")

CUT = Subwords(3, 3, 1000)
TINY = WordsOptions(dim=4, min_count=1, epochs=1, buckets=50)
TEXT = [["breast", "cancer"], ["ovarian", "cancer"], ["breast", "tumor"]]


def vectors(subwords: bool = True) -> WordVectors:
    """Words a = (1, 0), bc = (0, 2), and the n-gram <zz = (4, 4)."""
    own = [[1, 0], [0, 2]]
    if not subwords:
        return WordVectors(["a", "bc"], np.array(own, np.float32))
    bucket = CUT.hashes("zz")[:1]
    return WordVectors(
        ["a", "bc"], np.array([*own, [4, 4]], np.float32), CUT, np.array(bucket, np.int64)
    )


@given(st.text(max_size=12), st.integers(1, 4), st.integers(0, 3))
def test_ngrams_have_the_buckets_of_fasttext(word: str, shortest: int, more: int) -> None:
    word = word.encode("utf-8", "replace").decode()
    from gensim.models.fasttext import ft_ngram_hashes

    assert sorted(Subwords(shortest, shortest + more, 997).hashes(word)) == sorted(
        ft_ngram_hashes(word, shortest, shortest + more, 997)
    )


def test_a_name_is_the_mean_of_its_words() -> None:
    assert vectors().means(["a bc", "a", "A, BC!"]).tolist() == [[0.5, 1], [1, 0], [0.5, 1]]


def test_an_unknown_word_is_the_mean_of_its_ngrams_and_without_any_it_is_left_out() -> None:
    made = vectors().means(["zz", "a zz", "a qq", "qq", ""])
    assert made.tolist() == [[4, 4], [2.5, 2], [1, 0], [0, 0], [0, 0]]
    assert vectors(subwords=False).means(["a zz", "zz"]).tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("factor", [1, 0.1])
def test_what_is_saved_is_read(tmp_path: Path, factor: float) -> None:
    own = vectors()
    made = WordVectors(own.words, own.vectors * np.float32(factor), own.subwords, own.buckets)
    made.save(tmp_path / "w")
    read = WordVectors.read(tmp_path / "w")
    assert list(read.words) == ["a", "bc"]
    assert read.subwords == CUT
    # vectors that lose nothing in half precision are stored so
    assert read.stored.dtype == (np.float32 if factor == 0.1 else np.float16)
    assert np.shares_memory(read.vectors, read.stored) == (factor == 0.1)  # no copy of float32
    assert read.means(["a zz"]).tolist() == made.means(["a zz"]).tolist()
    assert {path.suffix for path in (tmp_path / "w").iterdir()} == {".npy", ".json"}


def test_pruning_keeps_the_words_of_names_the_first_words_and_their_ngrams() -> None:
    made = train([["alpha", "alpha", "beta", "gamma"]], TINY)
    kept = made.pruned(["gamma"], frequent=1)
    assert set(kept.words) == {"alpha", "gamma"}
    assert set(kept.buckets) == {
        h for word in ("alpha", "gamma") for h in made.subwords.hashes(word)
    }
    np.testing.assert_array_equal(kept.means(["gamma alpha"]), made.means(["gamma alpha"]))
    assert len(made.pruned(["gamma"], frequent=0).words) == 1


@pytest.mark.parametrize("binary", [False, True])
def test_word2vec_files(tmp_path: Path, binary: bool) -> None:
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(2)
    keyed.add_vectors(["a", "bé"], np.array([[1, 0.5], [-2, 3]], np.float32))
    path = tmp_path / "v"
    keyed.save_word2vec_format(str(path), binary=binary)
    read = WordVectors.read(path)
    assert list(read.words) == ["a", "bé"]
    assert read.vectors.tolist() == [[1, 0.5], [-2, 3]]


def test_a_fasttext_file(tmp_path: Path) -> None:
    from gensim.models import FastText
    from gensim.models.fasttext import save_facebook_model

    model = FastText(TEXT * 5, vector_size=4, min_count=1, bucket=40, epochs=1, workers=1)
    save_facebook_model(model, str(tmp_path / "m.bin"))
    read = WordVectors.read(tmp_path / "m.bin")
    np.testing.assert_allclose(read.means(["cancer"])[0], model.wv["cancer"], rtol=1e-5)
    known = {h for word in model.wv.index_to_key for h in read.subwords.hashes(word)}
    hashes = [h for h in read.subwords.hashes("cancers") if h in known]
    np.testing.assert_allclose(
        read.means(["cancers"])[0], model.wv.vectors_ngrams[hashes].mean(0), rtol=1e-4
    )
    data = (tmp_path / "m.bin").read_bytes()
    for content in (data[: len(data) // 2], gzip.compress(data)):
        (tmp_path / "m.bin").write_bytes(content)
        with pytest.raises(LinkerError):
            WordVectors.read(tmp_path / "m.bin")


@pytest.mark.parametrize(
    "content",
    [
        b"2 2\na 1 2\nb 1 2 3\n",
        b"",
        b"999999999999999999 300\na 1\n",
        b"2 2\na 1 2\n",
        b"1 2\na 1 x\n",
        b"1 2\na nan 2\n",
        gzip.compress(b"1 2\na 1 2\n", mtime=0)[:-9],
        b"2 2\na \x00\x00\x80\x3f",
        b"2147483648 4\na \x00\x00\x80\x3f",
        (793712314).to_bytes(4, "little") + b"\x0c\x00",
    ],
)
def test_broken_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(LinkerError):
        WordVectors.read(path)


def test_a_pickle_is_never_read(tmp_path: Path) -> None:
    class Bad:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (open, (str(tmp_path / "ran"), "w"))

    path = tmp_path / "model"
    path.write_bytes(pickle.dumps(Bad()))
    with pytest.raises(LinkerError):
        WordVectors.read(path)
    assert not (tmp_path / "ran").exists()


NAMES = {"breast cancer": ["D1"], "cancer": ["D2", "D3"]}


def test_names_and_concepts_stand_to_the_left_and_to_the_right() -> None:
    sentences = [["no", "breast", "cancer", "cancer"], ["nothing"]]
    name, concept, other = NAME + "breast cancer", CONCEPT + "D1", NAME + "cancer"
    assert list(marked(sentences, NAMES)) == [
        ["no", name, concept, "breast", "cancer", other, "cancer"],
        ["no", "breast", "cancer", name, concept, "cancer", other],
        ["nothing"],
    ]

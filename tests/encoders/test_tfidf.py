"""TF-IDF against a slow twin in plain Python, and against scikit-learn."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.encoders.tfidf import TfidfEncoder, TfidfOptions
from linker.errors import LinkerError

OPTIONS = [
    TfidfOptions("char", 1, 2),
    TfidfOptions("char", 2, 4, sublinear=True),
    TfidfOptions("char_wb", 3, 5, sublinear=True),
]
# normalised: single blanks between words
NAME = st.lists(st.text("abéβ𝒳-", min_size=1, max_size=5), max_size=3).map(" ".join)
NAMES = st.lists(NAME, min_size=1, max_size=8)


def grams(name: str, options: TfidfOptions) -> list[str]:
    pieces = [name] if options.analyzer == "char" else [f" {word} " for word in name.split()]
    sizes = range(options.ngram_min, options.ngram_max + 1)
    short = (
        []
        if options.analyzer == "char"
        else [piece for piece in pieces if len(piece) < options.ngram_min]
    )  # whole, and once
    return short + [
        piece[i : i + n] for piece in pieces for n in sizes for i in range(len(piece) - n + 1)
    ]


def slow(names: list[str], options: TfidfOptions, queries: list[str]) -> list[dict[str, float]]:
    df = Counter(g for name in names for g in set(grams(name, options)))
    idf = {g: math.log((1 + len(names)) / (1 + n)) + 1 for g, n in df.items()}
    vectors = []
    for query in queries:
        counts = Counter(g for g in grams(query, options) if g in idf)
        vector = {
            g: (1 + math.log(n) if options.sublinear else n) * idf[g] for g, n in counts.items()
        }
        norm = math.sqrt(sum(w * w for w in vector.values()))
        vectors.append({g: w / norm for g, w in vector.items()})
    return vectors


def fitted(names: list[str], options: TfidfOptions) -> TfidfEncoder:
    encoder = TfidfEncoder(options)
    encoder.fit(names)
    return encoder


def test_two_names_by_hand() -> None:
    encoder = fitted(["ab", "b"], TfidfOptions("char", 1, 2))
    rare, common = (
        math.log(3 / 2) + 1,
        math.log(3 / 3) + 1,
    )  # "a" and "ab" stand in one of two names, "b" in both
    norm = math.sqrt(2 * rare**2 + common**2)
    vectors = encoder.encode(["ab", "b", "bb", "xb", "x", ""])
    assert vectors.dtype == np.float32
    assert sorted(vectors[[0]].data.tolist()) == pytest.approx(
        sorted([rare / norm, rare / norm, common / norm])
    )
    products = (vectors @ vectors[[0, 1]].T).toarray()
    assert products.ravel().tolist() == pytest.approx(
        [1, common / norm, common / norm, 1] + [common / norm, 1] * 2 + [0] * 4
    )


@pytest.mark.parametrize("options", OPTIONS)
@given(names=NAMES, queries=NAMES)
@settings(max_examples=25)
def test_slow_twin(options: TfidfOptions, names: list[str], queries: list[str]) -> None:
    encoder = fitted(names, options)
    vectors = encoder.encode(queries)
    expected, known = slow(names, options, queries), slow(names, options, names)
    for row, vector in enumerate(expected):
        assert sorted(vectors[[row]].data.tolist()) == pytest.approx(
            sorted(vector.values()), abs=1e-6
        )
    products = (vectors @ encoder.encode(names).T).toarray()
    dots = [
        [sum(w * other.get(g, 0.0) for g, w in vector.items()) for other in known]
        for vector in expected
    ]
    assert products == pytest.approx(np.array(dots), abs=1e-5)


def test_n_grams_that_fit_no_integer_are_refused() -> None:
    names = ["".join(map(chr, range(97, 597)))]
    fitted(names, TfidfOptions("char", 1, 6))  # 503 ** 6 < 2 ** 62
    with pytest.raises(LinkerError):
        fitted(names, TfidfOptions("char", 1, 7))

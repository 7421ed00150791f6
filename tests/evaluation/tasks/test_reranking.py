"""Synonym retrieval over BM25's candidates, and the similarities that rank them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary
from linker.dictionary import NameTable
from linker.encoders.words import WordVectors
from linker.evaluation.tasks import reranking
from linker.evaluation.tasks.reranking import Question
from linker.text.normalize import normalize


@pytest.fixture
def table(tmp_path: Path) -> NameTable:
    lines = [
        "D1||breast cancer|mammary tumor",
        "D2||skin cancer|melanoma",
        "D3||heart attack|infarct",
        "D4||lung cancer|lung cancer of old",
    ]
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n")
    return Dictionary.read(tmp_path / "d.txt", format="biosyn").table(normalize)


def test_candidates_are_all_names_of_the_concepts_that_share_words(table: NameTable) -> None:
    pytest.importorskip("bm25s")
    queries = [
        ("breast cancer of old", frozenset({0})),
        ("infarct", frozenset({2})),
        ("infarct", frozenset({0})),
        ("fever", frozenset({1})),
    ]
    one, two = reranking.questions(queries, table)
    assert sorted(one.names) == [
        "breast cancer",
        "lung cancer",
        "lung cancer of old",
        "mammary tumor",
        "melanoma",
        "skin cancer",
    ]
    assert {name for name, right in zip(one.names, one.right, strict=True) if right} == {
        "breast cancer",
        "mammary tumor",
    }
    assert (sorted(two.names), two.right.tolist()) == (["heart attack", "infarct"], [True, True])
    (few,) = reranking.questions([("lung cancer", frozenset({3}))], table, concepts=1)
    assert sorted(few.names) == ["lung cancer", "lung cancer of old"]


def test_average_precision_of_candidates() -> None:
    asked = [
        Question("q", ["a", "b", "c"], np.array([True, False, True])),
        Question("r", ["a", "b"], np.array([False, True])),
    ]
    scores = {"q": [0.1, 0.9, 0.9], "r": [0.5, 0.5]}
    made = reranking.mean_average_precisions(asked, lambda query, names: np.array(scores[query]))
    assert made.tolist() == pytest.approx([(1 / 2 + 2 / 3) / 2, 1 / 2])  # b c a, and a b


def test_jaccard_by_hand() -> None:
    assert reranking.jaccard(
        "breast cancer", ["cancer of breast", "cancer", "fever", ""]
    ).tolist() == pytest.approx([2 / 3, 1 / 2, 0, 0])


def test_cosines() -> None:
    def encode(names: Sequence[str]) -> np.ndarray:
        return np.array(
            [{"q": (2, 0), "a": (1, 1), "b": (-3, 0), "none": (0, 0)}[name] for name in names],
            np.float32,
        )

    assert reranking.cosine(encode)("q", ["a", "b", "none"]).tolist() == pytest.approx(
        [2**-0.5, -1, 0], abs=1e-6
    )


def test_word_movers_distance_by_hand() -> None:
    pytest.importorskip("ot")
    words = WordVectors(["a", "b", "c"], np.array([[0, 0], [3, 4], [0, 1]], np.float32))
    similarity = reranking.word_mover(words)
    # a to b is 5, a to c 1, b to c the square root of 18
    assert similarity("a", ["a", "b", "b c", "a a c", "x"]).tolist() == pytest.approx(
        [0, -5, -(5 + 1) / 2, -1 / 3, -np.inf]
    )
    assert similarity("a b", ["b a", "c c"]).tolist() == pytest.approx([0, -(1 + 18**0.5) / 2])
    assert similarity("x", ["a"]).tolist() == [-np.inf]

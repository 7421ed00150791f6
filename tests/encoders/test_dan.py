"""The Deep Averaging Network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from linker.dictionary import Dictionary
from linker.dictionary.classes import Classes
from linker.encoders.base import EncoderContext
from linker.encoders.dan import DanEncoder, DanOptions, fit_cca, project
from linker.encoders.trainable import TrainableDan, in_training
from linker.encoders.words import WordVectors
from linker.text.normalize import normalize

VOCABULARY = [
    "breast",
    "cancer",
    "ovarian",
    "tumor",
    "of",
    "the",
    "skin",
    "heart",
    "attack",
    "pain",
]


@pytest.fixture
def words() -> WordVectors:
    random = np.random.default_rng(0)
    return WordVectors(VOCABULARY, random.normal(size=(len(VOCABULARY), 3)).astype(np.float32))


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    """Four concepts; "tumor of the breast" twice in other words' order; "cancer" is a name of two."""
    lines = [
        "D1||breast cancer|breast tumor|tumor of the breast|the breast tumor of|cancer",
        "D2||ovarian cancer|tumor ovarian|cancer of the ovarian|cancer",
        "D3||skin cancer|skin tumor",
        "D4||heart attack|pain of the heart|heart pain",
    ]
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n")
    return Dictionary.read(tmp_path / "d.txt", format="biosyn")


def make(
    dictionary: Dictionary, words: WordVectors | None, seed: int = 0, **options: object
) -> TrainableDan:
    record = DanOptions(**options)  # type: ignore[arg-type]
    context = EncoderContext(record, dictionary.table(normalize), words, seed)
    return TrainableDan(DanEncoder.create(context))


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_the_projection_is_fitted_to_each_name_of_one_concept_once_per_bag_of_words(
    dictionary: Dictionary, words: WordVectors
) -> None:
    encoder = make(dictionary, words, hidden=0)
    text = (
        "breast cancer|breast tumor|tumor of the breast|ovarian cancer|tumor ovarian|"
        "cancer of the ovarian|skin cancer|skin tumor|heart attack|pain of the heart|heart pain"
    )
    names = text.split("|")
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3])
    u = unit(words.means(names))
    means = np.stack([u[labels == label].mean(0) for label in range(4)])
    of_names, of_concepts = fit_cca(u, means[labels])
    np.testing.assert_allclose(encoder.encode(names), unit(project(u, of_names)), atol=1e-4)
    np.testing.assert_allclose(
        encoder.prototypes(Classes(names, labels), projected=True),
        project(means, of_concepts),
        atol=1e-4,
    )
    np.testing.assert_allclose(
        encoder.prototypes(Classes(names, labels), projected=False), means, atol=1e-6
    )


def test_slow_twin(dictionary: Dictionary, words: WordVectors) -> None:
    encoder = make(dictionary, words, hidden=5).eval()
    x = (unit(words.means(["skin pain"])) - encoder.cca_mean.numpy()) @ encoder.cca_weights.numpy()
    first, last = encoder.layers["0"], encoder.layers["3"]
    hidden = np.maximum(x @ first.weight.detach().numpy().T + first.bias.detach().numpy(), 0)
    np.testing.assert_allclose(
        encoder.encode(["skin pain"]),
        unit(hidden @ last.weight.detach().numpy().T + last.bias.detach().numpy()),
        atol=1e-5,
    )


@pytest.mark.parametrize("hidden", [0, 5])
def test_numpy_makes_the_vectors_of_torch(
    dictionary: Dictionary, words: WordVectors, hidden: int
) -> None:
    trained = make(dictionary, words, hidden=hidden).eval()
    names = ["breast cancer", "", "xyz", "heart attack", "the the skin", "xyz pain"] * 500
    linking = trained.finished()
    assert type(linking) is DanEncoder
    np.testing.assert_allclose(linking.encode(names), trained.encode(names), atol=2e-6)
    again = in_training(linking)
    assert isinstance(again, TrainableDan)
    np.testing.assert_array_equal(again.eval().encode(names), trained.encode(names))


@pytest.mark.parametrize(("dim", "seed"), [(2, 0), (4, 1), (6, 2)])
def test_the_scores_are_those_of_scikit_learn(dim: int, seed: int) -> None:
    decomposition = pytest.importorskip("sklearn.cross_decomposition")
    random = np.random.default_rng(seed)
    common = random.normal(size=(300, dim))
    x, y = (
        (
            common @ random.normal(size=(dim, dim)) + noise * random.normal(size=(300, dim)) + 3
        ).astype(np.float32)
        for noise in (0.5, 1)
    )
    theirs = decomposition.CCA(dim, max_iter=100_000, tol=1e-14).fit(x, y).transform(x, y)
    for ours, expected in zip(
        (project(v, p) for p, v in zip(fit_cca(x, y), (x, y), strict=True)), theirs, strict=True
    ):
        # of a component, which is the same for both views
        signs = np.sign((ours * expected).sum(0))
        np.testing.assert_allclose(ours * signs, expected, atol=1e-4)

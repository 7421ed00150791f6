"""The Deep Averaging Network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linker.dictionary import Dictionary  # noqa: E402
from linker.dictionary.classes import Classes  # noqa: E402
from linker.encoders.base import EncoderContext  # noqa: E402
from linker.encoders.dan import DanEncoder, DanOptions, fit_cca, project  # noqa: E402
from linker.encoders.trainable import TrainableDan, dropped, in_training  # noqa: E402
from linker.encoders.words import WordVectors  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.text.normalize import normalize  # noqa: E402

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
    names = [
        "breast cancer",
        "breast tumor",
        "tumor of the breast",
        "ovarian cancer",
        "tumor ovarian",
        "cancer of the ovarian",
    ]
    names += ["skin cancer", "skin tumor", "heart attack", "pain of the heart", "heart pain"]
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


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_dropout_leaves_the_mean_and_depends_on_the_seed(share: float) -> None:
    ones = torch.ones(301, 333)
    torch.manual_seed(0)
    values = dropped(ones, share)
    torch.manual_seed(0)
    assert torch.equal(dropped(ones, share), values)
    assert values.unique().tolist() == [0, pytest.approx(1 / (1 - share))]
    assert (values == 0).float().mean().item() == pytest.approx(share, abs=0.01)
    deviation = (share / (1 - share) / 301) ** 0.5  # units are dropped one by one
    assert values.mean(0).std().item() == pytest.approx(deviation, rel=0.2)
    assert torch.equal(dropped(ones, 0), ones)


def test_names_without_known_words_are_counted(
    dictionary: Dictionary, caplog: pytest.LogCaptureFixture
) -> None:
    few = WordVectors(["breast", "heart"], np.eye(2, dtype=np.float32))
    make(dictionary, few, cca=False)
    assert "5 of 11 names have no word with a vector" in caplog.text
    with pytest.raises(LinkerError):
        make(dictionary, WordVectors(["Breast"], np.ones((1, 2), np.float32)))


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


def test_a_direction_without_variance_projects_to_nothing() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    x[:, 2] = 1
    of_x, _ = fit_cca(x, x)
    assert of_x[1].shape == (3, 3)
    assert np.isfinite(project(x, of_x)).all()
    assert not project(x, of_x)[:, 2].any()

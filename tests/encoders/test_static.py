"""Static vectors: how they are fitted to a dictionary, and what becomes of names that have none."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary
from linker.encoders.base import EncoderContext
from linker.encoders.static import StaticEncoder, StaticOptions, _whitening
from linker.errors import LinkerError
from linker.text.normalize import normalize

LINES = [
    "D1\tbreast cancer\tbreast tumor|mammary carcinoma",
    "D2\tβ-thalassaemia\tbeta thalassemia|Cooley anemia",
    "D3\tfever\tpyrexia|high temperature",
    "D4\tMénière's disease\tendolymphatic hydrops",
    "D5\t肺癌\t—",
]


def read(folder: Path, lines: list[str]) -> Dictionary:
    (folder / "d.tsv").write_text("id\tname\tsynonyms\n" + "\n".join(lines) + "\n", "utf-8")
    return Dictionary.read(folder / "d.tsv")


def create(dictionary: Dictionary, **options: object) -> StaticEncoder:
    context = EncoderContext(
        StaticOptions(**options),  # type: ignore[arg-type]
        dictionary.table(normalize),
        None,
        0,
    )
    return StaticEncoder.create(context)


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    return read(tmp_path, LINES)


# ----------------------------------------------------------------------------------------------------------- the whitening


def grouped(concepts: int, dim: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of concepts of one to four names, whose names differ more in some directions than in others."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(concepts), rng.integers(1, 5, concepts)))
    middle, axes = rng.normal(size=(concepts, dim)), rng.normal(size=(dim, dim))
    vectors = middle[labels] + rng.normal(size=(len(labels), dim)) @ axes
    return vectors.astype(np.float32), labels


def covariance_within(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean over the concepts of several names of the covariance of their names."""
    of_each = [
        np.atleast_2d(np.cov(vectors[labels == label].astype(float), rowvar=False, ddof=1))
        for label in np.unique(labels)
        if np.sum(labels == label) > 1
    ]
    return np.asarray(np.mean(of_each, axis=0))


@pytest.mark.parametrize(("shrinkage", "concepts"), [(0.0, 30), (0.9, 30), (0.3, 3)])
def test_the_whitening_is_the_inverse_root_of_the_shrunk_covariance(
    shrinkage: float, concepts: int
) -> None:
    vectors, labels = grouped(concepts)
    several = sum(np.sum(labels == label) > 1 for label in range(concepts))
    share = max(shrinkage, 4 / (4 + several))
    within = covariance_within(vectors, labels)
    shrunk = (1 - share) * within + share * np.trace(within) / 4 * np.eye(4)
    weights = _whitening(vectors, labels, shrinkage).astype(float)
    assert weights.dtype == float
    np.testing.assert_allclose(weights, weights.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights @ shrunk @ weights, np.eye(4), atol=1e-4)


# ------------------------------------------------------------------------------------------------------------- the fit


# -------------------------------------------------------------------------------------------------- names without vectors


def test_names_without_vectors(dictionary: Dictionary, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        encoder = create(dictionary)
    assert [record.message for record in caplog.records if "static" in record.name] == [
        "1 of 12 names have no word with a static vector; only characters find them"
    ]
    lengths = np.linalg.norm(
        encoder.encode(["肺癌", "—", "", "fever 肺癌", "β", "x" * 10**6]), axis=1
    )
    np.testing.assert_allclose(lengths, [0, 0, 0, 1, 1, 1], atol=1e-5)
    np.testing.assert_allclose(
        encoder.encode(["meniere fever"]), encoder.encode(["MÉNIÈRE, fever"]), atol=1e-6
    )


# -------------------------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize(
    ("file", "value"),
    [
        ("vectors", np.zeros((3, 256), np.int8)),
        ("scales", np.full(27608, np.nan, np.float32)),
        ("piece.data", None),
        ("static.json", {"dim": 0}),
        ("static.json", {"colour": 1}),
        ("static.json", None),
    ],
)
def test_a_damaged_folder(tmp_path: Path, dictionary: Dictionary, file: str, value: object) -> None:
    folder = tmp_path / "e"
    create(dictionary).save(folder)
    StaticEncoder.load(folder)
    path = folder / (file if file.endswith(".json") else f"{file}.npy")
    if value is None:
        path.unlink()
    elif isinstance(value, np.ndarray):
        np.save(path, value)
    else:
        path.write_text(json.dumps(value))
    with pytest.raises((LinkerError, LookupError, TypeError, ValueError)):
        StaticEncoder.load(folder)

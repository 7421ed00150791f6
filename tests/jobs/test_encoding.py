"""The dense vectors of names in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linker import Dictionary, Linker
from linker.errors import LinkerError
from linker.jobs import encoding
from linker.records import Mention
from linker.search.hybrid import HybridGenerator
from linker.training.pipeline import train


@pytest.fixture(scope="module")
def static(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static") / "model"
    train(Dictionary.read(sample), encoder="static").save(folder)
    return folder


def test_vectors_are_those_of_the_encoder(
    static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linker = Linker.load(static)
    assert isinstance(linker.generator, HybridGenerator)
    texts = ["Louis-Bar Syndrome", "gout", "β-thalassaemia", "gout", "Asthma"]
    expected = linker.generator.encoder.encode([linker.normalize(text) for text in texts])
    monkeypatch.setattr(encoding, "_NAMES", 2)
    with open(tmp_path / "v.npy", "w+b") as file:
        assert encoding.write(linker, map(Mention, texts), file) == 5
    vectors = np.load(tmp_path / "v.npy")
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, expected)


def test_a_model_without_dense_vectors(model: Path) -> None:
    with pytest.raises(LinkerError, match=r"links by characters alone \(tfidf\)"):
        encoding.generator(Linker.load(model), str(model))

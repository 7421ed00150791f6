"""Static vectors that torch trains, and that link without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linker import Dictionary, Linker, LinkerOptions  # noqa: E402
from linker.encoders.static import StaticEncoder, StaticOptions, WordPieces  # noqa: E402
from linker.encoders.trainable import TrainableStatic  # noqa: E402
from linker.linking.options import changed, preset  # noqa: E402
from linker.training.pipeline import train  # noqa: E402

NAMES = ["skin cancer", "", "skins", "heart heart of skin", "ßß", "Cancer-heart"]
PIECES = ["skin", "cancer", "heart", "of", "##s", "pain"]
QUERIES = ["louis-bar syndrome", "breast cancers", "xqzw", ""]
QUICK = {
    "static": {"dim": 8},
    "align": {"epochs": 2},
    "training": {"epochs": 1, "dictionary_queries": 40, "device": "cpu", "top_k": 8},
}

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def static() -> StaticEncoder:
    vectors = 5 * np.random.default_rng(0).normal(size=(len(PIECES), 4)).astype(np.float32)
    return StaticEncoder(WordPieces.of(PIECES, vectors), StaticOptions())


@pytest.fixture(scope="module")
def dictionary(sample: Path) -> Dictionary:
    return Dictionary.read(sample)


@pytest.fixture(scope="module")
def options() -> LinkerOptions:
    return changed(preset("default", "static-tuned"), QUICK)


@pytest.fixture(scope="module")
def model(dictionary: Dictionary, options: LinkerOptions) -> Linker:
    return train(dictionary, encoder="static-tuned", options=options)


def answers(model: Linker) -> list[tuple[str, float]]:
    predictions = model.link(QUERIES, k=3)
    parts = [part for prediction in predictions for part in prediction.parts]
    return [(one.concept_id, one.score) for part in parts for one in part.candidates]


def table(model: Linker) -> WordPieces:
    encoder: Any = model.generator.encoder  # type: ignore[attr-defined]
    assert type(encoder) is StaticEncoder
    return encoder.table


def test_the_finished_encoder_has_the_trained_vectors_in_8_bits(static: StaticEncoder) -> None:
    encoder = TrainableStatic(static)
    assert static.encode(NAMES)[[1, 4]].tolist() == [[0] * 4] * 2
    np.testing.assert_allclose(encoder.encode(NAMES), static.encode(NAMES), atol=1e-5)  # untrained
    with torch.no_grad():
        encoder.table[2] = torch.tensor([1, 2, 3, 4])
        encoder.log_weights[2] = np.log(3)
        encoder.projection.copy_(torch.tensor([[2, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0] * 4]))
    finished = encoder.finished()
    assert finished.table.vectors[2].tolist() == [85, 127, 85, 0]  # 6, 9, 6 and 0 by 127 / 9
    assert finished.table.scales[2] == pytest.approx(9 / 127)
    assert finished.options is static.options
    np.testing.assert_allclose(finished.encode(NAMES), encoder.encode(NAMES), atol=0.01)


def test_a_saved_model_links_without_torch(model: Linker, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    loaded = Linker.load(tmp_path / "m")
    assert isinstance(table(loaded).vectors.base, np.memmap)
    assert (answers(loaded), loaded.options) == (answers(model), model.options)
    code = f"""
import sys
from linker import Linker
prediction, = Linker.load({str(tmp_path / "m")!r}).link([{QUERIES[0]!r}])
print(prediction.parts[0].best.concept_id, sorted({{"torch"}} & {{*sys.modules}}))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{answers(model)[0][0]} []\n"

"""The few-shot encoder, and stacks of encoders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linker import Linker  # noqa: E402
from linker.dictionary import Dictionary, NameTable  # noqa: E402
from linker.encoders.base import EncoderContext  # noqa: E402
from linker.encoders.dan import DanEncoder, DanOptions  # noqa: E402
from linker.encoders.fewshot import FewShotEncoder, FewShotOptions  # noqa: E402
from linker.encoders.trainable import TrainableFewShot, in_training  # noqa: E402
from linker.encoders.words import WordVectors, unit  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.io.persistence import Strings  # noqa: E402
from linker.linking.options import changed, preset  # noqa: E402
from linker.training.pipeline import train  # noqa: E402

VOCABULARY = ["breast", "cancer", "tumor", "skin", "heart", "attack"]


@pytest.fixture
def words() -> WordVectors:
    return WordVectors(
        VOCABULARY, np.random.default_rng(0).normal(size=(len(VOCABULARY), 3)).astype(np.float32)
    )


@pytest.fixture
def model(tmp_path: Path, words: WordVectors) -> Path:
    """A model of the encoder dan."""
    (tmp_path / "d.txt").write_text(
        "D1||breast cancer|breast tumor\nD2||skin cancer|skin tumor\nD3||heart attack\n"
    )
    options = changed(
        preset("default", "dan"),
        {"dan": {"hidden": 4, "cca": False}, "ground": {"epochs": 1}, "training": {"epochs": 0}},
    )
    dictionary = Dictionary.read(tmp_path / "d.txt", format="biosyn")
    train(dictionary, encoder="dan", options=options, words=words).save(tmp_path / "model")
    return tmp_path / "model"


TABLE = NameTable(
    Strings.of(VOCABULARY),
    np.arange(len(VOCABULARY) + 1),
    np.repeat(np.arange(3, dtype=np.int32), 2),
    np.arange(6),
)


def make(base: str, words: WordVectors | None) -> TrainableFewShot:
    options = FewShotOptions(base, hidden=5)
    encoder = FewShotEncoder.create(EncoderContext(options, TABLE, words, 0))
    return TrainableFewShot(encoder).eval()


def test_half_of_a_vector_is_the_one_below(words: WordVectors) -> None:
    """f(n) = (enc(u_n) + u_n) / 2 (eq. 1), brought to length 1."""
    encoder, names = make("words", words), ["breast cancer", "heart"]
    u = unit(words.means(names))
    first, last = encoder.layers["0"], encoder.layers["3"]
    hidden = np.maximum(u @ first.weight.detach().numpy().T + first.bias.detach().numpy(), 0)
    moved = hidden @ last.weight.detach().numpy().T + last.bias.detach().numpy()
    np.testing.assert_allclose(encoder.encode(names), unit((moved + u) / 2), atol=1e-6)
    np.testing.assert_allclose(encoder.pretrained(names), u, atol=1e-6)


def test_it_stands_on_projected_means(words: WordVectors) -> None:
    projected = DanEncoder.create(EncoderContext(DanOptions(hidden=0), TABLE, words, 0))
    np.testing.assert_allclose(
        make("cca", words).pretrained(VOCABULARY), projected.encode(VOCABULARY), atol=1e-6
    )
    assert (
        np.abs(make("words", words).pretrained(VOCABULARY) - projected.encode(VOCABULARY)).max()
        > 0.1
    )


def test_a_stack_is_one_model(model: Path, tmp_path: Path) -> None:
    below = Linker.load(model).generator.encoder
    encoder = make(str(model), None)
    np.testing.assert_allclose(
        encoder.pretrained(VOCABULARY), unit(below.encode(VOCABULARY)), atol=1e-6
    )
    assert encoder.options.base == "model"  # and not where it stood
    encoder.save(tmp_path / "e")
    linking = FewShotEncoder.load(tmp_path / "e")
    np.testing.assert_allclose(linking.encode(VOCABULARY), encoder.encode(VOCABULARY), atol=1e-6)
    assert set(linking.weights) == {*encoder.state_dict()}
    loaded = in_training(linking)
    assert isinstance(loaded, TrainableFewShot)
    assert [tuple(parameter.shape) for parameter in loaded.parameters()] == [
        (5, 3),
        (5,),
        (3, 5),
        (3,),
    ]  # the one below is not trained


def test_another_model_below_is_another_thing_to_train_on(model: Path) -> None:
    before = make(str(model), None).linking.provenance
    assert make(str(model), None).linking.provenance == before
    linker = Linker.load(model)
    linker.generator.encoder.weights["layers.0.bias"][:] = 1
    linker.save(model)
    assert make(str(model), None).linking.provenance != before


def test_a_base_of_a_stranger_is_named_and_not_run(words: WordVectors, tmp_path: Path) -> None:
    make("words", words).save(tmp_path / "e")
    saved = json.loads((tmp_path / "e" / "options.json").read_text())
    (tmp_path / "e" / "options.json").write_text(json.dumps(saved | {"base": "os:system"}))
    with pytest.raises(LinkerError):
        FewShotEncoder.load(tmp_path / "e")


@pytest.mark.parametrize("base", ["", "transformer", "nowhere", "sparse"])
def test_a_base_that_is_none(tmp_path: Path, base: str) -> None:
    (tmp_path / "d.txt").write_text("D1||breast cancer\n")
    dictionary = Dictionary.read(tmp_path / "d.txt", format="biosyn")
    train(dictionary, encoder="tfidf").save(tmp_path / "sparse")
    with pytest.raises(LinkerError):
        make(str(tmp_path / base) if base == "sparse" else base, None)

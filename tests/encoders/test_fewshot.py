"""The few-shot encoder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from linker.dictionary import NameTable
from linker.encoders.base import EncoderContext
from linker.encoders.dan import DanEncoder, DanOptions
from linker.encoders.fewshot import FewShotEncoder, FewShotOptions
from linker.encoders.trainable import TrainableFewShot
from linker.encoders.words import WordVectors, unit
from linker.errors import LinkerError
from linker.io.persistence import Strings

VOCABULARY = ["breast", "cancer", "tumor", "skin", "heart", "attack"]


@pytest.fixture
def words() -> WordVectors:
    return WordVectors(
        VOCABULARY, np.random.default_rng(0).normal(size=(len(VOCABULARY), 3)).astype(np.float32)
    )


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


@pytest.mark.parametrize("base", ["fewshot", "os:system"])
def test_another_base_is_refused(words: WordVectors, tmp_path: Path, base: str) -> None:
    make("words", words).save(tmp_path / "e")
    saved = json.loads((tmp_path / "e" / "options.json").read_text())
    (tmp_path / "e" / "options.json").write_text(json.dumps(saved | {"base": base}))
    with pytest.raises(LinkerError):
        FewShotEncoder.load(tmp_path / "e")

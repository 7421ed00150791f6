"""The Biomedical Name Encoder."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import Tensor  # noqa: E402

from linker.dictionary.classes import Classes  # noqa: E402
from linker.encoders.base import EncoderContext  # noqa: E402
from linker.encoders.bne import BneEncoder, BneOptions  # noqa: E402
from linker.encoders.words import CONCEPT, NAME, WordVectors  # noqa: E402

VOCABULARY = ["breast", "cancer", "skin", f"{NAME}skin cancer", f"{CONCEPT}D:2"]
SMALL = BneOptions(hidden=4, normalize=False)


@pytest.fixture
def words() -> WordVectors:
    return WordVectors(
        VOCABULARY, np.random.default_rng(0).normal(size=(len(VOCABULARY), 3)).astype(np.float32)
    )


def make(words: WordVectors, **options: Any) -> BneEncoder:
    names: Any = Classes(["breast cancer", "skin"], np.array([0, 1]))
    context = EncoderContext(dataclasses.replace(SMALL, **options), names, words, 0)
    return BneEncoder.create(context).eval()


def alone(network: torch.nn.LSTM, rows: Tensor) -> Tensor:
    """The states of a network that reads one sequence, unpacked: (length, 2 hidden)."""
    states: Tensor = network(rows[None])[0][0]
    return states


@pytest.mark.parametrize("characters", [True, False])
def test_slow_twin(words: WordVectors, characters: bool) -> None:
    """Section 3.2 of the paper, one name and one word after another."""
    encoder, names = (
        make(words, characters=characters),
        ["breast cancer", "skin zzz breast", "skin"],
    )
    expected = []
    with torch.no_grad():
        for name in names:
            read = []
            for word in name.split():
                u = torch.from_numpy(words.means([word])[0])
                if characters:
                    numbers = [
                        2,
                        *(
                            encoder.alphabet.index(c) + 4 if c in encoder.alphabet else 1
                            for c in word
                        ),
                        3,
                    ]
                    states = alone(encoder.spell, encoder.characters(torch.tensor(numbers)))
                    # the last of either direction
                    u = torch.cat([u, states[-1, :4], states[0, 4:]])
                read.append(u)
            vector = encoder.out(alone(encoder.read, torch.stack(read)).amax(0))
            expected.append(vector.numpy())
    np.testing.assert_allclose(encoder.encode(names), np.stack(expected), atol=1e-5)
    assert encoder.alphabet == "abceiknrst"

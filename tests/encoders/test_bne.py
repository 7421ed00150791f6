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


def test_what_is_too_long_is_not_read(words: WordVectors) -> None:
    """More than 32 words, and than 32 characters of a word."""
    encoder = make(words)
    full = " ".join(["breast cancer"] * 16)
    one, same, less = encoder.encode([full + " skin" * 300, full, full.removesuffix(" cancer")])
    np.testing.assert_allclose(one, same, atol=1e-6)
    assert np.abs(one - less).max() > 1e-6
    longest = "abceikrs" * 4
    long, cut, other = encoder.encode([longest + "n" * 5000, longest, longest[:-1] + "a"])
    np.testing.assert_allclose(long, cut, atol=1e-6)
    assert np.abs(long - other).max() > 1e-4


def test_what_it_is_held_to(words: WordVectors) -> None:
    names = Classes(
        ["skin cancer", "skin", "breast cancer", "breast"], np.array([0, 0, 1, 1]), ["D:2", "D:1"]
    )
    means = words.means(names.texts)
    plain = make(WordVectors(words.words[:3], words.vectors[:3]))
    tokens = make(words)
    np.testing.assert_allclose(plain.pretrained(names.texts), means)
    np.testing.assert_allclose(
        plain.prototypes(names, True), [means[:2].mean(0), means[2:].mean(0)], atol=1e-6
    )
    own = means.copy()
    own[0] = words.vectors[3]
    np.testing.assert_allclose(tokens.pretrained(names.texts), own)
    np.testing.assert_allclose(
        tokens.prototypes(names, True), [words.vectors[4], means[2:].mean(0)], atol=1e-6
    )

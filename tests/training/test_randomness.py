"""Streams of random numbers: none may be another one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from linker.training.randomness import Stream, rng


@pytest.mark.parametrize("seed", [0, 1, 5, 11, 2**32, 2**40 + 3])
def test_no_two_streams_or_epochs_of_a_seed_give_the_same_numbers(seed: int) -> None:
    draws = {
        (stream, epoch): tuple(rng(seed, stream, epoch).integers(2**63, size=2).tolist())
        for stream, epoch in itertools.product(Stream, range(21))
    }
    assert len({*draws.values()}) == len(draws) == len(Stream) * 21


def test_a_stream_starts_anew_each_time() -> None:
    for stream in Stream:
        first, again = (rng(3, stream, 2).permutation(50).tolist() for _ in range(2))
        assert first == again != rng(4, stream, 2).permutation(50).tolist()


def test_the_streams_of_earlier_versions_are_the_same() -> None:
    """Else the same seed would train another model."""
    assert rng(7, Stream.LIST_ORDER, 3).random() == np.random.default_rng((7, 3)).random()
    kept = {
        Stream.HYPERNYMS: 1,
        Stream.DICTIONARY_QUERIES: 2,
        Stream.PAIRS: 3,
        Stream.PAIR_ORDER: 4,
        Stream.TRIPLETS: 6,
        Stream.NEGATIVES: 7,
        Stream.PROTOTYPES: 8,
        Stream.GROUND_PAIRS: 9,
    }
    for stream, number in kept.items():
        before = np.random.default_rng((7, 3, number))
        assert rng(7, stream, 3).random() == before.random()

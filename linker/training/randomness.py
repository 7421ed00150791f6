"""Random numbers: one seed, and a stream of its own for each thing that is sampled."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """The purposes of random numbers. Two streams, or two epochs of one, are independent."""

    LIST_ORDER = 0  # the order of the candidate lists in an epoch
    HYPERNYMS = 1  # hypernym names of the norm loss
    DICTIONARY_QUERIES = 2  # names of the dictionary that are queries where there are no mentions
    PAIRS = 3  # which synonyms are paired
    PAIR_ORDER = 4  # the order of the pairs, or their batches
    TRIPLETS = 6  # positives and negatives of triplets; 5 is of former releases
    NEGATIVES = 7  # the pool of names that negatives come from
    PROTOTYPES = 8  # the names that a prototype is the mean of
    GROUND_PAIRS = 9  # positives of pairs, and their order
    SHOTS = 10  # the few names of each class that are trained on
    HELD_OUT = 11  # names that validate grounding instead of being trained on
    # 12 is of former releases
    FOLDS = 13  # of annotated mentions that the ranker is fitted to


def rng(seed: int, stream: Stream, epoch: int = 0) -> np.random.Generator:
    """Make the generator of a stream.

    Args:
        seed: of the training.
        stream: what the numbers are for.
        epoch: from 1; 0 for what is sampled once.
    """
    return np.random.default_rng((seed, epoch, stream))

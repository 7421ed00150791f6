"""Semantic similarity ranking and hypernym detection on the levels of a taxonomy.

See Fivez et al. 2021b, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from linker.dictionary import Dictionary, classes
from linker.dictionary.classes import Classes
from linker.errors import LinkerError
from linker.text.normalize import normalize

DEPTH = 4
# how often a name is sampled for each of them, from each class of the lowest level
ROUNDS = {"test": 2, "validation": 1}


@dataclass(frozen=True, slots=True)
class Level:
    """The names of the concepts below all levels, by the classes of this level.

    All labels mean the same classes. A test name is to find the training names of its classes (by
    mAP), and the names of its classes themselves among those of all classes (by MRR), both with
    `synonyms.retrieved`.
    """

    train: Classes
    validation: Classes
    test: Classes
    above: Classes  # the names of the classes themselves


def split(dictionary: Dictionary, root: str, seed: int, depth: int = DEPTH) -> list[Level]:
    """Sample test and validation names, the same ones for all levels.

    Of names with the same words in another order one is taken, and none if one of the classes has
    such a name, which hypernym detection looks for. A class of the lowest level keeps at least one
    name to train on.

    Args:
        dictionary: the taxonomy.
        root: id of the concept that the levels are below.
        seed: of the sampling.
        depth: how many levels.

    Returns:
        The levels, the highest first.

    Raises:
        LinkerError: there is no such concept, or too little of a hierarchy below it.
    """
    if len(dictionary.rows(root)) != 1:
        raise LinkerError(
            f"{root!r} is no concept of the dictionary; "
            f"give the id of one, e.g. {dictionary.ids[0]}"
        )
    levels = _levels(dictionary, root, depth)
    if few := [f"level {k}: {names.count}" for k, names in enumerate(levels, 1) if names.count < 2]:
        expected = f"two or more on each of {depth} levels with names below them"
        raise LinkerError(
            f"below {root} stand too few concepts ({', '.join(few)}); "
            f"expected: {expected}; take another root"
        )
    sampled = _sample(levels[-1], seed)

    def part(names: Classes, kind: str) -> Classes:
        return names[np.flatnonzero([sampled.get(text, "train") == kind for text in names.texts])]

    return [
        Level(
            part(names, "train"),
            part(names, "validation"),
            part(names, "test"),
            _above(dictionary, names.ids),
        )
        for names in levels
    ]


def _levels(dictionary: Dictionary, root: str, depth: int) -> list[Classes]:
    """The names below all levels that are names of no class, by the classes of each level."""
    table = dictionary.table(normalize)
    groups = dictionary.hierarchy.levels(depth, dictionary.rows(root)[0])
    below = np.flatnonzero(np.diff(groups[-1].indptr))
    one_class = csr_matrix(
        (np.ones(len(below), np.int8), (below, np.zeros(len(below), np.int64))),
        shape=groups[-1].shape,
    )
    texts = classes.of_groups(table, one_class).texts
    levels = [classes.of_groups(table, group, dictionary.ids) for group in groups]
    above = [text for names in levels for text in _above(dictionary, names.ids).texts]
    bags = classes.bags([*texts, *above])
    is_new = ~np.isin(bags[: len(texts)], bags[len(texts) :])
    kept = {text for text, new in zip(texts, is_new, strict=True) if new}
    return [
        names.relabelled(np.flatnonzero([text in kept for text in names.texts])) for names in levels
    ]


def _above(dictionary: Dictionary, ids: Sequence[str]) -> Classes:
    """The names of concepts, each a class of its own."""
    rows = [dictionary.rows(i)[0] for i in ids]
    groups = csr_matrix(
        (np.ones(len(rows), np.int8), (rows, np.arange(len(rows)))),
        shape=(len(dictionary), len(dictionary)),
    )
    names = classes.of_groups(dictionary.table(normalize), groups)
    places = np.array([int(i) for i in names.ids], np.int64)
    return Classes(names.texts, places[names.labels], ids)


def _sample(names: Classes, seed: int) -> dict[str, str]:
    """Sample names for test and validation, of classes that keep a name to train on."""
    random, sampled = np.random.default_rng((seed, 0)), dict[str, str]()
    members, left = (
        [random.permutation(rows) for rows in names.of(np.arange(names.count))],
        names.sizes,
    )
    labels: dict[str, list[int]] = {}
    for text, label in zip(names.texts, names.labels.tolist(), strict=True):
        labels.setdefault(text, []).append(label)
    for kind, rounds in ROUNDS.items():
        for _ in range(rounds):
            for rows in members:
                free = (
                    t
                    for t in (names.texts[row] for row in rows)
                    if t not in sampled and (left[labels[t]] > 1).all()
                )
                if text := next(free, ""):
                    sampled[text] = kind
                    left[labels[text]] -= 1
    return sampled

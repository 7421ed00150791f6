"""Semantic similarity ranking and hypernym detection on the levels of a taxonomy (Fivez et al. 2021b, section 4)."""

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
ROUNDS = {
    "test": 2,
    "validation": 1,
}  # how often one name of each class of the lowest level is drawn for each


@dataclass(frozen=True, slots=True)
class Level:
    """Names of what stands below all levels, in the classes of this one; and the names of the classes themselves.

    All labels mean the same classes. A test name is to find the training names of its classes (by mAP), and the names `above` of its
    classes among those of all classes (by MRR), both with `synonyms.retrieved`.
    """

    train: Classes
    validation: Classes
    test: Classes
    above: Classes


def split(dictionary: Dictionary, root: str, seed: int, depth: int = DEPTH) -> list[Level]:
    """Draw the names to judge by, the same ones for all levels, the highest level first.

    Names that are the same words in another order are taken once, and not at all where they are a name of one of the classes, which
    hypernym detection looks for. A class of the lowest level keeps at least one name to train on.

    Args:
        root: id of the concept that the levels are below.
        depth: how many levels.

    Raises:
        LinkerError: there is no such concept, or too little of a hierarchy below it.
    """
    if len(dictionary.rows(root)) != 1:
        raise LinkerError(
            f"{root!r} is no concept of the dictionary; give the id of one, e.g. {dictionary.ids[0]}"
        )
    table, ids = dictionary.table(normalize), dictionary.ids
    groups = dictionary.hierarchy.levels(depth, dictionary.rows(root)[0])
    below = np.flatnonzero(np.diff(groups[-1].indptr))
    own = csr_matrix(
        (np.ones(len(below), np.int8), (below, np.zeros(len(below), np.int64))),
        shape=groups[-1].shape,
    )
    texts, every = (
        classes.of_groups(table, own).texts,
        [classes.of_groups(table, part, ids) for part in groups],
    )
    bags = classes.bags(
        [*texts, *(text for names in every for text in _above(dictionary, names.ids).texts)]
    )
    once = {
        text
        for text, new in zip(texts, ~np.isin(bags[: len(texts)], bags[len(texts) :]), strict=True)
        if new
    }
    levels = [_of(names, once) for names in every]
    if few := [f"level {k}: {names.count}" for k, names in enumerate(levels, 1) if names.count < 2]:
        expected = f"two or more on each of {depth} levels with names below them"
        raise LinkerError(
            f"below {root} stand too few concepts ({', '.join(few)}); expected: {expected}; take another root"
        )
    drawn = _drawn(levels[-1], seed)
    made = []
    for names in levels:
        splits = [
            names[np.flatnonzero([drawn.get(text, "train") == kind for text in names.texts])]
            for kind in ("train", *ROUNDS)
        ]
        made.append(Level(splits[0], splits[2], splits[1], _above(dictionary, names.ids)))
    return made


def _above(dictionary: Dictionary, ids: Sequence[str]) -> Classes:
    """The names of some concepts, each a class of its own."""
    own = [dictionary.rows(i)[0] for i in ids]
    groups = csr_matrix(
        (np.ones(len(own), np.int8), (own, np.arange(len(own)))),
        shape=(len(dictionary), len(dictionary)),
    )
    found = classes.of_groups(dictionary.table(normalize), groups)
    return Classes(found.texts, np.array([int(i) for i in found.ids], np.int64)[found.labels], ids)


def _of(names: Classes, texts: set[str]) -> Classes:
    return names.relabelled(np.flatnonzero([text in texts for text in names.texts]))


def _drawn(names: Classes, seed: int) -> dict[str, str]:
    """Which names are drawn, and for what."""
    random, drawn = np.random.default_rng((seed, 0)), dict[str, str]()
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
                    if t not in drawn and (left[labels[t]] > 1).all()
                )
                if text := next(free, ""):
                    drawn[text] = kind
                    left[labels[text]] -= 1
    return drawn

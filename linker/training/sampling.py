"""What trainings sample: pairs and triplets of names, and classes of names.

Each purpose has random numbers of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary, NameTable, classes
from linker.dictionary.classes import Classes, Floats, Rows
from linker.errors import LinkerError
from linker.linking.options import LinkerOptions

logger = logging.getLogger(__name__)

_TRIES = 100  # attempts to sample a negative from all names

Nearest = Callable[[Rows], tuple[Rows, Floats]]
"""Takes rows of n names, gives rows of the k names nearest to each, and their cosines: (n, k)."""


class Stream(IntEnum):
    """The purposes of random numbers. Two streams, or two epochs of one, are independent."""

    LIST_ORDER = 0  # the order of the candidate lists in an epoch
    HYPERNYMS = 1  # hypernym names of the norm loss
    DICTIONARY_QUERIES = 2  # names of the dictionary that are queries where there are no mentions
    PAIRS = 3  # which synonyms are paired
    PAIR_ORDER = 4  # the order of the pairs, or their batches
    TRIPLETS = 6  # positives and negatives of triplets; 5, 7 and 12 are of former releases
    PROTOTYPES = 8  # the names that a prototype is the mean of
    GROUND_PAIRS = 9  # positives of pairs, and their order
    SHOTS = 10  # the few names of each class that are trained on
    HELD_OUT = 11  # names that validate grounding instead of being trained on
    FOLDS = 13  # of annotated mentions that the ranker is fitted to
    NOISE = 14  # wrappings and typing errors of mentions, and texts that are no disease


def rng(seed: int, stream: Stream, epoch: int = 0) -> np.random.Generator:
    """Make the generator of a stream.

    Args:
        seed: of the training.
        stream: what the numbers are for.
        epoch: from 1; 0 for what is sampled once.
    """
    return np.random.default_rng((seed, epoch, stream))


def similar_together(
    vectors: NDArray[np.float32], batch_size: int, random: np.random.Generator
) -> Rows:
    """Order rows so that a batch holds a few runs of similar vectors; runs are in random order.

    The runs make hard negatives for each other's rows; as a batch has a few, it has easy negatives
    as well. All rows are split in halves, and these again, until a group has at most a quarter of a
    batch: those nearer to one of two rows that are sampled from the group, and those nearer to the
    other.

    Args:
        vectors: (n, dim).
        batch_size: rows of a batch.
        random: the source of all samples.

    Returns:
        (n,) rows.
    """
    size = max(2, batch_size // 4)
    groups, runs = [np.arange(len(vectors))], []
    while groups:
        rows = groups.pop()
        if len(rows) <= size:
            runs.append(rows)
            continue
        first, second = vectors[rows[random.choice(len(rows), 2, replace=False)]]
        by_side = rows[np.argsort(vectors[rows] @ (first - second), kind="stable")]
        groups += [by_side[: len(rows) // 2], by_side[len(rows) // 2 :]]
    return np.concatenate([runs[i] for i in random.permutation(len(runs))])


def positives(names: Classes, each: int, random: np.random.Generator) -> tuple[Rows, Rows]:
    """Sample, for each name, other names of its class.

    A name that is alone in its class is left out; where there is one class, all names are.

    Args:
        names: the names and their classes.
        each: samples of a name, which may repeat; 0: each other name of its class, once.
        random: the source of all samples.

    Returns:
        Rows of names and rows of their samples, both (n,), in the order of the names.
    """
    order, start = names.members
    sizes = names.sizes[names.labels]
    anchors = np.flatnonzero(sizes > 1)
    if not len(anchors) or names.count < 2:
        return anchors[:0], anchors[:0]
    times = np.full(len(anchors), each) if each else sizes[anchors] - 1
    anchor = np.repeat(anchors, times)
    # the place of the anchor among the names of its class
    place = np.argsort(order)[anchor] - start[names.labels[anchor]]
    nth = np.arange(len(anchor)) - np.repeat(np.cumsum(times) - times, times)
    step = 1 + (random.integers(sizes[anchor] - 1) if each else nth)
    return anchor, order[start[names.labels[anchor]] + (place + step) % sizes[anchor]]


def triplets(
    names: Classes,
    each: int,
    nearest: Nearest,
    random: np.random.Generator,
) -> tuple[Rows, Rows, Rows]:
    """Sample triplets, in random order: a name, another of its class, a near one of another class.

    A name without a near one of another class gets a negative from all names; where none of some
    tries is of another class, the triplet is left out.

    Args:
        names: the names and their classes.
        each: triplets of a name; 0: one for each other name of its class (see `positives`).
        nearest: finds the nearest names; those of the same class are passed over.
        random: the source of all samples.

    Returns:
        Rows of the names, of others of their classes, and of names of other classes, (n,) each.
    """
    anchor, positive = positives(names, each, random)
    if not len(anchor):
        return anchor, positive, anchor
    anchors, place = np.unique(anchor, return_inverse=True)
    near, cosines = nearest(anchors)
    # by 1 / (1 - cosine), as the published code of Fivez et al. 2021 does
    weights = np.where(names.alike(anchors, near), 0, 1 / np.maximum(1 - cosines, 1e-9))
    weights = weights.astype(np.float64)
    column, is_weighted = _weighted_columns(weights, place, random)
    negative = near[place, column]
    missing = np.flatnonzero(~is_weighted)
    for _ in range(_TRIES if len(missing) else 0):
        negative[missing] = random.integers(len(names), size=len(missing))
        missing = missing[names.alike(anchor[missing], negative[missing, None])[:, 0]]
    shuffled = random.permutation(np.setdiff1d(np.arange(len(place)), missing))
    return anchor[shuffled], positive[shuffled], negative[shuffled]


def _weighted_columns(
    weights: NDArray[np.float64], rows: Rows, random: np.random.Generator
) -> tuple[Rows, NDArray[np.bool_]]:
    """Sample a column from each of some rows of a matrix, by the weights in the row.

    Args:
        weights: (rows, columns).
        rows: (n,), may repeat.
        random: the source of all samples.

    Returns:
        The columns (n,), and whether the row has a weight at all (n,); any column where not.
    """
    sums = np.cumsum(weights, axis=1)
    total = sums[:, -1:]
    # the cumulative shares of row i go from i to i + 1, so that one search serves all rows
    shares = sums / np.where(total, total, 1) + np.arange(len(sums))[:, None]
    points = rows + random.random(len(rows))
    columns = np.searchsorted(shares.ravel(), points, side="right") - rows * weights.shape[1]
    return np.minimum(columns, weights.shape[1] - 1), total[rows, 0] != 0


def select_classes(
    options: LinkerOptions, table: NameTable, dictionary: Dictionary
) -> tuple[Classes, Classes | None]:
    """Group the names of a dictionary by class, and sample a few of each class if `shots` is set.

    Returns:
        The names to train on, and those to validate with; None: some of the former serve.

    Raises:
        LinkerError: there is no such root, or the hierarchy has too few classes, or too few of two
            names where shots are sampled.
    """
    ground = options.ground
    if options.recipe.classes == "parts" and not ground.shots:
        raise LinkerError(
            "ground.shots is 0, all pairs of large classes, which are too many; expected: 1 or more"
        )
    names = _grouped(options, table, dictionary)
    if not ground.shots:
        return names, None
    count = names.count
    names = names.relabelled(np.flatnonzero(names.sizes[names.labels] > 1))
    if names.count < 2:
        raise LinkerError(
            f"{names.count} of {count} classes have two names or more; expected: two classes; take "
            "another ground.root, or a dictionary with more of a hierarchy (--hierarchy)"
        )
    return shots(names, ground.shots, options.training.seed)


def _grouped(options: LinkerOptions, table: NameTable, dictionary: Dictionary) -> Classes:
    ids, hierarchy, ground = dictionary.ids, dictionary.hierarchy, options.ground
    root = None  # of which levels and parts are counted; None: the hierarchy's own
    if ground.root:
        rows = dictionary.rows(ground.root)
        if len(rows) != 1:
            raise LinkerError(
                f"ground.root is {ground.root!r}, which is no concept of the dictionary; "
                f"give the id of one, e.g. {dictionary.ids[0]}"
            )
        root = rows[0]
    if options.recipe.classes == "concepts":
        return classes.of_concepts(table, ids)
    if not hierarchy.edges:
        raise LinkerError(
            "the dictionary has no hierarchy, by which this encoder groups names; give one with "
            "parents, borrow that of another file (--hierarchy), or choose --encoder dan"
        )
    if options.recipe.classes == "level":
        return classes.of_level(table, hierarchy, ground.level, root, ids)
    return classes.of_parts(table, hierarchy, ground.parts, root, ids)


def held_out(names: Classes, count: int, seed: int) -> NDArray[np.bool_]:
    """Sample a name of each of at most `count` classes of three names or more: (n,) bool.

    Half of such classes give one at most; where that is few, up to a tenth of their names. A name
    of several classes is held out of all of them, which may leave these with fewer than two.
    """
    random = rng(seed, Stream.HELD_OUT)
    eligible = np.flatnonzero(names.sizes >= 3)
    labels = random.permutation(eligible)[: min(count, len(eligible) // 2)]
    order, start = names.members
    rows = [order[start[labels] + random.integers(names.sizes[labels])]]
    more = np.minimum(count // max(1, len(labels)), names.sizes[labels] // 10) - 1
    rows += [
        random.permutation(members)[:extra]
        for members, extra in zip(names.of(labels), more.tolist(), strict=True)
        if extra > 0
    ]
    return np.isin(names.spelling, names.spelling[np.concatenate(rows)])


def shots(names: Classes, count: int, seed: int) -> tuple[Classes, Classes]:
    """Sample `count` names of each class to train on, and as many others to validate with.

    A class that has not enough gives half of its names to either (Fivez et al. 2021c, section 3.2).

    Args:
        names: two or more of each class.
        count: names of each class.
        seed: of the sample.

    Returns:
        Those to train on and those to validate with; labels are those of `names`.
    """
    random = rng(seed, Stream.SHOTS)
    members = [random.permutation(rows) for rows in names.of(np.arange(names.count))]
    counts = [min(count, len(rows) // 2) for rows in members]
    train = [rows[:n] for rows, n in zip(members, counts, strict=True)]
    validation = [rows[n : 2 * n] for rows, n in zip(members, counts, strict=True)]
    return names[np.concatenate(train)], names[np.concatenate(validation)]

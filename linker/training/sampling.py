"""What is sampled from the names of a dictionary: synonym pairs, triplets, and queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker.candidates.index import Integers
from linker.dictionary import Dictionary, NameTable
from linker.dictionary.classes import Classes, Floats, Rows, bags
from linker.errors import LinkerError
from linker.ranker.lists import Query, ids_of, name_of_each
from linker.training.randomness import Stream, rng

_TRIES = 100  # attempts to sample a negative from all names

Nearest = Callable[[Rows], tuple[Rows, Floats]]
"""Given rows of n names, the rows of the k names nearest to each, and their cosines, both (n, k)."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two names of one concept each, all (n,): rows of the name table, and the row of the concept."""

    left: Rows
    right: Rows
    concept: Rows

    def __len__(self) -> int:
        return len(self.concept)

    def __getitem__(self, rows: Rows) -> Pairs:
        return Pairs(self.left[rows], self.right[rows], self.concept[rows])


def synonym_pairs(table: NameTable, seed: int, epoch: int) -> Pairs:
    """Pair the names of each concept at random, so that each name is in one pair; the odd one out meets the first again.

    Of names that are the same words in another order ("cancer breast", a third of MEDIC) one is drawn, since such pairs teach next to
    nothing. The same for the same seed and epoch, and always as many.
    """
    names = np.repeat(np.arange(len(table)), np.diff(table.indptr))
    shuffled = rng(seed, Stream.PAIRS, epoch).permutation(len(names))
    words = bags(table.texts)
    kinds = table.concepts.astype(np.int64) * len(table) + words[names]
    shuffled = shuffled[
        np.sort(np.unique(kinds[shuffled], return_index=True)[1])
    ]  # the first of each kind
    order = shuffled[np.argsort(table.concepts[shuffled], kind="stable")]
    names, concepts = names[order], table.concepts[order].astype(np.int64)
    first = np.searchsorted(concepts, concepts)  # where the concept of each place begins
    place = np.arange(len(names)) - first
    lefts = np.flatnonzero(place % 2 == 0)
    has_next = np.append(concepts[1:] == concepts[:-1], False)[lefts]
    rights = np.where(has_next, np.minimum(lefts + 1, len(names) - 1), first[lefts])
    kept = lefts != rights
    return Pairs(names[lefts[kept]], names[rights[kept]], concepts[lefts[kept]])


def similar_together(vectors: NDArray[np.float32], size: int, random: np.random.Generator) -> Rows:
    """Order rows so that runs of about `size` hold similar vectors, and the runs follow one another at random.

    A group is halved by how near its vectors are to two of them, drawn at random, until it has at most `size` rows.

    Args:
        vectors: (n, dim).
    """
    groups, done = [np.arange(len(vectors))], []
    while groups:
        rows = groups.pop()
        if len(rows) <= size:
            done.append(rows)
            continue
        one, other = vectors[rows[random.choice(len(rows), 2, replace=False)]]
        nearer = rows[np.argsort(vectors[rows] @ (one - other), kind="stable")]
        groups += [nearer[: len(rows) // 2], nearer[len(rows) // 2 :]]
    return np.concatenate([done[i] for i in random.permutation(len(done))])


def order(
    pairs: Pairs, vectors: NDArray[np.float32] | None, batch_size: int, seed: int, epoch: int
) -> Rows:
    """The order in which pairs are trained on: at random, or with similar ones in the same batch where vectors are given.

    Args:
        vectors: (len(pairs), dim) of the left names. A batch mixes a few neighbourhoods, so that it holds easy negatives too.
    """
    random = rng(seed, Stream.PAIR_ORDER, epoch)
    if vectors is None:
        return random.permutation(len(pairs))
    return similar_together(vectors, max(2, batch_size // 4), random)


@dataclass(frozen=True, slots=True)
class Triplets:
    """Rows of names: (n,) each."""

    anchor: Rows
    positive: Rows
    negative: Rows


def positives(names: Classes, each: int, random: np.random.Generator) -> tuple[Rows, Rows]:
    """Names, in order, each as often as it is drawn, and for each time another name of its class: rows, (n,) both.

    Names without a second one in their class are left out, and all where there is one class.

    Args:
        each: how often; 0: once for each other name of its class.
    """
    order, start = names.members
    sizes = names.sizes[names.labels]
    anchors = np.flatnonzero(sizes > 1)
    if not len(anchors) or names.count < 2:
        return anchors[:0], anchors[:0]
    times = np.full(len(anchors), each) if each else sizes[anchors] - 1
    anchor = np.repeat(anchors, times)
    place = np.argsort(order)[anchor] - start[names.labels[anchor]]  # of the anchor in its class
    nth = np.arange(len(anchor)) - np.repeat(np.cumsum(times) - times, times)
    step = 1 + (random.integers(sizes[anchor] - 1) if each else nth)
    return anchor, order[start[names.labels[anchor]] + (place + step) % sizes[anchor]]


def triplets(
    names: Classes,
    each: int,
    nearest: Nearest,
    weigh: Callable[[Floats], NDArray[np.float64]],
    random: np.random.Generator,
) -> Triplets:
    """Sample triplets in random order: a name, another of its class, a near one of another class.

    A name that has no near one of another class has a negative sampled from all names; where that
    finds none, it has no triplet.

    Args:
        names: n of them.
        each: triplets of a name; 0: one for each other name of its class. See `positives`.
        nearest: finds the nearest names; those of the same class are passed over.
        weigh: gives how likely a name at a cosine is the negative, such as `inverse_weights`.
        random: the source of all samples.
    """
    anchor, positive = positives(names, each, random)
    if not len(anchor):
        return Triplets(anchor, positive, anchor)
    anchors, which = np.unique(anchor, return_inverse=True)
    rows, cosines = nearest(anchors)
    weights = np.where(names.alike(anchors, rows), 0, weigh(cosines)).astype(np.float64)
    sums = np.cumsum(weights, axis=1)
    total = sums[:, -1:]
    # the shares of row i go from i to i + 1, so that one search does for all rows
    shares = sums / np.where(total, total, 1) + np.arange(len(sums))[:, None]
    points = which + random.random(len(which))
    places = np.searchsorted(shares.ravel(), points, side="right") - which * rows.shape[1]
    negative = rows[which, np.minimum(places, rows.shape[1] - 1)]
    left = np.flatnonzero(total[which, 0] == 0)
    for _ in range(_TRIES if len(left) else 0):
        negative[left] = random.integers(len(names), size=len(left))
        left = left[names.alike(anchor[left], negative[left, None])[:, 0]]
    shuffled = random.permutation(np.setdiff1d(np.arange(len(which)), left))
    return Triplets(anchor[shuffled], positive[shuffled], negative[shuffled])


def inverse_weights(cosines: Floats) -> NDArray[np.float64]:
    """Weigh by 1 / (1 - cosine), as the published code of Fivez et al. does."""
    weights: NDArray[np.float64] = 1 / np.maximum(1 - cosines, 1e-9)
    return weights


def density_weights(cosines: Floats, dim: int) -> NDArray[np.float64]:
    """Weigh by 1 / q(d), q the density of distances d between random points of a sphere (Wu et al. 2017, eq. 2), the largest being 1.

    Distances below 0.5 count as 0.5, as there; they would take all the weight.
    """
    squared = np.maximum(2 - 2 * np.minimum(cosines, 1).astype(np.float64), 0.25)
    log = (dim - 2) / 2 * np.log(squared) + (dim - 3) / 2 * np.log(
        np.maximum(1 - squared / 4, 1e-9)
    )
    weights: NDArray[np.float64] = np.exp(log.min(axis=1, keepdims=True) - log)
    return weights


def dictionary_queries(
    table: NameTable, dictionary: Dictionary, count: int, seed: int, epoch: int
) -> list[Query]:
    """Sample distinct names of concepts that have other names too; all where there are fewer.

    Raises:
        LinkerError: no concept has two names.
    """
    rows = with_synonyms(table)
    if not len(rows):
        raise LinkerError(
            "no concept of the dictionary has two names to train on; "
            "give annotated mentions, or a dictionary with synonyms"
        )
    sample = rng(seed, Stream.DICTIONARY_QUERIES, epoch).permutation(rows)[:count].tolist()
    ids = ids_of(table, dictionary)
    return [Query(table.texts[row], frozenset(ids(row))) for row in sample]


def with_synonyms(table: NameTable) -> Integers:
    """Find the rows of names whose concept has another name."""
    several = np.bincount(table.concepts) >= 2
    return np.unique(name_of_each(table)[several[table.concepts]])

"""What self-alignment draws from a dictionary: pairs of synonyms, and batches in which the pairs are hard to tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import NameTable

_PAIRS, _ORDER = 3, 4  # keep the random draws of an epoch apart from each other and from those of ranker.lists

Rows = NDArray[np.int64]


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
    shuffled = np.random.default_rng((seed, epoch, _PAIRS)).permutation(len(names))
    codes: dict[str, int] = {}
    bags = (" ".join(sorted(text.split())) for text in table.texts)
    words = np.fromiter((codes.setdefault(bag, len(codes)) for bag in bags), np.int64, len(table))
    kinds = table.concepts.astype(np.int64) * len(table) + words[names]
    shuffled = shuffled[np.sort(np.unique(kinds[shuffled], return_index=True)[1])]  # the first of each kind
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


def order(pairs: Pairs, vectors: NDArray[np.float32] | None, batch_size: int, seed: int, epoch: int) -> Rows:
    """The order in which pairs are trained on: at random, or with similar ones in the same batch where vectors are given.

    Args:
        vectors: (len(pairs), dim) of the left names. A batch mixes a few neighbourhoods, so that it holds easy negatives too.
    """
    random = np.random.default_rng((seed, epoch, _ORDER))
    if vectors is None:
        return random.permutation(len(pairs))
    return similar_together(vectors, max(2, batch_size // 4), random)

"""Synonym retrieval and concept mapping (Fivez et al. 2021a, section 5.1).

A name is to find the other names of its concept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker import metrics
from linker.candidates.index import ranks
from linker.dictionary import Dictionary
from linker.dictionary.classes import Classes, Rows, of_concepts, retrieval
from linker.encoders.words import unit
from linker.text.normalize import normalize

MOST_WORDS = 6  # of a name; longer ones are left out

Floats = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Floats]


@dataclass(frozen=True, slots=True)
class Split:
    """Names to train on and to evaluate with; all labels but those of `zero_shot` are alike."""

    train: Classes
    validation: Classes  # names that early stopping looks at
    test: Classes
    zero_shot: Classes  # names of other classes, with labels of their own
    repeated: Classes | None = None  # further test names, which are also trained on


def fine(dictionary: Dictionary) -> Classes:
    """The names of each concept: only unambiguous ones of at most six words.

    Of names with the same words in another order one is taken.
    """
    return _short(of_concepts(dictionary.table(normalize), dictionary.ids))


def coarse(dictionary: Dictionary) -> Classes:
    """The names of each concept that has others below it, and of the leaves below it.

    This stands for the ICD-10 codes of the paper, which fuse the names of several concepts. A leaf
    with several parents is counted to the first.
    """
    table = dictionary.table(normalize)
    names = _concepts(dictionary, of_concepts(table))
    hierarchy = dictionary.hierarchy
    rows = np.arange(len(dictionary), dtype=np.int32)
    parents, children = hierarchy.parents(rows), hierarchy.children(rows)
    above = np.array(
        [
            up[0] if len(up) and not len(down) else row
            for row, up, down in zip(rows, parents, children, strict=True)
        ]
    )
    return _short(
        Classes(
            names.texts, np.unique(above[names.labels], return_inverse=True)[1].astype(np.int64)
        )
    )


def _concepts(dictionary: Dictionary, names: Classes) -> Classes:
    """Classes whose labels are rows of concepts."""
    table = dictionary.table(normalize)
    row_of = {text: row for row, text in enumerate(table.texts)}
    return Classes(
        names.texts,
        np.array([table.concepts[table.indptr[row_of[text]]] for text in names.texts], np.int64),
    )


def _short(names: Classes) -> Classes:
    return names.relabelled(
        np.array(
            [row for row, text in enumerate(names.texts) if len(text.split()) <= MOST_WORDS],
            np.int64,
        )
    )


def split(names: Classes, zero_shot: int, seed: int) -> Split:
    """Hold out whole classes, and names of all others.

    Of each other class up to two names are for test and up to two for validation; at least one is
    left to train on.

    Args:
        names: the names.
        zero_shot: how many classes are held out.
        seed: of the sampling.
    """
    random = np.random.default_rng((seed, 0))
    out = random.permutation(names.count)[:zero_shot]
    unseen = np.isin(names.labels, out)
    part = np.where(unseen, 3, 0)  # 0 train, 1 validation, 2 test, 3 zero-shot
    for target in (2, 2, 1, 1):
        left = np.flatnonzero(part == 0)
        left = left[random.permutation(len(left))]
        labels, first, count = np.unique(names.labels[left], return_index=True, return_counts=True)
        part[left[first[count >= 2]]] = target
        del labels
    known = names.relabelled(np.flatnonzero(part < 3))
    parts = part[part < 3]
    train, validation, test = (known[np.flatnonzero(parts == i)] for i in range(3))
    return Split(train, validation, test, names.relabelled(np.flatnonzero(part == 3)))


def medmentions(
    train: Iterable[tuple[str, str]], test: Iterable[tuple[str, str]], seed: int
) -> Split:
    """Split mentions as published.

    Test mentions are distinct. Those that are also training mentions are `repeated`, those of
    concepts without training mentions `zero_shot`. Of a tenth of the training concepts with two
    names or more, one name is for validation.

    Args:
        train: (name, concept) pairs to train on.
        test: (name, concept) pairs to test on.
        seed: of the sampling.
    """
    known = list(dict.fromkeys((normalize(name), concept) for name, concept in train))
    trained = set(known)
    distinct = list(dict.fromkeys((normalize(name), concept) for name, concept in test))
    new, repeated = (
        [pair for pair in distinct if pair not in trained],
        [pair for pair in distinct if pair in trained],
    )
    label = {concept: i for i, concept in enumerate(dict.fromkeys(concept for _, concept in known))}
    names = Classes(
        [name for name, _ in known], np.array([label[concept] for _, concept in known], np.int64)
    )
    random = np.random.default_rng((seed, 1))
    order = random.permutation(len(names))
    labels, first, count = np.unique(names.labels[order], return_index=True, return_counts=True)
    held_out = order[first[(count >= 2) & (random.random(len(labels)) < 0.1)]]
    seen = [(name, label[concept]) for name, concept in new if concept in label]
    zero_shot = [(name, concept) for name, concept in new if concept not in label]
    codes = np.unique([concept for _, concept in zero_shot], return_inverse=True)[1].astype(
        np.int64
    )
    return Split(
        names[np.setdiff1d(np.arange(len(names)), held_out)],
        names[held_out],
        Classes([name for name, _ in seen], np.array([i for _, i in seen], np.int64)),
        Classes([name for name, _ in zero_shot], codes),
        Classes(
            [name for name, _ in repeated],
            np.array([label[concept] for _, concept in repeated], np.int64),
        ),
    )


def retrieved(encode: Encode, queries: Classes, ranked: Classes | None = None) -> list[Rows]:
    """Find the names of its own class for each name, by cosine.

    Args:
        encode: makes vectors of names.
        queries: the names; those whose class has no name to find are left out.
        ranked: the names to find; None for the other names of `queries`.

    Returns:
        For each name, the rising 1-based ranks of the names of its class among all that are ranked.
    """
    if ranked is not None:
        texts, others, right = retrieval(queries, ranked)
        solvable = [row for row, rows in enumerate(right) if len(rows)]
        return ranks(
            unit(encode([texts[row] for row in solvable])),
            unit(encode(others)),
            [right[row] for row in solvable],
        )
    right = [rows[rows != row] for row, rows in enumerate(queries.of(queries.labels))]
    solvable = [row for row, rows in enumerate(right) if len(rows)]
    names = unit(encode(queries.texts))
    of_others = ranks(names[solvable], names, [right[row] for row in solvable])
    of_themselves = ranks(names[solvable], names, [np.array([row]) for row in solvable])
    # a query does not count as an answer to itself, so that names behind it move up
    return [
        places - (places > place[0]) for places, place in zip(of_others, of_themselves, strict=True)
    ]


def scores(ranks_of_names: Sequence[Rows]) -> dict[str, NDArray[np.float64]]:
    """Metrics of the ranks of `retrieved`, one value for each name.

    Args:
        ranks_of_names: for each name, the rising ranks of the names of its class.

    Returns:
        "map": average precision; "acc": 1 if the first name is right; "mrr": 1 / the first rank.
    """
    first = np.array([places[0] for places in ranks_of_names])
    return {
        "map": metrics.average_precisions(ranks_of_names),
        "acc": metrics.hits(first, 1),
        "mrr": metrics.reciprocal_ranks(first),
    }

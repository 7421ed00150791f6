"""Synonym retrieval and concept mapping (Fivez et al. 2021a, section 5.1): a name is to find the other names of its concept."""

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
    """Names to train on, to stop by and to judge by; all labels mean the same classes, but for those of `zero_shot`, which are its own.

    `repeated` are further test names that are also trained on, where a task has such.
    """

    train: Classes
    validation: Classes
    test: Classes
    zero_shot: Classes
    repeated: Classes | None = None


def fine(dictionary: Dictionary) -> Classes:
    """The names of each concept: those of one concept only, of at most six words, once for each bag of words."""
    return _short(of_concepts(dictionary.table(normalize), dictionary.ids))


def coarse(dictionary: Dictionary) -> Classes:
    """The names of each concept that has others below it, together with those of the leaves below it.

    Stands for the ICD-10 codes of the paper, which fuse the names of several concepts. A leaf of several parents goes to the first.
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
    """Hold out so many classes, and of each other class of two names or more one name for test, one more, then the same for validation.

    A class keeps at least one name to train on.
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
    """Split mentions, (name, concept) pairs, as published: one list to train on, the other to test on.

    Test mentions are distinct; those whose name the training list has for their concept are `repeated`, those of other concepts
    `zero_shot`. A tenth of the training concepts with two names or more gives one each for validation.
    """
    known = list(dict.fromkeys((normalize(name), concept) for name, concept in train))
    there = set(known)
    every = list(dict.fromkeys((normalize(name), concept) for name, concept in test))
    asked, again = (
        [pair for pair in every if pair not in there],
        [pair for pair in every if pair in there],
    )
    label = {concept: i for i, concept in enumerate(dict.fromkeys(concept for _, concept in known))}
    names = Classes(
        [name for name, _ in known], np.array([label[concept] for _, concept in known], np.int64)
    )
    random = np.random.default_rng((seed, 1))
    order = random.permutation(len(names))
    labels, first, count = np.unique(names.labels[order], return_index=True, return_counts=True)
    held = order[first[(count >= 2) & (random.random(len(labels)) < 0.1)]]
    seen = [(name, label[concept]) for name, concept in asked if concept in label]
    new = [(name, concept) for name, concept in asked if concept not in label]
    codes = np.unique([concept for _, concept in new], return_inverse=True)[1].astype(np.int64)
    return Split(
        names[np.setdiff1d(np.arange(len(names)), held)],
        names[held],
        Classes([name for name, _ in seen], np.array([i for _, i in seen], np.int64)),
        Classes([name for name, _ in new], codes),
        Classes(
            [name for name, _ in again],
            np.array([label[concept] for _, concept in again], np.int64),
        ),
    )


def retrieved(encode: Encode, asked: Classes, ranked: Classes | None = None) -> list[Rows]:
    """Rank the names of its classes for each name that has any to find: by cosine, among all ranked ones; rising ranks.

    Args:
        ranked: the names to be ranked; None: the others among `asked`.
    """
    if ranked is not None:
        texts, others, right = retrieval(asked, ranked)
        some = [row for row, rows in enumerate(right) if len(rows)]
        return ranks(
            unit(encode([texts[row] for row in some])),
            unit(encode(others)),
            [right[row] for row in some],
        )
    right = [rows[rows != row] for row, rows in enumerate(asked.of(asked.labels))]
    some = [row for row, rows in enumerate(right) if len(rows)]
    names = unit(encode(asked.texts))
    found = ranks(names[some], names, [right[row] for row in some])
    own = [
        places[0] for places in ranks(names[some], names, [np.array([row]) for row in some])
    ]  # where a name finds itself
    return [places - (places > place) for places, place in zip(found, own, strict=True)]


def scores(found: Sequence[Rows]) -> dict[str, NDArray[np.float64]]:
    """What the ranks of `retrieved` are worth, one value for each.

    Returns:
        "map", "acc" and "mrr": average precision, whether the first name is right, reciprocal rank of the first that is.
    """
    first = np.array([places[0] for places in found])
    return {
        "map": metrics.average_precisions(found),
        "acc": metrics.hits(first, 1),
        "mrr": metrics.reciprocal_ranks(first),
    }

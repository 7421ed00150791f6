"""The tasks by which papers evaluate encoders of names.

Synonym retrieval and concept mapping (Fivez et al. 2021a, section 5.1): a name is to find the other
names of its concept. The levels of a taxonomy (Fivez et al. 2021b, section 4): a name is to find
the names of the concepts above it, or the names below these. Reranking (Phan et al. 2019, section
4.2): the names of the concepts that BM25 finds for a mention are ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from benchmarks.lib.vectors import Encode
from linker import Dictionary
from linker.dictionary import NameTable, classes
from linker.dictionary.classes import Classes, Rows
from linker.encoders.words import tokens, unit
from linker.evaluation import metrics
from linker.search.index import ranks
from linker.text.normalize import normalize

MOST_WORDS = 6  # of a name that is retrieved; longer ones are left out
DEPTH = 4  # of a taxonomy
# how often a name is sampled for each of them, from each class of the lowest level
ROUNDS = {"test": 2, "validation": 1}
CONCEPTS = 20  # whose names are reranked for a mention
_NAMES = 400  # names that are looked through for so many concepts at first

Similarity = Callable[[str, Sequence[str]], NDArray[np.float64]]
"""A query and its candidates -> how alike each is, (candidates,)."""


@dataclass(frozen=True, slots=True)
class Split:
    """Names to train on and to evaluate with; all labels but those of `zero_shot` are alike."""

    train: Classes
    validation: Classes  # names that early stopping looks at
    test: Classes
    zero_shot: Classes  # names of other classes, with labels of their own


@dataclass(frozen=True, slots=True)
class Level:
    """The names of the concepts below all levels, by the classes of this level.

    All labels mean the same classes. A test name is to find the training names of its classes (by
    mAP), and the names of its classes themselves among those of all classes (by MRR).
    """

    train: Classes
    validation: Classes
    test: Classes
    above: Classes  # the names of the classes themselves


class Question(NamedTuple):
    """A mention with its candidate names."""

    query: str
    names: Sequence[str]
    right: NDArray[np.bool_]  # (names,) whether it is a name of the mention's concept


def fine(dictionary: Dictionary) -> Classes:
    """The names of each concept: only unambiguous ones of at most six words.

    Of names with the same words in another order one is taken.
    """
    return _short(classes.of_concepts(dictionary.table(normalize), dictionary.ids))


def _short(names: Classes) -> Classes:
    short = [row for row, text in enumerate(names.texts) if len(text.split()) <= MOST_WORDS]
    return names.relabelled(np.array(short, np.int64))


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
    unseen = np.isin(names.labels, random.permutation(names.count)[:zero_shot])
    part = np.where(unseen, 3, 0)  # 0 train, 1 validation, 2 test, 3 zero-shot
    for target in (2, 2, 1, 1):
        left = np.flatnonzero(part == 0)
        left = left[random.permutation(len(left))]
        _, first, count = np.unique(names.labels[left], return_index=True, return_counts=True)
        part[left[first[count >= 2]]] = target
    known, parts = names.relabelled(np.flatnonzero(part < 3)), part[part < 3]
    train, validation, test = (known[np.flatnonzero(parts == i)] for i in range(3))
    return Split(train, validation, test, names.relabelled(np.flatnonzero(part == 3)))


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
        texts, others, right = classes.retrieval(queries, ranked)
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


def scores(ranks_of_names: Sequence[Rows]) -> dict[str, float]:
    """The means of average precision, of right first names, and of 1 / the first rank.

    Args:
        ranks_of_names: for each name, the rising ranks of the names of its class.
    """
    first = np.array([places[0] for places in ranks_of_names])
    values = {
        "map": metrics.average_precisions(ranks_of_names),
        "acc": metrics.hits(first, 1),
        "mrr": metrics.reciprocal_ranks(first),
    }
    return {name: round(float(of_names.mean()), 5) for name, of_names in values.items()}


def levels(dictionary: Dictionary, root: str, seed: int, depth: int = DEPTH) -> list[Level]:
    """Sample test and validation names, the same ones for all levels; the highest level is first.

    Of names with the same words in another order one is taken, and none if one of the classes has
    such a name, which hypernym detection looks for. A class of the lowest level keeps at least one
    name to train on.

    Args:
        dictionary: the taxonomy.
        root: id of the concept that the levels are below.
        seed: of the sampling.
        depth: how many levels.
    """
    table = dictionary.table(normalize)
    groups = dictionary.hierarchy.levels(depth, dictionary.rows(root)[0])
    below = np.flatnonzero(np.diff(groups[-1].indptr))
    texts = classes.of_groups(table, _grouped(below, np.zeros_like(below), len(dictionary))).texts
    names = [classes.of_groups(table, group, dictionary.ids) for group in groups]
    above = [_names_of(dictionary, of_level.ids) for of_level in names]
    bags = classes.bags([*texts, *(text for of_level in above for text in of_level.texts)])
    is_new = ~np.isin(bags[: len(texts)], bags[len(texts) :])
    kept = {text for text, new in zip(texts, is_new, strict=True) if new}
    names = [
        of_level.relabelled(np.flatnonzero([text in kept for text in of_level.texts]))
        for of_level in names
    ]
    sampled = _sample(names[-1], seed)

    def part(of_level: Classes, kind: str) -> Classes:
        kinds = [sampled.get(text, "train") for text in of_level.texts]
        return of_level[np.flatnonzero([of_name == kind for of_name in kinds])]

    return [
        Level(
            *(part(of_level, kind) for kind in ("train", "validation", "test")),
            _names_of(dictionary, of_level.ids),
        )
        for of_level in names
    ]


def _grouped(rows: NDArray[Any], groups: NDArray[Any], size: int) -> csr_matrix:
    """The matrix that groups the concepts of some rows, as `Hierarchy.levels` gives it."""
    return csr_matrix((np.ones(len(rows), np.int8), (rows, groups)), shape=(size, size))


def _names_of(dictionary: Dictionary, ids: Sequence[str]) -> Classes:
    """The names of concepts, each a class of its own."""
    rows = np.array([dictionary.rows(i)[0] for i in ids])
    groups = _grouped(rows, np.arange(len(rows)), len(dictionary))
    names = classes.of_groups(dictionary.table(normalize), groups)
    places = np.array([int(i) for i in names.ids], np.int64)
    return Classes(names.texts, places[names.labels], ids)


def _sample(names: Classes, seed: int) -> dict[str, str]:
    """Sample names for test and validation, of classes that keep a name to train on."""
    random, sampled = np.random.default_rng((seed, 0)), dict[str, str]()
    members = [random.permutation(rows) for rows in names.of(np.arange(names.count))]
    left, labels = names.sizes, dict[str, list[int]]()
    for text, label in zip(names.texts, names.labels.tolist(), strict=True):
        labels.setdefault(text, []).append(label)
    for kind in (kind for kind, rounds in ROUNDS.items() for _ in range(rounds)):
        for rows in members:
            for text in (names.texts[row] for row in rows):
                if text not in sampled and (left[labels[text]] > 1).all():
                    sampled[text] = kind
                    left[labels[text]] -= 1
                    break
    return sampled


def questions(
    queries: Sequence[tuple[str, frozenset[int]]], table: NameTable, concepts: int = CONCEPTS
) -> list[Question]:
    """Find the candidates of mentions: all names of the concepts that BM25 ranks first.

    Args:
        queries: normalised mentions, each with the rows of its concepts; those without a right
            candidate are left out.
        table: the names of the dictionary.
        concepts: how many concepts a mention has candidates from.
    """
    import bm25s

    of_name = np.split(table.concepts, table.indptr[1:-1])
    names_of: dict[int, list[int]] = {}
    for row, of_one in enumerate(of_name):
        for concept in of_one.tolist():
            names_of.setdefault(concept, []).append(row)
    index = bm25s.BM25()
    index.index([tokens(text) for text in table.texts], show_progress=False)
    asked = []
    for query, gold in queries:
        first = _first_concepts(index, query, of_name, concepts)
        rows = sorted({row for concept in first for row in names_of[concept]})
        right = np.array([not gold.isdisjoint(of_name[row].tolist()) for row in rows], bool)
        if right.any():
            asked.append(Question(query, [table.texts[row] for row in rows], right))
    return asked


def _first_concepts(
    index: Any, query: str, of_name: Sequence[NDArray[np.int32]], concepts: int
) -> list[int]:
    """The first concepts by BM25; names that share no word with the query are left out."""
    count = min(_NAMES, len(of_name))
    while True:
        rows, relevance = index.retrieve([tokens(query)], k=count, show_progress=False)
        shared = rows[0][relevance[0] > 0].tolist()
        distinct = dict.fromkeys(concept for row in shared for concept in of_name[row].tolist())
        if len(distinct) >= concepts or len(shared) < count or count == len(of_name):
            return list(distinct)[:concepts]
        count = min(2 * count, len(of_name))


def mean_average_precision(asked: Sequence[Question], similarity: Similarity) -> float:
    """MAP of candidates that are ranked by similarity; equally similar ones stay in their order."""
    orders = [np.argsort(-similarity(one.query, one.names), kind="stable") for one in asked]
    places = [
        np.flatnonzero(one.right[order]) + 1 for one, order in zip(asked, orders, strict=True)
    ]
    return round(float(metrics.average_precisions(places).mean()), 4)


def cosine(encode: Encode) -> Similarity:
    """The cosine of an encoder's vectors."""

    def similarity(query: str, names: Sequence[str]) -> NDArray[np.float64]:
        vectors = unit(encode([query, *names])).astype(np.float64)
        return np.asarray(vectors[1:] @ vectors[0])

    return similarity

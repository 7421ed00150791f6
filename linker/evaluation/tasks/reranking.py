"""Synonym retrieval over candidates (BNE, Phan et al. 2019, section 4.2).

The names of the 20 concepts that BM25 finds for a mention are ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker import metrics
from linker.dictionary import NameTable
from linker.encoders.words import WordVectors, tokens, unit
from linker.errors import LinkerError
from linker.version import install_hint

CONCEPTS = 20
_NAMES = 400  # names that are looked through for so many concepts at first

Similarity = Callable[[str, Sequence[str]], NDArray[np.float64]]
"""A query and its candidates -> how alike each is, (candidates,)."""


@dataclass(frozen=True, slots=True)
class Question:
    """A mention with its candidate names."""

    query: str
    names: Sequence[str]
    right: NDArray[np.bool_]  # (names,) whether it is a name of the mention's concept


def questions(
    queries: Sequence[tuple[str, frozenset[int]]], table: NameTable, concepts: int = CONCEPTS
) -> list[Question]:
    """Find the candidates of mentions: all names of the concepts that BM25 ranks first.

    Args:
        queries: normalised mentions, each with the rows of its concepts; those without a right
            candidate are left out.
        table: the names of the dictionary.
        concepts: how many concepts a mention has candidates from.

    Raises:
        LinkerError: the package that computes BM25 is not installed.
    """
    try:
        import bm25s
    except ModuleNotFoundError:
        raise LinkerError(
            f"candidates are found by bm25s, which is not installed: {install_hint('tasks')}"
        ) from None
    of_name = np.split(table.concepts, table.indptr[1:-1])
    names_of: dict[int, list[int]] = {}
    for row, rows_of_name in enumerate(of_name):
        for concept in rows_of_name.tolist():
            names_of.setdefault(concept, []).append(row)
    index = bm25s.BM25()
    index.index([tokens(text) for text in table.texts], show_progress=False)
    questions = []
    for query, gold in queries:
        first = _concepts(index, query, of_name, concepts, len(table))
        rows = sorted({row for concept in first for row in names_of[concept]})
        right = np.array([not gold.isdisjoint(of_name[row].tolist()) for row in rows], bool)
        if right.any():
            questions.append(Question(query, [table.texts[row] for row in rows], right))
    return questions


def _concepts(
    index: Any, query: str, of_name: Sequence[NDArray[np.int32]], concepts: int, names: int
) -> list[int]:
    """The first concepts by BM25; names that share no word with the query are left out.

    Args:
        index: the BM25 index of the names.
        query: the mention.
        of_name: the concepts of each name.
        concepts: how many concepts to find.
        names: how many names there are.
    """
    count = min(_NAMES, names)
    while True:
        rows, scores = index.retrieve([tokens(query)], k=count, show_progress=False)
        distinct = dict.fromkeys(
            c for row in rows[0][scores[0] > 0].tolist() for c in of_name[row].tolist()
        )
        if len(distinct) >= concepts or count == names or not scores[0][-1] > 0:
            return list(distinct)[:concepts]
        count = min(2 * count, names)


def mean_average_precisions(
    questions: Sequence[Question], similarity: Similarity
) -> NDArray[np.float64]:
    """Average precision of each question, its candidates ranked by similarity.

    Args:
        questions: the queries with their candidates; equally similar ones stay in their order.
        similarity: how alike a mention and its candidates are.
    """
    ranks = []
    for question in questions:
        order = np.argsort(-similarity(question.query, question.names), kind="stable")
        ranks.append(np.flatnonzero(question.right[order]) + 1)
    return metrics.average_precisions(ranks)


def jaccard(query: str, names: Sequence[str]) -> NDArray[np.float64]:
    """The share of words that a mention and each name have in common."""
    words = set(tokens(query))
    others = [set(tokens(name)) for name in names]
    return np.array(
        [len(words & other) / len(words | other) if words | other else 0.0 for other in others]
    )


def cosine(encode: Callable[[Sequence[str]], NDArray[np.float32]]) -> Similarity:
    """The cosine of an encoder's vectors."""

    def similarity(query: str, names: Sequence[str]) -> NDArray[np.float64]:
        vectors = unit(encode([query, *names])).astype(np.float64)
        return np.asarray(vectors[1:] @ vectors[0], np.float64)

    return similarity


def word_mover(words: WordVectors) -> Similarity:
    """Minus the word mover's distance (Kusner et al. 2015) of known words.

    Names without known words are the farthest.

    Raises:
        LinkerError: the packages that compute it are not installed.
    """
    try:
        import ot
    except ModuleNotFoundError:
        raise LinkerError(
            "the word mover's distance is computed by POT, which is not installed: "
            + install_hint("tasks")
        ) from None

    def bag(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        known = [word for word in tokens(name) if word in words.row]
        rows, counts = np.unique([words.row[word] for word in known], return_counts=True)
        return words.vectors[rows.astype(np.int64)].astype(np.float64), counts / max(1, len(known))

    def similarity(query: str, names: Sequence[str]) -> NDArray[np.float64]:
        vectors, weights = bag(query)
        values = []
        for name in names:
            others, other_weights = bag(name)
            values.append(
                -ot.emd2(weights, other_weights, ot.dist(vectors, others, "euclidean"))
                if len(vectors) and len(others)
                else -np.inf
            )
        return np.array(values, np.float64)

    return similarity

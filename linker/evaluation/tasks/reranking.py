"""Synonym retrieval over candidates (BNE, Phan et al. 2019, section 4.2): the names of the 20 concepts that BM25 finds are ranked."""

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
    """A mention, its candidate names, and which of them are names of the mention's concept, (candidates,)."""

    query: str
    names: Sequence[str]
    right: NDArray[np.bool_]


def questions(
    queries: Sequence[tuple[str, frozenset[int]]], table: NameTable, concepts: int = CONCEPTS
) -> list[Question]:
    """Find the candidates of mentions: all names of the concepts whose best name BM25 likes most.

    Args:
        queries: normalised mentions, each with the rows of its concepts. Mentions that no candidate is right for are left out.

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
    for row, own in enumerate(of_name):
        for concept in own.tolist():
            names_of.setdefault(concept, []).append(row)
    index = bm25s.BM25()
    index.index([tokens(text) for text in table.texts], show_progress=False)
    made = []
    for query, right in queries:
        found = _concepts(index, query, of_name, concepts, len(table))
        rows = sorted({row for concept in found for row in names_of[concept]})
        judged = np.array([bool(right & set(of_name[row].tolist())) for row in rows], bool)
        if judged.any():
            made.append(Question(query, [table.texts[row] for row in rows], judged))
    return made


def _concepts(
    index: Any, query: str, of_name: Sequence[NDArray[np.int32]], wanted: int, names: int
) -> list[int]:
    """The first concepts among the names that BM25 finds; names that share no word with the query are none."""
    count = min(_NAMES, names)
    while True:
        rows, scores = index.retrieve([tokens(query)], k=count, show_progress=False)
        found = dict.fromkeys(
            c for row in rows[0][scores[0] > 0].tolist() for c in of_name[row].tolist()
        )
        if len(found) >= wanted or count == names or not scores[0][-1] > 0:
            return list(found)[:wanted]
        count = min(2 * count, names)


def mean_average_precisions(
    asked: Sequence[Question], similarity: Similarity
) -> NDArray[np.float64]:
    """Average precision of each question, candidates by falling similarity, equal ones in the order given."""
    found = []
    for question in asked:
        order = np.argsort(-similarity(question.query, question.names), kind="stable")
        found.append(np.flatnonzero(question.right[order]) + 1)
    return metrics.average_precisions(found)


def jaccard(query: str, names: Sequence[str]) -> NDArray[np.float64]:
    """Words in common, as a share of the words of both."""
    own = set(tokens(query))
    others = [set(tokens(name)) for name in names]
    return np.array(
        [len(own & other) / len(own | other) if own | other else 0.0 for other in others]
    )


def cosine(encode: Callable[[Sequence[str]], NDArray[np.float32]]) -> Similarity:
    """The cosine of an encoder's vectors."""

    def similarity(query: str, names: Sequence[str]) -> NDArray[np.float64]:
        vectors = unit(encode([query, *names])).astype(np.float64)
        return np.asarray(vectors[1:] @ vectors[0], np.float64)

    return similarity


def word_mover(words: WordVectors) -> Similarity:
    """Minus the word mover's distance (Kusner et al. 2015) of known words; names without any are the farthest.

    Raises:
        LinkerError: the packages that compute it are not installed.
    """
    try:
        import ot
    except ModuleNotFoundError:
        raise LinkerError(
            f"the word mover's distance is computed by POT, which is not installed: {install_hint('tasks')}"
        ) from None

    def bag(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        known = [word for word in tokens(name) if word in words.row]
        rows, counts = np.unique([words.row[word] for word in known], return_counts=True)
        return words.vectors[rows.astype(np.int64)].astype(np.float64), counts / max(1, len(known))

    def similarity(query: str, names: Sequence[str]) -> NDArray[np.float64]:
        own, weights = bag(query)
        found = []
        for name in names:
            other, theirs = bag(name)
            found.append(
                -ot.emd2(weights, theirs, ot.dist(own, other, "euclidean"))
                if len(own) and len(other)
                else -np.inf
            )
        return np.array(found, np.float64)

    return similarity

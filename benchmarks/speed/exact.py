"""The best names of queries in a slow, obvious way: their scores with all names, block by block.

Names are encoded again, so that nothing depends on how a model stores or searches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from linker import Linker

BLOCK = 50_000  # names that are scored together
EQUAL = 1e-4  # scores nearer than this are equal: vectors are kept in half precision

Floats = NDArray[np.float32]


def found(linker: Linker, queries: Sequence[str], k: int) -> list[float]:
    """The share of the k best names of each query that the linker finds.

    A name counts as one of the k best where it scores as the last of them does. By characters
    alone, names that share no term with the query are not among them.

    Args:
        linker: the linker.
        queries: distinct names in normal form, none empty.
        k: names of each query.
    """
    ranked = linker.generator.rank(list(queries), k, "names")
    best = np.full((len(queries), k), -np.inf, np.float32)
    scores_of_hits: list[list[float]] = [[] for _ in queries]
    for start, scores in scored(linker, queries):
        best = np.sort(np.concatenate([best, scores], axis=1), axis=1)[:, -k:]
        for query, answer in enumerate(ranked):
            rows = answer.names - start
            inside = rows[(rows >= 0) & (rows < scores.shape[1])]
            scores_of_hits[query] += scores[query, inside].tolist()
    wanted = np.isfinite(best).sum(axis=1).tolist()
    return [
        min(1.0, sum(score >= lowest - EQUAL for score in hits) / count) if count else 1.0
        for hits, lowest, count in zip(
            scores_of_hits, best.min(axis=1).tolist(), wanted, strict=True
        )
    ]


def scored(linker: Linker, queries: Sequence[str]) -> Iterator[tuple[int, Floats]]:
    """The scores of the queries with a block of names, (queries, names), and its first row."""
    generator: Any = linker.generator
    sparse = getattr(generator, "sparse", generator)
    weights, texts = sparse.encoder.encode(queries), generator.table.texts
    vectors = None if sparse is generator else generator.encoder.encode(queries)
    for start in range(0, len(texts), BLOCK):
        names = texts[start : start + BLOCK]
        scores = np.asarray((weights @ sparse.encoder.encode(names).T).todense(), np.float32)
        if vectors is None:
            scores[scores == 0] = -np.inf
        else:
            dense = generator.encoder.encode(names).astype(np.float16).astype(np.float32)
            scores = vectors @ dense.T + np.float32(generator.sparse_weight) * scores
            scores += generator.bias[start : start + len(names)]
        yield start, scores

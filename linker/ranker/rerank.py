"""The second stage: a cross-encoder reads a mention, a candidate and the words around together, and reorders the first candidates.

Its lists are made once, of the concepts that the trained first stage ranks highest, and its loss is the list-wise one (BCNH eq. 4-6).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linker import persistence
from linker.candidates.base import Ranked
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.index import Floats, Integers
from linker.dictionary import Dictionary
from linker.encoders.cross import CrossEncoder
from linker.errors import LinkerError
from linker.ranker.lists import Query
from linker.ranker.options import RerankOptions

logger = logging.getLogger(__name__)

_CONTEXTS = (
    5  # keeps the random draws of an epoch apart from those of ranker.lists and training.sampling
)
_SAME = 0.9999  # sparse score of names with the same n-grams
_FETCH = 2  # names fetched for each name asked for
_NAMES = 10  # names fetched for each concept that is read (MEDIC has 7 a concept)

Contexts = Mapping[Query, Sequence[str]]
"""What stands around the mentions of a query, one text for each mention; empty where nothing is known."""

Asked = Sequence[tuple[str, str]]
"""Normalised names, each with what stands around it."""

_Found = Sequence[
    tuple[int, int]
]  # concept rows, each with the row of `Dictionary.names` that matched best


class Reranker:
    """Ranks as its generator does, then takes from the score of the first concepts what they read worse than the best of them.

    Args:
        generator: the first stage.
        encoder: gives a score to a text of mention, candidate and context.
        dictionary: of the generator.
        options: what is read.
        weight: of the encoder's score, in the units of the generator's scores: `options.weight` divided by the scale of training.
    """

    def __init__(
        self,
        generator: HybridGenerator,
        encoder: CrossEncoder,
        dictionary: Dictionary,
        options: RerankOptions,
        weight: float,
    ) -> None:
        self.generator, self.encoder, self.options, self.weight = (
            generator,
            encoder,
            options,
            weight,
        )
        self._dictionary, self._about = (
            dictionary,
            cache(partial(_about, dictionary, options.parents)),
        )

    def concepts(self, asked: Asked, k: int) -> list[Ranked]:
        """Rank the k best concepts of each query; equal scores as the first stage orders them."""
        distinct = list(dict.fromkeys(query for query, _ in asked))
        first = dict(
            zip(
                distinct,
                self.generator.concepts(distinct, max(k, self.options.candidates)),
                strict=True,
            )
        )
        ranked = [first[query] for query, _ in asked]
        found = [
            list(zip(r.concepts.tolist(), r.entries.tolist(), strict=True))[
                : self.options.candidates
            ]
            for r in ranked
        ]
        return [
            _reordered(r, _losing(r.concepts, lost), k)
            for r, lost in zip(ranked, self._lost(asked, found), strict=True)
        ]

    def names(self, asked: Asked, k: int) -> list[tuple[Integers, Floats]]:
        """Rank the k best names of each query, those of a concept in their order: rows of the name table and scores."""
        table, distinct = self.generator.table, list(dict.fromkeys(query for query, _ in asked))
        fetched = self.generator.names(distinct, max(_FETCH * k, _NAMES * self.options.candidates))
        first = dict(zip(distinct, fetched, strict=True))
        hits = [first[query] for query, _ in asked]
        found: list[_Found] = []
        for rows, _ in hits:
            best: dict[int, int] = {}
            for row in rows:
                span = slice(table.indptr[row], table.indptr[row + 1])
                for concept, entry in zip(
                    table.concepts[span].tolist(), table.entries[span].tolist(), strict=True
                ):
                    best.setdefault(concept, entry)
            found.append(list(best.items())[: self.options.candidates])
        result = []
        for (rows, scores), lost in zip(hits, self._lost(asked, found), strict=True):
            of_rows = [
                _losing(table.concepts[table.indptr[row] : table.indptr[row + 1]], lost).min(
                    initial=np.inf
                )
                for row in rows
            ]
            scores = scores - np.array(of_rows, np.float32)
            order = np.argsort(-scores, kind="stable")[:k]
            result.append((rows[order], scores[order]))
        return result

    def read(self, query: str, context: str, concept: int, entry: int) -> str:
        """What the encoder reads of a candidate."""
        return self.encoder.join(
            query, f"{self._dictionary.names[entry]} | {self._about(concept)}", context
        )

    def _lost(self, asked: Asked, found: Sequence[_Found]) -> list[dict[int, float]]:
        """What each found concept of a query loses: the weighted distance of its score to the best, 0 or more."""
        texts = [
            self.read(*query, *one)
            for query, some in zip(asked, found, strict=True)
            for one in some
        ]
        scores, start, lost = self.weight * self.encoder.encode(texts)[:, 0], 0, []
        if not np.isfinite(scores).all():
            raise LinkerError(
                "the second stage gives scores that are not finite; its weights are damaged, train again"
            )
        for some in found:
            mine = scores[start : start + len(some)]
            lost.append(
                dict(
                    zip(
                        (concept for concept, _ in some),
                        (mine.max(initial=-np.inf) - mine).tolist(),
                        strict=True,
                    )
                )
            )
            start += len(some)
        return lost

    def save(self, folder: Path) -> None:
        """Write the encoder and the weight; the generator is saved with the model."""
        self.encoder.save(folder)
        persistence.save_json(folder / "rerank.json", {"weight": self.weight})

    @classmethod
    def load(
        cls,
        folder: Path,
        generator: HybridGenerator,
        dictionary: Dictionary,
        options: RerankOptions,
    ) -> Reranker:
        """Read what `save` wrote.

        Raises:
            LinkerError: a file is missing, or was changed so that they no longer belong together.
        """
        weight = persistence.load_json(folder / "rerank.json")["weight"]
        if not (isinstance(weight, float) and np.isfinite(weight)):
            raise LinkerError(
                f"{folder / 'rerank.json'}: weight is {weight!r}; expected: a number; train again"
            )
        return cls(generator, CrossEncoder.load(folder), dictionary, options, weight)


def _about(dictionary: Dictionary, parents: int, concept: int) -> str:
    """The preferred names of a concept and of some direct parents."""
    above = [
        up
        for up in dictionary.hierarchy.parents([concept])[0].tolist()
        if up not in dictionary.hierarchy.top
    ][:parents]
    return " | ".join(
        filter(
            None,
            (dictionary.preferred_name(concept), " , ".join(map(dictionary.preferred_name, above))),
        )
    )


def _losing(concepts: Integers, lost: Mapping[int, float]) -> NDArray[np.float32]:
    """What concepts lose; those that were not read lose as much as the worst that was."""
    most = max(lost.values(), default=0.0)
    return np.array([lost.get(concept, most) for concept in concepts.tolist()], np.float32)


def _reordered(ranked: Ranked, losing: NDArray[np.float32], k: int) -> Ranked:
    scores = ranked.scores - losing
    order = np.argsort(-scores, kind="stable")[:k]
    sparse, dense = (
        None if part is None else part[order] for part in (ranked.sparse, ranked.dense)
    )
    return Ranked(ranked.concepts[order], ranked.entries[order], scores[order], sparse, dense)

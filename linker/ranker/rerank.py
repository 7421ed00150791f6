"""The second stage: a cross-encoder reads a mention, a candidate and the words around it together.

It reorders the first candidates. Its training lists are made once, of the concepts that the trained
first stage ranks highest, and its loss is the list-wise one (BCNH eq. 4-6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from linker import persistence
from linker.candidates.base import Generator, Ranked, Ranker, Unit
from linker.candidates.hybrid import ENCODING
from linker.dictionary import Dictionary
from linker.encoders.cross import CrossEncoder
from linker.errors import LinkerError
from linker.ranker.lists import Query
from linker.ranker.options import RerankOptions
from linker.types import Lookup

_FOLDER = "rerank"  # of a model's folder
_FETCH = 2  # names fetched for each name to rank
_NAMES = 10  # names fetched for each concept that is read (MEDIC has 7 a concept)

Contexts = Mapping[Query, Sequence[str]]
"""The texts around the mentions of a query, one for each mention; empty if there is no context."""

_Concepts = Sequence[tuple[int, int]]
"""Concept rows, each with the row of `Dictionary.names` that matched best."""


class Reranker(Ranker):
    """A ranker behind a ranker: it reads the first concepts again, and reorders the ranking.

    Each concept that the encoder reads loses the difference of its score to the best one; a concept
    that is not read loses as much as the worst of these.

    Args:
        generator: the first stage.
        encoder: gives a score to a text of mention, candidate and context.
        dictionary: of the generator.
        options: what is read.
        weight: of the encoder's score, in the units of the generator's scores: `options.weight`
            divided by the scale of training.
    """

    def __init__(
        self,
        generator: Generator,
        encoder: CrossEncoder,
        dictionary: Dictionary,
        options: RerankOptions,
        weight: float,
    ) -> None:
        self._generator, self.encoder, self.options = generator, encoder, options
        self.weight, self.words = weight, options.words
        self._dictionary = dictionary
        self._about = cache(partial(_about, dictionary, options.parents))

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        arguments = self._generator, self.encoder, self._dictionary, self.options, self.weight
        return Reranker, arguments

    @property
    def generator(self) -> Generator:
        return self._generator

    def behind(self, generator: Generator, dictionary: Dictionary) -> Reranker:
        return Reranker(generator, self.encoder, dictionary, self.options, self.weight)

    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        read = self.options.candidates
        depth = max(k, read) if unit == "concepts" else max(_FETCH * k, _NAMES * read)
        first = self.generator.rank(lookups, depth, unit)
        heads = [self._head(ranked, unit) for ranked in first]
        result = []
        for ranked, lost in zip(first, self._losses(lookups, heads), strict=True):
            worst = max(lost.values(), default=0.0)
            meanings = self.meanings(ranked, unit)
            losses = [min(lost.get(row, worst) for row in rows) for rows in meanings]
            scores = ranked.scores - np.array(losses, np.float32)
            order = np.argsort(-scores, kind="stable")[:k]  # equal ones as in the first stage
            result.append(ranked.reordered(order, scores[order]))
        return result

    def _head(self, ranked: Ranked, unit: Unit) -> _Concepts:
        """The first concepts of a ranking, each with the name that brought it."""
        pairs: Iterable[tuple[int, int]]
        pairs = zip(ranked.concepts.tolist(), ranked.entries.tolist(), strict=True)
        if unit == "names":
            table = self.table
            spans = (slice(*table.indptr[row : row + 2]) for row in ranked.names.tolist())
            pairs = chain.from_iterable(
                zip(table.concepts[span].tolist(), table.entries[span].tolist(), strict=True)
                for span in spans
            )
        best: dict[int, int] = {}
        for concept, entry in pairs:
            best.setdefault(concept, entry)
        return list(best.items())[: self.options.candidates]

    def read(self, query: str, context: str, concept: int, entry: int) -> str:
        """The text that the encoder reads to score a candidate."""
        about = f"{self._dictionary.names[entry]} | {self._about(concept)}"
        return self.encoder.join(query, about, context)

    def _losses(
        self, lookups: Sequence[Lookup], heads: Sequence[_Concepts]
    ) -> list[dict[int, float]]:
        """The score that each concept loses: its weighted distance to the best, 0 or more."""
        texts = [
            self.read(lookup.normalized, lookup.context, *pair)
            for lookup, head in zip(lookups, heads, strict=True)
            for pair in head
        ]
        with ENCODING:
            scores = self.weight * self.encoder.encode(texts)[:, 0]
        if not np.isfinite(scores).all():
            raise LinkerError(
                "the second stage gives scores that are not finite; "
                "its weights are damaged, train again"
            )
        lost, start = [], 0
        for head in heads:
            part = scores[start : start + len(head)]
            distances = (part.max(initial=-np.inf) - part).tolist()
            lost.append(dict(zip((concept for concept, _ in head), distances, strict=True)))
            start += len(head)
        return lost

    def save(self, folder: Path) -> None:
        """Write the first stage, and in a folder of its own the encoder and the weight."""
        self.generator.save(folder)
        self.encoder.save(folder / _FOLDER)
        persistence.save_json(folder / _FOLDER / "rerank.json", {"weight": self.weight})

    @classmethod
    def load(
        cls,
        folder: Path,
        generator: Generator,
        dictionary: Dictionary,
        options: RerankOptions,
    ) -> Reranker:
        """Read what `save` wrote, but for the first stage, which is given.

        Raises:
            LinkerError: a file is missing, or was changed so that they no longer belong together.
        """
        folder = folder / _FOLDER
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

"""What is asked of a linker, and how rankings become candidates, parts and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain

from linker.candidates.agreement import Group
from linker.candidates.base import Ranked
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.text.mentions import Item
from linker.types import Candidate, Document, Lookup, Part, Prediction

_REMEMBERED = 100_000  # concepts with a name, whose texts are kept


@dataclass(frozen=True, slots=True)
class Request:
    """Something to link, and what is wanted of it.

    Raises:
        LinkerError: k is below 1, or the threshold is no number.
    """

    item: Item
    k: int = 5  # concepts for each part of a mention
    threshold: float | None = None  # candidates with a lower score are left out

    def __post_init__(self) -> None:
        if self.k < 1:
            raise LinkerError(f"k is {self.k}; expected: 1 or more")
        if self.threshold != self.threshold:
            raise LinkerError("the threshold is not a number; give one, or leave it out")


@dataclass(frozen=True, slots=True)
class Asked:
    """An item as it is looked up, and what is wanted of it, as in `Request`."""

    document: Document | None  # None for a loose mention
    lookups: Sequence[Sequence[Lookup]]  # of each of its mentions
    k: int
    threshold: float | None

    @property
    def groups(self) -> list[Group]:
        """What is ranked together: the whole of a document, each part of a loose mention alone."""
        lookups = list(chain.from_iterable(self.lookups))
        if self.document:
            return [Group(lookups, self.k)]
        return [Group([lookup], self.k) for lookup in lookups]


def batches(items: Iterable[Asked], mentions: int) -> Iterator[list[Asked]]:
    """Items that hold at least so many mentions together."""
    batch, size = [], 0
    for asked in items:
        batch.append(asked)
        size += max(1, len(asked.lookups))  # documents without mentions take memory too
        if size >= mentions:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Answers:
    """Makes predictions of rankings.

    Args:
        dictionary: whose rows are ranked.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self._texts = lru_cache(_REMEMBERED)(partial(_texts, dictionary))

    def predictions(self, asked: Asked, rankings: Iterator[Ranked]) -> list[Prediction]:
        """The predictions of an item's mentions.

        Args:
            asked: the item.
            rankings: of its lookups, in order; as many are taken.
        """
        predictions = []
        for lookups in asked.lookups:
            spans = lookups[0].mention.spans if len(lookups) == 1 else ()
            parts = []
            for lookup in lookups:
                candidates = self._candidates(next(rankings), asked.threshold)
                part = Part(lookup.text, lookup.expanded, spans, candidates, nil=not candidates)
                parts.append(part)
            predictions.append(Prediction(lookups[0].mention, tuple(parts)))
        return predictions

    def _candidates(self, ranked: Ranked, threshold: float | None) -> tuple[Candidate, ...]:
        parts = (ranked.scores, ranked.sparse, ranked.dense)
        scores = [  # float32 holds no more than six digits
            [None] * len(ranked) if part is None else [round(v, 6) for v in part.tolist()]
            for part in parts
        ]
        rows = zip(ranked.concepts.tolist(), ranked.entries.tolist(), *scores, strict=True)
        return tuple(
            Candidate(*self._texts(concept, entry), score, *parts)
            for concept, entry, score, *parts in rows
            if threshold is None or score >= threshold
        )


def _texts(dictionary: Dictionary, concept: int, entry: int) -> tuple[str, str, str]:
    """The id of a concept, its preferred name, and a name as it is written."""
    return dictionary.ids[concept], dictionary.preferred_name(concept), dictionary.names[entry]

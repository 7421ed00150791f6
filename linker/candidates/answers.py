"""Requests to a linker, and the predictions that are made of their rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any, TypeVar

from linker.candidates.agreement import Group
from linker.candidates.base import Ranked
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.text.mentions import Item
from linker.types import Candidate, Document, Lookup, Part, Prediction, Selection

_Item = TypeVar("_Item", bound=Sized)

_REMEMBERED = 100_000  # pairs of a concept and a name, whose texts are cached


@dataclass(frozen=True, slots=True)
class Request:
    """An item to link, with its own number of candidates and threshold.

    Raises:
        LinkerError: k is below 1, or the threshold is no number.
    """

    item: Item
    k: int = 5  # concepts for each part of a mention
    threshold: float | None = None  # candidates with a lower score are left out
    within: Selection | None = None  # the part of the dictionary to answer with; None: the whole

    def __post_init__(self) -> None:
        if self.k < 1:
            raise LinkerError(f"k is {self.k}; expected: 1 or more")
        if self.threshold != self.threshold:
            raise LinkerError("the threshold is not a number; give one, or leave it out")


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request whose mentions have become lookups."""

    document: Document | None  # None for a loose mention
    lookups: Sequence[Sequence[Lookup]]  # of each of its mentions
    k: int
    threshold: float | None

    @property
    def groups(self) -> list[Group]:
        """The groups to rank: one for a whole document, one for each part of a loose mention."""
        lookups = list(chain.from_iterable(self.lookups))
        if self.document:
            return [Group(lookups, self.k)]
        return [Group([lookup], self.k) for lookup in lookups]


def batches(items: Iterable[_Item], mentions: int) -> Iterator[list[_Item]]:
    """Batches of items, each of at least so many mentions together; the last may be smaller.

    Args:
        items: their length is the number of their mentions.
        mentions: of a batch.
    """
    batch, size = [], 0
    for item in items:
        batch.append(item)
        size += max(1, len(item))  # documents without mentions take memory too
        if size >= mentions:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Answers:
    """Turns rankings into predictions.

    Args:
        dictionary: the dictionary whose rows are ranked.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._texts = lru_cache(_REMEMBERED)(partial(_texts, dictionary))

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return Answers, (self._dictionary,)

    def predictions(self, request: PreparedRequest, rankings: Iterator[Ranked]) -> list[Prediction]:
        """The predictions of an item's mentions.

        Args:
            request: the item and its lookups.
            rankings: of its lookups, in order; only these are consumed.
        """
        predictions = []
        for lookups in request.lookups:
            spans = lookups[0].mention.spans if len(lookups) == 1 else ()
            parts = []
            for lookup in lookups:
                candidates = self._candidates(next(rankings), request.threshold)
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
        candidates = []
        for concept, entry, score, sparse, dense in rows:
            if threshold is None or score >= threshold:
                identifier, name, matched, source = self._texts(concept, entry)
                candidates.append(
                    Candidate(identifier, name, matched, score, sparse, dense, source)
                )
        return tuple(candidates)


def _texts(dictionary: Dictionary, concept: int, entry: int) -> tuple[str, str, str, str]:
    """The id of a concept, its preferred name, a name as it is written, and the file that lent it.

    The file is empty for a name of the dictionary's own.
    """
    return (
        dictionary.ids[concept],
        dictionary.preferred_name(concept),
        dictionary.names[entry],
        dictionary.lender(entry),
    )

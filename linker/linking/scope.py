"""Restrictions: which part of the dictionary each mention of a batch may be answered with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from linker.linking.requests import Request
from linker.text.mentions import Definitions
from linker.types import Document, Mention, Prediction, Selection

Restrictions = tuple[Selection, ...]
"""Selections that must all hold; none is the whole dictionary."""


@dataclass(frozen=True, slots=True)
class RestrictedItem:
    """A document or a loose mention to link, with what was asked for with it."""

    request: Request
    document: Document | None
    mentions: Sequence[Mention]
    definitions: Definitions  # short forms of the document

    def __len__(self) -> int:
        return len(self.mentions)


def restrictions_of(
    document: Document | None, mentions: Sequence[Mention], within: Selection | None
) -> list[Restrictions]:
    """What holds for each mention: what was asked for, its document's and its own selection."""
    shared = tuple(filter(None, (within, document.within if document else None)))
    return [
        tuple(dict.fromkeys((*shared, mention.within))) if mention.within else shared
        for mention in mentions
    ]


RestrictedBatch = Sequence[tuple[RestrictedItem, Sequence[Mention]]]
"""Items, each with those of its mentions that have the same restrictions."""


def answered(
    items: Sequence[RestrictedItem],
    answer: Callable[[Restrictions, RestrictedBatch], Iterator[Prediction]],
) -> Iterator[tuple[Document | None, list[Prediction]]]:
    """Answer each item; mentions with the same restrictions are answered together.

    Args:
        items: the items of one batch.
        answer: gives the predictions of all mentions with the same restrictions, in order; it is
            called once for each combination of restrictions.
    """
    parts: dict[Restrictions, list[tuple[RestrictedItem, Sequence[Mention]]]] = defaultdict(list)
    restrictions = [restrictions_of(i.document, i.mentions, i.request.within) for i in items]
    for item, of_mentions in zip(items, restrictions, strict=True):
        for one in dict.fromkeys(of_mentions):
            mentions = [m for m, r in zip(item.mentions, of_mentions, strict=True) if r == one]
            parts[one].append((item, mentions))
    predictions = {one: answer(one, part) for one, part in parts.items()}
    for item, of_mentions in zip(items, restrictions, strict=True):
        yield item.document, [next(predictions[one]) for one in of_mentions]

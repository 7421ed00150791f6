"""Restrictions: which part of the dictionary each mention of a batch may be answered with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linker.types import Document, Mention, Prediction, Selection

Restrictions = tuple[Selection, ...]
"""Selections that must all hold; none is the whole dictionary."""


@dataclass(frozen=True, slots=True)
class RestrictedItem:
    """A document or a loose mention to link, with the selection that was asked for with it."""

    document: Document | None
    mentions: Sequence[Mention]
    definitions: Mapping[str, str]  # short forms of the document, each with its long form
    k: int  # concepts for each part of a mention
    threshold: float | None
    within: Selection | None

    def __len__(self) -> int:
        return len(self.mentions)

    @property
    def restrictions(self) -> list[Restrictions]:
        """What holds for each mention."""
        return restrictions_of(self.document, self.mentions, self.within)


def restrictions_of(
    document: Document | None, mentions: Sequence[Mention], within: Selection | None
) -> list[Restrictions]:
    """What holds for each mention: what was asked for, its document's and its own selection."""
    shared = within, document.within if document else None
    return [tuple(dict.fromkeys(filter(None, (*shared, m.within)))) for m in mentions]


Answer = Callable[[Restrictions, Sequence[RestrictedItem]], Iterator[Prediction]]
"""Gives the predictions of all mentions of several items, which have the same restrictions."""


def answered(
    items: Sequence[RestrictedItem], answer: Answer
) -> Iterator[tuple[Document | None, list[Prediction]]]:
    """Answer each item; mentions with the same restrictions are answered together.

    Args:
        items: the items of one batch.
        answer: is called once for each combination of restrictions that occurs.
    """
    parts: dict[Restrictions, list[RestrictedItem]] = defaultdict(list)
    for item in items:
        mentions: dict[Restrictions, list[Mention]] = defaultdict(list)
        for mention, restrictions in zip(item.mentions, item.restrictions, strict=True):
            mentions[restrictions].append(mention)
        for restrictions, together in mentions.items():
            parts[restrictions].append(replace(item, mentions=together))
    predictions = {restrictions: answer(restrictions, part) for restrictions, part in parts.items()}
    for item in items:
        yield item.document, [next(predictions[own]) for own in item.restrictions]

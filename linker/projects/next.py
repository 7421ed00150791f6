"""Which documents to review next: those whose decisions are expected to correct most."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

Undecided = tuple[str, float | None]
"""An undecided mention: its form, and the confidence of the model's answer; None: it has none."""


def order(documents: Sequence[Sequence[Undecided]]) -> list[int]:
    """The numbers of documents in the order in which to review them.

    A decision holds for all mentions of its form, so that a document is worth the mentions, in all
    documents, whose answers are expected to be wrong and have a form of this document, for each of
    the forms that it asks about. The one that is worth most comes first; what it decides is worth
    nothing in those after it.

    Args:
        documents: of each its undecided mentions.
    """
    times = Counter(form for document in documents for form, _ in document)
    worths = [
        {form: times[form] * (1 - (confidence or 0.0)) for form, confidence in document}
        for document in documents
    ]

    def worth(number: int) -> float:
        left = (of for form, of in worths[number].items() if form not in decided)
        return sum(left) / max(1, len(worths[number]))

    decided, ordered = set[str](), list[int]()
    # what a document is worth only falls, so that its old worth tells when to look at it again
    waiting = [(-worth(number), number) for number in range(len(documents))]
    heapq.heapify(waiting)
    while waiting:
        _, number = heapq.heappop(waiting)
        now = -worth(number)
        if waiting and (now, number) > waiting[0]:
            heapq.heappush(waiting, (now, number))
            continue
        ordered.append(number)
        decided.update(worths[number])
    return ordered

"""What a linker is asked: items with their limits, and batches of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import TypeVar

from linker.errors import LinkerError
from linker.text.mentions import Item
from linker.types import Selection

_Item = TypeVar("_Item", bound=Sized)


@dataclass(frozen=True, slots=True)
class Request:
    """An item to link, with its own number of candidates and its own limits.

    Raises:
        LinkerError: k is below 1, or a limit is no number, or out of its range.
    """

    item: Item
    k: int = 5  # concepts for each part of a mention
    # the confidence that a part needs to be answered; 0: none; None: a mention has no answer
    # where that it has no concept is more probable than any concept
    threshold: float | None = None
    min_score: float | None = None  # candidates with a lower score are left out
    within: Selection | None = None  # the part of the dictionary to answer with; None: the whole

    def __post_init__(self) -> None:
        if self.k < 1:
            raise LinkerError(f"k is {self.k}; expected: 1 or more")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise LinkerError(
                f"the threshold is {self.threshold}; expected: a confidence from 0 to 1 "
                "(a raw score is given by min_score)"
            )
        if self.min_score != self.min_score:
            raise LinkerError("min_score is not a number; give one, or leave it out")


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

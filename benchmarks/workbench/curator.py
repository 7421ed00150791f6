"""A curator whose answers are those of annotators: what is decided, and the keys that it takes.

A decision holds for all mentions of a form, which is the mention with the short forms of its
document written out, in normal form. Five candidates are shown. It takes

* one key to accept the answer, to choose another of the candidates by its number, or to say that
  the mention has no concept;
* of a composite mention one key for each part that a number chooses, and one to go to the next;
* else a search for each part: `/`, the first letters of the preferred name until the dictionary
  has at most eight concepts with a name that begins with them, an arrow for each of these that
  comes before in the alphabet, and Enter.

Nothing is pressed to go to the next mention.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from linker import Linker, matching
from linker.records import Document, Gold, Mention, Prediction
from linker.text.mentions import definitions_of, expanded

SHOWN, LISTED = 5, 8  # candidates of an answer, concepts of a search
Kind = Literal["accepted", "chosen", "no concept", "searched"]


@dataclass(frozen=True, slots=True)
class Place:
    """A mention, and what the annotators said of it."""

    document: int  # its number
    mention: Mention  # without gold
    text: str  # with the short forms of its document written out
    form: str
    gold: Gold

    @property
    def taught(self) -> Mention:
        """The decision on its form, as a mention to learn from."""
        return Mention(self.text, gold=self.gold)


def places(documents: Sequence[Document], linker: Linker) -> list[Place]:
    """The annotated mentions of documents, in order."""
    found = []
    for number, document in enumerate(documents):
        definitions = definitions_of(document, linker.options.text)
        for mention in document.mentions:
            if mention.gold is not None:
                text = expanded(mention, definitions, linker.options.text)
                form = linker.normalize(text) or text
                found.append(Place(number, mention, text, form, mention.gold))
    return found


def first_of_forms(found: Sequence[Place]) -> list[Place]:
    """The first mention of each form, in order."""
    first: dict[str, Place] = {}
    for place in found:
        first.setdefault(place.form, place)
    return list(first.values())


class Curator:
    """Decides on answers as annotators did.

    Args:
        linker: its dictionary is searched, and resolves annotated ids.
    """

    def __init__(self, linker: Linker) -> None:
        self._dictionary = linker.dictionary

    def is_right(self, prediction: Prediction, gold: Gold) -> bool:
        """Whether an answer is what the annotators said, by the protocol strict."""
        parts = [[c.concept_id for c in part.returned[:1]] for part in prediction.parts]
        return matching.strict_rank(parts, gold, self._dictionary.resolve) == 1

    def decides(self, prediction: Prediction, gold: Gold) -> tuple[Kind, int]:
        """What is done about an answer, and the keys that it takes."""
        if self.is_right(prediction, gold):
            return "accepted", 1
        if not gold:
            return "no concept", 1
        parts = [[c.concept_id for c in part.candidates[:SHOWN]] for part in prediction.parts]
        if matching.strict_rank(parts, gold, self._dictionary.resolve):
            return "chosen", 2 * len(parts) - 1
        ids = [group.ids[0] for group in gold]
        return "searched", sum(map(self._searched, ids)) + len(ids) - 1

    def _searched(self, identifier: str) -> int:
        """The keys of a search for a concept; one that is not there has to be spelt to be sure."""
        rows = self._dictionary.rows(identifier)
        if not rows:
            return 1 + LISTED + 1
        name = self._dictionary.preferred_name(rows[0]).lower()
        for letters in range(1, len(name) + 1):
            listed = self._beginning(name[:letters])
            if len(listed) <= LISTED:
                break
        return 1 + letters + [row for _, row in listed].index(rows[0]) + 1

    def _beginning(self, start: str) -> list[tuple[str, int]]:
        """The concepts with a name that begins with some letters, each once, in the alphabet."""
        low, high = (
            bisect.bisect_left(self._names, (text,)) for text in (start, start + "\U0010ffff")
        )
        first: dict[int, str] = {}
        for text, row in self._names[low:high]:
            first.setdefault(row, text)
        return sorted((text, row) for row, text in first.items())

    @cached_property
    def _names(self) -> list[tuple[str, int]]:
        """The names of all concepts in the order of the alphabet."""
        names, concepts = self._dictionary.names, self._dictionary.name_concept.tolist()
        return sorted((name.lower(), row) for name, row in zip(names, concepts, strict=True))

"""Seen: the mentions and concepts that a model was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Seen:
    """The normalised mentions and the concept ids that a model was trained on.

    Evaluation reports those that were not seen in training by themselves.
    """

    mentions: frozenset[str] = frozenset()
    concepts: frozenset[str] = frozenset()
    # how often a normalised mention was annotated as having no concept
    without_concept: Mapping[str, int] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        """What `json` can write."""
        return {
            "mentions": sorted(self.mentions),
            "concepts": sorted(self.concepts),
            "without_concept": dict(sorted(self.without_concept.items())),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Seen:
        """Read what `to_json` made; older models have no `without_concept`."""
        without = record.get("without_concept", {})
        return cls(
            frozenset(record["mentions"]),
            frozenset(record["concepts"]),
            {form: int(times) for form, times in without.items()},
        )

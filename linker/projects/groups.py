"""Groups of equal mentions, and the rows of a queue that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from linker.types import Predicate, State

STATES = (*get_args(State), "not linked")
"""Those of `linker.types.State`, and that of mentions of a type that is not linked."""
DECIDED = ("accepted", "no concept")
UNDECIDED = ("model", "rejected", "open", "disputed")
ACCEPTABLE = ("model", "rejected")  # a bulk settles no dispute

Key = tuple[str, str, str, str]
"""What equal mentions share: the form of the mention as it is written, that of its long form, its
type, and the ids of its answer."""
Member = tuple[int, int, int]
"""A mention: its number, the number of its document (0: it is of a table or list), its place."""


@dataclass(slots=True, eq=False)
class Group:
    """Mentions that share a key, wherever they stand."""

    key: Key
    mention: str  # as the first one is written
    expanded: str  # its long form; empty where it has none
    answer: int  # the number of that of the first one; 0: it is not linked
    shown: str  # the concepts of that, as JSON
    members: list[Member]
    known: int = 0  # answers that have a confidence
    total: float = 0.0  # of their confidences
    # what texts say of some of the mentions that are not present: what they deny, doubt, …
    assertions: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """What a decision on it is on: its long form where it has one."""
        return self.expanded or self.mention

    @property
    def form(self) -> str:
        """The form of that."""
        return self.key[1]

    @property
    def type(self) -> str:
        """What the file says is named."""
        return self.key[2]

    @property
    def confidence(self) -> float | None:
        """The confidence of the model's answer, on average; None where there is no answer."""
        return self.total / self.known if self.known else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What decisions make of a row."""

    state: str
    ids: str
    answers: Sequence[dict[str, Any] | None]
    confidence: float | None  # of the model's answer that is left; None: people gave it, or none
    reviewers: Sequence[str]
    predicate: Predicate = ""  # what the concept is to the mention
    is_in_bulk: bool = False  # whether nobody looked at the answer that was accepted
    is_elsewhere: bool = False  # whether all that accept it were made outside the project


@dataclass(slots=True, eq=False)
class Row:
    """A row of the queue: a group, or those of its mentions that are in one document."""

    key: str
    group: Group
    members: list[Member]
    scope: str  # the document whose own decisions count; empty: those that hold everywhere
    verdict: Verdict | None = None  # None: the model answers
    is_other: bool = False  # whether the file gives one of its mentions another id than its answer

    @property
    def state(self) -> str:
        """What people said of it."""
        if self.verdict:
            return self.verdict.state
        return "model" if self.group.answer else "not linked"

    @property
    def ids(self) -> str:
        """The ids of the present answer."""
        return self.verdict.ids if self.verdict else self.group.key[3]

    @property
    def confidence(self) -> float | None:
        """The confidence of the present answer; None where there is none, or people gave it."""
        return self.verdict.confidence if self.verdict else self.group.confidence

    @property
    def assertion(self) -> str:
        """What the texts say of the mentions; mixed where they do not say the same of all."""
        said = self.group.assertions
        return "present" if not said else "mixed" if len(said) > 1 else min(said)

    @property
    def certainty(self) -> float | None:
        """The confidence as far as it counts without a look: None where a text denies or doubts a
        mention, of which the concept may be right, but is not what the person has."""
        return self.confidence if self.assertion == "present" else None

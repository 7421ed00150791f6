"""Groups of equal mentions, the rows of a queue that they make, and which of these are wanted."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from linker.dictionary import Dictionary, hierarchy
from linker.ids import part_ids
from linker.types import Predicate, Selection

DECIDED = ("accepted", "no concept")
UNDECIDED = ("model", "rejected", "open", "disputed")
ACCEPTABLE = ("model", "rejected")  # a bulk settles no dispute

Sort = Literal["doubt", "document", "alphabet", "frequency"]
Show = Literal[
    "all",
    "undecided",
    "decided",
    "in-bulk",
    "no-concept",
    "flagged",
    "disputed",
    "differs",
    "not-linked",
]

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
    is_linked: bool  # whether it has an answer of the model
    shown: str  # the concepts of that, as JSON
    members: list[Member] = field(default_factory=list)
    known: int = 0  # answers that have a confidence
    total: float = 0.0  # of their confidences
    # what texts say of some of the mentions that are not present: what they deny, doubt, …
    assertions: set[str] = field(default_factory=set)
    rows: list[Row] = field(default_factory=list)

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

    @property
    def assertion(self) -> str:
        """What the texts say of the mentions; mixed where they do not say the same of all."""
        said = self.assertions
        return "present" if not said else "mixed" if len(said) > 1 else min(said)


@dataclass(slots=True, eq=False)
class Row:
    """A row of the queue: a group, or those of its mentions that are in one document."""

    key: str
    group: Group
    members: list[Member]
    scope: str  # the document whose own decisions count; empty: those that hold everywhere
    state: str = "not linked"  # else one of `linker.types.State`
    ids: str = ""  # of the present answer
    answers: Sequence[dict[str, Any] | None] | None = None  # None: those of the group
    confidence: float | None = None  # of the model's answer that is left; None: people gave it
    reviewers: Sequence[str] = ()  # whose decisions count
    predicate: Predicate = ""  # what the concept is to the mention
    is_in_bulk: bool = False  # whether nobody looked at the answer that was accepted
    is_elsewhere: bool = False  # whether all that accept it were made outside the project
    is_other: bool = False  # whether the file gives one of its mentions another id than its answer

    @property
    def doubt(self) -> float:
        """How many of its mentions are expected to be wrong; as the model has it, so that a row
        stays where it is when it is decided. Where a text denies or doubts one, all are."""
        known = None if self.group.assertions else self.group.confidence
        return (1 - (known or 0.0)) * len(self.members)

    @property
    def place(self) -> Sequence[int]:
        """Where its first mention stands; rows of tables stand in the order in which they came."""
        number, document, place = self.members[0]
        return document, place if document else 0, number


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows of a queue are wanted."""

    show: Show = "all"
    # confidence that their answers have less of, or none; or a text denies or doubts a mention
    below: float | None = None
    above: float | None = None  # confidence that they have at least, and no text does so
    under: str = ""  # the id of a concept that is above their answers, or one of these
    type: str = ""
    q: str = ""  # a text in the mention, its long form, or the ids and names of its answer
    document: int = 0  # its number; 0: all


ORDERS: dict[Sort, Callable[[Row], Any]] = {
    "doubt": lambda row: (-row.doubt, row.place),
    "document": lambda row: row.place,
    "alphabet": lambda row: (row.group.mention.casefold(), row.place),
    "frequency": lambda row: (-len(row.members), row.place),
}
_SHOWN: dict[Show, Callable[[Row], bool]] = {
    "undecided": lambda row: row.state in UNDECIDED,
    "decided": lambda row: row.state in DECIDED,
    "in-bulk": lambda row: row.is_in_bulk,
    "no-concept": lambda row: row.confidence is None and row.state != "accepted",
    "disputed": lambda row: row.state == "disputed",
    "differs": lambda row: row.is_other,
}


def chosen(
    rows: Sequence[Row], wanted: Filter, flags: Collection[str], dictionary: Dictionary
) -> list[Row]:
    """The rows that are wanted, in their order.

    Those that are not linked are wanted where they alone are asked for, or are all of a type.

    Args:
        rows: to choose from.
        wanted: which.
        flags: forms that somebody flagged.
        dictionary: of the answers.

    Raises:
        LinkerError: the dictionary has no concept that the filter names.
    """
    if wanted.type:
        rows = [row for row in rows if row.group.type == wanted.type]
    linked = [row for row in rows if row.state != "not linked"]
    if wanted.show == "not-linked" or (wanted.type and not linked):
        linked = [row for row in rows if row.state == "not linked"]
    conditions: list[Callable[[Row], bool]] = []
    if wanted.show in _SHOWN:
        conditions.append(_SHOWN[wanted.show])
    elif wanted.show == "flagged":
        conditions.append(lambda row: row.group.form in flags)
    if (below := wanted.below) is not None:
        conditions.append(lambda row: not _is_sure(row, below))
    if (above := wanted.above) is not None:
        conditions.append(lambda row: _is_sure(row, above))
    if wanted.under:
        conditions.append(_is_under(dictionary, wanted.under))
    if of := wanted.document:
        conditions.append(lambda row: any(member[1] == of for member in row.members))
    if query := _plain(wanted.q).strip():
        conditions.append(lambda row: query in _searched(row))
    for condition in conditions:
        linked = list(filter(condition, linked))
    return linked


def _is_sure(row: Row, least: float) -> bool:
    """Whether an answer has this confidence at least, and no text denies or doubts a mention."""
    return row.confidence is not None and row.confidence >= least and not row.group.assertions


def _is_under(dictionary: Dictionary, identifier: str) -> Callable[[Row], bool]:
    """Whether an answer of a row is a concept or below it."""
    linkable = np.ones(len(dictionary), bool)
    under = hierarchy.selected(dictionary, [Selection(under=(identifier,))], linkable)
    known: dict[str, bool] = {}

    def is_under(row: Row) -> bool:
        if (ids := row.ids) not in known:
            concepts = (c for i in part_ids(ids) if i for c in dictionary.rows(i))
            known[ids] = any(under[concept] for concept in concepts)
        return known[ids]

    return is_under


def _searched(row: Row) -> str:
    """What a search looks into, in lower case and without accents."""
    group = row.group
    answers = json.loads(group.shown) if row.answers is None else row.answers
    names = (f"{a['concept_id']}\n{a['name']}" for a in answers if a)
    return _plain("\n".join((group.mention, group.expanded, *names)))


def _plain(text: str) -> str:
    """A text in lower case, without accents."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text)
    return "".join(c for c in letters if not unicodedata.combining(c)).casefold()

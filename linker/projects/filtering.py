"""The rows of a queue in columns, by which they are filtered, sorted and counted."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary, selection
from linker.ids import part_ids
from linker.projects.groups import DECIDED, STATES, UNDECIDED, Row
from linker.types import Selection

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

Numbers = NDArray[Any]
Remarks = Mapping[tuple[str, str], str]
"""By the form of a mention and the kind of the remark."""


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


class Columns:
    """Rows in columns.

    Args:
        rows: the rows.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        count = len(rows)
        self._places = {row.key: place for place, row in enumerate(rows)}
        self.counts = np.fromiter((len(row.members) for row in rows), np.int64, count)
        self.states = np.zeros(count, np.int8)
        self.confidences = np.zeros(count)
        self.plain = np.zeros(count, bool)  # whether no text denies or doubts a mention
        self.answered = np.zeros(count, np.int64)  # mentions with an answer that is the model's
        self.wrong = np.zeros(count)  # how many of these are expected to be wrong
        self.mentions_in, self.rows_in = Counter[str](), Counter[str]()  # by states
        self.elsewhere = np.zeros(count, bool)  # whether it was decided outside the project alone
        self.reviewers = Counter[str]()  # on how many rows each decided
        for place, row in enumerate(rows):
            self._set(place, row)
        self._orders: dict[str, Numbers] = {}
        self._texts: list[str] = []  # that are searched; made when they are

    def _set(self, place: int, row: Row) -> None:
        confidence, verdict, count, state = row.confidence, row.verdict, len(row.members), row.state
        is_known = confidence is not None and state != "disputed"  # one of the answers is wrong
        is_answered = state in UNDECIDED and is_known
        self.states[place] = STATES.index(state)
        self.confidences[place] = np.nan if confidence is None else confidence
        self.plain[place] = row.assertion == "present"
        self.answered[place] = count if is_answered else 0
        self.wrong[place] = count * (1 - (confidence or 0.0)) if is_answered else 0.0
        self.mentions_in[state] += count
        self.rows_in[state] += 1
        self.reviewers.update(verdict.reviewers if verdict else ())
        self.elsewhere[place] = state in DECIDED and verdict and verdict.is_elsewhere

    def replace(self, row: Row) -> bool:
        """Put a row in the place of that with its key; False: that has other mentions."""
        place = self._places.get(row.key)
        if place is None or self.counts[place] != len(row.members):
            return False
        before = self.rows[place]
        self.reviewers.subtract(before.verdict.reviewers if before.verdict else ())
        state = STATES[self.states[place]]
        self.mentions_in[state] -= len(before.members)
        self.rows_in[state] -= 1
        self.rows[place] = row
        self._set(place, row)
        if self._texts:
            self._texts[place] = _searched(row)
        return True

    def place_of(self, key: str) -> int:
        """The place of the row of a key; -1: there is none."""
        return self._places.get(key, -1)

    def has_state(self, *states: str) -> Numbers:
        """Whether each row has one of these states."""
        return np.isin(self.states, [STATES.index(state) for state in states])

    def mask(self, wanted: Filter, remarks: Remarks, dictionary: Dictionary) -> Numbers:
        """Whether each row is wanted.

        Args:
            wanted: which rows.
            remarks: those that count.
            dictionary: of the answers.

        Raises:
            LinkerError: the dictionary has no concept that the filter names.
        """
        mask = self._shown(wanted)
        if wanted.show == "flagged":
            mask &= self.flagged(remarks)
        if wanted.below is not None:
            mask &= ~((self.confidences >= wanted.below) & self.plain)
        if wanted.above is not None:
            mask &= (self.confidences >= wanted.above) & self.plain
        if wanted.under:
            mask &= self._where(_is_under(dictionary, wanted.under))
        if of := wanted.document:
            mask &= self._where(lambda row: any(member[1] == of for member in row.members))
        if query := _plain(wanted.q).strip():
            self._texts = self._texts or list(map(_searched, self.rows))
            found = (query in text for text in self._texts)
            mask &= np.fromiter(found, bool, len(self.rows))
        return mask

    def flagged(self, remarks: Remarks) -> Numbers:
        """Whether somebody flagged each row."""
        flags = {form for (form, kind), value in remarks.items() if kind == "flag" and value}
        return self._where(lambda row: row.group.form in flags)

    def _shown(self, wanted: Filter) -> Numbers:
        """Whether each row has the type that is wanted, and one of the states.

        Rows that are not linked are wanted where they alone are asked for, or are all of a type.
        """
        every = np.ones(len(self.rows), bool)
        of_type = self._where(lambda row: row.group.type == wanted.type) if wanted.type else every
        unlinked = self.has_state("not linked")
        is_asked_for = wanted.show == "not-linked" or bool(wanted.type and unlinked[of_type].all())
        mask = of_type & (unlinked if is_asked_for else ~unlinked)
        if wanted.show == "undecided":
            mask &= self.has_state(*UNDECIDED)
        elif wanted.show == "decided":
            mask &= self.has_state(*DECIDED)
        elif wanted.show == "in-bulk":
            mask &= self._where(lambda row: bool(row.verdict and row.verdict.is_in_bulk))
        elif wanted.show == "differs":
            mask &= self._where(lambda row: row.is_other)
        elif wanted.show == "disputed":
            mask &= self.has_state("disputed")
        elif wanted.show == "no-concept":
            mask &= np.isnan(self.confidences) & ~self.has_state("accepted")
        return mask

    def _where(self, is_wanted: Callable[[Row], bool]) -> Numbers:
        """Whether something holds for each row."""
        return np.fromiter(map(is_wanted, self.rows), bool, len(self.rows))

    def order(self, sort: Sort) -> Numbers:
        """The places of the rows in an order; equal ones as they stand in the documents."""
        if sort not in self._orders:
            self._orders[sort] = self._sorted(sort)
        return self._orders[sort]

    def _sorted(self, sort: Sort) -> Numbers:
        if sort == "alphabet":
            texts = [row.group.mention.casefold() for row in self.rows]
            places = self.order("document").tolist()  # and equal ones stay so
            return np.array(sorted(places, key=texts.__getitem__), np.int64)

        def column(values: Iterable[Any], kind: Any = np.int64) -> Numbers:
            return np.fromiter(values, kind, len(self.rows))

        firsts = [row.members[0] for row in self.rows]
        # rows of tables stand in the order in which they came
        places = column(place if document else 0 for _, document, place in firsts)
        columns = [column(m[0] for m in firsts), places, column(m[1] for m in firsts)]
        if sort == "doubt":
            # what is expected to be wrong of the mentions, all where a text denies or doubts one;
            # as the model has it, so that a row stays where it is when it is decided
            known = (None if row.group.assertions else row.group.confidence for row in self.rows)
            columns.append(-column((1 - (c or 0.0) for c in known), float) * self.counts)
        if sort == "frequency":
            columns.append(-self.counts)
        return np.lexsort(columns)


def _is_under(dictionary: Dictionary, identifier: str) -> Callable[[Row], bool]:
    """Whether an answer of a row is a concept or below it."""
    linkable = np.ones(len(dictionary), bool)
    under = selection.selected(dictionary, [Selection(under=(identifier,))], linkable)
    known: dict[str, bool] = {}

    def is_under(row: Row) -> bool:
        if (ids := row.ids) not in known:
            concepts = (c for i in part_ids(ids) if i for c in dictionary.rows(i))
            known[ids] = any(under[concept] for concept in concepts)
        return known[ids]

    return is_under


def _searched(row: Row) -> str:
    """What a search looks into, in lower case and without accents."""
    group, verdict = row.group, row.verdict
    answers = verdict.answers if verdict else json.loads(group.shown)
    names = (f"{a['concept_id']}\n{a['name']}" for a in answers if a)
    return _plain("\n".join((group.mention, group.expanded, *names)))


def _plain(text: str) -> str:
    """A text in lower case, without accents."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text)
    return "".join(c for c in letters if not unicodedata.combining(c)).casefold()

"""Proposals: new terms for the dictionary, from mentions for which it has no right concept.

Each is a step of its own in the file of decisions, and counts until that step is undone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

from linker.decisions.database import now
from linker.decisions.steps import Step, add_step
from linker.decisions.store import DecisionStore
from linker.errors import LinkerError, shorten, shown
from linker.outputs.tsv import row_writer

if TYPE_CHECKING:
    from linker.dictionary import Dictionary

TEMPLATE: Mapping[str, str] = {
    "ID": "ID",
    "LABEL": "LABEL",
    "DEFINITION": "A IAO:0000115",
    "PARENT": "SC %",
    "SYNONYMS": "A oboInOwl:hasExactSynonym SPLIT=|",
    "NOTE": "A rdfs:comment",
    **dict.fromkeys(("PARENT_LABEL", "MENTION", "REVIEWER", "TIME"), ""),
}
"""The columns, and what ROBOT's command `template` makes of each; nothing where that is empty."""
_PREFIX = "PROPOSED"  # of ids that hold until an ontology gives others

_ADD = (
    "INSERT INTO proposals (step, mention, label, definition, parent, synonyms, note) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_LIST = (
    "SELECT label, mention, definition, parent, note, reviewer, time, synonyms, proposals.id "
    "FROM proposals JOIN steps ON steps.id = step WHERE undone = '' ORDER BY proposals.id"
)
_WITHDRAW = (
    "UPDATE steps SET undone = ?, undone_by = ? "
    "WHERE undone = '' AND id = (SELECT step FROM proposals WHERE id = ?)"
)
_SINCE = 2  # the schema that has the table


@dataclass(frozen=True, slots=True)
class Proposal:
    """A term that somebody misses."""

    label: str
    mention: str = ""  # for which it is missed
    definition: str = ""
    parent: str = ""  # the id of the concept below which it belongs; empty: open
    note: str = ""
    reviewer: str = ""
    time: str = ""  # when, ISO 8601 in UTC; the file gives it
    synonyms: tuple[str, ...] = ()
    id: int | None = None  # given by the file


def identified(proposal: Proposal, dictionary: Dictionary) -> Proposal:
    """The proposal as it is kept: its texts stripped, its parent as the dictionary has it.

    Raises:
        LinkerError: it has no label, a synonym holds the sign that stands between synonyms, or the
            dictionary does not have the parent, or several concepts of its id.
    """
    label, parent = proposal.label.strip(), proposal.parent.strip()
    synonyms = tuple(filter(None, map(str.strip, proposal.synonyms)))
    if not label:
        raise LinkerError("the label of a proposal is blank; expected the name of the term")
    if wrong := [text for text in synonyms if "|" in text]:
        raise LinkerError(f"the synonym {shorten(repr(wrong[0]))} holds '|'; give it without")
    if parent:
        if len(rows := dictionary.rows(parent)) != 1:
            how_many = "several concepts" if rows else "no concept"
            raise LinkerError(f"the dictionary has {how_many} {parent}; name a parent, or none")
        parent = dictionary.ids[rows[0]]
    return replace(proposal, label=label, parent=parent, synonyms=synonyms)


def add(store: DecisionStore, proposal: Proposal) -> Proposal:
    """Keep a proposal; it is on the disk when this returns it, with its number and time.

    Raises:
        LinkerError: the file cannot be written.
    """
    p = proposal
    step = Step(f"proposed {shorten(p.label)}", p.reviewer, time=now())
    values = p.mention, p.label, p.definition, p.parent, json.dumps(p.synonyms), p.note
    with store.transaction() as connection:
        row = connection.execute(_ADD, (add_step(connection, step), *values))
    return replace(proposal, time=step.time, id=row.lastrowid)


def listed(store: DecisionStore) -> list[Proposal]:
    """The proposals that were not withdrawn, in order of entry.

    Raises:
        LinkerError: the file cannot be read, or is damaged.
    """
    with store.reading() as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] < _SINCE:
            return []
        cursor = connection.execute(_LIST)
        names = [column[0] for column in cursor.description]
        return [_of_row(store, dict(zip(names, row, strict=True))) for row in cursor]


def _of_row(store: DecisionStore, row: dict[str, Any]) -> Proposal:
    """A row of the file as a proposal."""
    number, synonyms = row.pop("id"), row.pop("synonyms")
    try:
        names = json.loads(synonyms)
        if not all(isinstance(text, str) for text in (*row.values(), *names)):
            raise TypeError
    except (TypeError, ValueError):
        damaged = f"{shown(store.path)}: proposal {number} is damaged; take the file from a backup"
        raise LinkerError(damaged) from None
    return Proposal(**row, synonyms=tuple(names), id=number)


def withdraw(store: DecisionStore, number: int, reviewer: str = "") -> bool:
    """Withdraw a proposal, which stays in the file; whether there was one to withdraw."""
    with store.transaction() as connection:
        return connection.execute(_WITHDRAW, (now(), reviewer, number)).rowcount > 0


def write(
    proposals: Iterable[Proposal], file: TextIO, name: Callable[[str], str] = lambda _: ""
) -> None:
    """Write proposals as a table, whose second row makes it a template of ROBOT.

    Args:
        proposals: those to write.
        file: where to write.
        name: gives the name of a concept id; empty for an unknown one.
    """
    write_row = row_writer(file)
    write_row(TEMPLATE)
    write_row(TEMPLATE.values())
    for p in proposals:
        term = f"{_PREFIX}:{p.id}", p.label, p.definition, p.parent, "|".join(p.synonyms), p.note
        write_row((*term, name(p.parent) if p.parent else "", p.mention, p.reviewer, p.time))

"""The queue of a project: its mentions in groups, kept in memory, filtered, sorted and in pages.

Equal mentions are one row: those of the same form, type and answer. The model's answers are read
once, without their candidates; what decisions make of them is computed anew only for the forms on
which decisions changed. A decision that holds in one document splits a group: the mentions of that
document are a row of their own.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from linker.decisions.agreement import Agreement, agreement
from linker.decisions.applying import Decided, Ruling, ruled
from linker.decisions.records import Place, predicate_in
from linker.ids import join_ids, part_ids
from linker.linking.linker import Linker
from linker.outputs import joined_ids
from linker.projects import linking
from linker.projects.filtering import Columns, Filter, Numbers, Sort
from linker.projects.groups import (
    ACCEPTABLE,
    DECIDED,
    UNDECIDED,
    Key,
    Member,
    Row,
    Verdict,
)
from linker.projects.reading import Mentions, rows_at_once
from linker.projects.store import Missing, Project
from linker.types import Decision, Mention, Prediction, parse_spans

_SOME = 200  # groups whose rows are made before others have a turn
_REMARKS = (
    "SELECT json_group_array(json_array(form, kind, value)) FROM (SELECT form, kind, value "
    "FROM remarks JOIN steps ON steps.id = remarks.step "
    "WHERE steps.project = ? AND undone = '' ORDER BY remarks.id)"
)
_STEPS = "SELECT json_group_array(id) FROM steps WHERE project = ?"
_VERSION = (
    "SELECT (SELECT coalesce(max(id), 0) FROM decisions), "
    "(SELECT coalesce(max(id), 0) FROM withdrawals), "
    "(SELECT coalesce(max(id), 0) FROM steps), "
    "(SELECT count(*) FROM steps WHERE undone <> ''), "
    "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'answers'), "
    "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'mentions'), "
    "(SELECT count(*) FROM sources)"
)
"""What changes with whatever is written; mentions are deleted in steps, and by these undone, and
with the file that they came in."""
_OF_MENTIONS = slice(3, 7)  # what of it changes with mentions of tables and lists


class Queue:
    """The rows of a project as they are now; many threads may use it, one at a time.

    Args:
        project: the project.
        linker: of the model by which it is linked, and whose dictionary decisions are of.
    """

    def __init__(self, project: Project, linker: Linker) -> None:
        self.project, self._linker = project, linker
        self._linkable = frozenset(linker.linkable.tolist())
        self._version: tuple[int, ...] = ()
        self.number = time.time_ns() // 1_000_000
        """Another one whenever something in the project changed."""
        self._forget()

    def _forget(self) -> None:
        self.is_made = False
        """Whether all of its rows were made once; later ones may wait."""
        self._there = Mentions(self.project, self._linker)
        self._rows: dict[str, Row] = {}
        self._keys: dict[Key, list[str]] = {}  # of the rows of each group
        self._decided = Decided([], self._linker)  # that it was last told
        self._pending: dict[Key, None] = {}  # groups whose rows are to be made anew
        self._shared: dict[Place, Sequence[Decision]] = {}  # where there are several
        self._agreement: Agreement | None = None  # of reviewers; None: it is not counted
        self._scopes: dict[str, set[str]] = {}  # by form: where decisions on it hold
        self._steps: set[int | None] = set()  # of the project
        self.remarks: dict[tuple[str, str], str] = {}
        self._columns: Columns | None = None

    @property
    def documents(self) -> Mapping[int, str]:
        """The ids of the documents by their numbers."""
        return self._there.documents

    # reading

    def refresh(
        self, connection: sqlite3.Connection, decided: Decided, first: Iterable[str] = ()
    ) -> bool:
        """Take up what changed in the file, some of it at a time.

        Args:
            connection: to the file.
            decided: the decisions in force; where later ones were told before, these count.
            first: forms whose rows are made first.

        Returns:
            Whether all is taken up; else more is by the next call.
        """
        if sum(decided.seen) >= sum(self._decided.seen):
            version = (*connection.execute(_VERSION).fetchone(), sum(decided.seen))
            if version != self._version:
                of_mentions = self._there.is_of_documents or (
                    version[_OF_MENTIONS] != self._version[_OF_MENTIONS]
                )
                self._version = version
                self._look(connection, decided, of_mentions)
        if self._pending:
            self._judge(connection, self._there.on(first) & self._pending.keys())
            self._judge(connection, list(itertools.islice(self._pending, _SOME)))
            self.number += 1
        self.is_made = self.is_made or not self._pending
        return not self._pending

    def _look(self, connection: sqlite3.Connection, decided: Decided, of_mentions: bool) -> None:
        """Read what changed in the file, and note which groups need new rows.

        Args:
            connection: to the file.
            decided: the decisions in force.
            of_mentions: whether mentions, answers or documents may have come.
        """
        changed = self._there.read(connection) if of_mentions else set[Key]()
        if of_mentions and self._there.are_gone(connection):
            self._forget()
            changed = self._there.read(connection)
        self._steps = set(rows_at_once(connection, _STEPS, self.project.id))
        remarks = rows_at_once(connection, _REMARKS, self.project.id)
        before, self.remarks = self.remarks, {(form, kind): value for form, kind, value in remarks}
        self.number += before != self.remarks
        touched = decided.touched(self._decided)
        self._decided = decided
        is_agreed_otherwise = bool(changed)  # decisions may be on mentions that are new
        for place in touched:
            form, scope = place
            said = decided.places.get(place, [])
            scopes = self._scopes.setdefault(form, set())
            (scopes.add if said else scopes.discard)(scope)
            was_shared = self._shared.pop(place, None)
            if len(said) > 1:
                self._shared[place] = said
            is_agreed_otherwise |= was_shared is not None or len(said) > 1
        if is_agreed_otherwise:
            self._agreement = None
        changed |= self._there.on({form for form, _ in touched})
        self._pending |= dict.fromkeys(sorted(changed))

    # what decisions say

    def _judge(self, connection: sqlite3.Connection, keys: Iterable[Key]) -> None:
        """Make the rows of groups anew."""
        for key in keys:
            self._pending.pop(key, None)
            names = self._keys.get(key)
            self._make_rows(connection, key)
            rows = [self._rows[name] for name in self._keys[key]]
            columns, is_same = self._columns, self._keys[key] == names
            if columns and not (is_same and all(map(columns.replace, rows))):
                self._columns = None

    def _make_rows(self, connection: sqlite3.Connection, key: Key) -> None:
        """Make the rows of a group: one, and one for each document with decisions of its own."""
        for old in self._keys.get(key, ()):
            self._rows.pop(old, None)
        group = self._there.groups[key]
        first = str(min(group.members)[0])
        if self._there.is_of_documents:
            group.members.sort(key=lambda member: member[1:])
        scopes = {*self._scopes.get(key[0], ()), *self._scopes.get(key[1], ())}
        apart = {number for scope in scopes for number in self._there.numbers.get(scope, ())}
        parts: dict[int, list[Member]] = {}
        for member in group.members if apart else ():
            parts.setdefault(member[1] if member[1] in apart else 0, []).append(member)
        rows = [
            Row(f"{first}@{of}" if of else first, group, members, self.documents[of] if of else "")
            for of, members in (parts or {0: group.members}).items()
        ]
        for row in rows:
            row.verdict = self._verdict(connection, row) if scopes else None
            row.is_other = self._there.is_other(row)
            self._rows[row.key] = row
        self._keys[key] = [row.key for row in rows]

    def _verdict(self, connection: sqlite3.Connection, row: Row) -> Verdict | None:
        """What decisions make of a row; None: nothing."""
        group, ruling = row.group, self._on(row)
        if not ruling.by:
            return None
        reviewers = tuple(dict.fromkeys(filter(None, (d.reviewer for d in ruling.by))))
        steps = (decision.step for decision in ruling.by if decision.accepted)
        is_elsewhere = self._steps.isdisjoint(steps)
        predicate = predicate_in(ruling.by) or ""
        said = reviewers, predicate, ruling.is_in_bulk, is_elsewhere
        decided = "accepted" if any(ruling.parts) else "no concept"
        is_answered = bool(ruling.parts) and self._can_answer(ruling.parts)
        if len(ruling.parts) == 1 and is_answered:
            (identifier,) = ruling.parts
            ids = join_ids([[identifier]])
            if ruling.is_in_bulk:
                if group.key[3] == ids:  # the model's answer, as sure as that is
                    answers = json.loads(group.shown)
                    return Verdict(decided, ids, answers, group.confidence, *said)
            elif not identifier:
                return Verdict(decided, ids, [None], None, *said)
            else:
                dictionary = self._linker.dictionary
                name = dictionary.preferred_name(dictionary.rows(identifier)[0])
                answers = [{"concept_id": identifier, "name": name, "confidence": 1.0}]
                return Verdict(decided, ids, answers, None, *said)
        if not (group.answer or is_answered):
            return None
        prediction = self.prediction(connection, row)
        state = decided if ruling.is_in_bulk and is_answered else prediction.state
        if state == "model":
            return None
        has_concepts = all(part.best for part in prediction.parts)
        confidence = prediction.confidence if has_concepts else None
        ids = joined_ids(prediction)
        shown = linking.shown(prediction)
        return Verdict(state, ids, shown, confidence, *said)

    def _can_answer(self, ids: Iterable[str]) -> bool:
        rows = (row for i in ids if i for row in self._linker.dictionary.rows(i))
        return all(row in self._linkable for row in rows)

    def prediction(
        self, connection: sqlite3.Connection, row: Row, *, plain: bool = False
    ) -> Prediction:
        """The answer of a row with its candidates.

        Args:
            connection: to the file.
            row: of the queue.
            plain: whether the decisions are not applied.

        Raises:
            Missing: its mention is gone.
        """
        number, group = row.members[0][0], row.group
        found = connection.execute(
            "SELECT prediction, spans FROM mentions LEFT JOIN answers ON answers.id = answer "
            "WHERE mentions.id = ?",
            [number],
        ).fetchone()
        if found is None:
            raise Missing(f"{group.mention!r} is gone; load the queue again")
        packed, spans = found
        document = self.documents.get(row.members[0][1])
        mention = Mention(
            group.mention, parse_spans(json.loads(spans)), type=group.type, document_id=document
        )
        prediction = linking.unpacked(packed, mention)
        if plain:
            return prediction
        linkable, ruling = self._linker.linkable, self._on(row)
        return self._decided.apply(prediction, ruling, linkable, k=linking.CANDIDATES)

    # asking

    def row(self, key: str) -> Row:
        """A row by its key.

        Raises:
            Missing: there is none.
        """
        if key in self._rows:
            return self._rows[key]
        raise Missing(f"the project has no row {key}; load the queue again")

    def rows_on(self, forms: Iterable[str]) -> list[Row]:
        """The rows that decisions on forms may change."""
        keys = (name for key in self._there.on(set(forms)) for name in self._keys.get(key, ()))
        return sorted((self._rows[name] for name in keys), key=lambda row: row.members[0][0])

    def said_by_file(self, row: Row) -> list[dict[str, Any]]:
        """See `Mentions.said_by_file`."""
        return self._there.said_by_file(row)

    def of_document(self, number: int) -> Iterator[tuple[int, Row]]:
        """The mentions of a document by their numbers, with their rows."""
        for row in self._rows.values():
            for member in row.members:
                if member[1] == number:
                    yield member[0], row

    def rows(self) -> Iterator[Row]:
        """All rows, in no order."""
        return iter(self._rows.values())

    def said(self) -> list[Sequence[Decision]]:
        """The decisions in force on the mentions of the project, of each form and scope; also those
        on ids that the dictionary does not have."""
        decided = self._decided
        return [*self._of_project(decided.places), *self._of_project(decided.unapplied)]

    def _of_project(self, places: Mapping[Place, Sequence[Decision]]) -> list[Sequence[Decision]]:
        """Decisions that are on mentions of the project."""
        there = self._there
        forms = there.by_form.keys() | there.by_own.keys() | there.waiting
        return [
            decisions
            for (form, scope), decisions in places.items()
            if form in forms and (not scope or scope in there.numbers)
        ]

    @property
    def agreement(self) -> Agreement:
        """How far reviewers agree."""
        self._agreement = self._agreement or agreement(self._of_project(self._shared))
        return self._agreement

    def disagreements(self) -> dict[str, Any]:
        """How far reviewers agree, and the rows on which they do not, with what each said."""
        agreed = self.agreement
        rows = [row for row in self._rows.values() if row.state == "disputed"]
        return {
            "kappa": agreed.kappa,
            "pairs": [dataclasses.asdict(pair) for pair in agreed.pairs],
            "rows": [
                self.to_dict(row) | {"decisions": [d.to_dict() for d in self._on(row).by]}
                for row in sorted(rows, key=lambda row: row.members[0])
            ],
        }

    def _on(self, row: Row) -> Ruling:
        """What decisions say of the mentions of a row."""
        group = row.group
        return self._decided.ruling(group.mention, row.scope, group.expanded or None)

    def page(
        self,
        wanted: Filter,
        sort: Sort = "doubt",
        offset: int = 0,
        limit: int = 100,
        find: str = "",
    ) -> dict[str, Any]:
        """A page of the rows that are wanted, with figures of all of them.

        Args:
            wanted, sort, offset, limit: which rows.
            find: the key of a row whose place among them is told; None: it is not among them.

        Raises:
            LinkerError: a filter names what is not there.
        """
        columns, mask = self.columns, self._mask(wanted)
        order = columns.order(sort)
        places = order[mask[order]]
        rows = [columns.rows[place] for place in places[offset : offset + limit].tolist()]
        position = np.flatnonzero(places == columns.place_of(find)).tolist()
        return {
            "total": len(places),
            "mentions": int(columns.counts[mask].sum()),
            "expected_wrong": round(float(columns.wrong[mask].sum()), 2),
            "version": self.number,
            "position": position[0] if position else None,
            "rows": [self.to_dict(row) for row in rows],
        }

    def acceptable(self, wanted: Filter) -> list[Row]:
        """The rows that are wanted whose answers can be accepted in bulk.

        They are undecided, have an answer that the dictionary has, and nobody disagrees. Left out
        are those of which a text denies or doubts a mention, those that somebody flagged, unless
        flagged ones are wanted, and those of which a decision would be on another undecided row,
        too, that is not wanted or has another answer.
        """
        columns = self.columns
        mask = self._mask(wanted) & columns.has_state(*ACCEPTABLE) & columns.plain
        if wanted.show != "flagged":
            mask &= ~columns.flagged(self.remarks)
        order = columns.order("document")
        rows = [columns.rows[place] for place in order[mask[order]].tolist()]
        are_there = functools.cache(self._are_there)
        rows = [row for row in rows if are_there(row.ids)]
        keys, by_form = {row.key for row in rows}, self._there.by_form
        return [
            row
            for row in rows
            if len(by_form[row.group.form]) == len(self._keys[row.group.key]) == 1  # nearly always
            or all(other.key in keys and other.ids == row.ids for other in self._beside(row))
        ]

    def _are_there(self, ids: str) -> bool:
        """Whether all parts of an answer have a concept that the dictionary has."""
        rows = self._linker.dictionary.rows
        return all(i and rows(i) for i in part_ids(ids))

    def _beside(self, row: Row) -> Iterator[Row]:
        """The undecided rows that a decision on a row is on, too."""
        for key in self._there.by_form[row.group.form]:
            for name in self._keys.get(key, ()):
                other = self._rows[name]
                if row.scope in ("", other.scope) and other.state in UNDECIDED:
                    yield other

    def figures(self, rows: Sequence[Row]) -> dict[str, Any]:
        """How many mentions rows have, and how many of their answers are expected to be wrong."""
        wrong = sum(len(row.members) * (1 - c) for row in rows if (c := row.confidence) is not None)
        return {
            "groups": len(rows),
            "mentions": sum(len(row.members) for row in rows),
            "expected_wrong": round(wrong, 2),
        }

    def summary(self) -> dict[str, Any]:
        """The figures of the project."""
        columns = self.columns
        states, groups = +columns.mentions_in, columns.rows_in
        answered, wrong = int(columns.answered.sum()), float(columns.wrong.sum())
        flags = (form for (form, kind), value in self.remarks.items() if kind == "flag" and value)
        return {
            "mentions": states.total() - states["not linked"],
            "groups": len(columns.rows) - groups["not linked"],
            "states": dict(states),
            "decided": sum(states[state] for state in DECIDED),
            "decided_elsewhere": int(columns.counts[columns.elsewhere].sum()),
            "expected_wrong_of_rest": round(wrong, 2),
            "expected_accuracy_of_rest": round(1 - wrong / answered, 4) if answered else None,
            "types": sorted(self._there.types),
            "documents": len(self.documents),
            "has_ids": bool(self._there.said),
            "reviewers": sorted(+columns.reviewers),
            "kappa": self.agreement.kappa,
            "disagreements": groups["disputed"],
            "flagged": sum(form in self._there.by_form for form in flags),
            "version": self.number,
        }

    def to_dict(self, row: Row) -> dict[str, Any]:
        """A row as an object that `json` can write, without its candidates."""
        group, verdict = row.group, row.verdict
        _, document, place = row.members[0]
        first: dict[str, Any] = {"document": None, "document_id": None, "row": place}
        if document:
            first = {"document": document, "document_id": self.documents[document], "row": None}
        return {
            "key": row.key,
            "mention": group.mention,
            "expanded": group.expanded or None,
            "type": group.type,
            "count": len(row.members),
            "documents": len({member[1] for member in row.members}) if document else 0,
            "state": row.state,
            "answers": verdict.answers if verdict else json.loads(group.shown),
            "confidence": row.confidence,
            "assertion": row.assertion,
            "flag": bool(self.remarks.get((group.form, "flag"))),
            "note": self.remarks.get((group.form, "note"), ""),
            "differs": row.is_other,
            "reviewers": list(verdict.reviewers) if verdict else [],
            "predicate": verdict.predicate if verdict else "",
            "bulk": verdict is not None and verdict.is_in_bulk,
            "first": first,
        }

    @property
    def columns(self) -> Columns:
        """The rows in columns."""
        if self._columns is None:
            self._columns = Columns(list(self._rows.values()))
        return self._columns

    def _mask(self, wanted: Filter) -> Numbers:
        return self.columns.mask(wanted, self.remarks, self._linker.dictionary)


def decided_mentions(
    connection: sqlite3.Connection, number: int, places: Mapping[Place, Sequence[Decision]]
) -> int:
    """How many mentions of a project are decided, without its queue.

    What was decided on a short form itself, in a document that says what it means, is left out.

    Args:
        connection: to the file.
        number: of the project.
        places: the decisions in force on each form, in each scope.
    """
    statement = (
        "SELECT form, (SELECT id FROM documents WHERE project = m.project AND number = document), "
        "count(*) FROM mentions m WHERE project = ? AND answer IS NOT NULL GROUP BY form, document"
    )
    total = 0
    for form, scope, count in connection.execute(statement, [number]):
        where = dict.fromkeys([(form, scope or ""), (form, "")])
        said = [places[place] for place in where if place in places]
        if said and ruled(said).parts:
            total += count
    return total

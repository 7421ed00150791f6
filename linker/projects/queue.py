"""The queue of a project: its mentions in groups, kept in memory, filtered, sorted and in pages.

Equal mentions are one row: those of the same form, type and answer. Where mentions or answers came
or went, all are read anew, without the candidates of answers; what decisions make of them is
computed anew only for the forms on which decisions changed. A decision that holds in one document
splits a group: the mentions of that document are a row of their own.
"""

from __future__ import annotations

import functools
import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from linker import matching
from linker.ids import join_ids, part_ids, split_ids
from linker.linking.decided import Decided
from linker.linking.decisions import Place, Ruling, form_of, predicate_in, ruled
from linker.linking.linker import Linker
from linker.outputs import joined_ids
from linker.projects import changes, linking
from linker.projects.groups import (
    ACCEPTABLE,
    DECIDED,
    ORDERS,
    UNDECIDED,
    Filter,
    Group,
    Key,
    Member,
    Row,
    Sort,
    chosen,
)
from linker.projects.store import Missing, Project
from linker.types import Decision, Gold, GoldGroup, Mention, Prediction, parse_spans

_GOLD = TypeAdapter(Gold)
_WHOLE = 1_000_000_000  # an expected mistake, of which parts are counted without rounding

_VERSION = (
    "SELECT count(*), total(id), count(answer), total(answer), "
    "(SELECT count(*) FROM documents WHERE project = :project) FROM mentions "
    "WHERE project = :project"
)
"""What changes with the mentions and answers of a project."""
_ANSWERS = "SELECT id, ids, shown, confidence FROM answers WHERE project = ? AND id > ? ORDER BY id"
# what follows is read as one text of JSON: for each row that is read, other threads have a turn,
# and an Accept would wait for all of these
_DOCUMENTS = "SELECT json_group_array(json_array(number, id)) FROM documents WHERE project = ?"
_MENTIONS = (
    "SELECT json_group_array(json_array(id, coalesce(document, 0), place, text, spans, type, form, "
    "expanded, coalesce(answer, 0))) FROM (SELECT * FROM mentions WHERE project = ? ORDER BY id)"
)
_OF_FILE = (
    "SELECT json_group_array(json_array(number, json_extract(value, '$.spans') || '', "
    "json_extract(value, '$.type'), json_extract(value, '$.gold') || '')) "
    "FROM documents, json_each(record, '$.document.mentions') "
    "WHERE project = ? AND number > ? AND json_extract(value, '$.gold') IS NOT NULL"
)
"""The ids that files say of mentions; those that were found, or marked by hand, have none."""
_STEPS = "SELECT json_group_array(id) FROM steps WHERE project = ?"


class Queue:
    """The rows of a project as they are now; many threads may use it, one at a time.

    Args:
        project: the project.
        linker: of the model by which it is linked, and whose dictionary decisions are of.
    """

    def __init__(self, project: Project, linker: Linker) -> None:
        self.project, self._linker = project, linker
        self._linkable = frozenset(linker.linkable.tolist())
        self._decided = Decided([], linker)  # that it was last told
        self._steps: set[int | None] = set()  # of the project
        self._version: Sequence[float] = ()
        self._answers: dict[int, tuple[str, str, float | None]] = {}  # which never change
        self._of_file: dict[tuple[int, str, str], str] = {}  # ids, by document, spans and type
        self._agreed: dict[tuple[str, str], bool] = {}  # ids that a file says, ids of an answer
        self.remarks: dict[tuple[str, str], str] = {}
        """By the form of a mention and the kind of the remark."""
        self.documents: dict[int, str] = {}
        """The ids of the documents by their numbers."""
        self.number = time.time_ns() // 1_000_000
        """Another one whenever something in the project changed."""
        self._groups: dict[Key, Group] = {}
        self._by_form: dict[str, list[Group]] = {}  # of the long form
        self._by_own: dict[str, list[Group]] = {}  # of what is written, where that is another one
        self._waiting: set[str] = set()  # the forms of mentions that wait to be linked
        self._said: dict[
            int, str
        ] = {}  # by the numbers of mentions: their ids in the file, as JSON
        self._rows: dict[str, Row] = {}
        self._orders: dict[Sort, list[Row]] = {}
        self._counts = Counter[tuple[str, str]]()  # see `_count`

    # reading

    def refresh(
        self, connection: sqlite3.Connection, decided: Decided, *, is_hurried: bool = False
    ) -> None:
        """Take up what changed in the file.

        Args:
            connection: to the file.
            decided: the decisions in force; where later ones were told before, these count.
            is_hurried: whether mentions and answers may be those of before, if there are some.
        """
        number = self.project.id
        self._steps = set(_at_once(connection, _STEPS, number))
        remarks = changes.remarks_of(connection, number)
        self.number += remarks != self.remarks
        self.remarks, before = remarks, self._decided
        if decided.seen >= before.seen:
            self._decided = decided
        touched, changed, was = self._decided.touched(before), list[Group](), self._version
        if not (is_hurried and self._version):
            version = connection.execute(_VERSION, {"project": number}).fetchone()
            if version != self._version:
                self._version = version
                changed = self._read(connection)
        groups = dict.fromkeys([*changed, *self._on(form for form, _ in touched)])
        self.number += bool(groups) or self._version != was  # a mention may be gone
        for group in groups:
            self._judge(connection, group)

    def _read(self, connection: sqlite3.Connection) -> list[Group]:
        """Read the mentions, put equal ones together, and return the groups that were not there."""
        number = self.project.id
        is_of_documents = self.project.kind == "documents"
        if is_of_documents:
            last = max(self.documents, default=0)
            for of, spans, kind, gold in _at_once(connection, _OF_FILE, number, last):
                self._of_file[of, spans, kind] = gold
            self.documents = dict(_at_once(connection, _DOCUMENTS, number))
        last = next(reversed(self._answers), 0)
        for of, ids, shown, confidence in connection.execute(_ANSWERS, [number, last]):
            self._answers[of] = ids, shown, confidence
        groups, before, new = dict[Key, Group](), self._groups, list[Group]()
        self._waiting, self._said = set(), {}
        for row in _at_once(connection, _MENTIONS, number):
            mention, document, place, text, spans, kind, form, expanded, answer = row
            if not answer and linking.is_linked(self.project, kind):
                self._waiting.add(form)
                continue
            ids, shown, confidence = self._answers.get(answer, ("", "[null]", None))
            own = form_of(text) if is_of_documents else form
            key = own, form, kind, ids
            if (group := groups.get(key)) is None:
                group = groups[key] = Group(key, text, expanded, answer > 0, shown)
            group.members.append((mention, document, place))
            group.assertions.update(linking.assertions_in(shown))
            if confidence is not None:
                group.known += 1
                group.total += confidence
            if gold := self._of_file.get((document, spans.replace(" ", ""), kind)):
                self._said[mention] = gold
        self._groups, self._by_form, self._by_own = groups, {}, {}
        for key, group in groups.items():
            if is_of_documents:
                group.members.sort(key=lambda member: member[1:])
            old = before.get(key)
            if old and (old.members, old.total) == (group.members, group.total):
                groups[key] = before.pop(key)
            else:
                new.append(group)
            self._by_form.setdefault(group.form, []).append(groups[key])
            if key[0] != group.form:
                self._by_own.setdefault(key[0], []).append(groups[key])
        for gone in (row for group in before.values() for row in group.rows):
            self._count(gone, -1)
            del self._rows[gone.key]
        self._orders.clear()
        return new

    def _on(self, forms: Iterable[str]) -> list[Group]:
        """The groups that decisions on forms may be about, as written or in long form."""
        found = (g for f in forms for by in (self._by_form, self._by_own) for g in by.get(f, ()))
        return list(dict.fromkeys(found))

    # what decisions say

    def _judge(self, connection: sqlite3.Connection, group: Group) -> None:
        """Make the rows of a group: one, and one for each document with decisions of its own."""
        places = self._decided.places
        apart = {
            number
            for number in {member[1] for member in group.members}
            if any((form, self.documents.get(number)) in places for form in group.key[:2])
        }
        parts: dict[int, list[Member]] = defaultdict(list)
        for member in group.members if apart else ():
            parts[member[1] if member[1] in apart else 0].append(member)
        first = str(min(group.members)[0])
        named = {f"{first}@{of}" if of else first: of for of in parts or (0,)}
        for row in group.rows:
            self._count(row, -1)
        if [row.key for row in group.rows] != [*named]:
            for row in group.rows:
                del self._rows[row.key]
            group.rows = [
                Row(name, group, parts.get(of, group.members), self.documents[of] if of else "")
                for name, of in named.items()
            ]
            self._rows.update((row.key, row) for row in group.rows)
            self._orders.clear()
        for row in group.rows:
            row.state = "model" if group.is_linked else "not linked"
            row.ids, row.answers, row.confidence = group.key[3], None, group.confidence
            row.reviewers, row.predicate, row.is_in_bulk, row.is_elsewhere = (), "", False, False
            if apart or (group.form, "") in places:
                self._rule(connection, row)
            row.is_other = bool(self._said) and row.state != "not linked" and self._differs(row)
            self._count(row, 1)

    def _rule(self, connection: sqlite3.Connection, row: Row) -> None:
        """Say of a row what decisions make of it."""
        group, ruling = row.group, self._on_row(row)
        if not ruling.by:
            return
        decided = "accepted" if any(ruling.parts) else "no concept"
        is_answered = bool(ruling.parts) and self._decided.can_answer(ruling.parts, self._linkable)
        ids = join_ids([[i] for i in ruling.parts]) if is_answered else ""
        if is_answered and len(ruling.parts) == 1 and not ruling.is_in_bulk:
            name = self._answer(*ruling.parts)
            row.state, row.ids, row.answers, row.confidence = decided, ids, [name], None
        elif is_answered and len(ruling.parts) == 1 and group.key[3] == ids:
            row.state = decided  # the model's answer, as sure as that is
        elif group.is_linked or is_answered:
            prediction = self.prediction(connection, row)
            state = decided if ruling.is_in_bulk and is_answered else prediction.state
            if state == "model":
                return
            has_concepts = all(part.best for part in prediction.parts)
            row.state, row.ids, row.answers = (
                state,
                joined_ids(prediction),
                linking.shown(prediction),
            )
            row.confidence = prediction.confidence if has_concepts else None
        else:
            return
        row.reviewers = tuple(dict.fromkeys(filter(None, (d.reviewer for d in ruling.by))))
        row.predicate = predicate_in(ruling.by) or ""
        row.is_in_bulk = ruling.is_in_bulk
        row.is_elsewhere = self._steps.isdisjoint(d.step for d in ruling.by if d.accepted)

    def _answer(self, identifier: str) -> dict[str, Any] | None:
        """What is shown of a concept that a person accepted; None for no concept."""
        if not identifier:
            return None
        dictionary = self._linker.dictionary
        name = dictionary.preferred_name(dictionary.rows(identifier)[0])
        return {"concept_id": identifier, "name": name, "confidence": 1.0}

    def _count(self, row: Row, sign: int) -> None:
        """Add a row to the figures of the project, or take it away."""
        counts, count, state = self._counts, sign * len(row.members), row.state
        counts["mentions", state] += count
        counts["rows", state] += sign
        for name in row.reviewers:
            counts["rows of reviewer", name] += sign
        if row.is_elsewhere and state in DECIDED:
            counts["mentions", "decided elsewhere"] += count
        if state in UNDECIDED and row.confidence is not None and state != "disputed":
            counts["mentions", "answered"] += count
            counts["mentions", "wrong"] += count * round(_WHOLE * (1 - row.confidence))

    def _on_row(self, row: Row) -> Ruling:
        """What decisions say of the mentions of a row."""
        group = row.group
        return self._decided.ruling(group.mention, row.scope, group.expanded or None)

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
        ruling = self._on_row(row)
        return self._decided.apply(prediction, ruling, self._linkable, k=linking.CANDIDATES)

    # what the file says

    def _differs(self, row: Row) -> bool:
        """Whether the file gives one of the mentions of a row another id than its answer."""
        return not all(self._agrees(gold, row.ids) for gold in self._golds(row))

    def _agrees(self, gold: str, ids: str) -> bool:
        """Whether the ids of an answer are those that the file says."""
        if (gold, ids) not in self._agreed:
            resolve = self._linker.dictionary.resolve
            rank = matching.strict_rank(split_ids(ids), _GOLD.validate_json(gold), resolve)
            self._agreed[gold, ids] = rank is not None
        return self._agreed[gold, ids]

    def _golds(self, row: Row) -> Counter[str]:
        """The ids that the file gives mentions of a row, as JSON, and how many have them."""
        said = self._said
        return Counter(said[number] for number, *_ in row.members if number in said)

    def said_by_file(self, row: Row) -> list[dict[str, Any]]:
        """What the file says of mentions of a row: of each part its ids, with their names."""
        dictionary = self._linker.dictionary

        def part(group: GoldGroup) -> list[dict[str, str]]:
            names = ([*map(dictionary.preferred_name, dictionary.rows(i)), ""] for i in group.ids)
            return [{"concept_id": i, "name": n[0]} for i, n in zip(group.ids, names, strict=True)]

        return [
            {
                "count": count,
                "differs": not self._agrees(gold, row.ids),
                "parts": list(map(part, _GOLD.validate_json(gold))),
            }
            for gold, count in self._golds(row).most_common()
        ]

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
        rows = (row for group in self._on(forms) for row in group.rows)
        return sorted(rows, key=lambda row: row.members[0][0])

    def rows(self, sort: Sort = "document") -> Sequence[Row]:
        """All rows in an order; equal ones as they stand in the documents."""
        if sort not in self._orders:
            self._orders[sort] = sorted(self._rows.values(), key=ORDERS[sort])
        return self._orders[sort]

    def disagreements(self) -> dict[str, Any]:
        """The rows on which reviewers disagree, with what each said."""
        rows = [row for row in self._rows.values() if row.state == "disputed"]
        return {
            "rows": [
                self.to_dict(row) | {"decisions": [d.to_dict() for d in self._on_row(row).by]}
                for row in sorted(rows, key=lambda row: row.members[0])
            ],
        }

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
        rows = self._chosen(wanted, sort)
        undecided = [row for row in rows if row.state in UNDECIDED and row.state != "disputed"]
        figures = self.figures(undecided)
        return {
            "total": len(rows),
            "mentions": sum(len(row.members) for row in rows),
            "expected_wrong": figures["expected_wrong"],
            "version": self.number,
            "position": next((place for place, row in enumerate(rows) if row.key == find), None),
            "rows": [self.to_dict(row) for row in rows[offset : offset + limit]],
        }

    def _chosen(self, wanted: Filter, sort: Sort) -> list[Row]:
        return chosen(self.rows(sort), wanted, self._flags, self._linker.dictionary)

    @property
    def _flags(self) -> set[str]:
        """The forms that somebody flagged."""
        return {form for (form, kind), value in self.remarks.items() if kind == "flag" and value}

    def acceptable(self, wanted: Filter) -> list[Row]:
        """The rows that are wanted whose answers can be accepted in bulk.

        They are undecided, have an answer that the dictionary has, and nobody disagrees. Left out
        are those of which a text denies or doubts a mention, those that somebody flagged, unless
        flagged ones are wanted, and those of which a decision would be on another undecided row,
        too, that is not wanted or has another answer.
        """
        are_there = functools.cache(self._are_there)
        flags = set[str]() if wanted.show == "flagged" else self._flags
        rows = [
            row
            for row in self._chosen(wanted, "document")
            if row.state in ACCEPTABLE
            and not row.group.assertions
            and row.group.form not in flags
            and are_there(row.ids)
        ]
        keys = {row.key for row in rows}
        return [
            row
            for row in rows
            if all(other.key in keys and other.ids == row.ids for other in self._beside(row))
        ]

    def _are_there(self, ids: str) -> bool:
        """Whether all parts of an answer have a concept that the dictionary has."""
        rows = self._linker.dictionary.rows
        return all(i and rows(i) for i in part_ids(ids))

    def _beside(self, row: Row) -> Iterator[Row]:
        """The undecided rows that a decision on a row is on, too."""
        for group in self._by_form[row.group.form]:
            for other in group.rows:
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
        counts = +self._counts
        states = {state: counts["mentions", state] for state in (*UNDECIDED, *DECIDED)}
        answered, wrong = counts["mentions", "answered"], counts["mentions", "wrong"] / _WHOLE
        unlinked = counts["mentions", "not linked"]
        return {
            "mentions": sum(states.values()),
            "groups": len(self._rows) - counts["rows", "not linked"],
            "states": {state: n for state, n in (states | {"not linked": unlinked}).items() if n},
            "decided": sum(states[state] for state in DECIDED),
            "decided_elsewhere": counts["mentions", "decided elsewhere"],
            "expected_wrong_of_rest": round(wrong, 2),
            "expected_accuracy_of_rest": round(1 - wrong / answered, 4) if answered else None,
            "types": sorted({group.type for group in self._groups.values()} - {""}),
            "documents": len(self.documents),
            "has_ids": bool(self._said),
            "reviewers": sorted(name for kind, name in counts if kind == "rows of reviewer"),
            "disagreements": counts["rows", "disputed"],
            "flagged": sum(form in self._by_form for form in self._flags),
            "version": self.number,
        }

    def to_dict(self, row: Row) -> dict[str, Any]:
        """A row as an object that `json` can write, without its candidates."""
        group = row.group
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
            "answers": json.loads(group.shown) if row.answers is None else row.answers,
            "confidence": row.confidence,
            "assertion": group.assertion,
            "flag": bool(self.remarks.get((group.form, "flag"))),
            "note": self.remarks.get((group.form, "note"), ""),
            "differs": row.is_other,
            "reviewers": list(row.reviewers),
            "predicate": row.predicate,
            "bulk": row.is_in_bulk,
            "first": first,
        }


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


def _at_once(connection: sqlite3.Connection, statement: str, *values: int) -> list[Any]:
    """What a statement says of a project as one text of JSON."""
    ((text,),) = connection.execute(statement, values)
    rows: list[Any] = json.loads(text)
    return rows

"""The queue of a project: its mentions in groups, kept in memory, filtered, sorted and in pages.

Equal mentions are one row: those of the same form, type and answer. The model's answers are read
once, without their candidates; what decisions make of them is computed anew only for the forms on
which decisions changed. A decision that holds in one document splits a group: the mentions of that
document are a row of their own.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from linker.decisions.applying import Decided
from linker.decisions.records import Place
from linker.dictionary import selection
from linker.errors import LinkerError
from linker.ids import join_ids, part_ids
from linker.linking.linker import Linker
from linker.outputs import joined_ids
from linker.projects import linking
from linker.projects.store import Missing, Project
from linker.types import Decision, Mention, Prediction, Selection, parse_spans

Sort = Literal["doubt", "document", "alphabet", "frequency"]
Show = Literal["all", "undecided", "decided", "no-concept", "flagged", "disputed", "not-linked"]

STATES = ("model", "accepted", "rejected", "open", "no concept", "disputed", "not linked")
"""Those of `linker.types.State`, and that of mentions of a type that is not linked."""
_DECIDED = ("accepted", "no concept")
_UNDECIDED = ("model", "rejected", "open", "disputed")
_ACCEPTABLE = ("model", "rejected")  # a bulk settles no dispute

_NO_ANSWER = "-1"
_REMARKS = (
    "SELECT form, kind, value FROM remarks JOIN steps ON steps.id = remarks.step "
    "WHERE steps.project = ? AND undone = '' ORDER BY remarks.id"
)
_VERSION = (
    "SELECT (SELECT coalesce(max(id), 0) FROM decisions), "
    "(SELECT coalesce(max(id), 0) FROM withdrawals), "
    "(SELECT coalesce(max(id), 0) FROM steps), "
    "(SELECT count(*) FROM steps WHERE undone <> ''), "
    "(SELECT coalesce(max(id), 0) FROM answers WHERE project = :project), "
    "(SELECT coalesce(max(id), 0) FROM mentions WHERE project = :project), "
    "(SELECT count(*) FROM mentions WHERE project = :project)"
)

_Numbers = NDArray[Any]
Member = tuple[int, int, int, float]
"""A mention: its number, its document (0: a row), its place, and the confidence of its answer."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows of a queue are wanted."""

    show: Show = "all"
    below: float | None = None  # confidence that their answers have less of, or none
    above: float | None = None  # confidence that they have at least
    under: str = ""  # the id of a concept that is above their answers, or one of these
    type: str = ""
    q: str = ""  # a text in the mention, its long form, or the ids and names of its answer
    document: int = 0  # its number; 0: all


@dataclass(slots=True, eq=False)
class Group:
    """Mentions with the same form, type and answer, wherever they stand."""

    mention: str
    expanded: str
    type: str
    form: str
    answer: int  # the number of that of its first mention; 0: it is not linked
    members: list[Member] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What a decision on it is on: its long form where it has one."""
        return self.expanded or self.mention


@dataclass(frozen=True, slots=True)
class Verdict:
    """What decisions make of a row."""

    state: str
    ids: str
    answers: Sequence[dict[str, Any] | None]
    confidence: float | None
    reviewers: Sequence[str]


@dataclass(slots=True, eq=False)
class Row:
    """A row of the queue."""

    key: str
    group: Group
    members: list[Member]
    scope: str  # the document in which decisions hold for it; empty: those that hold everywhere
    ids: str  # of the model's answer
    confidence: float | None  # of the model's answer, on average over its mentions
    verdict: Verdict | None = None  # None: the model answers

    @property
    def state(self) -> str:
        """What people said of it."""
        if self.verdict:
            return self.verdict.state
        return "model" if self.group.answer else "not linked"

    @property
    def present_ids(self) -> str:
        """The ids of the present answer."""
        return self.verdict.ids if self.verdict else self.ids


class Queue:
    """The rows of a project as they are now; many threads may use it, one at a time.

    Args:
        project: the project.
        linker: of the model by which it is linked, and whose dictionary decisions are of.
    """

    def __init__(self, project: Project, linker: Linker) -> None:
        self.project, self._linker = project, linker
        self._is_of_documents = project.kind == "documents"
        self.version: tuple[int, ...] = (0,) * 8
        self._forget()

    def _forget(self) -> None:
        self._groups: dict[tuple[Any, ...], Group] = {}
        self._by_form: dict[str, list[tuple[Any, ...]]] = {}
        self._answers: dict[int, tuple[str, str, float | None]] = {}
        self._owns: dict[str, str] = {}  # the form of a mention as it is written
        self.documents: dict[int, str] = {}  # their ids
        self._rows: dict[str, Row] = {}
        self._keys: dict[tuple[Any, ...], list[str]] = {}  # of each group
        self._judged: Mapping[Place, Sequence[Decision]] = {}  # the decisions that counted
        self._decided: dict[str, set[str]] = {}  # by form: the scopes of decisions
        self._scopes: dict[str, list[int]] = {}  # the documents of an id
        self._last = (0, 0)  # mention, answer
        self._count = 0
        self.remarks: dict[tuple[str, str], str] = {}
        self._arrays: Arrays | None = None

    # reading

    def refresh(self, connection: sqlite3.Connection, decided: Decided) -> None:
        """Take up what changed in the file.

        Args:
            connection: to the file.
            decided: the decisions in force.
        """
        values = {"project": self.project.id}
        now = connection.execute(_VERSION, values).fetchone()
        version = (*now, sum(decided.seen))
        if version == self.version:
            return
        before, self.version = self.version, version
        changed = set[tuple[Any, ...]]()
        if version[4:7] != before[4:7]:
            changed = self._read(connection, version[6])
        self._read_remarks(connection)
        self._judge(connection, decided, changed)

    def _read(self, connection: sqlite3.Connection, count: int) -> set[tuple[Any, ...]]:
        """Read mentions and answers that are new; all, where mentions are gone.

        Returns:
            The keys of groups that changed.
        """
        changed = self._read_new(connection)
        if self._count != count:
            self._forget()
            changed = self._read_new(connection)
        return changed

    def _read_new(self, connection: sqlite3.Connection) -> set[tuple[Any, ...]]:
        last_mention, last_answer = self._last
        number = self.project.id
        if self._is_of_documents:
            statement = "SELECT number, id FROM documents WHERE project = ?"
            self.documents = dict(connection.execute(statement, [number]))
            self._scopes = {}
            for of, name in self.documents.items():
                self._scopes.setdefault(name, []).append(of)
        columns = "SELECT id, ids, shown, confidence FROM answers "
        statement = f"{columns} WHERE project = ? AND id > ? ORDER BY id"
        for of, ids, shown, confidence in connection.execute(statement, [number, last_answer]):
            self._answers[of] = ids, shown, confidence
            last_answer = of
        columns = "SELECT id, coalesce(document, 0), place, text, type, form, expanded, "
        statement = (
            f"{columns} coalesce(answer, 0) FROM mentions "
            "WHERE project = ? AND (id > ? OR answer > ?) ORDER BY id"
        )
        changed = set()
        for row in connection.execute(statement, [number, last_mention, self._last[1]]):
            if row[0] > last_mention:
                self._count += 1
            changed.add(self._add(*row))
        last = "SELECT coalesce(max(id), 0) FROM mentions WHERE project = ?"
        self._last = connection.execute(last, [number]).fetchone()[0], last_answer
        return changed - {()}

    def _add(
        self,
        number: int,
        document: int,
        place: int,
        text: str,
        kind: str,
        form: str,
        expanded: str,
        answer: int,
    ) -> tuple[Any, ...]:
        """Add a mention to its group, and return the key of the group; () where it waits."""
        ids, _, confidence = self._answers.get(answer, ("", "", None))
        if not answer and linking.is_linked(self.project, kind):
            return ()
        own = form
        if self._is_of_documents or not answer:
            if text not in self._owns:
                self._owns[text] = linking.form_in(self._linker, text)
            own = self._owns[text]
        key = own, form or own, kind, ids
        if key not in self._groups:
            self._groups[key] = Group(text, expanded, kind, form or own, answer)
            self._by_form.setdefault(form or own, []).append(key)
        member = number, document, place, -1.0 if confidence is None else confidence
        self._groups[key].members.append(member)
        return key

    def _read_remarks(self, connection: sqlite3.Connection) -> None:
        remarks = connection.execute(_REMARKS, [self.project.id])
        self.remarks = {(form, kind): value for form, kind, value in remarks}

    # what decisions say

    def _judge(
        self, connection: sqlite3.Connection, decided: Decided, changed: set[tuple[Any, ...]]
    ) -> None:
        """Make the rows of groups anew that changed, or on whose form decisions did."""
        before, self._judged = self._judged, decided.places
        new = {place for place, said in decided.places.items() if before.get(place) is not said}
        gone = before.keys() - decided.places.keys()
        for form, scope in new:
            self._decided.setdefault(form, set()).add(scope)
        for form, scope in gone:
            self._decided[form].discard(scope)
        if changed:
            self._arrays = None
        for key in changed | self._groups_on({form for form, _ in new | gone}):
            old = self._keys.get(key)
            self._make_rows(connection, decided, key)
            if self._arrays and self._keys[key] == old:
                for name in self._keys[key]:
                    self._arrays.replace(self._rows[name])
            else:
                self._arrays = None

    def _groups_on(self, forms: set[str]) -> set[tuple[Any, ...]]:
        """The groups that decisions on forms may be about, as written or in long form."""
        keys = {key for form in forms for key in self._by_form.get(form, ())}
        if self._is_of_documents:
            keys |= {key for key in self._groups if key[0] in forms}
        return keys

    def _make_rows(
        self,
        connection: sqlite3.Connection,
        decided: Decided,
        key: tuple[Any, ...],
    ) -> None:
        """Make the rows of a group: one, and one for each document with decisions of its own."""
        for old in self._keys.get(key, ()):
            self._rows.pop(old, None)
        group = self._groups[key]
        if self._is_of_documents:
            group.members.sort(key=lambda member: member[1:3])
        scopes = {s for form in key[:2] for s in self._decided.get(form, ()) if s}
        apart = {n for scope in scopes for n in self._scopes.get(scope, ())}
        parts: dict[int, list[Member]] = {0: []} if apart else {0: group.members}
        for member in group.members if apart else ():
            parts.setdefault(member[1] if member[1] in apart else 0, []).append(member)
        first = min(member[0] for member in group.members)
        self._keys[key] = []
        for document, members in parts.items():
            if not members:
                continue
            name = f"{first}@{document}" if document else str(first)
            known = [confidence for *_, confidence in members if confidence >= 0]
            mean = sum(known) / len(known) if known else None
            scope = self.documents[document] if document else ""
            row = Row(name, group, members, scope, key[3], mean)
            if any(self._decided.get(form) for form in key[:2]):
                row.verdict = self._verdict(connection, decided, row)
            self._rows[name] = row
            self._keys[key].append(name)

    def _verdict(
        self, connection: sqlite3.Connection, decided: Decided, row: Row
    ) -> Verdict | None:
        """What decisions make of a row; None: nothing."""
        group = row.group
        ruling = decided.ruling(group.mention, row.scope, group.expanded or None)
        if not ruling.by:
            return None
        reviewers = tuple(dict.fromkeys(filter(None, (d.reviewer for d in ruling.by))))
        if len(ruling.parts) == 1 and self._can_answer(ruling.parts):
            (identifier,) = ruling.parts
            if not identifier:
                return Verdict("no concept", _NO_ANSWER, [None], None, reviewers)
            dictionary = self._linker.dictionary
            name = dictionary.preferred_name(dictionary.rows(identifier)[0])
            answer = {"concept_id": identifier, "name": name, "confidence": 1.0}
            return Verdict("accepted", join_ids([[identifier]]), [answer], None, reviewers)
        if not group.answer:
            return None
        prediction = self.prediction(connection, decided, row)
        if prediction.state == "model":
            return None
        is_answered = all(part.best for part in prediction.parts)
        confidence = prediction.confidence if is_answered else None
        ids = joined_ids(prediction)
        shown = linking.shown(prediction)
        return Verdict(prediction.state, ids, shown, confidence, reviewers)

    def _can_answer(self, ids: Iterable[str]) -> bool:
        rows = (row for i in ids if i for row in self._linker.dictionary.rows(i))
        return all(row in self._linkable for row in rows)

    @property
    def _linkable(self) -> _Numbers:
        return self._linker.linkable

    def prediction(
        self,
        connection: sqlite3.Connection,
        decided: Decided | None,
        row: Row,
    ) -> Prediction:
        """The answer of a row with its candidates, with decisions applied where they are given.

        Raises:
            Missing: it is not linked.
        """
        number, group = row.members[0][0], row.group
        found = connection.execute(
            "SELECT prediction, spans FROM mentions JOIN answers ON answers.id = answer "
            "WHERE mentions.id = ?",
            [number],
        ).fetchone()
        if found is None:
            raise Missing(f"{group.mention!r} is not linked: its type is {group.type!r}")
        document = self.documents.get(row.members[0][1])
        mention = Mention(
            group.mention, parse_spans(json.loads(found[1])), type=group.type, document_id=document
        )
        prediction = linking.unpacked(found[0], mention)
        if decided is None:
            return prediction
        ruling = decided.ruling(group.mention, row.scope, group.expanded or None)
        return decided.apply(prediction, ruling, self._linkable, k=linking.CANDIDATES)

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
        keys = (name for key in self._groups_on(set(forms)) for name in self._keys.get(key, ()))
        return sorted((self._rows[name] for name in keys), key=lambda row: row.members[0][0])

    def of_document(self, number: int) -> Iterator[tuple[int, Row]]:
        """The mentions of a document by their numbers, with their rows."""
        for row in self._rows.values():
            for member in row.members:
                if member[1] == number:
                    yield member[0], row

    def rows(self) -> Iterator[Row]:
        """All rows, in no order."""
        return iter(self._rows.values())

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
        arrays = self.arrays
        mask = self._mask(wanted)
        order = arrays.order(sort)
        places = order[mask[order]]
        rows = [arrays.rows[place] for place in places[offset : offset + limit].tolist()]
        return {
            "total": len(places),
            **self._figures(mask),
            "version": self.number,
            "position": next(iter(np.flatnonzero(places == arrays.place_of(find)).tolist()), None),
            "rows": [self.to_dict(row) for row in rows],
        }

    def matching(self, wanted: Filter) -> list[Row]:
        """The rows that are wanted, in the order of their documents.

        Raises:
            LinkerError: a filter names what is not there.
        """
        order = self.arrays.order("document")
        places = order[self._mask(wanted)[order]].tolist()
        return [self.arrays.rows[place] for place in places]

    def acceptable(self, wanted: Filter) -> list[Row]:
        """The rows that are wanted whose answers can be accepted at once.

        They are undecided, have an answer, and nobody disagrees. Left out are those of which a
        decision would be on the same form as one on another row with another answer.
        """
        rows = [
            row
            for row in self.matching(wanted)
            if row.state in _ACCEPTABLE and all(part_ids(row.present_ids))
        ]
        answers: dict[tuple[str, str], set[str]] = {}
        for row in rows:
            answers.setdefault((row.group.form, row.scope), set()).add(row.present_ids)
        return [row for row in rows if len(answers[row.group.form, row.scope]) == 1]

    def figures(self, rows: Sequence[Row]) -> dict[str, Any]:
        """How many mentions rows have, and how many of their answers are expected to be wrong."""
        wrong = sum(
            len(row.members) * (1 - c) for row in rows if (c := confidence_of(row)) is not None
        )
        return {
            "groups": len(rows),
            "mentions": sum(len(row.members) for row in rows),
            "expected_wrong": round(wrong, 2),
        }

    @property
    def number(self) -> int:
        """A number that is another one whenever something changed."""
        return sum(self.version[:7])

    def summary(self) -> dict[str, Any]:
        """The figures of the project."""
        arrays = self.arrays
        states = Counter[str]()
        for place, state in enumerate(STATES):
            of_state = arrays.states == place
            if of_state.any():
                states[state] = int(arrays.counts[of_state].sum())
        linked = ~arrays.has_state("not linked")
        rest = arrays.has_state(*_UNDECIDED) & ~np.isnan(arrays.confidences)
        mentions = int(arrays.counts[linked].sum())
        answered = int(arrays.counts[rest].sum())
        wrong = float((arrays.counts * (1 - arrays.confidences))[rest].sum())
        flagged = sum(1 for (_, kind), value in self.remarks.items() if kind == "flag" and value)
        reviewers = {r for row in arrays.rows if row.verdict for r in row.verdict.reviewers}
        return {
            "mentions": mentions,
            "groups": int(linked.sum()),
            "states": dict(states),
            "decided": sum(states[state] for state in _DECIDED),
            "expected_wrong_of_rest": round(wrong, 2),
            "expected_accuracy_of_rest": round(1 - wrong / answered, 4) if answered else None,
            "types": sorted({row.group.type for row in arrays.rows} - {""}),
            "documents": len(self.documents),
            "reviewers": sorted(reviewers),
            "disagreements": int(arrays.has_state("disputed").sum()),
            "flagged": flagged,
            "version": self.number,
        }

    def to_dict(self, row: Row) -> dict[str, Any]:
        """A row as an object that `json` can write, without its candidates."""
        group, verdict = row.group, row.verdict
        _, document, place, _ = row.members[0]
        shown = self._answers[group.answer][1] if group.answer else "[null]"
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
            "answers": verdict.answers if verdict else json.loads(shown),
            "confidence": confidence_of(row),
            "flag": bool(self.remarks.get((group.form, "flag"))),
            "note": self.remarks.get((group.form, "note"), ""),
            "reviewers": list(verdict.reviewers) if verdict else [],
            "first": first,
        }

    @property
    def arrays(self) -> Arrays:
        """The rows in columns."""
        if self._arrays is None:
            self._arrays = Arrays(list(self._rows.values()))
        return self._arrays

    def _figures(self, mask: _Numbers) -> dict[str, Any]:
        arrays = self.arrays
        rest = mask & arrays.has_state(*_UNDECIDED) & ~np.isnan(arrays.confidences)
        wrong = float((arrays.counts * (1 - arrays.confidences))[rest].sum())
        return {"mentions": int(arrays.counts[mask].sum()), "expected_wrong": round(wrong, 2)}

    def _mask(self, wanted: Filter) -> _Numbers:
        """Whether each row is wanted."""
        arrays = self.arrays
        if wanted.show not in get_args(Show):
            raise LinkerError(
                f"show is {wanted.show!r}; expected one of {', '.join(get_args(Show))}"
            )
        mask = arrays.has_state("not linked")
        if wanted.show != "not-linked" and not (
            wanted.type and mask[arrays.of_type(wanted.type)].all()
        ):
            mask = ~mask
        states = {"undecided": _UNDECIDED, "decided": _DECIDED, "disputed": ("disputed",)}
        if wanted.show in states:
            mask = mask & arrays.has_state(*states[wanted.show])
        if wanted.show == "no-concept":
            mask = mask & np.isnan(arrays.confidences) & ~arrays.has_state("accepted")
        if wanted.show == "flagged":
            flags = {
                form for (form, kind), value in self.remarks.items() if kind == "flag" and value
            }
            mask = mask & arrays.where(lambda row: row.group.form in flags)
        if wanted.below is not None:
            mask = mask & ~(arrays.confidences >= wanted.below)
        if wanted.above is not None:
            mask = mask & (arrays.confidences >= wanted.above)
        if wanted.type:
            mask = mask & arrays.of_type(wanted.type)
        if wanted.under:
            mask = mask & arrays.where(self._is_under(wanted.under))
        if wanted.document:
            of = wanted.document
            mask = mask & arrays.where(lambda row: any(m[1] == of for m in row.members))
        if query := wanted.q.casefold().strip():
            mask = mask & arrays.where(lambda row: query in self._searched(row))
        return mask

    def _is_under(self, identifier: str) -> Callable[[Row], bool]:
        """Whether an answer of a row is a concept or below it."""
        dictionary = self._linker.dictionary
        linkable = np.ones(len(dictionary), bool)
        under = selection.selected(dictionary, [Selection(under=(identifier,))], linkable)
        known: dict[str, bool] = {}

        def is_under(row: Row) -> bool:
            if (ids := row.present_ids) not in known:
                concepts = (r for i in part_ids(ids) if i for r in dictionary.rows(i))
                known[ids] = any(under[concept] for concept in concepts)
            return known[ids]

        return is_under

    def _searched(self, row: Row) -> str:
        """What a search looks into, in lower case."""
        group, verdict = row.group, row.verdict
        shown = self._answers[group.answer][1] if group.answer else "[]"
        answers = verdict.answers if verdict else json.loads(shown)
        names = (f"{a['concept_id']}\n{a['name']}" for a in answers if a)
        return "\n".join((group.mention, group.expanded, *names)).casefold()


class Arrays:
    """Rows in columns, by which they are filtered and sorted.

    Args:
        rows: the rows.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self._places = {row.key: place for place, row in enumerate(rows)}
        self.counts = np.array([len(row.members) for row in rows], np.int64)
        self.states = np.array([STATES.index(row.state) for row in rows], np.int8)
        known = (confidence_of(row) for row in rows)
        self.confidences = np.array([np.nan if c is None else c for c in known], float)
        self._orders: dict[str, _Numbers] = {}

    def replace(self, row: Row) -> None:
        """Put a row in the place of that with its key, whose mentions are the same."""
        place, confidence = self._places[row.key], confidence_of(row)
        self.rows[place] = row
        self.states[place] = STATES.index(row.state)
        self.confidences[place] = np.nan if confidence is None else confidence

    def place_of(self, key: str) -> int:
        """The place of the row of a key; -1: there is none."""
        return self._places.get(key, -1)

    def has_state(self, *states: str) -> _Numbers:
        """Whether each row has one of these states."""
        return np.isin(self.states, [STATES.index(state) for state in states])

    def of_type(self, kind: str) -> _Numbers:
        """Whether each row is of a type."""
        return self.where(lambda row: row.group.type == kind)

    def where(self, is_wanted: Callable[[Row], bool]) -> _Numbers:
        """Whether something holds for each row."""
        return np.fromiter(map(is_wanted, self.rows), bool, len(self.rows))

    def order(self, sort: Sort) -> _Numbers:
        """The places of the rows in an order; equal ones as they stand in the documents."""
        if sort not in self._orders:
            self._orders[sort] = self._sorted(sort)
        return self._orders[sort]

    def _sorted(self, sort: Sort) -> _Numbers:
        if sort == "alphabet":
            texts = [row.group.mention.casefold() for row in self.rows]
            return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        firsts = np.array([row.members[0][:3] for row in self.rows], np.int64).reshape(-1, 3)
        numbers, documents, places = firsts.T
        # rows of tables stand in the order in which they came
        columns = [numbers, np.where(documents > 0, places, 0), documents]
        if sort == "doubt":
            # what is expected to be wrong of the mentions; as the model has it, so that a row stays
            # where it is when it is decided
            doubts = (1.0 if row.confidence is None else 1 - row.confidence for row in self.rows)
            columns.append(-np.fromiter(doubts, float, len(self.rows)) * self.counts)
        if sort == "frequency":
            columns.append(-self.counts)
        return np.lexsort(columns)


def confidence_of(row: Row) -> float | None:
    """The confidence of the present answer; None where there is none, or people gave it."""
    if row.verdict:
        return row.verdict.confidence
    return row.confidence


def decided_mentions(connection: sqlite3.Connection, number: int, decided: Decided) -> int:
    """How many mentions of a project are decided, without its queue.

    Args:
        connection: to the file.
        number: of the project.
        decided: the decisions in force.
    """
    statement = (
        "SELECT form, coalesce(documents.id, ''), count(*) FROM mentions LEFT JOIN documents "
        "ON documents.project = mentions.project AND documents.number = mentions.document "
        "WHERE mentions.project = ? AND answer IS NOT NULL GROUP BY 1, 2"
    )
    total = 0
    for form, scope, count in connection.execute(statement, [number]):
        places = ((form, scope), (form, ""))
        said = next((decided.places[place] for place in places if place in decided.places), ())
        if any(decision.accepted for decision in said):
            total += count
    return total

"""Marks: what people change in the mentions of documents, and say of whole documents.

A mark is never changed: those of steps that were not undone are applied one after another to the
mentions that a document had when it came in. A mark that cannot be applied does not count: somebody
undid what it was made on.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from linker.desk.decisions.store import DecisionStore, Step, add_step
from linker.desk.projects import store as rows
from linker.errors import LinkerError, shorten
from linker.io.files import MENTION_LIMIT
from linker.records import Document, Mention, Span, parse_spans

Action = Literal["add", "change", "delete", "done", "reopen"]
"""Of a mention: it is added, gets other spans or another type, or is deleted. Of a document: all of
its mentions are marked, so that texts without a mark teach too; or they are not yet."""

MARKED_BY = "marked_by"
"""The key of a mention's metadata that says who marked it by hand; an infon of BioC."""

_OF_PROJECT = "FROM marks JOIN steps ON steps.id = marks.step WHERE steps.project = ?"
_OF_DOCUMENT = f"{_OF_PROJECT} AND marks.document = ?"
_COLUMNS = "marks.document, action, before, spans, type, text, steps.reviewer"
_ADD = (
    "INSERT INTO marks (step, document, action, before, spans, type, text) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_VERBS = {
    "add": "marked {}",
    "change": "changed {}",
    "delete": "removed {}",
    "done": "said that all is marked",
    "reopen": "said that not all is marked",
}
_HAS = {  # whether a mark of an action has a mention before it, and one after it
    **{"add": (False, True), "change": (True, True), "delete": (True, False)},
    **{"done": (False, False), "reopen": (False, False)},
}
_LISTED = 3  # marks of a step that its words tell


class Outdated(LinkerError):
    """What was to be marked has changed meanwhile."""


class Unfit(LinkerError):
    """A mark does not fit its document."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """What tells a mention from the others of its document."""

    spans: tuple[Span, ...]
    type: str = ""

    @classmethod
    def of(cls, mention: Mention) -> Place:
        """The place of a mention."""
        return cls(mention.spans, mention.type)

    def text(self, whole: str) -> str:
        """What stands there in the text of the document; blanks are between its pieces."""
        return " ".join(whole[start:end] for start, end in self.spans)


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody did to one mention, or said of its document."""

    action: Action
    before: Place | None = None  # the mention that is changed or deleted
    after: Place | None = None  # what is added, or what the mention becomes
    text: str = ""  # what stood at the later of the two when the mark was made
    by: str = ""  # who made it


def marked(document: Document, marks: Iterable[Mark]) -> Document:
    """The document with the mentions that it has by marks, in the order of the text.

    Args:
        document: with the mentions of its file, and those found in it.
        marks: that count, in order of entry.
    """
    mentions = _Mentions(document)
    mentions.apply_all(marks)
    return mentions.document()


def by_hand(marks: Iterable[Mark]) -> frozenset[Place]:
    """The places of mentions that marks made."""
    return frozenset(mark.after for mark in marks if mark.after)


def is_done(marks: Iterable[Mark]) -> bool:
    """Whether somebody said that all mentions of the document are marked."""
    said = [mark.action for mark in marks if mark.action in ("done", "reopen")]
    return said[-1:] == ["done"]


class _Mentions:
    """The mentions of a document while marks are applied to them."""

    def __init__(self, document: Document) -> None:
        self._document, self._text = document, document.text
        self._mentions: dict[Place, list[Mention]] = {}  # a file may repeat a mention
        for mention in document.mentions:
            self._mentions.setdefault(Place.of(mention), []).append(mention)
        self._is_changed = False

    def document(self) -> Document:
        """The document with its mentions; as it is where nothing was changed."""
        if not self._is_changed:
            return self._document
        mentions = (m for of_place in self._mentions.values() for m in of_place)
        ordered = sorted(mentions, key=lambda m: (m.spans, m.type))
        return dataclasses.replace(self._document, mentions=tuple(ordered))

    def made(self, mark: Mark) -> Mark:
        """A new mark with the text that it is on; its spans are in order, and none touch."""
        after = mark.after and dataclasses.replace(mark.after, spans=_joined(mark.after.spans))
        place = after or mark.before
        return dataclasses.replace(mark, after=after, text=place.text(self._text) if place else "")

    def problem(self, mark: Mark) -> str | None:
        """Why a mark cannot be applied; None where it can."""
        before, after = mark.before, mark.after
        if (before is not None, after is not None) != _HAS[mark.action]:
            return f"a mark that says {mark.action!r} has not the mentions that it needs"
        if before is not None and before not in self._mentions:
            return f"there is no mention at {_words(before)} any more; open the document again"
        return self._misplaced(after) if after else None

    def _misplaced(self, place: Place) -> str | None:
        """Why no mention can be made at a place; None where one can."""
        where, text, spans = _words(place), self._text, place.spans
        pieces = [text[start:end].strip() for start, end in spans if 0 <= start < end <= len(text)]
        if not spans or len(pieces) < len(spans) or not all(pieces):
            return f"no words of the text are at {where}, which has {len(text):,} characters"
        if (length := sum(end - start for start, end in spans)) > MENTION_LIMIT:
            return (
                f"the mention at {where} has {length:,} characters; mark {MENTION_LIMIT:,} at most"
            )
        ends = ((p.offset, p.offset + len(p.text)) for p in self._document.passages)
        if not any(first <= spans[0][0] and spans[-1][1] <= last for first, last in ends):
            return f"the mention at {where} goes across passages; mark each passage by itself"
        if place in self._mentions:
            return f"{shorten(place.text(text))!r} is marked at {where} already"
        return None

    def apply_all(self, marks: Iterable[Mark]) -> None:
        """Change the mentions by the marks that fit."""
        for mark in marks:
            if self.problem(mark) is None:
                self.apply(mark)

    def apply(self, mark: Mark) -> None:
        """Change the mentions by a mark that fits."""
        old = self._mentions.pop(mark.before, [])[:1] if mark.before else []
        if mark.after:
            by = {MARKED_BY: mark.by} if mark.by else {}
            if mark.before and mark.before.spans == mark.after.spans:  # only its type is another
                new = dataclasses.replace(
                    old[0], type=mark.after.type, metadata={**old[0].metadata, **by}
                )
            else:
                new = Mention(
                    mark.text,
                    mark.after.spans,
                    type=mark.after.type,
                    document_id=self._document.id,
                    # relations name it; what else was said, was said of the old place
                    annotation_id=old[0].annotation_id if old else self._free_id(),
                    metadata=by,
                )
            self._mentions[mark.after] = [new]
        self._is_changed = self._is_changed or bool(mark.before or mark.after)

    def _free_id(self) -> str:
        taken = {m.annotation_id for of_place in self._mentions.values() for m in of_place}
        taken |= {m.annotation_id for m in self._document.mentions}
        return next(name for n in itertools.count(1) if (name := f"H{n}") not in taken)


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order, of which those that overlap or touch are one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < end and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


def _words(place: Place) -> str:
    """Where a place is, as messages say it: "3-9, 12-18"."""
    return shorten(", ".join(f"{start}-{end}" for start, end in place.spans))


def of_project(connection: sqlite3.Connection, project: int) -> dict[int, list[Mark]]:
    """The marks of a project that count, in order of entry, by the numbers of its documents."""
    return _read(connection, _OF_PROJECT, [project])


def of_document(connection: sqlite3.Connection, project: int, number: int) -> list[Mark]:
    """The marks of a document that count, in order of entry."""
    return _read(connection, _OF_DOCUMENT, [project, number]).get(number, [])


def _read(
    connection: sqlite3.Connection, where: str, values: Sequence[int]
) -> dict[int, list[Mark]]:
    marks: dict[int, list[Mark]] = {}
    statement = f"SELECT {_COLUMNS} {where} AND undone = '' ORDER BY marks.id"
    for number, action, before, spans, kind, *said in connection.execute(statement, values):
        after = Place(_spans(spans), kind) if spans else None
        marks.setdefault(number, []).append(Mark(action, _place(before), after, *said))
    return marks


def version_of(connection: sqlite3.Connection, project: int, number: int) -> str:
    """What changes whenever the marks of a document do, also by an undo."""
    changes = f"SELECT count(*) + count(nullif(undone, '')) {_OF_DOCUMENT}"
    ((count,),) = connection.execute(changes, [project, number])
    return str(count)


def add(store: DecisionStore, step: Step, number: int, marks: Sequence[Mark], version: str) -> int:
    """Mark a document, as one step, and return the number of that.

    Args:
        store: the file.
        step: by whom, and in which project; its words are made here.
        number: of the document.
        marks: what to do, in this order.
        version: of `version_of`, as it was when this was decided.

    Raises:
        Missing: there is no such project or document.
        Outdated: marks have changed since, or its mentions are not known yet.
        Unfit: a mark does not fit the document; then none is written.
    """
    project = step.project or 0
    with store.transaction() as connection:
        rows.project(connection, project)
        stored = rows.document(connection, project, number)
        if not stored.is_searched:
            raise Outdated("the mentions of this document are still looked for; wait a bit")
        if version != version_of(connection, project, number):
            raise Outdated(
                "the document was changed meanwhile; look at it again, and mark once more"
            )
        mentions = _Mentions(stored.document)
        mentions.apply_all(of_document(connection, project, number))
        new = []
        for mark in marks:
            new.append(mark := mentions.made(mark))
            if problem := mentions.problem(mark):
                raise Unfit(problem)
            mentions.apply(mark)
        step_id = add_step(connection, dataclasses.replace(step, words=_words_of(new)))
        for mark in new:
            after = (json.dumps(mark.after.spans), mark.after.type) if mark.after else ("", "")
            before = json.dumps([mark.before.spans, mark.before.type]) if mark.before else ""
            connection.execute(_ADD, (step_id, number, mark.action, before, *after, mark.text))
        refresh(connection, project, number, stored.document)
    return step_id


def of_step(connection: sqlite3.Connection, step: int) -> list[int]:
    """The numbers of the documents that a step marked."""
    rows = connection.execute("SELECT DISTINCT document FROM marks WHERE step = ?", [step])
    return [number for (number,) in rows]


def check_undone(
    connection: sqlite3.Connection, project: int, number: int, document: Document
) -> None:
    """Check that no mention goes that somebody marked, when marks were undone, before `refresh`.

    Raises:
        Outdated: somebody went on from what was undone.
    """
    left = of_document(connection, project, number)
    now = {Place.of(mention) for mention in marked(document, left).mentions}
    gone = _kept(connection, project, number).keys() - now
    for mark in left:
        if mark.after in gone:
            who = mark.by or "somebody"
            raise Outdated(f"{who} has gone on from this: it is {shorten(mark.text)!r} now")


def refresh(connection: sqlite3.Connection, project: int, number: int, document: Document) -> None:
    """Make the kept mentions of a document those that marks make, in a transaction.

    Those that stay keep their answers; those that are new have none, until they are linked.

    Args:
        connection: of `DecisionStore.transaction`.
        project: its number.
        number: of the document.
        document: as it came in.
    """
    now = marked(document, of_document(connection, project, number))
    wanted = {Place.of(mention): mention for mention in now.mentions}
    there = _kept(connection, project, number)
    for place in there.keys() - wanted.keys():
        connection.executemany("DELETE FROM mentions WHERE id = ?", [(n,) for n in there[place]])
    new = [(number, rows.start_of(m), m) for place, m in wanted.items() if place not in there]
    source = "SELECT source FROM documents WHERE project = ? AND number = ?"
    ((of,),) = connection.execute(source, [project, number])
    rows.add_mentions(connection, project, of, new)


def _kept(connection: sqlite3.Connection, project: int, number: int) -> dict[Place, list[int]]:
    """The numbers of the mentions of a document, by their places; a file may repeat one."""
    statement = "SELECT id, spans, type FROM mentions WHERE project = ? AND document = ?"
    kept: dict[Place, list[int]] = {}
    for row, spans, kind in connection.execute(statement, [project, number]):
        kept.setdefault(Place(_spans(spans), kind), []).append(row)
    return kept


def _words_of(marks: Sequence[Mark]) -> str:
    """What marks do, in words."""
    told = [_VERBS[mark.action].format(f"“{shorten(mark.text)}”") for mark in marks[:_LISTED]]
    more = len(marks) - len(told)
    return ", ".join(told) + (f", and {more:,} more" if more else "")


def _place(text: str) -> Place | None:
    """The place that JSON in the table says; None for none."""
    if not text:
        return None
    spans, kind = json.loads(text)
    return Place(parse_spans(spans), kind)


def _spans(text: str) -> tuple[Span, ...]:
    return parse_spans(json.loads(text))

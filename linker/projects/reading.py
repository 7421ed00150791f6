"""The mentions of a project in groups of equal ones, read from the file as they come."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from linker import matching
from linker.decisions.applying import form_in
from linker.ids import split_ids
from linker.linking.linker import Linker
from linker.projects import linking
from linker.projects.groups import Group, Key, Row
from linker.projects.store import Project
from linker.types import Gold, GoldGroup

_GOLD = TypeAdapter(Gold)

_DOCUMENTS = "SELECT json_group_array(json_array(number, id)) FROM documents WHERE project = ?"
_SAID = (
    "SELECT number, json_extract(value, '$.spans'), json_extract(value, '$.type'), "
    "json_extract(value, '$.gold') AS gold "
    "FROM documents, json_each(record, '$.document.mentions') "
    "WHERE project = ? AND number > ? AND gold IS NOT NULL"
)
"""The ids that files say of mentions; those that were found, or marked by hand, have none."""
_ANSWERS = "SELECT id, ids, shown, confidence FROM answers WHERE project = ? AND id > ? ORDER BY id"
_MENTIONS = (
    "SELECT id, coalesce(document, 0), place, text, spans, type, form, expanded, "
    "coalesce(answer, 0) FROM mentions WHERE project = :project AND "
)
_NEW = f"{_MENTIONS} id > :mention ORDER BY id"
_ANSWERED = f"{_MENTIONS} id <= :mention AND answer > :answer ORDER BY id"


def rows_at_once(connection: sqlite3.Connection, statement: str, number: int) -> list[Any]:
    """What a statement says of a project as one text of JSON.

    For each row that is read, other threads have a turn, and an Accept would wait for all of these.
    """
    ((text,),) = connection.execute(statement, [number])
    rows: list[Any] = json.loads(text)
    return rows


class Mentions:
    """The mentions of a project, as far as they were read.

    Args:
        project: the project.
        linker: of the model by which it is linked.
    """

    def __init__(self, project: Project, linker: Linker) -> None:
        self._project, self._linker = project, linker
        self.is_of_documents = project.kind == "documents"
        self.groups: dict[Key, Group] = {}
        self.by_form: dict[str, list[Key]] = {}  # of the long form
        self.by_own: dict[str, list[Key]] = {}  # of what is written, where that is another one
        self.waiting: set[str] = set()  # the forms of mentions that wait to be linked anew
        self.documents: dict[int, str] = {}  # their ids
        self.numbers: dict[str, list[int]] = {}  # of the documents of an id
        self.types: set[str] = set()
        self.said: dict[int, str] = {}  # by the numbers of mentions: their ids in the file, as JSON
        self._unread: dict[tuple[int, str, str], str] = {}  # of those that were not read
        self._answers: dict[int, tuple[str, str, float | None]] = {}
        self._owns: dict[str, str] = {}  # the form of a mention as it is written
        self._agreed: dict[tuple[str, str], bool] = {}  # ids that a file says, ids of an answer
        self._last = (0, 0)  # mention, answer
        self._count = 0

    def read(self, connection: sqlite3.Connection) -> set[Key]:
        """Read what came, and return the groups that changed."""
        if self.is_of_documents:
            self._read_documents(connection)
        number, (last_mention, last_answer) = self._project.id, self._last
        for of, ids, shown, confidence in connection.execute(_ANSWERS, [number, last_answer]):
            self._answers[of] = ids, shown, confidence
        changed, latest = set[Key](), last_mention
        last = {"project": number, "mention": last_mention, "answer": last_answer}
        new = (connection.execute(statement, last) for statement in (_ANSWERED, _NEW))
        for row in itertools.chain.from_iterable(new):
            mention, document, place, text, spans, kind, form, expanded, answer = row
            latest = max(latest, mention)
            self._count += mention > last_mention
            if not answer and linking.is_linked(self._project, kind):
                self.waiting.add(form)
                continue
            ids, shown, confidence = self._answers.get(answer, ("", "[null]", None))
            own = form
            if self.is_of_documents or not answer:
                own = self._owns.get(text) or self._own(text)
            key = own, form or own, kind, ids
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = Group(key, text, expanded, answer, shown, [])
                self._add(key)
            group.members.append((mention, document, place))
            group.assertions.update(linking.assertions_in(shown))
            if confidence is not None:
                group.known += 1
                group.total += confidence
            if said := self._unread and self._unread.get((document, spans.replace(" ", ""), kind)):
                self.said[mention] = said
            changed.add(key)
        self._last = latest, max(last_answer, next(reversed(self._answers), 0))
        return changed

    def _read_documents(self, connection: sqlite3.Connection) -> None:
        """Read which documents there are, and what files say in those that are new."""
        number, last = self._project.id, max(self.documents, default=0)
        self.documents = dict(rows_at_once(connection, _DOCUMENTS, number))
        self.numbers = {}
        for of, name in self.documents.items():
            self.numbers.setdefault(name, []).append(of)
        for of, spans, kind, gold in connection.execute(_SAID, [number, last]):
            self._unread[of, spans, kind] = gold

    def _own(self, text: str) -> str:
        """The form of a mention as it is written."""
        self._owns[text] = form_in(self._linker, text)
        return self._owns[text]

    def _add(self, key: Key) -> None:
        """Take up a new group."""
        own, form, kind, _ = key
        self.by_form.setdefault(form, []).append(key)
        self.types |= {kind} - {""}
        if own != form:
            self.by_own.setdefault(own, []).append(key)

    def are_gone(self, connection: sqlite3.Connection) -> bool:
        """Whether mentions that were read are there no more."""
        count = "SELECT count(*) FROM mentions WHERE project = ?"
        ((there,),) = connection.execute(count, [self._project.id])
        return bool(there != self._count)

    def on(self, forms: Iterable[str]) -> set[Key]:
        """The groups that decisions on forms may be about, as written or in long form."""
        return {
            key for by in (self.by_form, self.by_own) for form in forms for key in by.get(form, ())
        }

    # what the file says

    def is_other(self, row: Row) -> bool:
        """Whether the file gives one of the mentions of a row another id than its answer."""
        if not self.said or row.state == "not linked":  # as nearly always
            return False
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
        said = self.said
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

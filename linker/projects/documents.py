"""The documents of a project as the page shows them: a list, and one with its mentions."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Literal

from linker.ids import part_ids
from linker.projects import marks
from linker.projects import store as rows
from linker.projects.groups import DECIDED, Row
from linker.projects.marks import Place
from linker.projects.queue import Queue
from linker.types import parse_spans

DocumentSort = Literal["number", "doubt"]
_TITLE = 120  # characters of the first passage that stand in the list
_WAITING: dict[str, Any] = {
    **{"key": None, "state": "not linked", "answers": [], "confidence": None},
    "assertion": "present",
}
"""What there is of a mention that waits to be linked."""
Undecided = tuple[str, float | None]
"""An undecided mention: its form, and the confidence of the model's answer; None: it has none."""


def listed(
    queue: Queue, connection: sqlite3.Connection, sort: DocumentSort = "number"
) -> list[dict[str, Any]]:
    """The documents of a project; `doubt` of each is how many answers are expected to be wrong.

    Args:
        queue: of the project.
        connection: to the file.
        sort: by number, or in the order in which decisions are worth most.
    """
    mentions: dict[int, int] = defaultdict(int)
    decided: dict[int, int] = defaultdict(int)
    undecided: dict[int, list[Undecided]] = defaultdict(list)
    wrong: dict[int, float] = defaultdict(float)
    for row in queue.rows():
        for _, number, _ in row.members if row.state != "not linked" else ():
            mentions[number] += 1
            if row.state in DECIDED:
                decided[number] += 1
            else:
                is_present = (
                    row.group.assertion == "present"
                )  # else the person has not got the concept
                undecided[number].append((row.group.form, row.confidence if is_present else None))
                wrong[number] += 1 - (row.confidence or 0.0)
    statement = (
        "SELECT number, id, substr(json_extract(record, '$.document.passages[0].text'), 1, ?) "
        "FROM documents WHERE project = ? ORDER BY number"
    )
    documents = [
        {
            "number": number,
            "id": name,
            "title": title or "",
            "mentions": mentions[number],
            "decided": decided[number],
            "doubt": round(wrong[number], 2),
        }
        for number, name, title in connection.execute(statement, [_TITLE, queue.project.id])
    ]
    if sort == "doubt":
        places = in_order_of_worth([undecided[document["number"]] for document in documents])
        documents = [documents[place] for place in places]
    return documents


def in_order_of_worth(documents: Sequence[Sequence[Undecided]]) -> list[int]:
    """The numbers of documents in the order in which to review them.

    A decision holds for all mentions of its form, so that a document is worth the mentions, in all
    documents, whose answers are expected to be wrong and have a form of this document, for each of
    the forms that it asks about. The one that is worth most comes first; what it decides is worth
    nothing in those after it.

    Args:
        documents: of each its undecided mentions.
    """
    times = Counter(form for document in documents for form, _ in document)
    worths = [
        {form: times[form] * (1 - (confidence or 0.0)) for form, confidence in document}
        for document in documents
    ]

    def worth(number: int) -> float:
        left = (of for form, of in worths[number].items() if form not in decided)
        return sum(left) / max(1, len(worths[number]))

    decided, ordered = set[str](), list[int]()
    # what a document is worth only falls, so that its old worth tells when to look at it again
    waiting = [(-worth(number), number) for number in range(len(documents))]
    heapq.heapify(waiting)
    while waiting:
        _, number = heapq.heappop(waiting)
        now = -worth(number)
        if waiting and (now, number) > waiting[0]:
            heapq.heappush(waiting, (now, number))
            continue
        ordered.append(number)
        decided.update(worths[number])
    return ordered


def shown(queue: Queue, connection: sqlite3.Connection, number: int) -> dict[str, Any]:
    """A document with its mentions, their answers, and what is needed to mark some by hand.

    Args:
        queue: of the project.
        connection: to the file.
        number: of the document.

    Raises:
        Missing: there is none.
    """
    project = queue.project
    stored = rows.document(connection, project.id, number)
    document, made = stored.document, marks.of_document(connection, project.id, number)
    hand = marks.by_hand(made)
    found = {Place.of(m) for m, at in zip(document.mentions, stored.found, strict=True) if at}
    of_mentions = {m[0]: row for row in queue.rows() for m in row.members if m[1] == number}
    # once for each row, which may have most mentions of a long text
    answers = {
        row.key: _answer(queue, connection, row)
        for row in {row.key: row for row in of_mentions.values()}.values()
    }
    types = {row.group.type for row in queue.rows()} | {project.type}
    statement = (
        "SELECT id, text, spans, type FROM mentions WHERE project = ? AND document = ? "
        "ORDER BY place, id"
    )
    mentions = []
    for identifier, text, spans, kind in connection.execute(statement, [project.id, number]):
        place = Place(parse_spans(json.loads(spans)), kind)
        origin = "hand" if place in hand else "found" if place in found else "file"
        row = of_mentions.get(identifier)
        answer = answers[row.key] if row else {**_WAITING, "parts": []}
        of_text = {"spans": place.spans, "text": text, "type": kind, "origin": origin}
        mentions.append(of_text | answer)
    offered = sorted(types - {""})
    return {
        "number": number,
        "id": document.id,
        "text": document.text,
        "passages": [(p.offset, p.offset + len(p.text)) for p in document.passages],
        "mentions": mentions,
        "types": offered,
        "type": project.type or next(iter(offered), ""),
        "done": marks.is_done(made),
        "marks_version": marks.version_of(connection, project.id, number),
    }


def _answer(queue: Queue, connection: sqlite3.Connection, row: Row) -> dict[str, Any]:
    """What a row says of each of its mentions; `parts` are the texts of a composite."""
    of_row = queue.to_dict(row)
    parts: Sequence[str] = []
    if row.group.is_linked and len(part_ids(row.ids)) > 1:
        parts = [part.text for part in queue.prediction(connection, row, plain=True).parts]
    return {name: of_row[name] for name in _WAITING} | {"parts": parts}

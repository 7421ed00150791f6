"""The documents of a project as the page shows them: a list, and one with its mentions."""

from __future__ import annotations

import json
from typing import Any, Literal

from linker.desk.projects import marks
from linker.desk.projects import store as rows
from linker.desk.projects.filters import DECIDED, UNDECIDED, Row
from linker.desk.projects.marks import Place
from linker.desk.projects.queue import Queue
from linker.ids import part_ids
from linker.records import parse_spans

DocumentSort = Literal["number", "doubt"]
_LISTED = f"""
SELECT number, id,
    coalesce(substr(json_extract(record, '$.document.passages[0].text'), 1, 120), ''),
    count(key), count(iif(state IN {DECIDED}, 1, NULL)),
    round(total(iif(state IN {UNDECIDED}, 1 - coalesce(confidence, 0), 0)), 2) AS doubt
FROM {rows.DOCUMENTS} LEFT JOIN (
    SELECT members.document, key, state, confidence FROM members
    JOIN rows USING (head, apart) WHERE state <> 'not linked'
) m ON m.document = number WHERE project = ? GROUP BY number ORDER BY {{}}
"""
_FIELDS = ("number", "id", "title", "mentions", "decided", "doubt")
_WAITING: dict[str, Any] = {
    "key": None,
    "state": "not linked",
    "ids": "",
    "answers": [],
    "confidence": None,
    "assertion": "present",
    "bulk": False,
}
"""What there is of a mention that waits to be linked."""


def listed(queue: Queue, sort: DocumentSort = "number") -> list[dict[str, Any]]:
    """The documents of a project; `doubt` of each is how many answers are expected to be wrong.

    Args:
        queue: of the project.
        sort: by number, or those first whose answers are expected to be wrong most.
    """
    statement = _LISTED.format("doubt DESC, number" if sort == "doubt" else "number")
    there = queue.connection.execute(statement, [queue.project.id])
    return [dict(zip(_FIELDS, row, strict=True)) for row in there]


def shown(queue: Queue, number: int) -> dict[str, Any]:
    """A document with its mentions, their answers, and what is needed to mark some by hand.

    Args:
        queue: of the project.
        number: of the document.

    Raises:
        Missing: there is none.
    """
    project, connection = queue.project, queue.connection
    stored = rows.document(connection, project.id, number)
    document, made = stored.document, marks.of_document(connection, project.id, number)
    hand = marks.by_hand(made)
    found = {Place.of(m) for m, at in zip(document.mentions, stored.found, strict=True) if at}
    of_mentions = queue.rows_of(number)
    # once for each row, which may have most mentions of a long text
    answers = {row.key: _answer(queue, row) for row in of_mentions.values()}
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
    types = sorted({*queue.types, project.type} - {""})
    return {
        "number": number,
        "id": document.id,
        "text": document.text,
        "passages": [(p.offset, p.offset + len(p.text)) for p in document.passages],
        "mentions": mentions,
        "types": types,
        "type": project.type or next(iter(types), ""),
        "done": marks.is_done(made),
        "marks_version": marks.version_of(connection, project.id, number),
    }


def _answer(queue: Queue, row: Row) -> dict[str, Any]:
    """What a row says of each of its mentions; `parts` are the texts of a composite."""
    of_row, parts = queue.to_dict(row), list[str]()
    if row.is_linked and len(part_ids(row.ids)) > 1:
        parts = [part.text for part in queue.prediction(row, plain=True).parts]
    return {name: of_row[name] for name in _WAITING} | {"parts": parts}

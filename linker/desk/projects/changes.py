"""What people change in a project: decisions on its rows, remarks, and what is undone."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from linker.desk.decisions import store as decisions
from linker.desk.decisions.store import DecisionStore, Step, add_step, identified
from linker.desk.projects import marks
from linker.desk.projects import store as rows
from linker.desk.projects.filters import Filter, Row
from linker.desk.projects.queue import Queue, Remark, RemarkKind
from linker.desk.projects.store import Missing, Origin, Taken
from linker.errors import LinkerError, shorten
from linker.ids import part_ids
from linker.linking.decisions import filled, form_of, ids_text, parts_of
from linker.records import Decision, Prediction
from linker.text.normalize import person

_OF_PROJECT = (
    "SELECT form, kind, value FROM remarks JOIN steps ON steps.id = step WHERE project = ?"
)
_LAST = (
    "SELECT value, reviewer FROM remarks JOIN steps ON steps.id = step "
    "WHERE project = ? AND form = ? AND kind = ? AND undone = '' ORDER BY remarks.id DESC LIMIT 1"
)
_ABOUT = (
    "SELECT mention FROM decisions JOIN details ON decision = id WHERE step = :step "
    "UNION ALL SELECT form FROM remarks WHERE step = :step"
)
_CHANGED_BY = (
    "SELECT (SELECT count(*) FROM details WHERE step = :step) "
    "+ (SELECT count(*) FROM remarks WHERE step = :step) "
    "+ (SELECT count(*) FROM marks WHERE step = :step)"
)
"""How many decisions, remarks and marks a step has."""
_LONGEST_NOTE = 500  # characters of a note that an error repeats
_LISTED = 3  # decisions of a step that its words tell


class Remarked(marks.Outdated):
    """There is another remark by now than the one that was shown.

    Args:
        kind: of the remark.
        value: what it is now.
        reviewer: whose it is.
    """

    def __init__(self, kind: RemarkKind, value: str, reviewer: str) -> None:
        self.value = value
        now = f"{shorten(value, _LONGEST_NOTE)!r}, by {reviewer or 'nobody named'}"
        super().__init__(f"the {kind} is now {now if value else 'gone'}; yours was not kept")


def decision_on(
    queue: Queue,
    key: str,
    said: Decision,
    here: bool = False,
    document: int | None = None,
    as_written: bool = False,
    part_texts: Sequence[str] | None = None,
) -> Decision:
    """What somebody says of the mentions of a row, as a decision.

    Args:
        queue: of the project.
        key: of the row.
        said: the decision, without its mention and scope.
        here: whether it holds in one document only; of a table, everywhere.
        document: the number of that; None: the first one of the row.
        as_written: whether it is on the short form itself, in this document only.
        part_texts: of a decision on some of the parts: the texts of the parts that were shown.

    Raises:
        Missing: there is no such row or document.
        Taken: the mention is read in other parts now.
        LinkerError: it is on more or fewer parts than the mention has, or see `identified`.
    """
    row, scope = queue.row(key), ""
    if here or as_written:
        scope = queue.document_id(document or row.document)
        if document and not scope:
            raise Missing(f"there is no document {document} in the project")
    text = row.mention if as_written else row.text
    decision = identified(replace(said, mention=text, scope=scope), queue.dictionary)
    if None in parts_of(decision):
        _check_parts(decision, queue.prediction(row), part_texts)
    return _with_own_parts(decision, queue, row)


def _check_parts(
    decision: Decision, prediction: Prediction, part_texts: Sequence[str] | None
) -> None:
    """See that a decision on some parts is on parts as the mention is read now.

    By its place alone it would be stored for another part, after another model reads the mention.

    Args:
        decision: leaves a part open.
        prediction: for the mention, as it is now.
        part_texts: those that were shown; None: whoever decided does not tell.

    Raises:
        Taken: no reading has parts of these texts.
        LinkerError: no reading, and no decision in force, has as many parts.
    """
    readings = [prediction.parts, *(rival.parts for rival in prediction.rivals)]
    known = [[form_of(part.text) for part in parts] for parts in readings]
    mention = shorten(decision.mention)
    count = len(parts_of(decision))
    if part_texts is not None:
        seen = [form_of(text) for text in part_texts]
        if len(seen) != count or seen not in known:
            raise Taken(f"{mention} is read in other parts by now; look at the row again")
    counts = {len(parts) for parts in known}
    counts.update(len(parts_of(other)) for other in prediction.decisions if other.accepted)
    if count not in counts:
        expected = " or ".join(str(number) for number in sorted(counts))
        raise LinkerError(f"{mention} is decided in {count} parts; expected {expected}")


def _with_own_parts(decision: Decision, queue: Queue, row: Row) -> Decision:
    """The decision on a part, with what the reviewer said of the others where their order differs.

    People may write the ids of a mention in any order, and the page shows them in the order of its
    parts: by their places alone, the decision would replace another part than the one that is seen.
    Only the reviewer's own ids are stored: what a disputed row shows is the model's answer.
    """
    parts = parts_of(decision)
    shown = tuple(part_ids(row.ids))
    if None not in parts or len(parts) != len(shown) or row.state == "disputed":
        return decision
    for earlier in queue.prediction(row).decisions:
        ids = parts_of(earlier)
        is_own = not earlier.bulk and person(earlier.reviewer) == person(decision.reviewer)
        is_in_other_order = ids != shown and Counter(ids) == Counter(shown)
        if earlier.accepted and is_own and None not in ids and is_in_other_order:
            return replace(decision, concept_id=ids_text(filled(parts, shown)))
    return decision


def words_of(decisions: Sequence[Decision]) -> str:
    """What decisions say, in words."""
    words = [
        f"{shorten(d.mention)}: {'' if d.accepted else 'not '}{d.concept_id or 'no concept'}"
        for d in decisions[:_LISTED]
    ]
    more = len(decisions) - len(words)
    return "; ".join(words) + (f", and {more:,} more" if more else "")


def acceptance(
    queue: Queue, wanted: Filter, version: int | None, reviewer: str, origin: Origin
) -> tuple[dict[str, Any], list[Decision]]:
    """The present answers of the rows of a filter that can be accepted in bulk, as decisions.

    Args:
        queue: of the project.
        wanted: which rows.
        version: of the queue when somebody looked at the figures; None: whatever it is.
        reviewer: who accepts.
        origin: of the answers.

    Returns:
        The figures, and the decisions, one for each form and document.

    Raises:
        Taken: the queue has changed since.
        LinkerError: there is nothing to accept.
    """
    if version not in (None, queue.version):
        raise Taken("the queue has changed meanwhile; look at the numbers again")
    there = queue.acceptable(wanted)
    if not there:
        raise LinkerError("no row of the filter has an answer that nobody decided on")
    about: dict[str, Any] = {"reviewer": reviewer, "model": origin.model, "bulk": True}
    about["release"] = origin.release
    places: dict[tuple[str, str], Row] = {}
    for row in there:
        places.setdefault((row.form, row.scope), row)
    made = [Decision(r.text, r.ids, scope=r.scope, **about) for r in places.values()]
    sure = ((row.count, row.confidence) for row in there if row.confidence is not None)
    figures = {
        "groups": len(there),
        "mentions": sum(row.count for row in there),
        "expected_wrong": round(sum(count * (1 - confidence) for count, confidence in sure), 2),
    }
    return figures, made


def remark(store: DecisionStore, step: Step, new: Remark, before: str | None = None) -> None:
    """Write a remark, as a step.

    Args:
        store: the file.
        step: whose it is, and of which project.
        new: the remark.
        before: what was shown in its place; None: whatever there is.

    Raises:
        Remarked: there is another one than `before`.
    """
    with store.transaction() as connection:
        if before is not None:
            last = connection.execute(_LAST, [step.project, *new[:2]]).fetchone()
            value, reviewer = last or ("", "")
            if value not in (before, new[2]):
                raise Remarked(new[1], value, reviewer)
        _write(connection, step, [new])


def remark_new(connection: sqlite3.Connection, step: Step, remarks: Iterable[Remark]) -> int:
    """Write the remarks that the project of a step never had, in a transaction; how many they are.

    Several on one form become one. Blanks do not count: tables have them instead of line ends.
    """
    known = {
        (form, kind, _plain(value))
        for form, kind, value in connection.execute(_OF_PROJECT, [step.project])
    }
    new: dict[tuple[str, RemarkKind], dict[str, str]] = {}
    for form, kind, value in remarks:
        if (form, kind, plain := _plain(value)) not in known:
            new.setdefault((form, kind), {})[plain] = value
    joined = ((*on, "; ".join(values.values())) for on, values in new.items())
    unknown = [r for r in joined if (r[0], r[1], _plain(r[2])) not in known]
    if unknown:
        _write(connection, step, unknown)
    return len(unknown)


def _write(connection: sqlite3.Connection, step: Step, remarks: Iterable[Remark]) -> None:
    number = add_step(connection, step)
    statement = "INSERT INTO remarks (step, form, kind, value) VALUES (?, ?, ?, ?)"
    connection.executemany(statement, [(number, *remark) for remark in remarks])


def _plain(value: str) -> str:
    """A remark without its line ends and further blanks."""
    return " ".join(value.split())


def undoable(connection: sqlite3.Connection, project: int, reviewer: str) -> dict[str, Any]:
    """What `undo` would take back: the number, words and time of the step, and how much it changed.

    Args:
        connection: to the file.
        project: in which.
        reviewer: whose step it is.

    Raises:
        Missing: there is no such project.
    """
    rows.project(connection, project)
    step = decisions.last_step(connection, project, reviewer)
    if step is None:
        return {"step": None}
    ((changed,),) = connection.execute(_CHANGED_BY, {"step": step.id})
    return {"step": step.id, "words": step.words, "time": step.time, "changes": changed}


def undo(
    store: DecisionStore, project: int, reviewer: str, expected: int | None = None
) -> tuple[Step, list[str], list[int]]:
    """Undo the last step of a reviewer in a project that is not undone.

    Its decisions are withdrawn, and its remarks and marks count no more.

    Args:
        store: the file.
        project: in which.
        reviewer: whose step it is.
        expected: the number of the step that was shown; None: whichever is the last.

    Returns:
        The step, the mentions that it was about, or their forms, and the documents that it marked.

    Raises:
        Missing: there is no such project, or nothing to undo.
        Taken: another step is the last one by now.
    """
    with store.transaction() as connection:
        rows.project(connection, project)
        last = decisions.last_step(connection, project, reviewer)
        if last and expected not in (None, last.id):
            raise Taken(f"{last.words!r} was done meanwhile, and would be undone first; try again")
        if (step := decisions.undo(connection, project, reviewer)) is None:
            raise Missing("there is nothing to undo")
        marked = marks.of_step(connection, step.id or 0)
        for document in marked:
            stored = rows.document(connection, project, document)
            marks.check_undone(connection, project, document, stored.document)
            marks.refresh(connection, project, document, stored.document)
        about = [text for (text,) in connection.execute(_ABOUT, {"step": step.id})]
        return step, about, marked

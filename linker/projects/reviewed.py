"""Decisions, flags and notes in a file that linker wrote, also after a person went through it."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from linker.decisions import exchange
from linker.decisions.reviewed import OF_ANOTHER, are_mappings
from linker.decisions.store import DecisionStore, Step, identified
from linker.errors import InputError, LinkerError, shorten
from linker.files import OpenFile, as_utf8, tables
from linker.ids import split_ids
from linker.linking.decisions import by_place, disagree, form_everywhere, place_of
from linker.linking.linker import Linker
from linker.projects import changes, linking
from linker.projects import store as rows
from linker.projects.changes import Remark
from linker.projects.sources import Content
from linker.projects.store import Origin
from linker.types import Decision

_NO = ("0", "no", "false")  # in the column of flags
_TOLD = 3  # mentions that are told
_MANY = 3  # mentions with decisions on others, which nobody corrected by hand
_WHY_STRANGE = "this is another project's file, or another column was named"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The decisions in a file, and what was remarked on mentions beside them."""

    decisions: Sequence[Decision]
    remarks: Sequence[Remark]  # as the cells have them
    problems: Sequence[str]  # of rows that are no decisions; each in a sentence
    refused: int = 0  # decisions that whoever reads the file in may not bring
    foreign: Sequence[str] = ()  # mentions that the project does not have
    of_model: Sequence[tuple[str, str]] = ()  # mentions and ids of rows that nobody decided
    other: Sequence[str] = ()  # such mentions whose ids the model does not answer

    def limited(self, may_say: Callable[[Decision], bool]) -> Reviewed:
        """Those that somebody may bring."""
        kept = list(filter(may_say, self.decisions))
        return replace(self, decisions=kept, refused=len(self.decisions) - len(kept))

    def on(self, connection: sqlite3.Connection, number: int) -> Reviewed:
        """Leave out what is said of mentions or documents that a project does not have.

        Args:
            connection: to the file.
            number: of the project; where not all its mentions are known, nothing is left out.
        """
        project = rows.project(connection, number)
        if project.kind == "documents" and linking.share(connection, project) < 1:
            return self
        forms, documents = linking.mentioned(connection, number)
        decisions, remarks, foreign = list[Decision](), list[Remark](), dict[str, None]()
        for decision in self.decisions:
            is_there = not decision.scope or decision.scope in documents
            if is_there and place_of(decision.mention, decision.scope)[0] in forms:
                decisions.append(decision)
            else:
                foreign[decision.mention] = None
        for remark in self.remarks:
            if remark[0] in forms:
                remarks.append(remark)
            else:
                foreign[remark[0]] = None
        of_model = ((text, ids, form_everywhere(text)) for text, ids in self.of_model)
        other = [
            text
            for text, ids, form in of_model
            if forms.get(form) and _set_of(ids) not in map(_set_of, forms[form])
        ]
        kept = replace(self, decisions=decisions, remarks=remarks)
        return replace(kept, foreign=[*foreign], other=list(dict.fromkeys(other)))


def is_reviewed(file: Content) -> bool:
    """Whether linker wrote a table with what people decided, or left room for it, or mappings."""
    return file.kind == "table" and (exchange.recognises(file.header) or are_mappings(file.header))


def check_new(file: Content) -> None:
    """Check that a file, in which nobody decided, is none that linker wrote.

    Raises:
        LinkerError: it is a table from which the decisions were removed, or a log.
    """
    if {*exchange.HISTORY} <= {*file.header}:
        raise LinkerError(
            f"{file.name}: is the log of what was done, from which nothing is read; "
            "export the decisions or the project, and give that"
        )
    if file.kind == "table" and exchange.lost_decisions(file.header):
        raise LinkerError(
            f"{file.name}: linker wrote it, and its column 'decisions' is gone, without which "
            "nobody knows what was decided before; put it back, or export the project again"
        )


def read(file: Content, linker: Linker, reviewer: str, origin: Origin) -> Reviewed:
    """Read the decisions in a file, as `linker review import` does, and its flags and notes.

    Args:
        file: see `is_reviewed`.
        linker: whose dictionary has their concepts.
        reviewer: who decided what names nobody.
        origin: of what names none.

    Raises:
        LinkerError: most of its decisions are not on the mentions beside which they stand.
    """
    problems: list[InputError] = []
    upload = OpenFile(io.BytesIO(file.content), file.name or "upload")
    text, _ = (upload, "") if file.format == "xlsx" else as_utf8(upload, file.encoding)
    is_usual = file.column.lower() == "mention" or are_mappings(file.header)
    known = partial(identified, dictionary=linker.dictionary)
    said = exchange.read(
        text,
        on_error=problems.append,
        check=known,
        column=None if is_usual else file.column,
        reviewer=reviewer,
    )
    decisions = [
        replace(d, model=d.model or origin.model, release=d.release or origin.release) for d in said
    ]
    strange = {problem.problem: problem for problem in problems if OF_ANOTHER in problem.problem}
    if len(strange) >= _MANY and len(strange) > len(
        {form_everywhere(d.mention) for d in decisions if d.time}
    ):
        raise LinkerError(f"{next(iter(strange.values()))}; {_WHY_STRANGE}; nothing was read")
    kept, contradictions = _consistent(decisions)
    told = [*map(str, problems), *contradictions]
    return Reviewed(kept, list(_remarks(file)), told, of_model=list(_of_model(file)))


def _consistent(decisions: Sequence[Decision]) -> tuple[list[Decision], list[str]]:
    """Leave out decisions that were made by setting states in a file, and contradict each other.

    Returns:
        The other decisions, and a sentence for each mention whose rows contradict each other.
    """
    odd = [said for said in by_place(d for d in decisions if not d.time).values() if disagree(said)]
    left_out = {id(decision) for said in odd for decision in said}
    kept = [decision for decision in decisions if id(decision) not in left_out]
    return kept, [f"rows of {said[0].mention!r} contradict each other" for said in odd]


def _of_model(file: Content) -> Iterator[tuple[str, str]]:
    """The mentions of a table on which nobody decided, and their ids."""
    places = exchange.places_of(file.header)
    if "state" not in places:
        return
    for row in file.rows:
        state, ids = ("".join(row.cells[places[n] :][:1]).strip() for n in ("state", "concept_id"))
        state = state.lower()
        if state in ("", "model", "disputed") or (state == "open" and ids):
            yield row.text, ids


def _set_of(ids: str) -> frozenset[str]:
    """The ids of an answer, in whatever order its parts are."""
    return frozenset(i for part in split_ids(ids) for i in part)


def _remarks(file: Content) -> Iterator[Remark]:
    """The flags and notes in a table, on the forms of its mentions."""
    places = exchange.behind_decisions(file.header)
    for row in file.rows:
        for kind in ("flag", "note"):
            place = places.get(kind, len(row.cells))
            if not (cell := "".join(row.cells[place : place + 1]).strip()):
                continue
            if cell[:1] == "'" and tables.inert(cell[1:]) == cell:  # as a table has "-?"
                cell = cell[1:]
            if kind == "note" or cell.lower() not in _NO:
                yield form_everywhere(row.text), kind, "1" if kind == "flag" else cell


def keep(
    store: DecisionStore, project: int, read: Reviewed, name: str, reviewer: str
) -> tuple[int, int]:
    """Store what is new in a file, as a step: decisions that the store never had, and flags and
    notes that the project never had, so that a file may be read again.

    Args:
        store: the file of decisions.
        project: in which.
        read: what is in the file.
        name: of the file.
        reviewer: who read it in.

    Returns:
        The number of new decisions, and of mentions that were flagged or noted about.
    """
    step = Step(f"read {name or 'a file'}", reviewer, project)
    added = exchange.add_new(store, read.decisions, step)
    step = replace(step, id=added[0].step if added else None)
    return len(added), changes.remark_new(store, step, read.remarks)


def told(read: Reviewed, added: int, remarked: int) -> list[str]:
    """What was read, in sentences."""
    notes = [f"decisions read: {len(read.decisions):,}; of them new: {added:,}"]
    if there := len({(form, kind) for form, kind, _ in read.remarks}):
        notes.append(f"flags and notes read: {there:,}; of them new: {remarked:,}")
    if read.foreign:
        first = ", ".join(map(shorten, read.foreign[:_TOLD]))
        notes.append(
            "mentions that the project does not have, on which nothing was read: "
            f"{len(read.foreign):,}, such as {first}; {_WHY_STRANGE}"
        )
    if read.other:
        first = ", ".join(map(shorten, read.other[:_TOLD]))
        notes.append(
            "mentions with another concept_id than the model's answer, on which nobody decided: "
            f"{len(read.other):,}, such as {first}; set their state to accepted where a person "
            "chose the concept"
        )
    if read.refused:
        notes.append(f"decisions of others, who have keys, passed over: {read.refused:,}")
    if read.problems:
        notes.append(
            f"rows that are no decisions: {len(read.problems):,}; the first: {read.problems[0]}"
        )
    return notes

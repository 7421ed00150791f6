"""What comes into a project: a file, or what people decided in one that linker wrote."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from linker.desk.decisions import exchange
from linker.desk.decisions.reviewed import OF_ANOTHER, Untaken, are_mappings
from linker.desk.decisions.store import (
    DecisionStore,
    Step,
    Write,
    directly,
    identified,
    last_step,
)
from linker.desk.projects import changes, linking
from linker.desk.projects import store as rows
from linker.desk.projects.queue import Remark
from linker.desk.projects.sources import Content
from linker.desk.projects.store import RECORD, Origin, Taken
from linker.errors import InputError, LinkerError, shorten
from linker.io import rows as tables
from linker.io.files import as_utf8
from linker.linking.decisions import by_place, disagree, form_everywhere, place_of
from linker.linking.linker import Linker
from linker.records import Decision

_NO = ("0", "no", "false")  # in the column of flags
_LISTED = 3  # mentions that notes name
_MANY = 3  # mentions with decisions on others, which nobody corrected by hand
_WHY_STRANGE = "this is another project's file, or another column was named"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The decisions in a file, and what was remarked on mentions beside them."""

    decisions: Sequence[Decision]
    remarks: Sequence[Remark]  # as the cells have them
    problems: Sequence[str]  # of rows that are no decisions; each in a sentence
    untaken: str = ""  # how many rows had another concept and no state, in a sentence
    refused: int = 0  # decisions that whoever reads the file in may not bring
    foreign: Sequence[str] = ()  # mentions that the project does not have

    def limited(self, may_say: Callable[[Decision], bool]) -> Reviewed:
        """Those that somebody may bring."""
        kept = list(filter(may_say, self.decisions))
        return replace(self, decisions=kept, refused=len(self.decisions) - len(kept))


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a file."""

    number: int  # of its project
    notes: Sequence[str]  # each in a sentence
    imported: int | None  # decisions that are new; None: it is no file that people reviewed
    repeated: int = (
        0  # decisions that were passed over, since they were stored before, and hold no more
    )
    type: str | None = None  # of the mentions that a new project links


@dataclass(frozen=True, slots=True)
class Session:
    """Who takes files, and with which model."""

    linker: Linker
    origin: Origin  # of its answers
    reviewer: str  # who decided what names nobody


def reviewed_in(file: Content, session: Session) -> Reviewed | None:
    """What is decided in a file that linker wrote; None for another one.

    Args:
        file: a table with what people decided, or mappings; or any other file.
        session: who reads it.

    Raises:
        LinkerError: most of its decisions are not on the mentions beside which they stand; or it
            is a table of linker from which the decisions were removed, or a log.
    """
    if file.kind == "table" and (exchange.recognises(file.header) or are_mappings(file.header)):
        return _read(file, session)
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
    return None


def _read(file: Content, session: Session) -> Reviewed:
    """Read decisions, as `linker review import` does, and flags and notes."""
    problems: list[InputError] = []
    text, _ = (file.file, "") if file.format == "xlsx" else as_utf8(file.file, file.encoding)
    is_usual = file.column.lower() == "mention" or are_mappings(file.header)
    untaken = Untaken(session.linker.dictionary)
    said = exchange.read(
        text,
        on_error=problems.append,
        check=partial(identified, dictionary=session.linker.dictionary),
        column=None if is_usual else file.column,
        reviewer=session.reviewer,
        untaken=untaken,
    )
    origin = session.origin
    decisions = [
        replace(d, model=d.model or origin.model, release=d.release or origin.release) for d in said
    ]
    strange = {problem.problem: problem for problem in problems if OF_ANOTHER in problem.problem}
    if len(strange) >= _MANY and len(strange) > len(
        {form_everywhere(d.mention) for d in decisions if d.time}
    ):
        raise LinkerError(f"{next(iter(strange.values()))}; {_WHY_STRANGE}; nothing was read")
    # states that were set in the file, and contradict each other
    odd = [said for said in by_place(d for d in decisions if not d.time).values() if disagree(said)]
    left_out = {id(decision) for said in odd for decision in said}
    kept = [decision for decision in decisions if id(decision) not in left_out]
    told = [*map(str, problems)]
    told += [f"rows of {said[0].mention!r} contradict each other" for said in odd]
    return Reviewed(kept, list(_remarks(file)), told, str(untaken) if untaken.rows else "")


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


def create(
    store: DecisionStore,
    file: Content,
    said: Reviewed | None,
    session: Session,
    name: str,
    kind: str | None,
    *,
    again: bool = False,
    write: Write = directly,
) -> Stored:
    """Make a project of a file, with what is decided in it.

    Where that was stopped once the project was there, it goes on with what is decided.

    Args:
        store: the file of decisions.
        file: what was read.
        said: see `reviewed_in`.
        session: who does it.
        name: of the project.
        kind: the type of the mentions to link; empty: all; None: see `linking.type_for`.
        again: see `exchange.add_new`.
        write: calls what writes; see `store.create`.

    Raises:
        Taken: there is a project of this name.
    """
    kind, notes = linking.type_for(file, session.linker, kind)
    number = 0
    with store.reading() as connection:
        file, further = _with_free_id(connection, file)
        if said is not None:
            number = rows.made_of(connection, name, file)
    if number:
        further.append("there is this project with this file already; its decisions were read")
    else:
        number = rows.create(store, name, file, kind, session.reviewer, session.origin, write)
    step = _step(file, number, session.reviewer)
    notes = [*file.notes, *notes, *further]
    return replace(_keep(store, step, said, notes, again, write), type=kind)


def add(
    store: DecisionStore,
    number: int,
    file: Content,
    said: Reviewed | None,
    reviewer: str,
    *,
    again: bool = False,
    write: Write = directly,
) -> Stored:
    """Add to a project what it does not have yet of a file; or what is decided in one of its own.

    Args:
        store: the file of decisions.
        number: of the project.
        file: what was read.
        said: see `reviewed_in`.
        reviewer: who does it.
        again: see `exchange.add_new`.
        write: calls what writes; see `store.create`.

    Raises:
        Missing: there is no such project.
        OtherKind: it is of another kind than the project.
        Taken: the project has all of it.
    """
    with store.reading() as connection:
        project = rows.project(connection, number)
        if said is not None:
            if project.kind != "documents" or linking.share(connection, project) == 1:
                said = _on(said, *linking.mentioned(connection, number))
            step = _step(file, number, reviewer)
            return _keep(store, step, said, file.notes, again, write)
        rows.check_kind(project, file.kind, file.name)
        rows.check_new(connection, number, file)
        others = [source.id for source in rows.sources(connection, number)]
        file = replace(file, left_out=_known_documents(connection, file, number))
        file, notes = _with_free_id(connection, file)
    if file.documents.count == len(file.left_out) > 0:
        raise Taken(
            f"{file.name or 'the file'}: the project has all its documents; decisions are read "
            "from tables (format tsv) and SSSOM alone"
        )
    if file.left_out:
        there = f"{len(file.left_out):,}"
        notes.insert(0, f"documents that the project has already, which were not added: {there}")
    rows.add(store, number, file, write, others)
    return Stored(number, [*file.notes, *notes], None)


def _known_documents(connection: sqlite3.Connection, file: Content, project: int) -> frozenset[int]:
    """The places of the documents of a file that a project has already."""
    known = set[int]()
    documents = enumerate(file.documents)
    for batch in rows.batches(documents, lambda placed: rows.cost_of_document(placed[1])):
        texts = _texts(connection, [document.id for _, document in batch], project)
        known |= {place for place, d in batch if _plain(d.text) in texts.get(d.id, ())}
    return frozenset(known)


def _texts(
    connection: sqlite3.Connection, ids: Sequence[str], project: int | None = None
) -> dict[str, set[str]]:
    """The texts that documents of some ids have, in a project or in all."""
    statement = (
        f"SELECT id, record FROM {rows.DOCUMENTS} WHERE id IN (SELECT value FROM json_each(?1)) "
        "AND (project = ?2 OR ?2 IS NULL)"
    )
    texts: dict[str, set[str]] = {}
    for identifier, record in connection.execute(statement, [json.dumps(ids), project]):
        text = RECORD.validate_json(record).document.text
        texts.setdefault(identifier, set()).add(_plain(text))
    return texts


def _plain(text: str) -> str:
    """A text without its line ends, which PubTator does not keep."""
    return " ".join(text.split())


def _with_free_id(connection: sqlite3.Connection, file: Content) -> tuple[Content, list[str]]:
    """The file, with another id where a text needs one, which a sentence says.

    A decision for one document alone holds in every document of the same id. A text has the name of
    its file as its id; where another text has, or had, that id, too, it gets another one. Ids that
    stand in a file stay.
    """
    if file.format != "txt":
        return file, []
    for text in file.new_documents:  # the only one
        there = _texts(connection, [text.id]).get(text.id, set())
        was = (
            "SELECT 1 FROM decisions WHERE scope = ? "
            "AND id NOT IN (SELECT decision FROM withdrawals)"
        )
        is_free = not there and not connection.execute(was, [text.id]).fetchone()
        if there == {_plain(text.text)} or is_free:
            break
        free = f"{text.id}-{zlib.crc32(text.text.encode()):08x}"
        note = f"another text has, or had, its name; this one has the id {free!r}"
        return replace(file, id=free), [note]
    return file, []


def _on(said: Reviewed, forms: Container[str], documents: Container[str]) -> Reviewed:
    """Leave out what is said of mentions or documents that a project does not have."""
    decisions, foreign = list[Decision](), dict[str, None]()
    for decision in said.decisions:
        is_there = not decision.scope or decision.scope in documents
        if is_there and place_of(decision.mention, decision.scope)[0] in forms:
            decisions.append(decision)
        else:
            foreign[decision.mention] = None
    remarks = [remark for remark in said.remarks if remark[0] in forms]
    foreign |= dict.fromkeys(form for form, *_ in said.remarks if form not in forms)
    return replace(said, decisions=decisions, remarks=remarks, foreign=[*foreign])


def _step(file: Content, number: int, reviewer: str) -> Step:
    """What reading a file into a project is called in its log."""
    return Step(f"read {file.name or 'a file'}", reviewer, number)


def _begun(store: DecisionStore, step: Step) -> Step:
    """A step of which not all is stored yet: the last one of its reviewer, where that was stopped
    before its end, or a new one."""
    begun = replace(step, words=f"{step.words}, not to its end")
    with store.reading() as connection:
        last = last_step(connection, step.project, step.reviewer)
    return last if last is not None and last.words == begun.words else begun


def _complete(store: DecisionStore, step: Step) -> None:
    """Note that all decisions of a step are stored."""
    with store.transaction() as connection:
        connection.execute("UPDATE steps SET words = ? WHERE id = ?", [step.words, step.id])


def _keep(
    store: DecisionStore,
    step: Step,
    said: Reviewed | None,
    notes: Sequence[str],
    again: bool,
    write: Write,
) -> Stored:
    """Store what is new of what people said in a file, as a step: decisions that the store never
    had, and flags and notes that the project never had, so that a file may be read again."""
    number = step.project or 0
    if said is None:
        return Stored(number, notes, None)
    begun = _begun(store, step)
    imported = exchange.import_new(store, said.decisions, begun, again=again, write=write)
    added = imported.added
    step = replace(step, id=added[0].step if added else begun.id)
    if step.id:
        write(_complete, store, step)
    remarked: int = write(_remark, store, step, said.remarks) if said.remarks else 0
    sentences = [f"decisions read: {len(said.decisions):,}; of them new: {len(added):,}"]
    if imported.repeated:
        sentences.append(exchange.repeated_text(imported.repeated))
    remark_count = len({(form, kind) for form, kind, _ in said.remarks})
    if remark_count:
        sentences.append(f"flags and notes read: {remark_count:,}; of them new: {remarked:,}")
    if said.foreign:
        examples = ", ".join(map(shorten, said.foreign[:_LISTED]))
        sentences.append(
            "mentions that the project does not have, on which nothing was read: "
            f"{len(said.foreign):,}, such as {examples}; {_WHY_STRANGE}"
        )
    if said.refused:
        sentences.append(f"decisions of others, who have keys, passed over: {said.refused:,}")
    if said.untaken:
        sentences.append(said.untaken)
    if said.problems:
        sentences.append(
            f"rows that are no decisions: {len(said.problems):,}; the first: {said.problems[0]}"
        )
    return Stored(number, [*notes, *sentences], len(added), imported.repeated)


def _remark(store: DecisionStore, step: Step, remarks: Sequence[Remark]) -> int:
    """Write the remarks that a project never had; how many they are."""
    with store.transaction() as connection:
        return changes.remark_new(connection, step, remarks)

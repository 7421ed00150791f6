"""Decisions, flags and notes in a file that linker wrote, also after a person went through it."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from linker.decisions import exchange
from linker.decisions.records import identified
from linker.decisions.steps import Step
from linker.decisions.store import DecisionStore
from linker.errors import InputError, LinkerError, shorten
from linker.files import OpenFile, encodings, tables
from linker.linking.linker import Linker
from linker.projects import changes, linking
from linker.projects.changes import Remark
from linker.projects.sources import Content
from linker.projects.store import Origin
from linker.types import Decision

_NO = ("0", "no", "false")  # in the column of flags
_TOLD = 3  # mentions that are told
_SAID = (b'"mention"', b'"accepted"')  # keys of the decisions beside an answer


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The decisions in a file, and what was remarked on mentions beside them."""

    decisions: Sequence[Decision]
    remarks: Sequence[Remark]  # as the cells have them
    problems: Sequence[str]  # of rows that are no decisions; each in a sentence
    refused: int = 0  # decisions that whoever reads the file in may not bring
    foreign: Sequence[str] = ()  # mentions that the project does not have

    def limited(self, may_say: Callable[[Decision], bool]) -> Reviewed:
        """Those that somebody may bring."""
        kept = list(filter(may_say, self.decisions))
        return replace(self, decisions=kept, refused=len(self.decisions) - len(kept))

    def on(self, forms: Collection[str], linker: Linker) -> Reviewed:
        """What is said of the mentions of a project, which have these forms."""
        decisions, remarks, foreign = list[Decision](), list[Remark](), dict[str, None]()
        for decision in self.decisions:
            if linking.form_in(linker, decision.mention) in forms:
                decisions.append(decision)
            else:
                foreign[decision.mention] = None
        for remark in self.remarks:
            if remark[0] in forms:
                remarks.append(remark)
            else:
                foreign[remark[0]] = None
        return replace(self, decisions=decisions, remarks=remarks, foreign=[*foreign])


def is_reviewed(file: Content) -> bool:
    """Whether linker wrote a file with what people decided, or left room for it."""
    if file.kind == "table":
        return exchange.recognises(file.header)
    return all(key in file.content for key in _SAID)


def check_new(file: Content) -> None:
    """Check that a file, in which nobody decided, is none that linker wrote.

    Raises:
        LinkerError: it is a table from which the decisions were removed.
    """
    if file.kind == "table" and exchange.lost_decisions(file.header):
        raise LinkerError(
            f"{file.name}: linker wrote it, and its column 'decisions' is gone, without which "
            "nobody knows what was decided before; put it back, or export the project again"
        )


def read(file: Content, linker: Linker, reviewer: str, origin: Origin) -> Reviewed:
    """Read the decisions in a file, as `linker decide` does, and the flags and notes beside them.

    Args:
        file: see `is_reviewed`.
        linker: whose dictionary has their concepts.
        reviewer: who decided what names nobody.
        origin: of what names none.
    """
    problems: list[InputError] = []
    upload = OpenFile(io.BytesIO(file.content), file.name or "upload")
    text, _ = (upload, "") if file.format == "xlsx" else encodings.as_utf8(upload, file.encoding)
    column = file.column if file.kind == "table" and file.column.lower() != "mention" else None
    known = partial(identified, dictionary=linker.dictionary)
    said = exchange.read(
        text, on_error=problems.append, check=known, column=column, reviewer=reviewer
    )
    decisions = [
        replace(d, model=d.model or origin.model, release=d.release or origin.release) for d in said
    ]
    return Reviewed(decisions, list(_remarks(file, linker)), list(map(str, problems)))


def _remarks(file: Content, linker: Linker) -> Iterator[Remark]:
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
                yield linking.form_in(linker, row.text), kind, "1" if kind == "flag" else cell


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
    words = f"in {name or 'a file'}"
    step = Step(f"read the flags and notes {words}", reviewer, project)
    remarked = changes.remark_new(store, step, read.remarks)
    step = Step(f"read the decisions {words}", reviewer, project)
    return len(exchange.add_new(store, read.decisions, step)), remarked


def told(read: Reviewed, added: int, remarked: int) -> list[str]:
    """What was read, in sentences."""
    notes = [f"decisions read: {len(read.decisions):,}; of them new: {added:,}"]
    if remarked:
        notes.append(f"new flags and notes: {remarked:,}")
    if read.foreign:
        first = ", ".join(map(shorten, read.foreign[:_TOLD]))
        notes.append(
            f"mentions that the project does not have, on which nothing was read: "
            f"{len(read.foreign):,}, such as {first}; this is another project's file, or another "
            "column was named"
        )
    if read.refused:
        notes.append(f"decisions of others, who have keys, passed over: {read.refused:,}")
    if read.problems:
        notes.append(
            f"rows that are no decisions: {len(read.problems):,}; the first: {read.problems[0]}"
        )
    return notes

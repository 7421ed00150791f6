"""Decisions in a file that linker wrote, also after a person went through it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from linker.decisions import exchange
from linker.decisions.records import identified
from linker.decisions.steps import Step
from linker.decisions.store import DecisionStore
from linker.dictionary import Dictionary
from linker.errors import InputError
from linker.files import OpenFile, encodings
from linker.projects.sources import Content
from linker.projects.store import Origin
from linker.types import Decision

_SAID = (b'"mention"', b'"accepted"')  # keys of the decisions beside an answer


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The decisions in a file."""

    decisions: Sequence[Decision]
    problems: Sequence[str]  # of rows that are no decisions; each in a sentence
    refused: int = 0  # decisions that whoever reads the file in may not bring

    def limited(self, may_say: Callable[[Decision], bool]) -> Reviewed:
        """Those that somebody may bring."""
        kept = list(filter(may_say, self.decisions))
        return replace(self, decisions=kept, refused=len(self.decisions) - len(kept))


def is_reviewed(file: Content) -> bool:
    """Whether linker wrote a file with what people decided, or left room for it."""
    if file.kind == "table":
        return exchange.recognises(file.header)
    return all(key in file.content for key in _SAID)


def read(file: Content, dictionary: Dictionary, reviewer: str, origin: Origin) -> Reviewed:
    """Read the decisions in a file, as `linker decide` does.

    Args:
        file: see `is_reviewed`.
        dictionary: has their concepts.
        reviewer: who decided what names nobody.
        origin: of what names none.
    """
    problems: list[InputError] = []
    upload = OpenFile(io.BytesIO(file.content), file.name or "upload")
    text, _ = (upload, "") if file.format == "xlsx" else encodings.as_utf8(upload, file.encoding)
    column = file.column if file.kind == "table" and file.column.lower() != "mention" else None
    known = partial(identified, dictionary=dictionary)
    said = exchange.read(
        text, on_error=problems.append, check=known, column=column, reviewer=reviewer
    )
    decisions = [
        replace(d, model=d.model or origin.model, release=d.release or origin.release) for d in said
    ]
    return Reviewed(decisions, list(map(str, problems)))


def keep(store: DecisionStore, project: int, read: Reviewed, name: str, reviewer: str) -> int:
    """Store the decisions of a file that are new, as a step; how many they are.

    Args:
        store: the file of decisions.
        project: in which.
        read: the decisions.
        name: of their file.
        reviewer: who read it in.
    """
    step = Step(f"read the decisions in {name or 'a file'}", reviewer, project)
    return len(exchange.add_new(store, read.decisions, step))


def told(read: Reviewed, added: int) -> list[str]:
    """What was read, in sentences."""
    notes = [f"{added:,} decisions were taken; {len(read.decisions) - added:,} were there already"]
    if read.refused:
        notes.append(f"{read.refused:,} decisions of others, who have keys, were passed over")
    if read.problems:
        notes.append(f"{len(read.problems):,} rows are no decisions; the first: {read.problems[0]}")
    return notes

"""Decisions as tables, as mentions to train on, and as mappings.

The table has a header and a row for each decision, quoted as all our tables are; see
`linker.outputs.tsv`. A table without a header has the columns mention and concept id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TextIO

from linker.decisions import mappings
from linker.decisions.records import Decision, checked, disagree, in_force
from linker.decisions.store import DecisionStore, Past
from linker.errors import InputError, LinkerError, OnError, stop
from linker.files import Pathlike, read_lines
from linker.outputs import sssom
from linker.outputs.tsv import row_writer
from linker.readers.tsv import unquoted

COLUMNS = (
    "decision",
    "mention",
    "concept_id",
    "accepted",
    "scope",
    "reviewer",
    "time",
    "model",
    "release",
)
HISTORY_COLUMNS = ("state", *COLUMNS[:2], "concept", *COLUMNS[3:], "withdrawn", "withdrawn_by")
"""No column is named concept_id, so that no reader takes decisions that hold no more."""
_OTHER_NAMES = {"id": "concept_id", "gold": "concept_id", "document_id": "scope"}
_YES, _NO = ("", "true", "yes", "1", "accepted"), ("false", "no", "0", "rejected")
_EXPECTED = "mention<TAB>concept id, or a header that names these columns"


def write(decisions: Iterable[Decision], file: TextIO) -> None:
    """Write decisions as a table, which `read` reads."""
    write_row = row_writer(file)
    write_row(COLUMNS)
    for decision in decisions:
        write_row(_cells(decision))


def write_history(past: Iterable[Past], file: TextIO) -> None:
    """Write decisions with what became of them, for people; `read` refuses the table."""
    write_row = row_writer(file)
    write_row(HISTORY_COLUMNS)
    for p in past:
        state = "withdrawn" if p.withdrawn else "in force" if p.is_in_force else "replaced"
        write_row((state, *_cells(p.decision), p.withdrawn, p.withdrawn_by))


def _cells(d: Decision) -> tuple[str, ...]:
    """The cells of `COLUMNS`."""
    accepted = "true" if d.accepted else "false"
    number = "" if d.id is None else str(d.id)
    texts = (d.scope, d.reviewer, d.time, d.model, d.release)
    return number, d.mention, d.concept_id or "-1", accepted, *texts


def read(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    check: Callable[[Decision], Decision] = checked,
) -> Iterator[Decision]:
    """Yield the decisions of a table, or of mappings in SSSOM, without their numbers.

    Args:
        path: the file.
        on_error: what to do with a bad row; returns to skip it.
        check: gives a decision as it is stored, and raises LinkerError for one that cannot be.

    Raises:
        InputError: the header is not known, or a row is no decision and `on_error` raises.
    """
    lines = read_lines(path, on_error=on_error)
    if (first := next(lines, None)) is None:
        return
    is_mappings = mappings.recognises(path, first[1])
    rows = (mappings.read if is_mappings else _table)(path, chain([first], lines), on_error)
    for number, line, decision in rows:
        try:
            decision = check(decision)
        except LinkerError as error:
            on_error(InputError(path, str(error), line=number, value=line))
        else:
            yield decision


def _table(
    path: Pathlike, lines: Iterable[tuple[int, str]], on_error: OnError
) -> Iterator[mappings.Row]:
    """Yield the decisions of a table, which are not yet checked."""
    header: Mapping[str, int] = {"mention": 0, "concept_id": 1}
    for number, line in lines:
        cells = [cell.strip() for cell in unquoted(line.split("\t"))]
        if number == 1 and (names := _header(path, line, cells)):
            header = names
            continue
        if not any(cells):
            continue
        try:
            decision = _decision(cells, header)
        except LinkerError as error:
            on_error(InputError(path, str(error), line=number, value=line))
        else:
            yield number, line, decision


def _header(path: Pathlike, line: str, cells: list[str]) -> Mapping[str, int] | None:
    """The places of the columns; None for a line that is no header."""
    lower = [cell.lower() for cell in cells]
    if "mention" not in lower:
        return None
    names = {_OTHER_NAMES.get(name, name): place for place, name in enumerate(lower)}
    if "concept_id" not in names or "rank" in names:
        problem = "the header has no column concept_id"
        if "rank" in names:
            problem = "the rows are candidates that linker link wrote, not decisions"
        raise InputError(path, problem, line=1, value=line, expected=_EXPECTED)
    return names


def _decision(cells: list[str], header: Mapping[str, int]) -> Decision:
    """The decision in the cells of a row."""
    if len(cells) <= max(header["mention"], header["concept_id"]):
        raise LinkerError(
            f"the row has {len(cells)} column{'s' * (len(cells) > 1)}; expected {_EXPECTED}"
        )

    def cell(name: str) -> str:
        place = header.get(name, len(cells))
        return cells[place] if place < len(cells) else ""

    accepted = cell("accepted").lower()
    if accepted not in (*_YES, *_NO):
        raise LinkerError("the column accepted is neither true nor false")
    return Decision(
        cell("mention"),
        cell("concept_id"),
        accepted in _YES,
        cell("scope"),
        cell("reviewer"),
        cell("time"),
        cell("model"),
        cell("release"),
    )


def add_new(store: DecisionStore, decisions: Iterable[Decision]) -> list[Decision]:
    """Add the decisions that the store never had; an import may be repeated.

    One that was withdrawn stays so, unless it was taken anew, at another time.

    Returns:
        Those that were added.
    """
    known = {_key(past.decision) for past in store.history()}
    new = {_key(d): d for d in decisions if _key(d) not in known}
    return store.add(new.values())


def _key(d: Decision) -> tuple[str | bool, ...]:
    return d.mention, d.concept_id, d.accepted, d.scope, d.reviewer, d.time


def write_mentions(decisions: Iterable[Decision], file: TextIO) -> int:
    """Write accepted decisions as annotated mentions, which `linker train --mentions` reads.

    Left out are those on which reviewers disagree, rejections, those that hold in one document
    only, since training would take them for names that hold everywhere, and those by which a part
    of a mention has no concept, which an annotation cannot say.

    Returns:
        The number of decisions that were left out.
    """
    write_row = row_writer(file)
    write_row(("mention", "concept_id"))
    left_out = 0
    for of_place in in_force(decisions).values():
        kept = [d for d in of_place if d.accepted and not d.scope and _is_whole(d)]
        if disagree(of_place):
            kept = []
        for decision in kept[:1]:  # the others agree with it
            write_row((decision.mention, decision.concept_id or "-1"))
        left_out += len(of_place) - len(kept)
    return left_out


def write_sssom(
    decisions: Iterable[Decision], file: TextIO, name: Callable[[str], str] | None = None
) -> int:
    """Write decisions as mappings, see `linker.outputs.sssom.write_curated`.

    Returns:
        The number of decisions that were left out, which a mapping cannot say.
    """
    decisions = list(decisions)
    whole = list(filter(_is_whole, decisions))
    return sssom.write_curated(whole, file, name=name) + len(decisions) - len(whole)


def _is_whole(decision: Decision) -> bool:
    """Whether all parts have a concept, or none has one."""
    return len(decision.parts) in (1, len(decision.concepts))

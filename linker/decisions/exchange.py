"""Decisions as tables, as mentions to train on, and as mappings.

The table has a header and a row for each decision, quoted as all our tables are; see
`linker.outputs.tsv`. A table without a header has the columns mention and concept id.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, TextIO

from linker.decisions import reviewed
from linker.decisions.records import (
    checked,
    concepts_of,
    disagree,
    in_force,
    parts_of,
    place_of,
    standing,
    voice,
)
from linker.decisions.reviewed import Record
from linker.decisions.store import DecisionStore, Step
from linker.dictionary import Dictionary
from linker.errors import InputError, LinkerError, OnError, RecordError, stop
from linker.files import OpenFile, Pathlike, open_binary, parse_json, read_lines, reading, tables
from linker.files.rows import TableRow
from linker.outputs import settles_of, sssom, tsv
from linker.outputs.tsv import row_writer
from linker.readers import mentions
from linker.types import Decision

Form = Literal["tsv", "sssom", "mentions"]
"""A table for `read`, mappings, or annotated mentions to train on."""
COLUMNS = (
    *("decision", "mention", "concept_id", "accepted"),
    *("scope", "reviewer", "time", "model", "release", "predicate", "bulk", "settles"),
)
_OTHER_NAMES = {"id": "concept_id", "gold": "concept_id", "document_id": "scope", "others": "bulk"}
_BEHIND = ("predicate", "flag", "note")
"""Columns that linker writes behind that of the decisions; before it they are a user's own."""
_SAID = ("state", "source", "reviewer", "time")  # columns that are there where decisions are
FILL_IN = " (fill in)"
"""How the titles of columns end in which people say what they decide."""
_ADDED = re.compile(r"linker_(.+?)(?:_\d+)?")
"""A column that linker added to a table that has one of this name."""
_YES, _NO = ("", "true", "yes", "1", "accepted"), ("false", "no", "0", "rejected")
_REVIEW_TABLES = (
    "a table with a row for each mention (linker link --column, linker review export --project)"
)
_OVERRULED = "another decision stands above it"
_EXPECTED = "mention<TAB>concept id, or a header that names the columns mention and concept_id"


def export(
    decisions: Iterable[Decision], form: Form, file: TextIO, dictionary: Dictionary | None
) -> Counter[str]:
    """Write decisions in a format.

    Mappings and mentions leave out those that another decision settles.

    Args:
        decisions: those in force, in order of entry.
        form: the format.
        file: where to write.
        dictionary: has the names of concepts for `sssom`; None: they have none.

    Returns:
        The number of decisions that were left out, by why.
    """
    if form == "mentions":
        return write_mentions(decisions, file)
    if form == "tsv":
        write(decisions, file)
        return Counter()
    decisions = list(decisions)
    kept = [d for of_place in in_force(decisions).values() for d in standing(of_place)]
    sssom.write_curated(
        sorted(kept, key=lambda d: d.id or 0), file, name=partial(name_of, dictionary)
    )
    return Counter({_OVERRULED: len(decisions) - len(kept)})


def name_of(dictionary: Dictionary | None, identifier: str) -> str:
    """The name that a dictionary has for a concept; empty where it has none of this very id."""
    for row in dictionary.rows(identifier)[:1] if dictionary else ():
        if dictionary and dictionary.ids[row] == identifier:
            return dictionary.preferred_name(row)
    return ""


def write(decisions: Iterable[Decision], file: TextIO) -> None:
    """Write decisions as a table, which `read` reads."""
    write_row = row_writer(file)
    write_row(COLUMNS)
    for decision in decisions:
        write_row(cells(decision))


def cells(d: Decision) -> tuple[str, ...]:
    """The cells of `COLUMNS`."""
    accepted = "true" if d.accepted else "false"
    number = "" if d.id is None else str(d.id)
    settles = json.dumps(d.settles) if d.settles else ""
    texts = (d.scope, d.reviewer, d.time, d.model, d.release, d.predicate, "true" * d.bulk, settles)
    return number, d.mention, d.concept_id or "-1", accepted, *texts


def read(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    check: Callable[[Decision], Decision] = checked,
    column: str | None = None,
    reviewer: str = "",
) -> Iterator[Decision]:
    """Yield the decisions of a file, without their numbers.

    It is a table (tsv, csv, xlsx) of decisions or of answers that linker wrote, or mappings in
    SSSOM; see `linker.decisions.reviewed`.

    Args:
        path: the file.
        on_error: what to do with a bad row; returns to skip it.
        check: gives a decision as it is stored, and raises LinkerError for one that cannot be.
        column: of a table, the one that holds the mentions; None: `mention`.
        reviewer: who decided what names nobody.

    Raises:
        InputError: the header is not known, or a row is no decision and `on_error` raises.
    """
    for number, text, decisions in _records(path, on_error, column, reviewer):
        try:
            for decision in decisions:
                try:
                    stored = check(decision)
                except LinkerError as error:
                    on_error(InputError(path, str(error), line=number, value=text))
                else:
                    yield stored
        except ValueError as error:
            known = error if isinstance(error, RecordError) else RecordError(str(error), text)
            on_error(known.at(path, number))


def _records(
    path: Pathlike, on_error: OnError, column: str | None, reviewer: str
) -> Iterator[Record]:
    """The records of a file, with their decisions, which are not yet checked."""
    if not isinstance(path, OpenFile) and not Path(path).is_file():  # a pipe is read only once
        with open_binary(path) as pipe, reading(path):
            path = OpenFile(io.BytesIO(pipe.read()), str(path))
    if not tables.is_workbook(path):
        lines = read_lines(path, limit=None, keep_ends=True, on_error=on_error)
        if (first := next(lines, None)) is None:
            return
        if column is None and reviewed.recognises_mappings(path, first[1].rstrip("\r\n")):
            yield from reviewed.of_mappings(path, chain([first], lines), reviewer, on_error)
            return
        if column is None and (kind := mentions.detect(path)) in ("pubtator", "bioc", "jsonl"):
            raise LinkerError(
                f"{path}: is {kind}; decisions are read from {_REVIEW_TABLES}, or SSSOM"
            )
    table = tables.read(path, [column or "mention"], on_error=on_error)
    header = _header(table, column)
    if header and "state" in header:
        yield from reviewed.of_table(table.rows(), header, reviewer)
        return
    above = [] if header else [TableRow(1, table.header, "\t".join(table.header))]
    header = header or {"mention": 0, "concept_id": 1}
    for row in chain(above, table.rows()):
        if any(map(str.strip, row.cells)):
            text = row.line or "\t".join(map(str.strip, row.cells))
            yield row.number, text, _decided(row, header, reviewer)


def _header(table: tables.Table, column: str | None) -> dict[str, int] | None:
    """The places of the columns that linker wrote; None for a first row that is no header.

    A table of answers has those columns, whatever else stands there, which is passed over.

    Raises:
        InputError: a column is missing.
    """
    names = places_of(table.header)
    if column is not None:
        names["mention"] = tables.place_of(table, column)
    if "mention" not in names and not {"concept_id", "state"} <= names.keys():
        return None
    has_answers = "matched_name" in names or ("state" in names and "accepted" not in names)
    needed = ["mention", "concept_id", *["state"] * has_answers]
    needed += ["decisions"] * lost_decisions(table.header)
    missing = next((name for name in needed if name not in names), "")
    problem = f"the header has no column {missing}" if missing else ""
    if {*tsv.COLUMNS} <= names.keys():
        problem = f"the rows are candidates of mentions; decisions are read from {_REVIEW_TABLES}"
    elif missing == "mention":
        problem += "; name it with --column"
    if problem:
        line = ", ".join(table.header)
        raise InputError(table.path, problem, line=1, value=line, expected=_EXPECTED)
    if not has_answers:
        return {name: place for name, place in names.items() if name != "state"}
    written = {"mention", "concept_id", "rejected", "state", *behind_decisions(table.header)}
    if column is None and "spans" in names:
        written |= {"scope", "spans", "expanded"}
    if "decisions" in names:
        written |= {"decisions", "reviewer"}
    return {name: place for name, place in names.items() if name in written}


def recognises(header: Sequence[str]) -> bool:
    """Whether a table has the columns in which linker says what people decided, or is one of
    decisions."""
    names = places_of(header).keys()
    return {"concept_id", "state", "decisions"} <= names or {*COLUMNS[:4]} <= names


def lost_decisions(header: Sequence[str]) -> bool:
    """Whether a table has columns that linker wrote, but not that of the decisions."""
    names = places_of(header).keys()
    return {"concept_id", *_SAID} <= names and "decisions" not in names


def behind_decisions(header: Sequence[str]) -> dict[str, int]:
    """The places of the columns in which people say more of what they decided: `_BEHIND`."""
    names = places_of(header)
    first = names.get("decisions", len(header))
    return {name: names[name] for name in _BEHIND if names.get(name, -1) > first}


def places_of(header: Sequence[str]) -> dict[str, int]:
    """The names of the columns in lower case, as linker writes them, with their places.

    Of several columns of a name the last one counts: linker adds its own at the right.
    """
    names = {}
    for place, title in enumerate(header):
        name = title.strip().lower()
        if added := _ADDED.fullmatch(name):
            name = added[1]
        names[name.removesuffix(FILL_IN)] = place
    for other, name in _OTHER_NAMES.items():
        if other in names and name not in names:
            names[name] = names.pop(other)
    return names


def _decided(row: TableRow, header: Mapping[str, int], reviewer: str) -> Iterator[Decision]:
    """The decision in a row of a table of decisions.

    Raises:
        ValueError: it has none.
    """
    if len(row.cells) <= max(header["mention"], header["concept_id"]):
        raise ValueError(
            f"the row has {len(row.cells)} column{'s' * (len(row.cells) > 1)}; expected {_EXPECTED}"
        )
    cells = reviewed.cells_of(row, header)
    accepted = cells["accepted"].lower()
    if accepted not in (*_YES, *_NO):
        raise ValueError("the column accepted is neither true nor false")
    who, when = cells["reviewer"] or reviewer, (cells["time"], cells["model"], cells["release"])
    yield Decision(
        *(cells["mention"], cells["concept_id"], accepted in _YES, cells["scope"], who, *when),
        predicate=reviewed.predicate_of(cells["predicate"]),
        bulk=cells["bulk"].lower() not in ("", *_NO),
        settles=settles_of(parse_json(cells["settles"] or "[]")),
    )


_DAY = len("2026-11-27")  # of a time


def add_new(
    store: DecisionStore, decisions: Iterable[Decision], step: Step | None = None
) -> list[Decision]:
    """Add the decisions that the store never had, so that an import may be repeated, and return
    them.

    One that was withdrawn stays so, unless it was taken anew, at another time; of a time that is a
    day alone, as mappings (SSSOM) have it, on another day.

    Args:
        store: the file.
        decisions: what was said.
        step: see `DecisionStore.add`.
    """
    past = [entry.decision for entry in store.history()]
    known = {*map(_key, past), *(_key(replace(d, time=d.time[:_DAY])) for d in past)}
    in_force_now = {_key(replace(decision, time="")) for decision in store.list()}
    new, last = list[Decision](), dict[tuple[str | bool, ...], tuple[str | bool, ...]]()
    for decision in decisions:
        place = (*place_of(decision.mention, decision.scope), *voice(decision))
        key = _key(decision)
        if decision.time:
            is_said = key in known
        else:
            is_said = last[place] == key if place in last else key in in_force_now
        if not is_said:
            new.append(decision)
            known.add(key)
            last[place] = key
    return store.add(new, step) if new else []


def _key(d: Decision) -> tuple[str | bool, ...]:
    said = d.concept_id, d.accepted, d.reviewer, d.time, d.predicate
    return *place_of(d.mention, d.scope), *said, d.bulk, *d.settles


def write_mentions(decisions: Iterable[Decision], file: TextIO) -> Counter[str]:
    """Write decisions as annotated mentions, which `linker train --mentions` reads; see `taught`.

    Returns:
        The number of decisions that were left out, by why.
    """
    write_row = row_writer(file)
    write_row(("mention", "concept_id"))
    left_out = Counter[str]()
    for of_place in in_force(decisions).values():
        for decision in _teaching(of_place)[:1]:
            write_row((decision.mention, decision.concept_id or "-1"))
        left_out.update(filter(None, _why_not(of_place)))
    return left_out


def taught(in_force: Iterable[Sequence[Decision]]) -> list[Decision]:
    """The decisions that training learns, one for each mention, of those in force on each.

    Left out are those on which reviewers disagree, rejections, those that hold in one document
    only, those that were accepted in bulk, which is what the model says itself, and
    those that somebody calls broader, narrower or related, since training would take them for names
    of the concept that hold everywhere; and those by which a part of a mention has no concept,
    which an annotation cannot say.
    """
    return [decision for of_place in in_force for decision in _teaching(of_place)[:1]]


def _teaching(of_place: Sequence[Decision]) -> list[Decision]:
    """The decisions on a mention that training may learn; all of them say the same."""
    return [d for d, why in zip(of_place, _why_not(of_place), strict=True) if not why]


def _why_not(of_place: Sequence[Decision]) -> Iterator[str]:
    """Yield why training may not learn each decision on a mention; empty: it may."""
    counting = standing(of_place)
    is_disputed, is_inexact = disagree(counting), any(d.predicate for d in counting)
    for d in of_place:
        whys = {
            "accepted in bulk": d.bulk,
            _OVERRULED: d not in counting,
            "reviewers disagree": is_disputed,
            "the concept is broader, narrower or related": is_inexact,
            "rejected": not d.accepted,
            "of one document": bool(d.scope),
            "a part has no concept": not _is_whole(d),
        }
        yield next((why for why, holds in whys.items() if holds), "")


def _is_whole(decision: Decision) -> bool:
    """Whether all parts have a concept, or none has one."""
    return len(parts_of(decision)) in (1, len(concepts_of(decision)))

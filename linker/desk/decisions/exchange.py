"""Decisions in files: tables, mappings, mentions to train on, and the log of what was done.

A table has a header and a row for each decision, quoted as all our tables are; see
`linker.io.tsv`. A table without a header has the columns mention and concept id. Tables of
answers, and mappings, that a person went through are read by `linker.desk.decisions.reviewed`.
"""

from __future__ import annotations

import json
import math
import operator
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Literal, TextIO

from linker.desk.decisions import reviewed
from linker.desk.decisions.reviewed import Cells, Record, Untaken, cells_of
from linker.desk.decisions.store import DecisionStore, Step, Write, checked, directly, insert
from linker.dictionary import Dictionary
from linker.errors import InputError, LinkerError, OnError, RecordError, check_wanted, stop
from linker.io import rows as tables
from linker.io import sssom, tsv
from linker.io.files import Pathlike, parse_json
from linker.io.outputs import row_writer, settles_of
from linker.io.rows import TableRow
from linker.linking.decisions import (
    Place,
    decided_places,
    disagree,
    ids_text,
    in_force,
    merged,
    number_of,
    parts_of,
    place_of,
    standing,
    voice,
)
from linker.linking.decisions_file import Past
from linker.records import Decision
from linker.text.normalize import person

Form = Literal["tsv", "sssom", "mentions"]
"""A table for `read`, mappings, or annotated mentions to train on."""
COLUMNS = (
    *("decision", "mention", "concept_id", "accepted"),
    *("scope", "reviewer", "time", "model", "release", "predicate", "bulk", "settles"),
)
FILL_IN = " (fill in)"
"""How the titles of columns end in which people say what they decide."""
_BEHIND = ("predicate", "flag", "note")
"""Columns that linker writes behind that of the decisions; before it they are a user's own."""
_REVIEW_TABLES = (
    "a table with a row for each mention (linker link --column, linker review export --project)"
)
_YES, _NO = ("", "true", "yes", "1", "accepted"), ("false", "no", "0", "rejected")
_EXPECTED = "mention<TAB>concept id, or a header that names the columns mention and concept_id"
_BATCH = 500  # decisions of a file that are stored together
_DAY = len("2026-11-27")  # of a time


def export(
    decisions: Iterable[Decision], form: Form, file: TextIO, dictionary: Dictionary | None = None
) -> int:
    """Write decisions in a format; mappings and mentions leave out those that others settle.

    Args:
        decisions: those in force, in order of entry.
        form: the format; `mentions`: what training learns (see `taught`), for `linker train`.
        file: where to write.
        dictionary: has the names of concepts for `sssom`; None: they have none.

    Returns:
        The number of decisions that were left out.
    """

    def name(identifier: str) -> str:
        rows = dictionary.rows(identifier) if dictionary else ()
        is_named = dictionary and rows and dictionary.ids[rows[0]] == identifier
        return dictionary.preferred_name(rows[0]) if dictionary and is_named else ""

    decisions = list(decisions)
    places = in_force(decisions).values()
    if form == "tsv":
        write(decisions, file)
        return 0
    if form == "sssom":
        counting = (decision for of_place in places for decision in standing(of_place))
        kept = sorted(counting, key=lambda decision: decision.id or 0)
        sssom.write_curated(kept, file, name=name)
        return len(decisions) - len(kept)
    write_row = row_writer(file)
    write_row(("mention", "concept_id"))
    for decision in taught(places):
        write_row((decision.mention, decision.concept_id or "-1"))
    return len(decisions) - sum(len(_teaching(of_place)) for of_place in places)


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


def taught(places: Iterable[Sequence[Decision]]) -> list[Decision]:
    """The decisions that training learns, one for each mention, of those in force on each.

    Left out are those on which reviewers disagree, rejections, those that hold in one document
    only, those that were accepted in bulk, which is what the model says itself, and
    those that somebody calls broader, narrower or related, since training would take them for names
    of the concept that hold everywhere; and those by which a part of a mention has no concept,
    which an annotation cannot say, or is open.
    """
    lessons = []
    for of_place in places:
        teaching = _teaching(of_place)
        whole = [decision for decision in teaching if None not in parts_of(decision)]
        if whole:
            lessons.append(whole[0])
        elif teaching:  # each part was decided alone
            parts = merged(teaching)
            ids = ids_text(parts) if any(parts) else ""
            lessons.append(replace(teaching[0], concept_id=ids))
    return lessons


def _teaching(of_place: Sequence[Decision]) -> Sequence[Decision]:
    """The decisions on a mention that training may learn; together they say one thing."""
    counting = standing(of_place)
    if disagree(counting) or any(d.predicate for d in counting):
        return []
    accepted = [d for d in counting if d.accepted and not (d.bulk or d.scope)]
    parts = merged(accepted)
    return accepted if all(parts) or (not any(parts) and None not in parts) else []


# reading


def read(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    check: Callable[[Decision], Decision] = checked,
    column: str | None = None,
    reviewer: str = "",
    untaken: Untaken | None = None,
) -> Iterator[Decision]:
    """Yield the decisions of a file, without their numbers.

    It is a table (tsv, csv, xlsx) of decisions or of answers that linker wrote, or mappings in
    SSSOM; see `linker.desk.decisions.reviewed`.

    Args:
        path: the file.
        on_error: what to do with a bad row; returns to skip it.
        check: gives a decision as it is stored, and raises LinkerError for one that cannot be.
        column: of a table, the one that holds the mentions; None: `mention`.
        reviewer: who decided what names nobody.
        untaken: takes note of rows in which a concept was changed and no state was set.

    Raises:
        InputError: the header is not known, or a row is no decision and `on_error` raises.
    """
    wanted = [column] if column else ["mention", reviewed.MENTION]
    table = tables.read(path, wanted, on_error=on_error)
    for row, decisions in _records(table, column, reviewer, untaken):
        text = row.line or "\t".join(map(str.strip, row.cells))
        try:
            yield from [check(decision) for decision in decisions]
        except (LinkerError, ValueError) as error:
            known = error if isinstance(error, RecordError) else RecordError(str(error), text)
            on_error(known.at(path, row.number))


def _records(
    table: tables.Table, column: str | None, reviewer: str, untaken: Untaken | None
) -> Iterator[Record]:
    """The rows of a table, with their decisions, which are not yet checked."""
    rows: Iterable[TableRow] = (row for row in table.rows() if any(map(str.strip, row.cells)))
    names = places_of(table.header)
    if column is not None:
        names["mention"] = tables.place_of(table, column)
    elif reviewed.are_mappings(table.header):
        yield from reviewed.of_mappings(table.path, rows, names, reviewer)
        return
    is_headed = {"mention", "object_id"} & {*names} or {"concept_id", "state"} <= names.keys()
    if not is_headed:
        rows = chain([TableRow(1, table.header, "\t".join(table.header))], rows)
        names = {"mention": 0, "concept_id": 1}
    elif problem := _lack_of(names):
        first = ", ".join(table.header)
        raise InputError(table.path, problem, line=1, value=first, expected=_EXPECTED)
    elif _are_answers(names):
        names = _columns_of_answers(names, column is None)
        for row in rows:
            pass_over = partial(untaken.see, row.number) if untaken else reviewed.ignore
            yield row, reviewed.of_answer(cells_of(row, names), reviewer, pass_over)
        return
    yield from ((row, _decision(cells_of(row, names), reviewer)) for row in rows)


def _decision(cells: Cells, reviewer: str) -> Iterator[Decision]:
    """The decision in a row of a table of decisions; none where all parts are open.

    Raises:
        ValueError: it has none.
    """
    if not {"mention", "concept_id"} <= cells.keys():
        raise ValueError(f"the row has too few columns; expected {_EXPECTED}")
    if not decided_places(Decision("", cells["concept_id"])):
        return  # "?": nothing is decided
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


# columns


def places_of(header: Sequence[str]) -> dict[str, int]:
    """The names of the columns in lower case, as linker writes them, with their places.

    Of several columns of a name the last one counts: linker adds its own at the right.
    """
    names = (
        title.strip().lower().removeprefix("linker_").removesuffix(FILL_IN) for title in header
    )
    places = {name: place for place, name in enumerate(names)}
    for other, name in (("id", "concept_id"), ("document_id", "scope"), ("others", "bulk")):
        if other in places and name not in places:
            places[name] = places.pop(other)
    return places


def recognises(header: Sequence[str]) -> bool:
    """Whether a table has the columns in which linker says what people decided, or is one of
    decisions."""
    names = places_of(header).keys()
    is_of_decisions = {"decision", "mention", "concept_id", "accepted"} <= names
    return is_of_decisions or {"concept_id", "state", "decisions"} <= names


def _are_answers(names: Mapping[str, int]) -> bool:
    """Whether a table has answers, by its columns."""
    return "matched_name" in names or ("state" in names and "accepted" not in names)


def _lack_of(names: Mapping[str, int]) -> str:
    """Why no decisions can be read from a table of these columns; empty where they can be."""
    if {*tsv.COLUMNS} <= names.keys():
        return f"the rows are candidates of mentions; decisions are read from {_REVIEW_TABLES}"
    needed = {"mention", "concept_id", *["state"] * _are_answers(names)}
    needed |= {"decisions"} if lost_decisions([*names]) else set()
    missing = ", ".join(sorted(needed - names.keys()))
    return f"the header has no column {missing} (--column names that of mentions)" * bool(missing)


def lost_decisions(header: Sequence[str]) -> bool:
    """Whether a table has columns that linker wrote, but not that of the decisions."""
    names = places_of(header).keys()
    written = {"concept_id", "state", "source", "reviewer", "time"}
    return written <= names and "decisions" not in names


def behind_decisions(header: Sequence[str]) -> dict[str, int]:
    """The places of the columns in which people say more of what they decided: `_BEHIND`."""
    return _behind(places_of(header))


def _behind(names: Mapping[str, int]) -> dict[str, int]:
    first = names.get("decisions", -1)
    return {name: names[name] for name in _BEHIND if names.get(name, -1) > first >= 0}


def _columns_of_answers(names: Mapping[str, int], is_ours: bool) -> dict[str, int]:
    """Those columns of a table of answers that linker wrote; other ones are the user's.

    Args:
        names: the places of all columns.
        is_ours: whether linker wrote the whole table, and not columns beside a user's.
    """
    written = {"mention", "concept_id", "name", "rejected", "state", *_behind(names)}
    if is_ours and "spans" in names:
        written |= {"scope", "spans", "expanded"}
    if "decisions" in names:
        written |= {"decisions", "reviewer"}
    return {name: place for name, place in names.items() if name in written}


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the decisions of a file."""

    added: Sequence[Decision]
    repeated: int = 0  # of those passed over, how many hold no more


def add_new(
    store: DecisionStore,
    connection: sqlite3.Connection,
    decisions: Iterable[Decision],
    step: Step | None = None,
    *,
    again: bool = False,
) -> Imported:
    """Add the decisions that the store never had, so that an import may be repeated.

    A decision with a time was stored before if one of that time was; where either is of mappings
    (SSSOM), whose times are days, if one of that day was. A decision without a time was stored
    before if one was at any time, also if it was replaced or withdrawn since. But where the file
    itself has decisions on the mention, with times, only what was stored after them counts:
    somebody who reviewed a table that shows them may well have returned to an earlier concept.

    Args:
        store: the file.
        connection: of a transaction, in which it is seen what is new, and stored.
        decisions: what was said, as `checked` gives it.
        step: see `DecisionStore.add`.
        again: whether a decision without a time is added unless it is in force.
    """
    decisions = list(decisions)
    forms = {place_of(d.mention, d.scope)[0] for d in decisions}
    known = _Known(store.history_in(connection, forms))
    new: list[Decision] = []
    repeated = 0
    for decision in decisions:
        if not known.has(decision, again):
            known.add(decision)
            new.append(decision)
        elif not (decision.time or known.holds(decision)):
            repeated += 1
    return Imported(insert(connection, new, step) if new else [], repeated)


def import_new(
    store: DecisionStore,
    decisions: Iterable[Decision],
    step: Step | None = None,
    *,
    again: bool = False,
    write: Write = directly,
) -> Imported:
    """Add the decisions of a file that the store never had, some at a time, as one step.

    Between the batches others write. Those on one mention are in one batch, so that whoever is
    stopped may import the file again: `add_new` passes over what is there.

    Args:
        store: the file.
        decisions: what was said, as `checked` gives it.
        step: see `DecisionStore.add`.
        again: see `add_new`.
        write: calls what writes, a batch at a time.

    Raises:
        Cancelled: nobody wants them any more.
        LinkerError: the step was undone before all of it was stored, or the file cannot be written.
    """
    added = list[Decision]()
    repeated = 0
    for batch in _batches(decisions):
        check_wanted()
        imported: Imported = write(_add_batch, store, batch, step, again)
        added += imported.added
        repeated += imported.repeated
        if step is not None and added:
            step = replace(step, id=added[0].step)
    return Imported(added, repeated)


def _batches(decisions: Iterable[Decision]) -> Iterator[list[Decision]]:
    """Yield decisions that are stored together, in their order; those on a mention stay so."""
    of_places: dict[Place, list[tuple[int, Decision]]] = {}
    for number, decision in enumerate(decisions):
        place = place_of(decision.mention, decision.scope)
        of_places.setdefault(place, []).append((number, decision))
    batch = list[tuple[int, Decision]]()
    for of_place in of_places.values():
        batch += of_place
        if len(batch) >= _BATCH:
            yield _in_order(batch)
            batch = []
    if batch:
        yield _in_order(batch)


def _in_order(numbered: list[tuple[int, Decision]]) -> list[Decision]:
    """Decisions in the order of their numbers."""
    return [decision for _, decision in sorted(numbered, key=operator.itemgetter(0))]


def _add_batch(
    store: DecisionStore, decisions: Sequence[Decision], step: Step | None, again: bool
) -> Imported:
    """Add a batch in a transaction of its own."""
    with store.transaction() as connection:
        return add_new(store, connection, decisions, step, again=again)


def repeated_text(count: int) -> str:
    """How many decisions of a file were passed over that hold no more, in words."""
    return f"decisions that were replaced or withdrawn since, passed over: {count:,}"


_Claim = tuple[object, ...]
_JUST_NOW = math.inf  # stands for the numbers of decisions that are about to be stored


class _Known:
    """What a store has of the decisions on some mentions, and what a file adds to them.

    Args:
        past: all decisions on these mentions, in order of entry.
    """

    def __init__(self, past: Sequence[Past]) -> None:
        self._last: dict[_Claim, float] = {}  # the numbers of the last decisions that say so
        self._timed: dict[tuple[_Claim, str], float] = {}  # of the first one of that time
        self._on_day: dict[tuple[_Claim, str], float] = {}  # of the first one that has a day alone
        self._until: dict[Place, float] = {}  # up to which decision the file says what there was
        self._added: dict[tuple[Place, tuple[str, bool]], _Claim] = {}  # the last of each voice
        for entry in past:
            decision = entry.decision
            claim = _claim(decision)
            number = number_of(decision)
            self._last[claim] = number
            for each_claim in (claim, *_claims_on_parts(decision)):
                for length in (None, _DAY):
                    self._timed.setdefault((each_claim, decision.time[:length]), number)
                if len(decision.time) == _DAY:
                    self._on_day.setdefault((each_claim, decision.time), number)

        places = in_force(entry.decision for entry in past if entry.state != "withdrawn")
        self._in_force = set(map(_claim, chain.from_iterable(places.values())))

    def has(self, decision: Decision, again: bool) -> bool:
        """Whether a decision is not new; see `add_new`."""
        claim = _claim(decision)
        place = place_of(decision.mention, decision.scope)
        until = self._until.get(place, 0)
        if decision.time:
            number = self._first_of(decision)
            self._until[place] = max(until, number)
            return number > 0
        added = self._added.get((place, voice(decision)))
        if added == claim:
            return True
        if again:
            return added is None and claim in self._in_force
        return self._last.get(claim, 0) > until

    def _first_of(self, decision: Decision) -> float:
        """The number of the first decision that said so at this time, perhaps by parts; 0: none."""
        claims = _claims_on_parts(decision)
        numbers = [self._number_of(claim, decision) for claim in claims]
        in_parts = max(numbers) if numbers and all(numbers) else 0
        return self._number_of(_claim(decision), decision) or in_parts

    def _number_of(self, claim: _Claim, decision: Decision) -> float:
        """The number of the first decision of a claim at the time of another decision; 0: none.

        One that has a day alone, since it came as a mapping, is of any time of that day, but for
        what its reviewer said behind something else that the file adds.
        """
        number = self._timed.get((claim, decision.time), 0)
        place = place_of(decision.mention, decision.scope)
        added = self._added.get((place, voice(decision)))
        if number or added not in (None, _claim(decision)):
            return number
        return self._on_day.get((claim, decision.time[:_DAY]), 0)

    def add(self, decision: Decision) -> None:
        """Note that a decision is about to be stored."""
        claim = _claim(decision)
        place = place_of(decision.mention, decision.scope)
        self._added[place, voice(decision)] = claim
        if decision.time:
            for each_claim in (claim, *_claims_on_parts(decision)):
                self._timed[each_claim, decision.time] = _JUST_NOW
            self._until[place] = _JUST_NOW

    def holds(self, decision: Decision) -> bool:
        """Whether what a decision says is in force, or is about to be stored."""
        claim = _claim(decision)
        place = place_of(decision.mention, decision.scope)
        return claim in self._in_force or self._added.get((place, voice(decision))) == claim


def _claim(d: Decision) -> _Claim:
    """What a decision says of which mention, and who says it."""
    return (
        *place_of(d.mention, d.scope),
        d.concept_id,
        d.accepted,
        person(d.reviewer),
        d.predicate,
        d.bulk,
        *d.settles,
    )


def _claims_on_parts(d: Decision) -> list[_Claim]:
    """What a decision says of each part on which it decides; none where the mention has one part.

    An export may have what was said at once in parts, since one of them was replaced.
    """
    parts = parts_of(d)
    if len(parts) < 2:
        return []
    claim = _claim(replace(d, concept_id=""))
    return [(*claim, len(parts), place, parts[place]) for place in decided_places(d)]


# the log

HISTORY = (
    *("state", *COLUMNS[:2], "concept", *COLUMNS[3:]),
    *("withdrawn", "withdrawn_by", "step", "project", "words"),
)
"""The columns of decisions. None is named concept_id, so that no reader takes decisions that hold
no more."""
_STEPS = (
    "SELECT s.id, coalesce(p.name, ''), words FROM steps s "
    "LEFT JOIN projects p ON p.id = s.project AND created <> '' "
    "WHERE :project IS NULL OR s.project = :project"
)
_OTHERS = (  # marks, remarks, and steps that did nothing else
    "SELECT iif(undone = '', 'done', 'undone') AS state, coalesce(mention, '') AS mention, "
    "coalesce(scope, '') AS scope, s.reviewer, s.time, undone AS withdrawn, "
    "undone_by AS withdrawn_by, s.id AS step, coalesce(p.name, '') AS project, words, "
    "coalesce(action, '') AS action, "
    "trim(coalesce(before || ' ' || spans || ' ' || type, '')) AS value "
    "FROM steps s LEFT JOIN projects p ON p.id = s.project AND created <> '' LEFT JOIN ("
    "SELECT 1 AS kind, id, step, text AS mention, document AS scope, action, before, spans, type "
    "FROM marks UNION ALL SELECT 2, id, step, form, '', kind, value, '', '' FROM remarks"
    ") AS made ON made.step = s.id WHERE (:project IS NULL OR s.project = :project) AND "
    "(action <> '' OR NOT EXISTS (SELECT 1 FROM details WHERE details.step = s.id)) "
    "ORDER BY s.id, made.kind, made.id"
)


def write_log(store: DecisionStore, file: TextIO, project: int | None = None) -> None:
    """Write all that was done, in order of time: decisions, marks and remarks.

    Args:
        store: has the decisions and the steps.
        file: where to write.
        project: only what was done in this one; None: all.
    """
    columns = (*HISTORY, "action", "value")
    past = store.history()
    with store.reading() as connection:
        steps = {step[0]: step for step in connection.execute(_STEPS, {"project": project})}
        cursor = connection.execute(_OTHERS, {"project": project})
        names = [column[0] for column in cursor.description]
        others = [dict(zip(names, row, strict=True)) for row in cursor]
    rows: list[Mapping[str, object]] = []
    for entry in past:
        d = entry.decision
        if project is None or d.step in steps:
            step = steps.get(d.step, ("", "", ""))
            known = (entry.state, *cells(d), entry.withdrawn, entry.withdrawn_by, *step)
            rows.append(dict(zip(columns, (*known, "decision"), strict=False)))
    write_row = row_writer(file)
    write_row(columns)
    for row in sorted([*rows, *others], key=lambda row: str(row["time"])):
        write_row(tuple(str(row.get(name, "")) for name in columns))

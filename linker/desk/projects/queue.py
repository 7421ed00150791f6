"""The queue of a project: its mentions in rows, of which SQL gives pages, figures, and the next.

Equal mentions are one row: those of the same form, type and answer. A decision that holds in one
document splits them: the mentions of that document are a row of their own. The rows are a temporary
table, since they depend on the model that reads, and one decision would write many: SQL makes them
of mentions and answers, anew where these changed; what decisions make of a row is computed anew
only where decisions changed on its form.
"""

from __future__ import annotations

import contextlib
import functools
import json
import operator
import sqlite3
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from linker.desk.decisions.store import DecisionStore
from linker.desk.projects import filters, linking
from linker.desk.projects import store as rows
from linker.desk.projects.filters import DECIDED, ORDERS, UNDECIDED, Filter, Row, Sort
from linker.desk.projects.store import Missing, Project
from linker.dictionary import Dictionary
from linker.dictionary.hierarchy import selected
from linker.evaluation.failures import EXAMPLES, KINDS, Failure, failures
from linker.ids import part_ids
from linker.io.outputs import UNSURE, Outcome, joined_ids
from linker.linking.decided import Decided
from linker.linking.decisions import Place, Ruling, ids_text, predicate_in, ruled
from linker.linking.linker import Linker
from linker.linking.tally import Expected, Tally
from linker.records import Decision, Mention, Prediction, Selection, parse_spans
from linker.text.cells import is_nothing

RemarkKind = Literal["flag", "note"]
Remark = tuple[str, RemarkKind, str]
"""The form of the mentions that it is on, and its value; an empty one takes the last one away."""

_REMARKS = (  # one row, since others have a turn with each
    "SELECT json_group_array(json_array(form, kind, value)) FROM (SELECT form, kind, value "
    "FROM remarks JOIN steps ON steps.id = step WHERE project = ? AND undone = '' "
    "ORDER BY remarks.id)"
)

_VERSION = (
    "SELECT count(*), total(id), count(answer), total(answer) "
    f"FROM {rows.MENTIONS} WHERE project = ?"
)
"""What changes with the mentions and answers of a project."""
_ADD_MEMBERS = f"""
INSERT INTO members SELECT m.id,
    min(m.id) OVER (PARTITION BY written, form, type, coalesce(ids, '')), coalesce(document, 0), 0
FROM {rows.MENTIONS} m LEFT JOIN answers a ON a.id = answer
WHERE m.project = ? AND (answer > 0 OR NOT is_linked(type))
"""
_HEADS = "(SELECT value FROM json_each(:heads))"
_FORMS = "(SELECT value FROM json_each(:forms))"
_ON_FORMS = f"SELECT * FROM rows WHERE form IN {_FORMS} OR written IN {_FORMS}"
_SPLIT = f"""
UPDATE members SET apart = 0 WHERE head IN {_HEADS} AND apart > 0;
UPDATE members SET apart = document WHERE head IN {_HEADS} AND document > 0 AND EXISTS (
    SELECT 1 FROM mentions m JOIN documents d ON d.project = m.project AND d.number = m.document
    JOIN decisions s ON s.form IN (m.form, m.written) AND s.scope = d.id
    WHERE m.id = members.mention AND s.id NOT IN (SELECT decision FROM withdrawals)
)
"""
_ADD_ROWS = f"""
INSERT INTO rows SELECT
    head || iif(apart, '@' || apart, ''), head, apart, coalesce(d.id, ''), written, form, type,
    text, expanded, min(iif(m.document > 0, m.document * 4294967296 + place, m.id)), m.id,
    coalesce(m.document, 0), place, count(*), count(DISTINCT m.document),
    group_concat(DISTINCT nullif(assertion, 'present')),
    answer > 0, avg(confidence), iif(answer > 0, 'model', 'not linked'),
    coalesce(ids, ''), coalesce(shown, '[null]'), avg(confidence), '[]', '', 0
FROM members JOIN mentions m ON m.id = mention LEFT JOIN answers a ON a.id = answer
LEFT JOIN documents d ON d.project = m.project AND d.number = apart
WHERE head IN {_HEADS} GROUP BY head, apart
"""
_RULED = "state", "ids", "answers", "confidence", "reviewers", "predicate", "is_in_bulk"
_PUT = f"UPDATE rows SET {', '.join(f'{name} = ?' for name in _RULED)} WHERE key = ?"
_VALUES = operator.attrgetter(*_RULED, "key")
_REST = "state IN ('model', 'rejected', 'open') AND confidence IS NOT NULL"
_WRONG = f"total(iif({_REST}, count * (1 - confidence), 0))"
_IS_SURE = f"""iif(instr(ids, '|'), confidence IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(answers) WHERE json_extract(value, '$.confidence') < {UNSURE}
), coalesce(confidence, 0) >= {UNSURE})"""
"""Whether each part is, as `linker.io.outputs.outcome` has it; of what nobody decided."""
_SURE = (  # nearly all rows are read, in half the time without an index
    f"SELECT head, round(confidence, 3), count FROM rows NOT INDEXED WHERE {_REST} AND {_IS_SURE}"
)
_SUMMARY = """
SELECT state, type, reviewers, count(*), sum(count)
FROM rows GROUP BY state, type, reviewers
"""
_SHOWN = (
    "key",
    "mention",
    "type",
    "count",
    "documents",
    "state",
    "ids",
    "confidence",
    "assertion",
    "predicate",
)
"""What is shown of a row as it is."""
_EXPLAINED = 1_000  # rows of which it is said why they have no sure answer: a quarter of a second
_AROUND = 100  # characters of the text before and behind a mention that are shown
_PLACES = 50  # of the mentions of a row that are shown


class Queue:
    """The rows of a project as they are now; many threads may use it, one at a time.

    Args:
        store: the file of decisions and projects.
        number: of the project.
        linker: of the model by which it is linked, and whose dictionary decisions are of.
    """

    def __init__(self, store: DecisionStore, number: int, linker: Linker) -> None:
        self._store, self._number, self._linker = store, number, linker
        self._linkable = frozenset(linker.linkable.tolist())
        self._lock = threading.Lock()
        self._decided = Decided([], linker)  # that it was last told
        self._mentions: tuple[float, ...] = ()  # see `_VERSION`
        self.project: Project
        self.remarks: dict[tuple[str, str], str] = {}
        """By the form of a mention and the kind of the remark."""
        self.version = time.time_ns() // 1_000_000
        """Another one whenever something in the project changed."""
        self.connection = store.connect()
        """To the file, with the rows; use it while reading."""
        self.connection.execute("PRAGMA temp_store = MEMORY")
        for statement in filters.TABLES.split(";"):
            self.connection.execute(statement)
        for name, count, function in (
            ("fold", 1, filters.fold),
            ("holds", 4, filters.holds),
            ("are_there", 1, functools.cache(self._are_there)),
            ("names_nothing", 1, functools.cache(self._names_nothing)),
            ("is_linked", 1, lambda kind: linking.is_linked(self.project, kind)),
        ):
            self.connection.create_function(name, count, function, deterministic=True)

    def close(self) -> None:
        """Close its connection, once nobody reads."""
        with self._lock:
            self.connection.close()

    @contextlib.contextmanager
    def reading(self, decided: Decided, *, is_hurried: bool = False) -> Iterator[Queue]:
        """The queue with what is in the file now, for one thread.

        Args:
            decided: the decisions in force; where later ones were told before, these count.
            is_hurried: whether mentions and answers may be those of before, if there are some.

        Raises:
            Missing: the project was deleted.
        """
        with self._lock, self._store.reading(self.connection):
            self._refresh(decided, is_hurried)
            yield self

    def _refresh(self, decided: Decided, is_hurried: bool) -> None:
        """Take up what changed in the file."""
        ask, project = self.connection.execute, self._number
        self.project = rows.project(self.connection, project)
        decided = decided if decided.seen >= self._decided.seen else self._decided
        before, self._mentions = self._mentions, ()  # were this to fail, all is read anew
        version, heads = before, f"({_ON_FORMS})"
        if not (is_hurried and version):
            version = ask(_VERSION, [project]).fetchone()
        if version != before:
            for statement in ("DELETE FROM members", "DELETE FROM rows"):
                ask(statement)
            ask(_ADD_MEMBERS, [project])
            heads = "members"
        forms = json.dumps([form for form, _ in decided.touched(self._decided)])
        statement = f"SELECT json_group_array(DISTINCT head) FROM {heads}"
        ((changed,),) = ask(statement, {} if heads == "members" else {"forms": forms})
        self._make_rows(decided, changed)
        remarks = remarks_of(self.connection, project)
        self.version += changed != "[]" or (version, remarks) != (before, self.remarks)
        self._decided, self._mentions, self.remarks = decided, version, remarks

    def _make_rows(self, decided: Decided, heads: str) -> None:
        """Make the rows of groups anew, which are a list of JSON."""
        if heads == "[]":
            return
        of = {"heads": heads}
        for statement in (
            f"DELETE FROM rows WHERE head IN {_HEADS}",
            *_SPLIT.split(";"),
            _ADD_ROWS,
        ):
            self.connection.execute(statement, of)
        where = "(apart > 0 OR form IN (SELECT form FROM decisions))"
        judged = self._rows(f"SELECT * FROM rows WHERE head IN {_HEADS} AND {where}", of)
        changed = [_VALUES(row) for row in judged if self._apply(decided, row)]
        self.connection.executemany(_PUT, changed)

    def _rows(self, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> list[Row]:
        return [Row(*row) for row in self.connection.execute(statement, values)]

    # what decisions say

    def _apply(self, decided: Decided, row: Row) -> bool:
        """Write into a row what decisions make of it; whether they make something.

        Args:
            decided: the decisions.
            row: as the model has it.
        """
        ruling = _ruling(decided, row)
        if not ruling.by:
            return False
        state = "accepted" if any(ruling.parts) else "no concept"
        is_answered = decided.can_answer(ruling.parts, self._linkable)
        ids = ids_text(ruling.parts) if is_answered else ""
        if is_answered and len(ruling.parts) == 1 and not ruling.is_in_bulk:
            row.ids, row.confidence = ids, None
            (concept,) = ruling.parts
            row.answers = json.dumps(
                [self._named(concept) | {"confidence": 1.0} if concept else None]
            )
        elif is_answered and len(ruling.parts) == 1 and row.ids == ids:
            pass  # the model's answer, as sure as that is
        elif row.is_linked or is_answered:
            prediction = decided.apply(
                self.prediction(row, plain=True), ruling, self._linkable, k=linking.CANDIDATES
            )
            state = state if ruling.is_in_bulk and is_answered else prediction.state
            if state == "model":
                return False
            has_concepts = all(part.best for part in prediction.parts)
            row.ids, row.answers = joined_ids(prediction), json.dumps(linking.shown(prediction))
            row.confidence = prediction.confidence if has_concepts else None
        else:
            return False
        row.state = state
        names = dict.fromkeys(filter(None, (d.reviewer for d in ruling.by)))
        row.reviewers, row.predicate = json.dumps([*names]), predicate_in(ruling.by) or ""
        row.is_in_bulk = ruling.is_in_bulk
        return True

    def prediction(self, row: Row, *, plain: bool = False) -> Prediction:
        """The answer of a row with its candidates.

        Args:
            row: of the queue.
            plain: whether the decisions are not applied.
        """
        statement = (
            "SELECT prediction, spans, documents.id FROM mentions m "
            "LEFT JOIN answers a ON a.id = answer LEFT JOIN documents "
            "ON documents.project = m.project AND number = document WHERE m.id = ?"
        )
        packed, spans, document = self.connection.execute(statement, [row.number]).fetchone()
        spans = parse_spans(json.loads(spans))
        mention = Mention(row.mention, spans, type=row.type, document_id=document)
        prediction = linking.unpacked(packed, mention)
        if plain:
            return prediction
        ruling = _ruling(self._decided, row)
        return self._decided.apply(prediction, ruling, self._linkable, k=linking.CANDIDATES)

    def _are_there(self, ids: str) -> bool:
        """Whether all parts of an answer have a concept that the dictionary has."""
        rows = self.dictionary.rows
        return all(i and rows(i) for i in part_ids(ids))

    def _names_nothing(self, mention: str) -> bool:
        """Whether a mention says that nothing was entered: "n/a", "-".

        It is looked at closely where a cheap look finds no name, since a project may have 200,000
        mentions without an answer.
        """
        engine = self._linker.engine
        has_letter = any(map(str.isalpha, mention))
        may_name = has_letter and not is_nothing(mention, engine.options.text.codes)
        return not may_name and engine.is_empty(mention)

    def _named(self, identifier: str) -> dict[str, Any]:
        """A concept as it is shown; without a name where the dictionary does not have it."""
        rows_of = self.dictionary.rows(identifier)
        name = self.dictionary.preferred_name(rows_of[0]) if len(rows_of) else ""
        return {"concept_id": identifier, "name": name}

    # asking

    def row(self, key: str) -> Row:
        """A row by its key.

        Raises:
            Missing: there is none.
        """
        for row in self._rows("SELECT * FROM rows WHERE key = ?", [key]):
            return row
        raise Missing(f"the project has no row {key}; load the queue again")

    def rows_on(self, forms: Iterable[str], most: int = 1_000) -> list[Row]:
        """The rows that decisions on forms may change."""
        statement = f"{_ON_FORMS} ORDER BY number LIMIT :most"
        return self._rows(statement, {"forms": json.dumps([*forms]), "most": most})

    def rows_of(self, document: int) -> dict[int, Row]:
        """The rows of the mentions of a document, by the numbers of these."""
        statement = (
            "SELECT m.mention, r.* FROM members m JOIN rows r USING (head, apart) "
            "WHERE m.document = ?"
        )
        found = self.connection.execute(statement, [document])
        return {number: Row(*row) for number, *row in found}

    def disputed(self) -> list[dict[str, Any]]:
        """The rows on which reviewers disagree, with what each said."""
        there = self._rows("SELECT * FROM rows WHERE state = 'disputed' ORDER BY number")
        return [
            self.to_dict(row) | {"decisions": [d.to_dict() for d in _ruling(self._decided, row).by]}
            for row in there
        ]

    def page(
        self,
        wanted: Filter,
        sort: Sort = "doubt",
        offset: int = 0,
        limit: int = 100,
        find: str = "",
    ) -> dict[str, Any]:
        """A page of the rows that are wanted, with figures of all of them.

        Args:
            wanted, sort, offset, limit: which rows.
            find: the key of a row whose place among them is told; None: it is not among them.
                `has_row` is whether the project has it: also among other rows.

        Raises:
            LinkerError: a filter names what is not there.
        """
        select, values, order = filters.select(wanted), self._values(wanted), ORDERS[sort]
        there = self._rows(
            f"{select} ORDER BY {order}spot, number LIMIT :limit OFFSET :offset",
            values | {"limit": limit, "offset": offset},
        )
        position = None
        has_row = False
        if find:
            numbered = f"SELECT key, row_number() OVER (ORDER BY {order}spot, number) - 1 AS place"
            statement = f"SELECT place FROM ({numbered} FROM ({select})) WHERE key = :key"
            found_row = self.connection.execute(statement, values | {"key": find}).fetchone()
            position = found_row[0] if found_row else None
            has_row = bool(self._rows("SELECT * FROM rows WHERE key = ?", [find]))
        figures = self._figures(select, values)
        return {
            "total": figures.pop("groups"),
            **figures,
            "version": self.version,
            "position": position,
            "has_row": has_row,
            "rows": list(map(self.to_dict, there)),
        }

    def acceptable(self, wanted: Filter) -> list[Row]:
        """The rows that are wanted whose answers can be accepted; see `filters.acceptable`."""
        return self._rows(filters.acceptable(wanted), self._values(wanted))

    def acceptable_figures(self, wanted: Filter) -> dict[str, Any]:
        """How many rows and mentions these are, and how many are expected to be wrong."""
        return self._figures(filters.acceptable(wanted), self._values(wanted))

    def _figures(self, select: str, values: Mapping[str, Any]) -> dict[str, Any]:
        ((groups, mentions, wrong),) = self.connection.execute(
            f"SELECT count(*), total(count), {_WRONG} FROM ({select})", values
        )
        return {"groups": groups, "mentions": int(mentions), "expected_wrong": round(wrong, 2)}

    def _values(self, wanted: Filter) -> dict[str, Any]:
        """The parameters of the queries of a filter; `is_under` becomes the one for its concept."""
        values = {field.name: getattr(wanted, field.name) for field in fields(Filter)}
        if wanted.under:
            dictionary = self.dictionary
            every = np.ones(len(dictionary), bool)
            under = selected(dictionary, [Selection(under=(wanted.under,))], every)

            @functools.cache
            def is_under(ids: str) -> bool:
                concepts = (c for i in part_ids(ids) if i for c in dictionary.rows(i))
                return any(under[concept] for concept in concepts)

            self.connection.create_function("is_under", 1, is_under, deterministic=True)
        return values | {"q": filters.fold(wanted.q).strip(), "flags": self._flags}

    @property
    def _flags(self) -> str:
        """The forms that somebody flagged, as a list of JSON."""
        return json.dumps(
            [on[0] for on, value in self.remarks.items() if on[1] == "flag" and value]
        )

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of the model."""
        return self._linker.dictionary

    @property
    def mentions(self) -> int:
        """The number of the mentions that the queue was made of."""
        return int(self._mentions[0])

    @property
    def types(self) -> list[str]:
        """The types of mentions."""
        return sorted({kind for _, kind, *_ in self.connection.execute(_SUMMARY)} - {""})

    def summary(self) -> dict[str, Any]:
        """The figures of the project."""
        groups, states, reviewers = Counter[str](), Counter[str](), set[str]()
        found = self.connection.execute(_SUMMARY).fetchall()
        for state, _, names, rows_of, count in found:
            groups[state] += rows_of
            states[state] += count
            reviewers.update(json.loads(names))
        unlinked = states.pop("not linked", 0)
        flagged = f"SELECT count(DISTINCT form) FROM rows WHERE {filters.IS_FLAGGED}"
        documents = f"SELECT count(*) FROM {rows.DOCUMENTS} WHERE project = ?"
        ask = self.connection.execute
        return {
            "mentions": states.total(),
            "groups": groups.total() - groups["not linked"],
            "states": {**states, **({"not linked": unlinked} if unlinked else {})},
            "decided": sum(states[state] for state in DECIDED),
            "types": sorted({kind for _, kind, *_ in found} - {""}),
            "documents": ask(documents, [self._number]).fetchone()[0],
            "reviewers": sorted(reviewers),
            "disagreements": groups["disputed"],
            "flagged": ask(flagged, {"flags": self._flags}).fetchone()[0],
            "version": self.version,
        }

    def expected(self) -> Expected | None:
        """How many of the sure answers are right on which nobody decided; None: it is not known."""
        counts = Counter[float]()
        heads = set[int]()  # each stands for equal texts
        for head, confidence, count in self.connection.execute(_SURE):
            counts[confidence] += count
            heads.add(head)
        outcomes = {Outcome("linked", confidence=c, weakest=c): n for c, n in counts.items()}
        return Tally(Counter(outcomes), dict.fromkeys(heads, 0)).expected(self._linker.calibration)

    def failed(self) -> dict[str, Any]:
        """Why rows have no sure answer: the kinds, those of most mentions first, with examples.

        Of many rows the most frequent ones are looked at, and `left_out` says how many are not.
        """
        unsure = f"FROM rows WHERE state IN {UNDECIDED} AND NOT {_IS_SURE}"
        ((total,),) = self.connection.execute(f"SELECT count(*) {unsure}")
        there = self._rows(
            f"SELECT * {unsure} ORDER BY count DESC, spot, number LIMIT {_EXPLAINED}"
        )
        of_kind = defaultdict[str, list[tuple[Row, Failure]]](list)
        for row in there:
            of_row = {row.mention: row.count}
            for failure in failures([self.prediction(row)], of_row, self._linker):
                of_kind[failure.kind].append((row, failure))
        kinds: list[dict[str, Any]] = [
            {
                "kind": kind,
                "help": KINDS[kind],
                "groups": len(found),
                "mentions": sum(row.count for row, _ in found),
                "examples": [
                    {"key": row.key, "mention": row.mention, "count": row.count}
                    | {"nearest": failure.nearest and self._named(failure.nearest.concept_id)}
                    for row, failure in found[:EXAMPLES]
                ],
            }
            for kind, found in of_kind.items()
        ]
        kinds.sort(key=lambda kind: -kind["mentions"])
        return {"kinds": kinds, "left_out": total - len(there)}

    def shown(self, key: str) -> dict[str, Any]:
        """A row with the candidates of its answer, and the places of its mentions.

        Raises:
            Missing: there is none.
        """
        row = self.row(key)
        is_linked = row.state != "not linked"
        return {
            "row": self.to_dict(row),
            "prediction": self.prediction(row).to_dict() if is_linked else None,
            "places": list(self._places(row)),
            "remarks": {k: value for (form, k), value in self.remarks.items() if form == row.form},
        }

    def _places(self, row: Row) -> Iterator[dict[str, Any]]:
        """The places of mentions: the text around each, or the other cells of its row."""
        statement = (
            "SELECT source, m.document, place, text, spans FROM members JOIN mentions m "
            "ON m.id = mention WHERE head = ? AND apart = ? ORDER BY m.document, "
            f"iif(m.document > 0, place, 0), m.id LIMIT {_PLACES}"
        )
        known = functools.cache(functools.partial(rows.document, self.connection, self._number))
        found = self.connection.execute(statement, [row.head, row.apart]).fetchall()
        for source, document, place, text, spans in found:
            of: dict[str, Any] = {"document_id": None, "document": None, "row": place, "cells": {}}
            before = after = ""
            if not document:
                of["cells"] = rows.cells(self.connection, source, place)
            else:
                kept = known(document).document
                around = parse_spans(json.loads(spans)) or ((0, 0),)
                start, end = around[0][0], around[-1][1]
                before, after = kept.text[max(0, start - _AROUND) : start], kept.text[end:]
                of |= {"document_id": kept.id, "document": document, "row": None}
            yield of | {"before": before, "text": text, "after": after[:_AROUND]}

    def document_id(self, number: int) -> str:
        """The id of a document; empty where there is none of this number."""
        statement = "SELECT id FROM documents WHERE project = ? AND number = ?"
        found = self.connection.execute(statement, [self._number, number]).fetchone()
        return found[0] if found else ""

    def to_dict(self, row: Row) -> dict[str, Any]:
        """A row as an object that `json` can write, without its candidates."""
        first: dict[str, Any] = {"document": None, "document_id": None, "row": row.place}
        if row.document:
            name = self.document_id(row.document)
            first = {"document": row.document, "document_id": name, "row": None}
        return {name: getattr(row, name) for name in _SHOWN} | {
            "expanded": row.expanded or None,
            "answers": json.loads(row.answers),
            "flag": bool(self.remarks.get((row.form, "flag"))),
            "note": self.remarks.get((row.form, "note"), ""),
            "reviewers": json.loads(row.reviewers),
            "bulk": bool(row.is_in_bulk),
            "first": first,
        }


def _ruling(decided: Decided, row: Row) -> Ruling:
    """What decisions say of the mentions of a row."""
    return decided.ruling(row.mention, row.scope, row.expanded or None)


def remarks_of(connection: sqlite3.Connection, project: int) -> dict[tuple[str, str], str]:
    """The last remarks in a project, by their forms and kinds; empty where one was taken away."""
    ((text,),) = connection.execute(_REMARKS, [project])
    return {(form, kind): value for form, kind, value in json.loads(text)}


def decided_mentions(
    connection: sqlite3.Connection, number: int, places: Mapping[Place, Sequence[Decision]]
) -> int:
    """How many mentions of a project are decided, without its queue.

    What was decided on a short form itself, in a document that says what it means, is left out.

    Args:
        connection: to the file.
        number: of the project.
        places: the decisions in force on each form, in each scope.
    """
    statement = (
        "SELECT form, coalesce(d.id, ''), count(*) "
        f"FROM {rows.MENTIONS} m "
        "LEFT JOIN documents d ON d.project = m.project AND number = document "
        "WHERE m.project = ? AND answer > 0 AND form IN (SELECT form FROM decisions) "
        "GROUP BY form, document"
    )
    total = 0
    for form, scope, count in connection.execute(statement, [number]):
        where = dict.fromkeys([(form, scope), (form, "")])
        ruling = ruled(places[place] for place in where if place in places)
        if ruling.parts and None not in ruling.parts:
            total += count
    return total

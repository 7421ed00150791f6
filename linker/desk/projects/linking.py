"""The model's answers for the mentions of a project, which are stored as they come.

What has no answer yet is linked, in small batches: a process that was killed goes on where it was.
Equal mentions of a table are linked once. Decisions take no part: they are applied to the answers
when these are read.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linker.desk.decisions.store import DecisionStore
from linker.desk.projects import store as rows
from linker.desk.projects.sources import Content
from linker.desk.projects.store import Project, StoredDocument
from linker.io import jsonl
from linker.io import mentions as readers
from linker.io.files import parse_json
from linker.io.outputs import joined_ids
from linker.linking.decisions import form_everywhere
from linker.linking.documents import Annotator
from linker.linking.linker import Linker
from linker.linking.requests import Found, Linked, Request
from linker.records import Mention, Part, Prediction, parse_spans
from linker.text.mentions import definitions_of, expanded

_MENTIONS = 256  # of tables and lists that are linked together
_DOCUMENTS = 4
CANDIDATES = 5  # that are kept of an answer
COVERAGE = 0.9  # of the sets that answers have; the page says it in words
_DISEASES = ("medic", "icd10cm"), ("DOID", "MONDO", "OMIM", "ORPHA", "ICD10CM")
"""Formats, and prefixes, of dictionaries of diseases."""
_ADD_ANSWER = (
    "INSERT INTO answers (ids, shown, confidence, assertion, prediction, project) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_EQUAL = (  # the other index, of what has no answer, would lead to all that waits
    "UPDATE mentions INDEXED BY mentions_by_text SET {} WHERE project = ? AND text = ? AND type = ?"
)


@dataclass(slots=True)
class Batch:
    """What waits: documents whose mentions are to be found, or else mentions to be linked."""

    project: Project
    documents: Sequence[StoredDocument] = ()
    requests: list[Request] = field(default_factory=list)
    # of each request the numbers of its mentions in the file; of a table None, since the answer is
    # for all with the same text and type
    numbers: list[list[int] | None] = field(default_factory=list)


Answer = tuple[str, str, float | None, str, bytes]
"""An answer as it is stored: its ids, its concepts as JSON, its confidence, what the text says of
it, and all of it."""


Answered = tuple[Answer, str, str, Mention, int | None]
"""A mention that has its answer: that, its form, with the short forms of its document expanded
(empty where it has none), itself, and its number (see `Batch`)."""


def type_for(file: Content, linker: Linker, wanted: str | None) -> tuple[str, list[str]]:
    """The type of the mentions that are linked, and a sentence where there is none of it.

    Where nobody says which, a model that learnt to find mentions of one type links that type, and
    a dictionary of diseases answers mentions of diseases; those that are found where documents
    mark none are such. Where a file has mentions, but no such ones, all are linked.

    Args:
        file: that becomes a project.
        linker: the model.
        wanted: what somebody says; empty: all are linked.
    """
    types = file.types
    kind = (linker.spans.type if linker.spans else "") if wanted is None else wanted.strip()
    if wanted is None and not kind:
        sources = linker.dictionary.sources
        formats, prefixes = _DISEASES
        is_of = any(s.format in formats or s.namespace in prefixes for s in sources)
        kind = "Disease" if is_of else ""
    if not types or any(_fits(of, kind) for of in types if of or wanted is not None):
        return kind, []
    if wanted is None:
        return "", []
    return kind, [f"no mention of the file is of the type {kind!r}, so that none is linked"]


def is_linked(project: Project, kind: str) -> bool:
    """Whether mentions of a type are linked; those without a type are."""
    return _fits(kind, project.type)


def _fits(kind: str, wanted: str) -> bool:
    return not (wanted and kind) or readers.of_type(wanted)(Mention("", type=kind))


def mentioned(connection: sqlite3.Connection, number: int) -> tuple[set[str], set[str]]:
    """The forms of the mentions of a project, also as written, and the ids of its documents, as far
    as these are known."""
    statement = (
        f"SELECT form FROM {rows.MENTIONS} WHERE project = ?1 UNION "
        "SELECT iif(written = '', form(text, 'x'), written) "
        f"FROM {rows.MENTIONS} WHERE project = ?1"
    )
    forms = connection.execute(statement, [number])
    documents = connection.execute(f"SELECT id FROM {rows.DOCUMENTS} WHERE project = ?", [number])
    return {form for (form,) in forms}, {identifier for (identifier,) in documents}


def search(annotator: Annotator, stored: StoredDocument, kind: str) -> StoredDocument:
    """The document with the mentions that are found in it; those without a type get this one."""
    request = annotator.found(Request(stored.document))
    document: Any = request.item
    spans = request.found.spans if request.found else {}
    found = [spans.get(mention.spans) for mention in document.mentions]
    mentions = (
        dataclasses.replace(m, type=kind) if at and not m.type else m
        for m, at in zip(document.mentions, found, strict=True)
    )
    document = dataclasses.replace(document, mentions=tuple(mentions))
    return dataclasses.replace(stored, document=document, found=tuple(found))


def pending(
    connection: sqlite3.Connection,
    project: Project,
    linker: Linker,
    document: int | None = None,
) -> Batch | None:
    """What of a project waits, as much as is done at once; None where nothing does.

    Args:
        connection: to the file.
        project: whose documents and mentions.
        linker: that will be asked.
        document: only the mentions of this document; None: of all.
    """
    if document is None and (there := rows.unsearched(connection, project.id, _DOCUMENTS)):
        return Batch(project, there)
    ask, batch = connection.execute, Batch(project)
    limits: Any = {"k": CANDIDATES, "coverage": COVERAGE if linker.has_sets else None}
    waiting = f"SELECT DISTINCT type FROM {rows.MENTIONS} WHERE project = ? AND answer IS NULL"
    types = [kind for (kind,) in ask(waiting, [project.id]) if is_linked(project, kind)]
    where = (
        f"FROM {rows.MENTIONS} WHERE project = ? AND answer IS NULL "
        "AND type IN (SELECT value FROM json_each(?))"
    )
    values: list[Any] = [project.id, json.dumps(types)]
    if project.kind != "documents":
        statement = f"SELECT DISTINCT text, type {where} LIMIT {_MENTIONS}"
        for text, kind in ask(statement, values):
            batch.requests.append(Request(Mention(text, type=kind), **limits))
            batch.numbers.append(None)
    else:
        numbers: list[Any] = [(document,)]
        if document is None:
            numbers = ask(f"SELECT DISTINCT document {where} LIMIT {_DOCUMENTS}", values).fetchall()
        statement = f"SELECT id, text, spans, type {where} AND document = ? ORDER BY place, id"
        for (number,) in numbers:
            if of_document := ask(statement, [*values, number]).fetchall():
                stored = rows.document(connection, project.id, number)
                _add_document(batch, stored, of_document, limits)
    return batch if batch.requests else None


def _add_document(
    batch: Batch,
    stored: StoredDocument,
    of_document: Sequence[tuple[int, str, str, str]],
    limits: Any,
) -> None:
    """Ask for mentions of a document."""
    document = stored.document
    mentions = [
        Mention(text, parse_spans(json.loads(spans)), type=kind, document_id=document.id)
        for _, text, spans, kind in of_document
    ]
    spans = {m.spans: f for m, f in zip(document.mentions, stored.found, strict=True) if f}
    item = dataclasses.replace(document, mentions=tuple(mentions))
    batch.requests.append(Request(item, **limits, found=Found(spans)))
    batch.numbers.append([number for number, *_ in of_document])


def answered(batch: Batch, linked: Sequence[Linked], linker: Linker) -> list[Answered]:
    """What is stored of the answers of a linker to the requests of a batch."""
    result = []
    options = linker.options.text
    for (document, predictions), numbers in zip(linked, batch.numbers, strict=True):
        definitions = definitions_of(document, options)
        places: Sequence[int | None] = numbers or [None]
        for prediction, number in zip(predictions, places, strict=True):
            mention = prediction.mention
            long = expanded(mention, definitions, options)
            short = "" if long == mention.text else long
            answer = _packed(prediction)
            result.append((answer, form_everywhere(long), short, mention, number))
    return result


def _packed(prediction: Prediction) -> Answer:
    """An answer without its place, so that equal mentions share it."""
    record = prediction.to_dict()
    for key in ("mention", "document_id", "spans", "state", "decisions"):
        del record[key]
    if len(record["parts"]) == 1:
        del record["parts"][0]["spans"], record["parts"][0]["text"]
    packed = zlib.compress(json.dumps(record, ensure_ascii=False).encode(), 1)
    confidence = prediction.confidence if all(p.best for p in prediction.parts) else None
    concepts = shown(prediction)
    said = {c["assertion"] for c in concepts if c and "assertion" in c} or {"present"}
    assertion = "mixed" if len(said) > 1 else said.pop()
    return joined_ids(prediction), json.dumps(concepts), confidence, assertion, packed


def unpacked(packed: bytes | None, mention: Mention) -> Prediction:
    """The prediction for a mention that an answer was made of; None: it is not linked."""
    if packed is None:
        return Prediction(mention, (Part(mention.text, spans=mention.spans, nil=True),))
    record = parse_json(zlib.decompress(packed).decode())
    spans = [list(span) for span in mention.spans] or None
    place = {"schema": 1, "mention": mention.text, "document_id": None, "spans": spans}
    for part in record["parts"]:
        part.setdefault("text", mention.text)
        part.setdefault("spans", spans)
    return dataclasses.replace(jsonl.from_json(record | place), mention=mention)


def shown(prediction: Prediction) -> list[dict[str, Any] | None]:
    """The concept of each part of an answer; None for a part without one.

    What the text says of a part stands beside it where that is not present.
    """
    return [
        {"concept_id": best.concept_id, "name": best.name, "confidence": best.confidence}
        | ({} if part.assertion == "present" else {"assertion": part.assertion})
        if (best := part.best)
        else None
        for part in prediction.parts
    ]


def keep(store: DecisionStore, project: Project, answers: Sequence[Answered]) -> None:
    """Write answers to all mentions that they are for.

    Args:
        store: the file.
        project: as it was when they were asked for; nothing is written where it is to be linked by
            another model now.
        answers: see `answered`.

    Raises:
        Missing: it was deleted.
    """
    known: dict[Answer, int | None] = {}
    values: list[Any]
    with store.transaction() as connection:
        if rows.project(connection, project.id).origin != project.origin:
            return
        for answer, form, long, mention, number in answers:
            if answer not in known:
                about = [*answer, project.id]
                known[answer] = connection.execute(_ADD_ANSWER, about).lastrowid
            index, where, values = "", "id = ?", [number]
            if number is None:
                # the other index, of what has no answer, would lead to all that waits
                index, where = (
                    "INDEXED BY mentions_by_text",
                    "project = ? AND text = ? AND type = ?",
                )
                values = [project.id, mention.text, mention.type]
            connection.execute(
                f"UPDATE mentions {index} SET answer = ?, form = ?, expanded = ? "
                f"WHERE {where} AND answer IS NULL",
                [known[answer], form, long, *values],
            )


def link(store: DecisionStore, number: int, linker: Linker) -> Iterator[float]:
    """Find and link what waits in a project; after each batch yield the share that is done."""
    annotator = Annotator(linker)
    while True:
        with store.reading() as connection:
            project = rows.project(connection, number)
            batch = pending(connection, project, linker)
            done = share(connection, project)
        yield done
        if batch is None:
            return
        if batch.documents:
            found = [search(annotator, stored, project.type) for stored in batch.documents]
            rows.keep_found(store, number, found)
        else:
            keep(store, project, answered(batch, linker.answer(batch.requests), linker))


def counted(connection: sqlite3.Connection, project: Project) -> tuple[int, int]:
    """How many mentions of a project are to be linked, and how many are."""
    statement = (
        f"SELECT type, count(*), count(answer) FROM {rows.MENTIONS} WHERE project = ? GROUP BY type"
    )
    of_types = connection.execute(statement, [project.id]).fetchall()
    wanted = sum(of if is_linked(project, kind) else done for kind, of, done in of_types)
    return wanted, sum(done for _, _, done in of_types)


def share(connection: sqlite3.Connection, project: Project) -> float:
    """The share of a project that is linked, 0 to 1: of its documents, and of their mentions."""
    wanted, done = counted(connection, project)
    share = done / wanted if wanted else 1.0
    of_documents = f"SELECT count(*), total(searched) FROM {rows.DOCUMENTS} WHERE project = ?"
    documents, searched = connection.execute(of_documents, [project.id]).fetchone()
    return share * searched / documents if documents else share

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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linker.decisions.store import DecisionStore
from linker.files import parse_json
from linker.linking.decisions import form_everywhere, form_of
from linker.linking.documents import Annotator
from linker.linking.linker import Linker
from linker.linking.requests import Found, Linked, Request
from linker.outputs import joined_ids
from linker.projects import store as rows
from linker.projects.sources import Content
from linker.projects.store import Project, StoredDocument
from linker.readers import jsonl
from linker.readers import mentions as readers
from linker.text.mentions import definitions_of, expanded
from linker.types import Mention, Part, Prediction, parse_spans

_MENTIONS = 256  # of tables and lists that are linked together
_DOCUMENTS = 4
CANDIDATES = 5  # that are kept of an answer
_DISEASES = ("medic", "icd10cm"), ("DOID", "MONDO", "OMIM", "ORPHA", "ICD10CM")
"""Formats, and prefixes, of dictionaries of diseases."""


@dataclass(slots=True)
class Batch:
    """Mentions that wait for an answer, and what the linker is asked for them."""

    project: Project
    requests: list[Request] = field(default_factory=list)
    # of each request, what tells its mentions in the file: their numbers; of a table None, since
    # the answer is for all with the same text and type
    numbers: list[list[int] | None] = field(default_factory=list)


Answer = tuple[str, str, float | None, bytes]
"""An answer as it is stored: its ids, its concepts as JSON, its confidence, and all of it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A mention that has its answer."""

    answer: Answer
    form: str
    expanded: str  # with the short forms of its document expanded; empty where it has none
    mention: Mention
    number: int | None  # see `Batch`


def type_for(file: Content, linker: Linker) -> str:
    """The type of the mentions that are linked where nobody says which; empty: all are.

    A model that learnt to find mentions of one type links that type. A dictionary of diseases
    answers mentions of diseases; those that are found where documents mark none are such. Where a
    file has mentions, but no such ones, all are linked.
    """
    dictionary = linker.dictionary
    of_diseases = any(
        source.format in _DISEASES[0] or source.namespace in _DISEASES[1]
        for source in dictionary.sources
    )
    wanted = (linker.spans.type if linker.spans else "") or ("Disease" if of_diseases else "")
    types = _types(file)
    fits = not types or any(readers.of_type(wanted)(Mention("", type=kind)) for kind in types)
    return wanted if fits else ""


def told_of_type(file: Content, wanted: str) -> list[str]:
    """A sentence where the mentions of a file are all of other types than the one to be linked."""
    types = _types(file)
    if not types or any(_fits(kind, wanted) for kind in types):
        return []
    return [f"no mention of the file is of the type {wanted!r}, so that none is linked"]


def _types(file: Content) -> set[str]:
    """The types of the mentions of a file; empty for one that has none."""
    mentions = (m.type for document in file.documents for m in document.mentions)
    return {*mentions, *(row.type for row in file.rows)}


def is_linked(project: Project, kind: str) -> bool:
    """Whether mentions of a type are linked; those without a type are."""
    return _fits(kind, project.type)


def _fits(kind: str, wanted: str) -> bool:
    """Whether a mention is linked: it is of the wanted type, has none, or all types are wanted."""
    return not (wanted and kind) or readers.of_type(wanted)(Mention("", type=kind))


Mentioned = tuple[Mapping[str, Collection[str]], Collection[str]]
"""The forms of mentions, as written and with short forms expanded, each with the ids of its answers
by the model; and the ids of documents."""


def mentioned(connection: sqlite3.Connection, number: int) -> Mentioned:
    """What a project mentions, as far as it is known."""
    texts = connection.execute(
        "SELECT DISTINCT text, form, ids FROM mentions "
        "LEFT JOIN answers ON answers.id = answer WHERE mentions.project = ?",
        [number],
    )
    forms: dict[str, set[str]] = {}
    for text, long, ids in texts:
        for form in (form_of(text), long):
            forms.setdefault(form, set()).update([] if ids is None else [ids])
    documents = connection.execute("SELECT id FROM documents WHERE project = ?", [number])
    return forms, {identifier for (identifier,) in documents}


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
    return dataclasses.replace(stored, document=document, found=found)


def pending(
    connection: sqlite3.Connection, project: Project, document: int | None = None
) -> Batch | None:
    """The next mentions of a project that wait for an answer; None where none does.

    Args:
        connection: to the file.
        project: whose mentions.
        document: only those of this document; None: of all.
    """
    types = "SELECT DISTINCT type FROM mentions WHERE project = ? AND answer IS NULL"
    wanted = [t for (t,) in connection.execute(types, [project.id]) if is_linked(project, t)]
    if not wanted:
        return None
    where = (
        "FROM mentions WHERE project = ? AND answer IS NULL "
        f"AND type IN ({', '.join('?' * len(wanted))})"
    )
    values: list[Any] = [project.id, *wanted]
    if project.kind != "documents":
        statement = f"SELECT DISTINCT text, type {where} LIMIT {_MENTIONS}"
        texts = connection.execute(statement, values).fetchall()
        requests = [Request(Mention(text, type=kind), CANDIDATES) for text, kind in texts]
        return Batch(project, requests, [None] * len(requests)) if requests else None
    if document is None:
        statement = f"SELECT DISTINCT document {where} LIMIT {_DOCUMENTS}"
        documents = [number for (number,) in connection.execute(statement, values)]
    else:
        documents = [document]
    batch = Batch(project)
    for number in documents:
        statement = f"SELECT id, text, spans, type {where} AND document = ? ORDER BY place, id"
        of_document = connection.execute(statement, [*values, number]).fetchall()
        if of_document:
            stored = rows.document(connection, project.id, number)
            _add_document(batch, stored, of_document)
    return batch if batch.requests else None


def _add_document(
    batch: Batch, stored: StoredDocument, of_document: Sequence[tuple[int, str, str, str]]
) -> None:
    """Ask for mentions of a document."""
    document = stored.document
    mentions = [
        Mention(text, parse_spans(json.loads(spans)), type=kind, document_id=document.id)
        for _, text, spans, kind in of_document
    ]
    spans = {m.spans: f for m, f in zip(document.mentions, stored.found, strict=True) if f}
    item = dataclasses.replace(document, mentions=tuple(mentions))
    batch.requests.append(Request(item, CANDIDATES, found=Found(spans)))
    batch.numbers.append([number for number, *_ in of_document])


def answered(batch: Batch, linked: Sequence[Linked], linker: Linker) -> list[Answered]:
    """What is stored of the answers of a linker to the requests of a batch."""
    result = []
    options = linker.options.text
    for (document, predictions), numbers in zip(linked, batch.numbers, strict=True):
        definitions = definitions_of(document, options)
        places: Sequence[int | None] = [None] if numbers is None else numbers
        for prediction, number in zip(predictions, places, strict=True):
            mention = prediction.mention
            long = expanded(mention, definitions, options)
            form = form_everywhere(long)
            long = "" if long == mention.text else long
            result.append(Answered(_packed(prediction), form, long, mention, number))
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
    return joined_ids(prediction), json.dumps(shown(prediction)), confidence, packed


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


def assertions_in(shown: str) -> list[str]:
    """What the texts say of the parts of an answer that are not present, as `shown` has it in JSON.

    No name of a concept has the key in its text, since JSON escapes quotes.
    """
    if '"assertion": ' not in shown:  # as nearly always
        return []
    return [answer["assertion"] for answer in json.loads(shown) if answer and "assertion" in answer]


def keep(connection: sqlite3.Connection, project: Project, answers: Sequence[Answered]) -> None:
    """Write answers in a transaction, to all mentions that they are for.

    Args:
        connection: of the transaction.
        project: as it was when they were asked for; nothing is written where it is to be linked by
            another model now.
        answers: see `answered`.

    Raises:
        Missing: it was deleted.
    """
    if rows.project(connection, project.id).origin != project.origin:
        return
    known: dict[Answer, int | None] = {}
    for one in answers:
        answer = one.answer
        if answer not in known:
            known[answer] = connection.execute(
                "INSERT INTO answers (project, ids, shown, confidence, prediction) "
                "VALUES (?, ?, ?, ?, ?)",
                [project.id, *answer],
            ).lastrowid
        values: list[Any] = [known[answer], one.form, one.expanded]
        if one.number is None:
            # the other index, of what has no answer, would lead to all that waits
            index, where = "INDEXED BY mentions_by_text", "project = ? AND text = ? AND type = ?"
            values += [project.id, one.mention.text, one.mention.type]
        else:
            index, where = "", "id = ?"
            values.append(one.number)
        statement = f"UPDATE mentions {index} SET answer = ?, form = ?, expanded = ? WHERE {where}"
        connection.execute(f"{statement} AND answer IS NULL", values)


def link(store: DecisionStore, number: int, linker: Linker) -> Iterator[float]:
    """Find and link what waits in a project; after each batch yield the share that is done."""
    annotator = Annotator(linker)
    while True:
        with store.reading() as connection:
            project = rows.project(connection, number)
            unsearched = rows.unsearched(connection, number, _DOCUMENTS)
            batch = None if unsearched else pending(connection, project)
            done = share(connection, project)
        yield done
        if unsearched:
            found = [search(annotator, stored, project.type) for stored in unsearched]
            with store.transaction() as connection:
                rows.keep_found(connection, number, found)
        elif batch:
            answers = answered(batch, linker.answer(batch.requests), linker)
            with store.transaction() as connection:
                keep(connection, project, answers)
        else:
            return


def counted(connection: sqlite3.Connection, project: Project) -> tuple[int, int]:
    """How many mentions of a project are to be linked, and how many are."""
    of_all = "SELECT count(*) FROM mentions WHERE project = ? AND answer > 0"
    ((done,),) = connection.execute(of_all, [project.id])
    waiting = (
        "SELECT type, count(*) FROM mentions WHERE project = ? AND answer IS NULL GROUP BY type"
    )
    rest = connection.execute(waiting, [project.id])
    return done + sum(count for kind, count in rest if is_linked(project, kind)), done


def share(connection: sqlite3.Connection, project: Project) -> float:
    """The share of a project that is linked, 0 to 1: of its documents, and of their mentions."""
    wanted, done = counted(connection, project)
    share = done / wanted if wanted else 1.0
    if project.kind != "documents":
        return share
    of_documents = "SELECT count(*), total(searched) FROM documents WHERE project = ?"
    documents, searched = connection.execute(of_documents, [project.id]).fetchone()
    return share * searched / documents if documents else share

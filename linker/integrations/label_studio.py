"""Label Studio: its machine-learning backend, and what people say of answers as decisions.

Label Studio asks for predictions of tasks, and tells of each annotation that a person submits. Each
region of a prediction carries what was predicted (`meta`), so that a correction says what it
corrects, whatever model answers by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timezone
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import APIRouter, Body
from fastapi.exceptions import RequestValidationError
from lxml import etree  # type: ignore[import-untyped]
from pydantic import AliasPath, BaseModel, Field, ValidationError

from linker.desk.decisions.store import DecisionStore, identified, releases
from linker.desk.service.callers import checked_name
from linker.desk.service.decisions import store_of
from linker.desk.service.errors import ERRORS
from linker.desk.service.schemas import TextDocument, to_documents
from linker.desk.service.state import Asked, Service
from linker.dictionary import Dictionary
from linker.errors import LinkerError, shorten
from linker.ids import escaped, part_ids
from linker.io.outputs import ASSERTED, ids_of
from linker.linking.decisions import Place, concepts_of, disagree, parts_of, place_of
from linker.linking.requests import Request
from linker.records import Decision, Prediction

logger = logging.getLogger(__name__)

_SUBMITTED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")

_Body = TypeVar("_Body", bound=BaseModel)


class _Task(BaseModel):
    id: int
    data: dict[str, Any]

    @property
    def scope(self) -> str:
        """The scope of decisions: the id that the user gave the document, or else the task's."""
        return str(self.data.get("document_id") or f"label-studio:{self.id}")


class _ToPredict(BaseModel):
    label_config: str
    tasks: list[_Task]


class _Result(BaseModel):
    """A part of an annotation; those of a region have the same id."""

    id: str = ""  # relations have none
    from_name: str = ""
    value: dict[str, Any] = {}
    predicted: str = Field("", validation_alias=AliasPath("meta", "linker", "ids"))
    model: str = Field("", validation_alias=AliasPath("meta", "linker", "model"))

    @property
    def ids(self) -> str:
        """The ids that a text field has, one in a line, as one text."""
        texts = self.value.get("text") or ()
        texts = [texts] if isinstance(texts, str) else texts
        return "|".join(filter(None, (str(text).strip() for text in texts)))


class _Annotation(BaseModel):
    id: int
    result: list[_Result]
    was_cancelled: bool = False  # the task was skipped
    completed_by: int | None = None
    updated_by: int | None = None
    updated_at: datetime

    @property
    def reviewer(self) -> str:
        """Who submitted it."""
        return f"label-studio:{self.updated_by or self.completed_by}"

    def decision(self, words: str, ids: str, scope: str, model: str, release: str) -> Decision:
        """What it says of words: they mean these ids."""
        time = self.updated_at.astimezone(timezone.utc).isoformat(timespec="seconds")
        return Decision(words, ids, True, scope, self.reviewer, time, model, release)


class _Submitted(BaseModel):
    """A person submitted an annotation, or changed it."""

    annotation: _Annotation
    task: _Task
    label_config: str = Field(validation_alias=AliasPath("project", "label_config"))


class _Interface(NamedTuple):
    """The tags of a labeling interface that hold mentions and their concepts, by their names."""

    text: str
    field: str  # of the data of a task, which has the text
    labels: str
    label: str  # that predicted regions get
    concept: str


def _interface(config: str) -> _Interface:
    """Read a labeling interface from the XML of a project.

    Raises:
        LinkerError: it is no XML, declares a document type (which may name files to read, or
            entities that grow without end), or lacks one of the tags.
    """
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(config.encode(), parser)
    except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
        reason = shorten(str(error), 200)
        raise LinkerError(f"the labeling interface is no XML: {reason}") from None
    if root.getroottree().docinfo.doctype:
        raise LinkerError("the labeling interface declares a document type; leave it out")
    texts = {tag.get("name"): tag.get("value", "").lstrip("$") for tag in root.iter("Text")}
    areas = [tag for tag in root.iter("TextArea") if tag.get("perRegion") == "true"]
    concepts = {tag.get("toName"): tag.get("name", "") for tag in reversed(areas)}
    for labels in root.iter("Labels"):
        text, label = labels.get("toName"), labels.find(".//Label")
        if text in texts and text in concepts and label is not None:
            names = labels.get("name", ""), label.get("value", "")
            return _Interface(text, texts[text], *names, concepts[text])
    raise LinkerError(
        "the labeling interface lacks a tag; expected: a Text, Labels of it with a Label, and a "
        'TextArea of it with perRegion="true" (see docs/label-studio.md)'
    )


def _region(of: _Interface, number: int, answer: Prediction, model: str) -> list[dict[str, Any]]:
    """A predicted region: its place, and its concepts where it has some."""
    ((start, end),), ids = answer.mention.spans, ids_of(answer)
    shared = {"id": f"L{number}", "to_name": of.text, "score": answer.confidence}
    place = {"start": start, "end": end, "text": answer.mention.text}
    words_of = {a: f" ({words})" for a, words in ASSERTED.items()}
    answered = [part for part in answer.parts if part.best and not part.is_open]
    names = [p.best.name + words_of.get(p.assertion, "") for p in answered if p.best]
    meta = {"text": " | ".join(names), "linker": {"ids": "|".join(ids), "model": model}}
    labels = {"from_name": of.labels, "type": "labels", "meta": meta}
    concept = {"from_name": of.concept, "type": "textarea", "value": place | {"text": ids}}
    marked = shared | labels | {"value": place | {"labels": [of.label]}}
    return [marked, shared | concept] if ids else [marked]


routes = APIRouter(prefix="/label-studio", tags=["Label Studio"], responses=ERRORS)


@routes.get("/health")
async def health() -> dict[str, str]:
    """Answers as long as the process lives."""
    return {"status": "UP"}


@routes.post("/setup")
async def setup(
    service: Asked, config: Annotated[str, Body(alias="schema", embed=True)]
) -> dict[str, str]:
    """Take the labeling interface of a project, or say what it lacks."""
    try:
        _interface(config)
    except LinkerError as error:  # Label Studio shows the status alone
        logger.warning("%s", error)
        raise
    return {"model_version": await _version(service)}


@routes.post("/predict")
async def predict(service: Asked, body: _ToPredict) -> dict[str, Any]:
    """Find and link the mentions in the texts of tasks."""
    interface, model, now = _interface(body.label_config), service.model, await _version(service)
    texts = []
    for task in body.tasks:
        if not isinstance(text := task.data.get(interface.field), str):
            raise LinkerError(f"task {task.id} has no text in {interface.field!r} of its data")
        texts.append(_checked(TextDocument, {"id": task.scope, "text": text}))
    requests = [Request(each, k=1) for each in to_documents(texts, service.limits)]
    results = []
    for _, answers in await service.annotate(model, requests):
        regions = [_region(interface, *a, model.fingerprint) for a in enumerate(answers, 1)]
        score = min((a.confidence for a in answers if a.confidence is not None), default=None)
        result = [part for region in regions for part in region]
        results.append({"result": result, "score": score, "model_version": now})
    return {"results": results}


@routes.post("/webhook")
async def webhook(service: Asked, body: dict[str, Any]) -> dict[str, Any]:
    """Keep what a person said of the mentions of a task; other news is passed over."""
    if body.get("action") not in _SUBMITTED:
        return {"added": 0, "withdrawn": 0, "errors": []}
    store, submitted = store_of(service), _checked(_Submitted, body)
    checked_name(submitted.annotation.reviewer)
    interface = _interface(submitted.label_config)
    dictionary = service.linker.dictionary
    decisions, errors = await asyncio.to_thread(_decisions, submitted, interface, dictionary)
    if errors:  # without what the person wrote
        number = submitted.annotation.id
        logger.warning("mistakes in annotation %d, left out: %d", number, len(errors))
    text = str(submitted.task.data.get(interface.field, ""))
    added, withdrawn = await service.write(_keep, store, submitted, text, decisions)
    return {"added": added, "withdrawn": withdrawn, "errors": errors}


async def _version(service: Service) -> str:
    """What answers: predictions of another version are asked for again."""
    decided = await service.decided()
    return service.model.fingerprint[:12] + (f"-{sum(decided.seen)}" if decided else "")


def _decisions(
    submitted: _Submitted, interface: _Interface, dictionary: Dictionary
) -> tuple[list[Decision], list[str]]:
    """What a person said of the mentions of a task, and what in it cannot be used.

    A decision is on words, wherever they stand in the document: where a region was changed, others
    with the same words, which were left as they were predicted, say nothing.
    """
    scope, errors = submitted.task.scope, list[str]()
    regions: dict[str, dict[str, _Result]] = defaultdict(dict)
    annotation = submitted.annotation
    for result in [] if annotation.was_cancelled else annotation.result:
        regions[result.id][result.from_name] = result
    changed, left = (defaultdict[Place, list[Decision]](list) for _ in range(2))
    for region, results in regions.items():
        if (marked := results.get(interface.labels)) is None:
            continue
        words = str(marked.value.get("text", "")).replace("\\n", " ")  # a line break, as it is sent
        ids = results[interface.concept].ids if interface.concept in results else ""
        decision = annotation.decision(words, ids, scope, marked.model, releases(dictionary))
        try:
            of_region = _of_region(decision, marked.predicted, dictionary)
        except LinkerError as error:
            errors.append(f"region {region}: {error}")
            continue
        if of_region:
            of_words = left if ids == marked.predicted else changed
            of_words[place_of(words, scope)] += of_region
    places = left | changed
    odd = {place for place, of_place in places.items() if disagree(of_place)}
    errors += [f"{places[place][0].mention!r} has different concepts" for place in odd]
    return [d for place, of_place in places.items() if place not in odd for d in of_place], errors


def _of_region(decision: Decision, predicted: str, dictionary: Dictionary) -> list[Decision]:
    """The decisions on a region: its ids are accepted, those predicted that are gone rejected.

    Where a part is left open, none is: it may stand in the place of one that nobody rejects.

    Raises:
        LinkerError: the dictionary lacks an id.
    """
    parts = parts_of(decision)
    if None in parts:
        is_said = any(part is not None for part in parts)
        return [identified(decision, dictionary)] if is_said else []
    accepted = [identified(decision, dictionary)] if decision.concept_id else []
    accepted_ids: set[str] = set()
    for accepted_decision in accepted:
        accepted_ids.update(concepts_of(accepted_decision))
    gone = [i for i in part_ids(predicted) if i and i not in accepted_ids]
    rejected = [replace(decision, concept_id=escaped(i), accepted=False) for i in gone]
    return accepted + [identified(each, dictionary) for each in rejected]


def _keep(
    store: DecisionStore, submitted: _Submitted, text: str, decisions: list[Decision]
) -> tuple[int, int]:
    """Store what an annotation says now, and withdraw what it said before; the counts of both.

    Tasks may be parts of one document: what was said of words that this task does not have was said
    in another one, and stays.
    """

    def claim(d: Decision) -> tuple[Place, str, bool]:
        return place_of(d.mention, d.scope), d.concept_id, d.accepted

    scope, reviewer = submitted.task.scope, submitted.annotation.reviewer
    words, now = " ".join(text.split()), {claim(d): d for d in decisions}
    before = {
        claim(d): d.id or 0
        for d in store.list()
        if (d.scope, d.reviewer) == (scope, reviewer) and " ".join(d.mention.split()) in words
    }
    gone = [number for key, number in before.items() if key not in now]
    withdrawn = store.withdraw(gone, reviewer)
    return len(store.add([d for key, d in now.items() if key not in before])), withdrawn


def _checked(kind: type[_Body], value: Any) -> _Body:
    """A part of a request as a record.

    Raises:
        RequestValidationError: a field is missing, or wrong.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        mistakes = [{**mistake, "loc": ("body", *mistake["loc"])} for mistake in error.errors()]
        raise RequestValidationError(mistakes) from None

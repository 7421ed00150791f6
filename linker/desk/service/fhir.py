"""POST and GET /fhir/ConceptMap/$translate: a text is linked, by FHIR's operation (R4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request, Response
from fastapi.responses import JSONResponse
from pydantic import AliasChoices, BaseModel, Field

from linker.desk.service.errors import ERRORS, FHIR, FHIR_MEDIA, Failure, check_mention
from linker.desk.service.schemas import EXAMPLES, Text
from linker.desk.service.state import Asked, Service
from linker.io import fhir as conceptmap
from linker.io.outputs import ASSERTED
from linker.io.terms import Term
from linker.linking.requests import Request as LinkRequest
from linker.records import Prediction

_SOURCES = ("code", "coding", "codeableConcept")  # parameters with what is to be translated
_VALUES = AliasChoices("value", "valueCode", "valueString", "valueUri")
_THRESHOLD = 0.5  # confidence of a match: clients act on `result`, and read no message
_OUTCOMES: dict[int | str, dict[str, Any]] = {
    status: {"description": described["description"], "content": {FHIR_MEDIA: {}}}
    for status, described in ERRORS.items()
}
_QUERY = [{"name": "code", "in": "query", "schema": {"type": "string"}}]


class Coding(BaseModel):
    """A code, of which the display is linked."""

    display: Text = ""


class CodeableConcept(BaseModel):
    """A text, or else codes, of which the first is linked."""

    coding: Annotated[list[Coding], Field(max_length=100)] = []
    text: Text = ""


class Parameter(BaseModel):
    """A value with a name; only one of a type that is used is read."""

    name: Text
    value: Annotated[Text, Field(validation_alias=_VALUES)] = ""
    coding: Annotated[Coding | None, Field(validation_alias="valueCoding")] = None
    concept: Annotated[CodeableConcept | None, Field(validation_alias="valueCodeableConcept")] = (
        None
    )


class Parameters(BaseModel):
    """FHIR's resource of this name."""

    resource_type: Literal["Parameters"] = Field(validation_alias="resourceType")
    parameter: Annotated[list[Parameter], Field(max_length=20)] = []


routes = APIRouter(prefix=FHIR, tags=["FHIR"], responses=_OUTCOMES)


async def _answer(service: Service, parameters: Sequence[Parameter]) -> Response:
    """The concepts of a text, as a resource Parameters."""
    if [parameter.name in _SOURCES for parameter in parameters] != [True]:
        reason = f"expected: one of {', '.join(_SOURCES)}, and no other parameter"
        raise Failure(422, f"{reason}; a code is a text, without a system", "parameter")
    text, model = _text(parameters[0]), service.model
    check_mention(text, service.limits, "parameter")
    threshold = _THRESHOLD if model.linker.ranker else None
    asked = LinkRequest(text, 1, threshold)
    ((_, (prediction,)),) = await service.answer(model, [asked])
    return JSONResponse(_matches(prediction), media_type=FHIR_MEDIA)


@routes.post("/ConceptMap/$translate")
async def translate(
    service: Asked,
    body: Annotated[Parameters, Body(openapi_examples=EXAMPLES["translate"])],
) -> Response:
    """Find the concepts of a text, in a code, a coding or a codeableConcept."""
    return await _answer(service, body.parameter)


@routes.get("/ConceptMap/$translate", openapi_extra={"parameters": _QUERY})
async def translate_code(service: Asked, request: Request) -> Response:
    """Find the concepts of a text, which is the code."""
    pairs = request.query_params.multi_items()
    return await _answer(service, [Parameter(name=name, value=text) for name, text in pairs])


def _text(source: Parameter) -> str:
    """The text to link; a code of some system is none, which no name of a concept is like."""
    concept = source.concept or CodeableConcept()
    coding = source.coding or next(iter(concept.coding), Coding())
    return source.value or concept.text or coding.display


def _matches(prediction: Prediction) -> dict[str, Any]:
    """The answer: a match for the best concept of each part, and what is to be said of them.

    What the text denies, doubts, or says of the past or of a relative is no match.
    """
    term, matches, comments = Term.of(prediction), [], []
    for system, target in conceptmap.targets(term):
        equivalence = {"name": "equivalence", "valueCode": target.pop("equivalence")}
        comments.append(target.pop("comment"))
        concept = {"name": "concept", "valueCoding": {"system": system, **target}}
        matches.append({"name": "match", "part": [equivalence, concept]})
    comments += [
        f"{p.best.concept_id} {p.best.name} is no match, since it is {ASSERTED[p.assertion]}"
        for p in prediction.parts
        if p.best and p.assertion in ASSERTED
    ]
    rejected = [part.rejected for part in prediction.parts if part.rejected]
    guesses = [f"{c.concept_id} {c.name} ({c.confidence or 0:.4f})" for c in rejected]
    unsure = f" is sure enough ({_THRESHOLD}): {', '.join(guesses)}" if guesses else ""
    message = "; ".join(comments) or f"no concept{unsure}; {conceptmap.judgement(term)}"
    parameters: list[dict[str, Any]] = [
        {"name": "result", "valueBoolean": bool(matches)},
        {"name": "message", "valueString": message},
    ]
    return {"resourceType": "Parameters", "parameter": parameters + matches}

"""POST and GET /fhir/ConceptMap/$translate: a text is linked, by FHIR's operation (R4 and R5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from linker.dictionary import Dictionary
from linker.linking.requests import Request as LinkRequest
from linker.outputs import ASSERTED
from linker.readers import fhir as conceptmap
from linker.readers.terms import Term
from linker.service.errors import ERRORS, FHIR, FHIR_MEDIA, Failure, check_mention
from linker.service.schemas import EXAMPLES, Text
from linker.service.state import Service
from linker.types import Prediction, Selection
from linker.vocabularies import of_address

_SOURCES = {  # the parameters that hold what is to be translated; whether they are R5's
    **dict.fromkeys(("code", "coding", "codeableConcept"), False),
    **dict.fromkeys(("sourceCode", "sourceCoding", "sourceCodeableConcept"), True),
}
_TARGETS = ("targetsystem", "targetSystem")  # of R4 and of R5
_TAKEN = ("system", "version", *_TARGETS, *_SOURCES)
_R5 = {  # its words for those of R4, which say what the target is to the source
    "equivalent": "equivalent",
    "wider": "source-is-narrower-than-target",
    "narrower": "source-is-broader-than-target",
    "relatedto": "related-to",
}
_OUTCOMES: dict[int | str, dict[str, Any]] = {
    status: {"description": described["description"], "content": {FHIR_MEDIA: {}}}
    for status, described in ERRORS.items()
}
_QUERY = [
    {"name": name, "in": "query", "schema": {"type": "string"}}
    for name in ("code", "sourceCode", "system", *_TARGETS)
]


class _Element(BaseModel):
    """What is used of an element of FHIR; anything else in it is passed over."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Coding(_Element):
    """A code, of which the display is linked, and the code itself where there is none."""

    system: Text = ""
    code: Text = ""
    display: Text = ""


class CodeableConcept(_Element):
    """A text, or else codes, of which the first is linked."""

    coding: Annotated[list[Coding], Field(max_length=100)] = []
    text: Text = ""


class Parameter(_Element):
    """A value with a name; only one of a type that is used is read."""

    name: Text
    value_code: Text = ""
    value_string: Text = ""
    value_uri: Text = ""
    value_coding: Coding | None = None
    value_codeable_concept: CodeableConcept | None = None

    @property
    def text(self) -> str:
        """The value, if it is a text."""
        return self.value_code or self.value_string or self.value_uri


class Parameters(_Element):
    """FHIR's resource of this name."""

    resource_type: Literal["Parameters"]
    parameter: Annotated[list[Parameter], Field(max_length=20)] = []


_THRESHOLD = 0.5  # confidence of a match: clients act on `result`, and read no message


def router(service: Service) -> APIRouter:
    """The routes of the operation."""
    routes = APIRouter(prefix=FHIR, tags=["FHIR"], responses=_OUTCOMES)

    async def answered(parameters: Sequence[Parameter]) -> Response:
        """The concepts of a text, as a resource Parameters."""
        given = {parameter.name: parameter for parameter in parameters}
        if unknown := given.keys() - set(_TAKEN):
            raise Failure(422, f"{min(unknown)} is not supported; leave it out", "parameter")
        if len(given) < len(parameters):
            raise Failure(422, "a parameter is given twice; give it once", "parameter")
        sources = [name for name in given if name in _SOURCES]
        if len(sources) != 1:
            raise Failure(422, f"expected: one of {', '.join(_SOURCES)}", "parameter")
        text, model = _text(given[sources[0]], given), service.model
        check_mention(text, service.limits, "parameter")
        systems = [given[name].text for name in _TARGETS if name in given]
        within = _within(systems, model.linker.dictionary)
        threshold = _THRESHOLD if model.linker.ranker else None
        asked = LinkRequest(text, 1, threshold, within=within)
        ((_, (prediction,)),) = await service.answer(model, [asked])
        return JSONResponse(_matches(prediction, _SOURCES[sources[0]]), media_type=FHIR_MEDIA)

    @routes.post("/ConceptMap/$translate")
    async def translate(
        body: Annotated[Parameters, Body(openapi_examples=EXAMPLES["translate"])],
    ) -> Response:
        """Find the concepts of a text, in a code, a coding or a codeableConcept."""
        return await answered(body.parameter)

    @routes.get("/ConceptMap/$translate", openapi_extra={"parameters": _QUERY})
    async def translate_code(request: Request) -> Response:
        """Find the concepts of a text, which is the code."""
        pairs = request.query_params.multi_items()
        return await answered([Parameter(name=name, value_string=text) for name, text in pairs])

    return routes


def _text(source: Parameter, given: Mapping[str, Parameter]) -> str:
    """The text to link.

    Raises:
        Failure: it is a code of some system, which no name of a concept is like.
    """
    concept = source.value_codeable_concept or CodeableConcept()
    system = given["system"].text if "system" in given else ""
    code = source.value_coding or Coding(system=system, code=source.text)
    code = next(iter(concept.coding), code)
    text = concept.text or code.display
    if not text and code.system not in ("", conceptmap.MENTIONS):
        reason = (
            f"a code of {code.system} is no text; give its display, or a codeableConcept.text, or "
            f"a text as a code without a system, or of {conceptmap.MENTIONS}"
        )
        raise Failure(422, reason, "parameter")
    return text or code.code


def _within(systems: Sequence[str], dictionary: Dictionary) -> Selection | None:
    """The part of the dictionary in the systems that are asked for; None: any.

    Raises:
        Failure: no concept is of them.
    """
    of_prefix = {p: conceptmap.coding(f"{p}:")[0] for p in dictionary.vocabulary.prefixes}
    asked = {of_address(system).system or system for system in systems}
    prefixes = tuple(prefix for prefix, system in of_prefix.items() if system in asked)
    if systems and not prefixes:
        there = ", ".join(sorted(set(of_prefix.values())))
        reason = f"no concept is of {systems[0]}; the systems of the dictionary are: {there}"
        raise Failure(422, reason, "parameter")
    return Selection(namespaces=prefixes) if systems else None


def _matches(prediction: Prediction, is_r5: bool) -> dict[str, Any]:
    """The answer: a match for the best concept of each part, and what is to be said of them.

    What the text denies, doubts, or says of the past or of a relative is no match.
    """
    term, matches, said = Term.of(prediction), [], []
    for system, target in conceptmap.targets(term):
        kind, said_of = target.pop("equivalence"), target.pop("comment")
        equivalence = {"name": "equivalence", "valueCode": kind}
        if is_r5:
            equivalence = {"name": "relationship", "valueCode": _R5[kind]}
        concept = {"name": "concept", "valueCoding": {"system": system, **target}}
        matches.append({"name": "match", "part": [equivalence, concept]})
        said.append(said_of)
    said += [
        f"{p.best.concept_id} {p.best.name} is no match, since it is {ASSERTED[p.assertion]}"
        for p in prediction.parts
        if p.best and p.assertion in ASSERTED
    ]
    message = "; ".join(said) or f"no concept{_guesses(prediction)}; {conceptmap.judgement(term)}"
    parameters: list[dict[str, Any]] = [
        {"name": "result", "valueBoolean": bool(matches)},
        {"name": "message", "valueString": message},
    ]
    return {"resourceType": "Parameters", "parameter": parameters + matches}


def _guesses(prediction: Prediction) -> str:
    """The concepts that were too unsure to be matches."""
    rejected = (part.rejected for part in prediction.parts)
    texts = (f"{c.concept_id} {c.name} ({c.confidence or 0:.4f})" for c in rejected if c)
    return f" is sure enough ({_THRESHOLD}): {', '.join(guesses)}" if (guesses := [*texts]) else ""

"""INCEpTION: an external recommender, which suggests concepts for the annotations of a layer.

INCEpTION sends a document as a CAS: XMI with its type system. What is suggested goes back in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lxml import etree  # type: ignore[import-untyped]
from pydantic import BaseModel, Field

from linker.errors import LinkerError, needing, shorten
from linker.integrations import annotating
from linker.linking.requests import Request
from linker.outputs import joined_ids
from linker.types import Document, Prediction

with needing("the recommender of INCEpTION", "serve"):
    from fastapi import APIRouter

    from linker.service.errors import ERRORS
    from linker.service.schemas import MarkedMention, TextDocument, to_documents
    from linker.service.state import Service
with needing("the recommender of INCEpTION", "inception"):
    import cassis

_PREDICTED = "inception_internal_predicted"  # the feature that tells suggestions from annotations
_STRING, _ANNOTATION = "uima.cas.String", "uima.tcas.Annotation"
_SOFA = "{http:///uima/cas.ecore}Sofa"
_ID = "{http://www.omg.org/XMI}id"


class _Metadata(BaseModel):
    layer: str
    feature: str


class _Document(BaseModel):
    xmi: str
    id: int | str = Field("", alias="documentId")


class _Asked(BaseModel):
    metadata: _Metadata
    document: _Document
    type_system: str = Field(alias="typeSystem")


@dataclass(frozen=True, slots=True, eq=False)
class _Opened:
    """A document of INCEpTION, and where suggestions go."""

    cas: Any
    view: Any  # of the CAS, which has the text
    layer: Any  # the type of suggestions
    feature: str

    @classmethod
    def read(cls, body: _Asked) -> _Opened:
        """Read what INCEpTION sent.

        Raises:
            LinkerError: it is damaged, or the type system cannot hold suggestions.
        """
        layer, feature = body.metadata.layer, body.metadata.feature
        types = annotating.parse(body.type_system, "type system")
        root = annotating.parse(body.document.xmi, "XMI")
        _check_offsets(root)
        try:  # cassis checks little of what it reads
            system = cassis.load_typesystem(etree.tostring(types, encoding="unicode"))
            cas = cassis.load_cas_from_xmi(etree.tostring(root, encoding="unicode"), system)
        except Exception as error:
            reason = shorten(f"{type(error).__name__}: {error}", 200)
            raise LinkerError(f"the XMI does not fit its type system: {reason}") from None
        kind = system.get_type(layer) if system.contains_type(layer) else None
        if kind is None or not system.is_instance_of(layer, _ANNOTATION):
            raise LinkerError(f"the type system has no layer of annotations {shorten(layer)!r}")
        for name, wanted in ((feature, _STRING), (_PREDICTED, "uima.cas.Boolean")):
            found = kind.get_feature(name)
            if found is None or found.rangeType.name != wanted:
                reason = f"has no feature {shorten(name)!r} of the type {wanted}"
                raise LinkerError(f"the layer {layer} {reason}")
        with_text = (cas.get_view(s.sofaID) for s in cas.sofas if s.sofaString)
        if (view := next(with_text, None)) is None:
            raise LinkerError("the XMI has no text")
        return cls(cas, view, kind, feature)

    def document(self, number: int | str) -> TextDocument:
        """The text, and the annotations of the layer as its mentions."""
        text = self.view.sofa_string
        places = {(a.begin, a.end) for a in self.view.select(self.layer) if not a[_PREDICTED]}
        mentions = [
            MarkedMention(text=text[start:end], spans=[(start, end)])
            for start, end in sorted(places)
            if text[start:end].strip()
        ]
        return TextDocument(id=f"inception:{number}", text=text, mentions=mentions)

    def answered(self, answers: list[Prediction]) -> str:
        """The XMI with a suggestion for each mention that has a concept."""
        feature = self.feature
        for answer in answers:
            if any(part.best for part in answer.parts):
                ((start, end),) = answer.mention.spans
                values = {
                    feature: joined_ids(answer),
                    f"{feature}_score": answer.confidence,
                    f"{feature}_score_explanation": annotating.names_of(answer),
                    _PREDICTED: True,
                }
                known = {name: v for name, v in values.items() if self.layer.get_feature(name)}
                self.view.add(self.layer(begin=start, end=end, **known))
        return str(self.cas.to_xmi())


def router(service: Service) -> APIRouter:
    """The routes of an external recommender."""
    routes = APIRouter(prefix="/inception", tags=["INCEpTION"], responses=ERRORS)

    @routes.post("/predict")
    async def predict(body: _Asked) -> dict[str, str]:
        """Link the annotations of a layer, and the mentions that are found beside them."""
        model = service.model

        def read() -> tuple[_Opened, Document]:
            opened = _Opened.read(body)
            sent = opened.document(body.document.id)
            return opened, to_documents([sent], service.limits)[0]

        opened, document = await service.run(read)
        ((_, answers),) = await service.annotate(model, [Request(document, k=1)])
        return {"document": await service.run(opened.answered, answers)}

    @routes.post("/train", status_code=204)
    async def train() -> None:
        """Learn nothing, since decisions are made in the service or by files."""

    return routes


def _check_offsets(root: Any) -> None:
    """Check that annotations begin and end between characters of their text.

    Raises:
        LinkerError: one does not; offsets count UTF-16, so that it may also cut a character.
    """
    places = {}
    for sofa in root.iter(_SOFA):
        sizes = (1 + (character > "\uffff") for character in sofa.get("sofaString", ""))
        places[sofa.get(_ID)] = {str(place) for place in accumulate(sizes, initial=0)}
    for element in root.iter("*"):
        known = places.get(element.get("sofa"))
        for name in ("begin", "end"):
            offset = element.get(name)
            if known is not None and offset is not None and offset not in known:
                kind, number = etree.QName(element).localname, element.get(_ID)
                raise LinkerError(
                    f"the XMI has a {kind} (xmi:id {number}) whose {name} is "
                    f"{shorten(offset)!r}; expected: an offset between characters of its text"
                )

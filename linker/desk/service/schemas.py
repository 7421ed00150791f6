"""The bodies of requests, what linker makes of them, and examples of them and of answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from linker.desk.service.errors import Failure, check, check_mention
from linker.desk.service.settings import Limits
from linker.linking.requests import Request
from linker.records import SELECTION, Document, Mention, Passage, Selection
from linker.text.mentions import Item

Format = Literal[
    "json", "tsv", "jsonl", "pubtator", "bioc", "sssom", "conceptmap", "source_to_concept_map"
]
Offset = Annotated[int, Field(ge=0, le=2**31)]
Ids = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=100)]
Confidence = Annotated[float, Field(ge=0, le=1)]
Score = Annotated[float, Field(allow_inf_nan=False)]
# with a limit pydantic refuses lone surrogates; the limits of a service are smaller
Text = Annotated[str, Field(max_length=2**31)]
Label = Annotated[str, Field(max_length=1_000)]
MOST_CANDIDATES = 100
_CANDIDATES_OF_ALL = 10  # times the mentions that a request may have

_Item = TypeVar("_Item")
Many = Annotated[list[_Item], Field(fail_fast=True)]
"""A list that the limits of a service bound; the first mistake in it is enough."""


class Body(BaseModel):
    """The body of a request; a field that it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid")


class Options(Body):
    """How mentions are linked."""

    k: int = Field(5, ge=1, le=MOST_CANDIDATES, description="Candidates of each part.")
    threshold: Confidence | None = Field(
        None,
        description="Confidence that an answer needs; 0: all are answered; null: a mention has no "
        "answer where it is most probable that it has no concept.",
    )
    min_score: Score | None = Field(None, description="Candidates with less are left out.")
    under: Ids = Field([], description="Answer with these concepts and those below them.")
    not_under: Ids = Field([], description="Answer with none of these and none below them.")
    types: Ids = Field([], description="Answer with concepts of these semantic types.")
    namespaces: Ids = Field([], description="Answer with ids of these prefixes.")
    also: Ids = Field([], description="Also give the ids of the vocabularies of these prefixes.")
    coverage: float | None = Field(
        None, gt=0, lt=1, description="Also give sets that hold the right answer with this share."
    )
    exact_only: bool = Field(False, description="Give no broader concepts.")

    @property
    def within(self) -> Selection | None:
        """The part of the dictionary to answer with; None: the whole."""
        selection = Selection(**{name: getattr(self, name) for name in SELECTION})
        return selection or None

    def requests(self, items: Iterable[Item]) -> list[Request]:
        """Requests to a linker for items."""
        limits = self.k, self.threshold, self.min_score, self.within
        more: Any = {name: getattr(self, name) for name in ("coverage", "exact_only")}
        more["also"] = tuple(self.also)
        return [Request(item, *limits, **more) for item in items]


class LooseMention(Body):
    """A name to link, without its text."""

    text: Text = Field(min_length=1)
    document_id: Label | None = None
    type: Label = ""


class MarkedMention(Body):
    """A mention with its places in a document's text."""

    text: Text = Field(min_length=1)
    spans: list[tuple[Offset, Offset]] = Field([], max_length=100)
    type: Label = ""


class TextPassage(Body):
    """A part of a text, and the character at which it starts."""

    text: Text
    offset: Offset = 0


class TextDocument(Body):
    """A text, whole or in passages, with the mentions that are marked in it."""

    id: str = Field(max_length=1_000)
    text: Text | None = None
    passages: Many[TextPassage] | None = None
    mentions: Many[MarkedMention] = []

    @property
    def length(self) -> int:
        """The number of characters up to the end of the text."""
        ends = (p.offset + len(p.text) for p in self.passages or ())
        return max(ends, default=len(self.text or ""))

    def to_document(self, where: str) -> Document:
        """The document; `where` is the field that errors name.

        Raises:
            Failure: a span or a passage is not in the text.
        """
        if (self.text is None) == (self.passages is None):
            raise Failure(422, "a document has either a text or passages", where)
        passages = [Passage(p.text, p.offset) for p in self.passages or ()]
        mentions = [
            Mention(m.text, tuple(m.spans), type=m.type, document_id=self.id) for m in self.mentions
        ]
        document = Document(
            self.id, tuple(passages or [Passage(self.text or "", 0)]), tuple(mentions)
        )
        try:
            length = len(document.text)
        except ValueError as error:
            raise Failure(422, str(error), where) from None
        for number, mention in enumerate(self.mentions):
            if not all(start < end <= length for start, end in mention.spans):
                reason = f"a span is not [start, end] in the {length:,} characters of the text"
                raise Failure(422, reason, f"{where}.mentions.{number}.spans")
        return document


Name = Annotated[
    LooseMention,
    BeforeValidator(
        lambda value: {"text": value} if isinstance(value, str) else value,
        json_schema_input_type=Annotated[str, Field(min_length=1)] | LooseMention,
    ),
]
"""A mention as it is written, or with more."""


class LinkBody(Options):
    """Mentions to link: loose ones, or those marked in documents."""

    mentions: Many[Name] | None = None
    documents: Many[TextDocument] | None = None

    @model_validator(mode="after")
    def _has_one(self) -> LinkBody:
        if (self.mentions is None) == (self.documents is None):
            raise ValueError("either mentions or documents are expected")
        return self

    def items(self, limits: Limits) -> list[Item]:
        """What is to be linked."""
        if self.documents is not None:
            return [*to_documents(self.documents, limits)]
        mentions = self.mentions or []
        check("mentions", len(mentions), limits.mentions, "mentions")
        most = _CANDIDATES_OF_ALL * limits.mentions
        check("candidates (mentions times k)", self.k * len(mentions), most, "k")
        for number, mention in enumerate(mentions):
            check_mention(mention.text, limits, f"mentions.{number}")
        return [Mention(**dict(mention)) for mention in mentions]


class AnnotateBody(Options):
    """Documents whose mentions are found and linked."""

    documents: Many[TextDocument]


class ExplainBody(Options):
    """A mention whose answer is explained."""

    mention: Text = Field(min_length=1)
    concept: str | None = Field(None, max_length=200, description="Why not this one?")
    document: TextDocument | None = None


def to_documents(documents: Sequence[TextDocument], limits: Limits) -> list[Document]:
    """The documents of a request.

    Raises:
        Failure: they are more, or longer, than the limits allow, or one does not fit together.
    """
    check("documents", len(documents), limits.mentions, "documents")
    check("mentions", sum(len(d.mentions) for d in documents), limits.mentions, "documents")
    length = sum(document.length for document in documents)
    check("characters in the documents", length, limits.text, "documents")
    for place, document in enumerate(documents):
        for number, mention in enumerate(document.mentions):
            check_mention(mention.text, limits, f"documents.{place}.mentions.{number}.text")
    return [d.to_document(f"documents.{place}") for place, d in enumerate(documents)]


def cost(item: Item) -> int:
    """What a request counts in a batch: the characters of its mentions."""
    if isinstance(item, Document):
        return 1 + sum(len(mention.text) for mention in item.mentions)
    return 1 + len(item if isinstance(item, str) else item.text)


EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_bytes())
"""Examples for the OpenAPI description: bodies of requests by their paths, and predictions."""

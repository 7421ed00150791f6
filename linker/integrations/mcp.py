"""Tools for assistants, by the Model Context Protocol: mentions are linked, concepts looked up.

Every id in an answer is one of the dictionary; a mention that it has no concept for has none.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from linker.dictionary import lookup
from linker.errors import LinkerError, needing
from linker.evaluation.pairs import PairChecker
from linker.linking.decided import Decided
from linker.linking.documents import Annotator
from linker.linking.linker import Linker
from linker.readers.records import MENTION_LIMIT
from linker.types import Document, Part, Passage, Prediction
from linker.version import VERSION

with needing("the Model Context Protocol", "mcp"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations

_MENTIONS, _TEXT, _FOUND = 1_000, 100_000, 50  # the most of a call, and of what it returns
_INSTRUCTIONS = """Maps names of diseases and other concepts to identifiers of a dictionary
({sources}; {concepts:,} concepts, with ids such as {example}). Take ids from these tools only:
never invent or complete one. confidence is the probability that an id is right. Without an id, the
dictionary has no concept that is probable enough; the alternatives are guesses. assertion says
whether the text denies what it names (absent), or calls it possible, historical, or of a relative
(family): "no gout" names gout, and the patient has none."""

Probability = Annotated[
    float | None,
    Field(ge=0, le=1, description="Confidence that an answer needs; null: the model chooses."),
]
Id = Annotated[str, Field(max_length=200, description="A CURIE, such as MESH:D001943.")]


class Choice(BaseModel):
    """A concept that a mention may mean."""

    id: str
    name: str
    confidence: float | None


class LinkedPart(BaseModel):
    """A mention, or a part of a composite one, and what it means."""

    text: str
    id: str | None
    name: str | None
    confidence: float | None
    alternatives: list[Choice]
    state: str  # what people said of the mention: model, accepted, rejected, no concept, ...
    assertion: str  # what the text says of it: present, absent, possible, historical, family


class FoundPart(LinkedPart):
    """A mention in a text, at characters [start, end)."""

    start: int
    end: int


class SearchResult(BaseModel):
    """A concept that a search found, and by which of its names."""

    id: str
    name: str
    matched_name: str


class Pair(BaseModel):
    """An id and the label that somebody gave it."""

    id: Id
    label: str


class CheckedPair(Pair):
    """What is said of a pair: right, obsolete, mismatched, unsure or unknown."""

    verdict: str
    current_id: str
    better_id: str
    better_name: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools, each a method; its docstring is what the assistant reads.

    Args:
        linker: links mentions, and has the dictionary.
        decisions: of people, which win over the model.
    """

    linker: Linker
    decisions: Decided | None = None

    def link_mentions(
        self,
        mentions: Annotated[list[str], Field(min_length=1, max_length=_MENTIONS)],
        k: Annotated[int, Field(ge=1, le=_FOUND, description="Concepts for each part.")] = 3,
        threshold: Annotated[
            float, Field(ge=0, le=1, description="Confidence that an id needs; 0: always one.")
        ] = 0.5,
    ) -> list[list[LinkedPart]]:
        """Link names as people write them; each is answered by a list of its parts.

        "breast and ovarian cancer" has two parts, most names have one. A blank name, and one of
        more than 1,000 characters, has none.
        """
        names = map(_name, mentions)
        predictions = self.linker.link(names, k=k, threshold=threshold, decisions=self.decisions)
        return [[_linked(part, p) for part in p.parts if part.text] for p in predictions]

    def annotate_text(
        self,
        text: Annotated[str, Field(min_length=1, max_length=_TEXT)],
        threshold: Probability = None,
    ) -> list[FoundPart]:
        """Find the mentions in a text and link them, in the order of the text.

        A text may define its short forms: "familial adenomatous polyposis (FAP)".
        """
        annotator, document = Annotator(self.linker), Document("text", (Passage(text),))
        linked = annotator.annotate([document], k=3, threshold=threshold, decisions=self.decisions)
        return [
            FoundPart(
                start=p.mention.spans[0][0], end=p.mention.spans[-1][1], **dict(_linked(part, p))
            )
            for _, predictions in linked
            for p in predictions
            for part in p.parts
        ]

    def get_concept(self, id: Id) -> dict[str, Any]:
        """Look up a concept: its names, definition, parents, children, other ids, public page.

        An old or alternative id leads to the concept that it stands for.
        """
        concept = lookup.described(self.linker.dictionary, id)
        if concept is None:
            raise ToolError(_unknown(id))
        return concept

    def search_concepts(
        self,
        query: Annotated[str, Field(min_length=1, max_length=1_000)],
        limit: Annotated[int, Field(ge=1, le=_FOUND)] = 10,
    ) -> list[SearchResult]:
        """Find concepts by an id, or by a name, of which words may be begun, misspelt or left out.

        To link a name, use link_mentions.
        """
        linker, table = self.linker, self.linker.generator.table
        linked = linker.link([query], k=limit, threshold=0.0, decisions=self.decisions)
        hits = lookup.search(linker.dictionary, table, linker.normalize, query, linked)
        return [
            SearchResult(
                matched_name=hit.matched_name, **lookup.reference(linker.dictionary, hit.row)
            )
            for hit in itertools.islice(hits, limit)
        ]

    def check_labels(
        self, pairs: Annotated[list[Pair], Field(min_length=1, max_length=_MENTIONS)]
    ) -> list[CheckedPair]:
        """Check ids with their labels, before they are written down.

        right: the label names the concept; obsolete: the id was replaced by current_id; mismatched:
        the label means better_id; unsure: neither is clear; unknown: there is no such id. Without
        a label, or with one of more than 1,000 characters, only obsolete or unknown is said.
        """
        labels = [_name(pair.label) for pair in pairs]
        checker, predictions = PairChecker(self.linker), self.linker.link(iter(labels))
        return [
            CheckedPair(
                **dict(pair),
                **checker.check(pair.id, label, prediction if label else None)._asdict(),
            )
            for pair, label, prediction in zip(pairs, labels, predictions, strict=True)
        ]


def server(linker: Linker, decisions: Decided | None = None) -> MCPServer[Any]:
    """The server of the tools; `run()` serves it on standard input and output.

    Args:
        linker, decisions: as for `Tools`.
    """
    dictionary, tools = linker.dictionary, Tools(linker, decisions)
    instructions = _INSTRUCTIONS.format(
        sources=", ".join(dict.fromkeys(source.file for source in dictionary.sources)),
        concepts=len(dictionary),
        example=dictionary.ids[0],
    )
    made = MCPServer("linker", version=VERSION, instructions=instructions, log_level="WARNING")
    for tool in (
        tools.link_mentions,
        tools.annotate_text,
        tools.get_concept,
        tools.search_concepts,
        tools.check_labels,
    ):
        made.add_tool(
            _refusing(tool),
            description=inspect.getdoc(tool),
            annotations=ToolAnnotations(read_only_hint=True),
        )
    return made


def _refusing(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool, whose refusals the assistant reads; of other errors it is told nothing."""

    @functools.wraps(tool)
    def refusing(*args: Any, **values: Any) -> Any:
        try:
            return tool(*args, **values)
        except LinkerError as error:
            raise ToolError(str(error)) from None

    return refusing


def _name(text: str) -> str:
    """A name without the white space around it; empty for a text that is too long for one."""
    return name if len(name := text.strip()) <= MENTION_LIMIT else ""


def _linked(part: Part, prediction: Prediction) -> LinkedPart:
    """A part of a mention with its answer."""
    best = part.best
    others = part.candidates[1:] if best else part.candidates
    if part.rejected and best is None:
        others = (part.rejected, *(c for c in others if c != part.rejected))
    return LinkedPart(
        text=part.text,
        id=best.concept_id if best else None,
        name=best.name if best else None,
        confidence=best.confidence if best else None,
        alternatives=[
            Choice(id=c.concept_id, name=c.name, confidence=c.confidence) for c in others
        ],
        state=prediction.state,
        assertion=part.assertion,
    )


def _unknown(id: str) -> str:
    return f"the dictionary has no id {id!r}; find the concept with search_concepts"

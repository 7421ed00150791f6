"""Tools for assistants, by the Model Context Protocol: mentions are linked, concepts looked up.

Every id in an answer is one of the dictionary; a mention that it has no concept for has none.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import socket
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, Field

from linker.desk.service import origins
from linker.dictionary import lookup
from linker.errors import LinkerError, needing
from linker.evaluation.pairs import PairChecker
from linker.io.files import MENTION_LIMIT
from linker.linking.decided import Decided
from linker.linking.documents import Annotator
from linker.linking.linker import Linker
from linker.records import Document, Part, Passage, Prediction
from linker.version import VERSION

with needing("the Model Context Protocol", "mcp"):
    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp_types import ToolAnnotations
    from starlette.datastructures import Headers
    from starlette.middleware.cors import CORSMiddleware
    from starlette.responses import JSONResponse
    from starlette.types import ASGIApp, Receive, Scope, Send

_MENTIONS, _TEXT, _FOUND = 1_000, 100_000, 50  # the most of a call, and of what it returns
_INSTRUCTIONS = """Maps names of diseases and other concepts to identifiers of a dictionary
({sources}; {concepts:,} concepts, with ids such as {example}). Take ids from these tools only:
never invent or complete one. confidence is the probability that an id is right. Without an id, the
dictionary has no concept that is probable enough; the alternatives are guesses, and what is named
probably is a kind of broader, if there is one, which is not its id. assertion says
whether the text denies what it names (absent), or calls it possible, historical, or of a relative
(family): "no gout" names gout, and the patient has none. state is what people said of the mention:
model (nothing), accepted, rejected, no concept, open (the model answers, if at all) or disputed."""

Probability = Annotated[
    float | None,
    Field(ge=0, le=1, description="Confidence that an answer needs; null: the model chooses."),
]
Id = Annotated[str, Field(max_length=200, description="A CURIE, such as MESH:D001943.")]
Json = dict[str, Any]


class Pair(BaseModel):
    """An id and the label that somebody gave it."""

    id: Id
    label: str


def server(linker: Linker, decisions: Decided | None = None) -> MCPServer[Any]:
    """The server of the tools; `run()` serves it on standard input and output.

    Args:
        linker: links mentions, and has the dictionary.
        decisions: of people, which win over the model.
    """
    dictionary = linker.dictionary
    instructions = _INSTRUCTIONS.format(
        sources=", ".join(dict.fromkeys(source.file for source in dictionary.sources)),
        concepts=len(dictionary),
        example=dictionary.ids[0],
    )
    mcp = MCPServer("linker", version=VERSION, instructions=instructions, log_level="WARNING")
    of = _Tools(linker, decisions)
    tools = (
        *(of.link_mentions, of.annotate_text, of.get_concept),
        *(of.search_concepts, of.check_labels),
    )
    for tool in tools:
        reading = ToolAnnotations(read_only_hint=True)
        mcp.add_tool(_refusing(tool), description=inspect.getdoc(tool), annotations=reading)
    return mcp


def serve(
    tools: MCPServer[Any], listening: socket.socket, names: frozenset[str], sites: tuple[str, ...]
) -> None:
    """Serve tools over HTTP until the process is told to stop.

    Args:
        tools: what `server` made.
        listening: the socket that takes the connections.
        names, sites: as in `application`.
    """
    config = uvicorn.Config(application(tools, names, sites), log_config=None, log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


def application(
    tools: MCPServer[Any], names: frozenset[str], sites: tuple[str, ...] = ()
) -> ASGIApp:
    """The tools at /mcp, as an ASGI application that pages of other sites cannot use.

    Args:
        tools: what `server` made.
        names: by which it may be called, beside addresses.
        sites: origins whose pages may use it.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # but by _Gate
    app = tools.streamable_http_app(stateless_http=True, transport_security=unchecked)
    methods = ["GET", "POST", "DELETE"]
    cors = CORSMiddleware(app, allow_origins=sites, allow_methods=methods, allow_headers=["*"])
    return _Gate(cors, names, sites)


class _Gate:
    """ASGI middleware that refuses requests of pages of other sites, as `linker serve` does."""

    def __init__(self, app: ASGIApp, names: frozenset[str], sites: tuple[str, ...]) -> None:
        self._app = app
        self._names = names
        self._sites = sites

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else ""
        if refusal:
            await JSONResponse({"error": refusal}, 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> str:
        """Why a request is refused; empty: it is not."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        name = origins.host_name(host)
        if name is None or not origins.is_named(name, self._names, self._sites):
            return "this Host is not allowed; use an address, or start linker mcp with --cors"
        if not origins.is_ours(origin, host, self._sites):
            return "this origin is not allowed; start linker mcp with --cors ORIGIN"
        return ""


class _Tools:
    """What an assistant may call; each docstring is what it reads."""

    def __init__(self, linker: Linker, decisions: Decided | None) -> None:
        self._linker, self._decisions = linker, decisions

    def link_mentions(
        self,
        mentions: Annotated[list[str], Field(min_length=1, max_length=_MENTIONS)],
        k: Annotated[int, Field(ge=1, le=_FOUND, description="Concepts for each part.")] = 3,
        threshold: Annotated[
            float, Field(ge=0, le=1, description="Confidence that an id needs; 0: always one.")
        ] = 0.5,
    ) -> list[list[Json]]:
        """Link names as people write them; each is answered by a list of its parts.

        "breast and ovarian cancer" has two parts, most names have one. A blank name, and one of
        more than 1,000 characters, has none.
        """
        predictions = self._linker.link(
            map(_name, mentions), k=k, threshold=threshold, decisions=self._decisions
        )
        return [[_linked(part, p) for part in p.parts if part.text] for p in predictions]

    def annotate_text(
        self,
        text: Annotated[str, Field(min_length=1, max_length=_TEXT)],
        threshold: Probability = None,
    ) -> list[Json]:
        """Find the mentions in a text, at characters [start, end), and link them, in its order.

        A text may define its short forms: "familial adenomatous polyposis (FAP)".
        """
        document, annotate = Document("text", (Passage(text),)), Annotator(self._linker).annotate
        linked = annotate([document], k=3, threshold=threshold, decisions=self._decisions)
        return [
            _linked(part, p) | {"start": p.mention.spans[0][0], "end": p.mention.spans[-1][1]}
            for _, predictions in linked
            for p in predictions
            for part in p.parts
        ]

    def get_concept(self, id: Id) -> Json:
        """Look up a concept: its names, definition, parents, children, other ids, public page.

        An old or alternative id leads to the concept that it stands for.
        """
        if (concept := lookup.described(self._linker.dictionary, id)) is None:
            raise LinkerError(
                f"the dictionary has no id {id!r}; find the concept with search_concepts"
            )
        return concept

    def search_concepts(
        self,
        query: Annotated[str, Field(min_length=1, max_length=1_000)],
        limit: Annotated[int, Field(ge=1, le=_FOUND)] = 10,
    ) -> list[Json]:
        """Find concepts by an id, or by a name, of which words may be begun, misspelt or left out.

        To link a name, use link_mentions.
        """
        linked = self._linker.link([query], k=limit, threshold=0.0, decisions=self._decisions)
        table, form = self._linker.generator.table, self._linker.normalize
        dictionary = self._linker.dictionary
        hits = lookup.search(dictionary, table, form, query, linked)
        return [
            lookup.reference(dictionary, hit.row) | {"matched_name": hit.matched_name}
            for hit in itertools.islice(hits, limit)
        ]

    def check_labels(
        self,
        pairs: Annotated[list[Pair], Field(min_length=1, max_length=_MENTIONS)],
    ) -> list[Json]:
        """Check ids with their labels, before they are written down.

        right: the label names the concept; obsolete: the id was replaced by current_id; mismatched:
        the label means better_id; unsure: neither is clear; unknown: there is no such id. Without
        a label, or with one of more than 1,000 characters, only obsolete or unknown is said.
        """
        labels = [_name(pair.label) for pair in pairs]
        check, predictions = PairChecker(self._linker).check, self._linker.link(iter(labels))
        return [
            dict(pair) | check(pair.id, label, prediction if label else None)._asdict()
            for pair, label, prediction in zip(pairs, labels, predictions, strict=True)
        ]


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


def _linked(part: Part, prediction: Prediction) -> Json:
    """A part of a mention with its answer, and the concepts that it might mean beside that."""
    best, others, broader = part.best, part.candidates, part.broader
    state = prediction.state
    if prediction.has_open_part and not part.is_open:
        state = "accepted" if best else "no concept"
    if best:
        others = others[1:]
    elif part.rejected:
        others = (part.rejected, *(c for c in others if c != part.rejected))
    return {
        "text": part.text,
        "id": best and best.concept_id,
        "name": best and best.name,
        "confidence": best and best.confidence,
        "alternatives": [
            {"id": c.concept_id, "name": c.name, "confidence": c.confidence} for c in others
        ],
        "broader": broader and {"id": broader.concept_id, "name": broader.name},
        "state": state,
        "assertion": part.assertion,
    }

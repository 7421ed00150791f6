"""A small service with the routes that the page uses, over a real linker; decisions are a list."""

from __future__ import annotations

import io
import itertools
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import linker.service
from linker import Linker, ids, outputs
from linker.annotation import Annotator
from linker.dictionary import inspection
from linker.errors import LinkerError
from linker.outputs import explanation, jsonl
from linker.readers import mentions as readers
from linker.types import Candidate, Document, Mention, Passage, Prediction

PAGE = Path(linker.service.__file__).parent / "page"
POLICY = (
    "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


class Fake:
    def __init__(self, linker: Linker) -> None:
        self.linker, self.decisions = linker, []
        self.number = itertools.count(1)
        self.fail: list[Response] = []  # what the next requests are answered with
        self.asked: list[str] = []

    def app(self) -> Starlette:
        posts = [self.link, self.annotate, self.parse, self.explain]
        routes = [Route(f"/{f.__name__}", self.guarded(f), methods=["POST"]) for f in posts]
        routes += [
            Route(
                "/",
                lambda _: FileResponse(
                    PAGE / "index.html", headers={"Content-Security-Policy": POLICY}
                ),
            ),
            Route("/model", self.guarded(self.model)),
            Route("/search", self.guarded(self.search)),
            Route("/concepts/{id}", self.guarded(self.concept)),
            Route("/decisions", self.guarded(self.list_decisions)),
            Route("/decisions", self.guarded(self.add_decisions), methods=["POST"]),
            Route("/decisions/{id:int}", self.guarded(self.delete_decision), methods=["DELETE"]),
            Mount("/static", StaticFiles(directory=PAGE)),
        ]
        return Starlette(routes=routes)

    def guarded(self, function: Any) -> Any:
        async def answer(request: Request) -> Response:
            self.asked.append(request.url.path)
            if self.fail:
                return self.fail.pop(0)
            try:
                result = await function(request)
            except LinkerError as error:
                return JSONResponse({"error": str(error)}, 422)
            return result if isinstance(result, Response) else JSONResponse(result)

        return answer

    async def model(self, request: Request) -> Any:
        return {
            "dictionary": self.linker.describe_dictionary(),
            "decisions": True,
            "limits": {"body": 4_000_000},
        }

    async def link(self, request: Request) -> Any:
        body = await request.json()
        if "mentions" in body:
            texts = [m if isinstance(m, str) else m["text"] for m in body["mentions"]]
            items = [(None, list(self.linker.link([Mention(t) for t in texts])))]
        else:
            items = list(self.linker.link_items(map(_document, body["documents"])))
        return self.written(request, items)

    async def annotate(self, request: Request) -> Any:
        body = await request.json()
        return self.written(
            request, list(Annotator(self.linker).annotate(map(_document, body["documents"])))
        )

    def written(self, request: Request, items: Any) -> Any:
        items = [
            (document, [self.decided(p) for p in predictions]) for document, predictions in items
        ]
        if format := request.query_params.get("format"):
            file = io.StringIO()
            if format == "sssom":
                rows = [f"{p.mention.text}\t{outputs.joined_ids(p)}" for _, ps in items for p in ps]
                file.write("\n".join(["#license: x", "subject_label\tobject_id", *rows, ""]))
            else:
                outputs.writer(format)(items, file)
            return PlainTextResponse(file.getvalue())
        return {"predictions": [jsonl.to_json(p) for _, ps in items for p in ps]}

    def decided(self, prediction: Prediction) -> Prediction:
        kept = [d for d in self.decisions if d["mention"] == prediction.mention.text]
        if not kept or self.conflicts(kept):
            return prediction
        parts = prediction.parts
        for d in kept:
            if d["accepted"]:
                names = [c for c in (d["concept_id"] or "").split("|") if c]
                parts = tuple(
                    replace(
                        parts[min(n, len(parts) - 1)],
                        nil=False,
                        rejected=None,
                        candidates=(self.candidate(c),),
                    )
                    for n, c in enumerate(names)
                ) or (replace(parts[0], nil=True, candidates=(), rejected=parts[0].best),)
            else:
                parts = tuple(
                    replace(p, candidates=rest, nil=not rest)
                    for p in parts
                    for rest in [tuple(c for c in p.candidates if c.concept_id != d["concept_id"])]
                )
        return replace(prediction, parts=parts)

    def candidate(self, identifier: str) -> Candidate:
        (row,) = self.linker.dictionary.rows(identifier)
        name = self.linker.dictionary.preferred_name(row)
        return Candidate(identifier, name, name, 1.0, source="decision", confidence=1.0)

    async def parse(self, request: Request) -> Any:
        name, column = request.query_params["name"], request.query_params.get("column")
        content = await request.body()
        if name.endswith(".csv"):
            header, *rows = [line.split(",") for line in content.decode().splitlines()]
            if column is None:
                return {"columns": header}
            return {
                "format": "csv",
                "mentions": [{"text": row[header.index(column)]} for row in rows],
            }
        with tempfile.TemporaryDirectory() as folder:
            (path := Path(folder) / "file").write_bytes(content)
            items = list(readers.read(path))
        if isinstance(items[0], Mention):
            return {"format": "txt", "mentions": [{"text": m.text} for m in items]}
        return {"format": "pubtator", "documents": list(map(_json, items))}

    async def explain(self, request: Request) -> Any:
        body = await request.json()
        document = _document(body["document"]) if "document" in body else None
        explained = self.linker.explain(
            body["mention"], concept=body.get("concept"), document=document, k=body["k"]
        )
        return json.loads(explanation.to_json(explained))

    async def search(self, request: Request) -> Any:
        dictionary = self.linker.dictionary
        rows = itertools.islice(inspection.search(dictionary, request.query_params["q"]), 10)
        return {"concepts": [self.place(row) | {"matched_name": "", "score": 1.0} for row in rows]}

    def place(self, row: int) -> dict[str, Any]:
        dictionary = self.linker.dictionary
        return {"id": dictionary.ids[row], "name": dictionary.preferred_name(row)}

    async def concept(self, request: Request) -> Any:
        dictionary, asked = self.linker.dictionary, request.path_params["id"]
        rows = dictionary.rows(ids.curie(asked))
        if not rows:
            return JSONResponse({"error": f"no concept has the id {asked}"}, 404)
        concept, hierarchy = dictionary.concept(rows[0]), dictionary.hierarchy
        parents = hierarchy.parents([rows[0]])[0].tolist()
        return self.place(rows[0]) | {
            "names": [{"text": name.text, "kind": name.kind} for name in concept.names],
            "definition": concept.definition,
            "children": [self.place(row) for row in hierarchy.children([rows[0]])[0].tolist()],
            "path": [
                [self.place(r) for r in (*hierarchy.way_up(p)[::-1], rows[0])] for p in parents
            ],
            "types": list(concept.types),
            "xrefs": [],
            "alt_ids": list(concept.alt_ids),
            "url": f"https://meshb.nlm.nih.gov/record/ui?ui={concept.id.split(':')[1]}",
            "asked": asked,
            "status": "current",
        }

    async def list_decisions(self, request: Request) -> Any:
        kept = [d for d in self.decisions if d["mention"] == request.query_params["mention"]]
        return {"decisions": kept, "conflicts": self.conflicts(kept)}

    @staticmethod
    def conflicts(kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
        by_reviewer = {d["reviewer"]: d["concept_id"] for d in kept if d["accepted"]}
        if len(set(by_reviewer.values())) < 2:
            return []
        return [{"mention": kept[0]["mention"], "scope": "", "decisions": kept}]

    async def add_decisions(self, request: Request) -> Any:
        added = [
            d | {"id": next(self.number), "time": "2026-01-02T03:04:05Z"}
            for d in (await request.json())["decisions"]
        ]
        self.decisions += added
        return JSONResponse({"decisions": added}, 201)

    async def delete_decision(self, request: Request) -> Any:
        self.decisions = [d for d in self.decisions if d["id"] != request.path_params["id"]]
        return {}


def _document(record: dict[str, Any]) -> Document:
    passages = record.get("passages") or [{"text": record["text"], "offset": 0}]
    mentions = [
        Mention(
            m["text"],
            tuple(map(tuple, m["spans"])),
            type=m.get("type", ""),
            document_id=record["id"],
        )
        for m in record.get("mentions", ())
    ]
    texts = tuple(Passage(p["text"], p["offset"]) for p in passages)
    return Document(record["id"], texts, tuple(mentions))


def _json(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "passages": [{"text": p.text, "offset": p.offset} for p in document.passages],
        "mentions": [
            {"text": m.text, "spans": [list(s) for s in m.spans], "type": m.type}
            for m in document.mentions
        ],
    }

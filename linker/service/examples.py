"""Examples and further answers that the OpenAPI description shows."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Error(BaseModel):
    """Why a request was not answered."""

    error: str
    where: str | None = None


def _errors(*statuses: tuple[int, str]) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Error, "description": text} for status, text in statuses}


ERRORS = _errors(
    (400, "The body is no JSON, or the head of the request is malformed."),
    (401, "The API key is missing or wrong."),
    (403, "The Host or the Origin is not allowed."),
    (404, "There is no such concept or decision."),
    (408, "The body came too slowly."),
    (409, "The state of the service does not allow it."),
    (413, "The request is larger than a limit."),
    (415, "The body is not a file or JSON, as the request wants it."),
    (422, "The request is not as described."),
    (429, "The queue is full; Retry-After says when to try again."),
    (503, "The answer took too long, or there are too many requests."),
)
LINK = {
    "mentions": {
        "summary": "Names",
        "value": {"mentions": ["breast cancer", {"text": "A-T", "type": "Disease"}], "k": 2},
    },
    "documents": {
        "summary": "Mentions in a text",
        "value": {
            "documents": [
                {
                    "id": "1",
                    "text": "Ataxia telangiectasia (A-T) was seen.",
                    "mentions": [{"text": "A-T", "spans": [[23, 26]]}],
                }
            ]
        },
    },
}
ANNOTATE = {
    "text": {
        "summary": "A text",
        "value": {"documents": [{"id": "1", "text": "Two sisters had breast cancer."}]},
    }
}
EXPLAIN = {
    "mention": {"summary": "Why this, and not that", "value": {"mention": "breast cancer"}},
}
_CANDIDATE = {
    "concept_id": "MESH:D001943",
    "name": "Breast Neoplasms",
    "matched_name": "Breast Cancer",
    "score": 1.0,
    "sparse_score": 1.0,
    "dense_score": None,
    "confidence": 0.99,
}
_PREDICTION = {
    "schema": 1,
    "mention": "breast cancer",
    "document_id": None,
    "spans": None,
    "parts": [
        {
            "text": "breast cancer",
            "expanded": None,
            "spans": None,
            "nil": False,
            "confidence": 0.99,
            "candidates": [_CANDIDATE],
            "rejected": None,
        }
    ],
    "reading": "whole",
    "rivals": [],
}
PREDICTIONS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The predictions, or a file of them.",
        "content": {
            "application/json": {"example": {"predictions": [_PREDICTION]}},
            "text/tab-separated-values": {},
            "application/x-ndjson": {},
            "text/plain": {},
            "application/xml": {},
        },
    }
}
EXPLANATION: dict[int | str, dict[str, Any]] = {
    200: {"description": "What linker explain --format json writes."}
}

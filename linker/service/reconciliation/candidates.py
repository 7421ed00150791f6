"""Candidates: a query becomes requests to the linker, and their answers its result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from linker.dictionary.finding import doubt
from linker.errors import shorten
from linker.linking.requests import Linked, Request
from linker.readers.records import MENTION_LIMIT
from linker.service.reconciliation.extension import MOST_PROPERTIES
from linker.service.reconciliation.vocabulary import (
    ANY,
    IDENTIFYING,
    PROPERTIES,
    Json,
    Type,
    Vocabulary,
    fit,
)
from linker.types import Candidate, Selection

SURE = 0.8
"""The confidence that a match needs.

It is a choice: of development mentions 19 of 20 matches are right with it, 7 of 8 with one half
(benchmarks/service/openrefine.py).
"""
BATCH = 100  # queries in a batch, and at most as many answers to each
_VALUES = 100  # of a property in a query
_LIMIT = 5  # answers to a query that names no limit
_DEPTH = 20  # candidates among which properties and further types choose
_MISFIT = 0.1  # how much of its score a candidate keeps whose properties do not fit
_UNNAMED = 0.99  # the best score beside a concept that an id names
_DESCRIPTION = 200  # characters


def _texts(value: Any) -> list[str]:
    """The values of a property that are not empty, as texts; a reconciled cell is its id."""
    values = value if isinstance(value, list) else [value]
    values = [v["id"] if isinstance(v, dict) and "id" in v else v for v in values]
    if not all(v is None or isinstance(v, str | int | float) for v in values):
        raise ValueError("expected: texts, numbers, true or false, or reconciled cells with an id")
    return [str(v) for v in values if v is not None and str(v).strip()]


class Wanted(BaseModel):
    """What a query says of a property."""

    pid: str
    texts: Annotated[list[str], BeforeValidator(_texts)] = Field(alias="v", max_length=_VALUES)


class Query(BaseModel):
    """A query, of which version 0.1 needs the text, and 0.2 the text or a property.

    The text of an empty cell is empty, or null; the query has no answers then.
    """

    model_config = ConfigDict(extra="forbid")

    query: str | None = None
    type: str | list[str] | None = None
    limit: int | None = Field(None, ge=0)  # some clients write 0 for "as many as usual"
    properties: list[Wanted] = Field([], max_length=MOST_PROPERTIES)
    type_strict: Literal["any", "all", "should"] | None = None

    @model_validator(mode="after")
    def _asks(self) -> Query:
        if "query" not in self.model_fields_set and not self.properties:
            raise ValueError("expected: query, or properties")
        return self

    @property
    def text(self) -> str:
        """The name that is asked for: the text, or a name among the properties."""
        if self.query is not None:
            return self.query
        names = (w.texts[0] for w in self.properties if w.pid in ("name", "synonyms") and w.texts)
        return next(names, "")

    @property
    def types(self) -> list[str]:
        """The ids of the wanted types."""
        types = [self.type] if isinstance(self.type, str) else self.type or []
        return [text for text in types if text]

    @property
    def k(self) -> int:
        """How many candidates are wanted."""
        return min(self.limit or _LIMIT, BATCH)


@dataclass(frozen=True, slots=True)
class _Scored:
    """A candidate of a query."""

    row: int
    score: float  # 0 to 1
    is_equal: bool = False  # whether a name of it is what was asked for
    is_certain: bool = False  # whether an id, or a person's decision, names it
    is_open: bool = False  # whether it was asked for by a short form, which may mean another one
    candidate: Candidate | None = None  # None where an id names it
    fits: tuple[tuple[str, float], ...] = ()  # how well it fits each property of the query

    @property
    def points(self) -> float:
        """The score as the protocol writes it."""
        return round(100 * self.score, 2)


def requests(vocabulary: Vocabulary, query: Query) -> list[Request]:
    """What the linker is asked for a query; nothing where only ids can answer.

    Args:
        vocabulary: of the linker's dictionary.
        query: the query. Types restrict the concepts before they are ranked. Of several types a
            concept needs one, or all where `type_strict` says so.
    """
    text, types = query.text, _types(vocabulary, query)
    if not text.strip() or len(text) > MENTION_LIMIT or types == []:
        return []
    is_deeper = query.properties or (types and len(types) > 1)
    k = max(query.k, _DEPTH) if is_deeper else max(query.k, 2)
    return [Request(text, k, 0.0, within=within) for within in _selections(query, types)]


def result(vocabulary: Vocabulary, query: Query, linked: Sequence[Linked]) -> list[Json]:
    """The result of a query: its candidates, the best first.

    Args:
        vocabulary: of the linker's dictionary.
        query: the query.
        linked: the answers to its requests.
    """
    types = _types(vocabulary, query)
    scored = [entry for item in linked for entry in _answers(vocabulary, query, item)]
    states = {p.state for _, predictions in linked for p in predictions}
    is_decided = not states <= {"model", "disputed"}
    of_row = {entry.row: entry for entry in _weighed(vocabulary, query, scored)[::-1]}
    if named := _named(vocabulary, query, is_decided):
        of_row = {row: replace(e, score=min(e.score, _UNNAMED)) for row, e in of_row.items()}
    for row in named:
        of_row[row] = replace(of_row.get(row, _Scored(row, 1.0)), score=1.0, is_certain=True)
    ranked = sorted(
        (entry for entry in of_row.values() if _has_types(vocabulary, query, entry.row, types)),
        key=lambda entry: (-entry.score, not entry.is_certain),
    )
    is_whole = bool(named) or all(len(p.parts) == 1 for _, of_text in linked for p in of_text)
    matched = _is_match(vocabulary, ranked, is_whole)
    return [_json(vocabulary, entry, matched and entry is ranked[0]) for entry in ranked[: query.k]]


def _types(vocabulary: Vocabulary, query: Query) -> list[Type] | None:
    """The types that restrict a query; None for no restriction, [] where all are unknown."""
    known = [vocabulary.type(identifier) for identifier in query.types]
    if not query.types or (ANY in known and query.type_strict != "all"):
        return None
    if query.type_strict == "all" and None in known:
        return []
    return [entry for entry in known if entry]


def _has_types(
    vocabulary: Vocabulary, query: Query, row: int, types: Sequence[Type] | None
) -> bool:
    """Whether a concept has the types of a query."""
    if not types:
        return types is None
    combine = all if query.type_strict == "all" else any
    return combine(vocabulary.has_type(row, entry) for entry in types)


def _selections(query: Query, types: Sequence[Type] | None) -> list[Selection | None]:
    """The parts of the dictionary to answer from, one for each request."""
    wanted = [entry for entry in types or () if entry is not ANY]
    if query.type_strict == "all":
        wanted = wanted[:1]  # `result` keeps the concepts that have the others, too
    branches = [entry.id for entry in wanted if not entry.is_semantic]
    labels = [entry.id for entry in wanted if entry.is_semantic]
    parts: list[Selection | None] = [Selection(under=tuple(branches))] if branches else []
    return [*parts, *([Selection(types=tuple(labels))] if labels else [])] or [None]


def _answers(vocabulary: Vocabulary, query: Query, linked: Linked) -> Iterable[_Scored]:
    """The candidates of all parts of a mention."""
    (prediction,) = linked[1]
    normalize = vocabulary.linker.normalize
    for part in prediction.parts:
        candidates = part.returned if prediction.state == "no concept" else part.candidates
        scores = [candidate.score for candidate in candidates]
        for candidate in candidates:
            score = candidate.confidence
            if score is None:
                score = max(0.0, candidate.score) / max(1.0, *scores)
            for row in vocabulary.dictionary.rows(candidate.concept_id)[:1]:
                yield _Scored(
                    row,
                    score,
                    normalize(candidate.matched_name) == normalize(query.text),
                    candidate.source == "decision",
                    doubt(vocabulary.dictionary, part.text, row) is not None,
                    candidate,
                )


def _weighed(vocabulary: Vocabulary, query: Query, scored: Sequence[_Scored]) -> list[_Scored]:
    """Candidates with scores that their properties change, the best first.

    Each score is multiplied by the weight of its properties, 1 for a decision. Confidences are
    then divided by their sum, in which the probability of concepts outside the list counts with
    the largest weight.
    """
    fitting = [
        (wanted.pid, fit(vocabulary, PROPERTIES[wanted.pid], wanted.texts))
        for wanted in query.properties
        if wanted.texts and wanted.pid in PROPERTIES and wanted.pid not in IDENTIFYING
    ]
    weighed = []
    for entry in scored:
        fits = tuple((pid, round(how_well(entry.row), 4)) for pid, how_well in fitting)
        weighed.append((entry, fits, 1.0 if entry.is_certain else _weight(fits)))
    total = sum(entry.score * weight for entry, _, weight in weighed)
    rest = max(0.0, 1 - sum(entry.score for entry in scored))
    scale = total + rest * max((weight for *_, weight in weighed), default=1.0)
    if vocabulary.linker.ranker is None or not fitting:
        scale = 1.0
    scaled = [replace(e, score=e.score * w / (scale or 1.0), fits=fits) for e, fits, w in weighed]
    return sorted(scaled, key=lambda entry: -entry.score)


def _weight(fits: Iterable[tuple[str, float]]) -> float:
    """What the properties of a candidate leave of its score."""
    return math.prod(_MISFIT + (1 - _MISFIT) * value for _, value in fits)


def _named(vocabulary: Vocabulary, query: Query, is_decided: bool) -> list[int]:
    """The rows of the concepts that ids in a query name: its properties, or else its text.

    Args:
        vocabulary: of the dictionary.
        query: the query.
        is_decided: whether a person decided what its text means, so that no id in it counts.
    """
    texts = [t for w in query.properties if w.pid in IDENTIFYING for t in w.texts]
    rows = [row for text in texts for row in vocabulary.rows(text)]
    if not rows and not is_decided:
        rows = [*vocabulary.rows(query.query or "")]
    return [*dict.fromkeys(rows)]


def _is_match(vocabulary: Vocabulary, ranked: Sequence[_Scored], is_whole: bool) -> bool:
    """Whether the first candidate is taken without asking a person.

    The cell names one thing only. An id or a decision names the concept and no other; or the cell
    is no short form, no other concept has the score, and the model is sure. A model without
    confidence is sure where a name of the first is what was asked for, and of no other.
    """
    if not ranked:
        return False
    if ranked[0].is_certain:
        return is_whole and sum(entry.is_certain for entry in ranked) == 1
    is_tied = len(ranked) > 1 and ranked[0].points == ranked[1].points
    if is_tied or ranked[0].is_open:
        return False
    if vocabulary.linker.ranker is None:
        return is_whole and ranked[0].is_equal and not any(e.is_equal for e in ranked[1:])
    return is_whole and ranked[0].score >= SURE


def _json(vocabulary: Vocabulary, entry: _Scored, matched: bool) -> Json:
    """A candidate as the protocol writes it; its features are the parts of its score."""
    dictionary, candidate = vocabulary.dictionary, entry.candidate
    values: dict[str, float | bool | None] = {
        "same_name": entry.is_equal,
        "certain": entry.is_certain,
    }
    if candidate is not None:
        for name in ("confidence", "score", "sparse_score", "dense_score"):
            values[name] = getattr(candidate, name)
    values |= {f"fits_{pid}": value for pid, value in entry.fits}
    return {
        "id": dictionary.ids[entry.row],
        "name": dictionary.preferred_name(entry.row),
        "description": shorten(dictionary.columns.definitions[entry.row], _DESCRIPTION),
        "type": [wanted.reference for wanted in vocabulary.types_of(entry.row)],
        "score": entry.points,
        "match": matched,
        "features": [{"id": name, "value": v} for name, v in values.items() if v is not None],
    }

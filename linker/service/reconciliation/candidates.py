"""Candidates: the query of a cell, its requests to the linker, and its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from linker.dictionary.finding import doubt
from linker.dictionary.lookup import reference
from linker.errors import shorten
from linker.linking.requests import Linked, Request
from linker.outputs import DECISION
from linker.readers.records import MENTION_LIMIT
from linker.service.reconciliation.vocabulary import ANY, MOST_PROPERTIES, Json, Vocabulary
from linker.types import Assertion, Prediction, Selection

SURE = 0.8
"""The confidence that a match needs.

It is a choice: of development mentions 19 of 20 matches are right with it, 7 of 8 with one half.
"""
BATCH = 100  # queries in a batch, and at most as many answers to each
_IDENTIFYING = ("id", "xrefs")  # properties whose values name the concept itself
_VALUES = 100  # of a property in a query
_LIMIT = 5  # answers to a query that names no limit
_UNNAMED = 0.99  # the best score beside a concept that an id names
_DESCRIPTION = 200  # characters
_SAID: dict[Assertion, str] = {
    "absent": "denied in the cell",
    "possible": "only possible, says the cell",
    "historical": "past, says the cell",
    "family": "of a relative, says the cell",
}
"""What stands before the definition of a concept that the cell does not plainly say is present."""


def _texts(value: Any) -> list[str]:
    """The values of a property as texts; a reconciled cell is its id."""
    values = value if isinstance(value, list) else [value]
    return [str(v["id"] if isinstance(v, dict) and "id" in v else v) for v in values]


class Wanted(BaseModel):
    """What a query says of a property."""

    pid: str
    texts: Annotated[list[str], BeforeValidator(_texts)] = Field(alias="v", max_length=_VALUES)


class CellQuery(BaseModel):
    """A query: a text, or a property.

    The text of an empty cell is empty, or null; the query has no answers then.
    """

    model_config = ConfigDict(extra="forbid")

    query: str | None = None
    type: str | list[str] | None = None
    limit: int | None = Field(None, ge=0)  # some clients write 0 for "as many as usual"
    properties: list[Wanted] = Field([], max_length=MOST_PROPERTIES)
    type_strict: Literal["any", "should"] | None = None

    @model_validator(mode="after")
    def _asks(self) -> CellQuery:
        if "query" not in self.model_fields_set and not self.properties:
            raise ValueError("query, or properties")
        return self

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
    # False: it was asked for by a short form, which may mean another one, or the model answers with
    # no concept, and this is what might be meant
    may_match: bool = True
    assertion: Assertion = "present"  # what the cell says of it

    @property
    def points(self) -> float:
        """The score as the protocol writes it."""
        return round(100 * self.score, 2)


class Reconciliation:
    """A query, which becomes requests to a linker, and whose answers become its result.

    Types restrict the concepts before they are ranked; of several a concept needs one.

    Args:
        vocabulary: of the linker's dictionary.
        query: the query.
    """

    def __init__(self, vocabulary: Vocabulary, query: CellQuery) -> None:
        self._vocabulary, self._query, self._text = vocabulary, query, query.query or ""
        self._types = [vocabulary.type(identifier) for identifier in query.types]

    def requests(self) -> list[Request]:
        """What the linker is asked; nothing where only ids can answer."""
        if not self._text.strip() or len(self._text) > MENTION_LIMIT:
            return []
        parts: list[Selection | None] = [None]
        if ANY not in self._types:
            types = [entry for entry in self._types if entry]
            branches = tuple(entry.id for entry in types if not entry.is_semantic)
            labels = tuple(entry.id for entry in types if entry.is_semantic)
            selections = Selection(under=branches), Selection(types=labels)
            parts = [part for part in selections if part] or parts
        k = max(self._query.k, 2)
        return [Request(self._text, k, 0.0, within=within) for within in parts]

    def result(self, linked: Sequence[Linked]) -> list[Json]:
        """The candidates, the best first.

        Args:
            linked: the answers to the requests.
        """
        predictions = [prediction for _, of_text in linked for prediction in of_text]
        scored = [entry for prediction in predictions for entry in self._answers(prediction)]
        of_row = {entry.row: entry for entry in sorted(scored, key=lambda entry: entry.score)}
        if named := self._named(predictions):
            of_row = {row: replace(e, score=min(e.score, _UNNAMED)) for row, e in of_row.items()}
        for row in named:
            of_row[row] = replace(of_row.get(row, _Scored(row, 1.0)), score=1.0, is_certain=True)
        ranked = sorted(
            (entry for entry in of_row.values() if self._has_type(entry.row)),
            key=lambda entry: (-entry.score, not entry.is_certain),
        )
        is_whole = bool(named) or all(len(p.parts) == 1 for p in predictions)
        is_present = all(p.assertion == "present" for p in predictions)
        matched = is_present and self._is_match(ranked, is_whole)
        return [
            self._json(entry, matched and entry is ranked[0]) for entry in ranked[: self._query.k]
        ]

    def _has_type(self, row: int) -> bool:
        """Whether a concept has a type of the query; a type that is unknown has no concepts."""
        has = (entry and self._vocabulary.has_type(row, entry) for entry in self._types)
        return not self._types or any(has)

    def _answers(self, prediction: Prediction) -> Iterable[_Scored]:
        """The candidates of all parts of a mention."""
        dictionary, normalize = self._vocabulary.dictionary, self._vocabulary.linker.normalize
        for part in prediction.parts:
            candidates = part.returned if prediction.state == "no concept" else part.candidates
            best = max([1.0, *(candidate.score for candidate in candidates)])
            for candidate in candidates:
                score = candidate.confidence
                if score is None:
                    score = max(0.0, candidate.score) / best
                for row in dictionary.rows(candidate.concept_id)[:1]:
                    yield _Scored(
                        row,
                        score,
                        normalize(candidate.matched_name) == normalize(self._text),
                        candidate.source == DECISION,
                        part.best is not None and doubt(dictionary, part.text, row) is None,
                        part.assertion,
                    )

    def _named(self, predictions: Sequence[Prediction]) -> list[int]:
        """The rows of the concepts that ids in the query name: its properties, or else its text.

        Where a person decided what the text means, no id in it counts.
        """
        query, rows_of = self._query, self._vocabulary.rows
        wanted = [wanted for wanted in query.properties if wanted.pid in _IDENTIFYING]
        rows = [row for entry in wanted for text in entry.texts for row in rows_of(text)]
        if not rows and {p.state for p in predictions} <= {"model", "disputed"}:
            rows = [*rows_of(self._text)]
        return [*dict.fromkeys(rows)]

    def _is_match(self, ranked: Sequence[_Scored], is_whole: bool) -> bool:
        """Whether the first candidate is taken without asking a person.

        The cell names one thing only, and denies or doubts nothing, which `result` checks. An id or
        a decision names the concept and no other; or the cell is no short form, the concept is the
        model's answer, no other concept has the score, and the model is sure. A model without
        confidence is sure where a name of the first is what was asked for, and of no other.
        """
        if not ranked or not is_whole:
            return False
        first, others = ranked[0], ranked[1:]
        if first.is_certain:
            return not any(entry.is_certain for entry in others)
        if not first.may_match or (others and first.points == others[0].points):
            return False
        if self._vocabulary.linker.ranker is None:
            return first.is_equal and not any(entry.is_equal for entry in others)
        return first.score >= SURE

    def _json(self, entry: _Scored, matched: bool) -> Json:
        """A candidate as the protocol writes it."""
        dictionary = self._vocabulary.dictionary
        definition = shorten(dictionary.columns.definitions[entry.row], _DESCRIPTION)
        said = _SAID.get(entry.assertion, "")
        return reference(dictionary, entry.row) | {
            "description": ". ".join(filter(None, (said, definition))),
            "type": [wanted.reference for wanted in self._vocabulary.types_of(entry.row)],
            "score": entry.points,
            "match": matched,
        }

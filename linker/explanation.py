"""Explanations of answers: the records that linkers make and writers take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from linker.types import NameKind, Prediction, ReadingKind, Span

SCHEMA = 1  # of the objects that `Explanation.to_dict` makes
Doubt = Literal[
    "other case",
    "short form",
    "annotated short form",
    "unexplained short form",
    "listed short form",
]
"""Why it is open what a text means: it is a name of the concept in other case only ("all"); a short
form without a document, annotated with the concept or not; one that its document leaves open; or
one that a list of short forms explains."""

Rule = Literal["probability", "score", "annotations", "lent", "kind", "id"]
"""What puts a candidate before another one, in the order in which it counts.

Its probability by the ranker; its score; how often its name was annotated with it; that no other
vocabulary lent the name; the kind of the name; its id.
"""


@dataclass(frozen=True, slots=True)
class Share:
    """A piece of a mention, and how much of a score it carries; it may be below 0."""

    text: str  # an n-gram of characters, or a word
    value: float


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The sum that a score is: what vectors, characters and frequency give.

    `score` = `dense` + `sparse_weight` · `sparse` + `bonus`.
    """

    score: float
    sparse: float  # the dot product of the n-grams of mention and name
    dense: float | None = None  # the dot product of their vectors; None: the model has none
    sparse_weight: float = 1.0  # λ
    bonus: float = 0.0  # of a name that was annotated often

    @property
    def terms(self) -> dict[str, float]:
        """The terms of the sum, those that are always 0 left out."""
        terms = {
            "dense": self.dense or 0.0,
            "sparse": self.sparse_weight * self.sparse,
            "bonus": self.bonus,
        }
        always = {"sparse"} if self.dense is None else {"dense", "sparse"}
        return {name: value for name, value in terms.items() if value or name in always}

    def ahead_of(self, other: ScoreParts) -> dict[str, float]:
        """By how much each term is above that of another score."""
        terms, others = self.terms, other.terms
        names = dict.fromkeys((*terms, *others))
        return {name: terms.get(name, 0.0) - others.get(name, 0.0) for name in names}


@dataclass(frozen=True, slots=True)
class NamedConcept:
    """A concept of the hierarchy."""

    concept_id: str
    name: str


@dataclass(frozen=True, slots=True)
class MatchedName:
    """The name by which a concept was found."""

    text: str
    kind: NameKind
    source: str  # the vocabulary or file that it came from; empty where the file does not say
    lent: bool  # whether another vocabulary lent it to the dictionary
    exact: bool  # whether it is the mention, both in normal form
    annotated: int  # how often a mention of this form was annotated with the concept


@dataclass(frozen=True, slots=True)
class ColumnEffect:
    """A column of a described match, and how far it puts the first candidate before another one."""

    name: str  # of `linker.ranker.matches.COLUMNS`
    says: str  # what it says, in words
    first: float  # the value of the first candidate
    other: float  # that of the other one
    log_odds: float  # that the first one would lose with the value of the other


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """A concept that was ranked, and why it stands where it does."""

    rank: int  # from 1
    concept_id: str
    name: str  # preferred name
    matched: MatchedName
    parts: ScoreParts
    confidence: float | None  # the probability that it is right; None: it has none
    # the n-grams of most weight: they sum to `parts.sparse` where all are there
    ngrams: tuple[Share, ...] = ()
    # what the dense product loses where a word of the mention is left out
    words: tuple[Share, ...] = ()
    # the shortest path from a root, by way of each parent; without the concept itself
    paths: tuple[tuple[NamedConcept, ...], ...] = ()
    parents: int = 0  # `paths` may have fewer
    children: int = 0
    decided_by: Rule | None = None  # what puts the first candidate before it; None: it is first
    # the columns that describe it, those that are 0 left out; none: the ranker did not see it
    match: Mapping[str, float] = field(default_factory=dict)
    behind: tuple[ColumnEffect, ...] = ()  # what puts the first before it, the largest effect first


@dataclass(frozen=True, slots=True)
class ExpandedForm:
    """A short form of a mention, and where the document defines it."""

    short: str
    long: str
    span: Span | None  # of the long form in the document; None: part of a compound definition


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A text that was looked up in the dictionary."""

    text: str
    normalized: str  # the form by which names are compared
    misspelt: str | None = None  # that form before a spelling list corrected it; None: it did not


@dataclass(frozen=True, slots=True)
class ExplainedReading:
    """One way to read a mention, and what speaks for it."""

    kind: ReadingKind
    lookups: tuple[LookedUp, ...]  # one, or one for each part
    expansions: tuple[ExpandedForm, ...]
    won: bool
    first: tuple[
        NamedConcept | None, ...
    ]  # the first concept of each lookup; None: there is no candidate
    # the probability that all first concepts are right, before short forms limit it; the largest
    # wins; None: there is no confidence
    confidence: float | None


@dataclass(frozen=True, slots=True)
class ExplainedPart:
    """The answer for a mention, or for one part of a composite mention."""

    lookup: LookedUp
    candidates: tuple[ExplainedCandidate, ...]  # the best first
    rejected: bool  # whether there is no answer, since that it has none is more probable than all
    doubt: Doubt | None = None  # why the confidence has a limit; None: it has none
    limit: float | None = None  # the most that the confidence can be
    # the probability that the dictionary has no concept for it, or for the composite that it is a
    # part of; None: unknown
    none: float | None = None
    missed: float | None = None  # that it has one, which is not among the candidates


@dataclass(frozen=True, slots=True)
class ExplainedConcept:
    """Where a concept stands that was asked for, and what it lacks to be first."""

    concept_id: str
    name: str
    excluded: tuple[str, ...] = ()  # why it is no candidate at all: "it is not under MESH:D009369"
    first_as: tuple[str, ...] = ()  # texts of other readings for which it is the first concept
    part: int = 0  # which part of the mention it is compared for, from 0: where it stands highest
    # None: excluded, or no name of it has an n-gram of the mention
    candidate: ExplainedCandidate | None = None
    missing: tuple[Share, ...] = ()  # n-grams that give the first concept more than this one
    missing_words: tuple[Share, ...] = ()  # words that do so
    # n-grams of its name that the mention lacks, each with the square of its weight
    unmatched: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedConcepts:
    """The concept that was asked for."""

    id: str  # as a CURIE
    status: str  # "current", "alternative", "obsolete" or "merged"
    concepts: tuple[ExplainedConcept, ...]  # the current ones that the id stands for


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a mention was answered as it was."""

    mention: str
    document_id: str | None
    readings: tuple[ExplainedReading, ...]  # the most usual first
    parts: tuple[ExplainedPart, ...]  # of the reading that won
    provenance: str  # of the confidence, in words
    question: AskedConcepts | None = None
    by_decision: Prediction | None = None  # what people made of the answer; None: nobody decided

    def to_dict(self) -> dict[str, Any]:
        """The whole record as an object that `json` can write."""
        by = self.by_decision
        record = {"schema": SCHEMA, **asdict(replace(self, by_decision=None))}
        del record["by_decision"]
        if by:
            record["by_decision"] = {
                "state": by.state,
                "answer": [
                    best and {"concept_id": best.concept_id, "name": best.name}
                    for best in (part.best for part in by.parts)
                ],
                "decisions": [decision.to_dict() for decision in by.decisions],
            }
        return record

    def __repr__(self) -> str:
        from linker.outputs import explanation

        return f"<Explanation {self.mention!r}: {explanation.answer(self)}>"

    def __str__(self) -> str:
        from linker.outputs import explanation

        return explanation.to_text(self)

"""Explanation: why a mention was answered as it was, as a record and as text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tabulate import tabulate

from linker.dictionary.dictionary import Rule
from linker.dictionary.finding import Doubt
from linker.errors import shown
from linker.outputs import decimals
from linker.types import Candidate, NameKind, Prediction, ReadingKind, Span

SCHEMA = 1  # of the objects that `Explanation.to_dict` makes
_LEAST = 1e-6  # of a probability whose log odds are shown
_CANDIDATE = ("rank", "concept", "name", "matched name", "score", "confidence")
_EFFECT = ("what puts the first before it", "first", "this one", "log odds")
_DOUBTS = {  # of a text
    "other case": "is a name of the first candidate only in other case: that name is a short form",
    "short form": "is a short form, and no text says what it stands for",
    "annotated short form": "is a short form, and no text says what it stands for, "
    "although it was annotated with the first candidate",
    "unexplained short form": "is a short form, and its document does not say what it stands for",
    "listed short form": "is a short form that a list explains, not its text",
}
_PREDICATES = {
    "": "",
    "broad": " as a broader concept",
    "narrow": " as a narrower concept",
    "related": " as a related concept",
}
_STATES = {
    "rejected": ", and the model is sure enough of the next concept",
    "open": ", since the model is not sure enough of any other concept",
    "disputed": ", so that the model answers",
}


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


@dataclass(frozen=True, slots=True)
class NamedConcept:
    """A concept by its id and preferred name."""

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
    """Where a concept stands that was asked for, and why it is not first."""

    concept_id: str
    name: str
    excluded: tuple[str, ...] = ()  # why it is no candidate at all: "it is not under MESH:D009369"
    first_as: tuple[str, ...] = ()  # texts of other readings for which it is the first concept
    part: int = 0  # which part of the mention it is compared for, from 0: where it stands highest
    # None: excluded, or no name of it has an n-gram of the mention
    candidate: ExplainedCandidate | None = None


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
        """The whole record as an object that `json` can write, with its text."""
        by = self.by_decision
        record = {"schema": SCHEMA, **asdict(replace(self, by_decision=None)), "text": str(self)}
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

    def to_json(self) -> str:
        """The whole record as an object of schema 1, in one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __repr__(self) -> str:
        return f"<Explanation {self.mention!r}: {_answer(self)}>"

    def __str__(self) -> str:
        """What people read on a terminal; signs that cannot be printed are escapes."""
        return "".join(f"{shown(line)}\n" for line in _lines(self))


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"Mention: {explanation.mention}"
    yield f"Answer: {_answer(explanation)}"
    yield from _decided(explanation)
    yield from ("", "Readings", *_indented(_readings(explanation.readings)))
    for number, part in enumerate(explanation.parts, 1):
        title = f"Part {number}" if len(explanation.parts) > 1 else "Looked up"
        yield from ("", f"{title}: {_looked_up(part)}", *_indented(_of_part(part, explanation)))
    if explanation.question:
        yield from ("", f"Why not {explanation.question.id}?", *_indented(_answers(explanation)))
    yield from ("", "Confidence", *_indented([explanation.provenance]))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)


def _readings(readings: Sequence[ExplainedReading]) -> Iterator[str]:
    rows = [
        (
            *("->" if reading.won else "", reading.kind),
            " | ".join(text.text for text in reading.lookups),
            *(_concepts(reading.first), decimals(reading.confidence)),
        )
        for reading in readings
    ]
    yield from _table(("", "read", "looked up", "first concept", "confidence"), rows, "llllr")
    for reading in readings:
        yield from _expansions(reading)


def _of_part(part: ExplainedPart, explanation: Explanation) -> Iterator[str]:
    """The candidates of a part, and why the first one is first."""
    if not part.candidates:
        yield "no name of the dictionary is like it"
        return
    rows = [
        (
            *(str(c.rank), c.concept_id, c.name, _matched(c.matched)),
            *(decimals(c.parts.score), decimals(c.confidence)),
        )
        for c in part.candidates
    ]
    yield from _table(_CANDIDATE, rows, "rlllrr")
    yield from ("", _decision(part))
    if part.doubt:
        yield _limit(part)
    best, *others = part.candidates
    yield f"score {_sum_of(best.parts)}"
    for other in others:
        yield from ("", f"ahead of {other.concept_id} by {_difference(best, other)}")
        effects = [
            (e.says, f"{e.first:.4g}", f"{e.other:.4g}", f"{e.log_odds:+.2f}") for e in other.behind
        ]
        if effects:
            yield from _table(_EFFECT, effects, "lrrr")
    if any(candidate.behind for candidate in part.candidates):
        yield "(log odds: what the first would lose with the value of the other one)"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """The lines of a table.

    Args:
        header: the names of the columns.
        rows: the cells.
        align: l or r for each column.
    """
    text = tabulate(
        [list(map(shown, cells)) for cells in rows],
        header,
        tablefmt="plain",
        disable_numparse=True,
        colalign=[{"l": "left", "r": "right"}[side] for side in align],
        preserve_whitespace=True,
    )
    return [line.rstrip() for line in text.splitlines()]


def _answer(explanation: Explanation) -> str:
    """The concept of each part."""
    by = explanation.by_decision
    return _concepts(part.best for part in by.parts) if by else _of_model(explanation)


def _decided(explanation: Explanation) -> list[str]:
    """Which decisions of people answer, and what the model would."""
    if not (by := explanation.by_decision):
        return []
    return [
        *(
            f"By a decision: {d.concept_id or 'no concept'} was "
            f"{'accepted' if d.accepted else 'rejected'}{_PREDICATES[d.predicate]}"
            f"{' in bulk' * d.bulk} "
            f"by {d.reviewer or 'somebody'}, {d.time}"
            + (f", for document {d.scope}" if d.scope else "")
            for d in by.decisions
        ),
        f"State: {by.state}{_STATES.get(by.state, '')}",
        f"The model, of which all below is, answers: {_of_model(explanation)}",
    ]


def _of_model(explanation: Explanation) -> str:
    return _concepts(
        part.candidates[0] if part.candidates and not part.rejected else None
        for part in explanation.parts
    )


def _concepts(places: Iterable[NamedConcept | ExplainedCandidate | Candidate | None]) -> str:
    """The ids and names of the concepts of parts."""
    return " | ".join(f"{c.concept_id} {c.name}" if c else "none" for c in places)


def _expansions(reading: ExplainedReading) -> list[str]:
    """The short forms that a reading replaces, and where they are defined."""
    return [
        f"{form.short} is {form.long}, "
        + (
            f"defined at characters {form.span[0]} to {form.span[1]} of the document"
            if form.span
            else "by the definition of a compound of it"
        )
        for form in reading.expansions
    ]


def _looked_up(part: ExplainedPart) -> str:
    """What was looked up for a part, and its normal form where that differs."""
    lookup = part.lookup
    if lookup.misspelt is not None:
        return f'{lookup.text}, corrected from "{lookup.misspelt}" to "{lookup.normalized}"'
    if lookup.normalized != lookup.text:
        return f'{lookup.text}, in normal form "{lookup.normalized}"'
    return lookup.text


def _matched(name: MatchedName) -> str:
    """The matched name with what is known of it."""
    is_synonym = name.kind in ("exact", "narrow", "broad", "related")
    facts: list[str] = [f"{name.kind} synonym" if is_synonym else name.kind]
    if name.exact:
        facts.append("exact match")
    if name.source:
        facts.append(f"{'lent by' if name.lent else 'of'} {name.source}")
    if name.annotated:
        times = "once" if name.annotated == 1 else f"{name.annotated} times"
        facts.append(f"annotated {times}")
    return f"{name.text} ({', '.join(facts)})"


def _decision(part: ExplainedPart) -> str:
    """What becomes of the first candidate."""
    if part.none is None:
        return "there is no confidence, so that the first candidate is the answer"
    others = (
        f"{part.none:.4f} that the dictionary has no concept for the mention, "
        f"{part.missed:.4f} that it has one which was not found"
    )
    if part.rejected:
        return f"no concept is the answer: the first one is too improbable; probabilities: {others}"
    return f"the first candidate is the answer; other probabilities: {others}"


def _limit(part: ExplainedPart) -> str:
    """Why the confidence of the first candidate has a limit, for a part where it has one."""
    return (
        f"the confidence is {part.limit:g} at most, since {part.lookup.text} "
        f"{_DOUBTS[part.doubt or 'short form']}"
    )


def _sum_of(parts: ScoreParts) -> str:
    """A score as the sum that it is."""
    terms = [f"{parts.sparse:.4f} (characters)"]
    if parts.dense is not None:
        terms = [f"{parts.dense:.4f} (vectors)", f"{parts.sparse_weight:.4g} · {terms[0]}"]
    if parts.bonus:
        terms.append(f"{parts.bonus:.4f} (bonus of a frequent name)")
    return f"{parts.score:.4f} = {' + '.join(terms)}"


def _difference(best: ExplainedCandidate, other: ExplainedCandidate) -> str:
    """How far the first candidate is ahead of another one, or by which rule."""
    if other.decided_by == "probability":
        odds = _log_odds(best.confidence) - _log_odds(other.confidence)
        return f"{odds:.2f} in log odds" if odds > 0 else "its probability without the limit"
    if other.decided_by not in (None, "score"):
        return f"{_tie(best.matched, other.matched, other.decided_by)}, since the scores are equal"
    unseen = "; the ranker weighs only the best by score" if best.match and not other.match else ""
    return f"{best.parts.score - other.parts.score:.4f} of score{unseen}"


def _log_odds(probability: float | None) -> float:
    """The log odds of a probability, which is moved away from 0 and 1."""
    bounded = min(max(probability or 0.0, _LEAST), 1 - _LEAST)
    return math.log(bounded / (1 - bounded))


def _tie(first: MatchedName, second: MatchedName, rule: Rule) -> str:
    """What decides between equal scores, given the names of the candidates."""
    return {
        "annotations": "how often its name was annotated with it "
        f"({first.annotated} to {second.annotated})",
        "lent": "its name, which no other vocabulary lent",
        "kind": f"the kind of its name ({first.kind} before {second.kind})",
        "id": "its id, which comes first in order",
    }[rule]


def _answers(explanation: Explanation) -> Iterator[str]:
    """Why the concepts that were asked for are not first, in sentences."""
    if (question := explanation.question) is None:
        return
    if question.status != "current":
        article = "an" if question.status[0] in "aeiou" else "a"
        now = ", ".join(f"{c.concept_id} {c.name}" for c in question.concepts)
        rest = f"it stands for {now}" if now else "nothing has its place"
        yield f"{question.id} is {article} {question.status} id; {rest}"
    for concept in question.concepts:
        yield from _about(concept, explanation.parts)


def _about(concept: ExplainedConcept, parts: Sequence[ExplainedPart]) -> Iterator[str]:
    title, other = f"{concept.concept_id} {concept.name}", concept.candidate
    of_part = f" for {parts[concept.part].lookup.text}" if len(parts) > 1 else ""
    if concept.excluded:
        yield f"{title} cannot be answered here: {' and '.join(concept.excluded)}"
    elif other is None:
        yield f"{title} is no candidate: none of its names shares an n-gram with the mention"
    elif other.rank == 1:
        yield f"{title} is first{of_part}, by its name {_matched(other.matched)}"
    else:
        best = parts[concept.part].candidates[0]
        yield f"{title} has rank {other.rank:,}{of_part}, by its name {_matched(other.matched)}"
        yield f"score {_sum_of(other.parts)}"
        yield f"{best.concept_id} is ahead by {_difference(best, other)}"
    if concept.first_as:
        yield f"it is first where the mention is read as {' or '.join(concept.first_as)}"

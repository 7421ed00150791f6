"""Explanations as text for a terminal, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Sequence

from tabulate import tabulate

from linker.errors import shown
from linker.explanation import (
    ColumnEffect,
    ExplainedCandidate,
    ExplainedConcept,
    ExplainedPart,
    ExplainedReading,
    Explanation,
    MatchedName,
    Place,
    Rule,
    ScoreParts,
    Share,
)
from linker.outputs import decision_to_json

SCHEMA = 1
MOST_SHARES = 6  # n-grams or words that a face for people shows
_LEAST = 1e-6  # of a probability whose log odds are shown
_BLANK = "␣"  # of an n-gram
_SHOWN = 5e-5  # of a difference, which four decimals show as 0.0001
READING = ("read", "looked up", "first concept", "confidence")
CANDIDATE = ("rank", "concept", "name", "matched name", "score", "confidence")
EFFECT = ("what puts the first before it", "first", "this one", "log odds")
EFFECT_NOTE = "log odds: what the first would lose with the value of the other one"
TERMS = {
    "dense": "vectors",
    "sparse": "characters",
    "bonus": "bonus of a frequent name",
}
DOUBTS = {  # of a text
    "other case": "is a name of the first candidate only in other case: that name is a short form",
    "short form": "is a short form, and no text says what it stands for",
    "annotated short form": "is a short form, and no text says what it stands for, "
    "although it was annotated with the first candidate",
    "unexplained short form": "is a short form, and its document does not say what it stands for",
}


def to_json(explanation: Explanation) -> str:
    """The whole record as an object of schema 1, in one line."""
    record = {"schema": SCHEMA, **dataclasses.asdict(explanation)}
    if (by := explanation.by_decision) is None:
        del record["by_decision"]
    else:
        record["by_decision"]["decisions"] = list(map(decision_to_json, by.decisions))
    return json.dumps(record, ensure_ascii=False)


def to_text(explanation: Explanation) -> str:
    """What people read on a terminal; signs that cannot be printed are escapes."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"Mention: {shown(explanation.mention)}"
    yield f"Answer: {answer(explanation)}"
    yield from decided(explanation)
    yield from _section("Readings", _readings(explanation))
    for number, part in enumerate(explanation.parts, 1):
        title = f"Part {number}: " if len(explanation.parts) > 1 else "Looked up: "
        yield from _section(title + looked_up(part), _part(part, explanation))
    if question := explanation.question:
        yield from _section(f"Why not {shown(question.id)}?", _question(explanation))
    yield from _section("Confidence", [f"  {shown(explanation.provenance)}"])


def answer(explanation: Explanation) -> str:
    """The concept of each part."""
    if by := explanation.by_decision:
        return " | ".join(place_name(place) if place else "none" for place in by.answer)
    return _of_model(explanation)


_STATES = {
    "rejected": ", and the model is sure enough of the next concept",
    "open": ", since the model is not sure enough of any other concept",
    "disputed": ", so that the model answers",
}


def decided(explanation: Explanation) -> list[str]:
    """Which decisions of people answer, and what the model would."""
    if not (by := explanation.by_decision):
        return []
    lines = [
        f"By a decision: {d.concept_id or 'no concept'} was "
        f"{'accepted' if d.accepted else 'rejected'} by {d.reviewer or 'somebody'}, {d.time}"
        + (f", for document {d.scope}" if d.scope else "")
        for d in by.decisions
    ]
    return [
        *map(shown, lines),
        f"State: {by.state}{_STATES.get(by.state, '')}",
        f"The model, of which all below is, answers: {_of_model(explanation)}",
    ]


def _of_model(explanation: Explanation) -> str:
    return " | ".join(
        f"{shown(part.candidates[0].concept_id)} {shown(part.candidates[0].name)}"
        if part.candidates and not part.rejected
        else "none"
        for part in explanation.parts
    )


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from lines


def _readings(explanation: Explanation) -> Iterator[str]:
    rows = [("->" if r.won else "", *reading(r)) for r in explanation.readings]
    yield from _table(("", *READING), rows, "llllr")
    for r in explanation.readings:
        yield from (f"  {line}" for line in expansions(r))


def reading(reading: ExplainedReading) -> tuple[str, ...]:
    """The cells of a reading."""
    return (
        reading.kind,
        texts(reading),
        first(reading),
        number(reading.confidence),
    )


def texts(reading: ExplainedReading) -> str:
    """What is looked up for a reading."""
    return " | ".join(shown(lookup.text) for lookup in reading.lookups)


def first(reading: ExplainedReading) -> str:
    """The first concept of each part of a reading."""
    return " | ".join(place_name(place) if place else "none" for place in reading.first)


def place_name(place: Place) -> str:
    """A concept as people read it."""
    return f"{shown(place.concept_id)} {shown(place.name)}"


def expansions(reading: ExplainedReading) -> list[str]:
    """The short forms that a reading replaces, and where they are defined."""
    return [
        f"{shown(form.short)} is {shown(form.long)}, "
        + (
            f"defined at characters {form.span[0]} to {form.span[1]} of the document"
            if form.span
            else "by the definition of a compound of it"
        )
        for form in reading.expansions
    ]


def looked_up(part: ExplainedPart) -> str:
    """What was looked up for a part, and its normal form where that differs."""
    lookup = part.lookup
    text = shown(lookup.text)
    if lookup.misspelt is not None:
        return f'{text}, corrected from "{shown(lookup.misspelt)}" to "{shown(lookup.normalized)}"'
    if lookup.normalized != lookup.text:
        return f'{text}, in normal form "{shown(lookup.normalized)}"'
    return text


def _part(part: ExplainedPart, explanation: Explanation) -> Iterator[str]:
    if not part.candidates:
        yield "  no name of the dictionary is like it"
        return
    yield from _table(CANDIDATE, list(map(candidate, part.candidates)), "rlllrr")
    best, *others = part.candidates
    yield ""
    yield f"  {decision(part, explanation)}"
    if line := limit(part):
        yield f"  {line}"
    yield f"  score {sum_of(best.parts)}"
    yield from _carried(best)
    yield from (f"  in the hierarchy: {way}" for way in ways(best))
    for other in others:
        yield ""
        yield f"  ahead of {shown(other.concept_id)} by {difference(best, other)}"
        if other.behind:
            yield from _table(EFFECT, list(map(effect, other.behind)), "lrrr")
    if any(other.behind for other in others):
        yield f"  ({EFFECT_NOTE})"


def candidate(candidate: ExplainedCandidate) -> tuple[str, ...]:
    """The cells of a candidate."""
    return (
        str(candidate.rank),
        candidate.concept_id,
        candidate.name,
        matched(candidate),
        number(candidate.parts.score),
        number(candidate.confidence),
    )


def matched(candidate: ExplainedCandidate) -> str:
    """The matched name with what is known of it."""
    name = candidate.matched
    facts = [name.kind, *(["exact match"] if name.exact else [])]
    if name.source:
        facts.append(f"{'lent by' if name.lent else 'of'} {name.source}")
    if name.annotated:
        facts.append(
            "annotated once" if name.annotated == 1 else f"annotated {name.annotated} times"
        )
    return f"{shown(name.text)} ({shown(', '.join(facts))})"


def decision(part: ExplainedPart, explanation: Explanation) -> str:
    """What becomes of the first candidate."""
    best, none = part.candidates[0], explanation.none
    if best.confidence is None or none is None:
        return "there is no confidence, so that the first candidate is the answer"
    others = (
        f"{none:.4f} that the dictionary has no concept for the mention, "
        f"{explanation.missed:.4f} that it has one which was not found"
    )
    if part.rejected:
        return f"no concept is the answer, since that is the most probable; probabilities: {others}"
    return f"the first candidate is the answer; other probabilities: {others}"


def limit(part: ExplainedPart) -> str:
    """Why the confidence of the first candidate has a limit; empty where it has none."""
    if part.doubt is None:
        return ""
    return (
        f"the confidence is {part.limit:g} at most, since {shown(part.lookup.text)} "
        f"{DOUBTS[part.doubt]}"
    )


def sum_of(parts: ScoreParts) -> str:
    """A score as the sum that it is."""
    weight = "" if parts.dense is None else f"{parts.sparse_weight:.4g} · "
    written = {"sparse": f"{weight}{parts.sparse:.4f}"}
    terms = [
        f"{written.get(name, f'{value:.4f}')} ({TERMS[name]})"
        for name, value in parts.terms.items()
    ]
    return f"{parts.score:.4f} = {' + '.join(terms)}"


def difference(best: ExplainedCandidate, other: ExplainedCandidate) -> str:
    """How far the first candidate is ahead of another one, or by which rule."""
    if other.decided_by == "probability":
        odds = _log_odds(best.confidence) - _log_odds(other.confidence)
        return f"{odds:.2f} in log odds" if odds > 0 else "its probability without the limit"
    if other.decided_by not in (None, "score"):
        return f"{_tie(best.matched, other.matched, other.decided_by)}, since the scores are equal"
    terms = [
        f"{value:+.4f} {TERMS[name]}" for name, value in best.parts.ahead_of(other.parts).items()
    ]
    lead = best.parts.score - other.parts.score
    unseen = "; the ranker weighs only the best by score" if best.match and not other.match else ""
    shown_lead = "less than 0.0001" if lead < _SHOWN else f"{lead:.4f}"
    return f"{shown_lead}: {', '.join(terms)}{unseen}"


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


def _carried(candidate: ExplainedCandidate) -> Iterator[str]:
    """What carried the parts of a score."""
    if candidate.ngrams:
        yield f"  carried by n-grams: {shares(candidate.ngrams)}"
    if candidate.words:
        yield f"  lost by vectors without a word: {shares(candidate.words)}"


def shares(pieces: Sequence[Share]) -> str:
    """Pieces of a mention with what they give; a blank of an n-gram is visible."""
    return ", ".join(f"{piece(share)} {share.value:.3f}" for share in pieces[:MOST_SHARES])


def piece(share: Share) -> str:
    """A piece of a mention, with visible blanks."""
    return shown(share.text.replace(" ", _BLANK))


def ways(candidate: ExplainedCandidate) -> list[str]:
    """The ways from a root to a concept, and how many concepts stand below it."""
    lines = [
        " > ".join(shown(place.name) for place in path) + f" > {shown(candidate.name)}"
        for path in candidate.paths
    ]
    lines = lines or [f"{shown(candidate.name)}, which has no parent"]
    if more := candidate.parents - len(candidate.paths):
        lines.append(f"and by {more} further parent{'s' if more > 1 else ''}")
    count = candidate.children
    children = f"{count or 'no'} direct {'child' if count == 1 else 'children'}"
    lines[0] += f" ({children})"
    return lines


def effect(column: ColumnEffect) -> tuple[str, str, str, str]:
    """A column in words, with the values of both candidates and what it is worth."""
    return (
        column.says,
        f"{column.first:.4g}",
        f"{column.other:.4g}",
        f"{column.log_odds:+.2f}",
    )


def _question(explanation: Explanation) -> Iterator[str]:
    yield from (f"  {line}" for line in answers(explanation))


def answers(explanation: Explanation) -> Iterator[str]:
    """Why the concepts that were asked for are not first, in sentences."""
    question = explanation.question
    if question is None:
        return
    if question.status != "current":
        now = ", ".join(f"{c.concept_id} {c.name}" for c in question.concepts)
        article = "an" if question.status[0] in "aeiou" else "a"
        yield shown(
            f"{question.id} is {article} {question.status} id; "
            + (f"it stands for {now}" if now else "nothing has its place")
        )
    for concept in question.concepts:
        yield from _about(concept, explanation.parts)


def _about(concept: ExplainedConcept, parts: Sequence[ExplainedPart]) -> Iterator[str]:
    title = f"{shown(concept.concept_id)} {shown(concept.name)}"
    other = concept.candidate
    of_part = f" for {shown(parts[concept.part].lookup.text)}" if len(parts) > 1 else ""
    if concept.excluded:
        yield f"{title} cannot be answered here: {shown(' and '.join(concept.excluded))}"
    elif other is None:
        yield f"{title} is no candidate: none of its names shares an n-gram with the mention"
    elif other.rank == 1:
        yield f"{title} is first{of_part}, by its name {matched(other)}"
    else:
        best = parts[concept.part].candidates[0]
        yield f"{title} has rank {other.rank:,}{of_part}, by its name {matched(other)}"
        yield f"score {sum_of(other.parts)}"
        yield f"{shown(best.concept_id)} is ahead by {difference(best, other)}"
        if concept.missing:
            yield f"n-grams that give the first more: {shares(concept.missing)}"
        if concept.missing_words:
            yield f"words that give the first more, by vectors: {shares(concept.missing_words)}"
        if concept.unmatched:
            yield f"n-grams of its name that the mention lacks: {shares(concept.unmatched)}"
    if concept.first_as:
        yield f"it is first where the mention is read as {shown(' or '.join(concept.first_as))}"


def number(value: float | None, digits: int = 4) -> str:
    """A number of a table; empty where there is none."""
    return "" if value is None else f"{value:.{digits}f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[object]], align: str) -> Iterator[str]:
    """The lines of a table."""
    sides = {"l": "left", "r": "right"}
    cells = [[shown(str(cell)) for cell in row] for row in rows]
    text = tabulate(
        cells,
        header,
        tablefmt="plain",
        disable_numparse=True,
        colalign=[sides[side] for side in align],
        preserve_whitespace=True,
    )
    yield from (f"  {line}".rstrip() for line in text.splitlines())

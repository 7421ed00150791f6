"""Why a mention is answered as it is, and why a concept that is asked for is not first.

An explanation is what the ranking knew, kept: an object of JSON, and its text for people.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from scipy.special import logit
from tabulate import tabulate

from linker.dictionary import hierarchy
from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.dictionary.lookup import Doubt
from linker.errors import LinkerError, shorten, shown
from linker.ids import OPEN
from linker.io.outputs import decimals
from linker.linking.decisions import as_said
from linker.linking.engine import FLOOR, LIMITS, Engine
from linker.linking.lists import COLUMNS, INPUTS, Floats, behind
from linker.linking.ranking import Ranking
from linker.linking.requests import Answer
from linker.records import SELECTION, Decision, Document, Mention, Prediction, Selection
from linker.search.concepts import Candidates, word_pairs
from linker.search.hybrid import HybridGenerator
from linker.search.index import lowest_equal
from linker.text.readings import PartWording
from linker.text.spelling import normal_form

SCHEMA = 1  # of the objects that `Explanation.to_dict` makes
_EFFECTS = 6  # columns that put the first candidate before another one
_LEAST_EFFECT = 0.005  # log odds that two decimals show
_LEAST = 1e-6  # of a probability whose log odds are shown
_STATUS = {ALTERNATIVE: "alternative", OBSOLETE: "obsolete", MERGED: "merged"}
_EXCLUDED = {
    "under": "it is not under {}",
    "not_under": "it is under {}",
    "types": "it does not have the type {}",
    "namespaces": "its id does not have the prefix {}",
}
_DOUBTS: dict[Doubt, str] = {
    "other case": "is a name of the first candidate only in other case: that name is a short form",
    "short form": "is a short form, and no text says what it stands for",
    "annotated short form": "is an annotated short form, and no text says what it stands for",
    "unexplained short form": "is a short form, and its document does not say what it stands for",
    "listed short form": "is a short form that a list explains, not its text",
    "several meanings": "is one of several concepts that people mean by the text",
    "other word": "has other words than the first candidate, alike by their letters alone",
    "other thing": "names an organism or a measurement, and the first candidate is neither",
}
_RULES = {
    "words": "the words of its name, which stand in the order of the mention",
    "annotations": "how often its name was annotated with it",
    "lent": "its name, which no other vocabulary lent",
    "kind": "the kind of its name",
    "spelling": "its name, which is shorter or comes first by its letters",
    "id": "its id, which comes first in order",
}


_PLACES = [
    [place for place, read in enumerate(INPUTS) if read in (name, behind(name))] for name in COLUMNS
]
"""Of each column, the places of what the ranker reads of it."""


class Record(dict[str, Any]):
    """An object of JSON whose values are its attributes, too."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


class Explanation(Record):
    """Why a mention was answered as it was; docs/explaining.md says what it holds."""

    def to_dict(self) -> dict[str, Any]:
        """The whole record as an object that `json` can write, with its text."""
        record = {"schema": SCHEMA, **self, "text": str(self)}
        if not self.by_decision:
            del record["by_decision"]
        return record

    def to_json(self) -> str:
        """The whole record as an object of schema 1, in one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        """What people read on a terminal; signs that cannot be printed are escapes."""
        from jinja2 import Environment, StrictUndefined  # nothing that is linked needs it

        environment = Environment(  # noqa: S701 - text
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=lambda value: shown(value) if isinstance(value, str) else value,
        )
        template = resources.files("linker.linking").joinpath("explanation.txt.jinja")
        text = environment.from_string(template.read_text("utf-8"))
        return text.render(self, table=_table, decimals=decimals, ahead=_difference, doubts=_DOUBTS)

    __repr__ = __str__


def marked(mention: str | Mention, document: Document | None) -> tuple[Mention, Mention | Document]:
    """A mention as its document has it, and the document that has it; without one, itself.

    Without a span it is the first mention of the document that reads so; else its span is where
    it first occurs in the text, if it does.

    Raises:
        LinkerError: the mention is blank.
    """
    mention = Mention(mention) if isinstance(mention, str) else mention
    if not mention.text.strip():
        raise LinkerError("the mention is blank; give the text that is to be explained")
    if document is None:
        return mention, mention
    if not mention.spans:
        same = (other for other in document.mentions if other.text == mention.text)
        if (other := next(same, None)) is not None:
            return other, document
        start = document.text.find(mention.text)
        spans = ((start, start + len(mention.text)),) if start >= 0 else ()
        mention = dataclasses.replace(mention, spans=spans, document_id=document.id)
    if mention in document.mentions:
        return mention, document
    return mention, dataclasses.replace(document, mentions=(*document.mentions, mention))


def explain(engine: Engine, answer: Answer, ranking: Ranking, concept: str | None) -> Explanation:
    """Explain an answer, and why a concept is not first.

    Args:
        engine: gave it.
        answer: with its prediction.
        ranking: of the mentions that were answered together.
        concept: the id of the concept; None: there is none in question.

    Raises:
        LinkerError: the dictionary does not have this concept.
    """
    names = [_readings(engine, ranking, name) for name in answer.names]
    readings = names[0]
    if len(names) > 1:  # the reading of each name that won
        won = [next(reading for reading in of_name if reading.won) for of_name in names]
        texts = [text for reading in won for text in reading.texts]
        readings = [_Reading("split", texts, True, math.prod(r.confidence for r in won))]
    best = next(reading for reading in readings if reading.won)
    spans, ranker, prediction = answer.definitions.spans, engine.ranker, answer.prediction
    return Explanation(
        mention=answer.mention.text,
        document_id=answer.document.id if answer.document else None,
        readings=[
            Record(
                kind=reading.kind,
                lookups=[text.lookup for text in reading.texts],
                expansions=[
                    Record(short=short, long=long, span=spans.get((short, long)))
                    for short, long in dict.fromkeys(p for t in reading.texts for p in t.part.used)
                ],
                won=reading.won,
                first=[text.first for text in reading.texts],
                confidence=round(reading.confidence, 6) if ranker else None,
            )
            for reading in readings
        ],
        parts=[text.explained(answer.request.k) for text in best.texts],
        is_empty=answer.is_empty,
        provenance=f"from the ranker {ranker.described}"
        if ranker
        else "none, since the linker has no ranker",
        question=None if concept is None else _asked(engine, concept, readings, best),
        by_decision=(prediction and prediction.decisions and _by_decision(prediction)) or None,
    )


def _by_decision(prediction: Prediction) -> Record:
    """What people made of an answer; of a part on which they did not decide, that it is open."""
    answer: list[Record | None] = []
    for part in prediction.parts:
        if part.is_open:
            answer.append(Record(concept_id=OPEN, name="open"))
        elif part.best:
            answer.append(Record(concept_id=part.best.concept_id, name=part.best.name))
        else:
            answer.append(None)
    return Record(
        state=prediction.state,
        answer=answer,
        decisions=[_with_what_was_said(decision) for decision in prediction.decisions],
    )


def _with_what_was_said(decision: Decision) -> dict[str, Any]:
    """The decision, whose `said` leaves out parts on which it holds no more."""
    record = decision.to_dict()
    if decision.said:
        record["said"] = as_said(decision).concept_id
    return record


@dataclass(frozen=True, slots=True)
class _Reading:
    """A way to read a mention."""

    kind: str
    texts: list[_Text]  # that are looked up
    won: bool
    confidence: float


def _readings(engine: Engine, ranking: Ranking, name: Answer) -> list[_Reading]:
    """The readings of a name in a mention."""
    return [
        _Reading(
            name.readings[i].kind,
            [
                _Text.of(engine, ranking, name, lookup, part)
                for lookup, part in enumerate(name.readings[i].parts, ranking.lookup(reading))
            ],
            reading == int(ranking.best[name.place]),
            float(ranking.readings[reading]),
        )
        for i, reading in enumerate(ranking.readings_of(name))
    ]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that was looked up, with its candidates."""

    engine: Engine
    part: PartWording
    ranked: Candidates
    inputs: Floats  # what the ranker read of those that it saw, (seen, inputs)
    confidences: list[float]  # of the same; empty without a ranker
    doubt: Doubt | None
    is_none: bool  # whether "no concept" is the answer for the mention
    slots: tuple[float | None, float | None]  # the probability of "none" and of "missed"

    @classmethod
    def of(
        cls, engine: Engine, ranking: Ranking, name: Answer, lookup: int, part: PartWording
    ) -> _Text:
        rows, slots = ranking.rows(lookup), ranking.probabilities
        return cls(
            engine,
            part,
            ranking.candidates(lookup, part.form),
            ranking.inputs(lookup) if slots else np.zeros((0, len(INPUTS)), np.float32),
            ranking.confidence[rows].tolist() if slots else [],
            engine.doubt(part, ranking, lookup, name) if slots else None,
            ranking.names_no_concept(name),
            (round(float(slots.none[name.place]), 6), round(float(slots.missed[name.place]), 6))
            if slots
            else (None, None),
        )

    @property
    def lookup(self) -> Record:
        """The text, and its normal form without the spelling list where this changes it."""
        text, form, options = self.part.looked_up, self.part.form, self.engine.options
        plain = normal_form(text, options.normalize, {}, options.text.language)
        return Record(text=text, normalized=form, misspelt=None if plain == form else plain)

    @property
    def first(self) -> Record | None:
        """The first concept; None where there is no candidate."""
        return _named(self.engine, int(self.ranked.concepts[0])) if len(self.ranked) else None

    def explained(self, k: int) -> Record:
        """The answer for the text, with k candidates."""
        first = self._confidence(0) if len(self.ranked) else None
        none, missed = self.slots
        return Record(
            lookup=self.lookup,
            candidates=[self.candidate(self.ranked, i) for i in range(min(k, len(self.ranked)))],
            rejected=self.is_none or (first is not None and first < FLOOR),
            doubt=self.doubt,
            limit=LIMITS[self.doubt] if self.doubt else None,
            none=none,
            missed=missed,
        )

    def candidate(self, ranked: Candidates, place: int) -> Record:
        """Explain one candidate, given its place in a ranking, from 0.

        Args:
            ranked: the candidates of the text, or all concepts, of which these are first.
            place: of the candidate.
        """
        dictionary, entry = self.engine.dictionary, int(ranked.entries[place])
        name, annotated = dictionary.name(entry), dictionary.columns.names.annotated
        table, match, behind = self.engine.generator.table, {}, []
        if place < len(self.confidences):
            values = self.inputs[place, : len(COLUMNS)].tolist()
            match = {c: round(v, 6) for c, v in zip(COLUMNS, values, strict=True) if v}
            behind = self._behind(place)
        shown = self.engine.matched(self.part, int(ranked.concepts[place]), entry)
        _, _, matched_name, lender = shown
        return Record(
            rank=place + 1,
            **_named(self.engine, int(ranked.concepts[place])),
            matched=Record(
                text=matched_name,
                kind=name.kind,
                source=lender or name.source,
                lent=bool(lender),
                exact=table.texts[int(ranked.names[place])] == self.part.form,
                annotated=0 if annotated is None else int(annotated[entry]),
            ),
            parts=self._score(ranked, place),
            confidence=self._confidence(place),
            decided_by=self._decided_by(ranked, place) if place else None,
            match=match,
            behind=behind,
        )

    def _confidence(self, place: int) -> float | None:
        """How probable it is that a candidate is right: 0 for one that the ranker did not see."""
        if self.engine.ranker is None:
            return None
        value = self.confidences[place] if place < len(self.confidences) else 0.0
        return min(LIMITS[self.doubt] if self.doubt else 1.0, round(value, 6))

    def _decided_by(self, ranked: Candidates, place: int) -> str:
        """What puts the first candidate before another one."""
        seen = self.confidences
        if place < len(seen) and (seen[0] != seen[place] or not seen[0]):
            return "probability"  # also where nothing was entered, since all became 0 later
        if ranked.scores[place] < lowest_equal(ranked.scores[:1])[0]:
            return "score"
        texts = self.engine.generator.table.texts
        first = texts[int(ranked.names[0])]
        other = texts[int(ranked.names[place])]
        asked = word_pairs(self.part.form)
        if len(asked & word_pairs(first)) != len(asked & word_pairs(other)):
            return "words"
        entries = int(ranked.entries[0]), int(ranked.entries[place])
        rule = self.engine.dictionary.tie_rule(*entries)
        return rule or ("spelling" if first != other else "id")

    def _behind(self, place: int) -> list[Record]:
        """The columns that put the first candidate before another one, the largest first.

        Each has the log odds that the first would lose with the value of the other.
        """
        ranker, count = self.engine.ranker, len(COLUMNS)
        if ranker is None or not place:
            return []
        inputs = np.tile(self.inputs[0], (count + 1, 1))
        for column, places in enumerate(_PLACES):
            inputs[column, places] = self.inputs[place, places]
        scores = ranker.scores_of(inputs)
        lost = np.where((inputs[:-1] == self.inputs[0]).all(axis=1), 0, scores[-1] - scores[:-1])
        names = list(COLUMNS)
        return [
            Record(name=names[i], says=COLUMNS[names[i]], log_odds=round(float(lost[i]), 6))
            for i in np.argsort(-lost, kind="stable")[:_EFFECTS].tolist()
            if lost[i] >= _LEAST_EFFECT
        ]

    def _score(self, ranked: Candidates, place: int) -> Record:
        """The terms of a score: `dense` + `sparse_weight` · `sparse` + `bonus`."""
        generator, dense, weight, bonus = self.engine.generator, None, 1.0, 0.0
        if isinstance(generator, HybridGenerator) and ranked.dense is not None:
            dense, weight = round(float(ranked.dense[place]), 6), generator.sparse_weight
            bonus = round(float(generator.bias[int(ranked.names[place])]), 6)
        sparse = ranked.scores if ranked.sparse is None else ranked.sparse
        score, sparse_score = (round(float(of[place]), 6) for of in (ranked.scores, sparse))
        return Record(
            score=score, sparse=sparse_score, dense=dense, sparse_weight=weight, bonus=bonus
        )


def _named(engine: Engine, row: int) -> Record:
    dictionary = engine.dictionary
    return Record(concept_id=dictionary.ids[row], name=dictionary.preferred_name(row))


def _asked(engine: Engine, text: str, readings: Sequence[_Reading], best: _Reading) -> Record:
    """Say where a concept stands among all, given its id, and what it lacks to be first."""
    dictionary = engine.dictionary
    if (identifier := dictionary.identify(text)) is None:
        raise LinkerError(
            f"{shorten(text)} is not in the dictionary of the model; "
            "ask for the id of a concept (linker dictionary search finds it by name)"
        )
    rows, status = dictionary.rows(identifier), "current"
    if all(dictionary.ids[row] != identifier for row in rows):
        place = list(dictionary.old_ids).index(identifier)
        status = _STATUS[int(dictionary.columns.old_status[place])]
    forms = [text.part.form for text in best.texts]
    whole = engine.generator.rank(forms, len(dictionary), "concepts")
    rankings = [t.ranked.followed_by(of_all) for t, of_all in zip(best.texts, whole, strict=True)]
    concepts = []
    for row in rows:
        named, excluded = _named(engine, row), list(_excluded(engine, row))
        places = [np.flatnonzero(ranked.concepts == row) for ranked in rankings]
        standing = [(int(at[0]), part) for part, at in enumerate(places) if len(at)]
        place, part = min(standing, default=(0, 0))  # where it stands highest
        others = (text for reading in readings if not reading.won for text in reading.texts)
        is_there = standing and not excluded
        concepts.append(
            Record(
                **named,
                excluded=excluded,
                first_as=[t.part.looked_up for t in others if t.first == named and not excluded],
                part=part if is_there else 0,
                candidate=best.texts[part].candidate(rankings[part], place) if is_there else None,
            )
        )
    return Record(id=identifier, status=status, concepts=concepts)


def _excluded(engine: Engine, row: int) -> Iterator[str]:
    """Why a concept cannot be answered: selections that it does not fit, or no name, in words."""
    every, is_allowed = np.ones(len(engine.dictionary), bool), True
    for within in engine.restrictions:
        for name in SELECTION:
            if texts := getattr(within, name):
                alone = Selection(**{name: texts})
                if not hierarchy.selected(engine.dictionary, [alone], every)[row]:
                    is_allowed = False
                    yield _EXCLUDED[name].format(" or ".join(texts))
    if is_allowed and row not in engine.linkable:
        yield "nothing is left of its names in normal form"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table."""
    cells = [[shown(str(cell)) for cell in row] for row in rows]
    text = tabulate(cells, header, "plain", disable_numparse=True, preserve_whitespace=True)
    return [line.rstrip() for line in text.splitlines()]


def _difference(best: Record, other: Record) -> str:
    """How far the first candidate is ahead of another one, or by which rule."""
    if other.decided_by == "score":
        is_unseen = best.match and not other.match
        unseen = "; the ranker weighs only the best by score" if is_unseen else ""
        return f"{best.parts.score - other.parts.score:.4f} of score{unseen}"
    if other.decided_by != "probability":
        return f"{_RULES[other.decided_by]}, since the scores are equal"
    confidences = np.clip([best.confidence, other.confidence], _LEAST, 1 - _LEAST)
    odds = -float(np.diff(logit(confidences))[0])
    columns = ", ".join(f"{effect.says} ({effect.log_odds:+.2f})" for effect in other.behind[:3])
    return f"{odds:.2f} in log odds" + (f": {columns}" if columns else "")

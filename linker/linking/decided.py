"""Decided: predictions in which decisions of people win over the model."""

from __future__ import annotations

import copy
import itertools
import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linker.errors import LinkerError, shown
from linker.ids import counted, namespace
from linker.io.outputs import DECISION
from linker.linking.decisions import (
    Parts,
    Place,
    Ruling,
    concepts_of,
    conflicts,
    followed,
    in_force,
    parts_of,
    place_of,
    ruled,
)
from linker.linking.decisions_file import DecisionsFile, Seen
from linker.records import Candidate, Decision, Document, Mention, Part, Prediction, ReadingKind
from linker.text.mentions import Definitions, expanded

if TYPE_CHECKING:
    from linker.linking.linker import Linker

logger = logging.getLogger(__name__)

SURE = 0.5
"""The least confidence of an answer that stood behind a rejected one: it is right more often than
not. One that is less sure was never the model's answer, and is not made one by a rejection."""
_MOST_ORDERED = 5  # parts whose order is found by trying all


class Decided:
    """The decisions in force, by which predictions are corrected.

    Args:
        decisions: those that were not withdrawn, in order of entry.
        linker: whose predictions are corrected, and whose dictionary has the ids.
    """

    def __init__(self, decisions: Iterable[Decision], linker: Linker) -> None:
        self._linker = linker
        self.seen: Seen = (0, 0)
        """Up to where a file was read."""
        self.places = in_force(decisions, linker.dictionary)
        """Those in force on each form, in each scope; the lists are never changed."""

    @classmethod
    def of_file(cls, path: str | None, linker: Linker) -> Decided | None:
        """The decisions of a file, as they are now, for a linker; None where no file is named.

        Raises:
            LinkerError: the file is none of decisions, or of another dictionary.
        """
        if path is None:
            return None
        with DecisionsFile(path, read_only=True) as file:
            return cls.checked(file, linker)

    @classmethod
    def checked(cls, file: DecisionsFile, linker: Linker) -> Decided:
        """The decisions of a file; a warning says how many cannot be applied.

        Raises:
            LinkerError: the dictionary has none of their ids.
        """
        seen, _, every = file.since((0, 0))
        decided = cls(every, linker)
        decided.seen = seen
        decisions = [decision for of_place in in_force(every).values() for decision in of_place]
        unknown = [d for d in decisions if not followed(d, linker.dictionary)]
        ids = [identifier for d in decisions for identifier in concepts_of(d)]
        if ids and len(unknown) == sum(bool(concepts_of(d)) for d in decisions):
            raise LinkerError(
                f"{shown(file.path)}: is of another dictionary: the model has none of the ids of "
                f"its decisions ({counted(map(namespace, ids))}); name the model that they were "
                "made with, or see linker review update"
            )
        disputed = sum(map(len, conflicts(decided.places)))
        if unknown or disputed:
            count = f"{len(unknown) + disputed:,} of {len(decisions):,}"
            logger.warning(
                f"{shown(file.path)}: {count} decisions are not applied: their ids stand for no "
                "concept, or for several, or reviewers disagree; see linker review "
                "update, and list --conflicts"
            )
        return decided

    def after(self, file: DecisionsFile) -> Decided:
        """The decisions of a file as it is now; these here stay as they are."""
        seen, forms, decisions = file.since(self.seen)
        if seen == self.seen:
            return self
        decided = copy.copy(self)
        decided.seen = seen
        kept = {place: of_place for place, of_place in self.places.items() if place[0] not in forms}
        decided.places = kept | in_force(decisions, self._linker.dictionary)
        return decided

    def touched(self, before: Decided) -> set[Place]:
        """Where the decisions may say something else than those before them."""
        now, then = self.places, before.places
        places = {*now, *then} if now is not then else ()
        return {place for place in places if now.get(place) is not then.get(place)}

    def on(self, mention: str, scope: str) -> Sequence[Decision]:
        """The decisions in force on a mention in a document; with an empty scope, everywhere."""
        return self.places.get(place_of(mention, scope), [])

    def ruling(self, mention: str, scope: str, long_form: str | None = None) -> Ruling:
        """What the decisions say of a mention in a document.

        Those of the document win over those that hold everywhere, and those on a short form over
        those on its long form. Where a document defines a short form, what was decided everywhere
        about these letters does not count, since they may mean something else elsewhere.
        Where the nearest decisions disagree, nothing is said; where others do, they do not count.

        Args:
            mention: its text.
            scope: the id of the document; empty for none.
            long_form: the mention with the short forms of the document expanded, if it has some.
        """
        texts = [text for text in (mention, long_form) if text is not None]
        here = [place_of(text, scope) for text in texts] if scope else []
        where = dict.fromkeys([*here, place_of(texts[-1], "")])
        return ruled(self.places.get(place, []) for place in where)

    def on_mention(
        self, mention: Mention, document: Document | None, definitions: Definitions
    ) -> Ruling:
        """What the decisions say of a mention, whose document may define its short forms."""
        if not self.places:
            return Ruling()
        scope = document.id if document else mention.document_id or ""
        long_form = expanded(mention, definitions, self._linker.options.text)
        return self.ruling(mention.text, scope, None if long_form == mention.text else long_form)

    def can_answer(self, ids: Parts, linkable: Container[int]) -> bool:
        """Whether there is an accepted answer, and a mention may be answered with it."""
        rows = (row for i in ids if i for row in self._linker.dictionary.rows(i))
        return bool(ids) and all(row in linkable for row in rows)

    def apply(
        self,
        prediction: Prediction,
        ruling: Ruling,
        linkable: Container[int],
        *,
        k: int,
        threshold: float | None = None,
    ) -> Prediction:
        """The prediction, corrected by the decisions on its mention.

        An accepted concept comes first, with the confidence 1; a part of which "no concept" was
        accepted has none, and a rejected concept is no candidate. A part that is left open is as
        the model answers it. What was accepted in bulk stays as it is by the model, if this
        answers so, too.

        Args:
            prediction: of the linker.
            ruling: of `on_mention`.
            linkable: the rows of the concepts that the mention may be answered with.
            k: how many candidates to keep.
            threshold: the confidence that a later candidate needs where those before it were
                rejected; it is never less than `SURE`. None: `SURE`.
        """
        needed = max(SURE, threshold or 0.0)
        if self.can_answer(ruling.parts, linkable):
            prediction = self._accepted(prediction, ruling, needed)
        elif ruling.rejected:
            prediction = _without_rejected(prediction, ruling, needed)
        elif ruling.is_disputed:
            prediction = replace(prediction, state="disputed", decisions=ruling.by)
        is_model = prediction.state == "model"
        parts = (
            replace(
                part,
                candidates=part.candidates[:k],
                broader=part.broader if is_model or part.is_open else None,
            )
            for part in prediction.parts
        )
        return replace(prediction, parts=tuple(parts))

    def _accepted(self, prediction: Prediction, ruling: Ruling, needed: float) -> Prediction:
        """The prediction with the accepted concepts."""
        kind, parts = _read_in_parts(prediction, len(ruling.parts))
        has_sets = any(part.answers for part in prediction.parts)
        ids = ruling.parts
        if any(None not in parts_of(d) for d in ruling.by if d.accepted):
            ids = _order_as_parts(parts, ids)  # parts that were decided alone stay in their places
        answered = []
        for part, identifier in zip(parts, ids, strict=True):
            if identifier is None:
                answered.append(_left_open(part, ruling, needed))
            else:
                answered.append(self._with_first(part, identifier, ruling, has_sets))
        return replace(
            prediction,
            parts=tuple(answered),
            reading=kind,
            rivals=prediction.rivals if parts is prediction.parts else (),
            state=ruling.state,
            decisions=ruling.by,
        )

    def _with_first(self, part: Part, identifier: str, ruling: Ruling, has_sets: bool) -> Part:
        """The part with an accepted concept first; with none where the id is empty.

        A set is what was accepted; in bulk it stands before the answers of the model.
        """
        candidates = _candidates_of(part)
        others = tuple(c for c in candidates if c.concept_id not in ruling.rejected | {identifier})
        if not ruling.is_in_bulk:
            others = tuple(replace(c, confidence=c.confidence and 0.0) for c in others)
        if has_sets:
            answer = identifier or None
            others_of_set = (a for a in part.answers if a != answer and ruling.is_in_bulk)
            part = replace(part, answers=(answer, *others_of_set))
        if not identifier:
            return replace(part, candidates=others, nil=True, rejected=None)
        dictionary = self._linker.dictionary
        name = dictionary.preferred_name(dictionary.rows(identifier)[0])
        unfound = Candidate(identifier, name, name, 1.0)  # where the model did not find it
        first = next((c for c in candidates if c.concept_id == identifier), unfound)
        if not ruling.is_in_bulk:
            highest = max((candidate.score for candidate in candidates), default=1.0)
            first = replace(first, score=highest, source=DECISION, confidence=1.0)
        kept = (first, *others)[: max(1, len(candidates))]
        return replace(part, candidates=kept, nil=False, rejected=None)


def _candidates_of(part: Part) -> tuple[Candidate, ...]:
    """The candidates of a part; of one that is too unsure for an answer, the one it might be."""
    return part.candidates or tuple(filter(None, [part.rejected]))


def _without_rejected(prediction: Prediction, ruling: Ruling, needed: float) -> Prediction:
    """The prediction without the candidates that were rejected."""
    parts = tuple(_reduced(part, ruling.rejected, needed) for part in prediction.parts)
    rivals = tuple(
        rival
        for rival in prediction.rivals
        if ruling.rejected.isdisjoint(part.best.concept_id for part in rival.parts if part.best)
    )
    return replace(
        prediction,
        parts=parts,
        rivals=rivals,
        state="rejected" if all(part.best for part in parts) else "open",
        decisions=tuple(decision for decision in ruling.by if not decision.accepted),
    )


def _left_open(part: Part, ruling: Ruling, needed: float) -> Part:
    """The part of a mention on whose other parts people decided, as the model answers it."""
    part = _reduced(part, ruling.rejected, needed)
    is_nil = part.nil or not part.candidates
    return replace(part, nil=is_nil, is_open=True)


def _reduced(part: Part, ids: frozenset[str], needed: float) -> Part:
    """The part without some candidates; nil where the first one of those left is too unsure."""
    candidates = _candidates_of(part)
    kept = tuple(c for c in candidates if c.concept_id not in ids)
    answers = tuple(answer for answer in part.answers if answer not in ids)
    part = replace(part, answers=answers or (None,) * bool(part.answers))
    if kept == candidates:
        return part
    is_answered = kept[:1] == candidates[:1]  # whether the model's own answer stands
    if is_answered or (kept and (kept[0].confidence or 0.0) >= needed):
        return _with_answer_in_set(replace(part, candidates=kept))
    first = candidates[0]
    rejected = replace(first, source=DECISION, confidence=None if first.confidence is None else 0.0)
    return _with_answer_in_set(replace(part, candidates=kept, nil=True, rejected=rejected))


def _with_answer_in_set(part: Part) -> Part:
    """The part whose set, if it has one, holds the answer that is given, or none."""
    given = part.best.concept_id if part.best else None
    if not part.answers or given in part.answers:
        return part
    return replace(part, answers=(given, *part.answers) if given else (*part.answers, None))


def _read_in_parts(prediction: Prediction, count: int) -> tuple[ReadingKind, tuple[Part, ...]]:
    """How a mention is read with so many parts: as the model does it, or as a whole for each."""
    for kind, parts in (
        (prediction.reading, prediction.parts),
        *((rival.kind, rival.parts) for rival in prediction.rivals),
    ):
        if len(parts) == count and kind != "shortened":  # people decided on all of its words
            return kind, parts
    mention, assertion = prediction.mention, prediction.assertion
    assertion = "present" if assertion == "mixed" else assertion
    part = Part(mention.text, spans=mention.spans, assertion=assertion)
    return ("whole" if count == 1 else "split"), (part,) * count


def _order_as_parts(parts: Sequence[Part], ids: Parts) -> Parts:
    """The ids in the order of the parts whose candidates they are; as they are, where none fits."""
    if not 1 < len(ids) <= _MOST_ORDERED or None in ids:
        return ids
    scores = [{c.concept_id: c.score for c in part.candidates} for part in parts]

    def score(order: Parts) -> float:
        pairs = zip(scores, order, strict=True)
        return sum(of.get(identifier or "", 0.0) for of, identifier in pairs)

    return max(itertools.permutations(ids), key=score)  # the first, which is `ids`, of equal ones

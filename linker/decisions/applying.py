"""Decided: predictions in which decisions of people win over the model."""

from __future__ import annotations

import copy
import itertools
import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from linker.decisions.records import (
    Place,
    by_place,
    concepts_of,
    disagree,
    followed,
    latest,
    parts_of,
    place_of,
    standing,
)
from linker.decisions.store import DecisionStore, Seen
from linker.errors import LinkerError, shown
from linker.ids import counted, namespace
from linker.linking.linker import Linker
from linker.outputs import DECISION
from linker.text.mentions import Definitions, expanded
from linker.types import (
    Candidate,
    Decision,
    Document,
    Mention,
    Part,
    Prediction,
    ReadingKind,
    State,
)

logger = logging.getLogger(__name__)

SURE = 0.5
"""The least confidence of an answer that stood behind a rejected one: it is right more often than
not. One that is less sure was never the model's answer, and is not made one by a rejection."""
_MOST_REJECTED = 100  # candidates that are made in place of rejected ones, at most
_MOST_ORDERED = 5  # parts whose order is found by trying all


@dataclass(frozen=True, slots=True)
class Ruling:
    """What decisions say of a mention in a document."""

    parts: tuple[str, ...] = ()  # the id of each part, empty for no concept; (): the model answers
    rejected: frozenset[str] = frozenset()  # ids
    by: tuple[Decision, ...] = field(default=(), compare=False)  # those that say so
    is_disputed: bool = False  # whether reviewers disagree, so that the model answers

    @property
    def is_in_bulk(self) -> bool:
        """Whether the answer was accepted with others, so that nobody looked at it."""
        return bool(self.parts) and all(d.bulk for d in self.by if d.accepted)

    @property
    def state(self) -> State:
        """The state of a mention that is answered by its parts."""
        if self.is_in_bulk:
            return "rejected" if self.rejected else "model"
        return "accepted" if any(self.parts) else "no concept"

    @property
    def spare(self) -> int:
        """How many candidates a mention may lose: so many more are made of it, up to a bound."""
        return min(_MOST_REJECTED, len(self.rejected))


def ruled(places: Iterable[Sequence[Decision]]) -> Ruling:
    """What decisions say of a mention.

    Args:
        places: those of each place that counts for it, the nearest first; see `Decided.ruling`.
    """
    rejected: set[str] = set()
    accepted: tuple[Decision, ...] = ()
    by: list[Decision] = []
    for of_place in places:
        decisions = standing(of_place)
        if disagree(decisions):
            if not by:
                return Ruling(by=tuple(decisions), is_disputed=True)
            continue
        accepting = tuple(d for d in decisions if d.accepted)
        if not accepted and accepting and rejected.isdisjoint(parts_of(accepting[0])):
            accepted = accepting  # those of one place agree
            by += accepting
        rejections = [d for d in decisions if not d.accepted]
        if accepted:
            taken = {*parts_of(accepted[0])}
            rejections = [d for d in rejections if taken.isdisjoint(concepts_of(d))]
        rejected |= {i for d in rejections for i in concepts_of(d)}
        by += rejections
    parts = parts_of(accepted[0]) if accepted else ()
    return Ruling(parts, frozenset(rejected), tuple(sorted(by, key=_number)))


class Decided:
    """The decisions in force, by which predictions are corrected.

    A decision is found by the form of its mention, and by its scope; see `records.place_of`. Old
    and alternative ids are those of the concepts that they stand for.

    Args:
        decisions: those that were not withdrawn, in order of entry.
        linker: whose predictions are corrected.
    """

    def __init__(self, decisions: Iterable[Decision], linker: Linker) -> None:
        self._linker = linker
        self.seen: Seen = (0, 0)
        """Up to where a file was read."""
        self.places: dict[Place, list[Decision]] = {}
        """Those in force on each form, in each scope; the lists are never changed."""
        self.unapplied: dict[Place, list[Decision]] = {}
        """Those whose ids stand for no concept, or for several."""
        self._take(decisions)

    def after(self, store: DecisionStore) -> Decided:
        """The decisions of a file as it is now; these here stay as they are."""
        seen, forms, said = store.since(self.seen)
        if seen == self.seen:
            return self
        decided = copy.copy(self)
        decided.seen = seen
        decided.places, decided.unapplied = (
            {place: kept for place, kept in places.items() if place[0] not in forms}
            for places in (self.places, self.unapplied)
        )
        decided._take(said)
        return decided

    def touched(self, before: Decided) -> set[Place]:
        """Where the decisions may say something else than those before them."""
        now, then = self.places, before.places
        places = {*now, *then} if now is not then else ()
        return {place for place in places if now.get(place) is not then.get(place)}

    def _take(self, decisions: Iterable[Decision]) -> None:
        """Take up all decisions on some forms, in order of entry."""
        for place, said in by_place(decisions).items():
            known = [followed(d, self._linker.dictionary) for d in said]
            unknown = {id(d) for d, now in zip(said, known, strict=True) if now is None}
            now = latest(new or d for d, new in zip(said, known, strict=True))
            if applied := [d for d in now if id(d) not in unknown]:
                self.places[place] = applied
            if others := [d for d in now if id(d) in unknown]:
                self.unapplied[place] = others

    @property
    def unknown(self) -> list[Decision]:
        """Those in force that are not applied: an id stands for no concept, or for several."""
        return sorted(itertools.chain(*self.unapplied.values()), key=_number)

    @property
    def conflicts(self) -> list[list[Decision]]:
        """The decisions on each mention on which reviewers disagree; the model answers it."""
        disputed = filter(disagree, self.places.values())
        return sorted(disputed, key=lambda of_place: _number(of_place[0]))

    @classmethod
    def checked(cls, store: DecisionStore, linker: Linker) -> Decided:
        """The decisions of a file; warnings say how many cannot be applied, and what to do.

        Raises:
            LinkerError: the dictionary has none of their ids.
        """
        decided, path = cls([], linker).after(store), store.path
        lists = (*decided.places.values(), *decided.unapplied.values())
        decisions = [decision for of_place in lists for decision in of_place]
        named = [decision for decision in decisions if concepts_of(decision)]
        if named and len(decided.unknown) == len(named):
            prefixes = counted(namespace(i) for decision in named for i in concepts_of(decision))
            raise LinkerError(
                f"{shown(path)}: is of another dictionary: the model has none of the ids of its "
                f"{len(named):,} decisions ({prefixes}); name the model that they were made with, "
                "or see linker review list --dict"
            )
        why_not = {
            "the dictionary has no concept, or several, for their ids; see linker review "
            "list --dict": len(decided.unknown),
            "reviewers disagree; see linker review list --conflicts": sum(
                map(len, decided.conflicts)
            ),
        }
        for why, count in why_not.items():
            if count:
                left_out = f"{count:,} of {len(decisions):,} decisions are not applied"
                logger.warning("%s: %s: %s", shown(path), left_out, why)
        return decided

    @classmethod
    def of_file(cls, path: str | None, linker: Linker) -> Decided | None:
        """The decisions of a file, as they are now, for a linker; None where no file is named.

        Raises:
            LinkerError: the file is none of decisions, or of another dictionary.
        """
        if path is None:
            return None
        with DecisionStore(path, read_only=True) as store:
            return cls.checked(store, linker)

    def on(self, mention: str, scope: str) -> Sequence[Decision]:
        """The decisions in force on a mention in a document; with an empty scope, everywhere."""
        return self.places.get(place_of(mention, scope), [])

    def ruling(self, mention: str, scope: str, long_form: str | None = None) -> Ruling:
        """What the decisions say of a mention in a document.

        Those of the document win over those that hold everywhere, and those on a short form over
        those on its long form. Where a document defines a short form, what was decided everywhere
        about these letters does not count, since they may mean something else elsewhere.
        Where the nearest decisions disagree, nothing is said; where others do, they do not count.
        At each place those that are settled do not count (see `records.standing`).

        Args:
            mention: its text.
            scope: the id of the document; empty for none.
            long_form: the mention with the short forms of the document expanded, if it has some.
        """
        texts = [text for text in (mention, long_form) if text is not None]
        here = [place_of(text, scope) for text in texts] if scope else []
        where = dict.fromkeys([*here, place_of(texts[-1], "")])
        return ruled(self.places.get(place, []) for place in where)

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
        accepted has none, and a rejected concept is no candidate. What was accepted in bulk stays
        as it is by the model, if this answers so, too.

        Args:
            prediction: of the linker.
            ruling: of `on_mention`.
            linkable: the rows of the concepts that the mention may be answered with.
            k: how many candidates to keep.
            threshold: the confidence that a later candidate needs where those before it were
                rejected; it is never less than `SURE`. None: `SURE`.
        """
        if self.can_answer(ruling.parts, linkable):
            prediction = self._accepted(prediction, ruling)
        elif ruling.rejected:
            prediction = self._without_rejected(prediction, ruling, threshold)
        elif ruling.is_disputed:
            prediction = replace(prediction, state="disputed", decisions=ruling.by)
        return replace(
            prediction,
            parts=tuple(replace(part, candidates=part.candidates[:k]) for part in prediction.parts),
        )

    def on_mention(
        self, mention: Mention, document: Document | None, definitions: Definitions
    ) -> Ruling:
        """What the decisions say of a mention, whose document may define its short forms."""
        if not self.places:
            return Ruling()
        scope = document.id if document else mention.document_id or ""
        long_form = expanded(mention, definitions, self._linker.options.text)
        return self.ruling(mention.text, scope, None if long_form == mention.text else long_form)

    def can_answer(self, ids: Sequence[str], linkable: Container[int]) -> bool:
        """Whether there is an accepted answer, and a mention may be answered with it."""
        rows = (row for i in ids if i for row in self._linker.dictionary.rows(i))
        return bool(ids) and all(row in linkable for row in rows)

    def _accepted(self, prediction: Prediction, ruling: Ruling) -> Prediction:
        """The prediction with the accepted concepts."""
        kind, parts = _reading(prediction, len(ruling.parts))
        ids = _assigned(parts, ruling.parts)
        return replace(
            prediction,
            parts=tuple(
                self._with_first(part, identifier, ruling)
                for part, identifier in zip(parts, ids, strict=True)
            ),
            reading=kind,
            rivals=prediction.rivals if parts is prediction.parts else (),
            state=ruling.state,
            decisions=ruling.by,
        )

    def _with_first(self, part: Part, identifier: str, ruling: Ruling) -> Part:
        """The part with an accepted concept first; with none where the id is empty."""
        candidates = part.candidates or tuple(filter(None, [part.rejected]))
        others = tuple(c for c in candidates if c.concept_id not in ruling.rejected | {identifier})
        if not ruling.is_in_bulk:
            others = tuple(replace(c, confidence=c.confidence and 0.0) for c in others)
        if not identifier:
            return replace(part, candidates=others, nil=True, rejected=None)
        dictionary = self._linker.dictionary
        name = dictionary.preferred_name(dictionary.rows(identifier)[0])
        unfound = Candidate(identifier, name, name, 1.0)  # where the model did not find it
        found = next((c for c in candidates if c.concept_id == identifier), unfound)
        first, highest = found, max((candidate.score for candidate in candidates), default=1.0)
        if not ruling.is_in_bulk:
            first = replace(found, score=highest, source=DECISION, confidence=1.0)
        kept = (first, *others)[: max(1, len(candidates))]
        return replace(part, candidates=kept, nil=False, rejected=None)

    def _without_rejected(
        self, prediction: Prediction, ruling: Ruling, threshold: float | None
    ) -> Prediction:
        """The prediction without the candidates that were rejected."""
        needed = max(SURE, threshold or 0.0)
        parts = tuple(_reduced(part, ruling.rejected, needed) for part in prediction.parts)
        rivals = tuple(
            rival
            for rival in prediction.rivals
            if ruling.rejected.isdisjoint(part.best.concept_id for part in rival.parts if part.best)
        )
        state: State = "rejected" if all(part.best for part in parts) else "open"
        by = tuple(decision for decision in ruling.by if not decision.accepted)
        return replace(prediction, parts=parts, rivals=rivals, state=state, decisions=by)


def _number(decision: Decision) -> int:
    """The place in the order of entry."""
    return decision.id or 0


def _reading(prediction: Prediction, count: int) -> tuple[ReadingKind, tuple[Part, ...]]:
    """How a mention is read with so many parts: as the model does it, or as a whole for each."""
    for kind, parts in (
        (prediction.reading, prediction.parts),
        *((rival.kind, rival.parts) for rival in prediction.rivals),
    ):
        if len(parts) == count and kind != "shortened":  # people decided on all of its words
            return kind, parts
    mention = prediction.mention
    said = prediction.assertion
    part = Part(mention.text, spans=mention.spans, assertion="present" if said == "mixed" else said)
    return ("whole" if count == 1 else "split"), (part,) * count


def _assigned(parts: Sequence[Part], ids: Sequence[str]) -> Sequence[str]:
    """The ids in the order of the parts whose candidates they are; as they are, where none fits."""
    if not 1 < len(ids) <= _MOST_ORDERED:
        return ids
    scores = [{c.concept_id: c.score for c in part.candidates} for part in parts]

    def score(order: Sequence[str]) -> float:
        return sum(of.get(identifier, 0.0) for of, identifier in zip(scores, order, strict=True))

    return max(itertools.permutations(ids), key=score)  # the first, which is `ids`, of equal ones


def _reduced(part: Part, ids: frozenset[str], needed: float) -> Part:
    """The part without some candidates; nil where the first one of those left is too unsure."""
    candidates = part.candidates or tuple(filter(None, [part.rejected]))
    kept = tuple(c for c in candidates if c.concept_id not in ids)
    if kept == candidates:
        return part
    is_own = kept[:1] == candidates[:1]  # whether the model's own answer stands
    if is_own or (kept and (kept[0].confidence or 0.0) >= needed):
        return replace(part, candidates=kept)
    first = candidates[0]
    rejected = replace(first, source=DECISION, confidence=None if first.confidence is None else 0.0)
    return replace(part, candidates=kept, nil=True, rejected=rejected)

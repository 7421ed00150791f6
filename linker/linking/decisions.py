"""What people decided: which mentions are equal, which decisions are in force, which of these
count, what they say of a mention, and what becomes of their ids in another release."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from linker.dictionary import Dictionary
from linker.ids import join_ids, part_ids, split_ids
from linker.records import Decision, Predicate, State
from linker.text import abbreviations
from linker.text.normalize import normalize, person

Place = tuple[str, str]
"""A form of mentions, and the scope in which decisions on it hold."""
Fate = Literal["current", "merged", "ambiguous", "obsolete", "unknown"]
"""What became of the ids of a decision in a release of the dictionary; see `fate`."""


def parts_of(decision: Decision) -> tuple[str, ...]:
    """The id of each part of the mention, empty for a part without a concept."""
    return _parts(decision.concept_id)


@functools.lru_cache(1 << 15)  # each decision is asked ten times
def _parts(ids: str) -> tuple[str, ...]:
    return tuple(part_ids(ids))


def concepts_of(decision: Decision) -> tuple[str, ...]:
    """The ids of all parts of the mention; none where there is no concept."""
    return tuple(filter(None, parts_of(decision)))


def has_all_parts(decision: Decision) -> bool:
    """Whether all parts have a concept, or none has one."""
    return len(parts_of(decision)) in (1, len(concepts_of(decision)))


def number_of(decision: Decision) -> int:
    """The place in the order of entry."""
    return decision.id or 0


def predicate_in(decisions: Sequence[Decision]) -> Predicate | None:
    """What the concept that is accepted is to the mention, as the last of some decisions says.

    Returns:
        None where none was accepted, or no concept was.
    """
    accepted = [decision for decision in decisions if decision.accepted]
    return accepted[-1].predicate if accepted and concepts_of(accepted[-1]) else None


# which mentions are equal


def form_of(mention: str) -> str:
    """The form by which mentions are the same for all models: letters and digits, without case."""
    return normalize(mention) or " ".join(mention.split()).casefold()


def form_everywhere(mention: str) -> str:
    """The form by which decisions that hold everywhere are found: that of the long form, where a
    mention itself defines a short form, as "ataxia telangiectasia (AT)"."""
    return form_of(abbreviations.expand(mention, {}))


def place_of(mention: str, scope: str) -> Place:
    """Where a decision on a mention stands; decisions on equal mentions stand at one place."""
    return (form_of if scope else form_everywhere)(mention), scope


def by_place(decisions: Iterable[Decision]) -> dict[Place, list[Decision]]:
    """Decisions by where they stand, in their order."""
    places = defaultdict[Place, list[Decision]](list)
    for decision in decisions:
        places[place_of(decision.mention, decision.scope)].append(decision)
    return dict(places)


# which decisions are in force, and which of them count


def in_force(
    decisions: Iterable[Decision], dictionary: Dictionary | None = None
) -> dict[Place, list[Decision]]:
    """The decisions that no later one of the same reviewer replaces.

    For the same mention and scope, an accepted concept replaces the one accepted before and its own
    rejection; a rejection replaces only what was said of its concept before.

    Args:
        decisions: those that were not withdrawn, in order of entry, which counts instead of their
            times.
        dictionary: ids are those that it has now; decisions whose ids it cannot follow are left
            out, and so is what they replace. None: ids are as they were said.

    Returns:
        The decisions of each form and scope, in order of entry.
    """
    places = {}
    for place, of_place in by_place(decisions).items():
        lost = set[int]()
        if dictionary is not None:
            now = [followed(decision, dictionary) for decision in of_place]
            pairs = list(zip(now, of_place, strict=True))
            lost = {id(decision) for new, decision in pairs if new is None}
            of_place = [new or decision for new, decision in pairs]
        if kept := [decision for decision in _latest(of_place) if id(decision) not in lost]:
            places[place] = kept
    return places


def voice(decision: Decision) -> tuple[str, bool]:
    """Which decisions replace each other: those of one reviewer.

    What settles a dispute replaces nothing that its reviewer said, which does not count beside it.
    """
    return person(decision.reviewer), bool(decision.settles)


def _latest(decisions: Iterable[Decision]) -> list[Decision]:
    """Those that are in force of the decisions at a place."""
    kept: dict[tuple[str, bool, str], Decision] = {}  # the accepted one has the id ""
    for decision in decisions:
        name, settles = voice(decision)
        ids = concepts_of(decision)
        for of_settling in {settles, True}:
            accepted = name, of_settling, ""
            earlier = concepts_of(kept[accepted]) if accepted in kept else ()
            if decision.accepted or not set(ids).isdisjoint(earlier):
                kept.pop(accepted, None)
            for identifier in ids:
                kept.pop((name, of_settling, identifier), None)
        keys = [""] if decision.accepted else ids
        kept.update({(name, settles, identifier): decision for identifier in keys})
    return [*kept.values()]


def standing(decisions: Sequence[Decision]) -> Sequence[Decision]:
    """Those that count of the decisions in force at a place.

    Beside one that settles a dispute, what its reviewer and those that it names said before does
    not. What was accepted in bulk does not where somebody who looked accepts something, be it that
    there is no concept, or rejects what it accepts.
    """
    if any(d.settles for d in decisions):
        kept, settled = list[Decision](), set[str]()
        for d in reversed(decisions):
            kept += [d] if person(d.reviewer) not in settled else []
            settled |= {person(name) for name in (*d.settles, *[d.reviewer] * bool(d.settles))}
        decisions = kept[::-1]
    seen = [d for d in decisions if not d.bulk]
    if len(seen) == len(decisions):
        return decisions
    if any(d.accepted for d in seen):
        return seen
    rejected = {identifier for d in seen for identifier in concepts_of(d)}
    return [d for d in decisions if not d.bulk or rejected.isdisjoint(concepts_of(d))]


def disagree(decisions: Sequence[Decision]) -> bool:
    """Whether those that count of the decisions in force at a place contradict each other.

    They do where different concepts are accepted, in whatever order their parts are, or where one
    that is accepted is also rejected.
    """
    if len(decisions) < 2:
        return False
    decisions = standing(decisions)
    accepted = {tuple(sorted(parts_of(d))) for d in decisions if d.accepted}
    rejected = {i for d in decisions if not d.accepted for i in concepts_of(d)}
    return len(accepted) > 1 or any(not rejected.isdisjoint(parts) for parts in accepted)


def conflicts(places: dict[Place, list[Decision]]) -> list[list[Decision]]:
    """The decisions in force at each place where reviewers disagree, in order of entry."""
    return sorted(filter(disagree, places.values()), key=lambda of_place: number_of(of_place[0]))


# what they say of a mention


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


def ruled(places: Iterable[Sequence[Decision]]) -> Ruling:
    """What decisions say of a mention.

    Args:
        places: those in force at each place that counts for it, the nearest first; see
            `Decided.ruling`.
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
        taken = set(parts_of(accepted[0])) if accepted else set()
        rejections = [d for d in decisions if not d.accepted and taken.isdisjoint(concepts_of(d))]
        rejected |= {i for d in rejections for i in concepts_of(d)}
        by += rejections
    parts = parts_of(accepted[0]) if accepted else ()
    return Ruling(parts, frozenset(rejected), tuple(sorted(by, key=number_of)))


# their ids in another release of the dictionary


def fate(decision: Decision, dictionary: Dictionary) -> tuple[Fate, tuple[str, ...]]:
    """What becomes of the ids of a decision in a dictionary, and the ids that stand for them now.

    It is `unknown` where the dictionary does not have one of them, `obsolete` where nothing
    replaces one, `merged` where one is now an alternative or old id of another concept, and
    `ambiguous` where one stands for several concepts.
    """
    ids = tuple(map(dictionary.identify, concepts_of(decision)))
    if None in ids:
        return "unknown", ()
    rows = [dictionary.rows(identifier) for identifier in ids if identifier]
    now = tuple(dictionary.ids[row] for of_id in rows for row in of_id)
    if not all(rows):
        return "obsolete", now
    if len(now) > len(ids):
        return "ambiguous", now
    return ("current" if now == ids else "merged"), now


def followed(decision: Decision, dictionary: Dictionary) -> Decision | None:
    """The decision with the ids that a dictionary has now; None where it cannot follow."""
    state, now = fate(decision, dictionary)
    if state not in ("current", "merged"):
        return None
    if now == (ids := concepts_of(decision)):  # as nearly always
        return decision
    names = dict(zip(ids, now, strict=True))
    parts = [[names[i] for i in part] for part in split_ids(decision.concept_id)]
    return replace(decision, concept_id=join_ids(parts))

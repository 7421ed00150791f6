"""What people decided: which mentions are equal, which decisions are in force, which of these
count, what they say of a mention, and what becomes of their ids in another release."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from linker.dictionary import Dictionary
from linker.ids import join_ids, part_ids, split_ids
from linker.records import Decision, Predicate, State
from linker.text import abbreviations
from linker.text.normalize import normalize, person

Place = tuple[str, str]
"""A form of mentions, and the scope in which decisions on it hold."""
Parts = tuple[str | None, ...]
"""Of each part of a mention its id, empty where it has no concept, and None where it is open."""
NO_PARTS: Parts = ("",)
"""The mention as a whole has no concept."""
Fate = Literal["current", "merged", "ambiguous", "obsolete", "unknown"]
"""What became of the ids of a decision in a release of the dictionary; see `fate`."""


def parts_of(decision: Decision) -> Parts:
    """What the decision says of each part of the mention, see `Parts`."""
    return _parts(decision.concept_id)


@functools.lru_cache(1 << 15)  # each decision is asked ten times
def _parts(ids: str) -> Parts:
    return tuple(part_ids(ids))


def said_of(decision: Decision) -> Parts:
    """What `parts_of` gives, by the ids as they were said."""
    return _parts(decision.said or decision.concept_id)


def as_said(decision: Decision) -> Decision:
    """The decision with its ids as they were said.

    Raises:
        ValueError: it has another number of parts than was said.
    """
    if not decision.said:
        return decision
    ids = decision.said
    if None in parts_of(decision):
        pairs = zip(parts_of(decision), said_of(decision), strict=True)
        ids = ids_text(tuple(None if part is None else said for part, said in pairs))
    return replace(decision, concept_id=ids, said="")


def concepts_of(decision: Decision) -> tuple[str, ...]:
    """The ids of all parts of the mention; none where there is no concept."""
    return tuple(filter(None, parts_of(decision)))


def decided_places(decision: Decision) -> frozenset[int]:
    """The places of the parts on which something was decided, from 0."""
    parts = enumerate(parts_of(decision))
    return frozenset(place for place, part in parts if part is not None)


def opened(decision: Decision, places: Container[int]) -> Decision | None:
    """What is left of a decision where it holds no more for some parts; None: nothing is.

    Of what was accepted in bulk nothing is, since nobody looked at the other parts.
    """
    parts = parts_of(decision)
    left = tuple(None if place in places else part for place, part in enumerate(parts))
    if left == parts:
        return decision
    if decision.bulk or all(part is None for part in left):
        return None
    return replace(decision, concept_id=ids_text(left))


def ids_text(parts: Parts) -> str:
    """The parts as the text of a decision; see `linker.ids.join_ids`."""
    ids: list[list[str] | None] = []
    for part in parts:
        if part is None:
            ids.append(None)
        else:
            ids.append([part] if part else [])
    return join_ids(ids)


def merged(decisions: Sequence[Decision]) -> Parts:
    """What accepted decisions that agree say together; () where there are none."""
    parts: Parts = ()
    for decision in decisions:
        further = parts_of(decision)
        if None not in further:
            return further
        parts = filled(parts or further, further)
    return parts


def filled(parts: Parts, further: Parts) -> Parts:
    """Parts, of which open ones are as others have them, if these are as many."""
    if len(parts) != len(further):
        return parts
    pairs = zip(parts, further, strict=True)
    return tuple(other if part is None else part for part, other in pairs)


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
    rejection; a rejection replaces only what was said of its concept before. Where both decisions
    divide the mention into as many parts, only what was said of the same parts is replaced, and
    the earlier one is given with the others alone.

    Args:
        decisions: those that were not withdrawn, in order of entry, which counts instead of their
            times.
        dictionary: ids are those that it has now. What replaces what is told by the ids as they
            were said, since two concepts may have become one; decisions whose ids it cannot follow
            are left out, and so is what they replace. None: ids are as they were said.

    Returns:
        The decisions of each form and scope, in order of entry.
    """
    places = {}
    for place, of_place in by_place(decisions).items():
        kept = _latest(of_place)
        if dictionary is not None:
            now = [followed(decision, dictionary) for decision in kept]
            kept = [decision for decision in now if decision is not None]
        if kept:
            places[place] = kept
    return places


def voice(decision: Decision) -> tuple[str, bool]:
    """Which decisions replace each other: those of one reviewer.

    What settles a dispute replaces nothing that its reviewer said, which does not count beside it.
    """
    return person(decision.reviewer), bool(decision.settles)


def _latest(decisions: Iterable[Decision]) -> list[Decision]:
    """Those that are in force of the decisions at a place, in order."""
    kept: dict[int, Decision] = {}
    for number, decision in enumerate(decisions):
        if not decided_places(decision):  # as "?", which says nothing
            continue
        for earlier in [*kept]:
            left = _left_of(kept[earlier], decision)
            if left is None:
                del kept[earlier]
            else:
                kept[earlier] = left
        kept[number] = decision
    return [*kept.values()]


def _left_of(earlier: Decision, later: Decision) -> Decision | None:
    """What holds of a decision beside a later one; None: nothing does."""
    name, settles = voice(earlier)
    later_name, later_settles = voice(later)
    if name != later_name or (later_settles and not settles):
        return earlier
    if not (earlier.accepted or later.accepted):
        is_other = set(concepts_of(later)).isdisjoint(concepts_of(earlier))
        return earlier if is_other else None
    if not earlier.accepted:
        return None if denied_places(later, earlier) else earlier
    if not later.accepted:
        return opened(earlier, denied_places(earlier, later))
    if len(parts_of(earlier)) != len(parts_of(later)):
        return None
    return opened(earlier, decided_places(later))


def denied_places(accepted: Decision, rejected: Decision) -> set[int]:
    """The places of the parts of an accepted decision whose concept another decision rejects.

    A rejection follows its id. Where a release made one concept of the rejected id and of another
    one, which is accepted, both decisions were on different concepts, and nothing is denied.
    """
    rejected_ids = dict(zip(parts_of(rejected), said_of(rejected), strict=True))
    parts = zip(parts_of(accepted), said_of(accepted), strict=True)
    places = set()
    for place, (part, said) in enumerate(parts):
        if part and part in rejected_ids and rejected_ids[part] in (part, said):
            places.add(place)
    return places


def is_outlived(rejected: Decision, decisions: Iterable[Decision]) -> bool:
    """Whether a rejection counts no more, since somebody who looked accepted the concept that its
    id stands for now, by another id; see `denied_places`."""
    for decision in decisions:
        is_seen = decision.accepted and not decision.bulk
        is_same = not set(concepts_of(rejected)).isdisjoint(concepts_of(decision))
        if is_seen and is_same and not denied_places(decision, rejected):
            return True
    return False


def _undenied(accepted: Decision, decisions: Iterable[Decision]) -> Decision | None:
    """What counts of an accepted decision where its reviewer rejected what its id stands for now.

    Each was said of another concept, whichever came first; now somebody has to decide.
    """
    places = set[int]()
    for other in decisions:
        if not other.accepted and person(other.reviewer) == person(accepted.reviewer):
            places |= denied_places(accepted, other)
    return opened(accepted, places)


def standing(decisions: Sequence[Decision]) -> Sequence[Decision]:
    """Those that count of the decisions in force at a place.

    Beside one that settles a dispute, what its reviewer and those that it names said before of the
    same parts does not, nor does a rejection that is outlived, nor what was accepted by another id
    of a concept that its reviewer rejects. What was accepted in bulk does not
    where somebody who looked accepts something, be it that there is no concept, or rejects what it
    accepts.
    """
    if any(d.settles for d in decisions):
        decisions = _settled(decisions)
    if any(d.said for d in decisions):
        decisions = [d for d in decisions if d.accepted or not is_outlived(d, decisions)]
        left = [_undenied(d, decisions) if d.accepted and d.said else d for d in decisions]
        decisions = [d for d in left if d is not None]
    seen = [d for d in decisions if not d.bulk]
    if len(seen) == len(decisions):
        return decisions
    if any(d.accepted for d in seen):
        return seen
    rejected = {identifier for d in seen for identifier in concepts_of(d)}
    return [d for d in decisions if not d.bulk or rejected.isdisjoint(concepts_of(d))]


def _settled(decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions in force at a place without what others of them settle."""
    kept = list[Decision]()
    for number, decision in enumerate(decisions):
        left: Decision | None = decision
        for later in decisions[number + 1 :]:
            names = {person(name) for name in (*later.settles, later.reviewer)}
            if left and later.settles and person(decision.reviewer) in names:
                left = _beside(left, later, decisions)
        if left:
            kept.append(left)
    return kept


def _beside(earlier: Decision, later: Decision, decisions: Sequence[Decision]) -> Decision | None:
    """What counts of a decision beside a later one that settles it, among those at their place."""
    places = decided_places(later)
    if not later.accepted:  # it settles the parts whose concept it rejects
        (rejected,) = concepts_of(later)
        several = [d for d in decisions if d.accepted and len(parts_of(d)) > 1]
        of_parts = [enumerate(parts_of(d)) for d in several]
        pairs = itertools.chain.from_iterable(of_parts)
        places = frozenset(place for place, part in pairs if part == rejected)
        is_whole = not places
    else:
        is_whole = len(places) == len(parts_of(later))
    if is_whole:
        return None
    if not earlier.accepted:
        is_same = not set(concepts_of(later)).isdisjoint(concepts_of(earlier))
        return None if is_same else earlier
    if later.accepted and len(parts_of(earlier)) != len(parts_of(later)):
        return None
    return opened(earlier, places)


def disagree(decisions: Sequence[Decision]) -> bool:
    """Whether those that count of the decisions in force at a place contradict each other.

    They do where different concepts are accepted for the same part, or in all, in whatever order
    their parts are; or where one that is accepted is also rejected.
    """
    if len(decisions) < 2:
        return False
    decisions = standing(decisions)
    accepted = [parts_of(d) for d in decisions if d.accepted]
    rejected = {i for d in decisions if not d.accepted for i in concepts_of(d)}
    return not _agree(accepted) or any(not rejected.isdisjoint(parts) for parts in accepted)


def _agree(accepted: Sequence[Parts]) -> bool:
    """Whether what was accepted for a mention fits together."""
    together: Parts = ()  # of the decisions that leave a part open
    for parts in accepted:
        if None not in parts:
            continue
        if together and not _fit(together, parts):
            return False
        together = filled(together or parts, parts)
    is_open = None in together
    whole = [parts for parts in (*accepted, together) if parts and None not in parts]
    if len({_sorted(parts) for parts in whole}) > 1:
        return False
    return not is_open or not whole or any(_fit(together, parts) for parts in whole)


def _sorted(parts: Parts) -> tuple[str, ...]:
    """The ids of parts in an order that is the same for all; none where no part has a concept."""
    ids = [part or "" for part in parts]
    return tuple(sorted(ids)) if any(ids) else ()


def _fit(one: Parts, other: Parts) -> bool:
    """Whether two decisions accept the same for each part on which both decide."""
    if NO_PARTS in (one, other):
        return not any((*one, *other))
    if len(one) != len(other):
        return False
    return all(a == b for a, b in zip(one, other, strict=True) if None not in (a, b))


def conflicts(places: dict[Place, list[Decision]]) -> list[list[Decision]]:
    """The decisions in force at each place where reviewers disagree, in order of entry."""
    return sorted(filter(disagree, places.values()), key=lambda of_place: number_of(of_place[0]))


# what they say of a mention


@dataclass(frozen=True, slots=True)
class Ruling:
    """What decisions say of a mention in a document."""

    parts: Parts = ()  # what each part is; (): the model answers
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
        if None in self.parts:
            return "open"
        return "accepted" if any(self.parts) else "no concept"


def ruled(places: Iterable[Sequence[Decision]]) -> Ruling:
    """What decisions say of a mention.

    Args:
        places: those in force at each place that counts for it, the nearest first; see
            `Decided.ruling`.
    """
    parts: Parts = ()
    by: list[Decision] = []
    for of_place in places:
        decisions = standing(of_place)
        if disagree(decisions):
            if not by:
                return Ruling(by=tuple(decisions), is_disputed=True)
            continue
        accepting = [d for d in decisions if d.accepted]  # those of one place agree
        before = parts
        rejections = [d for d in by if not (d.accepted or is_outlived(d, accepting))]
        parts = _completed(before, accepting, _ids_of(rejections))
        decided_before = {n for n, part in enumerate(before) if part is not None}
        still_open = {n for n, part in enumerate(parts) if part is None}
        if len(decided_before | still_open) < len(parts):
            used = [opened(d, decided_before | still_open) for d in accepting]
            by += filter(None, used)
        taken = set(filter(None, parts))
        by += [d for d in decisions if not d.accepted]
        by = [d for d in by if d.accepted or taken.isdisjoint(concepts_of(d))]
    rejected = _ids_of(d for d in by if not d.accepted)
    return Ruling(parts, frozenset(rejected), tuple(sorted(by, key=number_of)))


def _ids_of(decisions: Iterable[Decision]) -> set[str]:
    """The ids that decisions name."""
    return set(itertools.chain.from_iterable(map(concepts_of, decisions)))


def _completed(parts: Parts, accepting: Sequence[Decision], rejected: set[str]) -> Parts:
    """The parts, of which open ones are as they were accepted at a place that is less near.

    Args:
        parts: as nearer decisions have them; () where these accept nothing.
        accepting: the decisions at the place that accept something.
        rejected: the ids that nearer decisions reject.
    """
    accepted = merged(accepting)
    further = tuple(None if part in rejected else part for part in accepted)
    is_taken_apart = bool(parts) or further != accepted
    if is_taken_apart and any(d.bulk for d in accepting):  # nobody looked at any part of it alone
        return parts
    if all(part is None for part in further):
        return parts
    return filled(parts, further) if parts else further


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
    """The decision with the ids that a dictionary has now; None where it cannot follow.

    Where they are others, `said` has those of before, spelled as the dictionary spells them.
    """
    state, now = fate(decision, dictionary)
    if state not in ("current", "merged"):
        return None
    if now == (ids := concepts_of(decision)):  # as nearly always
        return decision
    followed_ids = _renamed(decision.concept_id, dict(zip(ids, now, strict=True)))
    said = decision.said
    if state == "merged" and not said:
        spelled = {identifier: dictionary.identify(identifier) or identifier for identifier in ids}
        said = _renamed(decision.concept_id, spelled)
    return replace(decision, concept_id=followed_ids, said=said)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A text of ids, of which each has another name."""
    parts: list[list[str] | None] = []
    for part in split_ids(text, spell=str):
        parts.append(None if part is None else [names[identifier] for identifier in part])
    return join_ids(parts)

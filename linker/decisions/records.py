"""Decisions: what a person said of a mention, which of it is in force, who disagrees, and
what becomes of it in another release of the dictionary."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from linker.errors import LinkerError, shorten
from linker.ids import Identify, join_ids, not_known, part_ids, split_ids
from linker.readers.records import MENTION_LIMIT
from linker.text import abbreviations
from linker.text.normalize import normalize
from linker.text.people import person
from linker.types import PREDICATES, Decision, Predicate

if TYPE_CHECKING:
    from linker.dictionary import Dictionary


def parts_of(decision: Decision) -> tuple[str, ...]:
    """The id of each part of the mention, empty for a part without a concept."""
    return tuple(part_ids(decision.concept_id))


def concepts_of(decision: Decision) -> tuple[str, ...]:
    """The ids of all parts of the mention; none where there is no concept."""
    return tuple(filter(None, parts_of(decision)))


def predicate_in(decisions: Sequence[Decision]) -> Predicate | None:
    """What the concept that is accepted is to the mention, as the last of some decisions says.

    Returns:
        None where none was accepted, or no concept was.
    """
    accepted = [decision for decision in decisions if decision.accepted]
    return accepted[-1].predicate if accepted and concepts_of(accepted[-1]) else None


Fate = Literal["current", "merged", "ambiguous", "obsolete", "unknown"]
"""What became of the ids of a decision in a release of the dictionary; see `check`."""

_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # what SQLite or UTF-8 cannot hold


def _joined(parts: list[list[str]]) -> str:
    """The text of ids; empty for no concept."""
    return join_ids(parts) if any(parts) else ""


def checked(decision: Decision, identify: Identify = not_known) -> Decision:
    """The decision as it is stored: its ids split and joined, its mention and reviewer stripped.

    Args:
        decision: as it was given.
        identify: see `linker.ids.split_ids`.

    Raises:
        LinkerError: the mention is blank or too long, a text cannot be written as UTF-8, a
            rejection does not name one concept, or a predicate is unknown or of none accepted.
    """
    mention, reviewer = decision.mention.strip(), decision.reviewer.strip()
    if not mention or len(mention) > MENTION_LIMIT:
        raise LinkerError(
            f"the mention of a decision has {len(mention):,} characters; "
            f"expected 1 to {MENTION_LIMIT:,}"
        )
    ids = _joined(split_ids(decision.concept_id, identify))
    if not ids and re.fullmatch(r"[\s|,;+]+", decision.concept_id):
        raise LinkerError(
            f"the concept of {shorten(mention)!r} is {decision.concept_id!r}; "
            "expected an id, or -1 for no concept"
        )
    settles = tuple(map(str.strip, decision.settles))
    decision = replace(
        decision, mention=mention, reviewer=reviewer, concept_id=ids, settles=settles
    )
    if not decision.accepted and not len(concepts_of(decision)) == len(parts_of(decision)) == 1:
        raise LinkerError(
            f"the rejection of {decision.concept_id or 'no concept'} for {shorten(mention)!r}; "
            "expected one concept (accept another one, or no concept, instead)"
        )
    if decision.predicate and not (decision.predicate in PREDICATES and decision.accepted and ids):
        raise LinkerError(
            f"the predicate {shorten(repr(decision.predicate))} of the decision on "
            f"{shorten(mention)!r}; expected one of {', '.join(filter(None, PREDICATES))}, and an "
            "accepted concept"
        )
    texts = (mention, ids, decision.scope, reviewer, decision.time, decision.model, *settles)
    if _NO_TEXT.search("".join((*texts, decision.release))):
        raise LinkerError(f"the decision on {mention!a} holds what is no text")
    return decision


def form_of(mention: str) -> str:
    """The form by which mentions are the same for all models: letters and digits, without case."""
    return normalize(mention) or " ".join(mention.split()).casefold()


def form_everywhere(mention: str) -> str:
    """The form by which decisions that hold everywhere are found: that of the long form, where a
    mention itself defines a short form, as "ataxia telangiectasia (AT)"."""
    return form_of(abbreviations.expand(mention, {}))


Place = tuple[str, str]
"""A form of mentions, and the scope in which decisions on it hold."""


def place_of(mention: str, scope: str) -> Place:
    """Where a decision on a mention stands."""
    return (form_of if scope else form_everywhere)(mention), scope


def voice(decision: Decision) -> tuple[str, bool]:
    """Which decisions replace each other: those of one reviewer.

    What settles a dispute replaces nothing that its reviewer said, which does not count beside it.
    """
    return person(decision.reviewer), bool(decision.settles)


def in_force(decisions: Iterable[Decision]) -> dict[Place, list[Decision]]:
    """The decisions that no later one of the same reviewer replaces.

    For the same mention and scope, an accepted concept replaces the one accepted before and its own
    rejection; a rejection replaces only what was said of its concept before.

    Args:
        decisions: in order of entry, which counts instead of their times.

    Returns:
        The decisions of each form and scope, in order of entry.
    """
    return {place: latest(said) for place, said in by_place(decisions).items()}


def by_place(decisions: Iterable[Decision]) -> dict[Place, list[Decision]]:
    """Decisions by where they stand, in their order."""
    places = defaultdict[Place, list[Decision]](list)
    for decision in decisions:
        places[place_of(decision.mention, decision.scope)].append(decision)
    return places


def latest(decisions: Iterable[Decision]) -> list[Decision]:
    """Those that are in force of the decisions on a mention, in a scope; see `in_force`."""
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
        said = [""] if decision.accepted else ids
        kept.update({(name, settles, identifier): decision for identifier in said})
    return [*kept.values()]


def standing(decisions: Sequence[Decision]) -> Sequence[Decision]:
    """Those that count of the decisions in force on a mention, in a scope.

    Beside one that settles a dispute, what its reviewer and those that it names said before does
    not. What was accepted in bulk does not where somebody who looked accepts something, or rejects
    it.
    """
    if any(d.settles for d in decisions):
        kept, settled = list[Decision](), set[str]()
        for d in reversed(decisions):
            kept += [d] if person(d.reviewer) not in settled else []
            settled |= {person(name) for name in (*d.settles, *[d.reviewer] * bool(d.settles))}
        decisions = kept[::-1]
    seen = [d for d in decisions if not d.bulk]
    if 0 < len(seen) < len(decisions):
        decisions = [d for d in decisions if not (d.bulk and _is_below(d, seen))]
    return decisions


def _is_below(decision: Decision, seen: Sequence[Decision]) -> bool:
    """Whether a decision that was made in bulk does not count beside those of people who looked.

    One of these accepts something, be it that there is no concept, or rejects what it accepts.
    """
    concepts = {*concepts_of(decision)}
    return any(d.accepted or not concepts.isdisjoint(concepts_of(d)) for d in seen)


def disagree(decisions: Sequence[Decision]) -> bool:
    """Whether decisions in force on a mention, in a scope, contradict each other.

    Those that count (see `standing`) do where different concepts are accepted, in whatever order
    their parts are, or where one that is accepted is also rejected.
    """
    if len(decisions) < 2:
        return False
    decisions = standing(decisions)
    accepted = {tuple(sorted(parts_of(d))) for d in decisions if d.accepted}
    rejected = {i for d in decisions if not d.accepted for i in concepts_of(d)}
    return len(accepted) > 1 or any(not rejected.isdisjoint(parts) for parts in accepted)


def conflicts(decisions: Iterable[Decision]) -> list[list[Decision]]:
    """The decisions in force on each mention, in a scope, on which reviewers disagree."""
    return list(filter(disagree, in_force(decisions).values()))


def replaced(before: Sequence[Decision], added: Sequence[Decision]) -> list[Decision]:
    """The decisions that hold no more since the same reviewer said the contrary.

    Args:
        before: the decisions that were in force, with their numbers.
        added: those that were added to them, in order of entry.
    """

    def said(d: Decision) -> tuple[str | bool, ...]:
        place = place_of(d.mention, d.scope)
        return person(d.reviewer), *place, d.accepted, d.predicate, *parts_of(d)

    after = [d for of_place in in_force([*before, *added]).values() for d in standing(of_place)]
    numbers, still_said = {d.id for d in after}, set(map(said, after))
    gone = [d for d in (*before, *added) if d.id not in numbers and said(d) not in still_said]
    names = {person(d.reviewer) for d in added}
    return [d for d in gone if person(d.reviewer) in names]


def identified(decision: Decision, dictionary: Dictionary) -> Decision:
    """The decision as it is stored, with ids as the dictionary has them.

    Raises:
        LinkerError: an id stands for no concept, or for several, or see `records.checked`.
    """
    decision = checked(decision, dictionary.identify)
    for identifier in concepts_of(decision):
        if not (rows := dictionary.rows(identifier)):
            raise LinkerError(f"the dictionary has no concept {identifier}")
        if len(rows) > 1:
            ids = ", ".join(dictionary.ids[row] for row in rows)
            raise LinkerError(f"{identifier} stands for several concepts ({ids}); name one")
    return decision


def releases(dictionary: Dictionary) -> str:
    """The releases of the files of a dictionary; their checksums where they state none."""
    return "; ".join(source.release or source.sha256[:12] for source in dictionary.sources)


def current(
    decisions: Iterable[Decision], dictionary: Dictionary
) -> tuple[list[Decision], list[Decision]]:
    """The decisions with the ids that a dictionary has now, and those that it cannot follow."""
    known, unknown = list[Decision](), list[Decision]()
    for decision in decisions:
        now = followed(decision, dictionary)
        (unknown if now is None else known).append(now or decision)
    return known, unknown


def followed(decision: Decision, dictionary: Dictionary) -> Decision | None:
    """The decision with the ids that a dictionary has now; None where it cannot follow."""
    state, now = _fate(decision, dictionary)
    if state not in ("current", "merged"):
        return None
    if now == (ids := concepts_of(decision)):  # as nearly always
        return decision
    names = dict(zip(ids, now, strict=True))
    parts = [[names[i] for i in part] for part in split_ids(decision.concept_id)]
    return replace(decision, concept_id=_joined(parts))


def check(
    decisions: Iterable[Decision], dictionary: Dictionary
) -> Iterator[tuple[Decision, Fate, tuple[str, ...]]]:
    """Yield each decision with what becomes of it with a dictionary, and the ids that say so.

    A decision is `unknown` where the dictionary does not have one of its ids, `obsolete` where
    nothing replaces one, `merged` where one is now an alternative or old id of another concept,
    and `ambiguous` where one stands for several concepts, or where the mention is now a name of
    concepts to which the decision does not link it. The ids are those that stand for its own now,
    or those of these concepts.
    """
    decisions = list(decisions)
    named: dict[str, set[str]] = {form_of(decision.mention): set() for decision in decisions}
    for name, row in zip(dictionary.names, dictionary.name_concept.tolist(), strict=True):
        if (form := form_of(name)) in named:
            named[form].add(dictionary.ids[row])
    for decision in decisions:
        state, now = _fate(decision, dictionary)
        ids, is_one = named[form_of(decision.mention)], len(parts_of(decision)) == 1
        is_known = state in ("current", "merged")
        if is_known and decision.accepted and is_one and ids and ids.isdisjoint(now):
            state, now = "ambiguous", tuple(sorted(ids))
        yield decision, state, now


def _fate(decision: Decision, dictionary: Dictionary) -> tuple[Fate, tuple[str, ...]]:
    """What becomes of the ids of a decision, and the ids that stand for them now."""
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

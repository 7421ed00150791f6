"""Decisions: what a person said of a mention, which of it is in force, who disagrees, and
what becomes of it in another release of the dictionary."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from linker.errors import LinkerError, shorten
from linker.ids import Identify, join_ids, not_known, part_ids, split_ids
from linker.readers.records import MENTION_LIMIT
from linker.text.normalize import normalize
from linker.types import Decision

if TYPE_CHECKING:
    from linker.dictionary import Dictionary


def parts_of(decision: Decision) -> tuple[str, ...]:
    """The id of each part of the mention, empty for a part without a concept."""
    return tuple(part_ids(decision.concept_id))


def concepts_of(decision: Decision) -> tuple[str, ...]:
    """The ids of all parts of the mention; none where there is no concept."""
    return tuple(filter(None, parts_of(decision)))


def renamed(decision: Decision, name: Callable[[str], str]) -> Decision:
    """The decision with other ids.

    Args:
        decision: the decision.
        name: gives the new id for each.
    """
    parts = [[name(identifier) for identifier in part] for part in split_ids(decision.concept_id)]
    return replace(decision, concept_id=_joined(parts))


Fate = Literal["current", "merged", "ambiguous", "obsolete", "unknown"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A decision, and what the dictionary says of it."""

    decision: Decision
    state: Fate
    now: tuple[str, ...] = ()  # ids that replace those of the decision, or that contradict it


_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # what SQLite or UTF-8 cannot hold

Place = tuple[str, str]
"""A normal form of mentions, and a scope."""


def _joined(parts: list[list[str]]) -> str:
    """The text of ids; empty for no concept."""
    return join_ids(parts) if any(parts) else ""


def checked(decision: Decision, identify: Identify = not_known) -> Decision:
    """The decision as it is stored: its ids split and joined, its mention and reviewer stripped.

    Args:
        decision: as it was given.
        identify: see `linker.ids.split_ids`.

    Raises:
        LinkerError: the mention is blank or too long, a text cannot be written as UTF-8, or a
            rejection does not name one concept.
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
    decision = replace(decision, mention=mention, reviewer=reviewer, concept_id=ids)
    if not decision.accepted and not len(concepts_of(decision)) == len(parts_of(decision)) == 1:
        raise LinkerError(
            f"the rejection of {decision.concept_id or 'no concept'} for {shorten(mention)!r}; "
            "expected one concept (accept another one, or no concept, instead)"
        )
    texts = (mention, ids, decision.scope, reviewer, decision.time, decision.model)
    if _NO_TEXT.search("".join((*texts, decision.release))):
        raise LinkerError(f"the decision on {mention!a} holds what is no text")
    return decision


def form_of(mention: str) -> str:
    """The form by which mentions are the same without a model: letters and digits, without case."""
    return normalize(mention) or " ".join(mention.split()).casefold()


def in_force(
    decisions: Iterable[Decision], form: Callable[[str], str] = form_of
) -> dict[Place, list[Decision]]:
    """The decisions that no later one of the same reviewer replaces.

    For the same mention and scope, an accepted concept replaces the one accepted before and its own
    rejection; a rejection replaces only what was said of its concept before.

    Args:
        decisions: in order of entry, which counts instead of their times.
        form: gives the form of a mention by which mentions are the same.

    Returns:
        The decisions of each form and scope, in order of entry.
    """
    places: dict[Place, dict[tuple[str, str], Decision]] = defaultdict(dict)
    for decision in decisions:
        kept, who = places[form(decision.mention), decision.scope], decision.reviewer
        accepted = who, ""
        rejected = {(who, identifier) for identifier in concepts_of(decision)}
        if decision.accepted:
            said, replaced = {accepted}, {accepted, *rejected}
        else:
            earlier = concepts_of(kept[accepted]) if accepted in kept else ()
            is_taken_back = any((who, identifier) in rejected for identifier in earlier)
            said, replaced = rejected, {*rejected, accepted} if is_taken_back else rejected
        for key in replaced:
            kept.pop(key, None)
        kept.update(dict.fromkeys(said, decision))
    return {place: [*kept.values()] for place, kept in places.items()}


def disagree(decisions: Sequence[Decision]) -> bool:
    """Whether decisions in force on a mention contradict each other.

    They do where different concepts are accepted, in whatever order their parts are, or where one
    that is accepted is also rejected.
    """
    if len(decisions) < 2:
        return False
    accepted = {tuple(sorted(parts_of(d))) for d in decisions if d.accepted}
    rejected = {i for d in decisions if not d.accepted for i in concepts_of(d)}
    return len(accepted) > 1 or any(not rejected.isdisjoint(parts) for parts in accepted)


def conflicts(places: dict[Place, list[Decision]]) -> list[list[Decision]]:
    """The decisions on each mention, in a scope, on which reviewers disagree.

    Args:
        places: see `in_force`.
    """
    return list(filter(disagree, places.values()))


def replaced(before: Sequence[Decision], added: Sequence[Decision]) -> list[Decision]:
    """The decisions that hold no more since the same reviewer said the contrary.

    Args:
        before: the decisions that were in force, with their numbers.
        added: those that were added to them, in order of entry.
    """

    def said(d: Decision) -> tuple[str | bool, ...]:
        return d.reviewer, d.scope, form_of(d.mention), d.accepted, *parts_of(d)

    after = [d for of_place in in_force([*before, *added]).values() for d in of_place]
    numbers, still_said = {d.id for d in after}, set(map(said, after))
    return [d for d in (*before, *added) if d.id not in numbers and said(d) not in still_said]


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
        ids = concepts_of(decision)
        if not all(len(dictionary.rows(i)) == 1 for i in ids):
            unknown.append(decision)
            continue
        now = {i: next(iter(dictionary.resolve(i))) for i in ids}
        is_current = all(i == current for i, current in now.items())  # as nearly all are
        known.append(decision if is_current else renamed(decision, now.__getitem__))
    return known, unknown


def check(decisions: Iterable[Decision], dictionary: Dictionary) -> Iterator[Checked]:
    """Say what becomes of each decision with a dictionary.

    A decision is `unknown` where the dictionary does not have one of its ids, `obsolete` where
    nothing replaces one, `merged` where one is now an alternative or old id of another concept,
    and `ambiguous` where one stands for several concepts, or where the mention is now a name of
    concepts to which the decision does not link it.
    """
    decisions = list(decisions)
    named = _named(dictionary, {form_of(decision.mention) for decision in decisions})
    for decision in decisions:
        yield _checked(decision, dictionary, named.get(form_of(decision.mention), frozenset()))


def _checked(decision: Decision, dictionary: Dictionary, named: frozenset[str]) -> Checked:
    """One decision; `named`: the ids of the concepts that have its mention as a name."""
    ids = tuple(map(dictionary.identify, concepts_of(decision)))
    if None in ids:
        return Checked(decision, "unknown")
    stand_for = [tuple(dictionary.ids[row] for row in dictionary.rows(i)) for i in ids if i]
    now = tuple(identifier for concepts in stand_for for identifier in concepts)
    if not all(stand_for):
        return Checked(decision, "obsolete", now)
    if any(len(concepts) > 1 for concepts in stand_for):
        return Checked(decision, "ambiguous", now)
    if decision.accepted and len(parts_of(decision)) == 1 and named and named.isdisjoint(now):
        return Checked(decision, "ambiguous", tuple(sorted(named)))
    return Checked(decision, "current" if now == ids else "merged", now)


def _named(dictionary: Dictionary, forms: set[str]) -> dict[str, frozenset[str]]:
    """The ids of the concepts that have each of these forms as a name."""
    ids: dict[str, set[str]] = {}
    for name, row in zip(dictionary.names, dictionary.name_concept.tolist(), strict=True):
        if (form := form_of(name)) in forms:
            ids.setdefault(form, set()).add(dictionary.ids[row])
    return {form: frozenset(concepts) for form, concepts in ids.items()}

"""Decisions: what a person said of a mention, which of it is in force, and who disagrees."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from linker.errors import LinkerError, shorten
from linker.ids import Identify, join_ids, not_known, part_ids, split_ids
from linker.readers.records import MENTION_LIMIT
from linker.text.normalize import normalize
from linker.types import Decision


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


@dataclass(frozen=True, slots=True)
class Conflict:
    """Decisions of several reviewers on one mention that contradict each other."""

    mention: str
    scope: str
    decisions: tuple[Decision, ...]  # all in force for the mention and scope, in order of entry


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
    texts = (mention, decision.concept_id, decision.scope, decision.reviewer, decision.time)
    try:
        text = "".join((*texts, decision.model, decision.release)).encode()
    except UnicodeEncodeError:
        text = b"\0"
    if b"\0" in text:
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
        of_concepts = {(who, identifier) for identifier in concepts_of(decision)}
        said = {(who, "")} if decision.accepted else of_concepts
        if decision.accepted:
            replaced = said | of_concepts
        else:
            earlier = kept.get((who, ""))
            is_taken_back = earlier and not of_concepts.isdisjoint(
                {(who, identifier) for identifier in concepts_of(earlier)}
            )
            replaced = said | ({(who, "")} if is_taken_back else set())
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


def conflicts(places: dict[Place, list[Decision]]) -> list[Conflict]:
    """The mentions and scopes on which reviewers disagree; `places` is that of `in_force`."""
    return [
        Conflict(decisions[0].mention, scope, tuple(decisions))
        for (_, scope), decisions in places.items()
        if disagree(decisions)
    ]


def replaced(before: Iterable[Decision], after: Iterable[Decision]) -> list[Decision]:
    """The decisions that hold no more since the same reviewer said the contrary.

    Args:
        before: the decisions that were in force, with their numbers.
        after: those that are in force now.
    """
    after = list(after)
    numbers = {decision.id for decision in after}
    said = {(d.reviewer, d.scope, form_of(d.mention), d.accepted, *parts_of(d)) for d in after}
    return [
        d
        for d in before
        if d.id not in numbers
        and (d.reviewer, d.scope, form_of(d.mention), d.accepted, *parts_of(d)) not in said
    ]

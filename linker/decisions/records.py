"""Decisions: what a person said of a mention, which of it is in force, and who disagrees."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from linker.errors import LinkerError, shorten
from linker.ids import NO_CONCEPT, curie
from linker.readers.checks import MENTION_LIMIT


@dataclass(frozen=True, slots=True)
class Decision:
    """What one reviewer said of one mention."""

    mention: str  # as written
    # CURIE; those of several parts joined by "|", with -1 for a part without a concept, and those
    # that are meant together by "+"; empty: no concept
    concept_id: str
    accepted: bool = True  # False: the concept was rejected for the mention
    scope: str = ""  # the id of the document in which it holds; empty: it holds everywhere
    reviewer: str = ""  # who decided
    time: str = ""  # when, ISO 8601 in UTC; the store fills it where it is empty
    model: str = ""  # fingerprint of the model whose answer was reviewed
    release: str = ""  # release of the dictionary that the id is of, or its checksum
    id: int | None = None  # given by the store; later decisions have larger ones

    @property
    def parts(self) -> tuple[str, ...]:
        """The id of each part, empty for a part without a concept."""
        return tuple(i for part in _parsed(self.concept_id) for i in part or ("",))

    @property
    def concepts(self) -> tuple[str, ...]:
        """The ids of all parts; none where there is no concept."""
        return tuple(filter(None, self.parts))

    def renamed(self, name: Callable[[str], str]) -> Decision:
        """The decision with other ids.

        Args:
            name: gives the new id for each.
        """
        parts = [[name(identifier) for identifier in part] for part in _parsed(self.concept_id)]
        text = "|".join("+".join(part) or "-1" for part in parts)
        return replace(self, concept_id=text if any(parts) else "")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Decisions of several reviewers on one mention that contradict each other."""

    mention: str
    scope: str
    decisions: tuple[Decision, ...]  # all in force for the mention and scope, in order of entry


Place = tuple[str, str]
"""A form of mentions, and a scope."""


def _parsed(text: str) -> list[list[str]]:
    """The ids of each part, as CURIEs; none for a part without a concept."""
    return [
        [curie(i) for i in part.split("+") if i.strip().lower() not in NO_CONCEPT]
        for part in re.split(r"[|,;]", text)
    ]


def checked(decision: Decision) -> Decision:
    """The decision with its ids as CURIEs and its mention without white space around it.

    Raises:
        LinkerError: the mention is blank or too long, a text cannot be written as UTF-8, or a
            rejection does not name one concept.
    """
    mention = decision.mention.strip()
    if not mention or len(mention) > MENTION_LIMIT:
        raise LinkerError(
            f"the mention of a decision has {len(mention):,} characters; "
            f"expected 1 to {MENTION_LIMIT:,}"
        )
    decision = replace(decision, mention=mention).renamed(str)
    if not decision.accepted and not len(decision.concepts) == len(decision.parts) == 1:
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


def in_force(
    decisions: Iterable[Decision], form: Callable[[str], str] = str
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
    places: dict[Place, list[Decision]] = defaultdict(list)
    for decision in decisions:
        before = places[form(decision.mention), decision.scope]
        before[:] = [e for e in before if not _replaces(decision, e)]
        before.append(decision)
    return dict(places)


def _replaces(decision: Decision, earlier: Decision) -> bool:
    if decision.reviewer != earlier.reviewer:
        return False
    both = decision.accepted == earlier.accepted
    return contradict(decision, earlier) or (
        both and sorted(decision.parts) == sorted(earlier.parts)
    )


def contradict(one: Decision, other: Decision) -> bool:
    """Whether two decisions on the same mention and scope cannot both be right."""
    if one.accepted and other.accepted:
        return sorted(one.parts) != sorted(other.parts)
    if one.accepted == other.accepted:
        return False
    accepted, rejected = (one, other) if one.accepted else (other, one)
    return rejected.concept_id in accepted.concepts


def disagree(decisions: Sequence[Decision]) -> bool:
    """Whether any two of the decisions in force on a mention contradict each other."""
    return any(contradict(one, other) for n, one in enumerate(decisions) for other in decisions[:n])


def conflicts(places: dict[Place, list[Decision]]) -> list[Conflict]:
    """The mentions and scopes on which reviewers disagree; `places` is that of `in_force`."""
    return [
        Conflict(decisions[0].mention, scope, tuple(decisions))
        for (_, scope), decisions in places.items()
        if disagree(decisions)
    ]

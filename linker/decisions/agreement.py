"""Agreement: how often reviewers say the same of the same mentions, and how far beyond chance."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linker.decisions.records import concepts_of, parts_of
from linker.text.people import person
from linker.types import Decision


@dataclass(frozen=True, slots=True)
class Pair:
    """Two reviewers, and the mentions on which both decided."""

    reviewers: tuple[str, str]
    both: int
    agreed: int
    kappa: float | None  # of Cohen; None: by chance alone they would agree on all


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of all pairs of reviewers who decided on the same mentions."""

    pairs: Sequence[Pair] = ()

    @property
    def both(self) -> int:
        """On how many mentions two reviewers decided; a mention counts once for each pair."""
        return sum(pair.both for pair in self.pairs)

    @property
    def agreed(self) -> int:
        """On how many of these they agreed."""
        return sum(pair.agreed for pair in self.pairs)

    @property
    def kappa(self) -> float | None:
        """The mean of the kappas of the pairs that have one, weighted by their mentions."""
        known = [(pair.kappa, pair.both) for pair in self.pairs if pair.kappa is not None]
        count = sum(both for _, both in known)
        return sum(kappa * both for kappa, both in known) / count if known else None


def agreement(places: Iterable[Sequence[Decision]]) -> Agreement:
    """The agreement of reviewers.

    Decisions that settle a dispute, which was seen, do not count, nor those that were made in bulk,
    at which nobody looked.

    Two reviewers agree on a mention where they accept the same concepts, in whatever order those of
    its parts are, or say that there is none, or accept nothing and reject the same concepts.

    Args:
        places: the decisions in force on each mention, in a scope; see `records.in_force`.
    """
    categories = defaultdict[tuple[str, str], list[tuple[object, object]]](list)
    names: dict[str, str] = {}  # as each is written first
    for decisions in places:
        said = defaultdict[str, list[Decision]](list)
        for decision in decisions:
            if not (decision.settles or decision.bulk):
                name = names.setdefault(person(decision.reviewer), decision.reviewer)
                said[name].append(decision)
        for one, other in itertools.combinations(sorted(said), 2):
            categories[one, other].append((_category(said[one]), _category(said[other])))
    return Agreement([_pair(who, categories[who]) for who in sorted(categories)])


def _category(decisions: Sequence[Decision]) -> tuple[bool, tuple[str, ...]]:
    """What one reviewer says of a mention: what is accepted, or else what is rejected."""
    for decision in decisions:
        if decision.accepted:
            return True, tuple(sorted(parts_of(decision)))
    return False, tuple(sorted(i for decision in decisions for i in concepts_of(decision)))


def _pair(reviewers: tuple[str, str], said: Sequence[tuple[object, object]]) -> Pair:
    """The agreement of two reviewers; scikit-learn's has a matrix of all concepts by all."""
    both, agreed = len(said), sum(one == other for one, other in said)
    of_one, of_other = (Counter(categories) for categories in zip(*said, strict=True))
    by_chance = sum(count * of_other[category] for category, count in of_one.items()) / both**2
    kappa = None if by_chance == 1 else (agreed / both - by_chance) / (1 - by_chance)
    return Pair(reviewers, both, agreed, kappa)

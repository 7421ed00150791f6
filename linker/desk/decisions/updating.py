"""What a new release of a dictionary does to the decisions of people, and what may replace them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linker.desk.decisions.store import identified, releases
from linker.dictionary import Dictionary
from linker.ids import escaped
from linker.linking.decisions import fate, followed, form_of, parts_of
from linker.records import Decision

KINDS = {
    "merged": "the id is now another concept's",
    "moved": "the mention is now a name of another concept",
    "exact now": "a broader, narrower or related concept was chosen, and an exact one is there now",
    "ambiguous": "the id, or the mention as a name, stands for several concepts",
    "obsolete": "nothing replaces the id",
    "unknown": "the release does not have the id",
}
ACCEPTABLE = ("merged", "moved", "exact now")
"""The kinds that have one answer, so that they can be accepted together."""


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that a release changes."""

    decision: Decision
    kind: str  # of `KINDS`
    now: tuple[str, ...]  # the ids that stand for the decision, or for its mention, now


def changes(decisions: Iterable[Decision], dictionary: Dictionary) -> Iterator[Change]:
    """Those of the decisions that a release of the dictionary changes, in their order."""
    named = defaultdict[str, set[str]](set)  # ids by the forms of their names
    for name, concept in zip(dictionary.names, dictionary.name_concept.tolist(), strict=True):
        named[form_of(name)].add(dictionary.ids[concept])
    for decision in decisions:
        kind, now = fate(decision, dictionary)
        others = tuple(sorted(named.get(form_of(decision.mention), ())))
        is_followed = kind in ("current", "merged") and decision.accepted
        if is_followed and len(parts_of(decision)) == 1 and others and {*others}.isdisjoint(now):
            kind_of_one = "exact now" if decision.predicate else "moved"
            yield Change(decision, kind_of_one if len(others) == 1 else "ambiguous", others)
        elif kind != "current":
            yield Change(decision, kind, now)


def accepted(
    change: Change, dictionary: Dictionary, reviewer: str, *, bulk: bool
) -> Decision | None:
    """The decision that takes the place of one, where the change has one answer; else None.

    It settles that of the reviewer of the old one.

    Args:
        change: what is accepted.
        dictionary: the release.
        reviewer: who accepts.
        bulk: whether it is accepted with others of its kind, so that nobody looked at it.
    """
    old = change.decision
    if change.kind not in ACCEPTABLE:
        return None
    new = followed(old, dictionary) if change.kind == "merged" else None
    new = new or replace(old, concept_id=escaped(change.now[0]), predicate="")
    about: Any = {"reviewer": reviewer, "time": "", "model": "", "release": releases(dictionary)}
    settles = (old.reviewer,) if old.reviewer != reviewer else ()
    new = replace(new, **about, bulk=bulk, settles=settles, id=None, step=None)
    return identified(new, dictionary)


def chosen(found: Sequence[Change], wanted: Iterable[str]) -> list[tuple[Change, bool]]:
    """The changes of some kinds, or of decisions given by their numbers, and which are of a kind.

    Raises:
        ValueError: a word is neither a kind that can be accepted nor the number of such a change.
    """
    result: dict[int | None, tuple[Change, bool]] = {}
    of_number = {str(c.decision.id): c for c in found if c.kind in ACCEPTABLE}
    for word in wanted:
        if word in ACCEPTABLE:
            for change in found:
                if change.kind == word:
                    result.setdefault(change.decision.id, (change, True))
        elif word in of_number:
            result[of_number[word].decision.id] = of_number[word], False
        else:
            raise ValueError(word)
    return list(result.values())

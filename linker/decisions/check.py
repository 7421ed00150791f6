"""What becomes of decisions in another release of the dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from linker.decisions.records import Decision
from linker.decisions.store import same_text
from linker.dictionary import Dictionary
from linker.text.normalize import normalize

State = Literal["current", "merged", "ambiguous", "obsolete", "unknown"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A decision, and what the dictionary says of it."""

    decision: Decision
    state: State
    now: tuple[str, ...] = ()  # ids that replace those of the decision, or that contradict it


def check(decisions: Iterable[Decision], dictionary: Dictionary) -> Iterator[Checked]:
    """Say what becomes of each decision with a dictionary.

    A decision is `unknown` where the dictionary does not have one of its ids, `obsolete` where
    nothing replaces one, `merged` where one is now an alternative or old id of another concept,
    and `ambiguous` where one stands for several concepts, or where the mention is now a name of
    concepts to which the decision does not link it.
    """
    decisions = list(decisions)
    named = _named(dictionary, {_form(decision.mention) for decision in decisions})
    for decision in decisions:
        yield _checked(decision, dictionary, named.get(_form(decision.mention), frozenset()))


def _checked(decision: Decision, dictionary: Dictionary, named: frozenset[str]) -> Checked:
    """One decision; `named`: the ids of the concepts that have its mention as a name."""
    ids = decision.concepts
    stand_for = [tuple(dictionary.ids[row] for row in dictionary.rows(i)) for i in ids]
    if any(not c and i not in dictionary.old_ids for i, c in zip(ids, stand_for, strict=True)):
        return Checked(decision, "unknown")
    now = tuple(identifier for concepts in stand_for for identifier in concepts)
    if not all(stand_for):
        return Checked(decision, "obsolete", now)
    if any(len(concepts) > 1 for concepts in stand_for):
        return Checked(decision, "ambiguous", now)
    if decision.accepted and len(decision.parts) == 1 and named and named.isdisjoint(now):
        return Checked(decision, "ambiguous", tuple(sorted(named)))
    return Checked(decision, "current" if now == ids else "merged", now)


def _form(text: str) -> str:
    return normalize(text) or same_text(text)


def _named(dictionary: Dictionary, forms: set[str]) -> dict[str, frozenset[str]]:
    """The ids of the concepts that have each of these forms as a name."""
    ids: dict[str, set[str]] = {}
    for name, row in zip(dictionary.names, dictionary.name_concept.tolist(), strict=True):
        if (form := _form(name)) in forms:
            ids.setdefault(form, set()).add(dictionary.ids[row])
    return {form: frozenset(concepts) for form, concepts in ids.items()}

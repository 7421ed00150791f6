"""What becomes of decisions in another release of the dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from linker.decisions.records import checked, concepts_of, form_of, parts_of, renamed
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.types import Decision

State = Literal["current", "merged", "ambiguous", "obsolete", "unknown"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A decision, and what the dictionary says of it."""

    decision: Decision
    state: State
    now: tuple[str, ...] = ()  # ids that replace those of the decision, or that contradict it


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

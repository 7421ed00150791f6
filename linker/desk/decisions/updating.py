"""What a new release of a dictionary does to the decisions of people, and what may replace them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linker.desk.decisions.exchange import add_new
from linker.desk.decisions.store import DecisionStore, Step, identified, releases
from linker.dictionary import Dictionary
from linker.ids import escaped
from linker.linking.decisions import (
    Place,
    Ruling,
    concepts_of,
    denied_places,
    fate,
    followed,
    form_of,
    in_force,
    number_of,
    parts_of,
    place_of,
    ruled,
    standing,
)
from linker.records import Decision
from linker.text.find import is_short_form
from linker.text.normalize import person

KINDS = {
    "open": "a rejected id is now that of another concept, or the other way round; there is no "
    "answer until somebody decides",
    "merged": "the id is now another concept's; linking follows it",
    "moved": "the mention has become a name of another concept",
    "exact now": "a broader, narrower or related concept was chosen, and the mention became a name",
    "ambiguous": "the id, or the mention as a new name, stands for several concepts",
    "obsolete": "nothing replaces the id",
    "unknown": "the release does not have the id",
}
ACCEPTABLE = ("moved", "exact now")
"""The kinds that need a decision, and have one answer."""
_MERGED = "a rejected id was merged with another"
BY_NUMBER = (*ACCEPTABLE, "open")
"""Also the kind that nobody accepts without a look at it."""


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that a release changes."""

    decision: Decision
    kind: str  # of `KINDS`
    now: tuple[str, ...]  # the ids that stand for the decision, or for its mention, now
    # the reviewers of the decisions on the mention that change alike, or, where it is open, that
    # reject what it would be now; one decision takes the place of theirs
    reviewers: tuple[str, ...] = ()
    one_by_one: str = ""  # why it is not accepted with others of its kind; empty: it may be


def changes(decisions: Iterable[Decision], names: Names, old_names: Names) -> list[Change]:
    """What a release changes of the decisions that count, in order of entry.

    What a mention was a name of already, when a person decided otherwise, is no change.

    Args:
        decisions: those that were not withdrawn, in order of entry.
        names: of the release.
        old_names: of the dictionary that people decided with.
    """
    decisions = list(decisions)
    open_now = OpenMentions(decisions, names.dictionary, old_names.dictionary)
    found = []
    for place in in_force(decisions).values():
        of_place = [*_changes(standing(place), names, old_names)]
        accepted = sum(decision.accepted for decision in standing(place))
        for change in of_place:
            if change.kind == "merged" and open_now.has(change.decision):
                found.append(open_now.change(change))
                continue
            alike = [c for c in of_place if (c.kind, c.now) == (change.kind, change.now)]
            reviewers = tuple(dict.fromkeys(c.decision.reviewer for c in alike))
            reason = ""
            if change.kind in ACCEPTABLE:
                reason = _one_by_one(change, names, is_disputed=len(alike) != accepted)
            found.append(replace(change, reviewers=reviewers, one_by_one=reason))
    return sorted(found, key=lambda change: number_of(change.decision))


def _one_by_one(change: Change, names: Names, *, is_disputed: bool) -> str:
    """Why a change is not accepted with others of its kind, without a look at it; empty: it may be.

    Args:
        change: of a kind of `ACCEPTABLE`.
        names: of the release.
        is_disputed: whether something else was accepted for the mention.
    """
    mention = change.decision.mention
    if is_disputed:
        return "reviewers disagree"
    if change.decision.scope:
        return "it holds in one document"
    if is_short_form(mention) or names.has_short_form(mention):
        return "the mention is a short form"
    if len(names.concepts(mention)) > 1:
        return "the mention is a name of several concepts"
    return ""


def _changes(of_place: Sequence[Decision], names: Names, old_names: Names) -> Iterator[Change]:
    """The changes of the decisions on a mention."""
    dictionary = names.dictionary
    rejected = {i for d in of_place if not d.accepted for i in concepts_of(d)}
    for decision in of_place:
        kind, now = fate(decision, dictionary)
        named = names.concepts(decision.mention)
        others = tuple[str, ...]()
        if decision.accepted and len(parts_of(decision)) == 1 and kind in ("current", "merged"):
            known = names.current(old_names.concepts(decision.mention) | rejected)
            others = tuple(sorted(named - known))
        is_new = others and named.isdisjoint(now)
        if is_new and decision.release != releases(dictionary):
            kind_of_one = "exact now" if decision.predicate else "moved"
            yield Change(decision, kind_of_one if len(others) == 1 else "ambiguous", others)
        elif kind != "current":
            yield Change(decision, kind, now)


class OpenMentions:
    """The mentions without an answer since a rejected concept and another became one.

    Args:
        decisions: those that were not withdrawn, in order of entry.
        dictionary: the release.
        before: the dictionary that people decided with.
    """

    def __init__(
        self, decisions: Sequence[Decision], dictionary: Dictionary, before: Dictionary
    ) -> None:
        self._dictionary = dictionary
        self._before = before
        self._now = in_force(decisions, dictionary)
        self._then = in_force(decisions, before)

    def has(self, decision: Decision) -> bool:
        """Whether the mention of a decision is one of them, by what became of its ids."""
        now = followed(decision, self._dictionary)
        if now is None or not any(map(self._is_another, concepts_of(decision), concepts_of(now))):
            return False
        ruling = self._ruling(self._now, decision)
        is_open = not ruling.parts or None in ruling.parts
        return is_open and not self._ruling(self._then, decision).is_disputed

    def _ruling(self, places: Mapping[Place, Sequence[Decision]], decision: Decision) -> Ruling:
        """What decisions say of the mention of one, where this holds."""
        where = [place_of(decision.mention, scope) for scope in (decision.scope, "")]
        return ruled(places.get(place, ()) for place in dict.fromkeys(where))

    def _is_another(self, said: str, now: str) -> bool:
        """Whether an id stands for another concept now, and has not merely another name."""
        there = self._before.resolve(now)
        is_known = bool(self._before.rows(now))
        return said != now and is_known and there.isdisjoint(self._before.resolve(said))

    def change(self, change: Change) -> Change:
        """The change of a decision on such a mention, which somebody has to look at."""
        wanted = _taken_over(change.decision, self._dictionary)
        of_place = self._now.get(place_of(wanted.mention, wanted.scope), ())
        denying = [d for d in of_place if not d.accepted and denied_places(wanted, d)]
        reviewers = tuple(dict.fromkeys(d.reviewer for d in denying))
        return replace(change, kind="open", reviewers=reviewers, one_by_one=_MERGED)


def _taken_over(decision: Decision, dictionary: Dictionary) -> Decision:
    """The decision by which is accepted what another one, perhaps a rejection, is on now."""
    now = followed(decision, dictionary) or decision
    return Decision(now.mention, now.concept_id, scope=now.scope, predicate=now.predicate)


class Names:
    """The names of a dictionary, by their forms; of a large one they take seconds to make.

    Args:
        dictionary: has the names.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._concepts = defaultdict[str, set[str]](set)
        self._short_forms = set[str]()
        for name, row in zip(dictionary.names, dictionary.name_concept.tolist(), strict=True):
            form = form_of(name)
            self._concepts[form].add(dictionary.ids[row])
            if is_short_form(name):
                self._short_forms.add(form)

    def concepts(self, mention: str) -> set[str]:
        """The ids of the concepts that have a mention as a name."""
        return self._concepts.get(form_of(mention), set())

    def has_short_form(self, mention: str) -> bool:
        """Whether a mention is a name that is written like a short form."""
        return form_of(mention) in self._short_forms

    def current(self, ids: Iterable[str]) -> set[str]:
        """The ids that ids of before have now, so that one that was merged is no new concept."""
        return set().union(*map(self.dictionary.resolve, ids))


def counted(decisions: Iterable[Decision], found: Sequence[Change]) -> Counter[str]:
    """How many of the decisions that count are of each kind; those of no change are "current"."""
    counts = Counter(change.kind for change in found)
    counts["current"] = sum(len(standing(of)) for of in in_force(decisions).values()) - len(found)
    return counts


def accepted(change: Change, dictionary: Dictionary, reviewer: str, *, bulk: bool) -> Decision:
    """The decision that takes the place of those that change alike, which it settles.

    Args:
        change: of a kind of `BY_NUMBER`.
        dictionary: the release.
        reviewer: who accepts.
        bulk: whether it is accepted with others of its kind, so that nobody looked at it.
    """
    old = change.decision
    if change.kind == "open":
        new = _taken_over(old, dictionary)
    else:
        new = Decision(old.mention, escaped(change.now[0]), scope=old.scope)
    settles = tuple(name for name in change.reviewers if person(name) != person(reviewer))
    release = releases(dictionary)
    new = replace(new, reviewer=reviewer, release=release, bulk=bulk, settles=settles)
    return identified(new, dictionary)


def take(
    store: DecisionStore, new: Iterable[Decision], step: Step | None = None
) -> Sequence[Decision]:
    """Store decisions of `accepted`, but for those that somebody took meanwhile, and return them.

    Args:
        store: the file.
        new: the decisions.
        step: see `DecisionStore.add`.
    """
    with store.transaction() as connection:
        return add_new(store, connection, new, step, again=True).added


def chosen(found: Sequence[Change], wanted: Iterable[str]) -> list[tuple[Change, bool]]:
    """The changes of some kinds, or of decisions by their numbers, and whether it is by a kind.

    By its kind none is chosen that is to be accepted one by one; see `Change`. Of those that change
    alike, the first one stands for all.

    Raises:
        ValueError: a word is neither a kind that can be accepted nor the number of such a change.
    """
    result: dict[tuple[object, ...], tuple[Change, bool]] = {}
    of_number = {str(c.decision.id): c for c in found if c.kind in BY_NUMBER}
    for word in wanted:
        if word not in ACCEPTABLE and word not in of_number:
            raise ValueError(word)
        by_kind = [c for c in found if c.kind == word and not c.one_by_one]
        for change in [of_number[word]] if word in of_number else by_kind:
            key = form_of(change.decision.mention), change.decision.scope, change.now
            if word in of_number or key not in result:
                result[key] = change, word not in of_number
    return list(result.values())

"""Where a model is right and wrong: on seen and unseen mentions and concepts, by kind of error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from linker import matching
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.evaluation.protocols import Outcome
from linker.ids import counted, namespace
from linker.linking.linker import Linker
from linker.metrics import share_interval
from linker.types import Gold, Mention

ERRORS = {
    "no_candidate": "nothing was returned",
    "concept_not_in_dictionary": "no annotated id is in the dictionary",
    "concept_not_expected": "the mention has no concept, but one was returned",
    "wrong_split": "the mention was split into another number of parts than it has ids",
    "incomplete": "right concepts first, but not all that are annotated",
    "same_name": "the matched name is also a name of the right concept",
    "hypernym": "an ancestor of the right concept",
    "hyponym": "a descendant of the right concept",
    "sibling": "shares a parent with the right concept",
    "unrelated": "none of these",
}


def groups(linker: Linker, outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Group outcomes by whether training had seen them.

    A mention is seen if its normal form was a training mention; its concepts are seen if all of
    them were annotated there. Each outcome is in one group by mention and in one by concept.
    """
    seen, resolve = linker.seen, linker.dictionary.resolve

    def seen_mention(outcome: Outcome) -> bool:
        return linker.normalize(outcome.mention.text) in seen.mentions

    def seen_concept(outcome: Outcome) -> bool:
        return bool(outcome.gold) and all(
            not resolve(i).isdisjoint(seen.concepts) for group in outcome.gold for i in group.ids
        )

    tests: dict[str, Callable[[Outcome], bool]] = {"mention": seen_mention, "concept": seen_concept}
    return {
        f"{sign}_{kind}": [o for o in outcomes if test(o) == (sign == "seen")]
        for kind, test in tests.items()
        for sign in ("seen", "unseen")
    }


def unknown(linker: Linker, mentions: Iterable[Mention]) -> str:
    """Describe the annotated ids that a linker can never answer with, and types with no others.

    Returns:
        A sentence; empty if it can answer with all ids.

    Raises:
        LinkerError: it can answer with none of them.
    """
    linkable, dictionary = set(linker.linkable.tolist()), linker.dictionary
    ids: dict[str, bool] = {}  # whether it is one of the linker's
    types: dict[str, bool] = {}  # whether one of its ids is
    for mention in mentions:
        for identifier in (i for group in mention.gold or () for i in group.ids):
            known = ids.setdefault(identifier, not linkable.isdisjoint(dictionary.rows(identifier)))
            types[mention.type] = types.get(mention.type, False) or known
    missing = [identifier for identifier, known in ids.items() if not known]
    known_prefixes = counted(namespace(dictionary.ids[row]) for row in linkable)
    prefixes = f"{counted(map(namespace, missing))}; it has {known_prefixes}"
    if missing and len(missing) == len(ids):
        raise LinkerError(
            f"the model has none of the {len(ids):,} annotated ids ({prefixes}); "
            "name a model that has them, or other --namespaces"
        )
    if not missing:
        return ""
    foreign = [name for name, known in types.items() if name and not known]
    hint = f", and none of type {', '.join(foreign)}: choose others with --type" if foreign else ""
    count = f"{len(missing):,} of the {len(ids):,} annotated ids"
    return f"the model does not have {count} ({prefixes}){hint}"


def error(outcome: Outcome, dictionary: Dictionary, normalize: Callable[[str], str]) -> str:
    """The kind of error of a mention whose first candidates are wrong: a key of `ERRORS`."""
    candidates = [part for part in outcome.parts if part]
    if not candidates:
        return "no_candidate"
    if not outcome.gold:
        return "concept_not_expected"
    right = matching.accepted(outcome.gold, dictionary.resolve)
    rows = {row for i in right for row in dictionary.rows(i)}
    if not rows:
        return "concept_not_in_dictionary"
    if not _is_split_right(outcome) and any(best.concept_id in right for best in candidates):
        return "wrong_split"
    wrong = next((best for best in candidates if best.concept_id not in right), None)
    if wrong is None:
        return "incomplete"
    names = {normalize(dictionary.names[int(n)]) for row in rows for n in dictionary.name_rows(row)}
    if normalize(wrong.matched_name) in names:
        return "same_name"
    return next(
        (
            relation
            for row in dictionary.rows(wrong.concept_id)
            if (relation := _relation(row, rows, dictionary))
        ),
        "unrelated",
    )


def _numbers_of_parts(gold: Gold) -> set[int]:
    """How many parts a mention may be read as: the ids of A+B may be in one part or in two."""
    return {max(1, len(gold)), max(1, sum(len(group.ids) for group in gold))}


def composites(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Count how composite mentions, annotated as A|B, and single ones were split.

    Returns:
        The numbers of composite mentions; of those `split_right`, into as many parts as they have
        ids; `answered_right`; `left_whole`; `split_otherwise`; and the numbers of single mentions,
        and of those that were split.
    """
    composite = [outcome for outcome in outcomes if len(outcome.gold) > 1]
    single = [outcome for outcome in outcomes if len(outcome.gold) <= 1]
    return {
        "composites": len(composite),
        "split_right": sum(map(_is_split_right, composite)),
        "answered_right": sum(outcome.rank == 1 for outcome in composite),
        "left_whole": sum(len(outcome.parts) < 2 for outcome in composite),
        "split_otherwise": sum(map(_is_split_wrong, composite)),
        "singles": len(single),
        "singles_split": sum(map(_is_split_wrong, single)),
    }


def _is_split_right(outcome: Outcome) -> bool:
    return len(outcome.parts) in _numbers_of_parts(outcome.gold)


def _is_split_wrong(outcome: Outcome) -> bool:
    return len(outcome.parts) > 1 and not _is_split_right(outcome)


def branches(dictionary: Dictionary, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Acc@1 by branch of the hierarchy: by child of the root, or by root if there are several.

    A mention counts in every branch that holds an annotated concept of it, so that the numbers of
    the branches may add up to more than there are mentions.

    Returns:
        Id, name, number of mentions, Acc@1 and its 95% interval (Wilson) of each branch that has a
        mention, the one with most mentions first.
    """
    hierarchy = dictionary.hierarchy
    tops = hierarchy.roots
    if len(tops) == 1:
        (tops,) = hierarchy.children(tops)
    members = hierarchy.under(tops.tolist())
    hits: dict[int, list[bool]] = {}
    for outcome in outcomes:
        ids = matching.accepted(outcome.gold, dictionary.resolve)
        rows = [row for identifier in ids for row in dictionary.rows(identifier)]
        for branch in set(members[rows].indices.tolist()):
            hits.setdefault(branch, []).append(outcome.rank == 1)
    figures = [
        {
            "id": dictionary.ids[branch],
            "name": dictionary.preferred_name(branch),
            "n": len(right),
            "acc": round(sum(right) / len(right), 5),
            "acc_interval": [round(end, 5) for end in share_interval(sum(right), len(right))],
        }
        for branch, right in hits.items()
    ]
    return sorted(figures, key=lambda figure: (-figure["n"], figure["id"]))


def _relation(row: int, right: set[int], dictionary: Dictionary) -> str:
    """How a concept is related to the right ones in the hierarchy; empty if it is not."""
    hierarchy, rows = dictionary.hierarchy, sorted(right)
    if any(row in ancestors for ancestors in hierarchy.ancestors(rows)):
        return "hypernym"
    if not right.isdisjoint(hierarchy.ancestors([row])[0].tolist()):
        return "hyponym"
    parents = set(hierarchy.parents([row])[0].tolist())
    shares = any(not parents.isdisjoint(of_one.tolist()) for of_one in hierarchy.parents(rows))
    return "sibling" if shares else ""

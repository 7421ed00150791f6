"""Where a model is right and wrong: on seen and unseen mentions and concepts, by kind of error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from linker import matching
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.evaluation.protocols import Outcome
from linker.ids import counted, namespace
from linker.linker import Linker
from linker.types import Mention

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
    # the ids of A+B may be in one part or in two
    sizes = {len(outcome.gold), sum(len(group.ids) for group in outcome.gold)}
    if len(outcome.parts) not in sizes and any(best.concept_id in right for best in candidates):
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

"""Where a model is right and wrong: seen and unseen mentions and concepts apart, and errors by what went wrong."""

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
    """Part the outcomes by whether the normalised mention, and all its concepts, were in the training mentions."""
    seen, resolve = linker.seen, linker.dictionary.resolve

    def seen_mention(outcome: Outcome) -> bool:
        return linker.normalize(outcome.mention.text) in seen.mentions

    def seen_concept(outcome: Outcome) -> bool:
        return bool(outcome.gold) and all(
            not resolve(i).isdisjoint(seen.concepts) for group in outcome.gold for i in group.ids
        )

    tests: dict[str, Callable[[Outcome], bool]] = {"mention": seen_mention, "concept": seen_concept}
    return {
        f"{sign}_{what}": [o for o in outcomes if test(o) == (sign == "seen")]
        for what, test in tests.items()
        for sign in ("seen", "unseen")
    }


def unknown(linker: Linker, mentions: Iterable[Mention]) -> str:
    """Tell how many annotated ids a linker can never answer with, and which types of mentions have no others; empty where there are none.

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
    prefixes = f"{counted(map(namespace, missing))}; it has {counted(namespace(dictionary.ids[row]) for row in linkable)}"
    if missing and len(missing) == len(ids):
        raise LinkerError(
            f"the model has none of the {len(ids):,} annotated ids ({prefixes}); name a model that has them, or other --namespaces"
        )
    foreign = [name for name, known in types.items() if name and not known]
    hint = f", and none of type {', '.join(foreign)}: choose others with --type" if foreign else ""
    return (
        f"the model does not have {len(missing):,} of the {len(ids):,} annotated ids ({prefixes}){hint}"
        if missing
        else ""
    )


def error(outcome: Outcome, dictionary: Dictionary, normalize: Callable[[str], str]) -> str:
    """What went wrong with a mention whose first candidates are wrong: a key of `ERRORS`."""
    found = [part for part in outcome.parts if part]
    if not found:
        return "no_candidate"
    if not outcome.gold:
        return "concept_not_expected"
    right = matching.accepted(outcome.gold, dictionary.resolve)
    rows = {row for i in right for row in dictionary.rows(i)}
    if not rows:
        return "concept_not_in_dictionary"
    sizes = {
        len(outcome.gold),
        sum(len(group.ids) for group in outcome.gold),
    }  # the ids of A+B may stand in one part or apart
    if len(outcome.parts) not in sizes and any(part.concept_id in right for part in found):
        return "wrong_split"
    wrong = next((part for part in found if part.concept_id not in right), None)
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
    """How a concept stands to the right ones in the hierarchy; empty where it does not."""
    hierarchy = dictionary.hierarchy
    above, parents = (
        set(hierarchy.ancestors([row])[0].tolist()),
        set(hierarchy.parents([row])[0].tolist()),
    )
    above_right = {
        a for ancestors in hierarchy.ancestors(sorted(right)) for a in ancestors.tolist()
    }
    if row in above_right:
        return "hypernym"
    if right & above:
        return "hyponym"
    return (
        "sibling"
        if any(parents & set(p.tolist()) for p in hierarchy.parents(sorted(right)))
        else ""
    )

"""The one rule for whether a candidate is right for a mention.

Training, evaluation and benchmarks use it. A candidate is right where its id is an annotated one,
or one of the current ids that an annotated one stands for, which the caller's `resolve` gives for
alternative and obsolete ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

from scipy.sparse import csr_matrix

from linker.records import Gold, GoldGroup

Resolve = Callable[[str], frozenset[str]]  # the current ids that an id stands for
SYNONYM, HYPERNYM = 2, 1  # relevance of a name; 0 for neither


def accepted(gold: Gold, resolve: Resolve) -> frozenset[str]:
    """All concept ids that the annotated ids of a mention stand for."""
    return frozenset().union(*(_meanings(i, resolve) for group in gold for i in group.ids))


def _meanings(identifier: str, resolve: Resolve) -> frozenset[str]:
    return resolve(identifier) | {identifier}


Above = Callable[[str], Mapping[str, int]]
"""Tells the ids above a concept, with the steps up to each; none for an unknown id."""


def relevances(
    readings: Sequence[Sequence[Sequence[str]]], gold: Gold, resolve: Resolve, above: Above
) -> list[list[list[int]]]:
    """The relevance of each concept that is listed for a mention, in lists like those given.

    It is 2 where the id is right for its part (see `right_ids`). Where no reading is right in all
    its parts, the nearest listed concepts above a right one have 1, among readings of one part: the
    mention means something below them. All others have 0.

    Args:
        readings: for each reading of the mention, for each of its parts, the ranked concept ids.
        gold: the annotated groups.
        resolve: the current ids that an annotated id stands for.
        above: the concepts above one.
    """
    right = [right_ids(parts, gold, resolve) for parts in readings]
    result = []
    is_listed = False
    for parts, wanted in zip(readings, right, strict=True):
        of_parts = []
        for ids, accepted_ids in zip(parts, wanted, strict=True):
            of_parts.append([SYNONYM if i in accepted_ids else 0 for i in ids])
        is_listed = is_listed or all(map(any, of_parts))
        result.append(of_parts)
    if is_listed:
        return result
    steps: dict[str, int] = {}
    for parts, wanted in zip(readings, right, strict=True):
        if len(parts) == 1:
            for identifier in wanted[0]:
                for ancestor, count in above(identifier).items():
                    steps[ancestor] = min(count, steps.get(ancestor, count))
    single = [place for place, parts in enumerate(readings) if len(parts) == 1]
    listed: list[int] = []
    for place in single:
        listed += [steps[i] for i in readings[place][0] if i in steps]
    if not listed:
        return result
    nearest = min(listed)
    for place in single:
        ids = readings[place][0]
        result[place] = [[HYPERNYM if steps.get(i) == nearest else 0 for i in ids]]
    return result


def relevance(
    ids: Collection[str], right: AbstractSet[str], hypernyms: AbstractSet[str] = frozenset()
) -> int:
    """The relevance of a name for a mention (BCNH, section 2.2).

    Args:
        ids: the ids of the name's concepts.
        right: the ids that are right (see `accepted`).
        hypernyms: the ids of the concepts above them.

    Returns:
        2 where any of the ids is right, else 1 where any is a hypernym, else 0.
    """
    if not right.isdisjoint(ids):
        return SYNONYM
    return 0 if hypernyms.isdisjoint(ids) else HYPERNYM


def biosyn_rank(
    parts: Sequence[Sequence[Collection[str]]], gold: Gold, resolve: Resolve
) -> int | None:
    """The minimum k at which a mention is right by the rule of BioSyn.

    The mention is right at k where each part has, among its first k names, one with a right id.

    Args:
        parts: for each part its ranked names, each as the ids of the name's concepts.
        gold: the annotated ids; any of them counts for any part.
        resolve: the current ids that an annotated id stands for.

    Returns:
        The rank from 1, or None where a part has no right name.
    """
    right = accepted(gold, resolve)
    ranks = [
        next((rank for rank, ids in enumerate(names, 1) if relevance(ids, right) == SYNONYM), 0)
        for names in parts
    ]
    return max(ranks) if ranks and all(ranks) else None


def strict_rank(parts: Sequence[Sequence[str]], gold: Gold, resolve: Resolve) -> int | None:
    """The minimum k at which a mention is right as a user sees it (protocol `strict`).

    A composite mention (several groups) needs as many parts as groups, each group matched with a
    part of its own that has it among its first k concepts. An `all_of` group needs all its ids
    among the first k of one part, or each among those of a part of its own. A mention without a
    concept is right, at 1, only when nothing is returned.

    Args:
        parts: for each part the ranked concept ids.
        gold: the annotated groups.
        resolve: the current ids that an annotated id stands for.

    Returns:
        The rank from 1, or None where the mention is wrong at any k.
    """
    if not gold:
        return None if any(parts) else 1
    if len(gold) > 1:
        return _one_to_one(
            [[_group_rank(part, group, resolve) for group in gold] for part in parts]
        )
    group = gold[0]
    if group.operator == "one_of":
        return (_group_rank(parts[0], group, resolve) or None) if len(parts) == 1 else None
    together = [rank for part in parts if (rank := _group_rank(part, group, resolve))]
    apart = _one_to_one(
        [[_first(part, _meanings(i, resolve)) for i in group.ids] for part in parts]
    )
    return min([*together, *([apart] if apart else [])], default=None)


def right_ids(parts: Sequence[Sequence[str]], gold: Gold, resolve: Resolve) -> list[frozenset[str]]:
    """For each part of a reading the ids that are right for it, first, by the protocol `strict`.

    A mention is right at 1, as `strict_rank` says, where the first concept of each part is one.
    Groups go to parts so that the right concepts stand as near to the top as they can.

    Args:
        parts: for each part the ranked concept ids.
        gold: the annotated groups.
        resolve: the current ids that an annotated id stands for.

    Returns:
        Empty sets where parts and groups do not fit together.
    """
    groups = [frozenset().union(*(_meanings(i, resolve) for i in group.ids)) for group in gold]
    if len(gold) == 1 and gold[0].operator == "all_of":
        groups = [_meanings(i, resolve) for i in gold[0].ids]
    elif any(group.operator == "all_of" and len(group.ids) > 1 for group in gold):
        groups = []
    if len(groups) != len(parts):
        return [frozenset()] * len(parts)
    if len(groups) == 1:
        return groups
    from scipy.optimize import linear_sum_assignment

    ranks = [[_first(part, group) or 2 * len(part) + 1 for group in groups] for part in parts]
    return [groups[place] for place in linear_sum_assignment(ranks)[1].tolist()]


def _group_rank(part: Sequence[str], group: GoldGroup, resolve: Resolve) -> int:
    """The minimum k at which a part's first k concepts satisfy a group; 0 for never."""
    ranks = [_first(part, _meanings(i, resolve)) for i in group.ids]
    if group.operator == "all_of":
        return max(ranks) if all(ranks) else 0
    return min(filter(None, ranks), default=0)


def _first(part: Sequence[str], ids: frozenset[str]) -> int:
    """The rank of the first concept that is in `ids`; 0 where there is none."""
    return next((rank for rank, concept in enumerate(part, 1) if concept in ids), 0)


def _one_to_one(ranks: Sequence[Sequence[int]]) -> int | None:
    """The minimum k at which parts and groups can be matched one to one.

    Args:
        ranks: for each part the rank at which it satisfies each group; 0 for never.

    Returns:
        None where there are not as many parts as groups, or no k is enough.
    """
    from scipy.sparse.csgraph import maximum_bipartite_matching  # slow to import

    if any(len(row) != len(ranks) for row in ranks):
        return None
    for k in sorted({rank for row in ranks for rank in row if rank}):
        cells = csr_matrix([[0 < rank <= k for rank in row] for row in ranks])
        if (maximum_bipartite_matching(cells) >= 0).all():
            return k
    return None

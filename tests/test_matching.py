"""Every rule of "is this candidate right for this mention?"; gold ids are single letters here."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.matching import (
    accepted,
    biosyn_rank,
    relevance,
    relevances,
    right_ids,
    strict_rank,
)
from linker.records import Gold, GoldGroup

# x is now a; y stands on b and on c
OLD = {"x": frozenset("a"), "y": frozenset("bc"), "gone": frozenset()}


def resolve(identifier: str) -> frozenset[str]:
    return OLD.get(identifier, frozenset((identifier,)))


def gold(text: str) -> Gold:
    """Read `a|b+c/d`: `|` parts groups, `+` ids that are all needed, `/` ids of which one is."""
    groups = [(part, "+" if "+" in part else "/") for part in text.split("|") if part]
    return tuple(
        GoldGroup(tuple(part.split(sign)), "all_of" if sign == "+" else "one_of")
        for part, sign in groups
    )


def strict(parts: str, right: str) -> int | None:
    """The rank of `bac,d`: concepts of each part, parts between commas; no part in "" at all."""
    return strict_rank(
        [list(part) for part in parts.split(",")] if parts else [], gold(right), resolve
    )


def test_accepted_are_the_ids_themselves_and_all_concepts_that_they_stand_for() -> None:
    assert accepted(gold("x|y+d"), resolve) == set("abcdxy")
    assert accepted((), resolve) == set()


@pytest.mark.parametrize(
    ("ids", "right", "hypernyms", "expected"),
    [
        ("a", "a", "", 2),
        ("za", "ab", "", 2),  # one of its concepts is one of the right ones
        ("h", "a", "h", 1),
        ("zh", "a", "gh", 1),
        ("ha", "a", "h", 2),  # right and a hypernym: right
        ("z", "a", "h", 0),
        ("", "a", "h", 0),
        ("a", "", "", 0),
    ],
)
def test_relevance_of_a_name(ids: str, right: str, hypernyms: str, expected: int) -> None:
    assert relevance(tuple(ids), frozenset(right), frozenset(hypernyms)) == expected


@pytest.mark.parametrize(
    ("parts", "right", "rank"),
    [
        ("abc", "a", 1),
        ("abc", "c", 3),
        ("abc", "d", None),
        ("", "a", None),
        (",", "a", None),  # two parts that returned nothing
        ("a,a", "a", None),  # split, though it is one concept
        ("bca", "c/a", 2),  # any of several ids
        ("bca", "d/a", 3),
        ("ba", "x", 2),  # an alternative id
        ("zcb", "y", 2),  # an alternative id that stands on several concepts: any of them
        ("abc", "gone", None),
    ],
)
def test_strict_one_concept(parts: str, right: str, rank: int | None) -> None:
    assert strict(parts, right) == rank


@pytest.mark.parametrize(("parts", "rank"), [("", 1), (",", 1), ("a", None), (",a", None)])
def test_strict_no_concept_is_right_only_when_nothing_is_returned(
    parts: str, rank: int | None
) -> None:
    assert strict(parts, "") == rank


@pytest.mark.parametrize(
    ("parts", "right", "rank"),
    [
        ("a,b", "a|b", 1),
        ("b,a", "a|b", 1),  # in any order
        ("ca,b", "a|b", 2),
        ("ab", "a|b", None),  # not split
        ("ab,", "a|b", None),
        ("a,b,c", "a|b", None),  # split too often
        ("a,a", "a|b", None),  # one part hits twice, the other id is missed
        ("ab,ac", "a|b", 2),  # the first part must take b, since only it has b
        ("ab,ba", "a|b", 1),
        ("ab,ab", "a|b", 2),
        ("ab,ab", "a|a", 1),  # two parts of one concept
        ("abc,cab,bca", "a|b|c", 1),
        ("abd,abd,abd", "a|b|d", 3),
        ("a,c", "x|y", 1),  # alternative ids
        ("c,b", "y|y", 1),
        ("ad,bc", "a+d|b", 2),  # a part of a composite may need two ids itself
        ("da,zb", "b/c|a/d", 2),
    ],
)
def test_strict_composites_need_a_one_to_one_matching(
    parts: str, right: str, rank: int | None
) -> None:
    assert strict(parts, right) == rank


@pytest.mark.parametrize(
    ("parts", "right", "rank"),
    [
        ("ab", "a+b", 2),  # together in one part
        ("zba", "a+b", 3),
        ("za", "a+b", None),
        ("b,a", "a+b", 1),  # or one-to-one
        ("zb,a", "a+b", 2),
        ("azb,b", "a+b", 1),  # the least of both ways counts: together 3, apart 1
        ("ab,zzb", "a+b", 2),  # together 2, apart 3
        ("ab,b", "a+b", 1),
        ("a,zzb", "a+b", 3),
        ("a,a", "a+b", None),
        ("a,b,c", "a+b", None),  # one part too many to go one-to-one
        ("abz,z,z", "a+b", 2),  # but one part may hold both
        ("c", "y+c", 1),  # both ids are met by one concept
        ("", "a+b", None),
    ],
)
def test_strict_aggregates(parts: str, right: str, rank: int | None) -> None:
    assert strict(parts, right) == rank


RANKED = st.lists(st.permutations("abcde").map(lambda p: "".join(p[:3])), min_size=1, max_size=4)


def right_at(parts: list[str], groups: Gold, k: int) -> bool:
    """The composite rule of `strict` by trying all orders."""
    if len(parts) != len(groups):
        return False

    def fits(part: str, group: GoldGroup) -> bool:
        satisfied = [bool(resolve(i) & set(part[:k])) for i in group.ids]
        return all(satisfied) if group.operator == "all_of" else any(satisfied)

    return any(all(map(fits, parts, order)) for order in itertools.permutations(groups))


@given(
    RANKED,
    st.lists(
        st.sampled_from(["a", "b", "c", "x", "y", "a+b", "d/e", "gone"]), min_size=2, max_size=4
    ),
)
@settings(max_examples=80)
def test_strict_composites_the_slow_way(parts: list[str], groups: list[str]) -> None:
    right = gold("|".join(groups))
    expected = next((k for k in (1, 2, 3) if right_at(parts, right, k)), None)
    assert strict(",".join(parts), "|".join(groups)) == expected


@given(RANKED, st.lists(st.sampled_from("abcxy"), min_size=2, max_size=3, unique=True))
@settings(max_examples=80)
def test_strict_aggregates_the_slow_way(parts: list[str], ids: list[str]) -> None:
    whole, single = gold("+".join(ids)), gold("|".join(ids))

    def is_right(k: int) -> bool:
        return any(right_at([part], whole, k) for part in parts) or right_at(parts, single, k)

    expected = next(filter(is_right, (1, 2, 3)), None)
    assert strict(",".join(parts), "+".join(ids)) == expected


@pytest.mark.parametrize(
    ("parts", "right", "rank"),
    [
        ([["a", "b"]], "a", 1),
        ([["b", "za"]], "a", 2),  # a name of several concepts counts by any of them
        ([["b", "c"]], "a", None),
        ([["b"]], "a|b", 1),  # any id of a composite counts for any part
        ([["a"], ["a"]], "a|b", 1),
        ([["a"], ["z", "b"]], "a|b", 2),  # all parts must hit
        ([["a"], ["z"]], "a|b", None),
        ([["a"], []], "a|b", None),
        ([["b"]], "a+b", 1),
        ([["z", "c"]], "y", 2),
        ([["a"]], "x", 1),
        ([], "a", None),
        ([["a"]], "", None),
    ],
)
def test_biosyn(parts: list[list[str]], right: str, rank: int | None) -> None:
    assert biosyn_rank([[set(ids) for ids in part] for part in parts], gold(right), resolve) == rank


def right(parts: str, groups: str) -> list[str]:
    """The ids that are right for each part, as letters in order."""
    lists = [list(part) for part in parts.split(",")]
    return ["".join(sorted(ids)) for ids in right_ids(lists, gold(groups), resolve)]


@pytest.mark.parametrize(
    ("parts", "groups", "expected"),
    [
        ("abc", "a", ["a"]),
        ("abc", "c/d", ["cd"]),  # any of several ids
        ("abc", "x", ["ax"]),  # an alternative id, and what it stands for
        ("abc", "y", ["bcy"]),
        ("a,b", "a", ["", ""]),  # split, though it is one concept
        ("ab", "a|b", [""]),  # not split
        ("a,b,c", "a|b", ["", "", ""]),
        ("a,b", "a|b", ["a", "b"]),
        ("b,a", "a|b", ["b", "a"]),  # in another order
        ("ab,a", "a|b", ["b", "a"]),  # the second part has no other right one
        ("zab,ba", "a|b", ["a", "b"]),  # 2 and 1, not 3 and 2
        ("z,a", "a|b", ["b", "a"]),  # what is left goes to the part that has none
        ("c,b", "x|y", ["bcy", "ax"]),
        ("c,b", "c/d|a/b", ["cd", "ab"]),
        ("a,b", "a+b", ["a", "b"]),  # all are needed: one of each part
        ("b,a", "a+b", ["b", "a"]),
        ("ab", "a+b", [""]),  # no first concept of one part can be both
        ("a,b", "a+b|c", ["", ""]),
        ("a", "a+a", [""]),
        (",", "a|b", ["a", "b"]),  # nothing was found
    ],
)
def test_right_ids_of_each_part(parts: str, groups: str, expected: list[str]) -> None:
    assert right(parts, groups) == expected


@given(
    RANKED,
    st.lists(st.sampled_from(["a", "b", "c", "x", "y", "a+b", "d/e"]), min_size=1, max_size=4),
)
@settings(max_examples=150)
def test_a_reading_whose_first_concepts_are_right_ids_is_right_at_1(
    parts: list[str], groups: list[str]
) -> None:
    annotated = gold("|".join(groups))
    accepted_ids = right_ids([list(part) for part in parts], annotated, resolve)
    assert len(accepted_ids) == len(parts)
    firsts = [sorted(ids & set("abcde")) for ids in accepted_ids]
    for chosen in itertools.product(*firsts):  # none where a part has no right id
        assert strict_rank([[identifier] for identifier in chosen], annotated, resolve) == 1
    is_first = all(part[0] in ids for part, ids in zip(parts, accepted_ids, strict=True))
    if is_first:
        assert strict(",".join(parts), "|".join(groups)) == 1
    elif not any("+" in group for group in groups):
        assert strict(",".join(parts), "|".join(groups)) != 1


ABOVE = {"a": {"p": 1, "q": 2}, "b": {"q": 1}}
"""The concepts above some."""


@pytest.mark.parametrize(
    ("readings", "groups", "expected"),
    [
        ("pqa", "a", "002"),  # it is listed
        ("pq", "a", "10"),  # the nearest
        ("zq", "a", "01"),
        ("pq", "b", "01"),
        ("pqz", "a/b", "110"),  # each is next to one of the two
        ("zc", "a", "00"),
        ("pq pa", "a", "00 02"),  # another reading has it
        ("pq q", "a", "10 0"),  # nearer in another reading
        ("zq q", "a", "01 1"),
        ("p,q q", "a", "0,0 1"),  # readings of several parts have none
        ("a,z pq", "a|b", "2,0 00"),  # nor have mentions of several concepts
        ("pq", "a+b", "00"),
        ("pq", "", "00"),
    ],
)
def test_relevances_of_what_is_listed(readings: str, groups: str, expected: str) -> None:
    """Readings are parted by blanks, their parts by commas."""
    lists = [[list(part) for part in reading.split(",")] for reading in readings.split()]
    found = relevances(lists, gold(groups), resolve, lambda identifier: ABOVE.get(identifier, {}))
    told = [",".join("".join(map(str, part)) for part in reading) for reading in found]
    assert " ".join(told) == expected

"""A cache keeps the values that were used last, up to a total size."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.linking.cache import SizedCache


def double(key: str) -> str:
    return key * 2


def test_values_are_kept_up_to_a_total_size() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key * 2

    cache = SizedCache[str, str](10, len)
    assert [cache.get(key, make) for key in ("a", "bb", "a", "cc", "a")] == [
        *("aa", "bbbb", "aa", "cccc", "aa")
    ]
    assert made == ["a", "bb", "cc"]  # of sizes 2, 4 and 4
    cache.get("d", make)
    assert [cache.get(key, make) for key in ("a", "d", "cc")] == ["aa", "dd", "cccc"]
    assert made == ["a", "bb", "cc", "d"]
    cache.get("bb", make)
    assert made[-1] == "bb"  # it was asked for the longest ago
    twin = copy.copy(cache)
    assert (twin.get("a", make), made[-1]) == ("aa", "a")


@given(st.lists(st.text("abc", min_size=1, max_size=4), max_size=30), st.integers(8, 20))
def test_a_twin_that_keeps_a_list(keys: list[str], total: int) -> None:
    """The same values are made as by a list of keys, the one that was asked for last at the end."""
    made: list[str] = []
    wanted: list[str] = []
    kept: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key * 2

    cache = SizedCache[str, str](total, len)
    for key in keys:
        assert cache.get(key, make) == key * 2
        if key in kept:
            kept.remove(key)
        else:
            wanted.append(key)
        kept.append(key)
        while sum(2 * len(one) for one in kept) > total:
            kept.pop(0)
    assert made == wanted


def test_what_cannot_be_made_is_not_kept() -> None:
    cache = SizedCache[str, str](10, len)

    def fail(key: str) -> str:
        raise LookupError(key)

    for _ in range(2):
        with pytest.raises(LookupError, match="a"):
            cache.get("a", fail)
    assert cache.get("a", double) == "aa"


def test_a_copy_starts_empty_with_the_same_size() -> None:
    cache = SizedCache[str, str](4, len)
    cache.get("a", double)
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key * 2

    twin: SizedCache[str, str] = pickle.loads(pickle.dumps(cache))
    for key in ("a", "a", "bb", "a"):
        twin.get(key, make)
    assert made == ["a", "bb", "a"]  # the two do not fit into 4 together


def test_a_value_may_be_made_while_another_one_is_asked_for() -> None:
    """Making takes no lock: a thread that is at it keeps nobody from what is there."""
    cache = SizedCache[str, str](10, len)
    cache.get("a", double)
    begun, may_end = threading.Event(), threading.Event()

    def slowly(key: str) -> str:
        begun.set()
        assert may_end.wait(10)
        return key * 2

    thread = threading.Thread(target=cache.get, args=("b", slowly))
    thread.start()
    assert begun.wait(10)
    assert cache.get("a", slowly) == "aa"
    may_end.set()
    thread.join()
    assert cache.get("b", slowly) == "bb"

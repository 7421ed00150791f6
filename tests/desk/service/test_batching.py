"""Batches of what concurrent callers ask for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from linker.desk.service.batching import Batcher
from linker.desk.service.errors import Failure
from linker.errors import check_wanted

Test = Callable[["Slow", Batcher], Coroutine[Any, Any, None]]


def in_loop(budget: int, **limits: Any) -> Callable[[Test], Callable[[], None]]:
    """Gives a test slow work and a batcher, which is closed behind it."""

    async def whole(test: Test) -> None:
        batcher = Batcher(**{"budget": budget, "capacity": 100} | limits)
        await test(Slow(), batcher)
        await batcher.close()

    return lambda test: lambda: asyncio.run(asyncio.wait_for(whole(test), 20))


async def begun(slow: Slow) -> None:
    """Wait until the first call."""
    while not slow.calls:
        await asyncio.sleep(0.001)


class Slow:
    """Doubles numbers; the first call waits until it is told to go on."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.go = threading.Event()

    def double(self, numbers: Sequence[int]) -> list[int]:
        self.calls.append(list(numbers))
        assert self.go.wait(10)
        if -1 in numbers:
            raise ValueError("a negative number")
        return [2 * number for number in numbers]


@in_loop(budget=3)
async def test_what_waits_is_done_together_within_the_budget(slow: Slow, batcher: Batcher) -> None:
    asked = [asyncio.create_task(batcher.call(slow.double, [n], [1])) for n in range(6)]
    await asyncio.sleep(0)  # all of them wait
    slow.go.set()
    assert await asyncio.gather(*asked) == [[0], [2], [4], [6], [8], [10]]
    assert slow.calls == [[0, 1, 2], [3, 4, 5]]
    assert batcher.cost == 0


@in_loop(budget=3)
async def test_a_long_request_is_cut_and_an_item_over_the_budget_is_done_alone(
    slow: Slow, batcher: Batcher
) -> None:
    slow.go.set()
    assert await batcher.call(slow.double, [1, 2, 3, 4], [2, 1, 9, 1]) == [2, 4, 6, 8]
    assert slow.calls == [[1, 2], [3], [4]]
    assert await batcher.call(slow.double, [], []) == []


@in_loop(budget=10, capacity=20)
async def test_a_full_queue_refuses_with_a_time_to_wait(slow: Slow, batcher: Batcher) -> None:
    first = asyncio.create_task(batcher.call(slow.double, [1], [10]))
    await begun(slow)
    second = asyncio.create_task(batcher.call(slow.double, [2], [20]))
    await asyncio.sleep(0)
    assert batcher.is_full
    with pytest.raises(Failure) as busy:
        await batcher.call(slow.double, [3], [1])
    assert 1 <= int((busy.value.headers or {})["Retry-After"]) <= 60
    slow.go.set()
    assert (await first, await second) == ([2], [4])  # what was taken is done
    assert not batcher.is_full


@in_loop(budget=10)
async def test_the_mistake_of_one_is_not_that_of_the_others(slow: Slow, batcher: Batcher) -> None:
    asked = [batcher.call(slow.double, [n], [1]) for n in (1, -1, 3)]
    slow.go.set()
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert (results[0], results[2]) == ([2], [6])
    assert isinstance(results[1], ValueError)
    assert slow.calls == [[1, -1, 3], [1], [-1], [3]]


@in_loop(budget=1)
async def test_what_was_given_up_is_not_done(slow: Slow, batcher: Batcher) -> None:
    asked = [asyncio.create_task(batcher.call(slow.double, [n], [1])) for n in range(3)]
    await begun(slow)
    asked[1].cancel()
    slow.go.set()
    assert (await asked[0], await asked[2]) == ([0], [4])
    assert slow.calls == [[0], [2]]


@in_loop(budget=1000, capacity=10_000)
async def test_functions_are_not_mixed_and_keep_their_order(slow: Slow, batcher: Batcher) -> None:
    other = Slow()
    slow.go.set()
    other.go.set()
    asked = [
        batcher.call(slow.double, [1], [1]),
        batcher.call(other.double, [5], [1]),
        batcher.call(slow.double, [2], [1]),
    ]
    assert await asyncio.gather(*asked) == [[2], [10], [4]]
    assert (slow.calls, other.calls) == ([[1], [2]], [[5]])


@in_loop(budget=2)
async def test_a_long_request_and_short_ones_take_turns(slow: Slow, batcher: Batcher) -> None:
    long = asyncio.create_task(batcher.call(slow.double, [*range(8)], [1] * 8))
    await begun(slow)
    short = [asyncio.create_task(batcher.call(slow.double, [n], [2])) for n in (10, 20, 30)]
    await asyncio.sleep(0)
    slow.go.set()
    await asyncio.gather(long, *short)
    # the short ones came while the first part was linked, and do not wait for the whole
    assert slow.calls == [[0, 1], [10], [20], [30], [2, 3], [4, 5], [6, 7]]


@in_loop(budget=2)
async def test_a_long_request_is_not_held_up_by_short_ones(slow: Slow, batcher: Batcher) -> None:
    long = asyncio.create_task(batcher.call(slow.double, [0, 1, 2], [2, 2, 2]))
    await begun(slow)
    slow.go.set()
    for n in range(10, 20):
        await batcher.call(slow.double, [n], [2])
    assert long.done()


@in_loop(budget=2)
async def test_what_nobody_waits_for_comes_last(slow: Slow, batcher: Batcher) -> None:
    first = asyncio.create_task(batcher.call(slow.double, [0], [2]))
    await begun(slow)
    asked = [
        asyncio.create_task(batcher.call(slow.double, [n], [2], behind=n == 1)) for n in (1, 2)
    ]
    await asyncio.sleep(0)
    slow.go.set()
    await asyncio.gather(first, *asked)
    assert slow.calls == [[0], [2], [1]]


@in_loop(budget=1)
async def test_what_nobody_waits_for_ends_in_its_midst(slow: Slow, batcher: Batcher) -> None:
    entered, ended = threading.Event(), threading.Event()

    def endless(items: Sequence[int]) -> Sequence[int]:
        entered.set()
        try:
            while True:
                check_wanted()
                time.sleep(0.001)
        finally:
            ended.set()

    asked = asyncio.create_task(batcher.call(endless, [1], [1]))
    while not entered.is_set():
        await asyncio.sleep(0.001)
    asked.cancel()
    while not ended.is_set():
        await asyncio.sleep(0.001)
    assert await batcher.call(lambda items: items, [2], [1]) == [2]


@in_loop(budget=1)
async def test_closing_finishes_what_waits(slow: Slow, batcher: Batcher) -> None:
    asked = [asyncio.create_task(batcher.call(slow.double, [n], [1])) for n in range(3)]
    await asyncio.sleep(0)
    slow.go.set()
    await batcher.close()
    assert [task.result() for task in asked if task.done()] or await asyncio.gather(*asked)
    assert slow.calls == [[0], [1], [2]]

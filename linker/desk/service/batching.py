"""Batching: what concurrent requests want is done together, in one thread."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from linker.desk.service.errors import Failure
from linker.errors import call_while_wanted

_PARTS = 32  # of a caller's items that fill a call: others come between them
_AHEAD = 2  # calls that a short request may overtake
_AGAIN = "2"  # seconds after which who is sent away may ask again

_Function = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(slots=True, eq=False)
class _Part:
    """Items of one caller that wait for a function."""

    function: _Function
    items: list[Any]
    cost: int
    future: asyncio.Future[list[Any]]


class Batcher:
    """Calls functions in one worker thread, with the items of many callers together.

    Items that wait for the same function are given to it in one call, up to the budget. Long
    requests are cut into parts, which wait in the order of what was taken before they came and what
    stands before them in their request: others have their turns between them. What nobody waits for
    is done when nothing else is to do. Use it inside one event loop.

    Args:
        budget: the cost of a call, at most, unless a single item costs more.
        capacity: the cost of what may wait.
        seconds: that a call is to take; what it costs is fitted to that, within the budget.
    """

    def __init__(self, budget: int, capacity: int, seconds: float = math.inf) -> None:
        self._budget, self._capacity, self._seconds = budget, capacity, seconds
        self._limit = budget / _PARTS if seconds < math.inf else budget  # of the next call
        self._heap: list[tuple[bool, int, int, _Part]] = []  # whether behind, turn, number
        self._numbers = itertools.count()
        self._taken = 0  # the cost of all that was ever taken
        self._thread = ThreadPoolExecutor(1, "linker")
        self._task: asyncio.Task[None] | None = None

    @property
    def cost(self) -> int:
        """The cost of what waits, and was not given up."""
        return sum(part.cost for *_, part in self._heap if not part.future.done())

    @property
    def is_full(self) -> bool:
        """Whether nothing more may wait."""
        return self.cost >= self._capacity

    async def call(
        self,
        function: _Function,
        items: Sequence[Any],
        costs: Sequence[int],
        *,
        behind: bool = False,
    ) -> list[Any]:
        """Call a function with items, together with those of others.

        Args:
            function: gives a result for each item.
            items: of this caller.
            costs: of each item.
            behind: whether nobody waits for them, so that all others come first.

        Raises:
            Failure: too much waits already.
            Exception: what the function raises for these items alone.
        """
        if (waiting := self.cost) and waiting + sum(costs) > self._capacity:
            raise Failure(429, "the service is busy; try again", headers={"Retry-After": _AGAIN})
        parts = [*self._cut(function, items, costs)]
        # short requests go before long ones, as long as these do not wait long for it
        turn = self._taken - (_AHEAD * self._budget if len(parts) == 1 else 0)
        for part in parts:
            heapq.heappush(self._heap, (behind, turn, next(self._numbers), part))
            turn += part.cost
        self._task = self._task or asyncio.create_task(self._work())
        try:
            results = await asyncio.gather(*(part.future for part in parts))
        finally:  # the caller may have given up, or a part failed
            for part in parts:
                part.future.cancel()
        return [*itertools.chain.from_iterable(results)]

    async def close(self) -> None:
        """Finish what waits, and end the thread."""
        if self._task:
            await self._task
        self._thread.shutdown()

    def _cut(
        self, function: _Function, items: Sequence[Any], costs: Sequence[int]
    ) -> Iterator[_Part]:
        """Cut items into parts that cost a small share of the budget."""
        new_future = asyncio.get_running_loop().create_future
        part = _Part(function, [], 0, new_future())
        for item, cost in zip(items, costs, strict=True):
            if part.items and part.cost + cost > self._budget // _PARTS:
                yield part
                part = _Part(function, [], 0, new_future())
            part.items.append(item)
            part.cost += cost
        if part.items:
            yield part

    async def _work(self) -> None:
        """Do what waits, batch after batch, until nothing does."""
        while parts := self._take():
            if not await self._do(parts):
                for part in parts:  # of which one alone is to blame
                    if not part.future.done():
                        await self._do([part])
        self._task = None

    def _take(self) -> list[_Part]:
        """The next parts of one function that fit the budget."""
        parts: list[_Part] = []
        left, is_behind = self._limit, False
        while self._heap:
            behind, _, _, part = self._heap[0]
            if not part.future.done():  # else it was given up
                is_other = parts and (part.function != parts[0].function or behind != is_behind)
                if is_other or (parts and part.cost > left):
                    break
                parts.append(part)
                left, is_behind = left - part.cost, behind
                self._taken += part.cost
            heapq.heappop(self._heap)
        return parts

    async def _do(self, parts: Sequence[_Part]) -> bool:
        """Call the function of parts with the items of all; False: it failed for several."""
        items = [item for part in parts for item in part.items]
        start, cost = time.perf_counter(), sum(part.cost for part in parts)
        call = partial(
            call_while_wanted,
            lambda: all(part.future.done() for part in parts),
            partial(parts[0].function, items),
        )
        try:
            results = iter(await asyncio.get_running_loop().run_in_executor(self._thread, call))
        except Exception as error:
            if len(parts) > 1:
                return False
            if not parts[0].future.done():
                parts[0].future.set_exception(error)
            return True
        if cost > self._limit / 2:  # less says little of how long the limit takes
            factor = min(2.0, self._seconds / max(time.perf_counter() - start, 1e-3))
            self._limit = max(1.0, min(self._budget, self._limit * factor))
        for part in parts:
            of_part = list(itertools.islice(results, len(part.items)))
            if not part.future.done():
                part.future.set_result(of_part)
        return True

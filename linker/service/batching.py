"""Batching: what concurrent requests want is done together, in one thread."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import itertools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from linker import cancelling
from linker.service.errors import Failure

_PARTS = 32  # of a caller's items that fill a call: others come between them
_GROWTH = 2  # of the cost of a call, at most, from one to the next

_Function = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(slots=True, eq=False)
class _Job:
    """Items that wait for a function."""

    function: _Function
    items: list[Any]
    cost: int
    turn: int  # of the jobs in a queue, that with the lowest is next
    future: asyncio.Future[list[Any]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Batcher:
    """Calls functions in one worker thread, with the items of many callers together.

    Items that wait for the same function are given to it in one call, up to the budget. Long
    requests are cut into parts. Short ones wait in a queue of their own, and the two queues take
    turns in being first, so that neither holds up the other. What nobody waits for is done when
    nothing else is to do. Use it inside one event loop.

    Args:
        budget: the cost of a call, at most, unless a single item costs more.
        capacity: the cost of what may wait.
        observe: is called with the number of items and the seconds of each call.
        seconds: that a call is to take; what it costs is fitted to that, within the budget.
    """

    def __init__(
        self,
        budget: int,
        capacity: int,
        observe: Callable[[int, float], None] = lambda items, seconds: None,
        seconds: float = math.inf,
    ) -> None:
        self._budget, self._capacity, self._observe = budget, capacity, observe
        self._seconds = seconds
        # the cost of the next call, at most
        self._limit = float(budget) if math.isinf(seconds) else budget / _PARTS
        self._long: list[_Job] = []  # by their turns
        self._short: list[_Job] = []
        self._behind: list[_Job] = []
        self._is_short_next = True  # which queue is first
        self.cost = 0  # of what waits
        self._taken = 0  # the cost of all that was ever taken
        self._speed = float(budget)  # cost that is done in a second, as of late
        self._thread = ThreadPoolExecutor(1, "linker")
        self._task: asyncio.Task[None] | None = None

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
        total = sum(costs)
        if self.cost and self.cost + total > self._capacity:
            seconds = max(1, min(60, math.ceil(self.cost / self._speed)))
            busy = f"the service is busy; try again in {seconds} s"
            raise Failure(429, busy, headers={"Retry-After": str(seconds)})
        jobs = self._parts(function, items, costs)
        queue = self._behind if behind else self._short if len(jobs) == 1 else self._long
        for job in jobs:
            bisect.insort(queue, job, key=lambda job: job.turn)
        self.cost += total
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        try:
            results = await asyncio.gather(*(job.future for job in jobs))
        except BaseException:  # the caller gives up, or a part failed
            for job in [job for job in jobs if job in queue]:
                queue.remove(job)
                self.cost -= job.cost
            raise
        return [result for part in results for result in part]

    async def close(self) -> None:
        """Finish what waits, and end the thread."""
        if self._task:
            await self._task
        self._thread.shutdown()

    async def _work(self) -> None:
        """Do what waits, batch after batch, until nothing does."""
        while jobs := self._take():
            try:
                await self._do(jobs)
            except Exception:
                for job in jobs if len(jobs) > 1 else ():  # the others are not to blame
                    if job.future.done():  # it was given up
                        continue
                    with contextlib.suppress(Exception):
                        await self._do([job])
        self._task = None

    def _take(self) -> list[_Job]:
        """The next jobs of one function that fit the limit."""
        jobs: list[_Job] = []
        left = self._limit
        queues = [self._long, self._short]
        if self._is_short_next:
            queues.reverse()
        if not (self._long or self._short):
            queues = [self._behind]
        for queue in queues:
            while queue:
                job = queue[0]
                if not jobs:
                    self._is_short_next = queue is self._long
                elif job.function != jobs[0].function or job.cost > left:
                    break
                jobs.append(queue.pop(0))
                self.cost -= job.cost
                self._taken += job.cost
                left -= job.cost
        return jobs

    async def _do(self, jobs: Sequence[_Job]) -> None:
        """Call the function of jobs with the items of all.

        Raises:
            Exception: what the function raises; it is the result of a single job.
        """
        items = [item for job in jobs for item in job.items]
        start = time.perf_counter()
        try:
            call, is_given_up = partial(jobs[0].function, items), partial(_are_given_up, jobs)
            loop = asyncio.get_running_loop()
            done = loop.run_in_executor(self._thread, cancelling.call, is_given_up, call)
            results = iter(await done)
        except Exception as error:
            if len(jobs) == 1 and not jobs[0].future.done():
                jobs[0].future.set_exception(error)
            raise
        seconds = time.perf_counter() - start
        cost = sum(job.cost for job in jobs)
        self._speed = cost / max(seconds, 1e-3)
        if cost > self._limit / 2:  # less says little of how long the limit takes
            factor = min(_GROWTH, self._seconds / max(seconds, 1e-3))
            self._limit = max(1.0, min(self._budget, self._limit * factor))
        self._observe(len(items), seconds)
        for job in jobs:
            part = list(itertools.islice(results, len(job.items)))
            if not job.future.done():
                job.future.set_result(part)

    def _parts(self, function: _Function, items: Sequence[Any], costs: Sequence[int]) -> list[_Job]:
        """Cut items into jobs that cost a small share of the budget; their turns are in between."""
        jobs: list[_Job] = []
        turn = self._taken
        for item, cost in zip(items, costs, strict=True):
            if not jobs or jobs[-1].cost + cost > self._budget // _PARTS:
                jobs.append(_Job(function, [], 0, turn))
            jobs[-1].items.append(item)
            jobs[-1].cost += cost
            turn += cost
        return jobs


def _are_given_up(jobs: Sequence[_Job]) -> bool:
    """Whether the callers of all jobs have given up."""
    return all(job.future.done() for job in jobs)

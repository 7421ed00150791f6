"""Where work is done: in this process, in several of this machine, or on the machines of Ray."""

from __future__ import annotations

import contextlib
import functools
import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any, Literal, TypeVar

from linker.errors import InputError, LinkerError

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

Make = Callable[[], Callable[[_Task], _Result]]
"""Makes the function that is called; each process makes its own, so that it loads the model."""

_WAITING = 2  # tasks for each process that were read and not yet handed back
_SIGNALS = {signal.SIGINT}  # Ctrl-C reaches all processes of a terminal; the first one decides
_THREADS = "OMP_NUM_THREADS"  # of products of matrices


def cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Machines:
    """Where work is done."""

    # processes; None: this one, or as many as a Ray cluster has cores or GPUs for
    workers: int | None = None
    engine: Literal["local", "ray"] = "local"
    gpus: float = 0.0  # of each worker of Ray, whose cluster is that of $RAY_ADDRESS

    @property
    def is_this_process(self) -> bool:
        """Whether this process does all work itself."""
        return self.engine == "local" and (self.workers or 1) == 1

    def run(
        self, make: Make[_Task, _Result], tasks: Iterable[_Task]
    ) -> contextlib.AbstractContextManager[Iterator[_Result]]:
        """Call the function that `make` makes for each task, here or elsewhere.

        Args:
            make: must be picklable unless this process does all.
            tasks: read as they are needed; by Ray all at once.

        Returns:
            A context with the results, in the order of the tasks, but by Ray as they come. All
            processes are ended with it.
        """
        if self.is_this_process:
            return contextlib.nullcontext(map(make(), tasks))
        if self.engine == "ray":
            from linker.jobs import cluster

            call = made_once(functools.partial(cluster.named, make))
            return contextlib.closing(cluster.run(call, tasks, self, cores()))
        return contextlib.closing(_in_processes(make, tasks, self.workers or 1))


def made_once(make: Make[_Task, _Result]) -> Callable[[_Task], _Result]:
    """What other processes call: each makes its function at the first call, and logs errors only.

    The errors that it raises can be sent to another process.
    """
    made: list[Callable[[_Task], _Result]] = []

    def call(task: _Task) -> _Result:
        with plain_errors():
            if not made:
                logging.getLogger("linker").setLevel(logging.ERROR)  # the first process says more
                made.append(make())
            return made[0](task)

    return call


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Raise errors that can be sent to another process."""
    try:
        yield
    except InputError as error:
        raise LinkerError(str(error)) from None


def _in_processes(
    make: Make[_Task, _Result], tasks: Iterable[_Task], workers: int
) -> Generator[_Result, None, None]:
    """Call the function that `make` makes for each task, in processes of this machine.

    The processes are spawned, since one that is forked behind a product of matrices may wait for
    threads that it does not have. Each computes with its share of the cores. Tasks are read a few
    ahead of the results; a failure to read one waits for the results of those before it.

    Raises:
        LinkerError: a process ended in the middle of its work.
    """
    failure: LinkerError | None = None

    def readable() -> Iterator[_Task]:
        nonlocal failure
        try:
            yield from tasks
        except LinkerError as error:
            failure = error

    context = multiprocessing.get_context("spawn")
    pool = futures.ProcessPoolExecutor(workers, context, _prepare, (make,))
    waiting: deque[futures.Future[_Result]] = deque()
    try:
        for task in readable():
            with _starting(workers):
                waiting.append(pool.submit(_call, task))
            if len(waiting) >= _WAITING * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except futures.BrokenExecutor:
        raise LinkerError(
            "a worker ended in the middle of its work: it was killed, or memory ran out; "
            "run again, with fewer --workers if memory is short"
        ) from None
    finally:
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)
    if failure:
        raise failure


@contextlib.contextmanager
def _starting(workers: int) -> Iterator[None]:
    """What a process is born with: deaf to Ctrl-C, with its share of the cores."""
    is_set, can_mask = bool(os.environ.get(_THREADS)), hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS) if can_mask else set()
    if not is_set:
        os.environ[_THREADS] = str(max(1, cores() // workers))
    try:
        yield
    finally:
        if not is_set:
            del os.environ[_THREADS]
        if can_mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_calls: list[Callable[..., Any]] = []  # what this process calls, if it is one of a pool


def _prepare(make: Callable[..., Any]) -> None:
    """Prepare a new process, which ends when the one that started it has ended."""
    _calls.append(made_once(make))
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _call(task: Any) -> Any:
    return _calls[0](task)

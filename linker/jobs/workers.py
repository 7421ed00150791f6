"""Calls that are spread over the processes of one machine."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Any, TypeVar

from linker.errors import InputError, LinkerError

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_WAITING = 2  # tasks for each process that were read and not yet handed back
_SIGNALS = {signal.SIGINT}  # Ctrl-C reaches all processes of a terminal; the first one decides


def cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    make: Callable[[], Callable[[_Task], _Result]], tasks: Iterable[_Task], workers: int
) -> Generator[_Result, None, None]:
    """Call the function that `make` makes for each task, in processes of their own.

    The processes are spawned, since one that is forked behind a product of matrices may wait for
    threads that it does not have. Each computes with its share of the cores.

    Args:
        make: called once in each process; must be picklable.
        tasks: read as they are needed, a few ahead of the results.
        workers: the number of processes.

    Yields:
        The results in the order of the tasks.

    Raises:
        LinkerError: a process ended in the middle of its work.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _prepare, (make,))
    waiting: deque[Future[_Result]] = deque()
    ahead = _Ahead(tasks)
    try:
        for task in ahead:
            with _starting(workers):
                waiting.append(pool.submit(_call, task))
            if len(waiting) >= _WAITING * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise LinkerError(
            "a worker ended in the middle of its work: it was killed, or memory ran out; "
            "run again, with fewer --workers if memory is short"
        ) from None
    finally:
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)
    if ahead.failure:
        raise ahead.failure


class _Ahead(Iterator[_Task]):
    """Tasks that are read ahead: a failure to read one waits for the results of those before it.

    Args:
        tasks: the tasks.
    """

    def __init__(self, tasks: Iterable[_Task]) -> None:
        self._tasks = iter(tasks)
        self.failure: LinkerError | None = None  # that ended the reading

    def __next__(self) -> _Task:
        try:
            return next(self._tasks)
        except LinkerError as error:
            self.failure = error
            raise StopIteration from None


@contextlib.contextmanager
def _starting(workers: int) -> Iterator[None]:
    """What a process is born with: deaf to Ctrl-C, with its share of the cores."""
    share = str(max(1, cores() // workers))
    name = "OMP_NUM_THREADS"
    is_set, can_mask = bool(os.environ.get(name)), hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS) if can_mask else set()
    if not is_set:
        os.environ[name] = share
    try:
        yield
    finally:
        if not is_set:
            del os.environ[name]
        if can_mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_made: dict[str, Callable[..., Any]] = {}  # of this process: `make`, and `call`, which it made


def _prepare(make: Callable[..., Any]) -> None:
    """Prepare a new process, which ends when the one that started it has ended."""
    _made["make"] = make
    logging.getLogger("linker").setLevel(logging.ERROR)  # the first process says the rest
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _call(task: Any) -> Any:
    with plain_errors():
        if "call" not in _made:
            _made["call"] = _made["make"]()
        return _made["call"](task)


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Raise errors that can be sent to another process."""
    try:
        yield
    except InputError as error:
        raise LinkerError(str(error)) from None

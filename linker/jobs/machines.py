"""Where work is done: in this process, in several of this machine, or on the machines of Ray."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection
from typing import Any, Literal, TypeVar

from linker.errors import InputError, LinkerError, needing

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

Make = Callable[[], Callable[[_Task], _Result]]
"""Makes the function that is called; each process makes its own, so that it loads the model."""

_WAITING = 2  # tasks for each process that were read and not yet handed back
_THREADS = "OMP_NUM_THREADS"  # of products of matrices
_TRIES = 3  # of a task whose process of Ray is lost
_PATIENCE = 8.0  # seconds in which a cluster must answer
_MEMORY = 100_000_000  # bytes of Ray's store on this machine; results are small


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
        run = _in_cluster if self.engine == "ray" else _in_processes
        return contextlib.closing(run(make, tasks, self))


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Raise errors that can be sent to another process."""
    try:
        yield
    except InputError:
        raise
    except LinkerError as error:  # of which some need more than a text
        raise LinkerError(str(error)) from None


def _made_once(make: Make[_Task, _Result]) -> Callable[[_Task], _Result]:
    """What other processes call: each makes its function at its first call; it logs errors only."""
    made: list[Callable[[_Task], _Result]] = []

    def call(task: _Task) -> _Result:
        with plain_errors():
            if not made:
                logging.getLogger("linker").setLevel(logging.ERROR)  # the first process says more
                made.append(make())
            return made[0](task)

    return call


# several processes of this machine


def _in_processes(
    make: Make[_Task, _Result], tasks: Iterable[_Task], machines: Machines
) -> Generator[_Result, None, None]:
    """Call a function in processes of this machine.

    The processes are spawned, since one that is forked behind a product of matrices may wait for
    threads that it does not have. Tasks are read a few ahead of the results; a failure to read one
    waits for the results of those before it.

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

    workers, context = machines.workers or 1, multiprocessing.get_context("spawn")
    pool = futures.ProcessPoolExecutor(workers, context, _prepare, (make,))
    waiting: deque[futures.Future[_Result]] = deque()
    try:
        for task in readable():
            with _starting(max(1, cores() // workers)):
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
def _starting(threads: int) -> Iterator[None]:
    """What a process is born with: its share of the cores, and deaf to Ctrl-C.

    Ctrl-C reaches all processes of a terminal; the first one decides. SIGTERM waits until the new
    process has read what it is to do.
    """
    is_set, is_main = _THREADS in os.environ, threading.current_thread() is threading.main_thread()
    os.environ.setdefault(_THREADS, str(threads))
    pending: list[int] = []
    handlers: dict[int, Any] = {
        signal.SIGINT: signal.SIG_IGN,
        signal.SIGTERM: lambda number, _: pending.append(number),
    }
    before = {n: signal.signal(n, handler) for n, handler in handlers.items() if is_main}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if not is_set:
            del os.environ[_THREADS]
    if pending:
        signal.raise_signal(signal.SIGTERM)


_calls: list[Callable[..., Any]] = []  # what this process calls, if it is one of a pool


def _prepare(make: Callable[..., Any]) -> None:
    """Prepare a new process, which ends when the one that started it has ended."""
    _calls.append(_made_once(make))
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    if parent := multiprocessing.parent_process():
        connection.wait([parent.sentinel])
        os._exit(1)


def _call(task: Any) -> Any:
    return _calls[0](task)


# the machines of a Ray cluster; Ray schedules, and nothing else


def _in_cluster(
    make: Make[_Task, _Result], tasks: Iterable[_Task], machines: Machines
) -> Generator[_Result, None, None]:
    """Call a function in processes of Ray, which does a task again whose process is lost.

    Raises:
        LinkerError: Ray is not installed, the cluster does not answer or has no room, or a task
            has lost several processes.
    """
    if not (tasks := list(tasks)):
        return
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with needing("--engine ray", "ray"):
        import ray as module
    ray: Any = module
    was_connected = ray.is_initialized()
    try:
        if not was_connected:
            _connect(ray, machines)
        call = ray.remote(
            num_cpus=1,
            num_gpus=machines.gpus,
            max_retries=_TRIES - 1,
            max_calls=0,  # a process serves many tasks, also one with a GPU
        )(_made_once(make))
        left, waiting, most = iter(tasks), list[Any](), _room(ray.cluster_resources(), machines)
        while waiting := [*waiting, *map(call.remote, islice(left, most - len(waiting)))]:
            (done,), waiting = ray.wait(waiting)
            yield ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason, address = str(error).strip().splitlines()[0], os.environ.get("RAY_ADDRESS", "")
        raise LinkerError(
            f"the Ray cluster{address and f' at {address}'} does not answer, or has lost a worker "
            f"{_TRIES} times ({reason}); start it with `ray start --head`, and run again: what is "
            "done is kept"
        ) from None
    except SystemExit:  # of SIGTERM, whose code Ray does not pass on
        raise SystemExit(128 + signal.SIGTERM) from None
    finally:
        with contextlib.suppress(Exception):  # the cluster may be gone
            if not was_connected:
                ray.shutdown()


def _connect(ray: Any, machines: Machines) -> None:
    """Connect this process to the cluster, or to one that is started on this machine."""
    settings: dict[str, Any] = {"address": os.environ.get("RAY_ADDRESS") or "local"}
    if settings["address"] == "local":
        number = min(machines.workers or cores(), cores())
        settings |= {"num_cpus": number, "object_store_memory": _MEMORY}
    elif settings["address"] != "auto":  # where nobody listens Ray would try for minutes
        host, _, port = settings["address"].removeprefix("ray://").rpartition(":")
        socket.create_connection((host, int(port)), _PATIENCE).close()
    settings |= {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    terminate = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**settings)
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, terminate)  # Ray has one of its own


def _room(resources: dict[str, float], machines: Machines) -> int:
    """How many tasks are done at a time: as many as asked for, or as the cluster has room for.

    Raises:
        LinkerError: it has room for none.
    """
    room = int(resources.get("CPU", 0))
    if machines.gpus:
        room = min(room, int(resources.get("GPU", 0) / machines.gpus))
    if not room:
        gpus = " and a GPU (leave out --device cuda where there is none)" if machines.gpus else ""
        raise LinkerError(f"the cluster has no machine with a core{gpus}; start a node with them")
    return min(machines.workers or room, room)

"""Calls that are spread over the machines of a Ray cluster; Ray schedules, and nothing else."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from linker.errors import LinkerError, needing

if TYPE_CHECKING:
    from linker.jobs.machines import Machines, Make

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_PATIENCE = 8.0  # seconds in which a cluster must answer
_TRIES = 3  # of a task whose process is lost
_SILENCE = 60.0  # seconds without a first result, after which that is said
_PULSE = 5.0  # seconds without news, after which it is asked whether any machine is left
_MEMORY = 100_000_000  # bytes of Ray's store on this machine; results are small

logger = logging.getLogger(__name__)


def run(
    call: Callable[[_Task], _Result], tasks: Iterable[_Task], machines: Machines, cores: int
) -> Generator[_Result, None, None]:
    """Call a function for each task, in processes of Ray.

    A task whose process is lost is done again.

    Args:
        call: must be picklable.
        tasks: must be picklable.
        machines: which cluster, how many tasks at a time, and what each needs.
        cores: of this machine, for a cluster that is started on it.

    Yields:
        The results, as they come.

    Raises:
        LinkerError: Ray is not installed, the cluster does not answer or has no room, or a task
            has lost several processes.
    """
    tasks = list(tasks)
    if not tasks:
        return
    ray = _imported()
    was_connected = ray.is_initialized()
    if not was_connected:
        _connect(ray, machines, cores)
    try:
        workers = min(_size(ray, machines), len(tasks))
        remote = ray.remote(
            num_cpus=1,
            num_gpus=machines.gpus,
            max_retries=_TRIES - 1,
            max_calls=0,  # a process serves many tasks, also one with a GPU
        )
        yield from _results(ray, remote(call), iter(tasks), workers)
    except SystemExit:  # of SIGTERM, whose code Ray does not pass on
        raise SystemExit(128 + signal.SIGTERM) from None
    except ray.exceptions.RayError as error:
        raise _lost(str(error).strip().splitlines()[0]) from None
    finally:
        with contextlib.suppress(Exception):  # the cluster may be gone
            if not was_connected:
                ray.shutdown()


def _lost(reason: str) -> LinkerError:
    return LinkerError(
        f"the Ray cluster was lost ({reason}); start it and run again: what is done is kept"
    )


def _results(ray: Any, call: Any, tasks: Iterator[_Task], workers: int) -> Iterator[_Result]:
    """Give tasks to Ray, as many at a time as there are workers; their results as they come."""
    given: dict[Any, _Task] = {}  # by the reference of what is awaited
    silence, is_begun = 0.0, False
    while True:
        for task in itertools.islice(tasks, workers - len(given)):
            given[call.remote(task)] = task
        if not given:
            return
        ready, _ = ray.wait(list(given), timeout=_PULSE)
        if not ready:
            if not any(node["Alive"] for node in ray.nodes()):
                raise _lost("no machine of it is left")
            silence += _PULSE
            if silence >= _SILENCE and not is_begun:
                logger.warning("nothing is done yet; the cluster may have no free cores")
                silence = 0.0
            continue
        task, is_begun = given.pop(ready[0]), True
        try:
            yield ray.get(ready[0])
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
            what = f"with {path} " if (path := getattr(task, "path", "")) else ""
            raise LinkerError(
                f"a worker was lost {_TRIES} times {what}(killed, or out of memory); "
                "run again, with smaller parts or fewer --workers if memory is short"
            ) from None


def named(make: Make[_Task, _Result]) -> Callable[[_Task], _Result]:
    """Make the function in a process of Ray; where it cannot load, its machine is named."""
    try:
        return make()
    except LinkerError as error:
        raise LinkerError(f"on the machine {socket.gethostname()}: {error}") from None


def _size(ray: Any, machines: Machines) -> int:
    """How many actors there are to be: as many as are asked for, or as the cluster has room for."""
    resources = ray.cluster_resources()
    room = int(resources.get("CPU", 0))
    if machines.gpus:
        room = min(room, int(resources.get("GPU", 0) / machines.gpus))
        if not room:
            raise LinkerError(
                f"the cluster has {resources.get('GPU', 0):g} GPUs, and each worker wants "
                f"{machines.gpus:g}; leave out --device cuda, or start a node with GPUs"
            )
    if machines.workers and machines.workers > room:
        logger.warning("--workers %d: the cluster has room for %d", machines.workers, room)
    return max(1, min(machines.workers or room, room))


def _imported() -> Any:
    """The module ray, which is not to report that it is used."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with needing("--engine ray", "ray"):
        import ray
    return ray


def _connect(ray: Any, machines: Machines, cores: int) -> None:
    """Connect this process to the cluster, or to one that is started on this machine."""
    address = os.environ.get("RAY_ADDRESS") or "local"
    settings: dict[str, Any] = {"address": address}
    if address == "local":
        number = min(machines.workers or cores, cores)
        settings |= {"num_cpus": number, "object_store_memory": _MEMORY}
    elif address != "auto":
        _knock(address)
    settings |= {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    terminate = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**settings)
    except Exception as error:
        raise _no_answer(settings["address"], str(error).strip().splitlines()[0]) from None
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, terminate)  # Ray has one of its own


def _knock(address: str) -> None:
    """Check that anybody answers at an address.

    Raises:
        LinkerError: nobody does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise LinkerError(
            f"RAY_ADDRESS={address}: is no address; expected: HOST:PORT, such as a:6379"
        )
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(address, getattr(error, "strerror", None) or str(error)) from None


def _no_answer(address: str, reason: str) -> LinkerError:
    return LinkerError(
        f"no Ray cluster answers at {address} ({reason}); "
        "start one with `ray start --head`, or unset RAY_ADDRESS for one on this machine"
    )

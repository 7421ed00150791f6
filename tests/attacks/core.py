"""Runs cases of an attack in forked processes with limits, so that a crash, a hang or a leak is one failed case."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from linker.errors import LinkerError

CPU = 10  # seconds of a case
MEMORY = 1 << 30  # bytes that a process may take beyond what it has at its start
CHUNK = 250  # cases of a process
LONGEST = 2_000  # characters of a message of linker's
SHOWN = (
    "ATTACKS_SHOWN"  # where this is in the environment, tracebacks and what libraries say are shown
)

Attack = Callable[[random.Random, int, Path], None]
Prepared = Callable[[Path], AbstractContextManager[Attack]]


class Failed(AssertionError):
    """An attack found something wrong. Its text is "kind of failure: details"."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of attack.

    Args:
        prepared: "module:function" of this package, a `Prepared`.
        what: what is attacked, and how.
        quick: the cases of the quick share.
        long: those of the long run.
        wall: seconds that a case may last, with the processes that it waits for.
        needs: a library of an extra that is attacked; the quick share is skipped without it.
    """

    prepared: str
    what: str
    quick: int
    long: int
    wall: int = 120
    needs: str = ""


@dataclass(slots=True)
class Tally:
    """What came of some cases."""

    tried: int = 0
    refused: int = 0  # of these, by a LinkerError
    failures: list[list[Any]] = field(default_factory=list)  # [case, what failed]


def load(name: str) -> Prepared:
    """The function "module:function" of this package."""
    module, _, function = name.partition(":")
    prepared: Prepared = getattr(importlib.import_module(f".{module}", __package__), function)
    return prepared


def apart(name: str, seed: int, first: int, count: int, seconds: float) -> Tally:
    """As `run`, in a process of its own, which may be called from anywhere."""
    command = [sys.executable, "-m", __package__, name, *map(str, (seed, first, count, seconds))]
    place = str(Path(__file__).resolve().parent.parent)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH")))),
        "MALLOC_ARENA_MAX": "2",  # one for each thread takes address space
    }
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if os.environ.get(SHOWN):
        sys.stderr.buffer.write(done.stderr)
    if done.returncode:
        return Tally(
            failures=[
                [
                    first,
                    f"the attack could not be made: {done.stderr.decode(errors='replace')[-1000:]}",
                ]
            ]
        )
    return Tally(**json.loads(done.stdout))


def run(name: str, kind: Kind, seed: int, cases: range, seconds: float) -> Tally:
    """Try some cases of a kind of attack, and stop where the time is over.

    Processes are forked, so that what called this must have no threads, and must not have linked (OpenMP then hangs in the forks).
    """
    tally, end = Tally(), time.monotonic() + seconds
    os.sched_setaffinity(
        0, sorted(os.sched_getaffinity(0))[-2:]
    )  # a thread for each of many cores takes address space
    logging.getLogger().setLevel(logging.CRITICAL)  # thousands of refusals
    with (
        tempfile.TemporaryDirectory(prefix="attacks-") as place,
        load(kind.prepared)(Path(place) / "shared") as attack,
    ):
        at, folder = cases.start, Path(place) / "case"
        while at < cases.stop and time.monotonic() < end:
            some = range(at, min(at + CHUNK, cases.stop))
            at = _process(
                lambda case: attack(random.Random(f"{name} {seed} {case}"), case, folder),
                kind.wall,
                some,
                folder,
                end,
                tally,
            )
    return tally


def _process(
    attack: Callable[[int], None], wall: int, cases: range, folder: Path, end: float, tally: Tally
) -> int:
    """Try cases in one process, and return the case to go on with."""
    state = mmap.mmap(-1, 16)  # the case under way, and how many were refused
    state[:] = struct.pack("qq", cases.start, 0)
    receiver, sender = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            os.setsid()
            _limit()
            _work(attack, wall, cases, folder, end, state, sender)
            os._exit(0)
        os._exit(1)
    os.close(sender)
    with open(receiver, encoding="utf-8") as lines:
        tally.failures += [json.loads(line) for line in lines]
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what a process that died has left
    case, refused = struct.unpack("qq", state[:])
    if status:
        tally.failures.append([case, _death(os.waitstatus_to_exitcode(status), wall)])
        case += 1
    tally.tried += case - cases.start
    tally.refused += refused
    return case


def _work(
    attack: Callable[[int], None],
    wall: int,
    cases: range,
    folder: Path,
    end: float,
    state: mmap.mmap,
    sender: int,
) -> None:
    refused = 0
    for case in cases:
        if time.monotonic() > end:
            return
        signal.setitimer(signal.ITIMER_PROF, CPU)
        signal.setitimer(signal.ITIMER_REAL, wall)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            attack(case)
        except (LinkerError, click.UsageError) as error:
            refused += 1
            failure = _fault(error)
        except BaseException as error:
            failure = describe(error)
            if os.environ.get(SHOWN):
                traceback.print_exc()
        else:
            failure = None
        if failure:
            os.write(sender, json.dumps([case, failure]).encode() + b"\n")
        state[:] = struct.pack("qq", case + 1, refused)


def _fault(refusal: BaseException) -> str | None:
    """What is wrong with a refusal, where something is."""
    cause: BaseException | None = refusal
    while cause is not None:
        if isinstance(cause, MemoryError):
            return f"out of memory, before it was refused: {str(refusal)[:200]}"
        cause = cause.__cause__ or cause.__context__
    return f"too long a message: {str(refusal)[:200]}" if len(str(refusal)) > LONGEST else None


def _limit() -> None:
    """Limit the memory of this process and of those that it starts, let timers and Ctrl-C end them, and keep still."""
    if not os.environ.get(SHOWN):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for number in (signal.SIGPROF, signal.SIGALRM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    limit = _size() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _size() -> int:
    """The address space of this process, bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _death(code: int, wall: int) -> str:
    if code == -signal.SIGPROF:
        return f"out of time: more than {CPU} s of CPU"
    if code == -signal.SIGALRM:
        return f"out of time: more than {wall} s"
    return f"died: of {signal.Signals(-code).name}" if code < 0 else f"died: with exit code {code}"


def describe(error: BaseException) -> str:
    """An exception with the line of linker that it came through last, "OverflowError at readers/jsonl.py:12: text"."""
    if isinstance(error, Failed):
        return str(error)
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    ours = [
        f"{file.rpartition('/linker/')[2]}:{line}"
        for file, line in frames
        if "/linker/" in file and "/tests/" not in file
    ]
    try:
        text = str(error)
    except Exception:
        text = "an exception without a text"
    return f"{type(error).__name__} at {ours[-1] if ours else frames[-1]}: {text[:200]}"


def signature(failure: str) -> str:
    """What failures of one cause have in common: what stands before the details."""
    return failure.partition(": ")[0]

"""Runs cases of an attack in forked processes with limits.

A crash, a hang or a leak is then one failed case.
"""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import os
import random
import resource
import shutil
import signal
import struct
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
SHOWN = "ATTACKS_SHOWN"  # the variable with which tracebacks and what libraries say are shown

Attack = Callable[[random.Random, int, Path], None]
Prepared = Callable[[Path], AbstractContextManager[Attack]]


class Failed(AssertionError):
    """An attack found something wrong. Its text is "kind of failure: details"."""


@dataclass(slots=True)
class Tally:
    """What came of some cases."""

    tried: int = 0
    refused: int = 0  # of these, by a LinkerError
    failures: list[list[Any]] = field(default_factory=list)  # [case, what failed]


@dataclass(frozen=True, slots=True)
class Work:
    """The cases of a kind of attack that are tried."""

    attack: Callable[[int], None]
    wall: int  # seconds that a case may last, with the processes that it waits for
    folder: Path  # of a case
    end: float  # of all cases, by the monotonic clock


def run(name: str, prepared: Prepared, wall: int, seed: int, cases: range, seconds: float) -> Tally:
    """Try some cases of a kind of attack, and stop where the time is over.

    Processes are forked, so that what called this must have no threads, and must not have linked
    (OpenMP then hangs in the forks).
    """
    tally, end, first = Tally(), time.monotonic() + seconds, cases.start
    # a thread for each of many cores takes address space
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-2:])
    logging.getLogger().setLevel(logging.CRITICAL)  # thousands of refusals
    with (
        tempfile.TemporaryDirectory(prefix="attacks-") as place,
        prepared(Path(place) / "shared") as attack,
    ):
        folder = Path(place) / "case"

        def one(case: int) -> None:
            attack(random.Random(f"{name} {seed} {case}"), case, folder)

        work = Work(one, wall, folder, end)
        while first < cases.stop and time.monotonic() < end:
            first = _process(work, range(first, min(first + CHUNK, cases.stop)), tally)
    return tally


def _process(work: Work, cases: range, tally: Tally) -> int:
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
            _try(work, cases, state, sender)
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
        tally.failures.append([case, _death(os.waitstatus_to_exitcode(status), work.wall)])
        case += 1
    tally.tried += case - cases.start
    tally.refused += refused
    return case


def _try(work: Work, cases: range, state: mmap.mmap, sender: int) -> None:
    refused = 0
    for case in cases:
        if time.monotonic() > work.end:
            return
        signal.setitimer(signal.ITIMER_PROF, CPU)
        signal.setitimer(signal.ITIMER_REAL, work.wall)
        shutil.rmtree(work.folder, ignore_errors=True)
        work.folder.mkdir()
        failure = None
        try:
            work.attack(case)
        except (LinkerError, click.UsageError) as error:
            refused += 1
            failure = _fault(error)
        except BaseException as error:
            failure = describe(error)
            if os.environ.get(SHOWN):
                traceback.print_exc()
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
    """Limit this process and those that it starts; timers and Ctrl-C end them; keep still."""
    if not os.environ.get(SHOWN):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for number in (signal.SIGPROF, signal.SIGALRM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def address_space() -> int:
    """The address space of this process, bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _death(code: int, wall: int) -> str:
    if code in (-signal.SIGPROF, -signal.SIGALRM):
        return f"out of time: more than {CPU} s of CPU or {wall} s"
    return f"died: of {signal.Signals(-code).name}" if code < 0 else f"died: with exit code {code}"


def describe(error: BaseException) -> str:
    """An exception with the line of linker that it came through last.

    For example "OverflowError at readers/jsonl.py:12: text".
    """
    if isinstance(error, Failed):
        return str(error)
    walked = traceback.walk_tb(error.__traceback__)
    frames = [(frame.f_code.co_filename, line) for frame, line in walked]
    ours = [
        f"{file.rpartition('/linker/')[2]}:{line}"
        for file, line in frames
        if "/linker/" in file and "/benchmarks/" not in file
    ]
    try:
        text = str(error)
    except Exception:
        text = "an exception without a text"
    return f"{type(error).__name__} at {ours[-1] if ours else frames[-1]}: {text[:200]}"

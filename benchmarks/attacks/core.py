"""Runs cases of an attack in forked processes with limits.

A crash, a hang or a leak is then one failed case.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from linker.errors import LinkerError

CPU = 10  # seconds of a case
MEMORY = 1 << 30  # bytes that a process may take beyond what it has at its start
CHUNK = 250  # cases of a process
LONGEST = 2_000  # characters of a message of linker's
SHOWN = "ATTACKS_SHOWN"  # the variable with which tracebacks and what libraries say are shown

Attack = Callable[[random.Random, int, Path], None]
Prepared = Callable[[Path], Iterator[Attack]]
Row = tuple[int, bool, str | None]  # a case, whether linker refused it, and what failed


class Failed(AssertionError):
    """An attack found something wrong. Its text is "kind of failure: details"."""


@contextlib.contextmanager
def not_refused(what: str) -> Iterator[None]:
    """Take it for a failure where linker refuses."""
    try:
        yield
    except LinkerError as error:
        raise Failed(f"{what}: {error}") from error


def run(
    name: str, prepared: Prepared, wall: int, seed: int, cases: range, seconds: float
) -> list[Row]:
    """Try some cases of a kind of attack, and stop where the time is over.

    Processes are forked, so that what called this must have no threads, and must not have linked
    (OpenMP then hangs in the forks).

    Args:
        name: the kind.
        prepared: what makes the attack.
        wall: seconds that a case may last, with the processes that it waits for.
        seed: of all draws.
        cases: their numbers.
        seconds: after which no case is begun.
    """
    rows, end = list[Row](), time.monotonic() + seconds
    # a thread for each of many cores takes address space
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-2:])
    logging.getLogger().setLevel(logging.CRITICAL)  # thousands of refusals
    with (
        tempfile.TemporaryDirectory(prefix="attacks-") as place,
        contextlib.contextmanager(prepared)(Path(place) / "shared") as attack,
    ):

        def one(case: int) -> Row:
            rng = random.Random(f"{name} {seed} {case}")
            return case, *_tried(attack, rng, case, Path(place) / "case")

        while cases[len(rows) :] and time.monotonic() < end:
            rows += _in_process(one, cases[len(rows) :][:CHUNK], end, wall)
    return rows


def _in_process(one: Callable[[int], Row], cases: range, end: float, wall: int) -> list[Row]:
    """Try cases in one process, which writes a line for each; the last may be that it died of."""
    receiver, sender = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            os.setsid()
            _limit()
            for case in cases:
                if time.monotonic() > end:
                    break
                signal.setitimer(signal.ITIMER_PROF, CPU)
                signal.setitimer(signal.ITIMER_REAL, wall)
                os.write(sender, json.dumps(one(case)).encode() + b"\n")
            os._exit(0)
        os._exit(1)
    os.close(sender)
    with open(receiver, encoding="utf-8") as lines:
        rows = [(case, refused, failed) for case, refused, failed in map(json.loads, lines)]
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what a process that died has left
    if code in (-signal.SIGPROF, -signal.SIGALRM):
        died = f"out of time: more than {CPU} s of CPU or {wall} s"
    else:
        died = f"died: of {signal.Signals(-code).name}" if code < 0 else f"died: with code {code}"
    return [*rows, (cases.start + len(rows), False, died)] if code else rows


def _tried(attack: Attack, rng: random.Random, case: int, folder: Path) -> tuple[bool, str | None]:
    """Whether linker refused a case, and what failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        attack(rng, case, folder)
    except (LinkerError, click.UsageError) as error:
        return True, _fault(error)
    except BaseException as error:
        if os.environ.get(SHOWN):
            traceback.print_exc()
        return False, describe(error)
    return False, None


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


def describe(error: BaseException) -> str:
    """An exception with the line of linker that it came through last.

    For example "OverflowError at readers/jsonl.py:12: text".
    """
    if isinstance(error, Failed):
        return str(error)
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    ours = [
        f"{file.rpartition('/linker/')[2]}:{line}"
        for file, line in frames
        if "/linker/" in file and "/benchmarks/" not in file
    ]
    text = "an exception without a text"
    with contextlib.suppress(Exception):
        text = str(error)
    return f"{type(error).__name__} at {ours[-1] if ours else frames[-1]}: {text[:200]}"

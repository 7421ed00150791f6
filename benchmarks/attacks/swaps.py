"""Runs that die at every line of the code that replaces files and folders; what is found then."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from linker import Dictionary, Linker, files, persistence
from linker.errors import LinkerError
from linker.files import replacing

from . import inputs
from .core import Attack, Failed

_POINTS = 10_000  # more than there are lines in the four runs together
_TRACED = {files.__file__, persistence.__file__, replacing.__file__}
_OLD, _NEW = "old\n" * 3, "new\n" * 5


class _Run(NamedTuple):
    """Something that is written, over what stood there or not."""

    name: str
    new: Callable[[Path], object]  # writes it
    found: Callable[[Path], str]  # tells which of the two is there
    old: Callable[[Path], object] | None = None  # writes what stood there


def prepared(shared: Path) -> Iterator[Attack]:
    """Cases go from the last line of each run to the first, so that the swap comes early.

    Those beyond die at two random lines.
    """
    os.fsync = lambda _: None  # processes die here, not machines
    shared.mkdir()
    old, new = _linker(shared / "old.tsv", "A").save, _linker(shared / "new.tsv", "B").save
    file = _Run("output.tsv", lambda path: _write(path, _NEW), _file)
    over = file._replace(old=lambda path: _write(path, _OLD))
    runs = [_Run("model", new, _model, old), over, _Run("model", new, _model), file]
    counts = [_count(run, shared / str(number)) for number, run in enumerate(runs)]
    points = [(back, n) for n, count in enumerate(counts) for back in range(1, count + 1)]
    points.sort()
    if len(points) > _POINTS:
        raise Failed(f"there are more lines than cases: {len(points)}")

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        if case < len(points):
            back, number = points[case]
            _attack(runs[number], folder, counts[number] - back)
        else:
            number = rng.randrange(len(runs))
            lines = (rng.randrange(counts[number]) for _ in range(2))
            _attack(runs[number], folder, *lines)

    yield attack


def _attack(run: _Run, folder: Path, *lines: int) -> None:
    """Die at these lines, one run after the other; nothing is lost, and the next run is whole."""
    path = folder / run.name
    if run.old:
        run.old(path)
    for line in lines:
        _dies(lambda: run.new(path), line)
        left = sorted(file.name for file in folder.iterdir())
        if run.old or path.exists():
            try:
                run.found(path)
            except LinkerError as error:
                what = f"after line {line} there is {left}; {error}"
                raise Failed(f"nothing is left of {run.name}: {what}") from error
    try:
        run.new(path)
        found = run.found(path)
    except LinkerError as error:
        what = f"after lines {lines}: {error}"
        raise Failed(f"the next run of {run.name} is refused: {what}") from error
    if found != "new":
        raise Failed(f"the next run did not write {run.name}: after lines {lines}")
    if (left := sorted(file.name for file in folder.iterdir())) != [run.name]:
        raise Failed(f"leftovers stay beside {run.name}: after lines {lines}: {left}")


def _dies(action: Callable[[], object], line: int) -> None:
    """Run something in a fork that is killed before the n-th traced line that it comes to."""

    def reached(passed: int) -> None:
        if passed == line:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            sys.settrace(_tracer(reached))
            action()
            os._exit(0)
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise Failed(f"the run failed: with {code}, to be killed at line {line}")


def _count(run: _Run, folder: Path) -> int:
    """How many traced lines a run comes to."""
    folder.mkdir()
    if run.old:
        run.old(folder / run.name)
    counted = [0]
    sys.settrace(_tracer(counted.append))
    try:
        run.new(folder / run.name)
    finally:
        sys.settrace(None)
    return counted[-1] + 1


def _tracer(reached: Callable[[int], object]) -> Callable[[FrameType, str, Any], Any]:
    """A function for sys.settrace: it tells `reached` how many lines came before each one."""
    passed = -1

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if frame.f_code.co_filename not in _TRACED:
            return None
        if event == "line":
            passed += 1
            reached(passed)
        return trace

    return trace


def _linker(table: Path, prefix: str) -> Linker:
    table.write_bytes(inputs.TABLE.replace(b"MESH:", f"{prefix}:".encode()))
    return Linker.train(Dictionary.read(table), encoder="tfidf")


def _model(path: Path) -> str:
    """Which model a folder holds."""
    (prediction,) = Linker.load(path).link(["breast cancer"])
    best = prediction.parts[0].best
    return {"A:D001943": "old", "B:D001943": "new"}[best.concept_id if best else ""]


def _write(path: Path, text: str) -> None:
    with files.write_aside(path) as file:
        file.write(text)


def _file(path: Path) -> str:
    if not path.exists():
        raise LinkerError(f"{path}: is not there")
    return {_OLD: "old", _NEW: "new"}[path.read_text()]

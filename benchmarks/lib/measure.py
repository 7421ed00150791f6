"""What the benchmarks of speed share: clocks, memory, processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """How many seconds something took, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def child(
    script: str, *arguments: str, python: str = sys.executable, library: Path | None = None
) -> dict[str, Any]:
    """What a script prints as its last line, in JSON, when it runs in a process of its own.

    Args:
        script: the script.
        arguments: its arguments.
        python: the interpreter, of a virtual environment.
        library: the folder to import `linker` from (see `earlier`), for a script that appends the
            project to its path; None: the project.
    """
    environment = os.environ | ({"PYTHONPATH": str(library)} if library else {})
    command = [python, script, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def peak() -> float:
    """The most memory that this process has held, in MB.

    Not that of getrusage, which starts from what the parent held.
    """
    return next(memory("self", "VmHWM"))


def megabytes(folder: Path) -> float:
    """The size of the files of a folder."""
    sizes = (path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return round(sum(sizes) / 1e6, 1)


def memory(process: int | str, field: str) -> Iterator[float]:
    """A memory figure of a process, in MB; nothing for one that has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return
    lines = (line for line in status.splitlines() if line.startswith(field))
    yield from (int(line.split()[1]) / 1024 for line in lines)

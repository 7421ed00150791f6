"""What the benchmarks of speed share: clocks, memory, processes of their own.

python benchmarks/lib/measure.py MODULE FUNCTION ARGUMENTS    what `apart` runs
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
Result = TypeVar("Result")
Figures = dict[str, Any]


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """How many seconds something took, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def child(
    script: str, *arguments: str, python: str = sys.executable, library: Path | None = None
) -> Figures:
    """What a script prints as its last line, in JSON, when it runs in a process of its own.

    Args:
        script: the script.
        arguments: its arguments.
        python: the interpreter, of a virtual environment.
        library: the folder to import `linker` from (see `earlier`); None: the project.
    """
    environment = os.environ | ({"PYTHONPATH": str(library)} if library else {})
    command = [python, script, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def apart(
    function: Callable[..., Figures], *arguments: Any, library: Path | None = None
) -> Figures:
    """What a function of a benchmark returns when it runs in a process of its own.

    Args:
        function: of the top level of a module.
        arguments: what JSON can hold.
        library: as for `child`.
    """
    place = Path(inspect.getfile(function)).resolve().relative_to(ROOT).with_suffix("")
    what = [".".join(place.parts), function.__name__, json.dumps(arguments)]
    return child(__file__, *what, library=library)


def earlier(commit: str | None) -> Path | None:
    """A folder with the package `linker` of a commit, made on first use; None without a commit."""
    if commit is None:
        return None
    git = ["git", "-C", str(ROOT)]
    short = subprocess.check_output([*git, "rev-parse", "--short", commit], text=True).strip()
    folder = ROOT / "benchmarks" / "work" / "earlier" / short
    if not folder.exists():
        packed = subprocess.check_output([*git, "archive", short, "linker"])
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
    return folder


def spent(command: Sequence[str], environment: Mapping[str, str]) -> tuple[Figures, str]:
    """Wall and processor seconds of a process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    wall, done = timed(lambda: subprocess.run(command, env=environment, check=True, **pipes))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(wall, 3), "cpu_seconds": round(used, 3)}, done.stdout


def run_command(*words: object) -> Figures:
    """Run a command of linker in this process: its seconds, and the peak of memory."""
    from linker.cli import cli

    seconds, _ = timed(lambda: cli.main(list(map(str, words)), standalone_mode=False))
    return {"seconds": round(seconds, 1), "peak_mb": round(peak())}


def linked(
    model: Path, asked: Sequence[Any], rounds: int = 1, k: int = 5
) -> Iterator[tuple[float, int]]:
    """The seconds of linking by linkers that are newly loaded, and how many mentions there are."""
    from linker import Linker

    for _ in range(rounds):
        linker = Linker.load(model)
        list(linker.link([f"a name to begin with {number}" for number in range(100)], k=k))
        seconds, found = timed(lambda linker=linker: list(linker.link(asked, k=k)))
        yield seconds, len(found)


def ratio(ours: Iterable[float], theirs: Iterable[float], digits: int = 2) -> float:
    """The median over the rounds of how many times as much the first is."""
    return round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), digits)


def peak() -> float:
    """The most memory that this process has held, in MB.

    Not that of getrusage, which starts from what the parent held.
    """
    return next(memory("self", "VmHWM"))


def megabytes(folder: Path) -> float:
    """The size of the files of a folder."""
    sizes = (path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return round(sum(sizes) / 1e6, 1)


def rounded(values: Iterable[float], digits: int = 5) -> list[float]:
    """Numbers with so many digits behind the point."""
    return [round(value, digits) for value in values]


def memory(process: int | str, field: str) -> Iterator[float]:
    """A memory figure of a process, in MB; nothing for one that has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return
    lines = (line for line in status.splitlines() if line.startswith(field))
    yield from (int(line.split()[1]) / 1024 for line in lines)


if __name__ == "__main__":
    del sys.path[0]  # the folder of this script
    sys.path.append(str(ROOT))  # behind an earlier `linker`
    work = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
    print(json.dumps(work(*json.loads(sys.argv[3]))))

"""A short training of dan beside other work: processor and wall seconds, by how threads wait.

    python benchmarks/speed/busy.py

Each way trains on the first concepts of MEDIC 2017, alone and beside two processes that keep two
cores busy; the ways take turns. What a training loses beside others should be its share of the
machine, in wall seconds; its processor seconds should stay what they are alone. The command line
sets what `after` says, unless the user has set it (`linker/cli/__init__.py`).
"""

from __future__ import annotations

import contextlib
import gzip
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.data import MEDIC, locate
from benchmarks.lib.results import parser, save

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OPENBLAS_THREAD_TIMEOUT", "OMP_NUM_THREADS")
WAYS: dict[str, dict[str, str]] = {
    "before": {"OMP_WAIT_POLICY": "", "OPENBLAS_THREAD_TIMEOUT": ""},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_THREAD_TIMEOUT": ""},
    "after": {},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
SMALL = ("ground.epochs=1", "ground.pool=2000", "training.epochs=0", "dan.hidden=2400")
_BUSY = "while True: pass"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--concepts", type=int, default=400)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "medic.tsv"
        with gzip.open(locate(MEDIC["2017"]), "rt", encoding="utf-8") as lines:
            path.write_text("".join(map(without_parents, islice(lines, given.concepts))), "utf-8")
        runs: dict[str, dict[str, list[dict[str, float]]]] = {}
        for _ in range(given.rounds):
            for load in ("alone", "beside two"):
                for way in WAYS:
                    with busy(2 if load == "beside two" else 0):
                        seconds = train(path, Path(folder) / "model", WAYS[way])
                    runs.setdefault(load, {}).setdefault(way, []).append(seconds)
                    print(load, way, seconds, file=sys.stderr, flush=True)
    about = {"cores": os.cpu_count(), "concepts": given.concepts, "ways": WAYS}
    save("busy", about | summary(runs))


def without_parents(line: str) -> str:
    """A line of MEDIC whose concept has no parents, which may be further down."""
    cells = line.split("\t")
    return line if line.startswith("#") else "\t".join([*cells[:4], "", *cells[5:]])


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep some cores busy."""
    others = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def train(dictionary: Path, model: Path, settings: dict[str, str]) -> dict[str, float]:
    """Train in a process of its own; an empty setting is as if the command line set none."""
    command = ["train", "--dict", str(dictionary), "--encoder", "dan", "-o", str(model), "-q"]
    command += [word for option in SMALL for word in ("--set", option)]
    script = (
        "import sys; from linker import cli; "
        "[cli._ENVIRONMENT.pop(name, None) for name in sys.argv.pop(1).split(',')]; cli.main()"
    )
    dropped = ",".join(name for name, value in settings.items() if not value)
    environment = {name: value for name, value in os.environ.items() if name not in NAMES}
    environment |= {name: value for name, value in settings.items() if value}
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [sys.executable, "-c", script, dropped, *command]
    subprocess.run(arguments, env=environment, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": round(used, 2), "wall": round(time.perf_counter() - start, 2)}


def summary(runs: dict[str, dict[str, list[dict[str, float]]]]) -> dict[str, Any]:
    """The medians of the rounds, and how many times as much as before each way takes."""
    clocks = ("cpu", "wall")
    medians = {
        load: {
            way: {clock: statistics.median(run[clock] for run in found) for clock in clocks}
            for way, found in ways.items()
        }
        for load, ways in runs.items()
    }
    over = {
        load: {
            way: {clock: round(ways[way][clock] / ways["before"][clock], 3) for clock in ways[way]}
            for way in ways
        }
        for load, ways in medians.items()
    }
    return {"seconds": medians, "times_before": over}


if __name__ == "__main__":
    main()
